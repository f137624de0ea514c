"""The rules of the protocol, each judged from what a client said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.logs import one_line
from giveway.serve.rpc.conformance import Said, Transcript
from giveway.serve.rpc.push_rules import PUSH_RULES, PushRule, numbers_of
from giveway.serve.rpc.wire import OVER, PROTOCOL

PASS, FAIL, WARN, NOT_SEEN = "pass", "FAIL", "warn", "not seen"

MOST_STREAMS = 0.1
"""Streams per fetch or push: who reconnects now and then stays below, who opens a stream each time does not."""

TURNED_AWAY = ("other_protocol", "unreadable", "unauthenticated")
"""Counts of calls that were not let in."""


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


Finding = tuple[str, str, str]
"""Verdict, what was seen, and what to do."""


def judge(transcript: Transcript) -> tuple[Verdict, ...]:
    """All rules in the order in which a client meets them."""
    found = {name: rule(transcript) for name, rule in RULES.items()}
    return tuple(
        Verdict(rule=name, verdict=v, seen=one_line(seen), hint=hint) for name, (v, seen, hint) in found.items()
    )


def _pushes(transcript: Transcript) -> list[Said]:
    """Pushes for a car that was handed out."""
    return [said for said in transcript.said if said.kind == "push" and said.request is not None]


def _over_pushes(rule: PushRule, transcript: Transcript) -> Finding:
    """One verdict over all pushes: the first fault found, or how many were good."""
    pushes = _pushes(transcript)
    if not pushes:
        return NOT_SEEN, "no prediction came", ""
    faults = [text for said in pushes if said.request and (text := rule.fault(said.message, said.request))]
    if faults:
        seen = f"{len(faults)} of {len(pushes)} pushes: {faults[0]}"
        return WARN if rule.only_warns else FAIL, seen, rule.hint
    return PASS, f"{len(pushes)} pushes, {rule.good}", ""


def _connects(transcript: Transcript) -> Finding:
    """Somebody called."""
    said, streams = len(transcript.said), transcript.counts.get("streams", 0)
    if streams > max(1, said * MOST_STREAMS):
        hint = "keep one stream open for the whole session; opening one takes longer than a call"
        return WARN, f"{said} fetches and pushes on {streams} streams", hint
    if said and streams:
        return PASS, f"{said} fetches and pushes on {'one stream' if streams == 1 else f'{streams} streams'}", ""
    if said:
        return PASS, f"{said} calls", ""
    refused = sum(transcript.counts.get(kind, 0) for kind in TURNED_AWAY)
    if refused:
        return PASS, f"{refused} calls, all refused", ""
    hint = "start the client with the address this command listens on; no TLS unless --tls-cert is given"
    return FAIL, "no call came", hint


def _handshake(transcript: Transcript) -> Finding:
    """The version of the protocol is in the metadata of every call."""
    if transcript.compat:
        return PASS, "not needed with --compat", ""
    wrong = transcript.counts.get("other_protocol", 0)
    if wrong:
        hint = f"send the metadata giveway-protocol: {PROTOCOL}, or use --compat for a client of the 2020 challenge"
        return FAIL, f"{wrong} calls without or with another version", hint
    return (PASS, f"giveway-protocol: {PROTOCOL}", "") if transcript.said else (NOT_SEEN, "no call came", "")


def _messages(transcript: Transcript) -> Finding:
    """Messages follow the .proto file."""
    wrong = transcript.counts.get("unreadable", 0)
    if wrong:
        hint = "compile the file that 'giveway drive serve --proto' prints; fetch requests are empty"
        return FAIL, f"{wrong} messages do not follow simulator.proto", hint
    return (PASS, "all could be read", "") if transcript.said else (NOT_SEEN, "no message could be read", "")


def _order(transcript: Transcript) -> Finding:
    """One push for each car fetched, none without."""
    handed = sum(said.kind == "fetch" and said.request is not None for said in transcript.said)
    if not handed:
        return NOT_SEEN, "no car was fetched", ""
    stray = 0 if transcript.compat else transcript.counts.get("unexpected_pushes", 0)
    if stray:
        hint = "push once after each fetch with code 0, and never after code 2 or 3"
        return FAIL, f"{stray} pushes without a car in hand", hint
    return PASS, f"{handed} cars fetched, {len(_pushes(transcript))} pushes", ""


def _deadline(transcript: Transcript) -> Finding:
    """Predictions come in time."""
    late, latency = transcript.counts.get("late", 0), 1000 * np.array(transcript.latency_s)
    if late:
        hint = "predict faster, or raise --deadline; late cars are predicted by constant velocity"
        return FAIL, f"{late} predictions not within {1000 * (transcript.deadline_s or 0):.0f} ms", hint
    if not latency.size:
        return NOT_SEEN, "no prediction was taken", ""
    return PASS, f"median {np.median(latency):.1f} ms, slowest {latency.max():.1f} ms", ""


def _after(transcript: Transcript, probe: str) -> list[Said] | None:
    """What was said after a probe; None if it was never made."""
    for at, said in enumerate(transcript.said):
        if said.probe == probe:
            return list(transcript.said[at + 1 :])
    return None


def _waiting(transcript: Transcript) -> Finding:
    """After an idle answer the client asks again."""
    after = _after(transcript, "idle")
    if after is None:
        return NOT_SEEN, "the session ended before", ""
    if any(said.kind == "fetch" for said in after):
        return PASS, "fetched again after an idle answer", ""
    old = "code 0 with track_id 0: push anything, then fetch again"
    strict = "code 2 means that no car waits at the moment: fetch again"
    return FAIL, "no fetch came after an idle answer", old if transcript.compat else strict


def _persistence(transcript: Transcript) -> Finding:
    """A refused push does not stop the client."""
    after = _after(transcript, "refusal")
    if after is None:
        return NOT_SEEN, "no good push to refuse", ""
    if any(said.kind == "push" and said.code == 0 for said in after):
        return PASS, "went on after a refused push", ""
    hint = "on code -1 read msg, then push again or fetch (the same car comes) and push"
    return FAIL, "no good push came after a refused one", hint


def _completeness(transcript: Transcript) -> Finding:
    """All cases of the session are driven, and with the client's predictions."""
    cases = len({said.request.case for said in transcript.said if said.request is not None})
    if not transcript.finished:
        seen = f"the client fell silent after {cases} cases" if cases else "no case was driven"
        return FAIL, seen, "keep fetching until code 233; look at the client's own messages"
    replaced = transcript.counts.get("late", 0) + transcript.counts.get("given_up", 0)
    if replaced:
        seen = f"{cases} cases, but {replaced} predictions were replaced by constant velocity"
        return FAIL, seen, "see the rules that failed above"
    return PASS, f"{cases} cases in one session", ""


