"""The rules of the protocol, each judged from what a client said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.models.motion.acceptance import LARGEST, MAX_MODES, PROBABILITY_TOLERANCE
from giveway.models.motion.protocol import FUTURE_STEPS, STEP_S
from giveway.rpc.conformance import Said, Transcript
from giveway.rpc.wire import OVER, PROTOCOL, Request

PASS, FAIL, WARN, NOT_SEEN = "pass", "FAIL", "warn", "not seen"

FRAME_M = 5.0
"""The first predicted position, 0.1 s ahead, may be this far from the current one, and what 30 m/s add to it."""

MOST_STREAMS = 0.1
"""Streams per fetch or push: who reconnects now and then stays below, who opens a stream each time does not."""

VELOCITY_MPS = 2.0
HEADING_RAD = 0.5
MOVING_MPS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one rule.

    Attributes:
        rule: short name.
        verdict: ``pass``, ``FAIL``, ``warn`` (works, but is probably not what you want) or ``not seen``.
        seen: what was seen, in one line.
        hint: what to do; empty if there is nothing to do.
    """

    rule: str
    verdict: str
    seen: str
    hint: str = ""


def judge(transcript: Transcript) -> tuple[Verdict, ...]:
    """All rules in the order in which a client meets them."""
    return tuple(rule(transcript) for rule in RULES)


def _pushes(transcript: Transcript) -> list[Said]:
    """Pushes for a car that was handed out."""
    return [said for said in transcript.said if said.kind == "push" and said.request is not None]


def _over_pushes(
    transcript: Transcript, rule: str, fault: Callable[[Any, Request], str], good: str, hint: str
) -> Verdict:
    """One verdict over all pushes: the first fault found, or how many were good."""
    pushes = _pushes(transcript)
    if not pushes:
        return Verdict(rule=rule, verdict=NOT_SEEN, seen="no prediction came")
    faults = [text for said in pushes if said.request and (text := fault(said.message, said.request))]
    if faults:
        return Verdict(rule=rule, verdict=FAIL, seen=f"{len(faults)} of {len(pushes)} pushes: {faults[0]}", hint=hint)
    return Verdict(rule=rule, verdict=PASS, seen=f"{len(pushes)} pushes, {good}")


def connects(transcript: Transcript) -> Verdict:
    """Somebody called."""
    said, streams = len(transcript.said), transcript.counts.get("streams", 0)
    if streams > max(1, said * MOST_STREAMS):
        return Verdict(
            rule="connects",
            verdict=WARN,
            seen=f"{said} fetches and pushes on {streams} streams",
            hint="keep one stream open for the whole session; opening one takes longer than a call",
        )
    if said:
        way = f"fetches and pushes on {'one stream' if streams == 1 else f'{streams} streams'}" if streams else "calls"
        return Verdict(rule="connects", verdict=PASS, seen=f"{said} {way}")
    others = sum(transcript.counts.get(kind, 0) for kind in ("other_protocol", "unreadable", "unauthenticated"))
    if others:
        return Verdict(rule="connects", verdict=PASS, seen=f"{others} calls, all refused")
    return Verdict(
        rule="connects",
        verdict=FAIL,
        seen="no call came",
        hint="start the client with the address this command listens on; no TLS unless --tls-cert is given",
    )


def handshake(transcript: Transcript) -> Verdict:
    """The version of the protocol is in the metadata of every call."""
    wrong = transcript.counts.get("other_protocol", 0)
    if transcript.compat:
        return Verdict(rule="handshake", verdict=PASS, seen="not needed with --compat")
    if wrong:
        return Verdict(
            rule="handshake",
            verdict=FAIL,
            seen=f"{wrong} calls without or with another version",
            hint=f"send the metadata giveway-protocol: {PROTOCOL}, or use --compat for a client of the 2020 challenge",
        )
    if not transcript.said:
        return Verdict(rule="handshake", verdict=NOT_SEEN, seen="no call came")
    return Verdict(rule="handshake", verdict=PASS, seen=f"giveway-protocol: {PROTOCOL}")


