"""Candidate speed profiles against what others will do: which one is cheapest."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.planning.idm import CLEAN
from giveway.planning.occupancy import blocked_interval, covered_interval
from giveway.planning.profiles import (
    CHECK_EVERY,
    CHECK_STEPS,
    DT_S,
    NUM_CANDIDATES,
    PLAN_STEPS,
    ROW_CAR,
    ROW_COURTESY,
    ROW_FACTS,
    ROW_LENGTH,
    ROW_PROBABILITY,
    ROW_WIDTH,
    ProfileParameters,
    continued_plan,
    speed_profiles,
)
from giveway.planning.right_of_way import imposed_accel
from giveway.roads.route_tables import descend, nearest_row

ALONG = 0.82
"""Cosine of the largest angle (35 degrees) to the own path at which a car is taken to join it, not to cross it."""

JOIN_STEP, JOIN_AT, JOIN_TO = range(3)
"""Columns of ``joins``, see :func:`block_rows`."""

LEADS, FOLLOWS, NEITHER = -3, -2, -1
"""Instead of the step at which a mode joins: it is on the own path ahead, or behind, or does nothing of that kind."""

FOLLOWED_STEP = 4
"""Step at which the deceleration imposed on a car behind is looked at: after 1 s."""

IMPACT_STEPS = 10
"""A collision is as bad in version 3 as the own speed this many steps after it begins: braking through it helps."""

SOON_STEP = 5
"""A car that joins ahead up to this step, after 1.2 s, is minded like one that is there; later ones form gaps."""

MAY_IMPOSE, KEPT, REAR, NEAR = range(4)
"""Columns of ``found``, see :func:`interaction_cost`."""


@njit(cache=True, nogil=True)
def block_rows(
    path: FloatArray,
    coarse: FloatArray,
    step: float,
    s_own: float,
    own_half_length: float,
    own_half_width: float,
    rows: int,
    row_states: FloatArray,
    row_facts: FloatArray,
    look_ahead: float,
    blocked: FloatArray,
    joins: FloatArray,
    approach: FloatArray,
) -> int:
    """Fill the intervals of the own path that every predicted mode blocks; modes that block nothing are dropped.

    A mode *joins* if it comes into the own path later than at the first step and drives in its direction there, and the
    own car has not passed that place.

    Args:
        path: (P, 6) table.
        coarse: (C, 5) its coarse points.
        step: its spacing [m].
        s_own: own arc length [m].
        own_half_length: with margin [m].
        own_half_width: with margin [m].
        rows: number of modes, all cars together.
        row_states: (rows, 25, 4) x, y, cosine and sine of the heading at +0.2 s, +0.4 s, ...; NaN where it is gone.
        row_facts: (rows, 5) see :data:`ROW_LENGTH`; the facts of the modes kept are moved to the front.
        look_ahead: how far to look [m].
        blocked: (rows, 25, 2) written: from, to.
        joins: (rows, 3) written: step at which the mode joins, FOLLOWS if it drives behind the own car already, else
            NEITHER; arc length of the joined point, where its center is then; its largest blocked arc length then.
            Without rows: not wanted.
        approach: (rows, 25) written for modes that join: way to the joined point at each step [m]; not positive beyond.

    Returns:
        How many modes block something.
    """
    here = min(max(int(s_own / step), 0), path.shape[0] - 1)
    first = max(here - int(15.0 / step), 0)
    last = min(here + int(look_ahead / step) + 1, path.shape[0] - 1)
    kept = 0
    for r in range(rows):
        at = -1
        joined = -1
        aligned = False
        half_length = 0.5 * row_facts[r, ROW_LENGTH]
        half_width = 0.5 * row_facts[r, ROW_WIDTH]
        for h in range(CHECK_STEPS):
            x = row_states[r, h, 0]
            y = row_states[r, h, 1]
            if math.isnan(x):
                blocked[kept, h, 0] = np.inf
                blocked[kept, h, 1] = -np.inf
                continue
            at = nearest_row(path, coarse, x, y, first, last) if at < 0 else descend(path, x, y, at)
            box = (path[at], at * step, x, y, row_states[r, h, 2], row_states[r, h, 3], half_length, half_width)
            if joins.size > 0:
                low, high = covered_interval(*box, own_half_length, own_half_width)
            else:
                low, high = blocked_interval(*box, own_half_length, own_half_width)
            blocked[kept, h, 0] = low
            blocked[kept, h, 1] = high
            if low < np.inf:
                joined = h if joined < 0 else joined
                aligned = aligned or row_states[r, h, 2] * path[at, 2] + row_states[r, h, 3] * path[at, 3] > ALONG
        if joined >= 0:
            if joins.size > 0:
                center = 0.5 * (blocked[kept, joined, 0] + blocked[kept, joined, 1])
                meets = aligned and joined > 0 and center > s_own
                follows = aligned and joined == 0 and center <= s_own
                leads = aligned and joined == 0 and center > s_own
                joins[kept, JOIN_STEP] = joined if meets else FOLLOWS if follows else LEADS if leads else NEITHER
                joins[kept, JOIN_AT] = center
                joins[kept, JOIN_TO] = blocked[kept, joined, 1]
                if meets or follows:
                    _ways_to(row_states[r], joined if meets else FOLLOWED_STEP + 1, approach[kept])
            if kept < r:
                for fact in range(ROW_FACTS):  # a slice takes Numba a second to compile
                    row_facts[kept, fact] = row_facts[r, fact]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _ways_to(states: FloatArray, joined: int, out: FloatArray) -> None:
    """Way that a mode drives from each step to the one at which it joins [m], up to that step."""
    out[joined] = 0.0
    for h in range(joined - 1, -1, -1):
        out[h] = out[h + 1] + math.hypot(states[h + 1, 0] - states[h, 0], states[h + 1, 1] - states[h, 1])


@njit(cache=True, nogil=True)
def imposed_on(trial: FloatArray, profile: int, join: FloatArray, approach: FloatArray, margin: float) -> float:
    """Acceleration that a car which joins the own path needs if the own car is there before it [m/s^2].

    a_req = a_IDM(v_j, gap, v) at the time at which the front of the own car reaches the joined point, where the other
    car sees it; NaN if the own car is there later.
    """
    joined = int(join[JOIN_STEP])
    for h in range(-1, joined):
        k = CHECK_EVERY * (h + 1)
        if trial[0, k, profile] >= join[JOIN_AT]:
            here = max(h, 0)
            way = approach[here] - approach[here + 1]
            gap = trial[0, k, profile] - join[JOIN_TO] + approach[here] + (way if h < 0 else 0.0) + margin
            return imposed_accel(way / (CHECK_EVERY * DT_S), gap, trial[1, k, profile], CLEAN)
    return np.nan


@njit(cache=True, nogil=True)
def interaction_cost(
    trial: FloatArray,
    profile: int,
    rows: int,
    blocked: FloatArray,
    row_facts: FloatArray,
    p: ProfileParameters,
    enough: float,
    joins: FloatArray,
    approach: FloatArray,
    found: FloatArray,
) -> float:
    """Cost of one profile against everything predicted; infinite if it reaches ``enough``.

    A car with the right of way over another one (courtesy 0) relies on it, unless that one is ahead in its way already
    or will be at once. For each mode, the first instant at which it blocks the path decides who is first. If the own
    car is past it, the mode can only run into its rear: that costs courtesy, and part of a collision if the own car had
    moved in front of it. Otherwise any later overlap is a collision, and coming closer than the wanted gap costs as
    well. Probabilities of the modes of a car add up, cars are taken as independent:
    P = 1 - prod_cars (1 - sum_modes p).

    In version 3 a car that joins behind the own one reacts: what counts is the deceleration imposed on it,
    w max(0, -a_req - 0.5)^2. If it exceeds what is allowed, ``found[MAY_IMPOSE]`` and 1 m/s^2 more for the car whose
    gap was chosen before (``KEPT``), it is part of a collision, and the car is taken not to react. Also written into
    ``found`` then: the car before which the own one joins (``REAR``; -1 for none), and the probability of a collision
    before ``near_s`` (``NEAR``). A car ahead, or one that joins ahead, may brake: the wanted gap to it grows with the
    speed of approach. If it is there soon, the gap counts as long as it is short, not only where it is shortest. Using
    up a margin that is partly used up is no collision, so that braking always pays.
    """
    negotiates = joins.size > 0
    survive = 1.0
    calm = 1.0
    near = 0.0
    soonest = PLAN_STEPS
    severity = 0.0
    gap_cost = 0.0
    courtesy = 0.0
    car = -1.0
    hit = 0.0
    for r in range(rows):
        if row_facts[r, ROW_CAR] != car:
            survive *= 1.0 - min(hit, 1.0)
            calm *= 1.0 - min(near, 1.0)
            hit = 0.0
            near = 0.0
            car = row_facts[r, ROW_CAR]
        weight = row_facts[r, ROW_PROBABILITY]
        polite = row_facts[r, ROW_COURTESY]
        if negotiates and joins[r, JOIN_STEP] == FOLLOWS and blocked[r, FOLLOWED_STEP, 0] < np.inf:
            k = CHECK_EVERY * (FOLLOWED_STEP + 1)
            gap = trial[0, k, profile] - blocked[r, FOLLOWED_STEP, 1] + p.margin_m
            way = approach[r, FOLLOWED_STEP] - approach[r, FOLLOWED_STEP + 1]
            imposed = imposed_accel(way / (CHECK_EVERY * DT_S), gap, trial[1, k, profile], CLEAN)
            more = max(-imposed - p.free_decel_mps2, 0.0)
            courtesy += weight * polite * p.w_imposed * more * more / p.w_courtesy
            continue
        if negotiates and joins[r, JOIN_STEP] >= 0.0:
            imposed = imposed_on(trial, profile, joins[r], approach[r], p.margin_m)
            if not math.isnan(imposed):
                joined = joins[r, JOIN_STEP]
                share = weight * (1.0 if polite > 0.0 else 0.1)
                allowed = min(found[MAY_IMPOSE], p.owed_decel_mps2) if polite == 1.0 else found[MAY_IMPOSE]
                allowed += p.revoke_mps2 if car == found[KEPT] else 0.0
                more = max(-imposed - p.free_decel_mps2, 0.0)
                courtesy += share * p.w_imposed * more * more / p.w_courtesy
                if joined < soonest:
                    soonest = joined
                    found[REAR] = car
                if imposed >= -allowed:
                    continue
                # More than may be imposed: it is not taken to react, so that what follows sees the collision.
                courtesy += share * p.cut_in * p.w_collision / p.w_courtesy
        ego_first = False
        cuts_in = False
        decided = False
        relies = False
        worst_gap = 0.0
        disturbed = 0.0
        eaten = min(max(trial[0, 0, profile] - blocked[r, 0, 0], 0.0), p.margin_m) if negotiates else 0.0
        may_brake = negotiates and (joins[r, JOIN_STEP] >= 0.0 or joins[r, JOIN_STEP] == LEADS)
        is_close = may_brake and joins[r, JOIN_STEP] <= SOON_STEP
        lead_speed, lasting = 0.0, 0.0
        for h in range(CHECK_STEPS):
            low = blocked[r, h, 0]
            if low == np.inf:
                continue
            low += eaten
            high = blocked[r, h, 1]
            k = CHECK_EVERY * (h + 1)
            s = trial[0, k, profile]
            v = trial[1, k, profile]
            t = k * DT_S
            trust = 1.0 if t <= p.horizon_s else 0.5
            if not decided:
                decided = True
                relies = polite == 0.0 and (t > p.reliance_s or low < trial[0, 0, profile])
                before = trial[0, k - CHECK_EVERY, profile]
                if s >= high or (h == 0 and before >= 0.5 * (low + high)):
                    ego_first = True
                    cuts_in = h > 0
                    follow = v * p.courtesy_s + 1.0
                    disturbed = trust * min(max(1.0 - (s - high) / follow, 0.0), 1.0)
            if relies:
                trust *= 0.1
            if ego_first:
                if s < high:
                    disturbed = max(disturbed, trust)
                    if cuts_in:
                        hit += p.cut_in * trust * weight
                        severity = max(severity, p.cut_in * trust * weight)
                        break
                continue
            if s > low:
                sooner = 1.0 + (PLAN_STEPS * DT_S - t) / (PLAN_STEPS * DT_S)
                hit += trust * weight
                near += trust * weight if t <= p.near_s else 0.0
                if negotiates:  # whoever hits a car can still hit it more slowly
                    v = trial[1, min(k + IMPACT_STEPS, PLAN_STEPS), profile]
                severity = max(severity, trust * weight * sooner * (1.0 + 0.1 * v))
                break
            wanted = p.min_gap_m + p.headway_s * v
            if may_brake:
                if h + 1 < CHECK_STEPS and blocked[r, h + 1, 0] < np.inf:
                    lead_speed = max(blocked[r, h + 1, 0] + eaten - low, 0.0) / (CHECK_EVERY * DT_S)
                closing = max(v * v - lead_speed * lead_speed, 0.0)
                wanted += closing / (2.0 * p.closing_decel_mps2)
            short = 1.0 - (low - s) / wanted
            if short > worst_gap:
                worst_gap = short
            lasting += max(short, 0.0) ** 2 if is_close else 0.0
        courtesy += weight * polite * disturbed
        gap_cost += (0.1 if relies else 1.0) * weight * (worst_gap * worst_gap + p.lasting_gap / CHECK_STEPS * lasting)
        if p.w_collision * severity + p.w_gap * gap_cost + p.w_courtesy * courtesy >= enough:
            return np.inf
    survive *= 1.0 - min(hit, 1.0)
    if negotiates:
        found[NEAR] = 1.0 - calm * (1.0 - min(near, 1.0))
    return p.w_collision * ((1.0 - survive) + severity) + p.w_gap * gap_cost + p.w_courtesy * courtesy


@njit(cache=True, nogil=True)
def choose_profile(
    path: FloatArray,
    coarse: FloatArray,
    step: float,
    s: float,
    v: float,
    a: float,
    length: float,
    width: float,
    desired_speed: float,
    previous: FloatArray,
    rows: int,
    row_states: FloatArray,
    row_facts: FloatArray,
    p: ProfileParameters,
    blocked: FloatArray,
    trial: FloatArray,
    cost: FloatArray,
) -> int:
    """The number of the cheapest candidate; ``trial`` holds all of them. The first one wins a tie.

    Profiles are looked at in order of their own cost; once that alone exceeds the best total, no other can win.
    """
    reach = PLAN_STEPS * DT_S * (max(v, desired_speed) + 1.0) + 15.0
    half_length = 0.5 * length + p.margin_m
    half_width = 0.5 * width + p.side_margin_m
    none, nothing = np.empty((0, 0)), np.empty(0)
    kept = block_rows(
        path, coarse, step, s, half_length, half_width, rows, row_states, row_facts, reach, blocked, none, none
    )
    speed_profiles(path, step, s, v, a, desired_speed, p, trial, cost)
    continued_plan(path, step, previous, v, a, desired_speed, p, trial, cost)
    best_cost = np.inf
    best = 0
    for _ in range(NUM_CANDIDATES):
        profile = -1
        for i in range(NUM_CANDIDATES):
            if cost[i] < best_cost and (profile < 0 or cost[i] < cost[profile]):
                profile = i
        if profile < 0:
            break
        own = cost[profile]
        total = own + interaction_cost(
            trial, profile, kept, blocked, row_facts, p, best_cost - own, none, none, nothing
        )
        cost[profile] = np.inf
        if total < best_cost:
            best_cost = total
            best = profile
    return best
