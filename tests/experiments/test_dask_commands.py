"""Commands on a real cluster on loopback: as a user types them, in a process of their own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from experiments.dask_processes import LoopbackCluster, can_hide_folders, free_port
from experiments.slurm_queue import can_queue, slurm_queue
from experiments.ssh_server import KEYGEN, SSHD, ssh_server
from giveway.experiments import Cell, SerialExecutor, Store, compute, read_index
from giveway.experiments.dask_engine import at_scheduler
from giveway.synth.protocol import synthesize

HERE = Path(__file__).parent
SPEC = """
datasets = ["lgap"]
t0 = ["constant"]
models = ["LR_1D", "CV"]
splits = {random = 2}
metrics = ["auc", "brier"]
n_input_max = 2
min_samples = 40

[synthetic]
lgap = {count = 80}
"""
DRIVE = ["drive", "run", "--predictor", "constant_velocity", "--limit", "3"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackCluster]:
    with LoopbackCluster(tmp_path_factory.mktemp("dask")) as found:
        found.start_scheduler()
        found.start_workers(2)
        yield found


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "giveway.cli.main", *(str(a) for a in arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment},
    )


def command(*arguments: object, code: int = 0, **environment: str) -> tuple[str, str]:
    process = start(*arguments, **environment)
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, err + out
    return out, err


def results(store: Path) -> dict[str, str]:
    """Every file that a run is for; not its log, lock and provenance."""
    parts = [p for name in ("cells", "logs", "failed") for p in (store / name).rglob("*") if p.is_file()]
    return {str(p.relative_to(store)): hashlib.sha256(p.read_bytes()).hexdigest() for p in parts}


def wait_for_results(store: Path, count: int) -> None:
    deadline = time.monotonic() + 400
    while len(list(store.glob("cells/*/*.json"))) < count:
        assert time.monotonic() < deadline, "the run does not get anywhere"
        time.sleep(0.02)


def test_the_benchmark_on_a_scheduler_writes_the_same_files(
    cluster: LoopbackCluster, spec: Path, tmp_path: Path
) -> None:
    command("gaps", "run", spec, "--out", tmp_path / "local", "--workers", 1)
    out, _ = command(
        "gaps", "run", spec, "--out", tmp_path / "dask", "--engine", "dask", "--scheduler", cluster.address, "--json"
    )
    assert json.loads(out)["result"]["cells"]["done"] == 4
    assert results(tmp_path / "local") == results(tmp_path / "dask")
    assert len(results(tmp_path / "dask")) == 8


@pytest.mark.slow
def test_a_cluster_started_for_the_run_writes_the_same_files(spec: Path, tmp_path: Path) -> None:
    description = tmp_path / "cluster.toml"
    description.write_text('kind = "local"\nworkers = 2\nmemory = "2GB"\n')
    command("gaps", "run", spec, "--out", tmp_path / "local", "--workers", 1)
    command("gaps", "run", spec, "--out", tmp_path / "dask", "--engine", "dask", "--cluster", description)
    assert results(tmp_path / "local") == results(tmp_path / "dask")


def test_a_plan_counts_the_workers_of_the_cluster(cluster: LoopbackCluster, spec: Path, tmp_path: Path) -> None:
    description = tmp_path / "cluster.toml"
    description.write_text('kind = "slurm"\nqueue = "short"\nworkers = 64\n')
    with at_scheduler(cluster.address)() as client:
        client.wait_for_workers(2, timeout=60)
    places = {
        2: ["--scheduler", cluster.address],
        64: ["--cluster", description],
        7: ["--workers", 7],
    }
    for number, place in places.items():
        order = ["gaps", "run", spec, "--out", tmp_path / "R", "--engine", "dask", *place, "--dry-run", "--json"]
        assert json.loads(command(*order)[0])["result"]["workers"] == number
    assert not (tmp_path / "R").exists()


@pytest.mark.slow
def test_driving_on_a_scheduler_writes_the_same_logs(cluster: LoopbackCluster, tmp_path: Path) -> None:
    there = ["--engine", "dask", "--scheduler", cluster.address]
    own = ["--engine", "dask", "--workers", 2]
    told = [
        json.loads(command(*DRIVE, "--out", tmp_path / name, *options, "--json")[0])["result"]
        for name, options in {"local": [], "dask": there, "own": own}.items()
    ]
    assert results(tmp_path / "local") == results(tmp_path / "dask") == results(tmp_path / "own")
    assert sum(name.startswith("logs") for name in results(tmp_path / "dask")) >= 3
    rows = [[{k: v for k, v in row.items() if k != "latency_ms"} for row in one["predictors"]] for one in told]
    assert rows[0] == rows[1] == rows[2]


PAUSING = """
import sys
sys.path.insert(0, sys.argv[1])
from giveway.experiments.engines import DaskEngine
from giveway.synth.protocol import synthesize
from giveway.experiments import Cell, LineProgress, compute

