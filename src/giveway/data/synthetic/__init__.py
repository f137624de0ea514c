"""Synthetic recordings in the file formats of the real datasets, each with its hidden truth.

A generator is one module and one line in :data:`SYNTHESIZERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.data.synthetic.protocol import Synthesizer

SYNTHESIZERS: Registry[Synthesizer] = Registry(
    "synthetic dataset",
    {
        "highd": "giveway.data.synthetic.highd.files:SYNTHESIZER",
        "ind": "giveway.data.synthetic.ind:SYNTHESIZER",
        "interaction": "giveway.data.synthetic.interaction.files:SYNTHESIZER",
        "interaction_cases": "giveway.data.synthetic.interaction.cases:SYNTHESIZER",
        "leeds": "giveway.data.synthetic.leeds.files:SYNTHESIZER",
        "lgap": "giveway.data.synthetic.lgap.files:SYNTHESIZER",
        "round": "giveway.data.synthetic.round.files:SYNTHESIZER",
    },
    group="giveway.synthesizers",
)
"""Generators by the name of the dataset whose files they imitate."""
