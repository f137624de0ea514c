import pytest

from giveway.roads.speeds import parse_speed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15mph", 6.7056),
        ("80kmh", 22.2222),
        ("30 km/h", 8.3333),
        ("50", 13.8889),
        ("10 m/s", 10.0),
        (" 40 MPH ", 17.8816),
    ],
)
def test_speeds_as_written_on_signs(text, expected):
    assert parse_speed(text) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("text", ["", "fast", "de274-60", "50 furlongs", "-5mph", "1e3kmh", "0mph", "nan", "inf"])
def test_everything_else_is_not_a_speed(text):
    assert parse_speed(text) is None
