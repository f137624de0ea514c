"""What a folder can do wrong, through the command line: exit code 2, one clear message, nothing left behind."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giveway.cli.main import run
from giveway.core.errors import GivewayError
from giveway.data import DATASETS

SITE = "recorded_trackfiles/DR_TEST_Merging_A"
VEHICLES = f"{SITE}/vehicle_tracks_000.csv"


def call(*args):
    with pytest.raises(SystemExit) as caught:
        run([str(arg) for arg in args])
    return caught.value.code or 0


def lines_of(path):
    return path.read_text().splitlines()


def put(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def swap(path, a, b):
    lines = lines_of(path)
    lines[a - 1], lines[b - 1] = lines[b - 1], lines[a - 1]
    put(path, lines)


def without_column(path, name):
    rows = [line.split(",") for line in lines_of(path)]
    index = rows[0].index(name)
    put(path, [",".join(row[:index] + row[index + 1 :]) for row in rows])


def replaced(path, old, new):
    path.write_text(path.read_text().replace(old, new))


DAMAGE = {
    "truncated": lambda p: p.write_bytes(p.read_bytes()[:-20]),
    "truncated inside the last number": lambda p: p.write_bytes(p.read_bytes()[:-2]),
    "missing column": lambda p: without_column(p, "psi_rad"),
    "wrong separator": lambda p: replaced(p, ",", ";"),
    "decimal comma": lambda p: replaced(p, "1000.500", "1000,500"),
    "nan": lambda p: replaced(p, "1000.500", "nan"),
    "infinity": lambda p: replaced(p, "1000.500", "-inf"),
    "overflow": lambda p: replaced(p, "1000.500", "1e999"),
    "duplicate frame": lambda p: put(p, [*lines_of(p)[:3], *lines_of(p)[2:]]),
    "unsorted frames": lambda p: swap(p, 3, 4),
    "missing frame": lambda p: put(p, [*lines_of(p)[:3], *lines_of(p)[4:]]),
    "zero size": lambda p: replaced(p, "4.5,1.8", "0.0,1.8"),
    "Latin-1": lambda p: p.write_bytes(p.read_bytes().replace(b"car", "Straßenbahn".encode("latin-1"), 1)),
    "UTF-16": lambda p: p.write_bytes(p.read_text().encode("utf-16")),
    "empty": lambda p: p.write_bytes(b""),
    "header only": lambda p: put(p, lines_of(p)[:1]),
    "blank line": lambda p: put(p, [*lines_of(p)[:3], "", *lines_of(p)[3:]]),
    "binary": lambda p: p.write_bytes(bytes(range(256)) * 10),
    "column twice": lambda p: replaced(p, "vx,vy", "vx,vx"),
    "tracks interleaved": lambda p: swap(p, 2, 8),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_ends_with_code_one_and_a_place(interaction_root, damage, capsys, tmp_path_factory):
    path = interaction_root / VEHICLES
    DAMAGE[damage](path)
    out = tmp_path_factory.mktemp("out") / "store"
    for command in ("verify", "convert"):
        target = ["--out", out] if command == "convert" else []
        assert call("data", command, "--dataset", "interaction", "--root", interaction_root, *target) == 1
        message = capsys.readouterr().err
        assert "Traceback" not in message
        assert VEHICLES in message and ", line " in message and ", column " in message
        assert "  found " in message and "  try " in message
    assert [entry.name for entry in out.iterdir()] == ["store.json"]


def test_reordered_columns_are_harmless_and_remarked(interaction_root, capsys):
    path = interaction_root / VEHICLES
    adapter = DATASETS.get("interaction")
    before = next(adapter.scenes(adapter.recordings(interaction_root)[0])).tracks
    put(path, [",".join(reversed(line.split(","))) for line in lines_of(path)])
    after = next(adapter.scenes(adapter.recordings(interaction_root)[0])).tracks
    np.testing.assert_array_equal(before.xy, after.xy)
    assert call("data", "verify", "--dataset", "interaction", "--root", interaction_root) == 0
    assert "another order" in capsys.readouterr().err


AS_NOBODY = """
import os, sys
from giveway.cli.main import run
import giveway.cli.data
from giveway.data import DATASETS
from giveway.data.layout import identify
for name in DATASETS.names():
    DATASETS.get(name)
