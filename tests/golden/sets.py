"""What restructuring must not change: small outputs of all applications, one line each.

A line is a name, a tab and a value: numbers as ``float.hex()``, motion and files as SHA-256. Each set has a small part,
which runs by default, and a whole one (``slow``). ``python tests/golden/make.py`` writes the whole sets anew; that is
right only in a commit that changes numbers on purpose and says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np

from giveway.cli.main import run as command
from giveway.core.log import DriveLog
from giveway.core.tracks import Tracks

Lines = Iterator[tuple[str, str]]

PREDICTORS = ("echo", "constant_velocity", "oracle", "idm_along_path")
PLANNERS = ("default", "idm", "constant_speed")
MEASURES = ("ade_m", "gated_score", "min_ttc_s", "realism", "rms_jerk_smoothed")
MEASURED = (
    *("gated_score", "ego_collisions", "at_fault_collisions", "other_collisions", "min_ttc_s", "post_encroachment_s"),
    *("min_gap_m", "rms_jerk_smoothed", "comfortable", "speed_limit_compliance", "progress", "courtesy_jerk"),
    *("courtesy_delay_s", "courtesy_imposed_decel", "realism", "fallbacks", "predictions"),
    *("ade_m", "fde_m", "min_ade_m", "min_fde_m", "ade_replay_m", "ade_reactive_m"),
)
"""Metrics whose digest is frozen, in the order in which it was taken."""
ROADS = ("straight", "merge", "roundabout", "four_way")
METHOD_MEASURES = ("avoidable_rate", "violation_rate", "min_ttc_s", "infeasible_share", "failure_kinds")
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
            asked, drives_ego = make_predictor(predictor), make_planner(planner.replace("default", "lattice-2"))
            driven = drive_cases(chosen, source, predictor=asked, planner=drives_ego, traffic="paper")
            for case, result in zip(chosen, driven, strict=True):
                name = f"{case.id} {predictor} {planner}"
                assert isinstance(result, Drive), result
                yield from _drive(name, result.log)
                if (predictor, planner) == ("echo", "default"):
                    yield from _terms(f"{case.id} humans", humans(result.log))
    for predictor, (name, ego) in product(PREDICTORS, (("default", "lattice-2"), ("lattice", "lattice"))):
        asked, drives_ego = make_predictor(predictor), make_planner(ego)
        for result in drive_cases(cases[::8], source, predictor=asked, planner=drives_ego, traffic="clean"):
            assert isinstance(result, Drive), result
            yield from _drive(f"{result.log.case.id} {predictor} {name} clean", result.log)


def _drive(name: str, log: DriveLog) -> Lines:
    """Motion, and apart from it contacts, verdicts and measures."""
    from giveway.metrics import measure_log

    tracks = log.tracks
    yield f"{name} motion", digest(tracks.xy, tracks.heading, tracks.velocity, tracks.observed)
    if log.collisions:
        yield f"{name} contacts", json.dumps([(c.start_tick, c.first, c.second) for c in log.collisions])
        yield f"{name} verdicts", json.dumps([(c.violators, c.grade, c.conflict, c.avoidable) for c in log.collisions])
    found = measure_log(log)
    measures = {name: found[name].value for name in MEASURED}
    yield f"{name} measures", hashlib.sha256("".join(map(number, measures.values())).encode()).hexdigest()
    for metric in MEASURES:
        yield f"{name} {metric}", number(measures.get(metric))
    yield from _terms(name, log)


def _terms(name: str, log: DriveLog) -> Lines:
    from giveway.metrics.challenge_logs import terms_of

    terms = terms_of(log)["challenge"]
    for term in ("efficiency", "jerk", "velocity", "courtesy"):
        yield f"{name} {term}", number(getattr(terms, term))


def campaigns(*, whole: bool) -> Lines:
    """Every test of generation campaigns: what was measured, and the motion of those that were kept."""
    with tempfile.TemporaryDirectory() as folder:
        for ego in ("idm", "lattice-2"):
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


def methods(*, whole: bool) -> Lines:
    """Measures of generation methods, one campaign per seed."""
    few = ("sandwich", "random_search", "cma_es", "no_attack")
    more = (*few, "policy", "random_actions", "scripted", "idm")
    for ego in ("idm", "lattice-2") if whole else ("idm",):
        with tempfile.TemporaryDirectory() as folder:
            chosen = [word for name in (more if whole else few) for word in ("--method", name)]
            for metric in METHOD_MEASURES:
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    giveway("generate", "bench", *chosen, "-o", Path(folder) / "B", "-e", ego, "--seeds", 2, "-n", 20,
                            "--metric", metric, "-w", 1, "--json")  # fmt: skip
                document = json.loads(said.getvalue())
                values = document.get("result", document)["values"][ego]
                for method, runs in values.items():
                    yield from ((f"{ego} {method} {seed} {metric}", number(v)) for seed, v in enumerate(runs))


def training(*, whole: bool) -> Lines:
    """Policies and learning curves of small trainings: from scratch, and from scripted cars with the other learner."""
    import giveway as gw
    from giveway.generate.learning.policy import load_policy

    small = {"hidden": [32, 32], "batch": 64, "learning_starts": 500}
    warm = {**small, "warm_steps": 400, "clone_updates": 20, "n_step": 3}
    size = {"env_steps": 3000, "round_steps": 1000, "worlds": 16, "ticks": 60}
    with tempfile.TemporaryDirectory() as folder:
        for algorithm, learning in {"maddpg": small, "matd3": warm}.items() if whole else [("maddpg", small)]:
            out = Path(folder) / algorithm
            found = gw.train_traffic(out, planner="idm", algorithm=algorithm, learning=learning, **size).frame()
            policy = load_policy(out)
            yield f"{algorithm} policy", digest(policy.theta, policy.mean, policy.deviation)
            yield f"{algorithm} fingerprint", policy.fingerprint
            for (metric,), rows in sorted(found.group_by(["metric"])):
                values = " ".join(number(v) for v in rows.sort("round")["value"])
                yield f"{algorithm} {metric}", hashlib.sha256(values.encode()).hexdigest()


def rehearsal(*, whole: bool) -> Lines:
    """A study that simulated raters answered: their orders, the exported tables, and every number of the analysis.

    Codes of raters and times of day differ from one rehearsal to the next and are left out.
    """
    import polars as pl

    from giveway.study.analysis import analyze_study
    from giveway.study.workspace import open_study

    with tempfile.TemporaryDirectory() as folder:
        root, study = Path(folder) / "recordings", Path(folder) / "study"
        giveway("data", "synth", "-d", "interaction", "-o", root, "-n", 1, "--minutes", 1)
        giveway("study", "create", "--clips", root, "--out", study, "--num-clips", 12, "--seconds", 6)
        for raters in (8, 24) if whole else (8,):
            answered, tables = Path(folder) / f"answered-{raters}", Path(folder) / f"tables-{raters}"
            giveway("study", "rehearse", study, "--out", answered, "--raters", raters)
            giveway("study", "export", answered, "--out", tables)
            long = pl.read_csv(tables / "answers.csv")
            for n, (_, rows) in enumerate(long.group_by("rater", maintain_order=True)):
                order = " ".join(f"{position} {clip}" for position, clip in rows["position", "clip"].iter_rows())
                yield f"{raters} raters, order {n}", hashlib.sha256(order.encode()).hexdigest()
            for name in ("answers", "wide", "counts", "checks", "raters"):
                table = pl.read_csv(tables / f"{name}.csv")
                steady = [c for c in table.columns if c != "rater" and not c.endswith("_utc") and c != "app_version"]
                rows = repr([steady if name != "wide" else len(steady), *table[steady].rows()])
                yield f"{raters} raters, table {name}", hashlib.sha256(rows.encode()).hexdigest()
            analysis = analyze_study(open_study(answered), draws=200)
            yield from _flat(f"{raters} raters", asdict(analysis))


def _flat(name: str, value: object) -> Lines:
    """The numbers of a nested value, one line each; words are no numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name} {key}", inner)
    elif isinstance(value, list | tuple | np.ndarray):
        for n, inner in enumerate(value):
            yield from _flat(f"{name} {n}", inner)
    elif not isinstance(value, str):
        yield name, number(value)


