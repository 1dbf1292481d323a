"""The load controller: wheel loads as wanted, by the torques of the cylinders.

Outer loop, each period: smoothed loads and torques -> allocation (hil.control.allocation) -> torques.
Inner loop, each tick: torques -> pressures of the chambers -> valves and regulators (hil.control.pressure).
It begins and ends without a step: a torque changes no faster than its slew limit, from the present one when it takes
over, to zero before the valves are switched off. Any doubt switches them off in its tick.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from drivers.messages import ValveSet
from hil.control.allocation import Allocator
from hil.control.load_state import NO_SOLUTION, Doubts, SmoothedLoads
from hil.control.pressure import PressureLoops
from hil.control.wheel_speed import Controller
from hil.messages.loads import SOLVER, LoadGoal, LoadMode, LoadSetPoints
from hil.messages.operator_input import SetLoads, asks
from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints, SoilEstimate

PASSIVE = LoadGoal(LoadMode.PASSIVE)


class LoadSettings(NamedTuple):
    """Constants of the controller."""

    period_ns: int  #: time between two allocations
    smoothing: float  #: share of a new value in the filter of loads and torques, per tick
    no_torque_Nm: float  #: a torque so small counts as none
    sensors: bool  #: the loads come from leg sensors


class NormalForceController:
    """Adds valves, regulators and the record of the loads to the set-points of the drives."""

    def __init__(
        self,
        drive: Controller,
        allocator: Allocator,
        loops: PressureLoops,
        doubts: Doubts,
        settings: LoadSettings,
    ) -> None:
        self._drive, self._allocator, self._loops = drive, allocator, loops
        self._doubts, self._settings = doubts, settings
        self._load_N, self._torque_Nm = SmoothedLoads(settings.smoothing), SmoothedLoads(settings.smoothing)
        self._next_ns = 0
        self._aimed: LoadSetPoints | None = None
        self._soil: SoilEstimate | None = None
        self.doubt = 0  #: what it is passive for, a bit each, until an operator's `SetLoads`; 0: nothing

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""
        drive = self._drive.control(goal, samples, estimate, prediction)
        if samples.operator and asks(samples.operator, SetLoads):
            self.doubt = 0
        wanted, aimed = goal.loads or PASSIVE, self._aimed
        if aimed is not None or wanted.mode:
            wanted_Pa = aimed.pressure_Pa if aimed else (0.0,) * (2 * len(samples.valves.pressure_Pa))
            self.doubt |= self._doubts.found(samples, estimate, prediction, wanted_Pa)
        if self.doubt or not (aimed or wanted.mode):
            return self._released(drive, prediction)
        self._load_N.add(estimate.wheel_load_N if self._settings.sensors else prediction.normal_force_N)
        self._torque_Nm.add(prediction.cylinder_torque_Nm)
        if (aimed is None or samples.t_ns >= self._next_ns) and not self._allocate(wanted, samples.t_ns, prediction):
            return self._released(drive, prediction)
        aimed = self._aimed
        assert aimed is not None
        if not wanted.mode and max(map(abs, aimed.torque_Nm)) <= self._settings.no_torque_Nm:
            return self._released(drive, prediction)
        measured_Pa = [pressure for pair in samples.valves.pressure_Pa for pressure in pair]
        commands = self._loops.step(samples.t_ns, aimed.pressure_Pa, measured_Pa, samples.valves.t_ns)
        return _with_loads(drive, *commands, aimed)

    def _allocate(self, wanted: LoadGoal, t_ns: int, prediction: Prediction) -> bool:
        """Run the outer loop; whether it has an answer."""
        if self._aimed is None:
            self._allocator.reset()
            self._loops.reset()
        self._next_ns = t_ns + self._settings.period_ns
        at = prediction
        if at.soil is not self._soil and at.soil is not None:
            self._soil = at.soil
            self._allocator.take_soil(at.soil.value if at.soil.observable else None)
        allocation = self._allocator.allocate(
            self._load_N.values, self._torque_Nm.values, at.cylinder_angle_rad, at.gravity, wanted
        )
        if allocation.binding & SOLVER or not math.isfinite(sum(allocation.torque_Nm)):
            self.doubt |= NO_SOLUTION
            return False
        self._aimed = LoadSetPoints(
            wanted.mode, allocation.load_N, allocation.torque_Nm, allocation.pressure_Pa, allocation.binding
        )
        return True

    def _released(self, drive: SetPoints, prediction: Prediction) -> SetPoints:
        """Valves off and regulators closed: the joints are free."""
        if self._aimed is not None:
            self._aimed = None
            self._load_N.forget()
            self._torque_Nm.forget()
            self._doubts.forget()
        unknown, cylinders = (math.nan,) * len(prediction.normal_force_N), len(prediction.cylinder_torque_Nm)
        passive = LoadSetPoints(
            LoadMode.PASSIVE, unknown, (0.0,) * cylinders, (0.0,) * (2 * cylinders), binding=self.doubt
        )
        return _with_loads(drive, (), (), passive)


def _with_loads(
    drive: SetPoints, valves: ValveSet, regulators_Pa: tuple[float, ...], loads: LoadSetPoints
) -> SetPoints:
    """The drives' set-points, and those of the cylinders."""
    return SetPoints(
        drive.state, drive.cut, drive.speed_radps, valves, regulators_Pa, drive.duty, loads,
        joint_angle_rad=drive.joint_angle_rad,
    )  # fmt: skip
