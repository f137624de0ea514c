"""uniD: drone recordings of a university campus (levelXdata)."""

from __future__ import annotations

from giveway.data.levelx import LevelXDataset, fact_sheet

UNID = LevelXDataset(
    info=fact_sheet(
        "unid",
        "uniD",
        "00..12",
        "Bock, J., Vater, L., Krajewski, R., Moers, T. (2021). Highly Accurate Scenario and Reference Data for "
        "Automated Driving. ATZ worldwide 123, 50-55. doi:10.1007/s38311-021-0668-8.",
    )
)
"""Drone recordings of a German university campus (levelXdata); many pedestrians, one location."""
