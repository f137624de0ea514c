from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import DatasetLayoutError, EmptySelectionError, StoreError, UsageError
from giveway.core.origins import Origin
from giveway.study.anchors import sideways_slide, teleport
from giveway.study.clips import clip_document, clip_id, cut
from giveway.study.creation import Plan, create_study
from giveway.study.design import ClipStyle, parse_design, read_design
from giveway.study.manifest import read_manifest
from giveway.study.sources import find_sources
from giveway.study.windows import Window, find_windows
from giveway.testing import worlds
from support.studies import synthetic_study, world_source

STYLE = ClipStyle(duration_s=4.0, rate_hz=10.0)


def crossing_clip():
    scene = worlds.crossing(duration_s=6.0)
    return cut(scene, Window(start=5, stop=46, ego=1, rated=0, nearest_m=1.0), STYLE)


def test_nearest_encounter_is_chosen_and_nobody_is_rated_twice() -> None:
    movers = [worlds.car([[0, y], [200, y]], 10.0, start_s=x) for y, x in ((0, 0), (4, 2), (40, 0), (50, 3), (300, 0))]
    scene = worlds.world(*movers, duration_s=8.0)
    found = find_windows(scene, duration_s=4.0, limit=5)
    assert found[0].nearest_m == pytest.approx(np.hypot(4, 2))
    roles = [agent for window in found for agent in (window.ego, window.rated)]
    assert len(roles) == len(set(roles)) == 4


def test_logs_that_declare_their_ego_are_not_searched() -> None:
    scene = replace(worlds.crossing(), attributes={"ego": "1", "rated": "2", "start_s": 1.0})
    (window,) = find_windows(scene, duration_s=4.0, limit=9)
    assert (window.ego, window.rated, window.start) == (0, 1, 10)


def test_too_short_recordings_give_no_window() -> None:
    assert find_windows(worlds.crossing(duration_s=3.0), duration_s=4.0, limit=3) == []


def test_clip_has_the_rate_and_length_of_the_study() -> None:
    scene = worlds.crossing(duration_s=6.0)
    for rate in (5.0, 10.0, 25.0):
        style = ClipStyle(duration_s=4.0, rate_hz=rate)
        tracks = cut(scene, Window(start=0, stop=41, ego=0, rated=1, nearest_m=0.0), style).tracks
        assert tracks.num_instants == 4 * rate + 1
        assert tracks.time_s[0] == 0
        expected = tracks.time_s[:, None] * scene.tracks.velocity[0, 0]  # from where the ego is first seen
        assert tracks.xy[0] == pytest.approx(expected, abs=1e-9)


def test_resampling_does_not_bridge_gaps() -> None:
    movers = (worlds.car([[0, 0], [90, 0]], 10.0), worlds.car([[0, 4], [90, 4]], 10.0, enter_s=1.0, leave_s=2.05))
    scene = worlds.world(*movers, duration_s=5.0)
    tracks = cut(
        scene, Window(start=0, stop=41, ego=0, rated=1, nearest_m=4.0), ClipStyle(duration_s=4, rate_hz=25)
    ).tracks
    assert tracks.time_s[tracks.observed[1]].min() == pytest.approx(1.0)
    assert tracks.time_s[tracks.observed[1]].max() == pytest.approx(2.0)
    assert np.isnan(tracks.xy[1, ~tracks.observed[1]]).all()


def test_document_tells_nothing_about_its_source() -> None:
    text = json.dumps(clip_document(crossing_clip(), STYLE))
    for word in ("crossing", "synthetic", '"1"', '"2"', 'car"', "recorded"):
        assert word not in text.replace("Rated car", "")


@pytest.mark.parametrize("breaks", [teleport, sideways_slide])
def test_broken_motion_moves_only_the_rated_car_impossibly(breaks) -> None:
    tracks = crossing_clip().tracks
    broken = breaks(tracks, 1, np.random.default_rng(0))
    assert np.array_equal(broken.xy[0], tracks.xy[0])
    assert np.array_equal(broken.heading, tracks.heading)
    step = np.diff(broken.xy[1], axis=0)
    heading = tracks.heading[1, :-1]
    sideways = np.abs(-np.sin(heading) * step[:, 0] + np.cos(heading) * step[:, 1])
    speed = np.hypot(*step.T) / 0.1
    assert sideways.max() / 0.1 > 3 or speed.max() > 40


