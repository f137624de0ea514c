"""Candidate gaps before any time is computed.

Samples differ in length, so rows are concatenated: sample i owns rows ``offset[i]`` up to ``offset[i + 1]``. Kernels
walk these slices; nothing is padded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.samples import DISTANCES, AcceptanceBoundary, GapPlaces
from giveway.gaps.order import Order, Orders, orders_from
from giveway.roads.path_conflicts import MERGE_RAD


def _no_constants() -> Mapping[str, FloatArray]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RawGaps:
    """N candidate gaps with K rows in total, positions in the normalized frame of each sample.

    Attributes:
        sample_id: (N,) unique text, stable between runs.
        group: (N,) participant or target track.
        location: (N,) site.
        roles: agents along axis 1 of ``xy``; E and T first.
        role_is_vulnerable: (A,) bool.
        offset: (N + 1,) first row of each sample, and K.
        time_s: (K,) raw time grid, strictly increasing within a sample.
        xy: (K, A, 2) positions [m]; NaN where a role is not recorded.
        boundary: where T accepts.
        constants: name to (N,) numbers fixed when roles were assigned (radius, lane width, laps driven ...), so that
            the 1D description depends on positions and these only.
        way_m: (K, A) remaining way of each role along its own route [m], where an extraction follows lanes; NaN where
            not recorded. None elsewhere.
        truth_m: (K, A) the same along the paths that were driven, for labels only.
        orders: who passed first, told by whole tracks.
    """

    sample_id: StrArray
    group: StrArray
    location: StrArray
    roles: tuple[str, ...]
    role_is_vulnerable: BoolArray
    offset: IntArray
    time_s: FloatArray
    xy: FloatArray
    boundary: AcceptanceBoundary
    constants: Mapping[str, FloatArray] = field(default_factory=_no_constants)
    way_m: FloatArray | None = None
    truth_m: FloatArray | None = None
    orders: Orders | None = None

    @property
    def num_samples(self) -> int:
        """N."""
        return len(self.offset) - 1

    @property
    def places(self) -> GapPlaces | None:
        """Where the candidates lie; None where the place is not found from paths or a map."""
        known = self.constants
        if "entry" not in known or "angle_rad" not in known:
            return None
        return GapPlaces(
            xy=np.column_stack([known["place_x"], known["place_y"]]),
            angle_rad=known["angle_rad"],
            kind=np.where(known["angle_rad"] < MERGE_RAD, "merge", "cross"),
            entry=known["entry"].astype(np.int64),
        )

    @property
    def yielded(self) -> BoolArray | None:
        """(N,) where T went first because E gave way; None where nobody looks at that."""
        given = self.constants.get("yielded")
        return None if given is None else given > 0

    def per_row(self, name: str) -> FloatArray:
        """A constant repeated for every row of its sample, (K,)."""
        if self.num_samples == 0:
            return np.empty(0)
        return np.repeat(self.constants[name], np.diff(self.offset))

    def take(self, index: IntArray) -> RawGaps:
        """Some of the samples, in the given order."""
        lengths = np.diff(self.offset)[index]
        offset = np.concatenate([[0], np.cumsum(lengths)])
        spans = [slice(first, stop) for first, stop in zip(self.offset[index], self.offset[1:][index], strict=True)]

        def rows(values: FloatArray) -> FloatArray:
            return np.concatenate([values[span] for span in spans]) if spans else values[:0]

        return RawGaps(
            sample_id=self.sample_id[index],
            group=self.group[index],
            location=self.location[index],
            roles=self.roles,
            role_is_vulnerable=self.role_is_vulnerable,
            offset=offset,
            time_s=rows(self.time_s),
            xy=rows(self.xy),
            boundary=self.boundary.take(index),
            constants={name: value[index] for name, value in self.constants.items()},
            way_m=None if self.way_m is None else rows(self.way_m),
            truth_m=None if self.truth_m is None else rows(self.truth_m),
            orders=None if self.orders is None else self.orders.take(index),
        )

    def with_roles(self, roles: Sequence[str]) -> RawGaps:
        """Only some of the roles, in the given order."""
        columns = [self.roles.index(role) for role in roles]
        return replace(
            self,
            roles=tuple(roles),
            role_is_vulnerable=self.role_is_vulnerable[columns],
            xy=self.xy[:, columns],
            way_m=None if self.way_m is None else self.way_m[:, columns],
            truth_m=None if self.truth_m is None else self.truth_m[:, columns],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSample:
    """One candidate gap, as an enumeration finds it; stacked by :func:`stack`.

    Attributes:
        sample_id, group, location: as in :class:`RawGaps`.
        time_s: (n,) raw time grid.
        xy: (n, A, 2) positions of the roles [m].
        constants: name to number.
        way_m, truth_m: (n, A), see :class:`RawGaps`.
        order: who passed first.
    """

    sample_id: str
    group: str
    location: str
    time_s: FloatArray
    xy: FloatArray
    constants: Mapping[str, float]
    way_m: FloatArray | None = None
    truth_m: FloatArray | None = None
    order: Order | None = None


def stack(
    samples: Sequence[OneSample], *, roles: Sequence[str], vulnerable: Sequence[str], boundary: AcceptanceBoundary
) -> RawGaps:
    """Concatenate candidate gaps that share their roles; ``boundary`` has one entry per sample."""
    offset = np.concatenate([[0], np.cumsum([len(s.time_s) for s in samples])]).astype(np.int64)
    names = sorted(samples[0].constants) if samples else []
    return RawGaps(
        sample_id=np.array([s.sample_id for s in samples], dtype=np.str_),
        group=np.array([s.group for s in samples], dtype=np.str_),
        location=np.array([s.location for s in samples], dtype=np.str_),
        roles=tuple(roles),
        role_is_vulnerable=np.array([role in vulnerable for role in roles]),
        offset=offset,
        time_s=np.concatenate([s.time_s for s in samples]) if samples else np.empty(0),
        xy=np.concatenate([s.xy for s in samples]) if samples else np.empty((0, len(roles), 2)),
        boundary=boundary,
        constants={name: np.array([s.constants[name] for s in samples], dtype=float) for name in names},
        way_m=np.concatenate(ways) if (ways := [s.way_m for s in samples if s.way_m is not None]) else None,
        truth_m=np.concatenate(ways) if (ways := [s.truth_m for s in samples if s.truth_m is not None]) else None,
        orders=orders_from([s.order for s in samples]),
    )


def circle_boundary(radius_m: FloatArray) -> AcceptanceBoundary:
    """T accepts inside a circle around the origin."""
    n = len(radius_m)
    return AcceptanceBoundary(normal=np.full((n, 2), np.nan), offset_m=np.full(n, np.nan), radius_m=radius_m)


def line_boundary(num: int, normal: Sequence[float], offset_m: float) -> AcceptanceBoundary:
    """T accepts where ``normal . x < offset``, the same for all samples."""
    return AcceptanceBoundary(
        normal=np.tile(np.asarray(normal, dtype=float), (num, 1)),
        offset_m=np.full(num, float(offset_m)),
        radius_m=np.full(num, np.nan),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The one-dimensional description of all rows.

    Attributes:
        valid: (K,) bool, all roles are where the gap exists.
        distance: (K, 7) in the order D_C, D_A, D_1, D_2, D_3, L_E, L_T [m]; NaN where an agent is not recorded. Made
            by :func:`empty_distances`, column by column in memory, because kernels walk along columns.
        missing_m: what stands for D_1, D_2, D_3 of an agent that is never recorded.
        truth: (K, 7) distances that labels and times come from, where they are not those that models see.
        ego_in_place: (K,) bool, E is where the gap exists; ``valid`` asks for more. None if it does not.
    """

    valid: BoolArray
    distance: FloatArray
    missing_m: float
    truth: FloatArray | None = None
    ego_in_place: BoolArray | None = None


def empty_distances(num_rows: int) -> FloatArray:
    """(K, 7) for a description to fill in."""
    return np.empty((num_rows, len(DISTANCES)), order="F")
