"""What traffic is called, through every route from a file to a clip: nothing is called recorded that is not."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.cli.main import run
from giveway.core.case import Role
from giveway.core.errors import DataError
from giveway.core.origins import Origin, RowOrigin, banner
from giveway.data import DATASETS
from giveway.sim.log_files import logs_below, read_log, write_log
from giveway.study.design import read_design
from giveway.study.manifest import Clip, read_manifest
from giveway.study.texts import bundled_texts, feedback_of
from giveway.synth.protocol import synthesize


def call(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        run([str(argument) for argument in arguments])
    out = capsys.readouterr()
    assert stop.value.code == code, out.err
    return out.out if code == 0 else out.err


def clips_of(
    capsys: pytest.CaptureFixture[str], folder: Path, study: Path, *more: object, num_clips: int = 8
) -> list[Clip]:
    options = ["--num-clips", num_clips, "--seconds", 2.5, "--practice", 2, *more]
    call(capsys, "study", "create", "--clips", folder, "--out", study, *options)
    return read_manifest(study)


def mislabeled(clips: list[Clip], expected: Origin, declared_by: str = "file") -> list[Clip]:
    """Clips that are not what they should be; a broken one must remember what it was."""
    return [
        clip
        for clip in clips
        if (
            (clip.origin, clip.source.get("was")) != (Origin.BROKEN, expected)
            if clip.broken
            else (clip.origin, clip.declared_by) != (expected, declared_by)
        )
        or len(clip.origins) < 2
    ]


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("origins") / "synthetic"
    synthesize("interaction", root, seed=3, count=1, minutes=1)
    return root


@pytest.fixture(scope="module")
def unmarked(synthetic: Path) -> Path:
    """Recordings that nobody marked: the same traffic under another site, without the list, one digit changed."""
    root = synthetic.parent / "unmarked"
    site = root / "recorded_trackfiles" / "DR_USA_Somewhere"
    site.mkdir(parents=True)
    text = (synthetic / "recorded_trackfiles" / "DR_SYN_Roundabout_A" / "vehicle_tracks_000.csv").read_text()
    lines = text.splitlines()
    shifted = [
        ",".join([*row[:4], f"{float(row[4]) + 0.001:.3f}", *row[5:]]) for row in (x.split(",") for x in lines[1:])
    ]
    (site / "vehicle_tracks_000.csv").write_text("\n".join([lines[0], *shifted]) + "\n")
    return root


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated") / "G"
    with pytest.raises(SystemExit):
        run(["generate", "run", "--ego", "constant_speed", "--driver", "program", "--budget", "10", "--out", str(out)])
    return out / "cases"


def convert(capsys: pytest.CaptureFixture[str], root: Path, store: Path) -> Path:
    call(capsys, "data", "convert", "--dataset", "interaction", "--root", root, "--out", store)
    return store


def drive(capsys: pytest.CaptureFixture[str], cases: Path, data: Path, out: Path) -> str:
    return call(capsys, "drive", "run", "-p", "constant_velocity", "-c", cases, "--data", data, "--out", out)


def expected_of_logs(out: Path, reference: dict[str, Origin]) -> dict[str, Origin]:
    """Case to what moved its rated car: driven by a program, or what its recording is."""
    found: dict[str, Origin] = {}
    order = {Role.REACTIVE: 0, Role.IDM: 1, Role.REPLAY: 2}
    for folder in logs_below(out):
        log = read_log(folder)
        rows = [
            (order[role], -int(log.tracks.observed[row].sum()), row)
            for row, role in enumerate(log.roles)
            if role in order and (role is not Role.REPLAY or log.predicted[row])
        ]
        role = log.roles[min(rows)[2]]
        found[log.case.id] = reference[log.case.id] if role is Role.REPLAY else Origin.DRIVEN
    return found


def test_raw_synthetic_files_become_synthetic_clips(capsys, synthetic, tmp_path):
    clips = clips_of(capsys, synthetic, tmp_path / "s")
    assert {clip.condition for clip in clips if not clip.broken} == {"synthetic"}
    assert mislabeled(clips, Origin.SYNTHETIC) == []
    assert any(clip.broken for clip in clips)


def test_a_converted_store_keeps_the_origin(capsys, synthetic, unmarked, tmp_path):
    clips = clips_of(capsys, convert(capsys, synthetic, tmp_path / "store"), tmp_path / "s")
    assert mislabeled(clips, Origin.SYNTHETIC) == []
    clips = clips_of(capsys, convert(capsys, unmarked, tmp_path / "other"), tmp_path / "t")
    assert mislabeled(clips, Origin.RECORDED, "assumed") == []
    assert {clip.condition for clip in clips if not clip.broken} == {"recorded"}


def test_a_store_says_itself_what_its_traffic_is(capsys, synthetic, tmp_path):
    folder = tmp_path / "listed" / "recorded_trackfiles" / "DR_USA_Renamed"
    folder.mkdir(parents=True)
    shutil.copy(synthetic / "recorded_trackfiles" / "DR_SYN_Roundabout_A" / "vehicle_tracks_000.csv", folder)
    shutil.copy(synthetic / "synthetic.json", tmp_path / "listed")
    store = convert(capsys, tmp_path / "listed", tmp_path / "store")
    shutil.rmtree(tmp_path / "listed")
    assert mislabeled(clips_of(capsys, store, tmp_path / "s"), Origin.SYNTHETIC) == []


@pytest.mark.parametrize("with_list", [False, True])
def test_a_copy_of_single_synthetic_files_is_synthetic(capsys, synthetic, tmp_path, with_list):
    site = "DR_USA_Renamed" if with_list else "DR_SYN_Roundabout_A"
    folder = tmp_path / "copy" / "recorded_trackfiles" / site
    folder.mkdir(parents=True)
    shutil.copy(synthetic / "recorded_trackfiles" / "DR_SYN_Roundabout_A" / "vehicle_tracks_000.csv", folder)
    if with_list:
        shutil.copy(synthetic / "synthetic.json", tmp_path / "copy")
    clips = clips_of(capsys, tmp_path / "copy", tmp_path / "s")
    assert mislabeled(clips, Origin.SYNTHETIC) == []


@pytest.mark.parametrize("marked", [True, False])
def test_mined_cases_that_are_driven_give_driven_and_replayed_clips(capsys, synthetic, unmarked, tmp_path, marked):
    root, origin = (synthetic, Origin.SYNTHETIC) if marked else (unmarked, Origin.RECORDED)
    cases = tmp_path / "cases.json"
    call(capsys, "drive", "mine", "--data", root, "--out", cases, "--min-interest", 1, "--per-recording", 6)
    said = drive(capsys, cases, root, tmp_path / "R")
    assert ("recorded humans" in said) is not marked
    assert ("reference traffic (synthetic)" in said) is marked
    clips = clips_of(capsys, tmp_path / "R", tmp_path / "s", "--data", root)
    ids = {entry["id"] for entry in json.loads(cases.read_text())["cases"]}
    truth = expected_of_logs(tmp_path / "R", dict.fromkeys(ids, origin))
    reference = [clip for clip in clips if clip.condition == str(origin) or clip.broken]
    assert mislabeled(reference, origin, "file" if marked else "assumed") == []
    driven = [clip for clip in clips if clip.condition == "constant_velocity"]
    assert driven
    assert [clip for clip in driven if clip.origin != truth[clip.scene]] == []
    assert all(clip.origins[0] == Origin.DRIVEN for clip in driven), "the ego"


def test_generated_traffic_is_never_called_recorded(capsys, generated, tmp_path):
    clips = clips_of(capsys, generated / "recordings", tmp_path / "s")
    assert mislabeled(clips, Origin.GENERATED) == []
    assert {clip.condition for clip in clips if not clip.broken} == {"generated"}
    assert all(clip.origins[0] == Origin.DRIVEN for clip in clips), "the ego under test"
    assert all("program on straight" in str(clip.source["by"]) for clip in clips if not clip.broken)
    said = drive(capsys, generated / "cases.json", generated / "recordings", tmp_path / "R")
    assert "recorded humans" not in said
    assert "reference traffic (driven, generated)" in said
    assert said.startswith("Not real traffic: the reference traffic is driven (driven by a program) and generated")
    clips = clips_of(capsys, tmp_path / "R", tmp_path / "t", "--data", generated / "recordings")
    assert mislabeled(clips, Origin.GENERATED) == [], "replayed adversaries stay generated, whoever drives the ego"
    again = call(capsys, "study", "create", "--clips", generated / "recordings", "--out", tmp_path / "u", "--json",
                 "--seconds", 2.5, "--num-clips", 4)  # fmt: skip
    assert json.loads(again)["result"]["origin"] == ["generated", "broken"]


def test_the_bundled_cases_are_synthetic(capsys, tmp_path):
    call(capsys, "drive", "run", "-p", "echo", "--limit", 2, "--out", tmp_path / "R")
    clips = clips_of(capsys, tmp_path / "R", tmp_path / "s", num_clips=4)
    assert {clip.condition for clip in clips if not clip.broken} == {"synthetic", "echo"}
    assert mislabeled([c for c in clips if c.condition != "echo"], Origin.SYNTHETIC) == []
    assert {c.origin for c in clips if c.condition == "echo"} == {Origin.DRIVEN}
    scored = json.loads(call(capsys, "drive", "score", tmp_path / "R", "--json"))["result"]["predictors"][0]
    assert scored["origin"] == ["synthetic"]
    call(capsys, "report", tmp_path / "R", "--out", tmp_path / "site")
    said = "Not real traffic: the reference traffic is synthetic (computed by a traffic model)."
    assert any(said in page.read_text() for page in (tmp_path / "site").rglob("*.html"))


def test_a_condition_is_not_recorded_because_it_is_called_so(capsys, generated, unmarked, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "recorded").symlink_to(generated / "recordings")
    (folder / "theirs").symlink_to(unmarked)
    clips = clips_of(capsys, folder, tmp_path / "s")
    assert {clip.origin for clip in clips if clip.condition == "recorded"} == {Origin.GENERATED}
    assert read_design(tmp_path / "s").recorded == "theirs"
    options = ["--out", tmp_path / "t", "--seconds", 2.5, "--recorded", "recorded"]
    error = call(capsys, "study", "create", "--clips", folder, *options, code=2)
    assert "condition 'recorded' is not recorded traffic" in error
    assert "its traffic is generated (made to provoke a driving program)" in error


def test_unmarked_recordings_are_called_real_only_on_the_word_of_the_researcher(capsys, unmarked, synthetic, tmp_path):
    clips = clips_of(capsys, unmarked, tmp_path / "s")
    assert mislabeled(clips, Origin.RECORDED, "assumed") == []
    assert {feedback(clip) for clip in clips if not clip.broken} == {"other"}
    signed = clips_of(capsys, unmarked, tmp_path / "t", "--origin", "recorded")
    assert mislabeled(signed, Origin.RECORDED, "user") == []
    assert {feedback(clip) for clip in signed if not clip.broken} == {"recorded"}
    assert read_design(tmp_path / "t").origin == "recorded"
    options = ["--out", tmp_path / "u", "--seconds", 2.5, "--origin", "recorded"]
    assert "none of this traffic can be declared recorded" in call(
        capsys, "study", "create", "--clips", synthetic, *options, code=2
    )
    assert not (tmp_path / "u").exists()


def feedback(clip: Clip) -> str:
    return feedback_of(clip.origin, clip.declared_by, is_broken=clip.broken, is_declared=True)


def test_logs_of_earlier_releases_have_an_unknown_origin(capsys, tmp_path):
    call(capsys, "drive", "run", "-p", "echo", "--limit", 2, "--out", tmp_path / "R")
    for folder in logs_below(tmp_path / "R"):
        log = read_log(folder)
        older = replace(log, origins=(), recorded_origins=(), case=replace(log.case, origin=None))
        write_log(tmp_path / "older" / "echo" / folder.name, older)
    clips = clips_of(capsys, tmp_path / "older", tmp_path / "s", num_clips=4)
    assert {clip.origin for clip in clips} == {"unknown", Origin.BROKEN}
    assert {clip.condition for clip in clips if not clip.broken} == {"reference", "echo"}
    assert "of unknown origin" in call(capsys, "drive", "score", tmp_path / "older").splitlines()[0]


def test_words_come_from_the_origin():
    texts = bundled_texts()
    told = {
        origin: texts[f"practice_feedback_{feedback_of(origin, 'file', is_broken=False, is_declared=False)}"]
        for origin in Origin
    }
    assert [origin for origin, text in told.items() if "recorded in real traffic" in text] == [Origin.RECORDED]
    assert "declare" in texts[f"practice_feedback_{feedback_of('unknown', '', is_broken=False, is_declared=True)}"]
    assert feedback_of("unknown", "", is_broken=False, is_declared=False) == "other"
    assert banner("it", ["recorded"]) == ""
    assert banner("it", []) == "Not real traffic: it is of unknown origin."


@given(first=st.sampled_from(Origin), second=st.sampled_from(Origin))
def test_an_origin_cannot_be_raised(first: Origin, second: Origin) -> None:
    ranks = list(Origin)
    row = RowOrigin(origin=first, declared_by="file")
    if ranks.index(second) >= ranks.index(first):
        changed = row.becomes(second, "x")
        assert (changed.origin, changed.was) == (second, first)
        assert RowOrigin.from_plain(json.loads(json.dumps(changed.to_plain()))) == changed
    else:
        with pytest.raises(DataError, match="cannot be raised"):
            row.becomes(second, "x")
    assert row.signed() == row


@pytest.mark.parametrize("dataset", ["highd", "ind", "interaction_cases", "leeds", "lgap", "round"])
def test_every_adapter_knows_synthetic_files_also_after_they_were_edited_or_copied(tmp_path, dataset):
    root = tmp_path / "data"
    synthesize(dataset, root, seed=1, count=1, minutes=None if dataset in ("lgap", "leeds") else 0.5)
    adapter = DATASETS.get(dataset)
    recording = adapter.recordings(root)[0]
    scene = next(iter(adapter.scenes(recording)))
    assert (scene.provenance.origin, scene.provenance.declared_by) == (Origin.SYNTHETIC, "file")
    (root / "synthetic.json").rename(root.parent / "synthetic.json")
    assert next(iter(adapter.scenes(recording))).provenance.origin is Origin.SYNTHETIC, "by digest, from above"
    (root.parent / "synthetic.json").unlink()
    if not recording.location.startswith("DR_SYN_"):
        scene = next(iter(adapter.scenes(recording)))
        assert (scene.provenance.origin, scene.provenance.declared_by) == (Origin.RECORDED, "assumed")
