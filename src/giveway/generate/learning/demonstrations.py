"""What a demonstrator would have done in the states of the warm start; actors are held near it while they learn.

Reference:
    Fujimoto and Gu 2021, A minimalist approach to offline reinforcement learning: values are scaled by their mean size,
    so that one weight fits any reward.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Demonstrations:
    """Pairs of what all cars saw and what the demonstrator would have done.

    Args:
        seen: (N, k, o) observations.
        shown: (N, k, a) actions.
    """

    def __init__(self, seen: Tensor, shown: Tensor) -> None:
        self.seen, self.shown = seen, shown

    def sample(self, batch: int, generator: torch.Generator) -> Demonstrations:
        """Pairs drawn with replacement."""
        rows = torch.randint(len(self.seen), (batch,), generator=generator)
        return Demonstrations(self.seen[rows], self.shown[rows])

    def scaled(self, mean: Tensor, deviation: Tensor) -> Demonstrations:
        """With observations in the units that the networks see; mean and deviation are (k, o)."""
        return Demonstrations((self.seen - mean) / deviation, self.shown)
