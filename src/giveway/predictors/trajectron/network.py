"""The network: encoders of past and surroundings, a categorical latent, a recurrent decoder of controls."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.decoding import outputs_of_means
from giveway.predictors.trajectron.dynamics import integrate
from giveway.predictors.trajectron.features import VULNERABLE_STATES, Features

NODE_STATES = 8
PLACE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Features of N samples as tensors; see :class:`giveway.predictors.trajectron.features.Features`."""

    node: Tensor
    length: Tensor
    vehicles: Tensor
    vulnerable: Tensor
    num_vehicles: Tensor
    num_vulnerable: Tensor
    present: Tensor
    place: Tensor

    @staticmethod
    def of(features: Features, device: torch.device) -> Batch:
        """Move features to a device in single precision."""

        def tensor(name: str) -> Tensor:
            return torch.as_tensor(getattr(features, name), dtype=torch.float32, device=device)

        return Batch(
            node=tensor("node"),
            length=torch.as_tensor(features.length, device="cpu"),
            vehicles=tensor("vehicles"),
            vulnerable=tensor("vulnerable"),
            num_vehicles=tensor("num_vehicles"),
            num_vulnerable=tensor("num_vulnerable"),
            present=tensor("present"),
            place=tensor("place"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """Gaussian controls per sample, mode and step.

    Attributes:
        mean: (N, K, T, 2) heading rate [rad/s] and acceleration [m/s^2].
        sigma: (N, K, T, 2) standard deviations.
        correlation: (N, K, T).
        heading: (N,) corrected heading at t_0 [rad].
    """

    mean: Tensor
    sigma: Tensor
    correlation: Tensor
    heading: Tensor


class TrajectronNetwork(nn.Module):
    """All learned parts; see the design note 6.2 for the sizes.

    Args:
        config: sizes and switches.
    """

    def __init__(self, config: TrajectronConfig) -> None:
        super().__init__()
        self.config = config
        size, modes, hidden = config.history_size, config.num_modes, config.decoder_size
        x_size = 2 * size + (PLACE if config.standardize else 0)
        self.history = nn.LSTM(NODE_STATES, size, batch_first=True)
        self.edge_vehicles = nn.LSTM(2 * NODE_STATES, size, batch_first=True)
        self.edge_vulnerable = nn.LSTM(NODE_STATES + VULNERABLE_STATES, size, batch_first=True)
        self.influence_key = nn.Linear(size, size, bias=False)
        self.influence_query = nn.Linear(size, size, bias=False)
        self.influence_score = nn.Linear(size, 1, bias=False)
        self.future = nn.LSTM(2, config.future_size, batch_first=True, bidirectional=True)
        self.future_h = nn.Linear(NODE_STATES, config.future_size)
        self.future_c = nn.Linear(NODE_STATES, config.future_size)
        self.prior_hidden = nn.Linear(x_size, config.prior_size)
        self.prior = nn.Linear(config.prior_size, modes)
        self.posterior = nn.Linear(x_size + 4 * config.future_size, modes)
        self.decoder = nn.GRUCell(modes + x_size + 2, hidden)
        self.decoder_start = nn.Linear(modes + x_size, hidden)
        self.first_control = nn.Linear(NODE_STATES, 2)
        self.head = nn.Linear(hidden, 5)
        self.heading = nn.Linear(x_size + 1, 1)
        with torch.no_grad():
            self.decoder.weight_ih[:, :modes] *= config.mode_spread
            self.decoder_start.weight[:, :modes] *= config.mode_spread

    def encode(self, batch: Batch) -> Tensor:
        """(N, X) encoding x of past and surroundings."""
        rate = self.config.dropout
        past = dropout(self._last_output(self.history, batch.node, batch.length), rate, self.training)
        edges: list[Tensor] = []
        for lstm, states, count in (
            (self.edge_vehicles, batch.vehicles, batch.num_vehicles),
            (self.edge_vulnerable, batch.vulnerable, batch.num_vulnerable),
        ):
            output, _ = lstm(torch.cat([states, batch.node], dim=-1))
            edges.append(dropout(output[:, -1], rate, self.training) * count.clamp(max=1.0)[:, None])
        stacked = torch.stack(edges, dim=1)
        query = self.influence_query(past)[:, None, :]
        score = self.influence_score(torch.tanh(self.influence_key(stacked) + query))
        influence = (torch.softmax(score, dim=1) * stacked).sum(dim=1)
        parts = [dropout(influence, rate, self.training), past]
        return torch.cat([*parts, batch.place] if self.config.standardize else parts, dim=-1)

    @staticmethod
    def _last_output(lstm: nn.LSTM, states: Tensor, length: Tensor) -> Tensor:
        """Output at t_0, started at the first observed step of each sample."""
        steps = states.shape[1]
        if bool((length == steps).all()):
            output, _ = lstm(states)
            return output[:, -1]
        shift = (torch.arange(steps)[None, :] + (steps - length)[:, None]).clamp(max=steps - 1)
        left = torch.gather(states, 1, shift.to(states.device)[..., None].expand_as(states))
        packed = nn.utils.rnn.pack_padded_sequence(left, length, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = lstm(packed)
        return hidden[-1]

    def prior_logits(self, x: Tensor) -> Tensor:
        """(N, K) centered logits of p(z | x)."""
        hidden = dropout(torch.relu(self.prior_hidden(x)), self.config.prior_dropout, self.training)
        logits = self.prior(hidden)
        return logits - logits.mean(dim=-1, keepdim=True)

    def posterior_logits(self, x: Tensor, batch: Batch, future: Tensor) -> Tensor:
        """(N, K) centered logits of q(z | x, y); ``future`` is (N, T, 2) in the network's frame and scale."""
        present = batch.node[:, -1]
        zero = torch.zeros_like(self.future_h(present))
        start = (
            torch.stack([self.future_h(present), zero]),
            torch.stack([self.future_c(present), zero]),
        )
        _, (h, c) = self.future(future, start)
        y = torch.cat([h[0], c[0], h[1], c[1]], dim=-1)
        logits = self.posterior(torch.cat([x, dropout(y, self.config.dropout, self.training)], dim=-1))
        return logits - logits.mean(dim=-1, keepdim=True)

    def decode(self, batch: Batch, x: Tensor, num_steps: int, *, sample: bool) -> Controls:
        """Controls of all K modes at once.

        The parts of the gates that come from z and x do not change over time, so they are computed once, and a
        one-hot z picks a column of the weights instead of being multiplied.

        Args:
            batch: features.
            x: (N, X) encoding.
            num_steps: T.
            sample: feed a drawn control back (training) instead of the mean (prediction, without gradients).
        """
        num, modes = x.shape[0], self.config.num_modes
        if sample:
            outputs = self._outputs_of_draws(batch, x, num_steps)
        else:
            rows = torch.arange(num * modes, device=x.device)
            outputs = self.mean_outputs(batch, x, rows // modes, rows % modes, num_steps)
        mean, log_sigma, correlation = outputs.reshape(num, modes, num_steps, 5).split([2, 2, 1], dim=-1)
        return Controls(
            mean=mean,
            sigma=log_sigma.clamp(max=self.config.log_sigma_max).exp(),
            correlation=torch.tanh(correlation).squeeze(-1),
            heading=self.corrected_heading(batch, x),
        )

    def mean_outputs(self, batch: Batch, x: Tensor, sample: Tensor, mode: Tensor, num_steps: int) -> Tensor:
        """Output of the decoder for some samples and modes, the mean control fed back; no gradients.

        Args:
            batch: features of N samples.
            x: (N, X) encoding.
            sample: (R,) index of the sample.
            mode: (R,) latent value.
            num_steps: T.

        Returns:
            (R, T, 5) mean of the two controls, log of their standard deviations, correlation before its tanh.
        """
        modes = self.config.num_modes
        with torch.no_grad():
            _, w_z, w_x, w_u = self._split(self.decoder.weight_ih, modes)
            start = self.decoder_start
            gates = linear(x, w_x, self.decoder.bias_ih)[sample] + w_z.t()[mode]
            h = linear(x, start.weight[:, modes:], start.bias)[sample] + start.weight[:, :modes].t()[mode]
            control = self.first_control(batch.node[:, -1])[sample]
            h = self._gru(gates + linear(control, w_u), h)
            return outputs_of_means(self.decoder, self.head, gates, h, num_steps)

    def corrected_heading(self, batch: Batch, x: Tensor) -> Tensor:
        """(N,) heading at t_0 from which paths start [rad]."""
        heading = batch.present[:, 0]
        return heading + torch.tanh(self.heading(torch.cat([x, heading[:, None]], dim=-1))[:, 0])

    def _outputs_of_draws(self, batch: Batch, x: Tensor, num_steps: int) -> Tensor:
        """(N K, T, 5) output of the decoder for all modes, a drawn control fed back."""
        modes = self.config.num_modes
        num = x.shape[0]
        w_in, w_z, w_x, w_u = self._split(self.decoder.weight_ih, modes)
        constant = linear(x, w_x, self.decoder.bias_ih)[:, None, :] + w_z.t()[None]
        start = self.decoder_start
        h = linear(x, start.weight[:, modes:], start.bias)[:, None, :] + start.weight[:, :modes].t()[None]
        h = h.reshape(num * modes, h.shape[-1])
        constant = constant.reshape(num * modes, w_in)
        control = self.first_control(batch.node[:, -1])[:, None, :].expand(num, modes, 2).reshape(num * modes, 2)
        noise = torch.randn(num_steps, num * modes, 2, device=x.device)
        outputs: list[Tensor] = []
        for step in range(num_steps):
            h = self._gru(constant + linear(control, w_u), h)
            output = self.head(h)
            outputs.append(output)
            mean, log_sigma, correlation = output.split([2, 2, 1], dim=1)
            control = self._draw(mean, log_sigma, correlation, noise[step])
        return torch.stack(outputs, dim=1)

    def mean_paths(self, batch: Batch, num_steps: int, dt_s: float) -> tuple[Tensor, Tensor]:
        """(N, K) prior probabilities and (N, K, T, 2) paths of the mean controls in the network's frame [m]."""
        x = self.encode(batch)
        controls = self.decode(batch, x, num_steps, sample=False)
        modes = self.config.num_modes
        paths = integrate(
            controls.mean[..., 0],
            controls.mean[..., 1],
            controls.heading[:, None].expand(-1, modes),
            batch.present[:, 1, None].expand(-1, modes),
            batch.present[:, None, 2:4].expand(-1, modes, -1),
            dt_s,
        )
        return torch.softmax(self.prior_logits(x), dim=-1), paths

    @staticmethod
    def _split(weight: Tensor, modes: int) -> tuple[int, Tensor, Tensor, Tensor]:
        """Rows of the input weights and its columns for z, x and the previous control."""
        return weight.shape[0], weight[:, :modes], weight[:, modes:-2], weight[:, -2:]

    def _gru(self, gates: Tensor, h: Tensor) -> Tensor:
        """One step of the GRU cell with the input part of the gates given."""
        recurrent = linear(h, self.decoder.weight_hh, self.decoder.bias_hh)
        gate_r, gate_z, gate_n = gates.chunk(3, dim=1)
        recurrent_r, recurrent_z, recurrent_n = recurrent.chunk(3, dim=1)
        reset, update = torch.sigmoid(gate_r + recurrent_r), torch.sigmoid(gate_z + recurrent_z)
        return torch.lerp(torch.tanh(gate_n + reset * recurrent_n), h, update)

    def _draw(self, mean: Tensor, log_sigma: Tensor, correlation: Tensor, noise: Tensor) -> Tensor:
        """A control from the bivariate Gaussian of one step."""
        sigma = log_sigma.clamp(max=self.config.log_sigma_max).exp()
        rho = torch.tanh(correlation)
        # sqrt has no finite slope at 0, hence the small floor.
        rest = (1 - rho.square()).clamp(min=1e-6).sqrt()
        first, second = noise.split(1, dim=1)
        return mean + sigma * torch.cat([first, rho * first + rest * second], dim=1)
