import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError
from giveway.gaps.learning import calibration_plot, learning_curve


def test_learning_curve_with_and_without_validation(tmp_path):
    learning_curve([3.0, 2.0, 1.5], [None, 0.8, 0.5], tmp_path / "with.png")
    learning_curve([3.0], [None], tmp_path / "without.svg")
    assert (tmp_path / "with.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "without.svg").read_text()


def test_calibration_plot_takes_probabilities_at_both_ends(tmp_path):
    calibration_plot(np.array([True, False, True]), np.array([1.0, 0.0, 0.5]), tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 1000


def test_nothing_to_draw_is_an_error_and_leaves_no_file(tmp_path):
    with pytest.raises(EmptySelectionError):
        learning_curve([], [], tmp_path / "a.png")
    with pytest.raises(EmptySelectionError):
        calibration_plot(np.zeros(0, dtype=bool), np.zeros(0), tmp_path / "b.png")
    assert list(tmp_path.iterdir()) == []