def _repeatability(transcript: Transcript) -> Finding:
    """The same question gets the same answer; a warning, because predictors may draw random numbers."""
    answers: dict[tuple[str, int, str], tuple[bytes, FloatArray]] = {}
    same = different = 0
    for said in _pushes(transcript):
        request = said.request
        if request is None or said.code != 0:
            continue
        asked, answered = request.response.SerializeToString(), numbers_of(said.message)
        case = transcript.repeats.get(request.case, request.case)
        before = answers.setdefault((case, request.tick, request.car), (asked, answered))
        if before[1] is not answered and before[0] == asked:
            equal = np.array_equal(before[1], answered)
            same, different = same + equal, different + (not equal)
    if different:
        hint = "seed random numbers with the metadata giveway-seed and -tick, or scores are not repeatable"
        return WARN, f"{different} of {same + different} repeated questions got another answer", hint
    if not same:
        return NOT_SEEN, "no question was asked twice", ""
    return PASS, f"{same} repeated questions got the same answer", ""


def _goodbye(transcript: Transcript) -> Finding:
    """233 is answered with an empty push, and then the client stops."""
    if not transcript.finished:
        return NOT_SEEN, "the session did not come to its end", ""
    over = [at for at, said in enumerate(transcript.said) if said.kind == "fetch" and said.code == OVER]
    last = transcript.said[over[0] + 1 :] if over else ()
    hint = "on code 233 send an empty PushMyTrajectory once, and stop"
    if any(_holds_modes(said.message) for said in last if said.kind == "push"):
        return FAIL, "the push after 233 was not empty", hint
    if not transcript.goodbye:
        return FAIL, "233 was not answered with a push", hint
    if len(last) > 1:
        return FAIL, f"{len(last) - 1} more calls after the goodbye", hint
    return PASS, "empty push after 233, then silence", ""


def _holds_modes(push: Any) -> bool:
    return len(push.pred_trajs) > 0


RULES: dict[str, Callable[[Transcript], Finding]] = {
    "connects": _connects,
    "handshake": _handshake,
    "messages": _messages,
    "order": _order,
    **{rule.name: partial(_over_pushes, rule) for rule in PUSH_RULES},
    "deadline": _deadline,
    "waiting": _waiting,
    "persistence": _persistence,
    "completeness": _completeness,
    "repeatability": _repeatability,
    "goodbye": _goodbye,
}
"""Every rule, in the order in which they are printed."""
