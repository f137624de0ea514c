"""How long something will still take, and how a time is said."""

from __future__ import annotations

FIRST_ESTIMATE = 4
"""Finished cells before which nothing is said about the time left."""


class RemainingTime:
    """How long a run will still take, from the pace of its later half.

    The first cells pay for starting workers, compiling and shared inputs, and say nothing about the others: after one
    slow cell of a hundred an estimate from all of them promises an hour for a run of two minutes. So the pace is that
    of the later half of what is finished, and nothing is promised before :data:`FIRST_ESTIMATE` cells.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[int, float]] = [(0, 0.0)]

    def add(self, finished: int, elapsed_s: float) -> None:
        """So many cells were finished after so long."""
        if finished > self._seen[-1][0]:
            self._seen.append((finished, elapsed_s))

    def left_s(self, total: int) -> float | None:
        """Seconds until ``total`` cells are finished; None as long as nobody can tell, or if all are."""
        finished, now = self._seen[-1]
        if finished < FIRST_ESTIMATE or finished >= total:
            return None
        half, then = next(pair for pair in self._seen[::-1] if 2 * pair[0] <= finished)
        return (total - finished) * (now - then) / (finished - half)


def duration(seconds: float) -> str:
    """``"45 s"``, ``"3 min 20 s"``, ``"2 h 5 min"``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
