"""The arena: attackers at equal budget, by planner and road."""

from __future__ import annotations

import contextlib
import io
import json
import shutil

import numpy as np
import pytest

import giveway as gw
from giveway.cli.main import run as giveway
from giveway.generate.arena import paired_gain, pooled, standings
from giveway.generate.failures import stored_campaigns
from giveway.generate.policies import shipped_file
from giveway.stats.proportions import share_difference, wilson


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """Two roads, two planners, a script and two policies by name."""
    folder = tmp_path_factory.mktemp("arena")
    for name in ("first", "second"):
        shutil.copy(shipped_file("idm"), folder / f"{name}.safetensors")
    order = ["generate", "bench", "--method", "scripted", "--method", "policy", "--road", "straight", "--road", "merge"]
    order += ["--planner", "idm", "--planner", "constant_speed", "--seeds", "2", "--budget", "20", "--workers", "1"]
    order += [word for name in ("first", "second") for word in ("--policy", str(folder / f"{name}.safetensors"))]
    return folder / "B", [*order, "--against", "scripted", "--out", str(folder / "B"), "--json"]


@pytest.fixture(scope="module")
def rows(arena):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as stop:
        giveway(arena[1])
    assert not stop.value.code, said.getvalue()
    return json.loads(said.getvalue())["result"]["arena"]


def test_every_attacker_has_the_same_number_of_tests_on_every_road(rows):
    assert {(r["road"], r["planner"], r["attacker"]) for r in rows} == {
        (road, planner, attacker)
        for road in ("straight", "merge")
        for planner in ("idm", "constant_speed")
        for attacker in ("scripted", "policy:first", "policy:second")
    }
    assert {(r["tests"], r["seeds"]) for r in rows} == {(40, 2)}


def test_grades_are_counted_and_equal_policies_are_equal(rows, arena):
    there = {(r["road"], r["planner"], r["attacker"]): r for r in rows}
    for key, row in there.items():
        assert sum(row["grades"][g] for g in "ABC") == pytest.approx(row["found"])
        assert [row["low"], row["high"]] == pytest.approx(wilson(round(40 * row["found"]), 40))
        twin = there[key[0], key[1], "policy:second"]
        if key[2] == "policy:first":
            assert row == {**twin, "attacker": "policy:first"}
    campaigns = stored_campaigns(arena[0])
    assert sum(len(one.results) for one in pooled(campaigns)) == 12 * 40
    direct = [c for c in campaigns if (c.params["planner"], c.params["road"]) == ("constant_speed", "straight")]
    shares = {
        name: np.array([np.mean([r.failed and r.grade in "ABC" for r in c.results]) for c in direct
                        if c.params["method"] == name])
        for name in ("scripted", "policy:first")
    }  # fmt: skip
    row = there["straight", "constant_speed", "policy:first"]
    assert row["gain"] == pytest.approx((shares["policy:first"] - shares["scripted"]).mean())
    assert row["gain_low"] <= row["gain"] <= row["gain_high"]


def test_differences_are_paired_by_seed():
    first, second = {1: (5, 10), 2: (7, 10), 3: (9, 10)}, {1: (4, 10), 2: (6, 10), 4: (0, 10)}
    mean, low, high = paired_gain(first, second)
    assert mean == pytest.approx(0.1)
    assert (low, high) == pytest.approx(share_difference((12, 20), (10, 20))), "equal differences have no spread"
    mean, low, high = paired_gain({1: (5, 10), 2: (8, 10)}, {1: (4, 10), 2: (5, 10)})
    assert (mean, high - mean) == pytest.approx((0.2, 12.706 * 0.1), rel=1e-3)
    assert np.isnan(paired_gain(first, {9: (1, 2)})).all()


def test_results_have_the_arena_as_table_and_picture(rows, arena):
    results = gw.Results.open(arena[0], kind="campaign")
    table = results.table("arena", against="scripted")
    text = table.text()
    assert "policy:first" in text
    assert "minus scripted" in text
    figure = results.figure("arena")
    assert sorted(axis.get_title() for axis in figure.axes) == ["merge", "straight"]
    assert (arena[0] / "arena.png").stat().st_size > 5000
    assert len(standings(stored_campaigns(arena[0]))) == len(rows)


def test_the_report_of_a_comparison_shows_the_arena(rows, arena, tmp_path):
    with pytest.raises(SystemExit) as stop:
        giveway(["report", str(arena[0]), "--out", str(tmp_path / "site")])
    assert not stop.value.code
    pages = "".join(p.read_text(encoding="utf-8") for p in (tmp_path / "site").rglob("*.html"))
    assert "Attackers at equal budget" in pages
    assert any((tmp_path / "site").rglob("arena.svg"))
