"""A cell names the switches that its evaluation reads, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from giveway.core.seals import seal
from giveway.experiments import Cell, SerialExecutor, Store, collect, run, status
from giveway.experiments.files import canonical_json
from giveway.gaps.cells import cells_of
from giveway.gaps.experiment import GAPS
from giveway.gaps.presets import preset
from giveway.gaps.profile import CLEAN, METRIC_SWITCHES, PAPER, TABLE_SWITCHES, Profile, as_profile
from giveway.gaps.run import run_gaps
from giveway.gaps.sources import Source
from giveway.gaps.spec import RunSpec, spec_from


def quick_cells(**switches: Any) -> list[Cell]:
    spec = preset("quick", switches=switches)
    sources = {
        name: Source(dataset=name, root=Path(), data="d", is_synthetic=True, address="") for name in spec.adapters()
    }
    return cells_of(spec, sources)


def other(name: str) -> Any:
    """Another value of a switch than that of ``clean``."""
    paper, clean = getattr(PAPER, name), getattr(CLEAN, name)
    if paper != clean:
        return paper
    return {"commotions_evaluations": 100, "horizon_from_projection": "projected"}[name]


CHANGED = {
    "ddof": 0,
    "critical_bound": 0,
    "tpp_standardise": 0,
    "commotions": 0,
    "commotions_evaluations": 0,
    "leeds_offset": 40,
    "lgap_window": 60,
    "scale_per_recording": 40,
    "ring_center": 40,
    "velocity_window": 140,
    "critical_degenerate": 28,
    "delta_t_constraints": 60,
}


@pytest.mark.parametrize(("switch", "changed"), CHANGED.items())
def test_a_switch_changes_the_keys_of_the_cells_that_read_it_only(switch: str, changed: int) -> None:
    changes = (
        {switch: other(switch)} if switch != "tpp_standardise" else {"tpp_standardise": "none", "tpp_mode": "per_step"}
    )
    before, after = quick_cells(), quick_cells(**changes)
    assert len(before) == 140
    assert sum(a.key != b.key for a, b in zip(before, after, strict=True)) == changed


def test_every_switch_is_read_by_some_cell_or_by_tables() -> None:
    spec = spec_from(
        {
            "datasets": ["lgap", "round", "leeds", "highd", "interaction"],
            "models": ["LR_1D", "T++", "CM_AIJ11"],
            "conditional_paths": "CV_residual",
            "n_input": [2],
            "profile": "printed",  # a switch with a default is named only where it differs
            "switches": {"commotions_evaluations": 100, "decision_instant": "horizon"},
        },
        where="test",
    )
    sources = {n: Source(dataset=n, root=Path(), data="d", is_synthetic=False) for n in spec.adapters()}
    read = {name for cell in cells_of(spec, sources) for name in cell.settings["switches"]}
    assert read | TABLE_SWITCHES | METRIC_SWITCHES == set(Profile.model_fields)


def test_reading_a_switch_that_the_cell_does_not_name_is_an_error() -> None:
    few = as_profile({"phantoms": "mask"})
    assert few.phantoms == "mask"
    with pytest.raises(KeyError, match="leeds_offset"):
        _ = few.leeds_offset


def test_a_conversion_is_named_only_where_one_is_needed() -> None:
    cells = {(c.params["t0"], c.params["model"]): c.settings for c in quick_cells()}
    assert "conversion" not in cells["initial", "LR_1D"]
    assert "conversion" not in cells["constant", "CV"]
    assert cells["constant", "LR_1D"]["conversion"] == {"paths": "CV_residual"}


def small(**changes: Any) -> RunSpec:
    return spec_from(
        {
            "datasets": ["lgap"],
            "t0": ["initial"],
            "n_input_max": 2,
            "splits": {"random": 3, "critical": 1},
            "models": ["LR_1D", "CV"],
            "relaxed": [{"dataset": "lgap", "t0": "initial", "n_input": 2, "n_input_max": 2}],
            "min_samples": 20,
            "synthetic": {"lgap": {"count": 60}},
            **changes,
        },
        where="test",
    )


def test_a_switch_of_tables_computes_nothing_and_changes_the_table(tmp_path: Path) -> None:
    results = run_gaps(small(), tmp_path / "R", engine=SerialExecutor())
    before = results.table(metric="auc", t0="initial").csv()
    summary = run(GAPS, small(switches={"ddof": 0}), tmp_path / "R", engine=SerialExecutor())
    assert (summary.done, summary.skipped) == (0, 8)
    after = results.table(metric="auc", t0="initial")
    assert "divisor 3" in after.text() or after.csv() != before


def as_release_0_1(store: Store, target: Path) -> dict[str, Any]:
    """The same results as release 0.1 kept them: every switch among the parameters."""
    values: dict[str, Any] = {}
    target.mkdir()
    (target / "store.json").write_text(json.dumps({"format": 1, "written_by": "giveway 0.1.0"}))
    switches = {**CLEAN.model_dump(exclude={"commotions_evaluations"}), "group_split": "additional"}
    for number, key in enumerate(sorted(collect(store)["key"].unique())):
        document = store.read_record(key)
        cell = document["cell"]
        params = {**cell["params"], **cell.pop("settings"), "switches": {**switches, "critical_bound": 1.92}}
        params.setdefault("conversion", {"paths": "CV_residual"})
        cell["params"], cell["versions"]["CV_residual"] = params, 1
        old_key = f"{number:02x}" * 32
        path = target / "cells" / old_key[:2] / f"{old_key}.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(seal(canonical_json({**document, "format": 1, "key": old_key})))
        path.with_suffix(".parquet").write_bytes(store.record_path(key).with_suffix(".parquet").read_bytes())
        values[key] = document["measurements"]
    return values


def test_a_store_of_release_0_1_is_taken_over_and_computes_nothing(tmp_path: Path) -> None:
    run(GAPS, small(), tmp_path / "new", engine=SerialExecutor())
    values = as_release_0_1(Store(tmp_path / "new"), tmp_path / "old")
    summary = run(GAPS, small(), tmp_path / "old", engine=SerialExecutor())
    assert (summary.done, summary.skipped, summary.failed) == (0, 8, 0)
    store = Store(tmp_path / "old")
    assert status(store).done == 8
    assert {key: store.read_record(key)["measurements"] for key in values} == values
    assert all(store.read_samples(key) is not None for key in values)
