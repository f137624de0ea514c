from __future__ import annotations

import numpy as np
import pytest
import torch

from giveway.predictors.trajectron import decoding
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.decoding import outputs_of_means
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork
from giveway.predictors.trajectron.sampling import sample_paths
from giveway.predictors.trajectron.training import training_set


@pytest.fixture
def cell():
    """A decoder of four hidden units with five other inputs, its head, and 11 rows to decode; double precision."""
    torch.manual_seed(1)
    decoder, head = torch.nn.GRUCell(5 + 2, 4).double(), torch.nn.Linear(4, 5).double()
    fixed, hidden = torch.randn(11, 5).double(), torch.randn(11, 4).double()
    return decoder, head, fixed, hidden


def test_folded_decoding_equals_the_library_cell_step_by_step(cell, monkeypatch):
    decoder, head, fixed, hidden = cell
    monkeypatch.setattr(decoding, "ROWS", 4)
    with torch.no_grad():
        gates = fixed @ decoder.weight_ih[:, :-2].t() + decoder.bias_ih
        fast = outputs_of_means(decoder, head, gates, hidden, 6)
        h = hidden
        for step in range(6):
            output = head(h)
            np.testing.assert_allclose(fast[:, step], output, rtol=0, atol=1e-12)
            h = decoder(torch.cat([fixed, output[:, :2]], dim=1), h)


def test_some_modes_decoded_alone_equal_those_among_all(straight):
    config = TrajectronConfig(num_modes=5, decoder_size=16)
    torch.manual_seed(0)
    network = TrajectronNetwork(config).double().eval()
    batch = Batch.of(training_set(straight(3), config).features, torch.device("cpu"))
    batch = Batch(
        **{f: getattr(batch, f).double() for f in Batch.__dataclass_fields__ if f != "length"}, length=batch.length
    )
    x = network.encode(batch)
    every = network.decode(batch, x, 7, sample=False)
    some = network.mean_outputs(batch, x, torch.tensor([2, 0]), torch.tensor([1, 4]), 7)
    np.testing.assert_allclose(some[0, :, :2], every.mean[2, 1].detach(), atol=1e-12)
    np.testing.assert_allclose(some[1, :, 2:4].exp(), every.sigma[0, 4].detach(), atol=1e-12)


@pytest.mark.parametrize("mode_per_path", [True, False])
def test_only_drawn_modes_are_decoded(straight, monkeypatch, mode_per_path):
    torch.manual_seed(0)
    network = TrajectronNetwork(TrajectronConfig(num_modes=5, decoder_size=16, mode_per_path=mode_per_path)).eval()
    with torch.no_grad():
        network.prior.bias.copy_(torch.tensor([-50.0, 0.0, -50.0, 0.0, -50.0]))
    asked: list[set[int]] = []
    real = TrajectronNetwork.mean_outputs

    def watched(self, batch, x, sample, mode, num_steps):
        asked.append(set(mode.tolist()))
        return real(self, batch, x, sample, mode, num_steps)

    monkeypatch.setattr(TrajectronNetwork, "mean_outputs", watched)
    paths = sample_paths(network, straight(4).inputs, 0)
    assert asked == [{1, 3}]
    assert not np.isnan(paths).any()
