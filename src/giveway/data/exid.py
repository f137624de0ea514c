"""exiD: drone recordings of motorway entries and exits (levelXdata)."""

from __future__ import annotations

from giveway.data.levelx import LevelXDataset, fact_sheet
from giveway.data.levelx_files import EXID_TRACKS

EXID = LevelXDataset(
    info=fact_sheet(
        "exid",
        "exiD",
        "00..92",
        "Moers, T., Vater, L., Krajewski, R., Bock, J., Zlocki, A., Eckstein, L. (2022). The exiD Dataset: A "
        "Real-World Trajectory Dataset of Highly Interactive Highway Scenarios in Germany. IEEE IV 2022. "
        "doi:10.1109/IV51971.2022.9827305.",
    ),
    tracks=EXID_TRACKS,
    kept={
        "laneletId": "lanelet_id",
        "leadId": "lead_id",
        "rearId": "rear_id",
        "leftLeadId": "left_lead_id",
        "leftRearId": "left_rear_id",
        "leftAlongsideId": "left_alongside_id",
        "rightLeadId": "right_lead_id",
        "rightRearId": "right_rear_id",
        "rightAlongsideId": "right_alongside_id",
    },
)
"""Drone recordings of German motorway entries and exits (levelXdata); with lanelets and neighbors of every state."""
