"""rounD: drone recordings of roundabouts (levelXdata)."""

from __future__ import annotations

from giveway.data.levelx import LevelXDataset, fact_sheet

ROUND = LevelXDataset(
    info=fact_sheet(
        "round",
        "rounD",
        "00..23",
        "Krajewski, R., Moers, T., Bock, J., Vater, L., Eckstein, L. (2020). The rounD Dataset: A Drone Dataset "
        "of Road User Trajectories at Roundabouts in Germany. IEEE ITSC 2020. doi:10.1109/ITSC45102.2020.9294728.",
    )
)
"""Drone recordings of German roundabouts (levelXdata); one scene per recording."""
