import json
import subprocess
import sys

import pytest

from giveway.cli.main import run
from giveway.data import DATASETS

HEADER = "track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"


@pytest.fixture
def root(tmp_path):
    site = tmp_path / "data" / "DR_TEST_Merging_A"
    site.mkdir(parents=True)
    rows = [f"1,{k},{100 * k},car,{1000 + k / 2},990.0,5.0,0.0,0.0,4.5,1.8" for k in range(1, 61)]
    for number in ("000", "001"):
        (site / f"vehicle_tracks_{number}.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return tmp_path / "data"


def call(*args):
    with pytest.raises(SystemExit) as caught:
        run([str(arg) for arg in args])
    return caught.value.code or 0


def test_list_names_every_dataset_with_its_licence(capsys):
    assert call("list", "datasets", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["result"]["datasets"]
    assert [entry["name"] for entry in listed] == DATASETS.names()
    assert all(entry["license"] and entry["obtain"] and entry["layout"] for entry in listed)
    assert call("list", "datasets") == 0
    assert "rounD" in capsys.readouterr().out
    assert call("list", "datasets", "round") == 0
    said = capsys.readouterr().out
    assert DATASETS.get("round").info.obtain in said and "layout" in said


def test_verify_counts_per_location(root, capsys):
    assert call("data", "verify", root, "--dataset", "interaction", "--json") == 0
    document = json.loads(capsys.readouterr().out)["result"]
    assert (document["num_recordings"], document["num_tracks"], document["num_rows"]) == (2, 2, 120)
    assert document["duration_s"] == pytest.approx(12.0)
    assert document["locations"]["DR_TEST_Merging_A"]["num_recordings"] == 2
    assert call("data", "verify", root, "--dataset", "interaction") == 0
    assert "2 recordings, 2 tracks, 120 rows, 0.2 min; ok" in capsys.readouterr().out


def test_convert_writes_once_and_then_skips(root, tmp_path, capsys):
    arguments = ("data", "convert", root, "--dataset", "interaction", "--out", tmp_path / "store", "--json")
    assert call(*arguments) == 0
    assert json.loads(capsys.readouterr().out)["result"]["written"] == 2
    assert call(*arguments) == 0
    assert json.loads(capsys.readouterr().out)["result"]["skipped"] == 2


def test_one_bad_recording_does_not_stop_the_others_but_shows_in_the_exit_code(root, tmp_path, capsys):
    path = root / "DR_TEST_Merging_A" / "vehicle_tracks_001.csv"
    path.write_text(path.read_text().replace("1,30,3000", "1,31,3000"))
    assert call("data", "convert", root, "--dataset", "interaction", "--out", tmp_path / "s", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["result"]["written"], document["result"]["failed"]) == (1, 1)
    assert "line 31" in document["failures"][0]["where"]


def test_the_command_works_as_a_process(root):
    command = [
        sys.executable,
        "-m",
        "giveway.cli.main",
        "data",
        "verify",
        str(root),
        "-d",
        "interaction",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["ok"]
    assert done.stderr == ""
