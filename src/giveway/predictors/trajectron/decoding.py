"""The recurrent decoder when the mean control is fed back, as in prediction: many rows, few operations.

The mean control is a linear function of the hidden state, ``u = M h + m``. What reset and update gate get from it is
then part of one matrix product, which also yields the outputs of the step:

    [reset | update | new | output] = h [U_r + W_r M | U_z + W_z M | U_n | O]

Rows (one sample with one latent value each) are processed in blocks whose gates stay in the cache of a core, in buffers
that are used again. With ``tanh(a) = 2 sigmoid(2 a) - 1``, several times faster than tanh itself, and the state
``g = (h + 1) / 2`` the recursion needs no rescaling: ``g' = s + z (g - s)``, s = sigmoid of the doubled new gate.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROWS = 512
"""Rows decoded together: 0.8 MB of gates at the published size. Changes nothing but speed."""

WIDTH = 8
"""The product gets columns of zeros up to a multiple of this; rows that begin unaligned cost a tenth of the time."""

CONTROLS = 2


def outputs_of_means(decoder: nn.GRUCell, head: nn.Linear, gates: Tensor, hidden: Tensor, num_steps: int) -> Tensor:
    """Outputs of all steps from the hidden state of the first one, the mean control of each step fed to the next.

    Without gradients.

    Args:
        decoder: GRU cell whose last two inputs are the control of the step before.
        head: outputs from the hidden state; the first two are the mean control.
        gates: (R, 3 H) what the gates get from all other inputs, the input bias included; reset, update, new.
        hidden: (R, H) after the first step.
        num_steps: T.

    Returns:
        (R, T, O) outputs of the head.
    """
    size, num = hidden.shape[1], head.out_features
    out = torch.empty(hidden.shape[0], num_steps, num, dtype=hidden.dtype, device=hidden.device)
    with torch.no_grad():
        by_control = decoder.weight_ih[:, -CONTROLS:]
        switch_by_control, new_by_control = by_control[: 2 * size], 2 * by_control[2 * size :].t()
        spare = hidden.new_zeros(-(3 * size + num) % WIDTH, size)
        weight = torch.cat([decoder.weight_hh, head.weight, spare])
        weight[: 2 * size] += switch_by_control @ head.weight[:CONTROLS]
        bias = torch.cat([decoder.bias_hh, head.bias, spare[:, 0]])
        bias[: 2 * size] += switch_by_control @ head.bias[:CONTROLS]
        for part in (weight, bias):
            part[2 * size : 3 * size] *= 2
        bias -= weight.sum(dim=1)
        weight = 2 * weight.t()
        for begin in range(0, hidden.shape[0], ROWS):
            rows = slice(begin, begin + ROWS)
            constant = bias.repeat(out[rows].shape[0], 1)
            constant[:, : 2 * size] += gates[rows, : 2 * size]
            new_gate = 2 * gates[rows, 2 * size :]
            _decode_block(weight, constant, new_gate, new_by_control, (hidden[rows] + 1) / 2, out[rows])
    return out


def _decode_block(
    weight: Tensor, constant: Tensor, new_gate: Tensor, new_by_control: Tensor, g: Tensor, out: Tensor
) -> None:
    """Fill ``out`` for one block of rows; ``g`` is overwritten."""
    size = g.shape[1]
    product, new = torch.empty_like(constant), torch.empty_like(g)
    switch, recurrent = product[:, : 2 * size], product[:, 2 * size : 3 * size]
    output = product[:, 3 * size : 3 * size + out.shape[2]]
    reset, update = switch.chunk(2, dim=1)
    for step in range(out.shape[1]):
        torch.addmm(constant, g, weight, out=product)
        out[:, step] = output
        if step + 1 == out.shape[1]:
            return
        switch.sigmoid_()
        torch.addmm(new_gate, output[:, :CONTROLS], new_by_control, out=new)
        new.addcmul_(recurrent, reset).sigmoid_()
        torch.lerp(new, g, update, out=g)
