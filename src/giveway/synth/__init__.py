"""Synthetic recordings in the file formats of the real datasets, each with its hidden truth.

A generator is one module and one line in :data:`SYNTHESIZERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.synth.protocol import Synthesizer

SYNTHESIZERS: Registry[Synthesizer] = Registry(
    "synthetic dataset",
    {
        "highd": "giveway.synth.highd.files:SYNTHESIZER",
        "ind": "giveway.synth.ind:SYNTHESIZER",
        "interaction": "giveway.synth.interaction.files:SYNTHESIZER",
        "interaction_cases": "giveway.synth.interaction.cases:SYNTHESIZER",
        "leeds": "giveway.synth.leeds.files:SYNTHESIZER",
        "lgap": "giveway.synth.lgap.files:SYNTHESIZER",
        "round": "giveway.synth.round.files:SYNTHESIZER",
    },
    group="giveway.synthesizers",
)
"""Generators by the name of the dataset whose files they imitate."""
