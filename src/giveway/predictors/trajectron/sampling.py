"""Draw paths from a trained network; what one sample gets does not depend on the others."""

from __future__ import annotations

import numpy as np
import torch

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.predictions import NUM_PATHS
from giveway.core.samples import GapInputs
from giveway.core.seeds import seed_for
from giveway.predictors.torch_setup import one_torch_thread
from giveway.predictors.trajectron.dynamics import integrate
from giveway.predictors.trajectron.features import build_features, from_network
from giveway.predictors.trajectron.network import Batch, TrajectronNetwork

CHUNK = 256
"""Samples decoded together; bounds memory, changes nothing else."""


@one_torch_thread()
def sample_paths(
    network: TrajectronNetwork, inputs: GapInputs, root: int, *, num_paths: int = NUM_PATHS, device: str = "cpu"
) -> FloatArray:
    """Sampled trajectories of T.

    Latent values are drawn from p(z | x), once per path or (``mode_per_path=False``) anew for every step; then a
    control from the Gaussian of that mode and step; then the unicycle is integrated. The mean control is fed back to
    the decoder.

    Args:
        network: in evaluation mode.
        inputs: N samples.
        root: seed; together with the sample id it decides the draws of a sample.
        num_paths: P.
        device: where the network lives.

    Returns:
        (N, P, S, 2) positions in the frame of the samples [m], S = largest n_pred; NaN beyond n_pred.
    """
    horizon = inputs.num_predict
    out = np.full((inputs.num_samples, num_paths, int(horizon.max(initial=0)), 2), np.nan)
    # Neighbors in horizon are decoded together, so that little is computed beyond what is asked for.
    order = np.argsort(horizon, kind="stable")
    for start in range(0, order.size, CHUNK):
        index = order[start : start + CHUNK]
        steps = int(horizon[index].max())
        if steps == 0:
            continue
        paths = _sample_chunk(network, inputs.take(index), root, num_paths, steps, torch.device(device))
        beyond = np.arange(steps) >= horizon[index][:, None]
        paths[np.broadcast_to(beyond[:, None, :, None], paths.shape)] = np.nan
        out[index, :, :steps] = paths
    return out


def _sample_chunk(
    network: TrajectronNetwork, inputs: GapInputs, root: int, num_paths: int, steps: int, device: torch.device
) -> FloatArray:
    features = build_features(inputs, network.config)
    batch = Batch.of(features, device)
    with torch.inference_mode():
        x = network.encode(batch)
        prior = torch.softmax(network.prior_logits(x), dim=-1).double().cpu().numpy()
        mode, noise = _draws(inputs, prior, root, num_paths, steps, per_step=not network.config.mode_per_path)
        noise = torch.as_tensor(noise, dtype=torch.float32, device=device)
        turn, accel = _controls(network, batch, x, mode, noise)
        paths = integrate(
            turn,
            accel,
            network.corrected_heading(batch, x)[:, None].expand(-1, num_paths),
            batch.present[:, 1, None].expand(-1, num_paths),
            batch.present[:, None, 2:4].expand(-1, num_paths, -1),
            inputs.dt_s,
        )
    return from_network(paths.double().cpu().numpy(), features)


def _draws(
    inputs: GapInputs, prior: FloatArray, root: int, num_paths: int, steps: int, *, per_step: bool
) -> tuple[IntArray, FloatArray]:
    """Latent values (N, P, S or 1) and standard normal noise (N, P, S, 2); each sample from its own stream."""
    num = inputs.num_samples
    mode = np.zeros((num, num_paths, steps if per_step else 1), dtype=np.int64)
    noise = np.zeros((num, num_paths, steps, 2))
    edges = prior.cumsum(axis=1)
    for i in range(num):
        rng = np.random.default_rng(seed_for(root, inputs.sample_id[i]))
        own = int(inputs.num_predict[i])
        uniform = rng.random((num_paths, own if per_step else 1)) * edges[i, -1]
        mode[i, :, : uniform.shape[1]] = np.searchsorted(edges[i], uniform, side="right").clip(max=prior.shape[1] - 1)
        noise[i, :, :own] = rng.standard_normal((num_paths, own, 2))
    return mode, noise


def _controls(
    network: TrajectronNetwork, batch: Batch, x: torch.Tensor, mode: IntArray, noise: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(N, P, S) heading rates and accelerations for drawn latent values and noise.

    Only what was drawn is decoded: a trained network gives most modes of a sample no probability.
    """
    modes = network.config.num_modes
    pairs, row = np.unique(mode + modes * np.arange(mode.shape[0])[:, None, None], return_inverse=True)
    used, which = torch.as_tensor(pairs, device=x.device), torch.as_tensor(row.reshape(mode.shape), device=x.device)
    steps = noise.shape[2]
    outputs = network.mean_outputs(batch, x, used // modes, used % modes, steps)
    mean, log_sigma, correlation = outputs.split([2, 2, 1], dim=-1)
    sigma, rho = log_sigma.clamp(max=network.config.log_sigma_max).exp(), torch.tanh(correlation)
    rest = (1 - rho.square()).clamp(min=0.0).sqrt()
    # Both controls are the mean plus a linear map of the noise: turn = m0 + a n0, accel = m1 + b n0 + c n1.
    maps = torch.cat([mean, sigma[..., :1], sigma[..., 1:] * rho, sigma[..., 1:] * rest], dim=-1)
    drawn = maps[which[..., 0]] if mode.shape[2] == 1 else maps[which, torch.arange(steps, device=x.device)]
    turn = drawn[..., 0] + drawn[..., 2] * noise[..., 0]
    accel = drawn[..., 1] + drawn[..., 3] * noise[..., 0] + drawn[..., 4] * noise[..., 1]
    return turn, accel