DESCRIPTORS = ("unnaturalness", "contact_angle_rad", "entry_gap_m", "closing_mps")
"""Fields of generated tests that came after the sets were frozen; everything else must stay as it was."""


def _cells(store: Path, prefix: str, *, named: tuple[str, ...]) -> Lines:
    records = [json.loads(p.read_bytes()) for p in sorted(store.rglob("cells/**/*.json"))]
    lines = []
    for record in records:
        params = record["cell"]["params"]
        name = " ".join([prefix, *(str(params[key]) for key in named if key in params)])
        lines += [(f"{name} {m['metric']}", number(m["value"])) for m in record["measurements"]]
        if "result" in record.get("info", {}):
            known = {n: v for n, v in record["info"]["result"].items() if n not in DESCRIPTORS}
            text = json.dumps(known, sort_keys=True)
            lines.append((f"{name} result", hashlib.sha256(text.encode()).hexdigest()))
        if record["samples"] is not None:
            lines.append((f"{name} samples", record["samples"]["sha256"]))
    yield from sorted(lines)


def verdicts(*, whole: bool) -> Lines:
    """What the law says about contacts of two cars on a straight road, drawn from a seed."""
    from giveway.sim.contacts import find_contacts
    from giveway.sim.responsibility import judge

    for n in range(600 if whole else 60):
        tracks = two_cars(np.random.default_rng([17, n]))
        for contact in find_contacts(tracks, ego="ego")[:1]:
            found = judge(tracks, contact, ego="ego")
            facts = (contact.first_region, found.violators, found.grade, found.conflict, found.by_default)
            yield f"clip {n:03d}", json.dumps([contact.start_tick, *facts, found.obliged, found.avoidable])


