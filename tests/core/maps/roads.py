"""Small roads that the map tests share."""

import numpy as np

from giveway.roads.sketch import LaneSketch, LineSketch, RoadSketch, RuleSketch


def strip(name, start, stop, offset=0.0, *, left="virtual", right="virtual", **options) -> LaneSketch:
    """A straight lane 4 m wide from start to stop, shifted to the left by offset."""
    start, stop = np.array(start, dtype=float), np.array(stop, dtype=float)
    along = (stop - start) / np.hypot(*(stop - start))
    normal = np.array([-along[1], along[0]])
    chain = np.linspace(start, stop, 4) + offset * normal
    sides = [LineSketch(points=chain + side * normal, type=kind) for side, kind in ((2.0, left), (-2.0, right))]
    return LaneSketch(name=name, left=sides[0], right=sides[1], **options)


def crossroads() -> RoadSketch:
    """Two lanes eastward side by side, then one more; one lane northward that crosses and gives way."""
    return RoadSketch(
        lanes=(
            strip("east", (950, 1000), (1000, 1000), left="line_thin", right="curbstone", speed_limit="25mph"),
            strip("east fast", (950, 1000), (1000, 1000), 4.0, right="line_thin", speed_limit="40mph"),
            strip("east on", (1000, 1000), (1050, 1000), speed_limit="50kmh"),
            strip("north", (980, 950), (980, 1050)),
        ),
        rules=(RuleSketch(yielding=("north",), priority=("east", "east fast"), stop_lines=(stop_line(),)),),
        keepouts=(np.array([[1010.0, 1010.0], [1020.0, 1010.0], [1015.0, 1020.0]]),),
    )


def stop_line() -> np.ndarray:
    return np.array([[978.0, 997.0], [982.0, 997.0]])
