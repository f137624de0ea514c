"""What is mutated: a small folder per reader, and what reading it means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.mutations import BYTES, DOCUMENT, TABLE, TEXT, Mutation
from giveway.core.case import Car, Case, Conflict, Role, Start
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.convert import convert
from giveway.experiments.cluster import read_cluster
from giveway.experiments.specs import values_of
from giveway.gaps.spec import RunSpec, spec_from
from giveway.roads.json_maps import read_map
from giveway.roads.lanelet2 import read_lanelet2
from giveway.sim.case_files import read_cases, write_cases
from giveway.study.design import read_design
from giveway.study.manifest import read_manifest
from giveway.study.texts import load_texts
from giveway.synth.protocol import synthesize
from support.studies import synthetic_study

Meaning = Mapping[str, Any]
"""Part of the result to something that can be compared; equal parts mean the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One reader with files of its own.

    Attributes:
        name: of the reader.
        root: folder whose files are mutated one at a time.
        targets: file to the mutations that make sense for it.
        read: everything that can be read below the root.
        remarks: how often ``verify`` warns; documents without such a command give none.
    """

    name: str
    root: Path
    targets: Mapping[Path, Mapping[str, Mutation]]
    read: Callable[[], Meaning]
    remarks: Callable[[], int] = lambda: 0


SIZES: Mapping[str, Mapping[str, Any]] = {
    "interaction": {"minutes": 0.5},
    "interaction_cases": {"count": 1},
    "round": {"count": 1, "minutes": 0.5},
    "ind": {"count": 1, "minutes": 0.5},
    "highd": {"count": 1, "minutes": 0.5},
    "lgap": {"count": 3},
    "leeds": {"count": 1},
}
KEEP = {"interaction": 1, "interaction_cases": 2, "leeds": 1}
"""Recordings that are read; the others of the folder stay untouched."""

GENERIC = """default_kind = "car"
[files]
tracks = "*.csv"
location = "junction"
[time]
frame_rate_hz = 10
[columns]
track = "id"
frame = "frame"
x = "x"
y = "y"
vx = "vx"
vy = "vy"
heading = "heading"
length = "length"
width = "width"
"""
SPEC = """datasets = ["lgap"]
models = ["CV", "LR_1D"]
seed = 3
[splits]
random = 2
[synthetic.lgap]
count = 6
"""
CLUSTER = """kind = "ssh"
hosts = ["one", "two"]
"""
CHALLENGE = """Map:DR_TEST
Track:000
StartTimestamp(ms):1000
EndTimestamp(ms):5000
RobotCarNum:2
InitState:
1 1000 1.5 2.5 0.1 3.0 0 0 4.5 1.8 0 0 Astar 0 0 0 0 yes 0 0 yes
2 Astar 0 0 0 0 yes 0 0 no
ReplayCarWithPredictor:1
InitState:
3 a b c yes 0 0
EgoEndPosition: 10.5 20.25
TargetRightofWay: 2
"""


def scene_meaning(scenes: list[Scene]) -> Meaning:
    """Everything of scenes but where they came from; the order of scenes and of agents carries no meaning."""
    parts: dict[str, Any] = {"scenes": len(scenes)}
    for number, scene in enumerate(sorted(scenes, key=_key)):
        tracks = scene.tracks
        order = np.argsort(tracks.ids, kind="stable")
        for name in ("time_s", "xy", "heading", "velocity", "observed", "size", "kind", "ids"):
            array = np.asarray(getattr(tracks, name))
            array = array if name == "time_s" else array[order]
            parts[f"{number}.{name}"] = (array.shape, array.tobytes())
        parts[f"{number}.attributes"] = repr({k: _plain(v, order) for k, v in scene.attributes.items()})
        parts[f"{number}.location"] = scene.location
        if scene.road is not None:
            parts[f"{number}.road"] = repr(sorted(scene.road.lanes)) + repr(
                [(lane.left.tobytes(), lane.right.tobytes()) for lane in scene.road.lanes.values()]
            )
        parts[f"{number}.notes"] = len(scene.provenance.notes)
    return parts


def _key(scene: Scene) -> tuple[Any, ...]:
    return tuple(scene.attributes.get(k, 0) for k in ("case_id", "subj_id", "session", "route", "intersection_no"))


def _plain(value: Any, order: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value[order] if value.ndim and len(value) == len(order) else value).tolist()
    return sorted(value) if isinstance(value, tuple) else value


def subjects(folder: Path) -> list[Subject]:
    """All of them, made below a folder; two calls give the same bytes."""
    found = [_recordings(name, folder / name) for name in SIZES]
    found += [_generic(folder / "generic"), _store(folder), _map(folder), _cases(folder / "cases")]
    return [*found, *_documents(folder), _study(folder / "study")]


def _recordings(name: str, root: Path) -> Subject:
    synthesize(name, root, seed=1, **SIZES[name])
    return _dataset(name, root, keep=KEEP.get(name))


def _dataset(
    name: str, root: Path, *, keep: int | None = None, tables: Mapping[str, Mapping[str, Mutation]] | None = None
) -> Subject:
    adapter = DATASETS.get(name)
    recordings = list(adapter.recordings(root))[:keep]
    kinds = {".csv": TABLE, ".txt": TABLE, ".osm": TEXT, ".toml": TEXT, **(tables or {})}
    files = sorted({path for recording in recordings for path in recording.files.values()})
    names = {recording.id for recording in recordings}

    def read() -> Meaning:
        chosen = [r for r in adapter.recordings(root) if r.id in names]
        return {
            "recordings": [r.id for r in chosen],
            **{f"{r.id}.{key}": value for r in chosen for key, value in scene_meaning(list(adapter.scenes(r))).items()},
        }

    def remarks() -> int:
        verification = adapter.verify(root)
        assert verification.ok, verification.problems[:3]
        return len(verification.problems)

    return Subject(
        name=name, root=root, targets={path: kinds[path.suffix] for path in files}, read=read, remarks=remarks
    )


def _generic(root: Path) -> Subject:
    root.mkdir()
    (root / "dataset.toml").write_text(GENERIC)
    lines = ["id,frame,x,y,vx,vy,heading,length,width"]
    for track in range(4):
        angle = 0.3 + track
        speed = 4.0 + track
        for k in range(30):
            x, y = (100 + 0.1 * speed * k * f for f in (np.cos(angle), np.sin(angle)))
            motion = (speed * np.cos(angle), speed * np.sin(angle), angle, 4.5, 1.8)
            lines.append(f"{track},{k}," + ",".join(f"{v:.4f}" for v in (x, y, *motion)))
    (root / "a.csv").write_text("\n".join(lines) + "\n")
    return _dataset("generic", root)


def _store(folder: Path) -> Subject:
    root = folder / "store"
    for result in convert("interaction", folder / "interaction", root):
        assert result.state == "written", result
    subject = _dataset("store", root, keep=1, tables={".json": DOCUMENT, ".parquet": BYTES})
    document = json.loads(
        (root / "recordings" / "interaction" / "DR_SYN_Intersection_A" / "000" / "scenes.json").read_bytes()
    )
    road = root / "maps" / f"{document['scenes'][0]['road']}.json"
    targets = dict(subject.targets) | {root / "store.json": DOCUMENT, road: DOCUMENT}

    def read() -> Meaning:
        read_map.cache_clear()  # as a new process would
        return subject.read()

    return Subject(name="store", root=root, targets=targets, read=read, remarks=subject.remarks)


def _map(folder: Path) -> Subject:
    path = next((folder / "interaction" / "maps").glob("*.osm"))
    root = folder / "map"
    root.mkdir()
    copy = root / "site.osm"
    copy.write_bytes(path.read_bytes())

    def read() -> Meaning:
        road = read_lanelet2(copy)
        return {"lanes": repr(road.lanes), "lines": repr(road.lines), "keepouts": repr(road.keepouts)}

    def remarks() -> int:
        return len(read_lanelet2(copy).warnings)

    return Subject(name="map", root=root, targets={copy: TEXT}, read=read, remarks=remarks)


def _cases(root: Path) -> Subject:
    root.mkdir()
    start = Start(time_s=1.0, x_m=1010.0, y_m=990.0, heading_rad=0.3, speed_mps=7.5, length_m=4.5, width_m=1.8)
    conflict = Conflict(
        kind="merging", other="2", time_gap_s=1.2, first="ego", yields="other", rule="map", x_m=1.0, y_m=2.0
    )
    cases = [
        Case(
            id=f"case-{n}",
            dataset="interaction",
            recording="DR_TEST/000",
            site="DR_TEST",
            tracks_sha256="0" * 64,
            start_s=1.0,
            end_s=5.0 + n,
            cars=(Car(id="1", role=Role.EGO, start=start), Car(id="2", role=Role.REACTIVE, predicted=True)),
            right_of_way=("2",),
            conflicts=(conflict,),
        )
        for n in range(3)
    ]
    write_cases(root / "cases.json", cases)
    (root / "config_1.txt").write_text(CHALLENGE)

    def read() -> Meaning:
        return {case.id: repr(case) for case in read_cases(root)}

    targets = {root / "cases.json": DOCUMENT, root / "config_1.txt": TEXT}
    return Subject(name="cases", root=root, targets=targets, read=read)


def read_spec(path: Path) -> RunSpec:
    return spec_from(values_of(path), where=str(path))


def _documents(folder: Path) -> list[Subject]:
    found: list[Subject] = []
    for name, text, reader in (("spec", SPEC, read_spec), ("cluster", CLUSTER, read_cluster)):
        root = folder / name
        root.mkdir()
        path = root / f"{name}.toml"
        path.write_text(text)
        found.append(
            Subject(
                name=name,
                root=root,
                targets={path: TEXT},
                read=lambda path=path, reader=reader: {"document": repr(reader(path))},
            )
        )
    return found


def _study(root: Path) -> Subject:
    synthetic_study(root)
    (root / "texts.en.toml").write_text('skip = "Go on"\n')
    targets = {root / "study.toml": TEXT, root / "clips.json": DOCUMENT, root / "texts.en.toml": TEXT}

    def read() -> Meaning:
        design = read_design(root)
        return {
            "design": repr(design),
            "clips": json.dumps([clip.model_dump() for clip in read_manifest(root)], default=str),
            "texts": repr(load_texts(root, "en")),
        }

    return Subject(name="study", root=root, targets={p: m for p, m in targets.items() if p.exists()}, read=read)