def test_creation_is_reproducible(tmp_path: Path) -> None:
    first, second = (synthetic_study(tmp_path / name) for name in ("a", "b"))
    names = [[c.model_dump() for c in read_manifest(folder)] for folder in (first, second)]
    assert names[0] == names[1]
    assert all(re.fullmatch(r"[0-9a-f]{24}", c["clip"]) for c in names[0])


def test_clip_ids_are_hashes_of_the_files(study_folder: Path) -> None:
    for clip in read_manifest(study_folder):
        assert clip_id((study_folder / "clips" / f"{clip.clip}.json").read_bytes()) == clip.clip


def test_study_has_anchors_and_practice(study_folder: Path) -> None:
    clips = read_manifest(study_folder)
    main = [c for c in clips if c.role == "main"]
    assert len(main) == 8
    assert sorted(c.condition for c in main if c.broken) == ["broken_slide", "broken_teleport"]
    assert [c.broken for c in clips if c.role == "practice"] == [False, True]
    assert len({(c.condition, c.scene) for c in clips}) == len(clips)


def test_conditions_that_nobody_sees_are_said(tmp_path: Path) -> None:
    def notes(limit: int) -> list[str]:
        content = {"id": "x", "clips": {"duration_s": 0.5}, "order": {"clips_per_rater": limit}}
        sources = [world_source("generated", 8, offset_s=0.5), world_source("recorded", 16)]
        made = create_study(
            sources, tmp_path / f"s{limit}", parse_design(content, where="test"), Plan(num_clips=8, num_anchors=2)
        )
        return [note for note in made.warnings if "nobody sees" in note]

    assert notes(4) == []
    assert "'broken_teleport'" in notes(3)[0]


def test_a_study_without_recorded_traffic_says_so(tmp_path: Path) -> None:
    def notes(name: str, recorded: str | None) -> list[str]:
        design = parse_design({"id": "x", "clips": {"duration_s": 0.5}}, where="test")
        sources = [
            world_source("ours", 16, offset_s=0.5),
            world_source("theirs", 16, stands_for=Origin.SYNTHETIC if recorded is None else Origin.RECORDED),
        ]
        plan = Plan(num_clips=6, recorded=recorded)
        return [n for n in create_study(sources, tmp_path / name, design, plan).warnings if "recorded traffic" in n]

    assert "'ours'" in notes("a", None)[0]
    assert read_design(tmp_path / "a").recorded is False
    assert notes("b", "theirs") == []
    assert read_design(tmp_path / "b").recorded == "theirs"


def test_a_used_folder_is_left_alone(study_folder: Path) -> None:
    with pytest.raises(UsageError, match="not empty"):
        synthetic_study(study_folder)


def test_recordings_without_encounters_are_an_error_and_leave_nothing(tmp_path: Path) -> None:
    design = parse_design({"id": "x", "clips": {"duration_s": 50}}, where="test")
    with pytest.raises(EmptySelectionError):
        create_study([world_source("recorded", 3)], tmp_path / "s", design, Plan(num_clips=4))
    assert list(tmp_path.iterdir()) == []


def test_missing_or_damaged_clip_files_are_noticed(study) -> None:
    clip = study.clips[0].clip
    (study.folder / "clips" / f"{clip}.json").unlink()
    with pytest.raises(StoreError, match="missing"):
        read_manifest(study.folder)
    (study.folder / "clips.json").write_text("[{]")
    with pytest.raises(StoreError, match="damaged"):
        read_manifest(study.folder)


def write_interaction(folder: Path, offset: float) -> None:
    """Two cars that meet, in the file format of the INTERACTION dataset."""
    folder.mkdir(parents=True)
    lines = ["track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"]
    for track, y, start in ((1, 1000.0, 0.0), (2, 1004.0, offset)):
        for frame in range(1, 121):
            x = 900 + start + 8 * (frame - 1) / 10
            lines.append(f"{track},{frame},{frame * 100},car,{x:.3f},{y:.3f},8.0,0.0,0.0,4.5,1.8")
    (folder / "vehicle_tracks_000.csv").write_text("\n".join(lines) + "\n")


