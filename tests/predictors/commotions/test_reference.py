"""Golden values of sections 9.1 to 9.8 against the readable reference."""

import math

import numpy as np
import pytest

from giveway.predictors.commotions.parameters import Box, Derived, Theta
from giveway.predictors.commotions.reference import access_order, perception, value
from giveway.predictors.commotions.reference.access_order import Triple, access_orders
from giveway.predictors.commotions.reference.rollout import EGO, TARGET, roll_out

INF = math.inf


def close(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def run(golden, name):
    config, scene, theta, noise, steps, accepted, t_accept = golden.RUNS[name]
    return roll_out(golden.scenario(*scene, steps), theta, config, noise), accepted, t_accept


def test_derived_quantities(golden):
    derived = Derived.of(golden.THETA_A)
    close(
        [derived.u_free, derived.u_0, derived.threshold, derived.u_ny, derived.f],
        [43.2808512, 173.123405, 0.00097967465, -64.9212768, 0.666666667],
    )
    assert derived.num_action_steps == 3
    derived = Derived.of(golden.THETA_B)
    close(
        [derived.u_free, derived.u_0, derived.threshold, derived.u_ny, derived.f, math.exp(-derived.decay)],
        [24.9586242, 72.3800102, 0.00408089926, -37.4379363, 1.17647059, 0.960725730],
    )
    assert derived.num_action_steps == 2


def test_free_speeds_and_gains(golden):
    config = golden.variant("AIA", 1)
    v_free = golden.THETA_B.v_free_rel * golden.scenario(*golden.S2, 1).base_speed(config)[0]
    close(v_free, [10.788, 8.7])
    gains = value.Gains(v_free=v_free, k_da=1.0)
    close(gains.k_g, [0.185391175, 0.229885057])
    close(gains.k_dv, [0.00859247198, 0.0132117849])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (
            0.25,
            (
                3.76060309,
                0.00316227766,
                0.2,
                17.7827941,
                0.0210502604,
                0.0316227766,
                0.4075,
                0.5075,
                1.2575,
                3.16227766,
                0.316227766,
                0.316227766,
                0.316227766,
                0.707106781,
            ),
        ),
        (0.5, (14.1421356, 0.01, 0.3, 31.6227766, 0.0886226925, 0.1, 0.605, 1.005, 2.505, 10, 1, 1, 1, 1)),
    ],
)
def test_unit_cube_decodes_as_specified(y, expected):
    np.testing.assert_allclose(Box.full().decode(np.full(14, y)).as_array(), expected, rtol=5e-9)


def test_second_stage_box_is_a_quarter_clipped_to_the_range():
    unit = np.array([0.5, 0.05, 0.3, 0.9, 0.5, 0.2, 0.4, 0.6, 0.98, 0.5, 0.7, 0.5, 0.1, 0.45])
    theta = Box.full().decode(unit)
    box = Box.full().around(theta)
    lower = (
        7.29266474,
        0.001,
        0.17,
        59.5662144,
        0.0431917904,
        0.0141253754,
        0.42725,
        0.95525,
        4.27645,
        5.62341325,
        1.41253754,
        0.562341325,
        0.1,
        0.784584098,
    )
    upper = (
        27.4248176,
        0.00223872114,
        0.27,
        100,
        0.181839687,
        0.0446683592,
        0.62475,
        1.45275,
        5,
        17.7827941,
        4.46683592,
        1.77827941,
        0.281838293,
        1.10956947,
    )
    np.testing.assert_allclose(box.decode(np.zeros(14)).as_array(), lower, rtol=5e-9)  # nine digits are printed
    np.testing.assert_allclose(box.decode(np.ones(14)).as_array(), upper, rtol=5e-9)  # nine digits are printed
    close(Box.full().encode(theta), unit, 1e-12)


def test_entry_and_exit_times():
    chi = np.array([20.0, 6, 6, 3, -3, -6, 20, 3])
    v = np.array([8.0, 8, 0, 8, 8, 8, 0, 0])
    close(access_order.entry_time(chi, np.array(6.0), v), [1.75, -INF, -INF, -INF, -INF, -INF, INF, -INF])
    close(access_order.exit_time(chi, np.array(6.0), v), [3.25, 1.5, INF, 1.125, 0.375, -INF, INF, INF])


