"""``measures.csv`` and ``processed_data.csv`` as the authors of L-GAP write them, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.case import TICK_S
from giveway.core.frames import rotated
from giveway.core.seeds import stream
from giveway.core.smoothing import savitzky_golay
from giveway.roads.routes import CarPath, poses_along
from giveway.synth.lgap.trials import (
    LANE_WIDTH_M,
    RECORDED_M,
    Trials,
    crossing,
    simulate_trials,
)
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.road_users import between
from giveway.synth.tables import write_table

VEHICLE_LENGTH_M = 5.0
BRAKE_MPS2 = 4.0
BLOCK_M = 150.0
STEP_S = 0.0101
FINE_S = 0.01
EXTRA_STEP_S = 0.0002
SMOOTHED = ("x", "y", "vx", "vy", "ax", "ay")
DECIMALS = 6
"""The originals carry every digit of a float; ours end at a micrometer so that all machines agree."""

KEY = ("subj_id", "session", "route", "intersection_no")
MEASURES = (
    "idx_bot_spawn",
    "idx_response",
    "idx_min_distance",
    "min_distance",
    "RT",
    "is_go_decision",
    "is_collision",
    "decision",
    "tta_condition",
    "d_condition",
    "v_condition",
)
PROCESSED = (
    "intersection_x",
    "intersection_y",
    "turn_direction",
    "t",
    "ego_distance_to_intersection",
    "tta_condition",
    "d_condition",
    "v_condition",
    "ego_x",
    "ego_y",
    "ego_vx",
    "ego_vy",
    "ego_ax",
    "ego_ay",
    "ego_yaw",
    "bot_x",
    "bot_y",
    "bot_vx",
    "bot_vy",
    "bot_ax",
    "bot_ay",
    "bot_yaw",
    "throttle",
    "brake",
    "steer",
    "ego_v",
    "bot_v",
    "ego_a",
    "bot_a",
    "d_ego_bot",
    "tta",
    "idx_bot_spawn",
    "idx_response",
    "idx_min_distance",
    "min_distance",
    "RT",
    "is_go_decision",
)


class LGapSynthesizer:
    """L-GAP in its current form, or with ``--variant old`` with the earlier ``measures.csv``."""

    info = SynthesizerInfo(name="lgap", unit="trials", count=180, max_count=100_000, variants=("current", "old"))

    def write(self, folder: FilePath, *, seed: int, size: Size) -> Mapping[str, Any]:
        """Both tables and ``truth/samples.csv``."""
        trials = simulate_trials(seed, size.count)
        path = crossing().paths[0]
        rng = stream(seed, "lgap", "log")
        tables, measures, truth = [], [], []
        for number in range(size.count):
            table, measure = _one_trial(trials, number, path, rng)
            tables.append(table)
            measures.append(measure)
            truth.append(_truth(trials, number, table, path))
        whole = pl.concat(tables)
        write_table(folder / "processed_data.csv", whole)
        summary = pl.DataFrame(measures).select(*KEY, *MEASURES)
        if size.variant == "old":
            write_table(folder / "measures.csv", _old_form(summary), first_header="")
        else:
            write_table(folder / "measures.csv", summary)
        (folder / "truth").mkdir()
        write_table(folder / "truth" / "samples.csv", pl.DataFrame(truth))
        accepted = int(trials.accepted.sum())
        return {"trials": size.count, "accepted": accepted, "rejected": size.count - accepted, "rows": whole.height}


def _one_trial(
    trials: Trials, number: int, path: CarPath, rng: np.random.Generator
) -> tuple[pl.DataFrame, dict[str, Any]]:
    time = _row_times(rng, (trials.s_m.shape[1] - 1) * TICK_S)
    s, v, a = between(time / TICK_S, trials.s_m[number], trials.v_mps[number])
    xy, heading, curvature = poses_along(path, s, trials.offset_m[number])
    distance = np.hypot(xy[:, 0], xy[:, 1])
    near = np.flatnonzero(distance < RECORDED_M)
    kept = slice(int(near[0]), int(near[-1]) + 1)
    time, v, a, xy, heading = time[kept], v[kept], a[kept], xy[kept], heading[kept]
    curvature, distance = curvature[kept], distance[kept]
    speed = float(trials.bot_speed_mps[number])
    spawn = int(np.searchsorted(time, trials.spawn_s[number]))
    present = np.arange(time.size) >= spawn
    bot_x = trials.spawn_x_m[number] + speed * (time - trials.spawn_s[number])
    bot_xy = np.stack([bot_x, np.full_like(bot_x, -LANE_WIDTH_M / 2)], axis=1)

    world = int(rng.integers(4)) * np.pi / 2
    center = (float(rng.integers(1, 5)) * BLOCK_M, float(rng.integers(1, 5)) * BLOCK_M)
    direction = np.stack([np.cos(heading), np.sin(heading)], axis=1)
    left = np.stack([-direction[:, 1], direction[:, 0]], axis=1)
    zero = np.zeros_like(time)
    columns: dict[str, Any] = {}
    human = (
        rotated(xy, world) + center,
        rotated(direction * v[:, None], world),
        rotated(direction * a[:, None] + left * (v**2 * curvature)[:, None], world),
    )
    other = (
        rotated(bot_xy, world) + center,
        rotated(np.stack([zero + speed, zero], axis=1), world),
        np.zeros((time.size, 2)),
    )
    for car, states in (("ego", human), ("bot", other)):
        raw = np.round(np.concatenate(states, axis=1), 4)
        raw = np.where(present[:, None], raw, 0.0) if car == "bot" else raw
        smooth = savitzky_golay(raw, 21, 2)
        columns |= {f"{car}_{name}": smooth[:, k] for k, name in enumerate(SMOOTHED)}
    columns["ego_yaw"] = _carla_degrees(heading + world)
    columns["bot_yaw"] = np.where(present, _carla_degrees(np.full_like(time, world)), 0.0)
    return _finish_trial(trials, number, time, spawn, center, distance, columns, _pedals(v, a, curvature))


def _finish_trial(
    trials: Trials,
    number: int,
    time: FloatArray,
    spawn: int,
    center: tuple[float, float],
    distance: FloatArray,
    columns: dict[str, FloatArray],
    pedals: dict[str, FloatArray],
) -> tuple[pl.DataFrame, dict[str, Any]]:
    for car in ("ego", "bot"):
        columns[f"{car}_v"] = np.hypot(columns[f"{car}_vx"], columns[f"{car}_vy"])
        columns[f"{car}_a"] = np.hypot(columns[f"{car}_ax"], columns[f"{car}_ay"])
    apart = np.hypot(columns["ego_x"] - columns["bot_x"], columns["ego_y"] - columns["bot_y"])
    moving = columns["bot_v"] > 1e-9
    tta = np.divide(apart, columns["bot_v"], out=np.full_like(apart, np.inf), where=moving)
    response = min(int(np.searchsorted(time, trials.respond_s[number])), time.size - 1)
    closest = spawn + 21 + int(np.argmin(apart[spawn + 21 :]))
    key = {name: int(value) for name, value in zip(KEY, trials.key[number], strict=True)}
    condition = {
        "tta_condition": float(trials.tta_s[number]),
        "d_condition": float(trials.distance_m[number]),
        "v_condition": round(float(trials.bot_speed_mps[number]), 4),
    }
    measure = {
        "idx_bot_spawn": spawn,
        "idx_response": response,
        "idx_min_distance": closest,
        "min_distance": round(float(apart[closest]), DECIMALS),
        "RT": round(float(time[response] - time[spawn]), 4),
        "is_go_decision": _python_bool(trials.accepted[number]),
    }
    extra = {"is_collision": "False", "decision": "Go" if trials.accepted[number] else "Stay"}
    place = {"intersection_x": int(center[0]), "intersection_y": int(center[1]), "turn_direction": 1}
    series = {
        "t": time,
        "ego_distance_to_intersection": np.round(distance, 4),
        "d_ego_bot": apart,
        "tta": tta,
        **columns,
        **pedals,
    }
    rounded = {name: np.round(values, DECIMALS) + 0.0 for name, values in series.items()}
    table = pl.DataFrame(rounded).with_columns(
        pl.lit(value).alias(name) for name, value in {**key, **place, **condition, **measure}.items()
    )
    return table.select(*KEY, *PROCESSED), {**key, **measure, **extra, **condition}


def _truth(trials: Trials, number: int, table: pl.DataFrame, path: CarPath) -> dict[str, Any]:
    """Times of the protocol; the oncoming car drives at constant speed, so t_C and t_crit are closed forms."""
    velocity = table.select("bot_vx", "bot_vy").to_numpy()
    steady = (np.abs(np.diff(velocity, axis=0)) < 0.001).all(axis=1) & (np.abs(velocity[:-1]) > 5).any(axis=1)
    begin = int(np.argmax(steady))
    time = table["t"].to_numpy()
    t_s = float(time[begin])
    speed = float(trials.bot_speed_mps[number])
    d_c = -LANE_WIDTH_M - VEHICLE_LENGTH_M / 2
    t_c = float(trials.spawn_s[number] + (d_c - trials.spawn_x_m[number]) / speed)
    t_a = _crossing_time(trials, number, path)
    t_crit = t_c - speed / (2 * BRAKE_MPS2)
    if t_crit <= t_s:
        t_crit = t_s
    elif t_crit >= t_a:
        t_crit = t_a + 0.01
    return {
        **{name: int(value) for name, value in zip(KEY, trials.key[number], strict=True)},
        "row_start": begin,
        "t_S": t_s,
        "t_A": round(t_a, DECIMALS),
        "t_C": round(t_c, DECIMALS),
        "t_crit": round(t_crit, DECIMALS),
        "accepted": t_a < t_c,
        "t_C_observed": t_c <= float(time[-1]),
        "p_accept": round(float(trials.probability[number]), DECIMALS),
        "boldness": round(float(trials.boldness[number]), DECIMALS),
    }


def _crossing_time(trials: Trials, number: int, path: CarPath) -> float:
    """When the human's center crosses the line between the two directions (y = 0)."""
    fine = np.arange(0.0, (trials.s_m.shape[1] - 1) * TICK_S, FINE_S)
    s = between(fine / TICK_S, trials.s_m[number], trials.v_mps[number])[0]
    y = poses_along(path, s, trials.offset_m[number])[0][:, 1]
    first = int(np.argmax(y <= 0))
    share = y[first] / (y[first] - y[first - 1])
    return float(share * fine[first - 1] + (1 - share) * fine[first])


