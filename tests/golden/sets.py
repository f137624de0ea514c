"""What restructuring must not change: small outputs of all applications, one line each.

A line is a name, a tab and a value: numbers as ``float.hex()``, motion and files as SHA-256. Each set has a small part,
which runs by default, and a whole one (``slow``). ``python tests/golden/make.py`` writes the whole sets anew; that is
right only in a commit that changes numbers on purpose and says so.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from giveway.cli.main import run as command
from giveway.sim.logs import DriveLog

Lines = Iterator[tuple[str, str]]

PREDICTORS = ("echo", "constant_velocity", "oracle", "idm_along_path")
PLANNERS = ("default", "idm", "constant_speed")
MEASURES = ("ade_m", "gated_score", "min_ttc_s", "realism", "rms_jerk_smoothed")
ROADS = ("straight", "merge", "roundabout", "four_way")
DATASETS = ("highd", "ind", "interaction", "interaction_cases", "leeds", "lgap", "round")


def giveway(*arguments: object) -> None:
    """Run a command in this process."""
    try:
        command([str(a) for a in arguments])
    except SystemExit as end:
        if end.code not in (0, None):
            raise AssertionError(f"giveway {' '.join(map(str, arguments))} ended with {end.code}") from end


def number(value: object) -> str:
    """Every bit of a number; None for undefined ones."""
    return "none" if value is None else float(value).hex()  # type: ignore[arg-type]


def digest(*arrays: object) -> str:
    """SHA-256 over arrays, shape and bits."""
    total = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array)
        total.update(f"{values.shape} {values.dtype}".encode())
        total.update(values.tobytes())
    return total.hexdigest()


def synthetic(*, whole: bool) -> Lines:
    """SHA-256 of every file of synthetic recordings."""
    with tempfile.TemporaryDirectory() as folder:
        for dataset in DATASETS if whole else ("lgap", "interaction"):
            root = Path(folder) / dataset
            length = [] if dataset in ("lgap", "leeds", "interaction_cases") else ["--minutes", 1]
            giveway("data", "synth", "-d", dataset, "-o", root, "-n", 12 if dataset == "lgap" else 1, *length)
            for path in sorted(p for p in root.rglob("*") if p.is_file() and p.name != "synthetic.json"):
                name = path.relative_to(folder).as_posix()
                yield name, hashlib.sha256(path.read_bytes()).hexdigest()


def drives(*, whole: bool) -> Lines:
    """Motion, contacts and scores of bundled cases under predictors and planners."""
    from giveway.drive.bundled import bundled_set
    from giveway.drive.driving import Drive, drive_cases, humans
    from giveway.planning import make_planner
    from giveway.predictors import make_predictor

    cases, source = bundled_set()
    for planner in PLANNERS if whole else PLANNERS[:2]:
        chosen = cases[:: (1 if planner == "default" else 4) if whole else 8]
        for predictor in PREDICTORS:
            driven = drive_cases(chosen, source, predictor=make_predictor(predictor), planner=make_planner(planner))
            for case, result in zip(chosen, driven, strict=True):
                name = f"{case.id} {predictor} {planner}"
                assert isinstance(result, Drive), result
                yield from _drive(name, result.log)
                if (predictor, planner) == ("echo", "default"):
                    yield from _terms(f"{case.id} humans", humans(result.log))


def _drive(name: str, log: DriveLog) -> Lines:
    """Motion, and apart from it contacts, verdicts and measures."""
    from giveway.drive.scoring import score_log

    tracks = log.tracks
    yield f"{name} motion", digest(tracks.xy, tracks.heading, tracks.velocity, tracks.observed)
    if log.collisions:
        yield f"{name} contacts", json.dumps([(c.start_tick, c.first, c.second) for c in log.collisions])
        yield f"{name} verdicts", json.dumps([(c.first_at_fault, c.second_at_fault) for c in log.collisions])
    measures = score_log(log).measurements()
    yield f"{name} measures", hashlib.sha256("".join(map(number, measures.values())).encode()).hexdigest()
    for metric in MEASURES:
        yield f"{name} {metric}", number(measures.get(metric))
    yield from _terms(name, log)


def _terms(name: str, log: DriveLog) -> Lines:
    from giveway.drive.scoring import challenge_inputs
    from giveway.metrics.driving_challenge import challenge_terms

    terms = challenge_terms(challenge_inputs(log))
    for term in ("efficiency", "jerk", "velocity", "courtesy"):
        yield f"{name} {term}", number(getattr(terms, term))


def campaigns(*, whole: bool) -> Lines:
    """Every test of generation campaigns: what was measured, and the motion of those that were kept."""
    with tempfile.TemporaryDirectory() as folder:
        for ego in ("idm", "lattice"):
            for road in ROADS if whole else ("straight", "four_way"):
                store = Path(folder) / f"{ego}-{road}"
                giveway("generate", "run", "-o", store, "-e", ego, "-r", road, "-n", 30 if whole else 10)
                yield from _cells(store, f"{ego} {road}", named=("test",))


def benchmark(*, whole: bool) -> Lines:
    """Values of benchmark cells: preset ``quick`` in both profiles, or a few cells."""
    with tempfile.TemporaryDirectory() as folder:
        for profile in ("clean", "paper"):
            store = Path(folder) / profile
            limit = [] if whole else ["--limit", 6]
            giveway("gaps", "run", "--preset", "quick", "-o", store, "--profile", profile, "-w", 1, *limit)
            yield from _cells(store, profile, named=("dataset", "t0", "n_input", "split", "repetition", "model"))


def clips(*, whole: bool) -> Lines:
    """Ids of the clips of a study made from synthetic recordings, with their order for three raters."""
    from giveway.study.manifest import read_manifest
    from giveway.study.orders import order_for_slot
    from giveway.study.workspace import open_study

    with tempfile.TemporaryDirectory() as folder:
        root, study = Path(folder) / "recordings", Path(folder) / "study"
        giveway("data", "synth", "-d", "interaction", "-o", root, "-n", 1, "--minutes", 1)
        giveway("study", "create", "--clips", root, "--out", study, "--num-clips", 12, "--seconds", 6)
        for clip in sorted(read_manifest(study), key=lambda c: c.clip):
            yield f"{clip.clip} condition", f"{clip.condition} {clip.role} {clip.scene}"
        opened = open_study(study)
        for slot in range(3):
            items = order_for_slot(opened.stimuli, opened.plan, slot)
            yield f"order {slot}", hashlib.sha256(repr(items).encode()).hexdigest()


def agreement(*, whole: bool) -> Lines:
    """Agreement coefficients of fixed tables."""
    from giveway.stats.agreement import as_printed, gwet_ac2, krippendorff_alpha, weighted_fleiss

    rng = np.random.default_rng(0)
    for k in range(2, 8):
        counts = rng.multinomial(9, np.full(k, 1 / k), size=20)
        for coefficient in (weighted_fleiss, as_printed, gwet_ac2, krippendorff_alpha):
            for weights in ("quadratic", "linear", "identity"):
                value = coefficient(counts, weights=weights).coefficient
                yield f"{coefficient.__name__} {k} {weights}", number(value)


def _cells(store: Path, prefix: str, *, named: tuple[str, ...]) -> Lines:
    records = [json.loads(p.read_bytes()) for p in sorted(store.rglob("cells/**/*.json"))]
    lines = []
    for record in records:
        params = record["cell"]["params"]
        name = " ".join([prefix, *(str(params[key]) for key in named if key in params)])
        lines += [(f"{name} {m['metric']}", number(m["value"])) for m in record["measurements"]]
        if "result" in record.get("info", {}):
            text = json.dumps(record["info"]["result"], sort_keys=True)
            lines.append((f"{name} result", hashlib.sha256(text.encode()).hexdigest()))
        if record["samples"] is not None:
            lines.append((f"{name} samples", record["samples"]["sha256"]))
    yield from sorted(lines)


SETS: dict[str, Callable[..., Lines]] = {
    "synthetic": synthetic,
    "drives": drives,
    "campaigns": campaigns,
    "benchmark": benchmark,
    "clips": clips,
    "agreement": agreement,
}
