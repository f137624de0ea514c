"""Stores and data in an S3-compatible object store: a real server on loopback."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from experiments.dask_processes import LoopbackCluster, end, free_port
from experiments.outage import Proxy
from giveway.core.errors import ClusterError, DataError, StoreError
from giveway.core.urls import is_url
from giveway.experiments import Cell, ProcessExecutor, SerialExecutor, collect, compute, status
from giveway.experiments.dask_engine import DaskExecutor, at_scheduler
from giveway.experiments.mirror import Mirror, RemoteLock
from giveway.experiments.object_store import local_folder

Cells = Callable[..., list[Cell]]
Contents = Callable[[Path], dict[str, str]]
DRAW = "run_evaluations:draw"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        end(process, 9)


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fresh bucket; workers inherit the environment that leads to it."""
    import s3fs

    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "GIVEWAY_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    name = f"bucket{time.monotonic_ns()}"
    deadline = time.monotonic() + 60
    while True:
        try:
            s3fs.S3FileSystem.clear_instance_cache()
            s3fs.S3FileSystem().mkdir(name)
            return f"s3://{name}"
        except Exception:
            assert time.monotonic() < deadline, "the object store does not start"
            time.sleep(0.2)


def test_addresses_are_told_from_paths() -> None:
    assert is_url("s3://bucket/R") and is_url("gs://b/c")
    assert not is_url("/data/R") and not is_url("R") and not is_url(Path("a/b"))


