"""What is to be computed (:class:`Cell`) and what came out (:class:`CellResult`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from giveway.core.seals import sha256_of_bytes
from giveway.experiments.files import canonical_json, plain

if TYPE_CHECKING:
    import polars as pl

    from giveway.metrics.metric import MetricValue


RESERVED = frozenset({"key", "kind", "data", "metric", "value", "num_samples", "metric_version", "note"})
"""Columns of a collected table that are not parameters."""


def content_key(value: Any) -> str:
    """SHA-256 over the canonical JSON of ``value``: its name in any store."""
    return sha256_of_bytes(canonical_json(value))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One unit of work, fully described: the same description gives the same key and the same result.

    Nothing that may differ between two machines belongs here (paths, worker counts, dates); pass such
    things as ``machine`` of the run.

    Attributes:
        kind: which kind of result this is, e.g. ``"gaps"``.
        params: what names the cell in tables: name to plain value (numbers, text, booleans, lists, nested mappings).
            Every top-level entry becomes a column of :func:`giveway.experiments.collect`.
        settings: the switches and settings that its evaluation reads, and no others: a setting that only tables read
            must not make a cell a new one.
        data: fingerprint of the input data, e.g. a SHA-256 over the fingerprints of the files read.
        versions: name to version of everything whose change must lead to new results, e.g.
            ``{"extraction": 1, "LR_1D": 2, "auc": 1}``.
        group: cells of one group may be evaluated together; not part of the key.
        chain: cells of one chain are evaluated in order by one worker, each after the one before; not part of the key.
    """

    kind: str
    params: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: str = ""
    versions: Mapping[str, int | str] = field(default_factory=dict[str, int | str])
    group: str = field(default="", compare=False)
    chain: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Keep plain copies, so that a cell can be sent anywhere and does not change behind our back."""
        object.__setattr__(self, "params", plain(self.params))
        object.__setattr__(self, "settings", plain(self.settings))
        object.__setattr__(self, "versions", plain(self.versions))
        if taken := sorted(RESERVED & set(self.params)):
            raise ValueError(f"parameter names {taken} are columns of every result table; choose others")

    @cached_property
    def key(self) -> str:
        """Content key, 64 hexadecimal digits."""
        return content_key(self.as_json())

    def as_json(self) -> dict[str, Any]:
        """Plain mapping; :meth:`from_json` reads it back."""
        return {
            "kind": self.kind,
            "params": self.params,
            "settings": self.settings,
            "data": self.data,
            "versions": self.versions,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Cell:
        """The cell that :meth:`as_json` described, without group and chain."""
        return Cell(**{name: value[name] for name in ("kind", "params", "settings", "data", "versions")})

    def label(self) -> str:
        """A short line for people: text and numbers among the parameters."""
        scalars = [str(v) for v in self.params.values() if type(v) in (str, int, float) and v != ""]
        return f"{self.kind} {' '.join(scalars)}" if scalars else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One number of a cell.

    Attributes:
        metric: registered name of the metric.
        value: NaN where the metric is undefined, e.g. AUC with one class only.
        num_samples: samples it was computed from.
        metric_version: version of the metric's definition.
        note: why a value is undefined or special.
    """

    metric: str
    value: float
    num_samples: int = 0
    metric_version: int = 1
    note: str = ""

    @staticmethod
    def of(value: MetricValue) -> Measurement:
        """The scalar part of what a metric returned."""
        return Measurement(
            metric=value.metric,
            value=value.value,
            num_samples=value.num_items,
            metric_version=value.version,
            note=value.note,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What an evaluation returns. Must not depend on time, machine or worker: it is compared byte for byte.

    Attributes:
        measurements: the numbers that enter tables.
        samples: per-sample values, one row per sample, kept as Parquet; None if there are none.
        attachments: name to content of files that belong to the result: a log, a policy. Names are plain file names.
        info: further plain values worth keeping: fitted parameters, counts, learning curves.
        shared: contents of files that many results have in common, a lane map; a store keeps each once, by its SHA-256,
            by which results name it in their info or attachments.
    """

    measurements: tuple[Measurement, ...] = ()
    samples: pl.DataFrame | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shared: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFailure:
    """Why an evaluation has no result for one cell of a batch, though it has for others.

    Attributes:
        error: type of the error, for counts: ``"PredictionError"``.
        message: what went wrong, in a sentence.
    """

    error: str
    message: str
