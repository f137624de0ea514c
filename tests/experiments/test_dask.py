"""The Dask engine against a real scheduler and real workers on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import giveway
from experiments.dask_processes import LoopbackCluster, free_port
from giveway.core.errors import ClusterError, ConfigError, UsageError
from giveway.core.registry import PLUGINS
from giveway.experiments import Cell, LineProgress, ProcessExecutor, SerialExecutor, Store, compute, read_index, status
from giveway.experiments.cluster import ClusterSpec, batch_cluster, read_cluster
from giveway.experiments.dask_engine import DaskExecutor, at_scheduler
from giveway.experiments.plugins import Plugin, environment_with
from giveway.experiments.remote import difference, facts, stop_here

Cells = Callable[..., list[Cell]]
Contents = Callable[[Path], dict[str, str]]
DRAW, SOMETIMES = "run_evaluations:draw", "run_evaluations:sometimes"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackCluster]:
    with LoopbackCluster(tmp_path_factory.mktemp("dask")) as found:
        found.start_scheduler()
        found.start_workers(2)
        yield found


def engine(cluster: LoopbackCluster, **options: float) -> DaskExecutor:
    return DaskExecutor(at_scheduler(cluster.address), **options)  # type: ignore[arg-type]


def test_one_process_many_processes_and_dask_write_the_same_bytes(
    cluster: LoopbackCluster, tmp_path: Path, cells: Cells, contents: Contents
) -> None:
    engines = {"one": SerialExecutor(), "many": ProcessExecutor(num_workers=2), "dask": engine(cluster)}
    for name, executor in engines.items():
        summary = compute(cells(24), experiment=DRAW, store=tmp_path / name, engine=executor)
        assert summary.ok, summary.failures
    assert contents(tmp_path / "one") == contents(tmp_path / "many") == contents(tmp_path / "dask")
    assert len(contents(tmp_path / "one")) == 48
    again = compute(cells(24), experiment=DRAW, store=tmp_path / "dask", engine=engine(cluster))
    assert (again.done, again.skipped) == (0, 24)


GROUP = [Cell(kind="t", params={"n": n}, group="g") for n in range(12)]
CHAINS = [Cell(kind="t", params={"n": n, "seed": s}, chain=f"c{s}") for s in range(2) for n in range(6)]


def everything(root: Path) -> dict[str, bytes]:
    files = [p for folder in ("cells", "attachments") for p in sorted((root / folder).rglob("*")) if p.is_file()]
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in files}


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("experiment", "todo"), [("SQUARES", GROUP), ("SUMS", CHAINS)])
def test_batches_and_chains_on_dask_write_the_same_bytes_with_and_without_shared_storage(
    cluster: LoopbackCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    experiment: str,
    todo: list[Cell],
    shared: bool,
) -> None:
    options = {"experiment": f"contract_experiments:{experiment}", "machine": {"folder": str(tmp_path)}}
    compute(todo, store=tmp_path / "here", engine=SerialExecutor(), **options)
    if not shared:
        monkeypatch.setattr("giveway.experiments.dask_engine._probe", lambda store: contextlib.nullcontext((None, "")))
    for limit in (4, 4, None):  # finished cells of a chain are sent along to workers that cannot read them
        compute(todo, store=tmp_path / "there", engine=engine(cluster), limit=limit, **options)
    assert everything(tmp_path / "there") == everything(tmp_path / "here")
    assert len(everything(tmp_path / "here")) >= 12


@pytest.mark.slow
def test_without_shared_storage_results_are_sent_back(
    cluster: LoopbackCluster,
    tmp_path: Path,
    cells: Cells,
    contents: Contents,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        "giveway.experiments.dask_engine.secrets.token_hex", lambda n=16: "0" * 2 * n
    )  # same name, and then:
    monkeypatch.setattr(Path, "write_text", lambda self, text, **_: 0)  # workers find no probe with our token
    summary = compute(cells(6), experiment=DRAW, store=tmp_path / "R", engine=engine(cluster), progress=LineProgress())
    monkeypatch.undo()
    assert summary.ok
    assert "they send their results here" in capsys.readouterr().err
    compute(cells(6), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    assert contents(tmp_path / "R") == contents(tmp_path / "S")


def test_a_cell_that_kills_its_process_three_times_is_marked_and_the_rest_goes_on(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    moods = ["fine", "kill", "fine", "kill-once", "error", "slow", "fine"]
    todo = [Cell(kind="t", params={"mood": m, "i": i}) for i, m in enumerate(moods)]
    summary = compute(
        todo,
        experiment=SOMETIMES,
        store=tmp_path / "R",
        engine=engine(cluster, time_limit_s=3.0),
        machine={"folder": str(tmp_path)},
    )
    assert (summary.done, summary.missing) == (4, 0)
    failures = {f.cell.params["mood"]: f for f in summary.failures}
    assert {mood: f.error for mood, f in failures.items()} == {
        "kill": "WorkerDied",
        "error": "ValueError",
        "slow": "TimeLimit",
    }
    assert failures["kill"].attempts == 3
    assert "3 times" in failures["kill"].message
    assert "this cell cannot be computed" in failures["error"].traceback


def test_a_run_that_ends_leaves_the_cells_of_others_alone(cluster: LoopbackCluster, tmp_path: Path) -> None:
    settings = {"folder": str(tmp_path)}
    options = {"experiment": SOMETIMES, "store": tmp_path / "long", "engine": engine(cluster), "machine": settings}
    long = threading.Thread(target=compute, args=([Cell(kind="t", params={"mood": "wait"})],), kwargs=options)
    long.start()
    while not (tmp_path / "waiting").exists():
        assert long.is_alive()
        time.sleep(0.05)
    with at_scheduler(cluster.address)() as client:
        client.run(stop_here, "another run")
    (tmp_path / "go").touch()
    long.join()
    (line,) = next((tmp_path / "long" / "runs").glob("*.jsonl")).read_text().splitlines()
    assert (json.loads(line)["status"], json.loads(line)["attempt"]) == ("done", 1)


@pytest.mark.parametrize("where", ["local", pytest.param("dask", marks=pytest.mark.slow)])
def test_a_cell_that_takes_too_much_memory_is_ended(cluster: LoopbackCluster, tmp_path: Path, where: str) -> None:
    limits = {"memory_limit_mb": 600.0}
    executor = engine(cluster, **limits) if where == "dask" else ProcessExecutor(num_workers=1, **limits)
    todo = [Cell(kind="t", params={"megabytes": m}) for m in (10, 3000)]
    summary = compute(todo, experiment="run_evaluations:hoard", store=tmp_path / "R", engine=executor)
    (failure,) = summary.failures
    assert failure.error == "MemoryLimit"
    assert failure.cell.params["megabytes"] == 3000
    assert "600 MB" in failure.message


@pytest.mark.slow
def test_a_drained_run_finishes_what_is_running_and_resumes(
    cluster: LoopbackCluster, tmp_path: Path, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = compute(
        cells(40),
        experiment=DRAW,
        store=tmp_path / "R",
        engine=engine(cluster),
        machine={"pause_s": 0.05},
        max_hours=0.0,
    )
    assert summary.stopped
    assert 0 < summary.done < 40
    after = compute(cells(40), experiment=DRAW, store=tmp_path / "R", engine=engine(cluster))
    assert after.ok and after.skipped == summary.done


@pytest.mark.slow
def test_workers_that_join_later_are_used_and_counted(tmp_path: Path, cells: Cells) -> None:
    with LoopbackCluster(tmp_path) as cluster:
        cluster.start_scheduler()
        timer = threading.Timer(1.5, cluster.start_workers, args=(1,))
        timer.start()
        executor = engine(cluster)
        summary = compute(cells(6), experiment=DRAW, store=tmp_path / "R", engine=executor)
        timer.join()
    assert summary.ok
    assert executor.num_workers == 1


@pytest.mark.slow
def test_a_cluster_without_workers_is_given_up_with_advice(tmp_path: Path, cells: Cells) -> None:
    with LoopbackCluster(tmp_path) as cluster:
        cluster.start_scheduler()
        with pytest.raises(ClusterError, match="no workers") as caught:
            compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=engine(cluster, wait_s=1.0))
    assert "dask worker" in str(caught.value)


def test_an_unreachable_scheduler_is_one_sentence(tmp_path: Path, cells: Cells) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(ClusterError, match="cannot reach the scheduler") as caught:
        compute(
            cells(2),
            experiment=DRAW,
            store=tmp_path / "R",
            engine=DaskExecutor(at_scheduler(address)),
        )
    assert time.monotonic() - began < 30
    assert address in str(caught.value)
    assert status(Store(tmp_path / "R")).missing == 2


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run_and_keeps_what_is_finished(
    tmp_path: Path, cells: Cells, contents: Contents
) -> None:
    with LoopbackCluster(tmp_path) as cluster:
        cluster.start_scheduler()
        cluster.start_workers(1)

        def kill_soon() -> None:
            while len(list((tmp_path / "R").glob("cells/*/*.json"))) < 5:
                time.sleep(0.02)
            cluster.kill_scheduler()

        killer = threading.Thread(target=kill_soon)
        killer.start()
        with pytest.raises(ClusterError, match="does not answer") as caught:
            compute(
                cells(300),
                experiment=DRAW,
                store=tmp_path / "R",
                engine=engine(cluster),
                machine={"pause_s": 0.05},
            )
        killer.join()
    assert "finished cells are kept" in str(caught.value)
    kept = len(read_index(Store(tmp_path / "R")).keys())
    assert 5 <= kept < 300
    after = compute(cells(300), experiment=DRAW, store=tmp_path / "R", engine=SerialExecutor())
    assert after.ok and after.skipped >= kept
    compute(cells(300), experiment=DRAW, store=tmp_path / "S", engine=SerialExecutor())
    assert contents(tmp_path / "R") == contents(tmp_path / "S")


@pytest.mark.slow
def test_workers_with_other_code_are_refused(tmp_path: Path, cells: Cells) -> None:
    other = tmp_path / "other" / "giveway"
    shutil.copytree(
        Path(giveway.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    )
    changed = other / "core" / "seeds.py"
    changed.write_text(changed.read_text() + "\nCHANGED = True\n")
    with LoopbackCluster(tmp_path) as cluster:
        cluster.start_scheduler()
        cluster.start_workers(1, PYTHONPATH=os.pathsep.join([str(other.parent), str(Path(__file__).parent)]))
        with pytest.raises(ClusterError, match="other code") as caught:
            compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=engine(cluster))
    assert "install the same versions" in str(caught.value)
    assert "source" in str(caught.value)


FILE = """
import giveway as gw


