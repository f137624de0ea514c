import numpy as np
import pytest

from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.noise import OU_RETURN, Noise, noise_scale

DEFAULT = LearningConfig()


@pytest.mark.parametrize(
    ("step", "scale"), [(0, 0.75), (100_000, 0.454897), (500_000, 0.061563), (863_496, 0.01), (10_000_000, 0.01)]
)
def test_the_schedule_has_the_published_values(step, scale):
    assert noise_scale(step, DEFAULT) == pytest.approx(scale, abs=5e-7)


def test_the_floor_is_reached_after_863495_steps():
    assert noise_scale(863_495, DEFAULT) > 0.01
    assert noise_scale(863_496, DEFAULT) == 0.01


def test_uniform_noise_stays_within_its_scale_and_fills_it():
    drawn = Noise(DEFAULT, (50, 3, 2), np.random.default_rng(0)).draw(0.5)
    assert np.abs(drawn).max() <= 0.5
    assert drawn.std() == pytest.approx(0.5 / np.sqrt(3), rel=0.15)


def test_gaussian_noise_exceeds_its_scale_sometimes():
    config = LearningConfig(noise="gaussian")
    drawn = Noise(config, (200, 3, 2), np.random.default_rng(0)).draw(0.5)
    assert np.abs(drawn).max() > 0.5
    assert drawn.std() == pytest.approx(0.5, rel=0.1)


def test_ornstein_uhlenbeck_noise_remembers_its_last_value_until_the_episode_ends():
    noise = Noise(LearningConfig(noise="ou"), (2, 1, 1), np.random.default_rng(0))
    first = noise.draw(1.0)
    noise.restart(np.array([True, False]))
    kept = noise.draw(0.0)
    assert kept[0, 0, 0] == 0.0
    assert kept[1, 0, 0] == pytest.approx((1 - OU_RETURN) * first[1, 0, 0])
