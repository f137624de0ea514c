"""Sessions: the simulation in a thread of its own, the wire in others, a report at the end."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from giveway.core.case import Case
from giveway.core.files import write_text
from giveway.drive.document import document_of
from giveway.drive.rows import identity_of
from giveway.drive.run import drive_all
from giveway.drive.scenes import SceneSource
from giveway.drive.spec import DriveSpec, NamedPredictor, PlannedDrives
from giveway.experiments import Progress, RunSummary, Store, collect
from giveway.metrics.challenge import DEFAULT, ChallengeRules
from giveway.planning import default_planner
from giveway.planning.protocol import Planner
from giveway.serve.rpc.exchange import Exchange, Tally
from giveway.serve.rpc.plan_exchange import PlanExchange
from giveway.serve.rpc.remote import RemotePredictor
from giveway.serve.rpc.remote_planner import RemotePlanner
from giveway.serve.rpc.server import PredictionServer, ServerOptions

GOODBYE_S = 5.0
"""How long a client may take to answer 233."""

STRICT_DEADLINE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What is driven, and by which rules of the wire.

    Attributes:
        planner: drives the ego.
        compat: behave as the server of 2020.
        deadline_s: from fetch to push; None waits forever.
        name: how results call the predictor.
        seed: root of all random streams.
        rules: variant of the challenge metric.
        takeover_s: see :class:`~giveway.serve.rpc.exchange.Exchange`.
        predictor: if given, the client is the planner, and this one predicts in process.
        warm_up_s: added to the deadline of the first answer of a planner on a stream.
    """

    planner: Planner | None = None
    compat: bool = False
    deadline_s: float | None = STRICT_DEADLINE_S
    name: str = "grpc"
    seed: int = 0
    rules: ChallengeRules = DEFAULT
    takeover_s: float = 2.0
    predictor: NamedPredictor | None = None
    warm_up_s: float = 20.0

    @property
    def variant(self) -> str:
        """What the rules of the wire may change in a drive: tells its results from those under other rules."""
        waits = "no deadline" if self.deadline_s is None else f"deadline {self.deadline_s:g} s"
        return f"{'compat' if self.compat else 'strict'}, {waits}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One finished session.

    Attributes:
        run: how many drives were made, skipped and failed; those of the recorded drivers count as well.
        document: summary of the run and of the wire, in JSON's types.
        row: the entry of its predictors that this session drove; a store may hold those of others.
    """

    run: RunSummary
    document: dict[str, Any]
    row: dict[str, Any]


class SessionServer:
    """A server that drives the same cases for one client after the other.

    Args:
        cases: what to drive.
        source: their recordings.
        session: rules of the sessions.
        server: where to listen and whom to admit.
    """

    def __init__(
        self, cases: Sequence[Case], source: SceneSource, *, session: SessionOptions, server: ServerOptions
    ) -> None:
        self._cases = cases
        self._source = source
        self._session = session
        waits: dict[str, Any] = {"deadline_s": session.deadline_s, "takeover_s": session.takeover_s}
        self._plans = None if session.predictor is None else PlanExchange(warm_up_s=session.warm_up_s, **waits)
        self._predictions = Exchange(compat=session.compat, **waits)
        self._exchange = self._plans or self._predictions
        self._server = PredictionServer(self._exchange, server, seed=session.seed)
        self.port = self._server.port
        self.stopped: dict[str, Any] | None = None
        """How far a session had come that was ended by Ctrl-C: ``cases``, ``finished`` and ``wire``."""

    def start(self) -> None:
        """Begin to listen."""
        self._server.start()

    def drive(self, out: Path | None, *, progress: Progress | None = None) -> Session:
        """Drive all cases that have no log yet with whoever connects; returns after the goodbye.

        Args:
            out: result store, resumed if it exists; None keeps nothing.
            progress: where to report.
        """
        self._exchange.restart()
        if out is not None:
            return self._drive(out, progress)
        with tempfile.TemporaryDirectory(prefix="giveway-serve-") as folder:
            return self._drive(Path(folder), progress)

    def _drive(self, out: Path, progress: Progress | None) -> Session:
        options = self._session
        named, planner = self._drivers()
        plan = PlannedDrives(
            spec=DriveSpec(predictors=(named.model,), planner=planner, metric=options.rules.name, seed=options.seed),
            predictors=(named,),
            planner=planner,
            cases=self._cases,
            source=self._source,
            one_by_one=True,
        )
        try:
            run = _in_thread(lambda: drive_all(plan, out, progress=progress), self._exchange.close)
        except KeyboardInterrupt:
            done = collect(Store(out))
            ours = (pl.col("predictor") == named.model.info.name) & (pl.col("variant") == named.variant)
            finished = done.filter(ours & (pl.col("seed") == options.seed))["key"].n_unique() if done.height else 0
            self.stopped = {"cases": len(self._cases), "finished": finished, "wire": self._wire(out, goodbye=False)}
            raise
        self._exchange.finish()
        goodbye = self._exchange.wait_for_goodbye(GOODBYE_S)
        document = document_of(Store(out))
        document["wire"] = self._wire(out, goodbye=goodbye)
        own = asdict(identity_of(named, planner, options.seed, plan.spec.traffic))
        row = next(row for row in document["predictors"] if row["run"] == own)
        return Session(run=run, document=document, row=row)

    def _drivers(self) -> tuple[NamedPredictor, Planner]:
        """Predictor and planner of a session, one of which is at the other end of the wire."""
        options = self._session
        if self._plans is not None and options.predictor is not None:
            return options.predictor, RemotePlanner(self._plans, name=options.name, version=options.variant)
        predictor = RemotePredictor(self._predictions, self._cases, name=options.name)
        return NamedPredictor(model=predictor, variant=options.variant), options.planner or default_planner()

    def _wire(self, out: Path, *, goodbye: bool) -> dict[str, Any]:
        """What happened on the wire, also written beside the results."""
        options, first = self._session, self._exchange.tally.first_fetch_at
        document = {
            "mode": "compat" if options.compat else "strict",
            "deadline_ms": None if options.deadline_s is None else 1000 * options.deadline_s,
            "session_s": time.monotonic() - first if first else 0.0,
            "goodbye": goodbye,
            **tally_document(self._exchange.tally),
        }
        write_text(out / "wire.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        return document

    def stop(self) -> None:
        """Stop listening and unwind the simulation."""
        self._server.stop()


def tally_document(tally: Tally) -> dict[str, Any]:
    """Counts, latency and sentences in JSON's types."""
    latency = 1000.0 * np.array(tally.latency_s)
    return {
        "counts": dict(sorted(tally.count.items())),
        "latency_ms": None
        if latency.size == 0
        else {
            "median": float(np.median(latency)),
            "p95": float(np.percentile(latency, 95)),
            "max": float(latency.max()),
        },
        "events": [{"kind": kind, "text": text} for kind, text in tally.sentences],
    }


def _in_thread(work: Callable[[], RunSummary], unwind: Callable[[], None]) -> RunSummary:
    """Run the simulation in its own thread, so that an interrupt reaches this one and ends it in order."""
    results: list[RunSummary] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name="giveway-simulation", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
    except BaseException:
        unwind()
        thread.join(5.0)
        raise
    if errors:
        raise errors[0]
    return results[0]