def two_cars(rng: np.random.Generator) -> Tracks:
    """Six seconds of an ego and another car that brakes, cuts in, is cut in by the ego, or comes from behind."""
    kind = int(rng.integers(4))
    time_s = 0.1 * np.arange(61)
    speed = rng.uniform(6.0, 16.0, size=2)
    ahead = rng.uniform(5.0, 30.0) if kind != 3 else -rng.uniform(6.0, 25.0)
    lane = np.array([0.0, 3.5 if kind in (1, 2) else 0.0])
    starts_s, takes_s = rng.uniform(0.2, 2.0), rng.uniform(2.0, 5.0)
    reacts_s, brake = rng.uniform(0.2, 3.0), rng.choice([0.0, 3.0, 5.0, 8.0])
    accel = np.array([-brake, rng.uniform(-8.0, 1.0) if kind != 3 else rng.uniform(0.0, 2.0)])
    late = np.maximum(time_s - np.array([[starts_s + reacts_s], [starts_s]]), 0.0)
    along_mps = np.maximum(speed[:, None] + accel[:, None] * late, 0.0)
    way = np.cumsum(0.1 * along_mps, axis=1) - 0.1 * along_mps[:, :1]
    share = np.clip((way / speed[:, None] - starts_s) / takes_s, 0.0, 1.0)  # a car that stands does not move sideways
    moved = 3.5 * share**2 * (3.0 - 2.0 * share)
    across = lane[:, None] + moved * np.array([[float(kind == 2)], [-float(kind == 1)]])
    x = np.array([[0.0], [ahead]]) + way
    velocity = np.stack([along_mps, np.gradient(across, 0.1, axis=1)], axis=-1)
    return Tracks(
        time_s=time_s,
        xy=np.stack([x, across], axis=-1),
        heading=np.where(along_mps > 0.5, velocity[..., 1] / np.maximum(along_mps, 0.5), 0.0),
        velocity=velocity,
        observed=np.ones((2, 61), dtype=np.bool_),
        size=np.array([[4.5, 1.8], [4.5, 1.8]]),
        kind=np.ones(2, dtype=np.int64),
        ids=np.array(["ego", "car"]),
    )


SETS: dict[str, Callable[..., Lines]] = {
    "synthetic": synthetic,
    "drives": drives,
    "campaigns": campaigns,
    "benchmark": benchmark,
    "clips": clips,
    "agreement": agreement,
    "methods": methods,
    "training": training,
    "rehearsal": rehearsal,
    "verdicts": verdicts,
}
