"""The table of residuals: of each measured quantity, what the rest of the rig says it should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from hil.config.schema.loads import FRAME
from hil.config.schema.residuals import ResidualName
from hil.messages.layout import Layout
from hil.residuals import forces, rig
from hil.residuals.evidence import Floats, RunEvidence


class Residual(NamedTuple):
    """One residual.

    Attributes:
        name: in configs and summaries.
        unit: of its values.
        compares: what with what, in words.
        look_at: what the person at the rig looks at, if it is over its threshold.
        resolution: least distance of a threshold from the mean of the good runs: smaller ones do not matter.
        needs: whether a rig has what it compares.
        elements: names of its values, by the rig's layout.
        values: (elements,) of a run; NaN: the run does not say.
        in_tick: whether a tick can judge it.
        impact: it is one of impact trials.
    """

    name: ResidualName
    unit: str
    compares: str
    look_at: str
    resolution: float
    needs: Callable[[Layout], bool]
    elements: Callable[[Layout], tuple[str, ...]]
    values: Callable[[RunEvidence], Floats]
    in_tick: bool = False
    impact: bool = False


def _any_channels(layout: Layout) -> bool:
    return bool(layout.channels)


def _any_cylinders(layout: Layout) -> bool:
    return bool(layout.cylinders)


def _power(layout: Layout) -> bool:
    return bool(layout.supplies)


def _channels(layout: Layout) -> tuple[str, ...]:
    return layout.channels


def _wheels(layout: Layout) -> tuple[str, ...]:
    return layout.wheels


def _sum(_: Layout) -> tuple[str, ...]:
    return ("sum",)


# A larger number is none.
MOST = 1e12

_ROWS = (
    Residual(
        "force_share", "1",
        "share of each force sensor in the impulse, with the place on the plate where a smooth wheel hits",
        "sensitivity, cable and channel of that sensor, and where the wheel hits",
        0.005, _any_channels, _channels, forces.share, impact=True,
    ),
    Residual(
        "force_middle", "ms",
        "when half of its impulse has passed through each force sensor, with the sum of the others",
        "channel of that sensor in the data acquisition: its filter and its delay",
        0.2, _any_channels, _channels, forces.middle_ms, impact=True,
    ),
    Residual(
        "force_peak", "1", "largest force, with the one that T_c and the stiffness of leg and plate give",
        "sensitivities of all sensors, and stiffness and masses in the config",
        0.02, _any_channels, _sum, forces.peak, impact=True,
    ),
    Residual(
        "force_impulse", "1", "impulse of the force, with the momentum that T_c and the speed at the impact give",
        "sensitivities of all sensors, and masses in the config",
        0.02, _any_channels, _sum, forces.impulse, impact=True,
    ),
    Residual(
        "force_at_rest", "N", "force of each sensor just before the impact, with none",
        "cable and amplifier of that sensor, and what touches the plate",
        0.3, _any_channels, _channels, forces.at_rest_N, impact=True,
    ),
    Residual(
        "strain_peak", "1", "largest force by the strain gauges, with that by the force sensors, over both intervals",
        "sensitivities of both, daq.sinkage_m, and where the wheel hits",
        1.0, lambda layout: FRAME in layout.loads, _sum, forces.strain_peak, impact=True,
    ),
    Residual(
        "way_to_impact", "mm", "way by the wheels' speeds until the force begins, with trial.start_distance_m",
        "encoders, the start distance, and the time of the force's samples",
        1.0, _any_channels, _sum, forces.way_mm, impact=True,
    ),
    Residual(
        "wheel_speed", "rad/s", "speed of each wheel, with the commanded one, mean over 0.5 s",
        "encoder of that wheel and its counts_per_rev, then its motor and gear",
        0.002, lambda _: True, _wheels, rig.wheel_speed, in_tick=True,
    ),
    Residual(
        "speed_lag", "ms", "how late the speed of each wheel follows its changing command",
        "link to that wheel's controller, and acceleration and gains in it",
        1.0, lambda _: True, _wheels, rig.speed_lag_ms,
    ),
    Residual(
        "current_share", "1", "current of each motor while it drives, as a part of all, with good runs",
        "current sensor of that motor; a wheel that drags or slips",
        0.005, _power, _wheels, rig.current_share,
    ),
    Residual(
        "current_sum", "A", "current of all motors while they drive, with good runs",
        "current sensors, and what resists the rover", 0.05, _power, _sum, rig.current_sum_A,
    ),
    Residual(
        "supply", "V", "supply voltage of the motors while they are cut, with good runs",
        "battery, and the voltage sensor of that controller",
        0.05, _power, lambda layout: layout.supplies, rig.supply_V,
    ),
    Residual(
        "load_sum", "1", "sum of the leg sensors, with the sum of the rover twin's wheel loads, mean over 0.5 s",
        "zero and sensitivities of the leg sensors, payload and masses in the config",
        0.005, lambda layout: layout.leg_sensors, _sum, rig.load_sum, in_tick=True,
    ),
    Residual(
        "wheel_load", "N", "load of each wheel by its leg sensor while it drives, with the rover twin's",
        "leg sensor of that wheel, its zero and its channel; pressures of the cylinders",
        2.0, lambda layout: layout.leg_sensors, _wheels, rig.wheel_load_N,
    ),
    Residual(
        "pull", "1", "drawbar pull by the load cell, with the thrust that duty and speed of the motors give",
        "load cell and its amplifier, and the motors' data in the config",
        0.01, lambda layout: layout.load_cell and layout.open_loop, _sum, rig.pull,
    ),
    Residual(
        "pressure", "kPa", "pressure of each chamber, with the one that valve and regulator are commanded to give",
        "pressure sensor of that chamber, its regulator and its line",
        0.5, _any_cylinders, lambda layout: layout.chambers, rig.pressure_kPa,
    ),
    Residual(
        "pressure_lag", "ms", "how late the pressure of each chamber follows its changing command",
        "valve, regulator and line of that chamber, and its sensor's channel",
        5.0, _any_cylinders, lambda layout: layout.chambers, rig.pressure_lag_ms,
    ),
    Residual(
        "pressure_missing", "1", "share of the pressures of each chamber that are no numbers, with good runs",
        "pressure sensor of that chamber and its cable",
        0.001, _any_cylinders, lambda layout: layout.chambers, rig.pressure_missing,
    ),
    Residual(
        "age", "ms", "age of the newest sample of each device, by the machine's clock, with good runs",
        "link and load of that device, and the load of the machine",
        0.5, lambda _: True, lambda layout: layout.links, rig.age_ms,
    ),
    Residual(
        "sample_clock", "ppm", "sample clock of the data acquisition, with the machine's clock",
        "rate_hz in the config, and the clock source of the data acquisition",
        100.0, lambda layout: bool(rig.sampled_links(layout)), rig.sampled_links, rig.clock_ppm,
    ),
)  # fmt: skip
RESIDUALS: Mapping[str, Residual] = MappingProxyType({row.name: row for row in _ROWS})


def measured(evidence: RunEvidence) -> dict[str, dict[str, float]]:
    """Value of each element of each residual that the rig has what for, by their names; those that are known."""
    config, residuals = evidence.config, dict[str, dict[str, float]]()
    for name, row in RESIDUALS.items():
        if not row.needs(config.layout) or (row.impact and not config.section.impact):
            continue
        pairs = zip(row.elements(config.layout), row.values(evidence).tolist(), strict=True)
        if known := {element: value for element, value in pairs if abs(value) < MOST}:
            residuals[name] = known
    return residuals