"".encode("utf-8-sig")
os.chdir(sys.argv[1])
if os.geteuid() == 0:  # nothing is forbidden to root, so become somebody else, with everything imported
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
run(["data", "verify", "--dataset", sys.argv[2], "--root", ".", "--json"])
"""


def verify_as_nobody(root, dataset):
    root.chmod(0o755)
    command = [sys.executable, "-c", AS_NOBODY, str(root), dataset]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)["result"]


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_without_permission_is_said_so(interaction_root, mode):
    site = interaction_root / SITE
    site.chmod(mode)
    try:
        (problem,) = verify_as_nobody(interaction_root, "interaction")["problems"]
    finally:
        site.chmod(0o755)
    assert problem["message"] == "no permission to read"
    assert SITE in problem["file"] and "chmod" in problem["hint"]


def test_a_file_without_permission_is_one_problem_and_the_rest_goes_on(round_root):
    for path in sorted((round_root / "data").glob("00_*")):
        (path.parent / path.name.replace("00_", "01_")).write_bytes(path.read_bytes())
    (round_root / "data" / "00_tracks.csv").chmod(0o000)
    document = verify_as_nobody(round_root, "round")
    assert [problem["message"] for problem in document["problems"]] == ["no permission to read"]
    assert [recording["id"] for recording in document["recordings"]] == ["01"]


def test_a_file_in_place_of_the_folder_is_said_so(tmp_path, capsys):
    path = tmp_path / "data.zip"
    path.write_bytes(b"PK")
    assert call("data", "verify", "--dataset", "round", "--root", path) == 1
    assert "not a folder" in capsys.readouterr().err


MAPS = {
    "dangling node": (
        '<osm version="0.6"><node id="1" lat="0" lon="0"/><way id="2"><nd ref="1"/><nd ref="99"/></way></osm>',
        "99",
    ),
    "XML bomb": (
        '<!DOCTYPE osm [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><osm version="0.6"><node id="&b;"/></osm>',
        "document type",
    ),
    "cut": ('<osm version="0.6"><node id="1" lat="0" lon="0"/>', "not well-formed"),
    "empty": ("", "not well-formed"),
}


@pytest.mark.parametrize("kind", MAPS)
def test_a_broken_map_ends_with_code_one_and_a_line(interaction_root, kind, capsys):
    text, word = MAPS[kind]
    (interaction_root / "maps").mkdir()
    (interaction_root / "maps" / "DR_TEST_Merging_A.osm").write_text(text)
    assert call("data", "verify", "--dataset", "interaction", "--root", interaction_root) == 1
    message = capsys.readouterr().err
    assert word in message and "maps/DR_TEST_Merging_A.osm, line 1" in message and "Traceback" not in message


def test_paths_with_spaces_and_other_letters_work(round_root, tmp_path_factory, capsys):
    odd = tmp_path_factory.mktemp("odd") / "Aufnahmen für Ö 道路, Teil 1"
    round_root.rename(odd)
    store = odd.parent / "Ablage é"
    assert call("data", "verify", "--dataset", "round", "--root", odd) == 0
    assert call("data", "convert", "--dataset", "round", "--root", odd, "--out", store) == 0
    assert call("data", "verify", "--dataset", "store", "--root", store, "--json") == 0
    capsys.readouterr()


def test_an_unknown_dataset_suggests_the_nearest(tmp_path, capsys):
    assert call("data", "verify", "--dataset", "rouund", "--root", tmp_path) == 2
    assert "did you mean 'round'" in capsys.readouterr().err


def small_files(root):
    adapter = DATASETS.get("round")
    return adapter, adapter.recordings(root)[0]


mutations = st.one_of(
    st.tuples(st.just("byte"), st.integers(0, 10**6), st.integers(0, 255)),
    st.tuples(st.just("cut"), st.integers(0, 10**6), st.just(0)),
    st.tuples(st.just("drop cell"), st.integers(0, 10**6), st.integers(0, 16)),
    st.tuples(st.just("swap columns"), st.integers(0, 16), st.integers(0, 16)),
    st.tuples(st.just("drop line"), st.integers(0, 10**6), st.just(0)),
    st.tuples(st.just("repeat line"), st.integers(0, 10**6), st.just(0)),
)


def mutate(data, kind, a, b):
    lines = data.decode().splitlines()
    if kind == "byte":
        position = a % len(data)
        return data[:position] + bytes([b]) + data[position + 1 :]
    if kind == "cut":
        return data[: a % len(data)]
    if kind == "swap columns":
        rows = [line.split(",") for line in lines]
        count = len(rows[0])
        for row in rows:
            row[a % count], row[b % count] = row[b % count], row[a % count]
        return "".join(",".join(row) + "\n" for row in rows).encode()
    index = a % len(lines)
    if kind == "drop cell":
        cells = lines[index].split(",")
        del cells[b % len(cells)]
        lines[index] = ",".join(cells)
    elif kind == "drop line":
        del lines[index]
    else:
        lines.insert(index, lines[index])
    return "".join(f"{line}\n" for line in lines).encode()


def is_digit_for_digit(before, after):
    """A change that leaves a valid number in place of another cannot be seen by any reader."""
    if len(before) != len(after):
        return False
    changed = [(x, y) for x, y in zip(before, after, strict=True) if x != y]
    return all(chr(y) in "0123456789.-+eE " for _, y in changed)


@pytest.mark.parametrize("role", ["tracks", "meta", "recording"])
@given(mutation=mutations)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_file_is_refused_or_gives_exactly_the_original(round_root, role, mutation):
    adapter, recording = small_files(round_root)
    path = recording.files[role]
    original = path.read_bytes()
    expected = next(adapter.scenes(recording))
    changed = mutate(original, *mutation)
    try:
        path.write_bytes(changed)
        try:
            scene = next(adapter.scenes(recording))
        except GivewayError as error:
            assert error.where and error.hint
            assert not adapter.verify(round_root).ok
            return
        assert adapter.verify(round_root).ok
        if not is_digit_for_digit(original, changed):
            for name in ("time_s", "xy", "heading", "velocity", "observed", "size", "kind", "ids"):
                np.testing.assert_array_equal(getattr(scene.tracks, name), getattr(expected.tracks, name))
    finally:
        path.write_bytes(original)


@given(mutation=mutations)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_vehicle_files_never_end_in_another_exception(interaction_root, mutation):
    adapter = DATASETS.get("interaction")
    recording = adapter.recordings(interaction_root)[0]
    path = recording.files["vehicles"]
    original = path.read_bytes()
    changed = mutate(original, *mutation)
    try:
        path.write_bytes(changed)
        try:
            next(adapter.scenes(recording))
        except GivewayError:
            assert not adapter.verify(interaction_root).ok
        else:
            assert adapter.verify(interaction_root).ok
    finally:
        path.write_bytes(original)


@given(data=st.binary(max_size=400))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_bytes_never_end_in_another_exception(lgap_root, data):
    adapter = DATASETS.get("lgap")
    for name in ("measures.csv", "processed_data.csv"):
        path = lgap_root / name
        original = path.read_bytes()
        try:
            path.write_bytes(data)
            assert not adapter.verify(lgap_root).ok
        finally:
            path.write_bytes(original)