if __name__ == "__main__":
    where = {"scheduler": sys.argv[4]} if sys.argv[4] else {"workers": 2}
    cells = [Cell(kind="test", params={"seed": 0, "repetition": i}, data="d") for i in range(40)]
    try:
        summary = compute(cells, experiment="run_evaluations:draw", store=sys.argv[2],
                      progress=LineProgress(every_s=0.0),
                      engine=DaskEngine(**where), machine={"pause_s": float(sys.argv[3])})
    except KeyboardInterrupt:
        sys.exit(130)
    print(summary.done, summary.skipped, summary.missing, flush=True)
"""


def start_pausing(script: Path, store: Path, pause_s: float, scheduler: str) -> subprocess.Popen[str]:
    """Cells that mostly wait, on the engine that the command line would make."""
    script.write_text(PAUSING)
    words = [sys.executable, str(script), str(HERE), str(store), str(pause_s), scheduler]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *(p for p in sys.path if p)])}
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scheduler", "own"])
def test_ctrl_c_once_drains_twice_stops_and_the_same_run_goes_on(
    cluster: LoopbackCluster, tmp_path: Path, cells: Callable[..., list[Cell]], kind: str
) -> None:
    order = tmp_path / "order.py", tmp_path / "R"
    address = cluster.address if kind == "scheduler" else ""

    draining = start_pausing(*order, 0.4, address)
    wait_for_results(tmp_path / "R", 2)
    os.killpg(draining.pid, signal.SIGINT)  # a terminal sends it to everybody
    out, err = draining.communicate(timeout=300)
    assert draining.returncode == 0, err
    assert "press Ctrl-C again" in err
    assert "Traceback" not in err
    drained = len(read_index(Store(tmp_path / "R")).keys())
    assert out.split() == [str(drained), "0", str(40 - drained)]
    assert 2 <= drained < 40

    stopping = start_pausing(*order, 1.5, address)
    wait_for_results(tmp_path / "R", drained + 1)
    os.killpg(stopping.pid, signal.SIGINT)
    time.sleep(0.2)
    os.killpg(stopping.pid, signal.SIGINT)
    _, err = stopping.communicate(timeout=300)
    assert stopping.returncode == 130, err
    assert "Traceback" not in err
    assert not Store(tmp_path / "R").lock().is_held()
    time.sleep(3.0)  # a cell that was being written may still appear
    stopped = len(read_index(Store(tmp_path / "R")).keys())
    assert drained < stopped < 40

    out, err = start_pausing(*order, 0.0, address).communicate(timeout=300)
    assert out.split() == [str(40 - stopped), str(stopped), "0"], err
    compute(cells(40), experiment="run_evaluations:draw", store=tmp_path / "S", engine=SerialExecutor())
    assert results(tmp_path / "R") == results(tmp_path / "S")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Generator[Path]:
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("cannot mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recordings") / "lgap"
    synthesize("lgap", root, seed=0, count=80)
    return root


@pytest.mark.slow
def test_a_full_disk_under_the_store_ends_the_run_with_advice(
    cluster: LoopbackCluster, recordings: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "many.toml"
    spec.write_text(SPEC.partition("[synthetic]")[0].replace("random = 2", "random = 200"))
    there = ["--root", f"lgap={recordings}", "--engine", "dask", "--scheduler", cluster.address]
    with small_disk(tmp_path / "disk", "7m") as disk:
        _, err = command("gaps", "run", spec, "--out", disk / "R", *there, code=2)
        assert "the disk is full" in err
        assert "cells are finished and safe" in err
        assert "make room" in err
        assert "Traceback" not in err
        kept = read_index(Store(disk / "R"))
        assert 0 < len(kept.keys()) < 400
        assert not kept.damaged
        subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
        out, _ = command("gaps", "run", spec, "--out", disk / "R", *there, "--json")
        assert json.loads(out)["result"]["cells"]["skipped"] == len(kept.keys())
        command("gaps", "run", spec, "--out", tmp_path / "S", "--root", f"lgap={recordings}", "--workers", 2)
        assert results(disk / "R") == results(tmp_path / "S")


@pytest.mark.slow
def test_a_disk_that_is_full_before_the_run_is_one_sentence(spec: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "300k") as disk:
        _, err = command("gaps", "run", spec, "--out", disk / "R", "--workers", 1, code=2)
    assert "the disk is full" in err
    assert str(disk) in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.skipif(not can_hide_folders(), reason="giving a process its own view of the disks needs root")
@pytest.mark.parametrize("room", ["enough", "none"])
def test_workers_without_the_store_send_results_back_or_say_that_their_disk_is_full(
    tmp_path: Path, recordings: Path, room: str
) -> None:
    """Without shared storage a worker keeps samples on a disk of its own."""
    here, spec = tmp_path / "here", tmp_path / "spec.toml"
    here.mkdir()
    spec.write_text(SPEC.partition("[synthetic]")[0])
    data = ["--root", f"lgap={recordings}"]
    with small_disk(tmp_path / "disk", "40k" if room == "none" else "60m") as disk, LoopbackCluster(tmp_path) as other:
        other.start_scheduler()
        other.start_workers(1, hide=here, TMPDIR=str(disk))
        order = ["gaps", "run", spec, "--out", here / "R", *data, "--engine", "dask", "--scheduler", other.address]
        _, err = command(*order, code=2 if room == "none" else 0)
    assert "they send their results here" in err
    assert "Traceback" not in err
    if room == "none":
        assert "the disk is full" in err
        assert str(disk) in err
        assert "make room" in err
    else:
        command("gaps", "run", spec, "--out", tmp_path / "S", *data, "--workers", 1)
        assert results(here / "R") == results(tmp_path / "S")


@pytest.mark.slow
def test_an_object_store_that_does_not_answer_is_one_sentence(tmp_path: Path, spec: Path) -> None:
    nobody = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
        "GIVEWAY_CACHE": str(tmp_path / "cache"),
    }
    for arguments in (["run", spec, "--out", "s3://bucket/R", "--engine", "dask"], ["table", "s3://bucket/R"]):
        _, err = command("gaps", *arguments, code=2, **nobody)
        assert "the object store does not work" in err
        assert "AWS_ENDPOINT_URL" in err
        assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.skipif(SSHD is None or KEYGEN is None, reason="needs an ssh server (apt-get install openssh-server)")
def test_a_cluster_over_ssh_writes_the_same_files(spec: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    paths = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with ssh_server(keys, paths) as server:
        description = tmp_path / "cluster.toml"
        description.write_text(
            f'kind = "ssh"\nhosts = ["127.0.0.1"]\nworkers = 2\nport = {server.port}\nuser = "{server.user}"\n'
            f'key_file = "{server.key_file}"\nknown_hosts = "{server.known_hosts}"\npython = "{sys.executable}"\n'
        )
        order = ["gaps", "run", spec, "--out", tmp_path / "ssh", "--engine", "dask", "--cluster", description]
        out, _ = command(*order, "--json")
        assert json.loads(out)["result"]["cells"]["done"] == 4
        description.write_text(description.read_text().replace(str(server.known_hosts), str(keys / "user.pub")))
        _, err = command(*order, "--rerun", "all", code=2)
        assert "cannot start the ssh cluster" in err
        assert "Traceback" not in err
    _, err = command(*order, "--rerun", "all", code=2)
    assert "cannot start the ssh cluster" in err
    command("gaps", "run", spec, "--out", tmp_path / "local", "--workers", 1)
    assert results(tmp_path / "local") == results(tmp_path / "ssh")


@pytest.mark.slow
@pytest.mark.skipif(not can_queue(), reason="needs root and SLURM (apt-get install slurm-wlm munge)")
def test_jobs_of_a_slurm_queue_write_the_same_files(spec: Path, tmp_path: Path) -> None:
    queue = Path(tempfile.mkdtemp(prefix="giveway-slurm-", dir="/tmp"))  # paths of sockets must be short
    description = tmp_path / "cluster.toml"
    paths = os.pathsep.join(p for p in sys.path if p)
    description.write_text(
        f'kind = "slurm"\nqueue = "short"\nworkers = 2\nworkers_per_job = 2\nmemory = "1GB"\nwalltime = "00:20:00"\n'
        f'python = "{sys.executable}"\nprologue = ["export PYTHONPATH={paths}"]\ninterface = "lo"\n'
        f'directives = ["--chdir={tmp_path}"]\n'
    )
    try:
        with slurm_queue(queue) as variables:
            order = ["gaps", "run", spec, "--out", tmp_path / "slurm", "--engine", "dask", "--cluster", description]
            out, _ = command(*order, "--json", **variables)
            assert json.loads(out)["result"]["cells"]["done"] == 4
            description.write_text(description.read_text().replace('"short"', '"nowhere"'))
            _, err = command(*order, "--rerun", "all", code=2, **variables)
            assert "cannot start the slurm cluster" in err
            assert "Traceback" not in err
    finally:
        shutil.rmtree(queue, ignore_errors=True)
    command("gaps", "run", spec, "--out", tmp_path / "local", "--workers", 1)
    assert results(tmp_path / "local") == results(tmp_path / "slurm")
