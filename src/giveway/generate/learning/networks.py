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
from torch.optim.adam import adam

Layers = list[tuple[Tensor, Tensor]]

NARROW = 4
"""Batched products with so few columns are faster the other way round, two to six times."""


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

    def layers(self, theta: Tensor) -> Layers:
        """Views of parameters (n, P): (n, a, b) weights and (n, 1, b) biases of every layer."""
        num, pieces = theta.shape[0], cast("Sequence[Tensor]", theta.split(self._parts, dim=1))
        return [
            (pieces[2 * layer].view(num, a, b), pieces[2 * layer + 1].view(num, 1, b))
            for layer, (a, b) in enumerate(zip(self.sizes, self.sizes[1:], strict=False))
        ]

    def apply(self, x: Tensor, theta: Tensor) -> Tensor:
        """(n, B, out) from (n, B, in) with the given parameters (n, P); any n."""
        return self.forward(x, self.layers(theta))[-1]

    @staticmethod
    def forward(x: Tensor, layers: Layers) -> list[Tensor]:
        """The input (n, B, in), what every hidden layer makes of it, and the output (n, B, out)."""
        values = [x]
        for weight, bias in layers:
            if weight.shape[0] == 1:
                x = torch.addmm(bias[0], x[0], weight[0])[None]
            elif weight.shape[2] <= NARROW:
                x = torch.bmm(weight.transpose(1, 2).contiguous(), x.transpose(1, 2)).transpose(1, 2) + bias
            else:
                x = torch.baddbmm(bias, x, weight)
            values.append(x.relu_() if len(values) < len(layers) else x)
        return values

    @staticmethod
    def backward(values: list[Tensor], layers: Layers, gradient: Tensor, into: Layers) -> None:
        """Gradient with respect to the parameters.

        Written out, which makes a training 20 to 30 % faster than with autograd.

        Args:
            values: what :meth:`forward` gave.
            layers: the parameters it was given.
            gradient: with respect to the output, (n, B, out).
            into: where to add to, views like ``layers``.
        """
        for at in range(len(layers) - 1, -1, -1):
            weight, bias = into[at]
            if weight.shape[0] == 1 and weight.shape[2] <= NARROW:  # seven times as fast the other way round
                weight[0] += torch.mm(gradient[0].T, values[at][0]).T
            elif weight.shape[0] == 1:
                weight[0] += torch.mm(values[at][0].T, gradient[0])
            elif weight.shape[2] <= NARROW:
                weight += torch.bmm(gradient.transpose(1, 2), values[at]).transpose(1, 2)
            else:
                torch.baddbmm(weight, values[at].transpose(1, 2), gradient, out=weight)
            bias += gradient.sum(dim=1, keepdim=True)
            if at:
                gradient = _through(gradient, layers[at][0], values[at])

    @staticmethod
    def sensitivity(values: list[Tensor], layers: Layers, gradient: Tensor, first: int) -> Tensor:
        """(n, B, in - first) gradient with respect to the inputs from number ``first`` on; arguments as above."""
        for at in range(len(layers) - 1, 0, -1):
            gradient = _through(gradient, layers[at][0], values[at])
        return _product(gradient, layers[0][0][:, first:].transpose(1, 2))


def _through(gradient: Tensor, weight: Tensor, value: Tensor) -> Tensor:
    """Gradient before the ReLU whose output is ``value``, from the one after the next product."""
    back = weight.transpose(1, 2)
    before = gradient * back if gradient.shape[2] == 1 else _product(gradient, back)
    return torch.ops.aten.threshold_backward.grad_input(before, value, 0, grad_input=before)


def _product(x: Tensor, y: Tensor) -> Tensor:
    return torch.mm(x[0], y[0])[None] if y.shape[0] == 1 else torch.bmm(x, y)


class Learner:
    """Parameters, their slowly following targets, and Adam.

    Args:
        network: whose parameters.
        rate: learning rate.
        tau: target rate.
        clip: largest gradient norm of one network.

    Attributes:
        theta: (n, P) parameters, changed in place only.
        target: (n, P) those of the target networks.
        gradient: (n, P) where gradients are added up.
        layers: views of ``theta``.
        target_layers: views of ``target``.
        gradient_layers: views of ``gradient``.
    """

    def __init__(self, network: StackedNetwork, *, rate: float, tau: float, clip: float) -> None:
        self.network = network
        self.theta = network.theta.requires_grad_(True)
        self.target = network.theta.detach().clone()
        self.gradient = torch.zeros_like(self.target)
        self.layers, self.target_layers = network.layers(self.theta.detach()), network.layers(self.target)
        self.gradient_layers = network.layers(self.gradient)
        self.rate, self.tau, self.clip = rate, tau, clip
        self._moments = torch.zeros_like(self.target), torch.zeros_like(self.target)
        self._step = torch.zeros(())

    def gradient_norm(self) -> float:
        """Largest norm of a network's gradient."""
        return float(torch.linalg.vector_norm(self.gradient, dim=1).max())

    def clip_gradient(self) -> None:
        """Each row of the gradient to the norm ``clip`` at most."""
        norm = torch.linalg.vector_norm(self.gradient, dim=1, keepdim=True)
        self.gradient *= torch.clamp(self.clip / (norm + 1e-6), max=1.0)

    def descend(self) -> None:
        """One step of Adam against the gradient, which is clipped and then forgotten."""
        self.clip_gradient()
        mean, square = self._moments
        adam(
            [self.theta.detach()],
            [self.gradient],
            [mean],
            [square],
            [],
            [self._step],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )
        self.gradient.zero_()

    def follow(self) -> None:
        """Target <- target + tau (parameters - target)."""
        self.target.lerp_(self.theta.detach(), self.tau)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that a checkpoint needs."""
        mean, square = self._moments
        return {
            "theta": self.theta.detach(),
            "target": self.target,
            "step": self._step,
            "exp_avg": mean,
            "exp_avg_sq": square,
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Back to what :meth:`tensors` gave."""
        with torch.no_grad():
            for name, tensor in self.tensors().items():
                if name in tensors:
                    tensor.copy_(tensors[name])
