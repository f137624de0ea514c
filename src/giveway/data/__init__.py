"""Recordings: one adapter per file format, the canonical store, synthetic generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.data.protocol import Dataset

DATASETS: Registry[Dataset] = Registry(
    "dataset",
    {
        "argoverse2": "giveway.data.argoverse2:ARGOVERSE2",
        "citr": "giveway.data.vci:CITR",
        "dut": "giveway.data.vci:DUT",
        "exid": "giveway.data.exid:EXID",
        "generic": "giveway.data.generic:GENERIC",
        "highd": "giveway.data.highd:HIGHD",
        "ind": "giveway.data.ind:IND",
        "interaction": "giveway.data.interaction:INTERACTION",
        "interaction_cases": "giveway.data.interaction_cases:INTERACTION_CASES",
        "leeds": "giveway.data.leeds:LEEDS",
        "lgap": "giveway.data.lgap:LGAP",
        "nuplan": "giveway.data.nuplan:NUPLAN",
        "round": "giveway.data.round:ROUND",
        "scenarionet": "giveway.data.scenarionet:SCENARIONET",
        "sind": "giveway.data.sind:SIND",
        "store": "giveway.data.stored:STORED",
        "unid": "giveway.data.unid:UNID",
        "womd": "giveway.data.womd:WOMD",
    },
    group="giveway.datasets",
)
"""Adapter instances by name."""
