"""The load controller: wanted wheel loads by the torques of the cylinders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from drivers.messages import ValveSet
from hil.config.cylinder_parameters import cylinder_forces, least_pulse_s, valve_delay_s
from hil.config.rig import Rig
from hil.control.load_program import find_torques, make_program
from hil.control.load_state import NO_SOLUTION, Doubts, DoubtSettings, SmoothedLoads, SteadyLoads, steady_loads
from hil.control.pressure import PressureLoops, PressureSettings, make_loops
from hil.control.wheel_speed import Controller
from hil.messages.loads import SOLVER, LoadGoal, LoadLimits, LoadMode, LoadSetPoints, require_shares
from hil.messages.operator_input import SetLoads, asks
from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints, SoilEstimate
from models.actuators.linkage import CylinderForces
from models.kernels.bound import BoundArguments
from models.rover.rover import Rover
from models.statics import RoverStatics

# With a wheel to be unloaded, the weight of the others' deviation from their mean.
_OTHERS = 0.01


class Allocation(msgspec.Struct, frozen=True, gc=False):
    """A distribution of the wheels' loads and how to get there."""

    load_N: tuple[float, ...]  #: (wheels,) the nearest distribution to the goal within the limits
    torque_Nm: tuple[float, ...]  #: (cylinders,) wanted now, on the way there
    #: (2 cylinders,) gauge pressures that give them, by (extend, retract) of each, one of the two 0
    pressure_Pa: tuple[float, ...]
    binding: int  #: limits that keep the goal from being reached, a bit each of `LIMIT_NAMES`; 0: none


class Allocator:
    """Distributes the wheels' loads by the cylinders of a rover; one call each period, with the state of that moment.

    Args:
        rover: as it stands on the rig, with grousers and payload.
        joints: of the cylinders.
        limits: of loads and torques.
        forces: of the cylinders.
        period_s: time between two calls.
        ground_normal: of the ground in world axes, with x in the rover's heading.
        steady: what tractions do to the loads while it drives steadily; None: they count as constant, and the goal
            max_traction is refused.

    Raises:
        ValueError: a joint that this rover lacks, or a rover whose loads do not follow from equilibrium.
    """

    def __init__(
        self,
        rover: Rover,
        joints: Sequence[str],
        limits: LoadLimits,
        forces: CylinderForces,
        period_s: float,
        ground_normal: Sequence[float] = (0.0, 0.0, 1.0),
        steady: SteadyLoads | None = None,
    ) -> None:
        statics = RoverStatics(rover)
        self._wheels = rover.wheel_names
        self._steady, self._traction_share = steady, steady.traction_share if steady else ()
        n, w = len(joints), len(self._wheels)
        self._ends = w, w + n
        ground, step_Nm = np.array(ground_normal, dtype=np.float64), limits.slew_Nmps * period_s
        by_traction = np.zeros((w, len(statics.joint_names))) if steady is None else steady.by_traction
        columns = statics.columns(joints)
        self._program = p = make_program(statics.balance, forces, columns, ground, limits, step_Nm, by_traction)
        self._bound = BoundArguments(p)
        self._goal: LoadGoal | None = None
        find_torques(self._bound, True, False, True)  # it compiles here, and not in a tick
        self.reset()

    def require(self, goal: LoadGoal) -> None:
        """Raises ValueError with everything that is wrong with a goal for this rig."""
        if goal.mode == LoadMode.SHARE:
            require_shares(goal.share, self._wheels)
        if goal.mode == LoadMode.UNLOAD and not 0 <= goal.wheel < len(self._wheels):
            raise ValueError(f"the wheel to unload is number {goal.wheel}, allowed: 0 to {len(self._wheels) - 1}")
        if goal.mode == LoadMode.MAX_TRACTION and not self._traction_share:
            raise ValueError("the goal max_traction needs soil under the rover, found: other ground")

    def reset(self) -> None:
        """Forget the torques of earlier calls: the next one starts from the present torques."""
        self._program.last[:] = self._program.held[:] = math.nan

    def take_soil(self, values: Sequence[float] | None) -> None:
        """From now on max_traction means the loads for this soil.

        Args:
            values: of the estimated parameters of the soil, as `SteadyLoads.share_on` takes them; None: the soil of
                the config.
        """
        if self._steady is not None and self._steady.traction_share:
            self._traction_share = self._steady.traction_share if values is None else self._steady.share_on(values)
            self._goal = None

    def allocate(
        self,
        load_N: Sequence[float],
        torque_Nm: Sequence[float],
        angle_rad: Sequence[float],
        gravity: Sequence[float],
        goal: LoadGoal,
    ) -> Allocation:
        """The distribution nearest to the goal, and the torques of this moment.

        Args:
            load_N: (wheels,) present loads, tractions and present torques included.
            torque_Nm: (cylinders,) present torques.
            angle_rad: (cylinders,) of their joints.
            gravity: (3,) direction of gravity in base axes.
            goal: one that `require` accepts.
        """
        p, mode = self._program, goal.mode
        p.state[:] = (*load_N, *torque_Nm, *angle_rad, *gravity)
        if goal is not self._goal:
            self._aim(goal)
        passive, hold = mode == LoadMode.PASSIVE, mode == LoadMode.HOLD
        binding = find_torques(self._bound, passive, hold, not (passive or hold or mode == LoadMode.UNLOAD))
        if binding == SOLVER:
            self.reset()
            return Allocation(tuple(load_N), tuple(torque_Nm), (0.0,) * len(p.pressure), SOLVER)
        values, (loads, torques) = p.result.tolist(), self._ends
        return Allocation(tuple(values[:loads]), tuple(values[loads:torques]), tuple(values[torques:]), binding)

    def _aim(self, goal: LoadGoal) -> None:
        """Shares aimed at and their weights; for PASSIVE and HOLD they have no meaning."""
        p, self._goal = self._program, goal
        p.weight[:], p.share[:] = 1.0, 1.0 / len(self._wheels)
        if goal.mode == LoadMode.SHARE:
            p.share[:] = goal.share
        elif goal.mode == LoadMode.MAX_TRACTION:
            p.share[:] = self._traction_share
        elif goal.mode == LoadMode.UNLOAD:
            p.weight[:], p.share[:] = _OTHERS, 1.0 / (len(self._wheels) - 1)
            p.weight[goal.wheel], p.share[goal.wheel] = 1.0, 0.0


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