def messages(transcript: Transcript) -> Verdict:
    """Messages follow the .proto file."""
    wrong = transcript.counts.get("unreadable", 0)
    if wrong:
        return Verdict(
            rule="messages",
            verdict=FAIL,
            seen=f"{wrong} messages do not follow simulator.proto",
            hint="compile the file that 'giveway drive serve --proto' prints; fetch requests are empty",
        )
    if not transcript.said:
        return Verdict(rule="messages", verdict=NOT_SEEN, seen="no message could be read")
    return Verdict(rule="messages", verdict=PASS, seen="all could be read")


def order(transcript: Transcript) -> Verdict:
    """One push for each car fetched, none without."""
    handed = sum(said.kind == "fetch" and said.request is not None for said in transcript.said)
    if not handed:
        return Verdict(rule="order", verdict=NOT_SEEN, seen="no car was fetched")
    stray = 0 if transcript.compat else transcript.counts.get("unexpected_pushes", 0)
    if stray:
        return Verdict(
            rule="order",
            verdict=FAIL,
            seen=f"{stray} pushes without a car in hand",
            hint="push once after each fetch with code 0, and never after code 2 or 3",
        )
    return Verdict(rule="order", verdict=PASS, seen=f"{handed} cars fetched, {len(_pushes(transcript))} pushes")


def modes(transcript: Transcript) -> Verdict:
    """1 to 64 modes."""
    return _over_pushes(
        transcript,
        "modes",
        lambda push, _: "" if 1 <= len(push.pred_trajs) <= MAX_MODES else f"{len(push.pred_trajs)} modes",
        f"1 to {MAX_MODES} modes each",
        "fill pred_trajs with at least one trajectory",
    )


def length(transcript: Transcript) -> Verdict:
    """30 states per mode."""

    def fault(push: Any, _: Request) -> str:
        wrong = [len(mode.state) for mode in push.pred_trajs if len(mode.state) != FUTURE_STEPS]
        return f"a mode with {wrong[0]} states" if wrong else ""

    hint = f"predict 3 s: {FUTURE_STEPS} states, 0.1 s apart, the first one 0.1 s from now"
    return _over_pushes(transcript, "length", fault, f"{FUTURE_STEPS} states per mode", hint)


def identity(transcript: Transcript) -> Verdict:
    """States carry the id of the car asked for."""

    def fault(push: Any, request: Request) -> str:
        foreign = [s.track_id for mode in push.pred_trajs for s in mode.state if s.track_id != request.track_id]
        return f"a state of car {foreign[0]} where car {request.track_id} was asked for" if foreign else ""

    return _over_pushes(transcript, "identity", fault, "right track_id", "copy track_id from my_traj into every state")


def probabilities(transcript: Transcript) -> Verdict:
    """One per mode, adding up to one."""

    def fault(push: Any, _: Request) -> str:
        if len(push.probability) != len(push.pred_trajs):
            return f"{len(push.probability)} probabilities for {len(push.pred_trajs)} modes"
        total = sum(push.probability)
        bad = any(p < 0 for p in push.probability) or not abs(total - 1) < PROBABILITY_TOLERANCE
        return f"probabilities {', '.join(f'{p:.3g}' for p in push.probability[:6])}" if bad else ""

    hint = f"one value >= 0 per mode, adding up to 1 within {PROBABILITY_TOLERANCE:g}"
    return _over_pushes(transcript, "probabilities", fault, "adding up to 1", hint)


def numbers(transcript: Transcript) -> Verdict:
    """Finite and of a sensible size."""

    def fault(push: Any, _: Request) -> str:
        states = _states(push)
        bad = states[~(np.abs(states) <= LARGEST)]
        return f"the number {bad[0]:g}" if bad.size else ""

    return _over_pushes(transcript, "numbers", fault, "all finite", f"x, y, vx, vy, psi_rad within {LARGEST:g}")


