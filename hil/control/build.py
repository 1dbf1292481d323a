"""Puts the load controller together from a config."""

from __future__ import annotations

from hil.config.cylinder_parameters import cylinder_forces
from hil.config.delays import least_pulse_s, valve_delay_s
from hil.config.rig import Rig
from hil.control.allocation import Allocator
from hil.control.load_state import Doubts, DoubtSettings, steady_loads
from hil.control.normal_force import LoadSettings, NormalForceController
from hil.control.pressure import PressureSettings, make_loops
from hil.control.wheel_speed import Controller

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
