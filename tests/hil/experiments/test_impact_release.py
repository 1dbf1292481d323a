"""Release of the drives: by the detector, by an operator, or after a set time; and legs de-stressed before."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import REST_NS, ImpactExperiment, ImpactState
from hil.experiments.impact.predicted_force import Release, operator_delay_s
from hil.messages.stages import Estimate, Prediction, Samples

ZERO = (0.0,) * 6
MS = 1_000_000
COMMON = ["trial.ramp_s=0.5", "trial.settle_s=1", "record.after_s=0.5", "trial.timeout_s=20"]


def config_of(*settings: str, seed: int | None = None):
    return load_config("sim_impact", [*COMMON, *settings], seed)


def run(config, impact_ms: int | None, ticks: int = 9000, slip: float = 0.0):
    """States, cuts and forward set speeds of each tick of 1 ms, and the experiment; armed at once."""
    trial = ImpactExperiment(Rig(config), lambda *_: ())
    controller, rows = trial.controller(), []
    for number in range(1, ticks + 1):
        t_ns = number * MS
        impact_ns = None if impact_ms is None or number <= impact_ms else impact_ms * MS
        nothing = (0.0,) * 3
        found = Estimate(True, nothing, nothing, True, False, impact_ns, nothing, (math.nan, math.nan), ZERO)
        ahead = Prediction(ZERO, ZERO, (slip,) * 6, 0.0, 0.0, math.inf, True)
        samples = Samples(t_ns, (), 0, 0, DriveSample(0, 0, ZERO, 0), ValveSample(0, 0, ((0.0, 0.0),) * 2, -1))
        goal = trial.decide(samples, found, ahead, False)
        set_points = controller.control(goal, samples, None, ahead)
        rows.append((trial.state, goal.cut, goal.forward_mps, set_points.speed_radps))
        if trial.over:
            break
    return rows, trial


def ms_of(rows, state):
    return [number for number, row in enumerate(rows, 1) if row[0] == state]


def test_an_operator_cuts_the_drives_after_his_reaction_and_not_before():
    config = config_of("trial.release=operator")
    rows, trial = run(config, impact_ms=2000)
    delay_ms = operator_delay_s(config.trial, config.seed) * 1e3
    first_cut = next(number for number, row in enumerate(rows, 1) if number > 2000 and row[1])
    assert first_cut == 2000 + math.ceil(delay_ms)
    assert trial.released_ns == first_cut * MS
    assert all(not row[1] for row in rows[60 : first_cut - 1])
    assert all(row[1] for row in rows[first_cut:])
    assert trial.done
    assert len(rows) == first_cut + 1000  # settling is counted from the release


def test_an_operators_delay_is_the_seeds_and_lognormal():
    given = config_of("trial.release=operator").trial
    delays = np.array([operator_delay_s(given, seed) for seed in range(300)])
    again = operator_delay_s(config_of("trial.release=operator", seed=7).trial, 7)
    assert delays[7] == again
    assert (delays > 0.0).all()
    # mean 0.25 s, standard deviation 0.05 s: 4 standard errors of 300
    assert delays.mean() == pytest.approx(0.25, abs=4 * 0.05 / math.sqrt(300))
    assert delays.std() == pytest.approx(0.05, rel=0.25)
    logs = np.log(delays)
    assert abs(((logs - logs.mean()) ** 3).mean() / logs.std() ** 3) < 4 * math.sqrt(6 / 300)
    exact = operator_delay_s(config_of("trial.release=operator", "trial.release_spread_s=0").trial, 1)
    assert exact == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("impact_ms", [2000, 4500])
def test_timed_power_ends_at_its_time_whenever_the_impact_comes(impact_ms):
    rows, trial = run(config_of("trial.release=timed", "trial.drive_time_s=3"), impact_ms)
    began = ms_of(rows, ImpactState.RUN_UP)[0]
    assert trial.released_ns == (began + 3000) * MS
    for number, row in enumerate(rows, 1):
        assert row[1] == (not began <= number < began + 3000)
    assert trial.done
    assert len(rows) == max(began + 3000, impact_ms + 1) + 1000


def test_timed_power_that_never_reaches_the_obstacle_times_out_with_the_drives_cut():
    rows, trial = run(config_of("trial.release=timed", "trial.drive_time_s=3"), None, ticks=30_000)
    assert trial.timed_out
    assert trial.state is ImpactState.ABORTED
    assert all(row[1] for row in rows[4000:])


def test_what_pushes_on_the_obstacle_is_not_made_faster_for_its_slip():
    rows, _ = run(config_of("trial.release=operator"), impact_ms=2000, slip=0.0)
    pushed = {row[3] for row in rows[2001:2100]}
    assert len(pushed) == 1
    rows, trial = run(config_of("trial.release=operator"), impact_ms=2000, slip=0.3)
    pushed = {row[3] for row in rows[2001:2100]}
    assert len(pushed) == 1
    assert trial.released_ns is not None


def test_the_automatic_release_is_the_tick_of_the_impact():
    rows, trial = run(config_of(), impact_ms=2000)
    assert rows[1999][1] is False
    assert rows[2000][:2] == (ImpactState.IMPACT, True)
    assert trial.released_ns == trial.impact_tick_ns == 2001 * MS
    assert Release(config_of().trial, 1).due_ns(0, 5) == 5


def test_the_legs_are_destressed_by_a_way_back_and_forth_before_the_run_up():
    config = config_of("trial.destress_m=0.02")
    rows, trial = run(config, impact_ms=6000)
    rocking = [row for row in rows if row[0] == ImpactState.DESTRESS]
    assert all(not row[1] for row in rocking)
    way = np.cumsum([row[2] for row in rocking]) * 1e-3
    assert way.min() == pytest.approx(-0.02, rel=1e-3)
    assert way[-1] == pytest.approx(0.0, abs=1e-5)
    rest = [row[2] for row in rocking[-REST_NS // MS + 1 :]]
    assert max(map(abs, rest)) < 1e-12
    assert ms_of(rows, ImpactState.RUN_UP)[0] == ms_of(rows, ImpactState.DESTRESS)[-1] + 1
    assert rows[ms_of(rows, ImpactState.RUN_UP)[0] - 1][2] == 0.0  # the ramp begins at rest
    assert trial.done


def test_an_obstacle_hit_while_the_legs_are_destressed_is_a_cut_at_once():
    rows, trial = run(config_of("trial.destress_m=0.02", "trial.release=operator"), impact_ms=500)
    assert rows[499][0] == ImpactState.DESTRESS
    assert rows[500][:2] == (ImpactState.IMPACT, True)
    assert trial.hit_standing


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (["trial.release=timed", "trial.drive_time_s=0.4"], "trial.drive_time_s"),
        (["trial.destress_m=0.0001"], "trial.destress_m"),
        (["trial.release=by_hand"], "trial.release"),
        (["trial.release_delay_s=0"], "trial.release_delay_s"),
    ],
)
def test_a_release_that_cannot_be_is_refused_by_its_key(settings, key):
    with pytest.raises(ConfigError) as caught:
        config_of(*settings)
    assert [problem.key for problem in caught.value.problems] == [key]


def test_no_reaction_time_is_drawn_on_a_real_rig():
    with pytest.raises(ConfigError) as caught:
        load_config("mars_dome", ["trial.release=operator"])
    assert "trial.release" in [problem.key for problem in caught.value.problems]
