"""The load controller on a rig whose loads follow the cylinders' pressures at once, by statics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import load_config
from hil.config.rig import Rig
from hil.control.load_state import doubt_names, steady_loads
from hil.control.normal_force import load_controller
from hil.control.wheel_speed import DirectSetPoints
from hil.messages.loads import LoadGoal, LoadMode
from hil.messages.operator_input import SetLoads
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from models.rover import rcp
from models.statics import RoverStatics

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

CONFIG = load_config("sim_normal_force")
PASSIVE_N = np.array([150.0, 190.0, 300.0, 240.0, 180.0, 217.0])
STATICS = RoverStatics(rcp())
# tractions follow as the controller takes them to
INFLUENCE = STATICS.influence(rcp().neutral()) + steady_loads(Rig(CONFIG)).by_traction
INFLUENCE = INFLUENCE[:, STATICS.columns(CONFIG.layout.joints)]
PERIOD_S, LINE_S = 1e-3, 0.05
NM_PER_PA = math.pi / 4.0 * 0.0381**2 * 0.25
UNIFORM, HOLD, PASSIVE = LoadGoal(LoadMode.UNIFORM), LoadGoal(LoadMode.HOLD), LoadGoal(LoadMode.PASSIVE)
LEAST_N = CONFIG.normal_force.least_load_N


class ControlledRover:
    """Regulators, lines with a time constant, loads by statics; any reading can be falsified."""

    def __init__(self, config=CONFIG) -> None:
        self.controller = load_controller(Rig(config), DirectSetPoints())
        self.pressure_Pa = np.zeros((3, 2))
        self.ticks = 0
        self.stuck: int | None = None
        self.stuck_open: tuple[int, int] | None = None
        self.falsify = lambda readings: None

    @property
    def torque_Nm(self):
        return (self.pressure_Pa[:, 0] - self.pressure_Pa[:, 1]) * NM_PER_PA

    @property
    def load_N(self):
        return PASSIVE_N + INFLUENCE @ self.torque_Nm

    def tick(self, goal: LoadGoal | None, operator=()):
        readings = {"pressure": self.pressure_Pa.copy(), "load": self.load_N, "finite": True}
        self.falsify(readings)
        t_ns = round(self.ticks * PERIOD_S * 1e9)
        pressures = tuple(map(tuple, readings["pressure"].tolist()))
        valves = type("Valves", (), {"pressure_Pa": pressures, "t_ns": t_ns})
        samples = Samples(t_ns, (), 0, 0, None, valves, operator=operator)
        estimate = Estimate(True, (), (), True, False, None, (), (0.0, 0.0), (0.0,) * 6)
        measured_Nm = (readings["pressure"][:, 0] - readings["pressure"][:, 1]) * NM_PER_PA
        prediction = Prediction(
            tuple(readings["load"].tolist()), (0.01,) * 6, (0.1,) * 6, 0.05, math.nan, math.inf, readings["finite"],
            cylinder_torque_Nm=tuple(measured_Nm.tolist()), cylinder_angle_rad=(0.0,) * 3, gravity=(0.0, 0.0, -1.0),
        )  # fmt: skip
        asked = self.controller.control(Goal(2, False, loads=goal), samples, estimate, prediction)
        self._move(asked)
        self.ticks += 1
        return asked

    def _move(self, asked) -> None:
        supply = np.array(asked.regulators_Pa or (0.0,) * 3)[:, None]
        powered = np.array(asked.valves or ((False, False),) * 3)
        if self.stuck_open is not None:
            powered[self.stuck_open] = True
        target = np.where(powered, supply, 0.0)
        step = (target - self.pressure_Pa) * (1.0 - math.exp(-PERIOD_S / LINE_S))
        if self.stuck is not None:
            step[self.stuck] = 0.0
        self.pressure_Pa += step

    def run(self, goal, seconds):
        """All set-points, and the largest change of a wheel's load in a tick [N]."""
        asked, steps = [], [0.0]
        for _ in range(round(seconds / PERIOD_S)):
            before = self.load_N
            asked.append(self.tick(goal))
            steps.append(float(np.abs(self.load_N - before).max()))
        return asked, max(steps)


def off(asked) -> bool:
    return not any(map(any, asked.valves)) and not any(asked.regulators_Pa)


def test_uniform_is_reached_as_far_as_statics_allow():
    rig = ControlledRover()
    rig.run(UNIFORM, 3.0)
    best = PASSIVE_N + INFLUENCE @ np.linalg.lstsq(INFLUENCE, PASSIVE_N.mean() - PASSIVE_N, rcond=None)[0]
    assert rig.load_N == pytest.approx(best, abs=0.5)


def test_no_change_of_mode_steps_a_load():
    """60 N m/s, times the largest influence of 2.6 N/(N m), are 0.16 N in a tick; allocation comes each tenth."""
    rig, largest = ControlledRover(), []
    for goal, seconds in ((PASSIVE, 0.1), (UNIFORM, 2.0), (HOLD, 0.5), (UNIFORM, 0.5), (PASSIVE, 2.0), (None, 0.2)):
        largest.append(rig.run(goal, seconds)[1])
    assert max(largest) < 0.5
    assert rig.load_N == pytest.approx(PASSIVE_N, abs=0.5)