class Mine(gw.Predictor, name="shipped", title="{title}"):
    def predict(self, inputs, rng):
        raise NotImplementedError
"""


def test_plug_ins_reach_workers_that_are_already_running(
    cluster: LoopbackCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell(kind="t", params={"predictor": "shipped"})
    file = tmp_path / "mine.py"

    def title(run: str) -> str:
        where = tmp_path / run
        summary = compute([cell], experiment="run_evaluations:title_of_predictor", store=where, engine=engine(cluster))
        assert summary.ok, summary.failures
        return str(Store(where).read(cell.key).info["title"])

    assert title("without") == ""
    monkeypatch.setenv(PLUGINS, str(file))
    for text in ("first", "second"):
        file.write_text(FILE.format(title=text))
        assert title(text) == text
    file.unlink()
    with pytest.raises(UsageError, match="plug-in"):
        title("gone")
    monkeypatch.delenv(PLUGINS)
    assert title("without again") == ""


def test_a_worker_that_names_the_same_file_loads_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("1")
    two.write_text("2")
    monkeypatch.setenv(PLUGINS, os.pathsep.join([str(one), str(two)]))
    files = environment_with([Plugin(name="shipped.py", source=b"2")])[PLUGINS].split(os.pathsep)
    assert [Path(file).read_text() for file in files] == ["1", "2"]
    assert files[0] == str(one)
    assert files[1] != str(two)


@pytest.mark.slow
def test_workers_without_the_package_are_refused(tmp_path: Path, cells: Cells) -> None:
    with LoopbackCluster(tmp_path) as cluster:
        cluster.start_scheduler()
        (tmp_path / "empty" / "giveway").mkdir(parents=True)
        (tmp_path / "empty" / "giveway" / "__init__.py").write_text("raise ImportError('not here')\n")
        cluster.start_workers(1, PYTHONPATH=str(tmp_path / "empty"))
        with pytest.raises(ClusterError, match="cannot run giveway") as caught:
            compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=engine(cluster))
    assert "pip install" in str(caught.value)


def test_a_worker_that_cannot_see_the_data_is_named(cluster: LoopbackCluster, tmp_path: Path, cells: Cells) -> None:
    settings = {"roots": {"lgap": "/nowhere/to/be/seen"}}
    with pytest.raises(ClusterError, match="cannot see the data") as caught:
        compute(cells(2), experiment=DRAW, store=tmp_path / "R", engine=engine(cluster), machine=settings)
    assert "/nowhere/to/be/seen" in str(caught.value)
    assert "s3://" in str(caught.value)


def test_equal_machines_do_not_differ() -> None:
    assert difference(facts(), facts()) == {}


def test_descriptions_of_clusters_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('kind = "slurm"\nworkers = 8\nqeue = "short"\n')
    with pytest.raises(ConfigError, match="qeue") as caught:
        read_cluster(path)
    assert "did you mean 'queue'" in str(caught.value)
    for text, words in {
        'kind = "cloud"': "one of local, ssh, slurm, pbs",
        "workers = 3": "one of local, ssh, slurm, pbs",
        'kind = "ssh"': "hosts",
        'kind = "local"\nworkers = 0': "greater than or equal to 1",
        'kind = "local"\nmemory = "much"': "memory",
        "kind = ": "as TOML",
    }.items():
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            read_cluster(path)
        assert words in str(caught.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_cluster(tmp_path / "missing.toml")


@pytest.mark.parametrize(("kind", "words"), [("slurm", "#SBATCH"), ("pbs", "#PBS")])
def test_batch_systems_get_a_script_with_one_core_per_worker(kind: str, words: str) -> None:
    spec = ClusterSpec(
        kind=kind,  # type: ignore[arg-type]
        queue="short",
        workers=8,
        workers_per_job=4,
        memory="2GB",
        walltime="01:00:00",
        prologue=("module load python",),
        directives=("--constraint=cpu",) if kind == "slurm" else ("-m n",),
    )
    cluster = batch_cluster(spec)
    try:
        script = cluster.job_script()
    finally:
        cluster.close()
    assert words in script
    assert "short" in script and "module load python" in script
    assert "--nthreads 1" in script and "--nworkers 4" in script
    assert "export OMP_NUM_THREADS=1" in script
