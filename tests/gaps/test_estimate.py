"""How long a grid will take."""

from __future__ import annotations

from pathlib import Path

import pytest

from giveway.gaps import calibration as calibrating
from giveway.gaps import estimate as module
from giveway.gaps.cells import cells_of
from giveway.gaps.estimate import PUBLISHED_SIZES, Estimate, FamilyCost, estimate, estimates
from giveway.gaps.plan import PUBLISHED
from giveway.gaps.presets import preset
from giveway.gaps.sources import Source
from giveway.predictors.protocol import FitCost
from giveway.predictors.trajectron.recipe import Trajectron


def published_cells(*names: str, profile: str = "clean"):
    cells = []
    for name in names:
        spec = preset(name, profile=profile)
        sources = {a: Source(dataset=a, root=Path(), data="", is_synthetic=False) for a in spec.adapters()}
        cells += cells_of(spec, sources)
    return cells


@pytest.fixture(autouse=True)
def own_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIVEWAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def uncalibrated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One millisecond per sample and step for everybody, and no generated recordings; returns who was timed."""
    timed: list[str] = []

    def cost(recipe, samples):
        timed.append(recipe.info.name)
        return FitCost(fixed_s=0.0, per_step_s=0.001, measured="nothing")

    monkeypatch.setattr(calibrating, "measure", cost)
    monkeypatch.setattr(calibrating.Calibration, "samples", lambda self, dataset, t0: None)
    monkeypatch.setattr(calibrating.Calibration, "_calibration", lambda self, dataset: None)
    return timed


@pytest.mark.parametrize(("profile", "conditional"), [("clean", 330), ("paper", 30)])
def test_the_second_experiment_has_the_published_number_of_fits(uncalibrated, profile, conditional):
    found = {f.name: f.fits for f in estimate(published_cells("experiment-2", profile=profile)).families}
    assert found["T++"] == 396
    assert found["T++ (conditional paths)"] == conditional


def test_the_published_grids_have_2816_cognitive_fits(uncalibrated):
    found = {f.name: f.fits for f in estimate(published_cells(*PUBLISHED)).families}
    assert found["CM"] == 2816


def test_costs_follow_the_published_sample_counts(uncalibrated):
    cells = [
        c for c in published_cells("experiment-3") if c.params["dataset"] == "lgap" and c.params["t0"] == "constant"
    ]
    (cognitive,) = (f for f in estimate(cells).families if f.name == "CM")
    num = sum(PUBLISHED_SIZES["lgap", "constant"])
    assert cognitive.longest_s == pytest.approx(0.8 * num * module.STEPS_IF_UNKNOWN * 0.001)


def test_more_workers_help_until_the_longest_fit():
    made = Estimate(
        cells=4, families=(FamilyCost(name="CM", fits=4, seconds=400.0, longest_s=150.0),), calibration_s=1.0
    )
    assert (made.seconds(1), made.seconds(2), made.seconds(100)) == (400.0, 200.0, 150.0)


def test_a_calibration_is_remembered_until_asked_for_anew(uncalibrated):
    cells = published_cells("experiment-2")
    first = estimate(cells)
    number = len(uncalibrated)
    assert number == 5 + 5 + 1  # models that look at the plane on each dataset, the other one once
    assert estimate(cells).families == first.families
    assert len(uncalibrated) == number
    assert estimate(cells, fresh=True).families == first.families
    assert len(uncalibrated) == 2 * number


def test_settings_of_training_count_and_are_remembered_apart(uncalibrated, monkeypatch):
    def cost(recipe, samples):
        epochs = recipe.config.epochs if isinstance(recipe, Trajectron) else 0
        return FitCost(fixed_s=float(epochs), per_step_s=0.0)

    def cells(**training):
        changes = {"datasets": ["lgap"], "models": ["T++", "LR_1D"], "training": training, "splits": {"random": 1}}
        spec = preset("experiment-2", **changes)
        source = Source(dataset="lgap", root=Path(), data="", is_synthetic=False)
        return cells_of(spec, {"lgap": source})

    monkeypatch.setattr(calibrating, "measure", cost)
    for epochs in (7, 3):
        found = {f.name: f.longest_s for f in estimate(cells(epochs=epochs)).families}
        assert found == {"T++": epochs, "T++ (conditional paths)": epochs, "LR_1D": 0.0}


def test_a_damaged_memory_is_measured_anew(uncalibrated):
    cells = published_cells("experiment-2")[:3]
    estimate(cells)
    number = len(uncalibrated)
    calibrating.memory_file().write_text("{broken")
    estimate(cells)
    assert len(uncalibrated) == 2 * number


def test_grids_are_told_apart_and_share_cells_and_path_models_in_one_store(uncalibrated):
    grids = [published_cells(name) for name in PUBLISHED]
    parts, together = estimates(grids)
    assert [part.cells for part in parts] == [len(cells) for cells in grids]
    alone = [{f.name: f.fits for f in part.families} for part in parts]
    assert [found.get("CM", 0) for found in alone] == [1408, 0, 1408]
    assert (alone[1]["T++"], alone[1]["T++ (conditional paths)"]) == (396, 330)
    union = {f.name: f for f in together.families}
    assert union["CM"].fits == 2816
    relaxed = 11  # initial gaps of L-GAP are in the first experiment only
    assert union["T++"].fits == 396 + relaxed
    assert union["T++ (conditional paths)"].fits == 330
    assert union["CM"].measured == ("nothing",)
