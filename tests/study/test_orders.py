from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import UsageError
from giveway.study.orders import OrderPlan, Stimulus, condition_quota, order_for_slot


def stimuli(**counts: int) -> list[Stimulus]:
    """Clips of several conditions; clip n of every condition shows scene n; names tell which motion is broken."""
    return [
        Stimulus(
            clip=f"{condition}-{n}", condition=condition, scene=f"scene-{n}", broken=condition.startswith("broken")
        )
        for condition, count in counts.items()
        for n in range(count)
    ]


CLIPS = stimuli(recorded=12, ours=12, theirs=8, broken=4)
CONDITION = {s.clip: s.condition for s in CLIPS}
PLAN = OrderPlan(seed=3)


def test_same_seed_and_slot_give_the_same_order() -> None:
    assert order_for_slot(CLIPS, PLAN, 5) == order_for_slot(CLIPS, PLAN, 5)
    assert order_for_slot(CLIPS, PLAN, 5) != order_for_slot(CLIPS, PLAN, 6)
    assert order_for_slot(CLIPS, PLAN, 5) != order_for_slot(CLIPS, OrderPlan(seed=4), 5)


def test_everybody_sees_every_clip_once_when_there_are_few() -> None:
    for slot in range(40):
        first = [i.item for i in order_for_slot(CLIPS, PLAN, slot) if i.kind == "clip" and not i.repeat]
        assert sorted(first) == sorted(CONDITION)


def test_each_condition_stands_at_each_position_equally_often() -> None:
    rounds = 36
    seen: Counter[tuple[int, str]] = Counter()
    for slot in range(rounds):
        for item in order_for_slot(CLIPS, PLAN, slot):
            if item.kind == "clip" and not item.repeat:
                seen[item.position, CONDITION[item.item]] += 1
    positions = {p for p, _ in seen}
    for condition, count in Counter(CONDITION.values()).items():
        assert {seen[p, condition] for p in positions} == {rounds * count // len(CLIPS)}


def test_incomplete_blocks_show_every_clip_equally_often() -> None:
    plan = OrderPlan(seed=1, clips_per_rater=9, repeat_share=0, attention_checks=0)
    seen: Counter[str] = Counter()
    for slot in range(40):
        seen.update(i.item for i in order_for_slot(CLIPS, plan, slot))
        for condition in set(CONDITION.values()):
            of_condition = [seen[c] for c in CONDITION if CONDITION[c] == condition]
            assert max(of_condition) - min(of_condition) <= 1


def test_incomplete_blocks_keep_the_share_of_conditions() -> None:
    assert condition_quota(CLIPS, 12) == {"recorded": 3, "ours": 3, "theirs": 2, "broken": 4}
    assert sum(condition_quota(CLIPS, 10).values()) == 10


@pytest.mark.parametrize(("num_clips", "limit"), [(100, 40), (36, 12), (36, 5)])
def test_everybody_sees_every_clip_with_broken_motion(num_clips: int, limit: int) -> None:
    plain = num_clips - 2
    clips = stimuli(recorded=plain // 2, ours=plain - plain // 2, broken_teleport=1, broken_slide=1)
    for slot in range(60):
        items = order_for_slot(clips, OrderPlan(seed=2, clips_per_rater=limit), slot)
        first = [i.item for i in items if i.kind == "clip" and not i.repeat]
        assert len(first) == limit
        assert {"broken_teleport-0", "broken_slide-0"} <= set(first)


def test_broken_motion_leaves_one_clip_of_every_other_condition() -> None:
    clips = stimuli(recorded=6, ours=6, broken_teleport=3, broken_slide=3)
    assert condition_quota(clips, 4) == {"recorded": 1, "ours": 1, "broken_teleport": 1, "broken_slide": 1}
    assert condition_quota(clips, 2) == {"recorded": 1, "ours": 1, "broken_teleport": 0, "broken_slide": 0}


def test_no_two_clips_of_one_scene_follow_one_another() -> None:
    scene = {s.clip: s.scene for s in CLIPS}
    for slot in range(60):
        shown = [scene[i.item] if i.kind == "clip" else None for i in order_for_slot(CLIPS, PLAN, slot)]
        assert not any(a is not None and a == b for a, b in itertools.pairwise(shown))


def test_repeats_come_late_and_after_their_first_showing() -> None:
    for slot in range(20):
        items = order_for_slot(CLIPS, PLAN, slot)
        first = {i.item: i.position for i in items if i.kind == "clip" and not i.repeat}
        repeats = [i for i in items if i.repeat]
        assert len(repeats) == 4
        assert len({i.item for i in repeats}) == 4
        assert all(i.position > first[i.item] + 1 for i in repeats)


def test_checks_ask_for_an_existing_option_and_their_ids_tell_nothing() -> None:
    checks = [i for slot in range(30) for i in order_for_slot(CLIPS, PLAN, slot) if i.kind == "check"]
    assert len(checks) == 60
    assert {i.expected for i in checks} == {1, 2, 3, 4, 5}
    assert len({i.item for i in checks}) == 60


def test_fixed_order_is_the_manifest_order_for_everybody() -> None:
    plan = OrderPlan(seed=0, fixed=True, repeat_share=0, attention_checks=0)
    for slot in (0, 7):
        assert [i.item for i in order_for_slot(CLIPS, plan, slot)] == [s.clip for s in CLIPS]


def test_one_scene_only_is_shown_nevertheless() -> None:
    same = [Stimulus(clip=str(n), condition="c", scene="s") for n in range(4)]
    assert len(order_for_slot(same, PLAN, 0)) == 4 + 2


def test_no_clips_is_an_error() -> None:
    with pytest.raises(UsageError):
        order_for_slot([], PLAN, 0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 20),
    st.floats(0, 1),
    st.integers(0, 4),
    st.integers(0, 500),
)
def test_any_plan_gives_distinct_items_at_consecutive_positions(counts, limit, share, checks, slot) -> None:
    clips = stimuli(**{f"c{n}": count for n, count in enumerate(counts)})
    plan = OrderPlan(seed=9, clips_per_rater=limit, repeat_share=share, attention_checks=checks)
    items = order_for_slot(clips, plan, slot)
    main = min(limit, len(clips))
    assert [i.position for i in items] == list(range(len(items)))
    assert len({(i.item, i.repeat) for i in items}) == len(items)
    assert sum(i.kind == "clip" and not i.repeat for i in items) == main
    assert sum(i.repeat for i in items) <= round(share * main)