# A cycle has room for so many shortest pulses.
_LEAST_CYCLE = 3.0
# A torque so small, relative to the largest, counts as none: the valves may be switched off.
_NO_TORQUE = 0.01


def load_controller(rig: Rig, drive: Controller) -> NormalForceController:
    """The load controller of a rig; kernels compile here."""
    wanted, layout = rig.config.normal_force, rig.layout
    period_s = 1.0 / rig.rate_hz
    ticks = round(wanted.follow_s * rig.rate_hz)
    sensors = layout.leg_sensors and wanted.feedback == "sensors"
    return NormalForceController(
        drive,
        _allocator(rig),
        make_loops(
            pressure_settings(rig),
            len(layout.cylinders),
            rig.config.cylinders.regulators,
        ),
        Doubts(DoubtSettings(wanted.follow_kPa * 1e3, wanted.disagreement_N, ticks), sensors=sensors),
        LoadSettings(
            period_ns=round(wanted.period_ms * 1e6),
            smoothing=min(period_s / wanted.smoothing_s, 1.0) if wanted.smoothing_s else 1.0,
            no_torque_Nm=_NO_TORQUE * wanted.torque_limit_Nm,
            sensors=sensors,
        ),
    )


def pressure_settings(rig: Rig) -> PressureSettings:
    """Constants of the pressure loops of a rig; slow valves are pulsed less often than `switchings_per_s` allows."""
    config, wanted, least_s = rig.config, rig.config.normal_force, least_pulse_s(rig.config)
    return PressureSettings(
        supply_Pa=config.cylinders.supply_kPa * 1e3,
        dead_band_Pa=wanted.dead_band_kPa * 1e3,
        cycle_ns=round(1e9 * max(1.0 / wanted.switchings_per_s, _LEAST_CYCLE * least_s)),
        integral_per_s=wanted.integral_per_s,
        period_s=1.0 / config.loop.rate_hz,
        fill_s=config.cylinders.fill_time_s,
        vent_s=config.cylinders.vent_time_s,
        delay_s=valve_delay_s(config),
        least_pulse_s=least_s,
    )


def _allocator(rig: Rig) -> Allocator:
    rover, vehicle, _ = rig.nominal.held.assemble()
    wanted, limits = rig.config.normal_force, rig.config.normal_force.load_limits
    normal = (0.0, 0.0, 1.0) if vehicle.terrain is None else vehicle.terrain.normal
    margin_N = wanted.load_margin_N
    return Allocator(
        rover,
        rig.layout.joints,
        limits._replace(least_load_N=limits.least_load_N + margin_N, most_load_N=limits.most_load_N - margin_N),
        cylinder_forces(rig.config.cylinders, rig.layout),
        wanted.period_ms * 1e-3,
        ground_normal=normal,
        steady=steady_loads(rig),
    )