def test_subfolders_become_conditions(tmp_path: Path) -> None:
    write_interaction(tmp_path / "in" / "recorded" / "DR_A", 3.0)
    write_interaction(tmp_path / "in" / "ours" / "DR_A", 5.0)
    sources = find_sources(tmp_path / "in")
    assert [s.condition for s in sources] == ["ours", "recorded"]
    (scene,) = sources[0].scenes(np.random.default_rng(0))
    assert len(find_windows(scene, duration_s=5.0, limit=3)) == 1


def test_a_data_root_is_one_condition(tmp_path: Path) -> None:
    write_interaction(tmp_path / "recorded_trackfiles" / "DR_A", 3.0)
    assert [s.condition for s in find_sources(tmp_path)] == ["recorded"]


def test_folders_without_recordings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(DatasetLayoutError):
            find_sources(folder)


@pytest.fixture(scope="module")
def drive_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bundled cases driven with two predictors."""
    from giveway.drive.run import run_drive

    out = tmp_path_factory.mktemp("drive") / "run"
    run_drive(out=out, predictors=["echo", "constant_velocity"], planner="idm", max_cases=2)
    return out


def test_drive_logs_become_conditions_beside_the_recorded_drivers(drive_run: Path) -> None:
    from giveway.drive.roads import road_of

    sources = find_sources(drive_run, road_of=lambda case: road_of(case, None))
    assert [s.condition for s in sources] == ["synthetic", "constant_velocity", "echo"]
    assert [len(s.readers) for s in sources] == [2, 2, 2]
    of_case = [{s.attributes["situation"]: s for s in one.scenes(np.random.default_rng(0))} for one in sources[:2]]
    recorded, simulated = (scenes["merge-00"] for scenes in of_case)
    assert recorded.road is not None
    assert not np.array_equal(recorded.tracks.xy, simulated.tracks.xy)
    (window,) = find_windows(simulated, duration_s=5.0, limit=3)
    assert str(simulated.tracks.ids[window.ego]) == simulated.attributes["ego"]


def test_logs_may_stand_beside_recordings(drive_run: Path, tmp_path: Path) -> None:
    write_interaction(tmp_path / "recorded" / "DR_A", 3.0)
    (tmp_path / "ours").symlink_to(drive_run)
    assert [(s.condition, len(s.readers)) for s in find_sources(tmp_path)] == [("recorded", 1), ("ours", 4)]


def test_window_of_a_log_is_placed_around_the_nearest_approach() -> None:
    scene = worlds.crossing(duration_s=6.0)
    ids = [str(i) for i in scene.tracks.ids]
    scene = replace(scene, attributes={"ego": ids[1], "rated": ids[0]})
    distance = np.hypot(*(scene.tracks.xy[0] - scene.tracks.xy[1]).T)
    nearest = int(np.nanargmin(distance))
    (window,) = find_windows(scene, duration_s=2.0, limit=1)
    assert window.nearest_m == pytest.approx(distance[nearest])
    assert window.start <= nearest < window.stop
    assert find_windows(replace(scene, attributes={"ego": "nobody"}), duration_s=2.0, limit=1) == []


def test_video_shows_what_the_canvas_shows_and_names_nothing(tmp_path: Path) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    from giveway.reports.player.film import CLIP_STYLE, write_film
    from giveway.reports.player.frames import Frames
    from giveway.reports.tokens import colors

    width, height = CLIP_STYLE.size
    style = ClipStyle(duration_s=1.0, span_m=40)
    scene = worlds.crossing(duration_s=6.0)
    document = clip_document(cut(scene, Window(start=5, stop=16, ego=1, rated=0, nearest_m=1.0), style), style)
    image = np.asarray(Frames(document, size=CLIP_STYLE.size).image(0.4))
    assert image.shape == (height, width, 3)
    ego = tuple(int(colors()["ego"][i : i + 2], 16) for i in (1, 3, 5))
    beside = round(0.3 * 1.8 * width / 40)  # the bar on the roof is in the very middle
    assert (
        tuple(image[height // 2, width // 2 + beside]) == ego or tuple(image[height // 2 + beside, width // 2]) == ego
    )
    path = tmp_path / "clip.mp4"
    write_film(path, [document], CLIP_STYLE)
    info = next(imageio_ffmpeg.read_frames(str(path)))
    assert info["codec"] == "h264"
    assert info["size"] == CLIP_STYLE.size
    assert info["duration"] == pytest.approx(1.04, abs=0.05)
    assert b"x264 - core" not in path.read_bytes()
