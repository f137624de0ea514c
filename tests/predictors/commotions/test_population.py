"""Files of drivers."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import FileFormatError
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.population import Population, read_population, write_population


@pytest.fixture
def population(golden):
    return Population(
        config=Configuration.from_name("CM_AIJ11"),
        bounds_mps2=(-8.0, 3.0),
        theta=(golden.THETA_A, golden.THETA_B),
        weight=np.array([3.0, 1.0]),
        source={"dataset": "none"},
        gates={"passed": False},
    )


def test_a_file_comes_back_as_it_was_written(population, tmp_path):
    write_population(tmp_path / "drivers.json", population)
    again = read_population(tmp_path / "drivers.json")
    assert again.document() == population.document()
    assert again.theta == population.theta


def test_a_damaged_file_is_refused(population, tmp_path):
    path = tmp_path / "drivers.json"
    write_population(path, population)
    path.write_text(path.read_text().replace("23.7", "23.8"))
    with pytest.raises(FileFormatError, match="damaged"):
        read_population(path)


def without(name):
    return lambda document: document.pop(name)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(format="other"), "another format"),
        (lambda d: d.update(version=2), "another version"),
        (lambda d: d.update(model="idm"), "another model"),
        (lambda d: d.update(config="CM_XXX11"), "none"),
        (lambda d: d["theta"][1].pop(), "none"),
        (lambda d: d["theta"][0].__setitem__(0, 1000.0), "none"),
        (lambda d: d["theta"][0].__setitem__(0, "5"), "none"),
        (lambda d: d["names"].__setitem__(0, "beta"), "none"),
        (lambda d: d.update(theta=[]), "lacks"),
        (lambda d: d.update(weight=[1.0]), "weight"),
        (lambda d: d.update(weight=[0.0, 0.0]), "weight"),
        (lambda d: d.update(weight=[2.0, -1.0]), "weight"),
        (lambda d: d.update(bounds_mps2=[3.0, -8.0]), "acceleration"),
        (without("bounds_mps2"), "acceleration"),
        (lambda d: d.update(gates=[1]), "objects"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_a_sentence(population, tmp_path, change, says):
    document = population.document()
    change(document)
    path = tmp_path / "drivers.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=says):
        read_population(path)


def test_names_may_come_in_another_order(population, tmp_path):
    document = population.document()
    document["names"].reverse()
    document["theta"] = [row[::-1] for row in document["theta"]]
    (tmp_path / "drivers.json").write_text(json.dumps(document))
    assert read_population(tmp_path / "drivers.json").theta == population.theta


def test_cars_draw_by_weight_and_by_their_own_name(population):
    drawn = Counter(population.draw(1, f"case-{case}", 0, "12") for case in range(2000))
    assert abs(drawn[0] / 2000 - 0.75) < 3 * np.sqrt(0.75 * 0.25 / 2000)
    assert population.draw(1, "case-3", 0, "12") == population.draw(1, "case-3", 0, "12")
    other = [population.draw(1, "case-3", rollout, "12") for rollout in range(40)]
    assert len(set(other)) == 2
    assert replace(population, weight=np.array([0.0, 2.0])).draw(1, "case-3", 0, "12") == 1


def test_the_driver_that_is_shipped_says_that_it_does_not_pass():
    shipped = read_population()
    assert len(shipped.theta) == 1
    assert shipped.config.name == "CM_AIJ11"
    assert shipped.gates["passed"] is False
    assert shipped.gates["rises"] is False