def test_a_run_into_an_object_store_has_the_same_bytes_and_resumes(
    bucket: str, tmp_path: Path, cells: Cells, contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{bucket}/R"
    with Mirror(place).working() as store:
        first = compute(cells(8), experiment=DRAW, store=store, engine=SerialExecutor(), limit=3)
    assert first.done == 3
    monkeypatch.setenv("GIVEWAY_CACHE", str(tmp_path / "another-machine"))
    with Mirror(place).working() as store:
        second = compute(cells(8), experiment=DRAW, store=store, engine=ProcessExecutor(num_workers=1))
    assert (second.done, second.skipped) == (5, 3)
    read = Mirror(place).pull()
    assert status(read).done == 8
    assert collect(read).height == 16
    compute(cells(8), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    assert contents(read.root) == contents(tmp_path / "S")
    remote = local_folder(f"{place}/cells")
    assert {p.name: p.read_bytes() for p in remote.rglob("*") if p.is_file()} == {
        p.name: p.read_bytes() for p in (tmp_path / "S" / "cells").rglob("*") if p.is_file()
    }


def test_failures_travel_and_are_forgotten_after_success(bucket: str, tmp_path: Path) -> None:
    todo = [Cell(kind="t", params={"mood": "repairable"})]
    settings = {"folder": str(tmp_path)}
    options = {"experiment": "run_evaluations:sometimes", "engine": SerialExecutor(), "machine": settings}
    with Mirror(f"{bucket}/R").working() as store:
        assert compute(todo, store=store, **options).failed == 1  # type: ignore[arg-type]
    assert status(Mirror(f"{bucket}/R").pull()).failures[0].error == "RuntimeError"
    (tmp_path / "repaired").touch()
    with Mirror(f"{bucket}/R").working() as store:
        assert compute(todo, store=store, rerun="failed", **options).ok  # type: ignore[arg-type]
    assert status(Mirror(f"{bucket}/R").pull()).failed == 0


def test_a_new_plan_of_the_same_length_reaches_other_machines(
    bucket: str, tmp_path: Path, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, options = f"{bucket}/R", {"experiment": DRAW, "engine": SerialExecutor(), "spec": {"what": "three cells"}}
    for machine in ("one", "another"):
        monkeypatch.setenv("GIVEWAY_CACHE", str(tmp_path / machine))
        with Mirror(place).working() as store:
            compute(cells(3), store=store, **options)  # type: ignore[arg-type]
    with Mirror(place).working() as store:
        compute(cells(3, version=2), store=store, limit=1, **options)  # type: ignore[arg-type]
        here = status(store)
    assert (here.done, here.missing) == (1, 2)
    monkeypatch.setenv("GIVEWAY_CACHE", str(tmp_path / "one"))
    there = status(Mirror(place).pull())
    assert (there.done, there.missing) == (1, 2)


def test_a_damaged_copy_is_fetched_again_and_a_damaged_object_is_computed_again(bucket: str, cells: Cells) -> None:
    import s3fs

    place, options = f"{bucket}/R", {"experiment": DRAW, "engine": SerialExecutor()}
    with Mirror(place).working() as store:
        compute(cells(3), store=store, **options)  # type: ignore[arg-type]
        path = store.record_path(cells(3)[1].key)
        whole, times = path.read_bytes(), path.stat()
    rotten = whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]
    path.write_bytes(rotten)
    os.utime(path, ns=(times.st_mtime_ns, times.st_mtime_ns))  # the disk does not say when it rots
    (store.root / "index.parquet").unlink()
    with Mirror(place).working() as store:
        healed = compute(cells(3), store=store, **options)  # type: ignore[arg-type]
    assert (healed.done, healed.skipped, len(healed.damaged)) == (0, 3, 1)
    assert path.read_bytes() == whole
    s3fs.S3FileSystem().pipe_file(f"{place.removeprefix('s3://')}/{path.relative_to(store.root)}", rotten)
    path.unlink()
    (store.root / "index.parquet").unlink()  # times of objects are whole seconds: it may take the new one for the old
    with Mirror(place).working() as store:
        computed = compute(cells(3), store=store, **options)  # type: ignore[arg-type]
    assert (computed.done, computed.skipped) == (1, 2)
    assert path.read_bytes() == whole
    with Mirror(place).working() as store:
        assert compute(cells(3), store=store, **options).skipped == 3  # type: ignore[arg-type]


def test_a_result_that_was_replaced_by_one_of_equal_length_is_fetched(bucket: str, cells: Cells) -> None:
    import s3fs

    place = f"{bucket}/R"
    with Mirror(place).working() as store:
        compute(cells(1), experiment=DRAW, store=store, engine=SerialExecutor())
    copy = Mirror(place).pull().record_path(cells(1)[0].key)
    fs, name = s3fs.S3FileSystem(), f"{place.removeprefix('s3://')}/{copy.relative_to(store.root)}"
    fs.pipe_file(name, copy.read_bytes().swapcase())
    moved = copy.stat().st_mtime_ns - 2_000_000_000  # as if the copy had been made two seconds earlier
    os.utime(copy, ns=(moved, moved))
    assert Mirror(place).pull().record_path(cells(1)[0].key).read_bytes() == fs.cat_file(name)


def test_two_runs_on_one_remote_store_are_refused(bucket: str) -> None:
    with RemoteLock(f"{bucket}/R"), pytest.raises(StoreError, match="another run"), RemoteLock(f"{bucket}/R"):
        pass
    with RemoteLock(f"{bucket}/R"):
        pass


def test_data_are_copied_once_and_again_when_they_change(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    fs = s3fs.S3FileSystem()
    fs.pipe_file(f"{bucket}/data/a/one.csv", b"1")
    first = local_folder(f"{bucket}/data")
    assert (first / "a" / "one.csv").read_bytes() == b"1"
    assert local_folder(f"{bucket}/data") == first
    fs.pipe_file(f"{bucket}/data/a/one.csv", b"2")
    fs.invalidate_cache()
    second = local_folder(f"{bucket}/data")
    assert second != first
    assert (second / "a" / "one.csv").read_bytes() == b"2"


def test_wrong_addresses_are_one_sentence(bucket: str) -> None:
    with pytest.raises(DataError, match="no files"):
        local_folder(f"{bucket}/nothing")
    with pytest.raises(StoreError, match="no result store"):
        Mirror(f"{bucket}/nothing").pull()
    with pytest.raises(DataError, match="unknown kind"):
        local_folder("pigeon://bucket/x")


def test_an_object_store_that_does_not_answer_is_one_sentence(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(ClusterError, match="does not work") as caught:
        local_folder(f"{bucket}/data")
    assert "AWS_ENDPOINT_URL" in str(caught.value)
    s3fs.S3FileSystem.clear_instance_cache()


@contextlib.contextmanager
def cluster_of_two(folder: Path) -> Generator[DaskExecutor]:
    with LoopbackCluster(folder) as cluster:
        cluster.start_scheduler()
        cluster.start_workers(2)
        yield DaskExecutor(at_scheduler(cluster.address))


@pytest.mark.parametrize("engine", ["serial", pytest.param("dask", marks=pytest.mark.slow)])
def test_an_object_store_that_dies_ends_the_run_and_nothing_is_computed_twice(
    engine: str,
    bucket: str,
    server: str,
    tmp_path: Path,
    cells: Cells,
    contents: Contents,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import s3fs

    let_through = itertools.count(1)

    def before(data: bytes) -> bool:
        is_result = data.startswith(b"PUT") and b"/R/cells/" in data and b".json" in data.split(b"\r\n", 1)[0]
        return not is_result or next(let_through) <= 6

    place = f"{bucket}/R"
    with Proxy(server, before) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        s3fs.S3FileSystem.clear_instance_cache()
        opened = cluster_of_two(tmp_path) if engine == "dask" else contextlib.nullcontext(SerialExecutor())
        with (
            opened as executor,
            pytest.raises(ClusterError, match="the run ended because the object store does not work") as caught,
            Mirror(place).working() as store,
        ):
            compute(cells(30), experiment=DRAW, store=store, engine=executor)
        assert not proxy.works
    assert "of 30 cells are finished and safe" in str(caught.value)
    assert not store.failures()

    put_to_safety = int(str(caught.value.found).split()[0])
    assert 7 <= put_to_safety < 30
    with Proxy(server, lambda data: True, port=proxy.port), Mirror(place).working() as store:
        rest = compute(cells(30), experiment=DRAW, store=store, engine=SerialExecutor())
    assert (rest.skipped, rest.done, rest.failed) == (put_to_safety, 30 - put_to_safety, 0)
    compute(cells(30), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("GIVEWAY_CACHE", str(tmp_path / "another-machine"))
    assert contents(Mirror(place).pull().root) == contents(tmp_path / "S")


@pytest.mark.slow
def test_workers_of_a_cluster_put_results_into_the_object_store(
    bucket: str, tmp_path: Path, cells: Cells, contents: Contents
) -> None:
    with cluster_of_two(tmp_path) as engine, Mirror(f"{bucket}/R").working() as store:
        summary = compute(cells(10), experiment=DRAW, store=store, engine=engine)
    assert summary.ok, summary.failures
    compute(cells(10), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    assert contents(Mirror(f"{bucket}/R").pull().root) == contents(tmp_path / "S")


def test_drives_are_kept_with_their_logs_and_maps(bucket: str, tmp_path: Path) -> None:
    import giveway as gw

    asked = {"predictors": ["constant_velocity"], "max_cases": 2}
    there = gw.run_drive(out=f"{bucket}/D", **asked)
    here = gw.run_drive(out=tmp_path / "D", **asked)
    assert there.frame().equals(here.frame())
    shutil.rmtree(tmp_path / "cache")  # as another machine
    found = gw.Results.open(f"{bucket}/D", kind="drive").log(case="merge-00", predictor="constant_velocity")
    expected = here.log(case="merge-00", predictor="constant_velocity")
    assert found.digest == expected.digest
    assert found.road is not None and found.road.lanes.keys() == expected.road.lanes.keys()
    again = gw.run_drive(out=f"{bucket}/D", **asked)
    assert again.runs[-1]["counts"]["done"] == 0
