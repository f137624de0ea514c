"""Both logistic regressions over all prediction times and splits of one dataset with about a thousand samples.

Extraction, 10 random splits and the critical split, fit, prediction and AUC for LR_1D and LR_2D. Prints JSON with
processor time; the requirement is 20 s for one input length.

    python benchmarks/lr_experiment.py [--gaps 4000]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time

import numpy as np

from giveway.gaps.extract import SampleRules, samples_at
from giveway.gaps.prediction_time import CHOICES
from giveway.gaps.profile import CLEAN
from giveway.gaps.splits import SPLITS
from giveway.metrics import METRICS
from giveway.predictors import PREDICTORS
from giveway.testing.crossing import crossing_found


def experiment(num_gaps: int, num_input: int) -> dict[str, object]:
    began = time.process_time()
    found = crossing_found(num_gaps)
    counts, fits = {}, 0
    for choice in CHOICES:
        samples = samples_at(found, SampleRules(choice=choice, num_input=num_input), CLEAN).samples
        counts[choice] = samples.num_samples
        for split, repetitions in (("random", 10), ("critical", 1)):
            for repetition in range(repetitions):
                division = SPLITS.get(split).divide(samples, repetition, CLEAN)
                train, test = samples.take(division.train), samples.take(division.test)
                for model in ("LR_1D", "LR_2D"):
                    rng = np.random.default_rng(0)
                    prediction = PREDICTORS.get(model).fit(train, rng).predict(test.inputs, rng)
                    METRICS.get("auc")(test.truth, prediction)
                    fits += 1
    return {"n_input": num_input, "samples": counts, "fits": fits, "cpu_s": round(time.process_time() - began, 2)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gaps", type=int, default=4000)
    gaps = parser.parse_args().gaps
    experiment(200, 2)
    print(
        json.dumps(
            {
                "benchmark": "lr_experiment",
                "required_s": 20,
                "input_lengths": [experiment(gaps, n) for n in (2, 3, 8)],
                "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "cpu": platform.machine()},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