def test_observation_spread():
    chi_self = np.array([10, 5, 6.75, 9.45, 39.425, 3, 8, 0.5])
    chi_other = np.array([40, 5, 56, 39.425, 9.45, -4, 30, 0.5])
    sigma = [0.05, 0.05, 0.05, 0.11, 0.11, 0.05, math.pi / 2, 0.05]
    expected = [23.192201, 0.997307829, 36.5931998, 29.5723523, 7.08836346, 0.623302433, 30.0700207, 0.0633771314]
    actual = [perception.observation_spread(*args) for args in zip(chi_self, chi_other, sigma, strict=True)]
    close(actual, expected)


def test_filter_without_noise(golden):
    rollout, _, _ = run(golden, "R1")
    expected = [
        (54.7391497, 9.99529204, 494.883741, -3.15212574, 24.9982301),
        (53.1061677, 9.98928942, 352.695281, -5.78321054, 24.9693924),
        (51.3270306, 9.98266828, 268.683042, -8.13359930, 24.8993684),
    ]
    for step, row in enumerate(expected):
        belief = rollout.thoughts[step][TARGET].belief
        p = belief.covariance[0]
        close([*belief.mean[0], p[0, 0], p[0, 1], p[1, 1]], row)


def test_filter_with_scripted_noise(golden):
    rollout, _, _ = run(golden, "R4")
    expected = {
        TARGET: [
            (43.4712388, 9.51259707, 176.998439, -36.3878453, 226.304504, 49.5059159, 4.49182983),
            (41.4100203, 9.57718938, 158.005476, -64.3099638, 219.343529, 29.2573454, 2.40985473),
            (32.4670753, 13.5263516, 147.336291, -82.7967727, 205.176075, 42.5989990, 0),
        ],
        EGO: [
            (8.90472232, 6.74797635, 13.3387069, -21.7937430, 135.578918, 12.5569412, 10.4148871),
            (10.2363336, 1.97579324, 16.5176711, -29.3992092, 100.949305, 7.52845910, 12.8145985),
            (6.99154940, 6.34864950, 15.7836896, -24.2206582, 62.1166342, 6.54598215, 8.22741789),
        ],
    }
    for vehicle, rows in expected.items():
        for step, row in enumerate(rows):
            thought = rollout.thoughts[step][vehicle]
            p = thought.belief.covariance[0]
            close([*thought.belief.mean[0], p[0, 0], p[0, 1], p[1, 1], *thought.percept[0]], row)


@pytest.mark.parametrize("jerk", [True, False])
def test_access_orders(golden, jerk):
    for line in golden.ACCESS_ORDERS.strip().splitlines():
        words = [float(word.split("/")[0 if jerk else -1]) for word in line.split()]
        d, v, other_d, other_v, t_in, t_out, *expected = (np.array(word) for word in words)
        c_other = np.array(6.0)
        assert access_order.entry_time(other_d, c_other, other_v) == t_in
        assert access_order.exit_time(other_d, c_other, other_v) == t_out
        orders = access_orders(
            d=d,
            c=np.array(4.25),
            v=v,
            v_free=np.array(10.0),
            other_d=other_d,
            other_c=c_other,
            other_t_in=t_in,
            other_t_out=t_out,
            d_safe=3.0,
            t_safe=1.0,
            regain_s=10.0 if jerk else 0.5,
        )
        for triple, numbers in ((orders.first, expected[:3]), (orders.second, expected[3:])):
            assert triple.possible == (not np.isnan(numbers[0])), line
            if triple.possible:
                close([triple.acceleration, triple.duration, triple.wait], numbers, 1e-8)


def test_value_rate():
    gains = value.Gains(v_free=np.array(10.0), k_da=0.5)
    v = np.array([10.0, 5, 0, 5, 15, 20])
    close(gains.rate(v, np.array([0.0, 0, 0, 2, 0, 0])), [1, 0.75, 0, -1.25, 0.75, 0], 1e-12)


