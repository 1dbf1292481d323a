"""When the load controller (hil.control.normal_force) lets go: no torque to speak of, or no solution."""

from __future__ import annotations

import math

import pytest

from hil.control.load_state import Doubts, DoubtSettings, doubt_names
from hil.control.normal_force import Allocation, LoadSettings, NormalForceController
from hil.control.pressure import PressureSettings, RegulatedLoops
from hil.control.wheel_speed import DirectSetPoints
from hil.messages.loads import SOLVER, LoadGoal, LoadMode
from hil.messages.stages import Estimate, Goal, Prediction, Samples

NO_TORQUE_NM = 0.5
LOADS_N = (200.0,) * 6


class Allocates:
    """An allocator with a given answer."""

    def __init__(self, torque_Nm, binding=0) -> None:
        self.torque_Nm, self.binding = torque_Nm, binding

    def reset(self) -> None:
        pass

    def allocate(self, *_):
        return Allocation(LOADS_N, self.torque_Nm, (0.0,) * 4, self.binding)


def controlled(allocator, *modes):
    """The loads' part of the set-points of the last tick, with these modes wanted one after the other."""
    doubts = Doubts(DoubtSettings(1e9, 1e9, 10**6), sensors=False)
    pressures = PressureSettings(200e3, 4e3, 250_000_000, 1.0, 1e-3, 0.4, 0.4)
    settings = LoadSettings(0, 1.0, NO_TORQUE_NM, False)
    controller = NormalForceController(DirectSetPoints(), allocator, RegulatedLoops(pressures, 2), doubts, settings)
    for tick, mode in enumerate(modes):
        valves = type("Valves", (), {"pressure_Pa": ((0.0, 0.0), (0.0, 0.0)), "t_ns": tick})
        estimate = Estimate(True, (), (), True, False, None, (), (0.0, 0.0), (0.0,) * 6)
        prediction = Prediction(
            LOADS_N, (0.0,) * 6, (0.0,) * 6, 0.0, 0.0, math.inf, True,
            cylinder_torque_Nm=(0.0, 0.0), cylinder_angle_rad=(0.0, 0.0), gravity=(0.0, 0.0, -1.0),
        )  # fmt: skip
        goal = Goal(2, False, loads=LoadGoal(mode))
        asked = controller.control(goal, Samples(tick, (), 0, 0, None, valves), estimate, prediction)
    return asked.loads, controller


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("cylinder", [0, 1])
def test_when_passive_it_lets_go_once_no_torque_is_over_the_one_that_counts_as_none(way, cylinder):
    for torque_Nm, holds in ((NO_TORQUE_NM, False), (1.01 * NO_TORQUE_NM, True)):
        torques = tuple(way * torque_Nm * (number == cylinder) for number in range(2))
        loads, controller = controlled(Allocates(torques), LoadMode.UNIFORM, LoadMode.PASSIVE)
        assert (controller._aimed is not None) == holds
        assert loads.torque_Nm == (torques if holds else (0.0, 0.0))


@pytest.mark.parametrize(
    "allocator", [Allocates((math.nan, 0.0)), Allocates((1.0, 1.0), SOLVER)], ids=["not a number", "no solution"]
)
def test_without_a_solution_it_lets_go_in_that_tick(allocator):
    loads, controller = controlled(allocator, LoadMode.UNIFORM)
    assert doubt_names(loads.binding) == ("no_solution",)
    assert (loads.mode, loads.torque_Nm, controller._aimed) == (LoadMode.PASSIVE, (0.0, 0.0), None)
