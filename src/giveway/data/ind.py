"""inD: drone recordings of intersections (levelXdata)."""

from __future__ import annotations

from giveway.data.levelx import LevelXDataset, fact_sheet

IND = LevelXDataset(
    info=fact_sheet(
        "ind",
        "inD",
        "00..32",
        "Bock, J., Krajewski, R., Moers, T., Runde, S., Vater, L., Eckstein, L. (2020). The inD Dataset: A Drone "
        "Dataset of Naturalistic Road User Trajectories at German Intersections. IEEE IV 2020. "
        "doi:10.1109/IV47402.2020.9304839.",
    )
)
"""Drone recordings of German intersections (levelXdata); one scene per recording."""
