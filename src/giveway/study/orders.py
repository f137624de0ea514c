"""Who sees which clips in which order: seeded, balanced, reproducible from (seed, slot) alone.

Raters take slots 0, 1, 2 ... The order of a slot is a pure function of the study seed, the clips and the slot:

* **How many.** Everybody sees all lower anchors; the other conditions share what is left in proportion to their clips.
* **Which clips.** Per condition a cyclic incomplete block design: consecutive slots take consecutive stretches of a
  shuffled ring, so after any number of slots two clips of a condition were assigned equally often or differ by one.
* **Where conditions stand.** A base sequence of conditions is rotated from slot to slot (a cyclic Latin square), so
  over as many slots as the sequence is long every condition stands at every position equally often.
* **Extra items.** Repeats and attention checks are inserted at positions that are the same for all slots, which keeps
  the balance of the rest exact.
* **Neighbors.** Clips of one scene never follow one another; clips are exchanged within their condition to that end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from giveway.core.errors import UsageError
from giveway.core.seeds import seed_for, stream

ItemKind = Literal["clip", "check"]
MAX_EXCHANGES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """What the order needs to know of a clip.

    Attributes:
        clip: content-hash id.
        condition: e.g. ``"recorded"``.
        scene: clips with the same value show the same situation.
        broken: lower anchor: motion that was broken on purpose.
    """

    clip: str
    condition: str
    scene: str
    broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One page of the main block.

    Attributes:
        position: 0-based.
        kind: a clip or an instructed-response item.
        item: clip id, or opaque id of the check.
        repeat: 0 for the first showing, 1 for the second.
        expected: category that a check asks for (1 .. k); 0 for clips.
    """

    position: int
    kind: ItemKind
    item: str
    repeat: int = 0
    expected: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderPlan:
    """Rules for orders; see :class:`giveway.study.design.OrderRules`."""

    seed: int
    clips_per_rater: int | None = None
    fixed: bool = False
    repeat_share: float = 0.1
    attention_checks: int = 2
    num_options: int = 5


def order_for_slot(stimuli: Sequence[Stimulus], plan: OrderPlan, slot: int) -> list[Item]:
    """The items of one rater.

    Args:
        stimuli: all main clips, in the order of the manifest.
        plan: rules.
        slot: 0-based number of the rater.

    Returns:
        Items with positions 0 .. n - 1.

    Raises:
        UsageError: if there are no clips.
    """
    if not stimuli:
        raise UsageError("a study needs at least one clip")
    if plan.fixed:
        main = list(stimuli)[: plan.clips_per_rater]
    else:
        quota = condition_quota(stimuli, plan.clips_per_rater)
        main = _arrange(_choose(stimuli, quota, plan, slot), quota, plan, slot)
    return _with_extras(main, plan, slot)


def condition_quota(stimuli: Sequence[Stimulus], clips_per_rater: int | None) -> dict[str, int]:
    """How many clips of each condition one rater sees; sums to the limit.

    Broken motion comes first and in full, as long as one clip is left for every other condition: it tells whether a
    rater uses the low end of the scale, so everybody has to see it. The others share the rest.
    """
    total = len(stimuli) if clips_per_rater is None else min(clips_per_rater, len(stimuli))
    available = Counter(stimulus.condition for stimulus in stimuli)
    ordinary = {stimulus.condition for stimulus in stimuli if not stimulus.broken}
    plain = {name: count for name, count in available.items() if name in ordinary}
    broken = {name: count for name, count in available.items() if name not in ordinary}
    num_broken = min(sum(broken.values()), max(0, total - len(plain)))
    return _shares(plain, total - num_broken) | _shares(broken, num_broken)