def frame(transcript: Transcript) -> Verdict:
    """Predictions begin where the car is."""

    def fault(push: Any, request: Request) -> str:
        now = request.response.my_traj.state[-1]
        starts = np.array([(mode.state[0].x, mode.state[0].y) for mode in push.pred_trajs if mode.state])
        far = np.hypot(*(starts - (now.x, now.y)).T) if starts.size else np.zeros(0)
        allowed = FRAME_M + STEP_S * 30.0
        return f"a prediction begins {far.max():.0f} m from the car" if far.size and not far.max() <= allowed else ""

    hint = "answer in the frame of the question: site coordinates minus 1000 m on both axes, meters, x before y"
    return _over_pushes(transcript, "frame", fault, "beginning at the car", hint)


def motion(transcript: Transcript) -> Verdict:
    """Velocities and headings fit the positions; a warning, because both are used as they are."""

    def fault(push: Any, _: Request) -> str:
        for mode in push.pred_trajs:
            states = np.array([(s.x, s.y, s.vx, s.vy, s.psi_rad) for s in mode.state])
            if len(states) < 2 or not (np.abs(states) <= LARGEST).all():
                continue
            moved = np.diff(states[:, :2], axis=0) / STEP_S
            off = float(np.median(np.hypot(*(moved - states[1:, 2:4]).T)))
            if off > VELOCITY_MPS:
                return f"vx, vy differ from the positions' differences by {off:.1f} m/s"
            fast = np.hypot(*moved.T) > MOVING_MPS
            turn = np.abs(np.angle(np.exp(1j * (np.arctan2(moved[:, 1], moved[:, 0]) - states[1:, 4]))))
            if fast.any() and float(np.median(turn[fast])) > HEADING_RAD:
                return f"psi_rad differs from the direction of motion by {np.median(turn[fast]):.1f} rad"
        return ""

    found = _over_pushes(
        transcript, "motion", fault, "velocities and headings fit", "psi_rad in radians from +x; vx, vy in m/s"
    )
    return Verdict(rule=found.rule, verdict=WARN, seen=found.seen, hint=found.hint) if found.verdict == FAIL else found


def deadline(transcript: Transcript) -> Verdict:
    """Predictions come in time."""
    late = transcript.counts.get("late", 0)
    latency = 1000 * np.array(transcript.latency_s)
    if late:
        limit = f"{1000 * (transcript.deadline_s or 0):.0f} ms"
        return Verdict(
            rule="deadline",
            verdict=FAIL,
            seen=f"{late} predictions not within {limit}",
            hint="predict faster, or raise --deadline-ms; late cars are predicted by constant velocity",
        )
    if not latency.size:
        return Verdict(rule="deadline", verdict=NOT_SEEN, seen="no prediction was taken")
    seen = f"median {np.median(latency):.1f} ms, slowest {latency.max():.1f} ms"
    return Verdict(rule="deadline", verdict=PASS, seen=seen)


def _after(transcript: Transcript, probe: str) -> tuple[Said | None, list[Said]]:
    """The probe and what was said after it."""
    for at, said in enumerate(transcript.said):
        if said.probe == probe:
            return said, list(transcript.said[at + 1 :])
    return None, []


def waiting(transcript: Transcript) -> Verdict:
    """After an idle answer the client asks again."""
    probe, after = _after(transcript, "idle")
    if probe is None:
        return Verdict(rule="waiting", verdict=NOT_SEEN, seen="the session ended before")
    if not any(said.kind == "fetch" for said in after):
        return Verdict(
            rule="waiting",
            verdict=FAIL,
            seen="no fetch came after an idle answer",
            hint="code 0 with track_id 0: push anything, then fetch again"
            if transcript.compat
            else "code 2 means that no car waits at the moment: fetch again",
        )
    return Verdict(rule="waiting", verdict=PASS, seen="fetched again after an idle answer")


def persistence(transcript: Transcript) -> Verdict:
    """A refused push does not stop the client."""
    probe, after = _after(transcript, "refusal")
    if probe is None:
        return Verdict(rule="persistence", verdict=NOT_SEEN, seen="no good push to refuse")
    if not any(said.kind == "push" and said.code == 0 for said in after):
        return Verdict(
            rule="persistence",
            verdict=FAIL,
            seen="no good push came after a refused one",
            hint="on code -1 read msg, then push again or fetch (the same car comes) and push",
        )
    return Verdict(rule="persistence", verdict=PASS, seen="went on after a refused push")