def test_valves_are_off_when_passive_and_after_the_torques_have_gone():
    rig = ControlledRover()
    assert all(map(off, rig.run(PASSIVE, 0.1)[0]))
    rig.run(UNIFORM, 1.0)
    asked, _ = rig.run(PASSIVE, 2.0)
    assert not off(asked[0])
    assert off(asked[-1])
    assert asked[-1].loads.mode == LoadMode.PASSIVE


def test_hold_keeps_the_torques_whatever_the_loads_do():
    rig = ControlledRover()
    rig.run(UNIFORM, 0.5)
    rig.run(HOLD, 0.5)
    before = rig.torque_Nm
    rig.falsify = lambda readings: readings.update(load=readings["load"] + np.array([40, -40, 0, 0, 0, 0]))
    rig.run(HOLD, 1.0)
    assert rig.torque_Nm == pytest.approx(before, abs=0.3)


def nothing_measured(readings):
    readings["pressure"][1, 0] = math.nan


def load_unknown(readings):
    readings["load"][3] = math.nan


def model_spoilt(readings):
    readings["finite"] = False


@pytest.mark.parametrize(
    ("fault", "name"),
    [(nothing_measured, "pressure_unknown"), (load_unknown, "load_unknown"), (model_spoilt, "load_unknown")],
)
def test_all_valves_are_off_in_the_tick_of_a_fault_until_an_operator_sets_the_loads_anew(fault, name):
    rig = ControlledRover()
    rig.run(UNIFORM, 0.5)
    rig.falsify = fault
    asked = rig.tick(UNIFORM)
    assert off(asked)
    assert doubt_names(asked.loads.binding) == (name,)
    rig.falsify = lambda readings: None
    assert all(map(off, rig.run(UNIFORM, 0.2)[0]))
    rig.tick(UNIFORM, operator=(SetLoads("uniform"),))
    assert not off(rig.run(UNIFORM, 0.2)[0][-1])


def test_a_solver_without_an_answer_lets_go_in_its_tick():
    rig = ControlledRover()
    rig.run(UNIFORM, 0.5)
    allocate = rig.controller._allocator.allocate
    failing = {"now": True}

    def fails(*args):
        found = allocate(*args)
        return type(found)(found.load_N, (math.nan,) * 3, found.pressure_Pa, found.binding) if failing["now"] else found

    rig.controller._allocator.allocate = fails
    asked, _ = rig.run(UNIFORM, 0.011)
    first = next(one for one in asked if one.loads.mode == LoadMode.PASSIVE)
    assert off(first)
    assert doubt_names(first.loads.binding) == ("no_solution",)


def test_a_chamber_that_does_not_move_is_noticed_and_a_slow_line_is_not_blamed():
    rig = ControlledRover()
    rig.stuck = 0
    asked, _ = rig.run(UNIFORM, 3.0)
    assert doubt_names(asked[-1].loads.binding) == ("pressure_does_not_follow",)
    assert off(asked[-1])


def test_a_valve_that_sticks_open_does_nothing_under_its_closed_regulator_and_is_noticed_when_that_opens():
    """Both chambers of the cylinder then have the same pressure: it does not push, whatever is wanted."""
    rig = ControlledRover()
    rig.run(UNIFORM, 2.0)
    pushing = 0
    used = int(rig.pressure_Pa[pushing].argmax())
    assert rig.pressure_Pa[pushing, used] > CONFIG.normal_force.follow_kPa * 1e3
    rig.run(PASSIVE, 2.0)
    rig.stuck_open = pushing, 1 - used
    asked, _ = rig.run(PASSIVE, 0.5)
    assert off(asked[-1])
    assert not asked[-1].loads.binding
    assert rig.load_N == pytest.approx(PASSIVE_N, abs=0.5)
    asked, _ = rig.run(UNIFORM, 3.0)
    assert abs(rig.torque_Nm[pushing]) < 0.1
    assert doubt_names(asked[-1].loads.binding) == ("pressure_does_not_follow",)
    assert off(asked[-1])


@settings(deadline=None, max_examples=15)
@given(
    kind=st.sampled_from(["pressure", "load", "finite", "stuck", "solver"]),
    at=st.integers(50, 1200),
    which=st.integers(0, 2),
)
def test_loads_stay_inside_their_bounds_whatever_fails_and_the_valves_end_off(kind, at, which):
    rig, lowest = ControlledRover(), []
    for tick in range(2200):
        if tick == at:
            if kind == "pressure":
                rig.falsify = lambda readings: readings["pressure"].__setitem__((which, 0), math.nan)
            elif kind == "load":
                rig.falsify = lambda readings: readings["load"].__setitem__(which, math.inf)
            elif kind == "finite":
                rig.falsify = model_spoilt
            elif kind == "stuck":
                rig.stuck = which
            else:
                rig.controller._allocator.allocate = lambda *_: type(
                    "Failed", (), {"binding": 1 << 7, "load_N": (), "torque_Nm": (0.0,) * 3}
                )
        asked = rig.tick(UNIFORM)
        lowest.append(float(rig.load_N.min()))
    assert min(lowest) >= LEAST_N
    if kind != "stuck":  # a chamber that sticks at its wanted pressure does no harm, and is not noticed
        assert off(asked)