@pytest.mark.parametrize(
    ("t_delta", "duration", "expected"),
    [
        (30, 0.5, (0.4971229763, 0.1240414534, 0.04130731541, 0.01548128715, 0.006190127873)),
        (100, 0.21, (0.2098472352, 0.02202861422, 0.003083631863, 0.0004856366666, 8.158300088e-05)),
        (30, 10, (8.928816843, 42.92644958, 280.5831173, 2079.594081, 16506.06425)),
        (10, 25, (11.87660179, 107.5844297, 1510.262578, 25516.25282, 476256.9279)),
    ],
)
def test_moments(t_delta, duration, expected):
    actual = value.moments(np.array(float(duration)), math.log(2) / t_delta)
    np.testing.assert_allclose(actual, expected, rtol=5e-10)


@pytest.mark.parametrize(
    ("start", "v", "a", "j", "duration", "expected"),
    [
        (0, 10, 0, 0, INF, 43.2808512),
        (12, 10, 0, 0, INF, 32.8007516),
        (1, 5, 0, 0, 3, 2.12414237),
        (0.5, 5, 1, 0, 2, 0.649264189),
        (0.5, 8, -4, 0, 2, -14.3157555),
        (0, 5, -1, -4, 0.5, -0.724289131),
        (0, 5, 0.5, 2, 0.5, 0.114058598),
    ],
)
def test_segments(start, v, a, j, duration, expected):
    numbers = {"start": start, "v": v, "a": a, "j": j, "duration": duration}
    actual = value.segment_value(
        **{k: np.array(float(x)) for k, x in numbers.items()},
        gains=value.Gains(v_free=np.array(10.0), k_da=0.5),
        decay=math.log(2) / 30,
    )
    np.testing.assert_allclose(actual, expected, rtol=5e-9)


@pytest.mark.parametrize(
    ("jerk", "v", "a", "j", "order", "expected"),
    [
        (True, 5, -1, 4, (0.9, 10, 0), (37.9049360, 0.215514671, -0.154797973)),
        (True, 5, 0, 0, (-1.5, 3, 2.5), (30.3858711, 0.173735311, -0.196879685)),
        (True, 5, 0, 0, (-1.5, 3, INF), (2.36324546, 0.0136497932, -0.346402032)),
        (True, 10, 0, 0, (0, 0, 0), (43.2808512, 0.244918662, -0.124353002)),
        (False, 5, 2, 0, (8, 0.5, 0), (26.4339791, 0.151513027, -0.218719949)),
        (False, 5, 0, 0, (-1.5, 3, 2.5), (-41.8778837, -0.237285933, -0.548963246)),
        (False, 5, 0, 0, (0, 0, INF), (32.4606384, 0.185333200, -0.185333200)),
    ],
)
def test_complete_plans(golden, jerk, v, a, j, order, expected):
    acceleration, duration, wait = (np.array(float(x)) for x in order)
    triple = Triple(acceleration=acceleration, duration=duration, wait=wait, possible=np.array(True))
    derived = Derived.of(golden.THETA_A)
    total = value.plan_value(
        v=np.array(float(v)),
        a=np.array(float(a)),
        j=np.array(float(j)),
        triple=triple,
        gains=value.Gains(v_free=np.array(10.0), k_da=0.5),
        decay=derived.decay,
        action_s=0.5,
        regain_s=10.0 if jerk else 0.5,
    )
    squashed = [value.squash(total, triple, derived.u_0, penalty) for penalty in (0.0, derived.u_ny)]
    close([total, *squashed], expected, 6e-8)


def test_one_decision_with_acceleration_control(golden):
    rollout, _, _ = run(golden, "R1")
    thought = rollout.thoughts[0][TARGET]
    close(thought.percept[0], [54.7391497, 9.99529204])
    close(thought.behaviors.acceleration[0], [43.3299636, -1.09212637])
    close(thought.behaviors.predicted.chi[0], [44.3252582, 49.8780195])
    close(thought.behaviors.predicted.v[0], [31.6602738, 9.44922886])
    close(thought.own.chi[0], [6.51, 6.33, 6.15, 5.97, 5.79], 1e-12)
    close(thought.own.v[0], [0, 0.4, 1, 1.6, 2.2], 1e-12)
    close(thought.other_value[0, :, 0], [-0.999928291, -0.992492422, -1, -1, -1])
    close(thought.other_value[0, :, 1], [0.00417526399, -0.164824998, -0.238228343, -0.119137657, 0.123634005])
    np.testing.assert_allclose(
        thought.probability[0, :, 0],
        [3.60524414e-18, 4.18739758e-15, 5.84347134e-14, 4.98716582e-16, 3.02327798e-20],
        rtol=1e-6,
    )
    close(thought.first[0, :, 1], [-0.605628049, -0.574102425, -0.528407823, -0.485749875, -0.447258221])
    close(thought.second[0, :, 1], -1.0)
    close(thought.values[0], [-0.403752033, -0.382734950, -0.352271882, -0.323833250, -0.298172147])


