"""A planner that lives at the other end of a wire: the server's side and a client's side."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.errors import ProtocolError
from giveway.planning.protocol import Answer, Episode, Planner, PlannerInfo, Situation
from giveway.serve.rpc.connection import Connection
from giveway.serve.rpc.messages import PLAN, PlanRequest, PlanResponse
from giveway.serve.rpc.plan_exchange import PlanExchange, Task
from giveway.serve.rpc.planner_wire import (
    answer_message,
    episode_message,
    episode_of,
    situation_message,
    situation_of,
)
from giveway.serve.rpc.wire import BUSY, IDLE, OK, OVER
from giveway.sim.drivers.hosts import Fault, Finding, LocalHost, found, settled

BUSY_S = 0.2
"""How long to wait before asking again while another client is connected."""


class RemotePlanner:
    """Asks whoever is connected to the exchange.

    Args:
        exchange: where situations are handed out.
        name: how results call the planner.
        version: of the client's planner; scores compare only within one.
    """

    def __init__(self, exchange: PlanExchange, *, name: str = "grpc", version: str = "") -> None:
        self.info = PlannerInfo(name=name, title=name, version=version or "grpc", uses_predictions=True)
        self._exchange = exchange

    def plan(self, situation: Situation) -> Answer:
        """Never called: the simulator takes :meth:`make_host`."""
        raise NotImplementedError

    def make_host(self) -> RemoteHost:
        """What the simulator asks instead of instances in this process."""
        return RemoteHost(self._exchange)


class RemoteHost:
    """Planners of the episodes of a batch, all at the other end of the wire."""

    def __init__(self, exchange: PlanExchange) -> None:
        self._exchange = exchange
        self._begins: dict[int, Any] = {}
        self._path: dict[int, Any] = {}
        self._failed: dict[int, tuple[Fault, str]] = {}

    def reset(self, slot: int, episode: Episode) -> None:
        """An episode begins; the client is told with its first situation."""
        self._begins[slot] = episode_message(episode)
        self._path.pop(slot, None)
        self._failed.pop(slot, None)

    def plan(self, situations: Mapping[int, Situation]) -> dict[int, Answer | Finding]:
        """Ask slot by slot; answers are inspected as those of a planner in this process."""
        return {slot: self._plan_one(slot, seen) for slot, seen in situations.items()}

    def _plan_one(self, slot: int, seen: Situation) -> Answer | Finding:
        if slot in self._failed:
            return found(self._failed[slot][0], seen, self._failed[slot][1])
        is_new = slot not in self._path or not np.array_equal(self._path[slot], seen.path)
        self._path[slot] = seen.path
        reply = self._exchange.ask(
            Task(
                name=f"tick {seen.tick} of case {seen.episode}",
                situation=situation_message(seen, with_path=is_new),
                begins=self._begins.pop(slot, None),
            )
        )
        if reply[0] is not None:
            self._failed[slot] = reply[0], reply[1]
        return settled(reply, seen)

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerReport:
    """What a client did in one session.

    Attributes:
        planned: situations that were answered with something to drive.
        failed: sentences of those that were not.
        episodes: in the order they came.
    """

    planned: int
    failed: tuple[str, ...]
    episodes: tuple[str, ...]


def plan_for(connection: Connection, planner: Planner) -> PlannerReport:
    """Drive for a server until its session is over.

    The planner is asked as in a run in process: an instance per episode if it keeps state, calls in order of time. What
    it raises is sent to the server, which fails the case with that sentence.

    Args:
        connection: to the server.
        planner: any planner.

    Raises:
        ProtocolError: the server refused the client, or answered what the protocol does not know.
        grpc.RpcError: the connection broke.
    """
    host, out = LocalHost(planner), queue.SimpleQueue[Any]()
    stream = connection.stream_of(PLAN, PlanRequest, PlanResponse)(iter(out.get, None))
    planned, failed, episodes = 0, list[str](), list[str]()
    path, road = np.zeros((0, 6)), None
    out.put(PlanRequest())
    try:
        for response in stream:
            if response.resp_code == OVER:
                return PlannerReport(planned=planned, failed=tuple(failed), episodes=tuple(episodes))
            if response.resp_code in (BUSY, IDLE):
                time.sleep(BUSY_S if response.resp_code == BUSY else 0.0)
                out.put(PlanRequest())
                continue
            if response.resp_code != OK:
                raise ProtocolError("the server refused this client", found=response.msg)
            if response.HasField("begins"):
                episode = episode_of(response.begins)
                road = episode.map
                episodes.append(episode.id)
                host.reset(0, episode)
            seen = situation_of(response.situation, path, road)
            path = seen.path
            answer = host.plan({0: seen})[0]
            planned += not isinstance(answer, Finding)
            failed += [answer.sentence] if isinstance(answer, Finding) else []
            out.put(answer_message(response.number, answer))
        raise ProtocolError("the server ended the stream")
    finally:
        out.put(None)
        stream.cancel()
