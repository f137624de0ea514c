"""Where gaps are found, one module per dataset.

An extraction enumerates candidate gaps in scenes, normalizes their frames, assigns roles and describes them in one
dimension; everything after that is the same for all. A new one is a module and a line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.gaps.protocol import Extraction

EXTRACTIONS: Registry[Extraction] = Registry(
    "gap dataset",
    {
        "lgap": "giveway.gaps.extractions.lgap:LGAP",
        "round": "giveway.gaps.extractions.round:ROUND",
        "round_2v": "giveway.gaps.extractions.round:ROUND_2V",
        "leeds": "giveway.gaps.extractions.leeds:LEEDS",
        "leeds_2v": "giveway.gaps.extractions.leeds:LEEDS_2V",
        "highd": "giveway.gaps.extractions.highd:HIGHD",
        "highd_restricted": "giveway.gaps.extractions.highd:HIGHD_RESTRICTED",
        "interaction": "giveway.gaps.extractions.interaction:INTERACTION",
        "interaction_lanes": "giveway.gaps.extractions.lanes:LANES",
        "interaction_2v": "giveway.gaps.extractions.interaction:INTERACTION_2V",
        "generic": "giveway.gaps.extractions.declared:GENERIC",
        "ind": "giveway.gaps.extractions.declared:IND",
        "unid": "giveway.gaps.extractions.declared:UNID",
        "exid": "giveway.gaps.extractions.declared:EXID",
        "sind": "giveway.gaps.extractions.declared:SIND",
        "argoverse2": "giveway.gaps.extractions.declared:ARGOVERSE2",
        "nuplan": "giveway.gaps.extractions.declared:NUPLAN",
        "womd": "giveway.gaps.extractions.declared:WOMD",
        "scenarionet": "giveway.gaps.extractions.declared:SCENARIONET",
        "dut": "giveway.gaps.extractions.pedestrians:DUT",
        "citr": "giveway.gaps.extractions.pedestrians:CITR",
        "ind_pedestrians": "giveway.gaps.extractions.pedestrians:IND",
        "unid_pedestrians": "giveway.gaps.extractions.pedestrians:UNID",
        "sind_pedestrians": "giveway.gaps.extractions.pedestrians:SIND",
        "generic_pedestrians": "giveway.gaps.extractions.pedestrians:GENERIC",
        "interaction_pedestrians": "giveway.gaps.extractions.pedestrians:INTERACTION",
        "argoverse2_pedestrians": "giveway.gaps.extractions.pedestrians:ARGOVERSE2",
        "nuplan_pedestrians": "giveway.gaps.extractions.pedestrians:NUPLAN",
        "womd_pedestrians": "giveway.gaps.extractions.pedestrians:WOMD",
        "scenarionet_pedestrians": "giveway.gaps.extractions.pedestrians:SCENARIONET",
    },
    group="giveway.extractions",
)
"""Extractions by name."""