def completeness(transcript: Transcript) -> Verdict:
    """All cases of the session are driven, and with the client's predictions."""
    cases = list(dict.fromkeys(said.request.case for said in transcript.said if said.request is not None))
    replaced = transcript.counts.get("late", 0) + transcript.counts.get("given_up", 0)
    if not transcript.finished:
        return Verdict(
            rule="completeness",
            verdict=FAIL,
            seen=f"the client fell silent after {len(cases)} cases" if cases else "no case was driven",
            hint="keep fetching until code 233; look at the client's own messages",
        )
    if replaced:
        return Verdict(
            rule="completeness",
            verdict=FAIL,
            seen=f"{len(cases)} cases, but {replaced} predictions were replaced by constant velocity",
            hint="see the rules that failed above",
        )
    return Verdict(rule="completeness", verdict=PASS, seen=f"{len(cases)} cases in one session")


def repeatability(transcript: Transcript) -> Verdict:
    """The same question gets the same answer; a warning, because predictors may draw random numbers."""
    answers: dict[tuple[str, int, str], tuple[bytes, FloatArray]] = {}
    same = different = 0
    for said in _pushes(transcript):
        request = said.request
        if request is None or said.code != 0:
            continue
        asked, answered = request.response.SerializeToString(), _states(said.message)
        case = transcript.repeats.get(request.case, request.case)
        before = answers.setdefault((case, request.tick, request.car), (asked, answered))
        if before[1] is not answered and before[0] == asked:
            equal = np.array_equal(before[1], answered)
            same, different = same + equal, different + (not equal)
    if not same + different:
        return Verdict(rule="repeatability", verdict=NOT_SEEN, seen="no question was asked twice")
    if different:
        return Verdict(
            rule="repeatability",
            verdict=WARN,
            seen=f"{different} of {same + different} repeated questions got another answer",
            hint="seed random numbers with the metadata giveway-seed and -tick, or scores are not repeatable",
        )
    return Verdict(rule="repeatability", verdict=PASS, seen=f"{same} repeated questions got the same answer")


def goodbye(transcript: Transcript) -> Verdict:
    """233 is answered with an empty push, and then the client stops."""
    if not transcript.finished:
        return Verdict(rule="goodbye", verdict=NOT_SEEN, seen="the session did not come to its end")
    over = [at for at, said in enumerate(transcript.said) if said.kind == "fetch" and said.code == OVER]
    last = transcript.said[over[0] + 1 :] if over else ()
    hint = "on code 233 send an empty PushMyTrajectory once, and stop"
    if not transcript.goodbye:
        return Verdict(rule="goodbye", verdict=FAIL, seen="233 was not answered with a push", hint=hint)
    if any(len(said.message.pred_trajs) for said in last if said.kind == "push"):
        return Verdict(rule="goodbye", verdict=FAIL, seen="the push after 233 was not empty", hint=hint)
    if len(last) > 1:
        return Verdict(rule="goodbye", verdict=FAIL, seen=f"{len(last) - 1} more calls after the goodbye", hint=hint)
    return Verdict(rule="goodbye", verdict=PASS, seen="empty push after 233, then silence")


def _states(push: Any) -> FloatArray:
    """All numbers of a push that are used, one after the other, and its probabilities."""
    states = [v for mode in push.pred_trajs for s in mode.state for v in (s.x, s.y, s.vx, s.vy, s.psi_rad)]
    return np.array([*states, *push.probability], dtype=np.float64)


RULES: tuple[Callable[[Transcript], Verdict], ...] = (
    connects,
    handshake,
    messages,
    order,
    modes,
    length,
    identity,
    probabilities,
    numbers,
    frame,
    motion,
    deadline,
    waiting,
    persistence,
    completeness,
    repeatability,
    goodbye,
)
"""Every rule, in the order in which they are printed."""
