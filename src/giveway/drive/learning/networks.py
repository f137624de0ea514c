"""Small networks on the CPU, their optimizer, and both as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from giveway.planning.learned import LearnedPlanner


class Rectified(nn.Module):
    """Layers with ReLU in between; orthogonal weights, the last ones small.

    Args:
        sizes: units from input to output.
        last_gain: of the last layer.
        generator: random numbers.
    """

    def __init__(self, sizes: Sequence[int], last_gain: float, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        for n, layer in enumerate(self.layers):
            gain = last_gain if n == len(sizes) - 2 else 2.0**0.5
            nn.init.orthogonal_(layer.weight, gain, generator=generator)  # pyright: ignore[reportArgumentType]
            nn.init.zeros_(layer.bias)  # pyright: ignore[reportArgumentType]

    def forward(self, x: Tensor) -> Tensor:
        """(N,) outputs for inputs (N, a)."""
        for n, layer in enumerate(self.layers):
            x = layer(x)
            if n < len(self.layers) - 1:
                x = torch.relu(x)
        return x[:, 0]


def planner_of_network(name: str, network: Rectified, facts: Mapping[str, Any]) -> LearnedPlanner:
    """The planner that drives by a network."""
    arrays = [parameter.detach().numpy() for parameter in network.parameters()]  # weight and bias of each layer
    layers = tuple((np.ascontiguousarray(w.T), b.copy()) for w, b in zip(arrays[::2], arrays[1::2], strict=True))
    return LearnedPlanner(name=name, layers=layers, facts=facts)


class Trained:
    """Modules with one Adam over all of them, whose rate falls linearly to a tenth.

    Args:
        modules: by name.
        rate: at the beginning.
        grad_clip: largest norm of a gradient.
    """

    def __init__(self, modules: Mapping[str, nn.Module], *, rate: float, grad_clip: float) -> None:
        self._modules, self._rate, self._grad_clip = modules, rate, grad_clip
        self._parameters = [p for module in modules.values() for p in module.parameters()]
        self._adam = torch.optim.Adam(self._parameters, lr=rate, eps=1e-5, foreach=True)

    def step(self, loss: Tensor, done: float) -> None:
        """Follow the gradient of a loss; ``done`` is the share of the training that is over."""
        for group in self._adam.param_groups:
            group["lr"] = self._rate * (1.0 - 0.9 * done)
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, self._grad_clip, foreach=True)
        self._adam.step()

    def tensors(self) -> dict[str, Tensor]:
        """Weights and moments by name."""
        found = {
            f"{m}.{n}": p.detach().clone() for m, module in self._modules.items() for n, p in module.named_parameters()
        }
        for number, parameter in enumerate(self._parameters):
            found |= {f"adam.{number}.{n}": v.clone() for n, v in self._adam.state.get(parameter, {}).items()}
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """The inverse of :meth:`tensors`."""
        with torch.no_grad():
            for m, module in self._modules.items():
                for n, p in module.named_parameters():
                    p.copy_(tensors[f"{m}.{n}"])
        for number, parameter in enumerate(self._parameters):
            prefix = f"adam.{number}."
            state = {n.removeprefix(prefix): v.clone() for n, v in tensors.items() if n.startswith(prefix)}
            if state:
                self._adam.state[parameter] = state