def _shares(available: Mapping[str, int], total: int) -> dict[str, int]:
    """Proportional to what is available, by largest remainders."""
    num_available = max(1, sum(available.values()))
    exact = {name: total * count / num_available for name, count in available.items()}
    shares = {name: math.floor(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def _choose(
    stimuli: Sequence[Stimulus], quota: dict[str, int], plan: OrderPlan, slot: int
) -> dict[str, list[Stimulus]]:
    """Cyclic incomplete blocks: slot after slot takes the next stretch of a shuffled ring of the condition's clips.

    When a whole number of turns is reached (after n / gcd(n, m) slots for m of n clips) the ring is shuffled again.
    """
    chosen: dict[str, list[Stimulus]] = {}
    for condition, count in quota.items():
        pool = [s for s in stimuli if s.condition == condition]
        turn, row = divmod(slot, len(pool) // math.gcd(len(pool), count))
        ring = stream(plan.seed, "ring", condition, turn).permutation(len(pool))
        picked = [pool[ring[(row * count + n) % len(pool)]] for n in range(count)]
        shuffled = stream(plan.seed, "within", condition, slot).permutation(count)
        chosen[condition] = [picked[i] for i in shuffled]
    return chosen


def _arrange(chosen: dict[str, list[Stimulus]], quota: dict[str, int], plan: OrderPlan, slot: int) -> list[Stimulus]:
    """Put the clips at the positions their conditions have in this row of the Latin square."""
    length = sum(quota.values())
    square, row = divmod(slot, length)
    conditions = [name for name in sorted(quota) for _ in range(quota[name])]
    base = [conditions[i] for i in stream(plan.seed, "square", square).permutation(length)]
    shift = (row * _step(length)) % length
    sequence = base[shift:] + base[:shift]
    waiting = {name: list(clips) for name, clips in chosen.items()}
    main = [waiting[condition].pop() for condition in sequence]
    return _separate_scenes(main, stream(plan.seed, "exchange", slot))


def _step(length: int) -> int:
    """A step near the golden section and coprime with ``length``: few raters already spread over all rotations."""
    wanted = max(1, round(length * 0.618))
    near = sorted(range(1, length + 1), key=lambda s: abs(s - wanted))
    return next(s for s in near if math.gcd(s, length) == 1)


def _clashes(main: Sequence[Stimulus]) -> list[int]:
    return [i for i in range(1, len(main)) if main[i].scene == main[i - 1].scene]


def _separate_scenes(main: list[Stimulus], rng: np.random.Generator) -> list[Stimulus]:
    """Exchange clips of the same condition until no two neighbors show the same scene, as far as possible."""
    current = list(main)
    for _ in range(MAX_EXCHANGES):
        clashes = _clashes(current)
        if not clashes:
            break
        here = clashes[int(rng.integers(len(clashes)))] - int(rng.integers(2))
        partners = [j for j, s in enumerate(current) if j != here and s.condition == current[here].condition]
        rng.shuffle(partners)
        best, fewest = None, len(clashes)
        for j in partners:
            trial = list(current)
            trial[here], trial[j] = trial[j], trial[here]
            count = len(_clashes(trial))
            if count < fewest or (best is None and count == fewest):
                best, fewest = trial, count
                if count == 0:
                    break
        current = best or current
    return current


def _layout(num_main: int, plan: OrderPlan) -> list[str]:
    """Kind of every page, ``main``, ``repeat`` or ``check``; depends on the study only, not on the rater."""
    num_repeats = min(num_main, round(plan.repeat_share * num_main))
    # Every second page of the last half, from the end; where that is not enough, the rest at the very end.
    behind = [num_main - 2 * n if 2 * n <= num_main / 2 else num_main for n in range(num_repeats)]
    places = stream(plan.seed, "places")
    width = num_main / max(1, plan.attention_checks)
    checks = [round(width * (n + 0.25 + 0.5 * places.random())) for n in range(plan.attention_checks)]
    layout: list[str] = []
    for done in range(num_main + 1):
        layout += ["check"] * checks.count(done) + ["repeat"] * behind.count(done)
        layout += ["main"] if done < num_main else []
    return layout


def _with_extras(main: list[Stimulus], plan: OrderPlan, slot: int) -> list[Item]:
    """Insert repeats and checks where the layout has them."""
    rng = stream(plan.seed, "extras", slot)
    queue, shown, repeated = list(main), list[Stimulus](), set[str]()
    last: Stimulus | None = None
    items: list[Item] = []
    for position, kind in enumerate(_layout(len(main), plan)):
        if kind == "check":
            items.append(_check(plan, slot, position, int(rng.integers(1, plan.num_options + 1))))
            last = None
        elif kind == "repeat":
            last = _pick_repeat(shown, repeated, last, queue[0] if queue else None, rng)
            repeated.add(last.clip)
            items.append(Item(position=position, kind="clip", item=last.clip, repeat=1))
        else:
            last = queue.pop(0)
            shown.append(last)
            items.append(Item(position=position, kind="clip", item=last.clip))
    return items


def _check(plan: OrderPlan, slot: int, position: int, expected: int) -> Item:
    name = f"{seed_for(plan.seed, 'check', slot, position):032x}"[:20]
    return Item(position=position, kind="check", item=name, expected=expected)


def _pick_repeat(
    shown: list[Stimulus],
    repeated: set[str],
    last: Stimulus | None,
    following: Stimulus | None,
    rng: np.random.Generator,
) -> Stimulus:
    """A clip from the earlier part, not repeated before, of another scene than its neighbors where possible."""
    fresh = [s for s in shown if s.clip not in repeated]
    avoid = {s.scene for s in (last, following) if s is not None}
    early = fresh[: max(1, len(fresh) // 2)]
    for pool in (early, fresh):
        allowed = [s for s in pool if s.scene not in avoid]
        if allowed:
            return allowed[int(rng.integers(len(allowed)))]
    return fresh[int(rng.integers(len(fresh)))]
