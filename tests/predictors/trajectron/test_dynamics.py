import numpy as np
import pytest
import torch

from giveway.predictors.trajectron.dynamics import integrate, log_density, propagate
from references.trajectron import arc_step, jacobians, motion

DT = 0.2


def random_controls(seed: int, num: int = 6, steps: int = 15, spread: float = 0.4):
    generator = torch.Generator().manual_seed(seed)
    turn = spread * torch.randn(num, steps, generator=generator, dtype=torch.float64)
    accel = torch.randn(num, steps, generator=generator, dtype=torch.float64)
    start = torch.randn(num, 4, generator=generator, dtype=torch.float64) * torch.tensor([5.0, 5.0, 1.0, 1.0])
    start[:, 3] = start[:, 3].abs() + 3
    return turn, accel, start


@pytest.mark.parametrize("spread", [0.4, 0.01, 0.0])
def test_paths_equal_the_step_by_step_unicycle(spread):
    turn, accel, start = random_controls(0, spread=spread)
    path = integrate(turn, accel, start[:, 2], start[:, 3], start[:, :2], DT)
    state = start
    for t in range(turn.shape[1]):
        state = motion(state, torch.stack([turn[:, t], accel[:, t]], dim=-1), DT)
        np.testing.assert_allclose(path[:, t], state[:, :2], atol=1e-9)


def test_reference_step_equals_quadrature_and_its_finite_differences():
    turn, accel, start = random_controls(7)
    control = torch.stack([turn[:, 0], accel[:, 0]], dim=-1)
    state, by_state, by_control = arc_step(start, control, DT)
    np.testing.assert_allclose(state, motion(start, control, DT), atol=1e-7)
    f, g = jacobians(start, control, DT)
    np.testing.assert_allclose(by_state, f, atol=1e-6)
    np.testing.assert_allclose(by_control, g, atol=1e-6)


def test_covariance_equals_the_extended_kalman_recursion():
    turn, accel, start = random_controls(1)
    generator = torch.Generator().manual_seed(5)
    sigma = 0.05 + torch.rand(2, *turn.shape, generator=generator, dtype=torch.float64)
    rho = 1.6 * torch.rand(turn.shape, generator=generator, dtype=torch.float64) - 0.8
    path = propagate(turn, accel, sigma[0], sigma[1], rho, start[:, 2], start[:, 3], start[:, :2], DT)
    state, covariance = start, torch.zeros(turn.shape[0], 4, 4, dtype=torch.float64)
    for t in range(turn.shape[1]):
        control = torch.stack([turn[:, t], accel[:, t]], dim=-1)
        f, g = jacobians(state, control, DT)
        s, c = sigma[:, :, t], rho[:, t] * sigma[0, :, t] * sigma[1, :, t]
        q = torch.stack([torch.stack([s[0] ** 2, c], -1), torch.stack([c, s[1] ** 2], -1)], dim=-2)
        covariance = f @ covariance @ f.transpose(-1, -2) + g @ q @ g.transpose(-1, -2)
        state = motion(state, control, DT)
        np.testing.assert_allclose(path.var_x[:, t], covariance[:, 0, 0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(path.var_y[:, t], covariance[:, 1, 1], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(path.cov_xy[:, t], covariance[:, 0, 1], rtol=1e-6, atol=1e-8)


def test_small_noise_covariance_equals_that_of_drawn_paths():
    turn, accel, start = random_controls(2, num=1, steps=10)
    sigma_w, sigma_a, rho = 0.01, 0.05, 0.5
    ones = torch.ones_like(turn)
    path = propagate(
        turn, accel, sigma_w * ones, sigma_a * ones, rho * ones, start[:, 2], start[:, 3], start[:, :2], DT
    )
    generator = torch.Generator().manual_seed(3)
    noise = torch.randn(2, 20_000, 10, generator=generator, dtype=torch.float64)
    drawn = integrate(
        turn + sigma_w * noise[0],
        accel + sigma_a * (rho * noise[0] + (1 - rho**2) ** 0.5 * noise[1]),
        start[:, 2].expand(20_000),
        start[:, 3].expand(20_000),
        start[:, :2].expand(20_000, 2),
        DT,
    )
    covariance = np.cov(drawn[:, -1].numpy().T)
    model = [[path.var_x[0, -1], path.cov_xy[0, -1]], [path.cov_xy[0, -1], path.var_y[0, -1]]]
    np.testing.assert_allclose(covariance, model, rtol=0.05, atol=2e-5)


def test_gradient_of_the_covariance_matches_finite_differences():
    turn, accel, start = random_controls(4, num=2, steps=6)

    def final_variance(w, sigma):
        ones = torch.ones_like(w)
        path = propagate(w, accel, sigma * ones, 0.3 * ones, 0.2 * ones, start[:, 2], start[:, 3], start[:, :2], DT)
        return path.var_x[:, -1].sum() + path.cov_xy[:, -1].sum()

    sigma = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(final_variance, (turn.requires_grad_(), sigma))


def test_density_equals_the_library_normal():
    turn, accel, start = random_controls(6)
    ones = torch.ones_like(turn)
    path = propagate(turn, accel, 0.3 * ones, 0.5 * ones, 0.4 * ones, start[:, 2], start[:, 3], start[:, :2], DT)
    truth = path.mean + 0.7
    spread = torch.stack(
        [torch.stack([path.var_x + 1e-6, path.cov_xy], -1), torch.stack([path.cov_xy, path.var_y + 1e-6], -1)], dim=-2
    )
    expected = torch.distributions.MultivariateNormal(path.mean, spread).log_prob(truth)
    np.testing.assert_allclose(log_density(path, truth), expected, rtol=1e-4)
