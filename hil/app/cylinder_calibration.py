"""Calibration of an air cylinder from the record of a run: which numbers are fitted to which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.model_parameters import nominal_rig
from hil.recording import TrialRecord
from hil.signals.calibration import CalibrationError
from hil.signals.cylinder import fit_steps, joint_torques_Nm, pressure_steps
from models.rover import Parameters

_ANGLE = 1e-5  # of a joint, for the difference that gives how wheels rise [rad]


def calibrate_cylinder(record: TrialRecord, config: Config, name: str, forces_N: Sequence[float]) -> dict[str, float]:
    """Numbers of a cylinder's sheet (`hil.config.calibration.CylinderSheet`).

    Args:
        record: of a run in which its pressure stood at several steps, the rover at rest.
        config: of the run.
        name: of the cylinder.
        forces_N: known force in each step [N]; empty: the torque on the joint comes from the leg sensors.

    Raises:
        CalibrationError: the record lacks what is needed.
    """
    layout = config.layout
    place = layout.cylinders.index(name)
    extend, retract = record.tick["pressure_Pa"][:, place].T
    difference = extend - retract
    if not np.isfinite(difference).all():
        raise CalibrationError(f"the pressures of the cylinder {name} were not measured")
    steps = pressure_steps(difference, config.loop.rate_hz)
    if forces_N:
        if len(forces_N) != len(steps):
            pressures = ", ".join(f"{step.pressure_Pa * 1e-3:.1f}" for step in steps) or "none"
            raise CalibrationError(f"{len(forces_N)} forces for {len(steps)} steps, of {pressures} kPa: one each")
        fit = fit_steps(steps, forces_N)
        numbers = {"force_NpkPa": fit.slope.value * 1e3, "offset_N": fit.offset}
    else:
        if not layout.leg_sensors:
            raise CalibrationError("the rig has no leg sensors: give the force in each step with --force")
        if config.ground.pitch_deg or config.ground.roll_deg or config.ground.scan is not None:
            raise CalibrationError("the rover stood on a slope or a scan, allowed: level ground")
        loads = record.tick["wheel_load_N"]
        fit = fit_steps(steps, joint_torques_Nm(steps, loads, rise_of_wheels(nominal_rig(config).rover, place)))
        if any(not record.tick["cut"][step.first : step.end].all() for step in steps):
            raise CalibrationError("the drives were not cut: wheels that hold take a part of the torque lengthwise")
        torque = fit.slope.value * 1e3
        numbers = {"torque_NmpkPa": torque, "offset_Nm": fit.offset}
    return {**numbers, "u95": fit.slope.u95 / abs(fit.slope.value)}


def rise_of_wheels(parameters: Parameters, cylinder: int) -> NDArray[np.float64]:
    """How far each wheel of the nominal rover rises if the joint of a cylinder turns (wheels,) [m/rad]."""
    rover, joint = parameters.build(), parameters.cylinder_joints[cylinder]
    q = rover.neutral()
    turned = q.copy()
    turned[7 + rover.joint_names.index(joint)] += _ANGLE
    rise: NDArray[np.float64] = (rover.wheel_positions(turned) - rover.wheel_positions(q))[:, 2] / _ANGLE
    return rise
