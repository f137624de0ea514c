"""What the three readings of the protocol make of the same recordings: counts, Delta_t, order of passage, AUC.

Rows are dataset x prediction time, columns the profiles clean, paper and printed; they stand beside each other and are
never averaged. AUC has the form of its profile and is the mean over random splits. Prints JSON, and with --markdown the
tables of docs/gaps/profiles.md. The recordings of L-GAP, rounD and Leeds are synthetic; sites of INTERACTION are read
from a folder of yours.

    python benchmarks/profiles.py OUT [--interaction FOLDER --site DR_USA_Roundabout_FT ...] [--cm 40] [--markdown]

Killed and started again it goes on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import polars as pl

from giveway.core.errors import GivewayError
from giveway.experiments import SerialExecutor
from giveway.gaps.cells import metric_in
from giveway.gaps.profile import PROFILES
from giveway.gaps.run import extractions, run_gaps
from giveway.synth.protocol import synthesize

SIZES: dict[str, dict[str, Any]] = {
    "lgap": {"count": 600},
    "round": {"count": 3, "minutes": 10.0},
    "leeds": {"count": 30},
}
ORDER = ("clean", "paper", "printed")
TIMES = ("initial", "constant", "critical")
MODELS = ("LR_1D", "LR_2D", "DDM", "CV")
COGNITIVE = "CM_AIJ11"
GRID: dict[str, Any] = {"n_input": [2], "n_input_max": 2, "min_samples": 20, "min_class": 3}
RELAXED = {"lgap": "initial"}
"""Tracks of L-GAP begin as the gap opens: the one exception that the supplement makes."""


def sources(out: Path, interaction: Path | None, sites: list[str]) -> dict[str, tuple[str, Path]]:
    """Label to extraction and folder."""
    found: dict[str, tuple[str, Path]] = {}
    for name, size in SIZES.items():
        folder = out / "recordings" / name
        if not (folder / "synthetic.json").exists():
            synthesize(name, folder, seed=1, count=size["count"], minutes=size.get("minutes"))
        found[name] = (name, folder)
    for site in sites:
        assert interaction is not None, "--site needs --interaction"
        folder = out / "recordings" / site
        (folder / "recorded_trackfiles").mkdir(parents=True, exist_ok=True)
        for part in (Path("maps"), Path("recorded_trackfiles") / site):
            if not (folder / part).exists():
                (folder / part).symlink_to((interaction / part).resolve())
        found[site] = ("interaction", folder)
    return found


def counts(dataset: str, folder: Path, profile: str) -> dict[str, dict[str, Any]]:
    """Per prediction time what the extraction kept."""
    found: dict[str, dict[str, Any]] = {}
    for one in extractions(dataset, folder, n_input=2, n_input_max=2, profile=profile):
        report = one.extracted.report
        if RELAXED.get(dataset) == report.choice:
            (one,) = extractions(dataset, folder, times=[report.choice], n_input_max=2, relaxed=True, profile=profile)
            report = one.extracted.report
        found[report.choice] = {
            "accepted": report.num_accepted,
            "rejected": report.num_rejected,
            "delta_t_s": report.delta_t_s,
            "reversed": report.order.get("reversed", 0),
            "dropped": {name: num for name, num in report.dropped.items() if num},
        }
    return found


def auc(out: Path, dataset: str, folder: Path, profile: str, evaluations: int) -> dict[str, dict[str, float]]:
    """Per prediction time and model the mean AUC over random splits; nothing where a class is too small."""
    relaxed = (
        [{"dataset": dataset, "t0": RELAXED[dataset], "n_input": 2, "n_input_max": 2}] if dataset in RELAXED else []
    )
    common = {**GRID, "datasets": [dataset], "profile": profile, "relaxed": relaxed, "metrics": ["auc"]}
    runs: list[dict[str, Any]] = [{"t0": list(TIMES), "models": list(MODELS), "splits": {"random": 6}}]
    if evaluations:
        limit = {"commotions_evaluations": evaluations}
        runs.append({"t0": ["constant"], "models": [COGNITIVE], "splits": {"random": 2}, "switches": limit})
    found_in = [run_gaps({**common, **grid}, out, roots={dataset: folder}, engine=SerialExecutor()) for grid in runs]
    frame = (
        found_in[-1]
        .frame(metric=metric_in(PROFILES[profile], "auc"), profile=profile)
        .filter(pl.col("split") == "random")
    )
    means = frame.group_by("t0", "model").agg(pl.col("value").mean(), pl.col("value").is_not_null().sum().alias("num"))
    found: dict[str, dict[str, float]] = {}
    for t0, model, value, _ in means.sort("t0", "model").iter_rows():
        if value is not None:
            found.setdefault(t0, {})[model] = round(value, 4)
    return found


def markdown(table: dict[str, dict[str, Any]]) -> str:
    """Counts and AUC, a column per profile."""
    lines = [f"| recordings | t₀ | {' | '.join(ORDER)} |", "|---|---|---|---|---|"]
    models = (*MODELS, COGNITIVE)
    lines_auc = [f"| recordings | t₀ | model | {' | '.join(ORDER)} |", "|---|---|---|---|---|---|"]
    for label, by_profile in table.items():
        for t0 in TIMES:
            lines.append(f"| {label} | {t0} | {' | '.join(_counted(by_profile[p]['counts'][t0]) for p in ORDER)} |")
            for model in models:
                values = [by_profile[p]["auc"].get(t0, {}).get(model) for p in ORDER]
                if any(value is not None for value in values):
                    texts = ("–" if value is None else f"{value:.3f}" for value in values)
                    lines_auc.append(f"| {label} | {t0} | `{model}` | {' | '.join(texts)} |")
    return "\n".join([*lines, "", *lines_auc])


def _counted(one: dict[str, Any]) -> str:
    delta = "" if one["delta_t_s"] is None else f", {one['delta_t_s']:.2f} s"
    wrong = f", {one['reversed']} reversed" if one["reversed"] else ""
    return f"{one['accepted']}–{one['rejected']}{delta}{wrong}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--interaction", type=Path)
    parser.add_argument("--site", action="append", default=[])
    parser.add_argument("--cm", type=int, default=0, help=f"evaluations per fit of {COGNITIVE}; 0 leaves it out")
    parser.add_argument("--only", action="append", default=[], help="lgap, round, leeds or a site; all without it")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    table: dict[str, dict[str, Any]] = {}
    known = sources(arguments.out, arguments.interaction, arguments.site)
    for label, (dataset, folder) in known.items():
        if arguments.only and label not in arguments.only:
            continue
        for profile in ORDER:
            kept = arguments.out / f"{label}-{profile}.json"
            if not kept.exists():
                found: dict[str, Any] = {"counts": counts(dataset, folder, profile)}
                try:
                    store = arguments.out / "stores" / f"{label}-{profile}"
                    found["auc"] = auc(store, dataset, folder, profile, arguments.cm)
                except GivewayError as error:  # no split of this cell could be measured
                    found |= {"auc": {}, "note": str(error)}
                kept.write_text(json.dumps(found))
            table.setdefault(label, {})[profile] = json.loads(kept.read_text())
    print(
        markdown(table)
        if arguments.markdown
        else json.dumps({"evaluations": arguments.cm, "profiles": table}, indent=1)
    )


if __name__ == "__main__":
    main()
