"""One folder of tab-separated logs per participant, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from giveway.core.arrays import FloatArray
from giveway.core.frames import rotated
from giveway.roads.library.shapes import arc, joined, line
from giveway.roads.routes import CarPath, path_of_way, poses_along
from giveway.synth.leeds.crossings import (
    CROSSING_M,
    ISLAND_M,
    LANE_WIDTH_M,
    LEGS_M,
    LOG_HZ,
    VEHICLE_LENGTH_M,
    Session,
    Stream,
    simulate_sessions,
)
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.tables import write_table
from giveway.synth.times import characteristic_times

DECIMALS = 4
SEEN_BEFORE_M, SEEN_AFTER_M = 120.0, 60.0
FIRST_ID = (300, 1000)
GRID_HZ = 30
"""Rate to which the published analysis resamples the logs; t_S lies on this grid."""
DENSE = 8
FAR_M = 1000.0
HALF = LANE_WIDTH_M / 2


class LeedsSynthesizer:
    """Leeds: ``sub1`` .. ``subN``, two crossings each, logs at 60 Hz."""

    info = SynthesizerInfo(name="leeds", unit="participants", count=12, max_count=80)

    def write(self, folder: FilePath, *, seed: int, size: Size) -> Mapping[str, Any]:
        """Logs and ``truth/samples.csv``."""
        route = _route()
        rows: list[dict[str, Any]] = []
        drones = 0
        for number, session in enumerate(simulate_sessions(seed, size.count), start=1):
            place = folder / f"sub{number}"
            place.mkdir()
            _write_subject(place / f"subject{number:02d}_2.txt", session, route)
            for leg, stream in enumerate(session.streams):
                cars = [car for car in range(stream.passes_s.size) if _drone_times(session, stream, car).size > 1]
                for car in cars:
                    file = place / f"drone{FIRST_ID[leg] + car}.txt"
                    _write_drone(file, session, stream, car, leg, route, num_cars=len(cars))
                    rows.append({"participant": number, "crossing": leg + 1, **_truth(session, stream, car, leg)})
                drones += len(cars)
        (folder / "truth").mkdir()
        truth = pl.DataFrame(rows, infer_schema_length=None)
        write_table(folder / "truth" / "samples.csv", truth.with_columns(pl.selectors.float().round(6)))
        decided = truth.filter(pl.col("t_S").is_not_nan())
        accepted = int(decided["accepted"].sum())
        return {
            "participants": size.count,
            "cars": drones,
            "accepted": accepted,
            "rejected": decided.height - accepted,
        }


def _route() -> CarPath:
    """Straight over the first crossing, a left bend, straight over the second."""
    heading, bend = 0.4, 60.0
    first, second = 300.0, LEGS_M[-1]
    pieces = [
        line((0.0, 0.0), (first, 0.0)),
        arc(bend, -np.pi / 2, 0.0) + np.array([first, bend]),
        line((first + bend, bend), (first + bend, bend + second)),
    ]
    return path_of_way(rotated(joined(*pieces), heading) + np.array([250.0, -400.0]))


def _to_world(route: CarPath, leg: int, xy: FloatArray) -> FloatArray:
    """From the frame of a crossing to that of the logs."""
    position = np.array([CROSSING_M[leg]])
    at, heading, _ = poses_along(route, position)
    turned = float(heading[0]) - np.pi
    corner = at[0] - rotated(np.array([0.0, -HALF]), turned)
    return rotated(xy, turned) + corner


def _write_subject(path: FilePath, session: Session, route: CarPath) -> None:
    time = np.arange(session.s_m.size) / LOG_HZ
    xy, heading, _ = poses_along(route, session.s_m, session.offset_m)
    speed = np.gradient(session.s_m, 1 / LOG_HZ)
    still = np.zeros(time.size)
    columns = {
        "simTime": time,
        "x": xy[:, 0],
        "y": xy[:, 1],
        "yaw": heading,
        "speed": speed,
        "offset": still - (HALF + session.offset_m),
    }
    write_table(path, pl.DataFrame(columns), decimals=DECIMALS, separator="\t")


def _drone_times(session: Session, stream: Stream, car: int) -> FloatArray:
    """Instants at which a car is logged; none after the end of the participant's log, as the published reader needs."""
    first = np.ceil((stream.passes_s[car] - SEEN_BEFORE_M / stream.speed_mps) * LOG_HZ)
    last = np.floor((stream.passes_s[car] + SEEN_AFTER_M / stream.speed_mps) * LOG_HZ)
    return np.arange(max(first, 0), min(last, session.s_m.size - 1) + 1) / LOG_HZ


def _write_drone(
    path: FilePath, session: Session, stream: Stream, car: int, leg: int, route: CarPath, *, num_cars: int
) -> None:
    time = _drone_times(session, stream, car)
    y = stream.y_at(car, time)
    xy = _to_world(route, leg, np.stack([np.full_like(y, -HALF), y], axis=1))
    leader = FIRST_ID[leg] + car - 1 if car > 0 else -1
    follower = FIRST_ID[leg] + car + 1 if car + 1 < num_cars else -1
    columns = {
        "simTime": time,
        "x_r": xy[:, 0],
        "y_r": xy[:, 1],
        "speed_r": np.full_like(time, stream.speed_mps),
        "offset_p": np.full_like(time, -HALF),
        "leaderID_r": np.full(time.size, leader),
        "followerID_r": np.full(time.size, follower),
    }
    write_table(path, pl.DataFrame(columns), decimals=DECIMALS, separator="\t", first_header="%simTime")


def _truth(session: Session, stream: Stream, car: int, leg: int) -> dict[str, Any]:
    """Times of the gap before a car, on a grid that contains k/30 s."""
    logged = _drone_times(session, stream, car)
    first = int(np.ceil(round(logged[0], DECIMALS) * GRID_HZ - 1e-9))
    last = int(np.floor(round(logged[-1], DECIMALS) * GRID_HZ + 1e-9))
    time = np.arange(first * DENSE, last * DENSE + 1) / (GRID_HZ * DENSE)
    y = stream.y_at(car, time)
    x_t = CROSSING_M[leg] - np.interp(time, np.arange(session.s_m.size) / LOG_HZ, session.s_m)
    d_1 = np.full_like(time, FAR_M)
    if car > 0:
        leader_end = _drone_times(session, stream, car - 1)[-1]
        d_1 = stream.y_at(car - 1, np.minimum(time, leader_end)) - stream.y_at(car, np.minimum(time, leader_end))
        d_1 = d_1 - VEHICLE_LENGTH_M
    times = characteristic_times(
        time,
        valid=np.ones(time.size, dtype=np.bool_),
        d_c=-y - (LANE_WIDTH_M + ISLAND_M + VEHICLE_LENGTH_M / 2),
        d_a=x_t - VEHICLE_LENGTH_M / 2,
        d_1=d_1,
        l_e=LANE_WIDTH_M + ISLAND_M,
        stride=DENSE,
    )
    return {
        "drone": FIRST_ID[leg] + car,
        "t_S": times.t_s,
        "t_A": times.t_a,
        "t_C": times.t_c,
        "t_crit": times.t_crit,
        "accepted": times.t_a < times.t_c,
        "t_A_observed": times.t_a_observed,
        "t_C_observed": times.t_c_observed,
        "p_accept": float(stream.probability[car]),
        "boldness": session.boldness,
    }


SYNTHESIZER = LeedsSynthesizer()
