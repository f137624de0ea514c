"""Recordings: one adapter per file format, the canonical store, synthetic generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.data.protocol import Dataset

DATASETS: Registry[Dataset] = Registry(
    "dataset",
    {
        "exid": "giveway.data.exid:EXID",
        "generic": "giveway.data.generic:GENERIC",
        "highd": "giveway.data.highd:HIGHD",
        "ind": "giveway.data.ind:IND",
        "interaction": "giveway.data.interaction:INTERACTION",
        "interaction_cases": "giveway.data.interaction_cases:INTERACTION_CASES",
        "leeds": "giveway.data.leeds:LEEDS",
        "lgap": "giveway.data.lgap:LGAP",
        "round": "giveway.data.round:ROUND",
        "store": "giveway.data.stored:STORED",
        "unid": "giveway.data.unid:UNID",
    },
    group="giveway.datasets",
)
"""Adapter instances by name."""
