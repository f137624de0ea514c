"""Equal small networks of several agents, evaluated together.

All parameters of n networks are one (n, P) tensor: one optimizer step, one target update and one clipping for all of
them, and one batched product per layer. With n = 1 the products are ordinary ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor


class StackedNetwork:
    """n multilayer perceptrons with ReLU between the layers and a linear output.

    Args:
        num: n.
        sizes: inputs, hidden units, outputs.
        generator: draws the initial weights, uniform on +-1/sqrt(inputs) per layer as ``torch.nn.Linear``.
    """

    def __init__(self, num: int, sizes: Sequence[int], generator: torch.Generator) -> None:
        self.num = num
        self.sizes = tuple(sizes)
        self._parts = [n for a, b in zip(self.sizes, self.sizes[1:], strict=False) for n in (a * b, b)]
        self.theta = torch.empty(num, sum(self._parts))
        for n in range(num):
            blocks: list[Tensor] = []
            for a, b in zip(self.sizes, self.sizes[1:], strict=False):
                bound = 1 / math.sqrt(a)
                blocks += [(2 * torch.rand(a * b + b, generator=generator) - 1) * bound]
            self.theta[n] = torch.cat(blocks)

    @property
    def num_parameters(self) -> int:
        """P, of one network."""
        return self.theta.shape[1]

    def apply(self, x: Tensor, theta: Tensor) -> Tensor:
        """(n, B, out) from (n, B, in) with the given parameters (n, P); any n."""
        num = theta.shape[0]
        pieces = cast("Sequence[Tensor]", theta.split(self._parts, dim=1))
        last = len(self.sizes) - 2
        for layer, (a, b) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            weight, bias = pieces[2 * layer].reshape(num, a, b), pieces[2 * layer + 1].reshape(num, 1, b)
            x = torch.addmm(bias[0], x[0], weight[0])[None] if num == 1 else torch.baddbmm(bias, x, weight)
            if layer < last:
                x = torch.relu(x)
        return x


class Learner:
    """Parameters, their slowly following targets, and Adam.

    Args:
        network: whose parameters.
        rate: learning rate.
        tau: target rate.
        clip: largest gradient norm of one network.
    """

    def __init__(self, network: StackedNetwork, *, rate: float, tau: float, clip: float) -> None:
        self.network = network
        self.theta = network.theta.requires_grad_(True)
        self.target = network.theta.detach().clone()
        self.tau, self.clip = tau, clip
        self.adam = torch.optim.Adam([self.theta], lr=rate, fused=True)
        self.adam.zero_grad(set_to_none=True)

    def descend(self, gradient: Tensor) -> None:
        """One step of Adam against a gradient (n, P), each row clipped to the norm ``clip``."""
        norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
        self.theta.grad = gradient * torch.clamp(self.clip / (norm + 1e-6), max=1.0)
        self.adam.step()
        self.theta.grad = None

    def follow(self) -> None:
        """Target <- target + tau (parameters - target)."""
        self.target.lerp_(self.theta.detach(), self.tau)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that a checkpoint needs."""
        state = self.adam.state[self.theta]
        moments = {name: torch.as_tensor(state[name]) for name in ("step", "exp_avg", "exp_avg_sq")} if state else {}
        return {"theta": self.theta.detach(), "target": self.target, **moments}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Back to what :meth:`tensors` gave."""
        with torch.no_grad():
            self.theta.copy_(tensors["theta"])
            self.target.copy_(tensors["target"])
        if "step" in tensors:
            self.adam.state[self.theta] = {name: tensors[name].clone() for name in ("step", "exp_avg", "exp_avg_sq")}