def _row_times(rng: np.random.Generator, end_s: float) -> FloatArray:
    steps = STEP_S + EXTRA_STEP_S * rng.standard_exponential(int(end_s / STEP_S))
    time = np.round(np.cumsum(steps), 4)
    return time[time < end_s]


def _pedals(v: FloatArray, a: FloatArray, curvature: FloatArray) -> dict[str, FloatArray]:
    pedals: dict[str, Any] = {
        "throttle": np.round(np.clip(a / 4.0 + 0.02 * v, 0.0, 1.0), 4),
        "brake": np.round(np.where(v < 0.02, 0.4, np.clip(-a / 8.0, 0.0, 1.0)), 4),
        "steer": np.round(np.clip(-curvature * 2.5, -1.0, 1.0), 4),
    }
    return pedals


def _carla_degrees(heading: FloatArray) -> FloatArray:
    """CARLA counts yaw clockwise, in (-180, 180]."""
    return np.round(180.0 - np.mod(np.degrees(heading) + 180.0, 360.0), 4)


def _python_bool(value: object) -> str:
    return "True" if value else "False"


def _old_form(measures: pl.DataFrame) -> pl.DataFrame:
    """The earlier public version: a counter column, turn/wait words, no collision column."""
    words = pl.col("decision").replace_strict({"Go": "Turn", "Stay": "Wait"})
    old = measures.drop("is_collision").rename({"is_go_decision": "is_turn_decision"}).with_columns(words)
    return old.with_row_index("counter")


SYNTHESIZER = LGapSynthesizer()
