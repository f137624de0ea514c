"""What the benchmark makes of synthetic recordings: shares of accepted gaps, and logistic regression at initial gaps.

For each dataset and prediction time the share of accepted gaps in both profiles, beside the published one, and the AUC
of LR_1D at initial gaps over ten random splits (profile ``clean``). Prints JSON.

    python benchmarks/synthetic_targets.py [--seed 0] [--dataset lgap ...]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import giveway as gw
from giveway.core.errors import GivewayError
from giveway.synth.protocol import synthesize

SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    "lgap": ("lgap", {"count": 1800}),
    "round": ("round_2v", {"count": 6, "minutes": 10.0}),
    "leeds": ("leeds_2v", {"count": 60}),
    "interaction": ("interaction_2v", {"count": 4, "minutes": 10.0}),
    "highd": ("highd", {"count": 12, "minutes": 15.0}),
}
"""Dataset to its extraction and size."""

PUBLISHED = {
    "lgap": {"initial": 0.494, "constant": 0.647, "critical": 0.364},
    "round": {"initial": 0.267, "constant": 0.407, "critical": 0.050},
    "leeds": {"initial": 0.095, "constant": 0.275, "critical": 0.0},
}
"""Shares of accepted gaps."""


def measure(name: str, folder: Path, seed: int) -> dict[str, Any]:
    """Shares and AUC of one dataset."""
    extraction, size = SIZES[name]
    synthesize(name, folder / "data", seed=seed, **size)
    shorter = {"n_input_max": 2, "relaxed": True} if name == "lgap" else {}
    shares: dict[str, Any] = {}
    for t0 in ("initial", "constant", "critical"):
        for profile in ("clean", "paper"):
            options = shorter if t0 == "initial" else {}
            try:
                samples = gw.extract_gaps(extraction, folder / "data", t0=t0, profile=profile, **options)
            except GivewayError as error:
                shares[f"{t0} {profile}"] = str(error).splitlines()[0]
                continue
            taken = samples.truth.accepted
            shares[f"{t0} {profile}"] = [round(float(taken.mean()), 3), int(taken.sum()), int((~taken).sum())]
    relaxed = [{"dataset": "lgap", "t0": "initial", "n_input": 2, "n_input_max": 2}] if name == "lgap" else []
    results = gw.run_gaps(
        {"datasets": [extraction], "t0": ["initial"], "models": ["LR_1D"], "splits": {"random": 10},
         "relaxed": relaxed, "min_samples": 40},
        folder / "store",
        roots={name: folder / "data"},
        engine=gw.LocalEngine(workers=0),
    )  # fmt: skip
    auc = results.frame(metric="auc")["value"].mean()
    return {
        "auc_initial": None if auc is None else round(float(auc), 3),
        "shares": shares,
        "published": PUBLISHED.get(name, {}),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dataset", action="append", choices=sorted(SIZES))
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.dataset or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = measure(name, Path(folder), options.seed)
    print(json.dumps({"seed": options.seed, "datasets": found}, indent=1))


if __name__ == "__main__":
    main()
