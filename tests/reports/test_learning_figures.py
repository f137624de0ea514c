import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError
from giveway.gaps.learning import calibration_figure, learning_curves


def test_learning_curve_with_and_without_validation(tmp_path):
    learning_curves([[3.0, 2.0, 1.5]], [[None, 0.8, 0.5]], tmp_path / "with.png")
    learning_curves([[3.0]], [[None]], tmp_path / "without.svg")
    assert (tmp_path / "with.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "without.svg").read_text()


def test_calibration_figure_takes_probabilities_at_both_ends(tmp_path):
    calibration_figure(np.array([True, False, True]), np.array([1.0, 0.0, 0.5])).savefig(tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 1000


def test_nothing_to_draw_is_an_error_and_leaves_no_file(tmp_path):
    with pytest.raises(EmptySelectionError):
        learning_curves([[]], [[]], tmp_path / "a.png")
    with pytest.raises(EmptySelectionError):
        calibration_figure(np.zeros(0, dtype=bool), np.zeros(0))
    assert list(tmp_path.iterdir()) == []