def test_one_decision_with_jerk_control(golden):
    rollout, _, _ = run(golden, "R3")
    ego, target = rollout.thoughts[0]
    close(target.behaviors.acceleration[0], [3.09545612, -1.92607959])
    close(target.behaviors.predicted.chi[0], [29.508446, 30.1361379])
    close(target.own.a[0], [-1, -0.5, 0, 0.5, 1], 1e-12)
    close(target.other_value[0, :, 0], [0.231475190, 0.192440034, 0.106910068, -0.0474402936, -0.289107380])
    close(target.other_value[0, :, 1], [0.137865748, 0.140359636, 0.142512052, 0.144388429, 0.146038533])
    close(target.probability[0, :, 0], [0.976896073, 0.889261122, 0.194022861, 0.000464934526, 2.75893356e-08])
    best = np.maximum(target.first, target.second)[0]
    np.testing.assert_array_equal(best, target.second[0])
    close(best[:, 0], [0.188126653, 0.186280514, 0.185264412, 0.184134303, 0.182656041])
    close(best[:, 1], [0.182766190, 0.182284095, 0.181472311, 0.180321574, 0.178822130])
    close(target.values[0], [0.125335204, 0.123891970, 0.121472044, 0.120215564, 0.119214753])
    close(ego.percept[0], [11.1500255, 9.88316098])
    close(ego.behaviors.acceleration[0], [0.0116839016, -12.5225936])
    close(ego.other_value[0, :, 0], [-0.124358895] * 4 + [-0.125017181])
    close(ego.other_value[0, :, 1], [0.0159497377, 0.0160675334, 0.0161819486, 0.0162931268, 0.0164012033])
    close(ego.probability[0, :, 0], [0.00363920094, 0.00362215595, 0.00360567626, 0.00358973440, 0.00348173973])
    close(ego.values[0], [0.0959930933, 0.0936854027, 0.0915629888, 0.0892178886, 0.0866412074])
    close([ego.surplus[0], target.surplus[0]], [0.00443010, 0.00386316])


@pytest.mark.parametrize("name", ["R1", "R2", "R3", "R4", "R5", "R6"])
def test_complete_rollouts(golden, name):
    config = golden.RUNS[name][0]
    rollout, accepted, t_accept = run(golden, name)
    expected = golden.trace(name)
    assert rollout.accepted[0] == accepted
    close(rollout.t_accept_s[0], t_accept)
    assert int(rollout.open[0].sum()) == len(expected)
    for step, row in enumerate(expected):
        states = [(rollout.chi[0, step, k], rollout.v[0, step, k], rollout.a[0, step, k]) for k in (EGO, TARGET)]
        target = rollout.thoughts[step][TARGET]
        close([*states[0], *states[1], *target.belief.mean[0], *target.percept[0]], row[1:11])
        decisions = [target] if not config.interactive else [target, rollout.thoughts[step][EGO]]
        for thought, (best, surplus, act) in zip(decisions, row[11:].reshape(-1, 3), strict=True):
            chosen = config.action_set[thought.choice[0]] if thought.surplus[0] > 0 else 0.0
            assert chosen == best
            close(thought.surplus[0], surplus)
            assert thought.act[0] == bool(act)


def test_a_missing_parameter_is_named():
    from giveway.core.errors import UsageError

    values = Box.full().decode(np.full(14, 0.5)).as_dict()
    del values["k_da"]
    with pytest.raises(UsageError, match="incomplete") as caught:
        Theta.checked(values)
    assert "k_da" in str(caught.value)
