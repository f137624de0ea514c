"""Gap-acceptance samples: what a model may see, and what really happened.

``GapInputs`` and ``GapTruth`` are separate types so that a prediction cannot touch the future by accident:
``fit`` receives both, ``predict`` receives only the inputs.
Symbols as in the protocol: E has priority, T wants to use the contested space, t_0 is the prediction time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.displays import shown
from giveway.core.histories import Histories

DISTANCES = ("D_C", "D_A", "D_1", "D_2", "D_3", "L_E", "L_T")
"""Order of the 1D description along the second axis of ``GapInputs.distance``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceBoundary:
    """The line (or circle) that T crosses when it accepts, in the frame of each sample.

    A position x has accepted when ``normal . x < offset`` or, where ``radius_m`` is not NaN, when ``|x| < radius_m``.

    Attributes:
        normal: (N, 2) unit vectors pointing to the side of "not yet accepted"; NaN where a circle is used.
        offset_m: (N,) NaN where a circle is used.
        radius_m: (N,) NaN where a line is used.
    """

    normal: FloatArray
    offset_m: FloatArray
    radius_m: FloatArray

    def signed_distance(self, xy: FloatArray) -> FloatArray:
        """Distance to the boundary, positive before acceptance.

        Args:
            xy: (N, ..., 2) positions [m].

        Returns:
            (N, ...) meters; NaN where the position is NaN.
        """
        extra = (1,) * (xy.ndim - 2)
        column = (-1, *extra)
        line = xy[..., 0] * self.normal[:, 0].reshape(column) + xy[..., 1] * self.normal[:, 1].reshape(column)
        line = line - self.offset_m.reshape(column)
        circle = np.hypot(xy[..., 0], xy[..., 1]) - self.radius_m.reshape(column)
        return np.where(np.isnan(self.radius_m).reshape(column), line, circle)

    def take(self, index: IntArray | BoolArray | slice) -> AcceptanceBoundary:
        """Some of the samples."""
        return AcceptanceBoundary(
            normal=self.normal[index], offset_m=self.offset_m[index], radius_m=self.radius_m[index]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GapInputs(Histories):
    """What a model may see of N samples: everything at or before t_0, and how far to predict.

    Attributes:
        sample_id: (N,) unique text, stable between runs.
        roles: which agent stands at each position of axis 1 of ``xy``; E and T come first.
        role_is_vulnerable: (A,) bool, pedestrian or cyclist.
        xy: (N, A, n_I, 2) positions at t_0 + j dt, j = 1 - n_I .. 0 [m]; NaN where an agent is absent.
        distance: (N, 7, n_I) the 1D description in the order :data:`DISTANCES` [m].
        num_predict: (N,) n_pred, steps of dt a model has to predict.
        dt_s: spacing of input and output grids [s].
        boundary: where T accepts.
        closes_s: (N,) when the gap closes, t_C - t_0, as far as ``num_predict`` tells it anyway: within its last step
            [s]. None: at its end.
    """

    sample_id: StrArray
    roles: tuple[str, ...]
    role_is_vulnerable: BoolArray
    xy: FloatArray
    distance: FloatArray
    num_predict: IntArray
    dt_s: float
    boundary: AcceptanceBoundary
    closes_s: FloatArray | None = None

    @property
    def horizon_s(self) -> FloatArray:
        """(N,) time within which T must enter for the gap to be accepted [s]."""
        return self.num_predict * self.dt_s if self.closes_s is None else self.closes_s

    @property
    def row_names(self) -> StrArray:
        """(N,) the identifiers of the samples."""
        return self.sample_id

    @property
    def num_samples(self) -> int:
        """N."""
        return self.xy.shape[0]

    @property
    def num_input(self) -> int:
        """n_I."""
        return self.xy.shape[2]

    def take(self, index: IntArray | BoolArray | slice) -> GapInputs:
        """Some of the samples."""
        return GapInputs(
            sample_id=self.sample_id[index],
            roles=self.roles,
            role_is_vulnerable=self.role_is_vulnerable,
            xy=self.xy[index],
            distance=self.distance[index],
            num_predict=self.num_predict[index],
            dt_s=self.dt_s,
            boundary=self.boundary.take(index),
            closes_s=None if self.closes_s is None else self.closes_s[index],
        )


def closing_times(t_close_s: FloatArray, num_predict: IntArray, dt_s: float) -> FloatArray:
    """(N,) t_C - t_0 where it lies in the last step of the horizon, else the end of the horizon [s].

    The horizon is t_C rounded up to whole steps unless it was cut or projected; only then does it say nothing more.
    """
    end = num_predict * dt_s
    return np.where((t_close_s > end - dt_s) & (t_close_s <= end), t_close_s, end)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTruth:
    """What really happened after t_0; all times are relative to t_0.

    Attributes:
        accepted: (N,) bool, a = (t_A < t_C).
        t_accept_s: (N,) t_A - t_0, observed or projected.
        t_close_s: (N,) t_C - t_0, observed or projected.
        future_xy: (N, S, 2) positions of T at t_0 + j dt, j = 1 .. n_O [m]; NaN beyond n_O.
        num_observed: (N,) n_O, steps with ground truth; metrics use these.
        dt_s: spacing of the output grid [s]; the same as in the inputs.
    """

    accepted: BoolArray
    t_accept_s: FloatArray
    t_close_s: FloatArray
    future_xy: FloatArray
    num_observed: IntArray
    dt_s: float = 0.2

    def take(self, index: IntArray | BoolArray | slice) -> GapTruth:
        """Some of the samples."""
        return GapTruth(
            accepted=self.accepted[index],
            t_accept_s=self.t_accept_s[index],
            t_close_s=self.t_close_s[index],
            future_xy=self.future_xy[index],
            num_observed=self.num_observed[index],
            dt_s=self.dt_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPlaces:
    """Where N samples lie, for those whose place is found from paths or a map.

    Attributes:
        xy: (N, 2) contested place in the coordinates of the recording [m].
        angle_rad: (N,) between the directions in which T and E come in, 0 to pi.
        kind: (N,) ``merge`` below 60 degrees, else ``cross``.
        entry: (N,) number of the entry at its site; -1 for those who may cross anywhere.
    """

    xy: FloatArray
    angle_rad: FloatArray
    kind: StrArray
    entry: IntArray

    def take(self, index: IntArray | BoolArray | slice) -> GapPlaces:
        """Some of the samples."""
        return GapPlaces(
            xy=self.xy[index], angle_rad=self.angle_rad[index], kind=self.kind[index], entry=self.entry[index]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSamples:
    """N samples of one dataset at one choice of prediction time and input length.

    Attributes:
        dataset: name of the extraction, e.g. ``"round"`` or ``"round_2v"``.
        prediction_time: ``"initial"``, ``"constant"`` or ``"critical"``.
        inputs: what models may see.
        truth: what happened.
        group: (N,) participant or target track; samples of one group are dependent.
        location: (N,) site.
        gap_at_acceptance_s: (N,) g_A = t_proj(t_A) - t_A; NaN for rejected samples. For the critical split.
        t_open_s: (N,) t_S - t_0 (not positive).
        places: where they lie; None where the place is the same for all (simulators, sectors of a circle).
    """

    dataset: str
    prediction_time: str
    inputs: GapInputs
    truth: GapTruth
    group: StrArray
    location: StrArray
    gap_at_acceptance_s: FloatArray
    t_open_s: FloatArray
    places: GapPlaces | None = None

    def __repr__(self) -> str:
        accepted = int(self.truth.accepted.sum())
        return (
            f"GapSamples({self.dataset}, t0 {self.prediction_time}, {self.num_samples} samples, {accepted} accepted, "
            f"n_I {self.inputs.num_input})"
        )

    def _repr_html_(self) -> str:
        return shown("samples", self)

    @property
    def num_samples(self) -> int:
        """N."""
        return self.inputs.num_samples

    def take(self, index: IntArray | BoolArray | slice) -> GapSamples:
        """Some of the samples."""
        return GapSamples(
            dataset=self.dataset,
            prediction_time=self.prediction_time,
            inputs=self.inputs.take(index),
            truth=self.truth.take(index),
            group=self.group[index],
            location=self.location[index],
            gap_at_acceptance_s=self.gap_at_acceptance_s[index],
            t_open_s=self.t_open_s[index],
            places=None if self.places is None else self.places.take(index),
        )
