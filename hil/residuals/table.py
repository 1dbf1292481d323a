"""The table of residuals: of each measured quantity, what the rest of the rig says it should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from hil.config.model_parameters import nominal_rig
from hil.config.schema.loads import FRAME
from hil.config.schema.residuals import ResidualName
from hil.config.schema.sensors import DaqConfig
from hil.messages.layout import SAMPLED, Layout
from hil.residuals.evidence import Floats, RunEvidence, extreme_mean, lag_s, wheel_turn
from models.contact.obstacle import Obstacle
from models.sensors.piezo import shares_of

# Means while the rover drives leave out so much after its start [s].
STARTED_S = 1.0
# A pressure is compared once its command has stood for so long [s], within so much [Pa].
STOOD_S, STOOD_PA = 0.3, 3e3
# A wheel that has turned less says nothing of its coupling [rad].
LEAST_TURN_RAD = 1.0
# Parts into which a run is cut for the drift of a sample clock; the least age in each is free of waiting.
CLOCK_PARTS = 8


def sampled_links(layout: Layout) -> tuple[str, ...]:
    """Links with a sample clock."""
    return tuple(link for link in SAMPLED if link in layout.links)


def wheel_speed(evidence: RunEvidence) -> Floats:
    """(wheels,) measured less commanded speed, the largest mean over `RESIDUAL_WINDOW_S` [rad/s]."""
    errors = evidence.ticks["wheel_speed_radps"] - evidence.steady
    return extreme_mean(errors, evidence.config.loop.rate_hz)


def wheel_turn_share(evidence: RunEvidence) -> Floats:
    """(wheels with an encoder,) how far each turned by it over how far by its drive's own, less 1."""
    config, ticks, shares = evidence.config, evidence.ticks, list[float]()
    for place, (encoder, name) in enumerate(zip(config.encoders, config.layout.joints_channels, strict=True)):
        if name not in config.layout.wheels:
            continue
        t_s, seen = wheel_turn(ticks, encoder, place)
        during = slice(0, 0) if not len(t_s) else slice(*np.searchsorted(evidence.t_s, t_s[[0, -1]]))
        speed = np.nan_to_num(ticks["wheel_speed_radps"][:, config.layout.wheels.index(name)][during])
        by_drive = float(np.trapezoid(speed, evidence.t_s[during]))
        far = abs(by_drive) > LEAST_TURN_RAD
        shares.append(float(seen[-1] - seen[0]) / by_drive - 1.0 if far else math.nan)
    return np.array(shares)


def speed_lag_ms(evidence: RunEvidence) -> Floats:
    """(wheels,) [ms]."""
    return 1e3 * lag_s(evidence.ticks["wheel_speed_radps"], evidence.commanded, evidence.config.loop.rate_hz)


def current_share(evidence: RunEvidence) -> Floats:
    """(wheels,) current while driving, a part of all."""
    means = _currents_A(evidence)
    shares: Floats = means / means.sum()
    return shares


def current_sum_A(evidence: RunEvidence) -> Floats:
    """(1,) of all motors while driving [A]."""
    return np.array([_currents_A(evidence).sum()])


def supply_V(evidence: RunEvidence) -> Floats:
    """(supplies,) while the drives are cut [V]."""
    rows = ~evidence.driven & (evidence.ticks["power_t_ns"] >= 0)
    return _means(evidence.ticks["supply_V"][rows])


def load_sum(evidence: RunEvidence) -> Floats:
    """(1,) measured over predicted sum of the wheel loads, less 1, the largest mean over `RESIDUAL_WINDOW_S`."""
    measured, twin = evidence.ticks["wheel_load_N"].sum(axis=1), evidence.ticks["normal_force_N"].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return extreme_mean((measured / twin - 1.0)[:, None], evidence.config.loop.rate_hz)


def wheel_load_N(evidence: RunEvidence) -> Floats:
    """(wheels,) measured less predicted load, mean while driving [N]."""
    return _means((evidence.ticks["wheel_load_N"] - evidence.ticks["normal_force_N"])[_under_way(evidence)])


def pull(evidence: RunEvidence) -> Floats:
    """(1,) pull over the motors' thrust, mean over the last second of driving."""
    rows, config = _under_way(evidence), evidence.config
    motor, ticks = config.drives.axle_motor, evidence.ticks[rows][-config.loop.rate_hz :]
    if not len(ticks):
        return np.full(1, np.nan)
    torque_Nm = motor.stall_torque_Nm * (ticks["duty"] - ticks["wheel_speed_radps"] / motor.no_load_radps)
    thrust_N = (torque_Nm / config.wheel_radii_m).sum(axis=1)
    return np.array([float(ticks["pull_N"].mean() / thrust_N.mean())])


def pressure_kPa(evidence: RunEvidence) -> Floats:
    """(chambers,) measured less commanded pressure where the command has stood, the larger mean of on and off [kPa]."""
    commanded, ticks = evidence.pressure_commanded_Pa, round(STOOD_S * evidence.config.loop.rate_hz)
    error = evidence.ticks["pressure_Pa"] - commanded
    count = commanded.shape[0]
    deviation_kPa = np.full(commanded.shape[1:], np.nan)
    if count <= ticks:
        return deviation_kPa.reshape(-1)
    stood = np.zeros(commanded.shape, np.bool_)
    stood[ticks:] = (np.abs(commanded[ticks:] - commanded[:-ticks]) <= STOOD_PA) & (
        (commanded[ticks:] > 0.0) == (commanded[:-ticks] > 0.0)
    )
    stood &= np.isfinite(error)
    for place in np.ndindex(deviation_kPa.shape):
        parts = [stood[:, *place] & ((commanded[:, *place] > 0.0) == on) for on in (False, True)]
        means = [float(error[rows, *place].mean()) for rows in parts if rows.sum() >= ticks]
        deviation_kPa[place] = 1e-3 * max(means, key=abs) if means else np.nan
    return deviation_kPa.reshape(-1)


def pressure_lag_ms(evidence: RunEvidence) -> Floats:
    """(chambers,) [ms]."""
    commanded = evidence.pressure_commanded_Pa.reshape(len(evidence.ticks), -1)
    measured = evidence.ticks["pressure_Pa"].reshape(len(evidence.ticks), -1)
    return 1e3 * lag_s(measured, commanded, evidence.config.loop.rate_hz)


def pressure_missing(evidence: RunEvidence) -> Floats:
    """(chambers,) share of ticks without a pressure."""
    missing: Floats = (~np.isfinite(evidence.ticks["pressure_Pa"])).mean(axis=0).reshape(-1)
    return missing


def age_ms(evidence: RunEvidence) -> Floats:
    """(links,) median age of the newest sample [ms]."""
    return np.array([1e-6 * float(np.median(_ages_ns(evidence, link))) for link in evidence.config.layout.links])


def clock_ppm(evidence: RunEvidence) -> Floats:
    """(links,) by how much the sample clock loses against the machine's [ppm]: the age of the newest sample grows."""
    return np.array([_drift_ppm(evidence, link) for link in sampled_links(evidence.config.layout)])


def _drift_ppm(evidence: RunEvidence, link: str) -> float:
    parts = np.array_split(np.arange(len(evidence.ticks)), CLOCK_PARTS)
    if len(parts[0]) < CLOCK_PARTS:
        return np.nan
    ages = _ages_ns(evidence, link)
    at = np.array([part[int(np.argmin(ages[part]))] for part in parts])
    return float(np.polyfit(evidence.ticks["t_ns"][at].astype(np.float64), ages[at], 1)[0] * 1e6)


def _ages_ns(evidence: RunEvidence, link: str) -> Floats:
    ticks = evidence.ticks
    field = {"daq": "daq_age_ns", "loads": "load_age_ns"}.get(link)
    ages = ticks["t_ns"] - ticks[f"{link}_t_ns"] if field is None else ticks[field]
    return np.asarray(ages, np.float64)


def _currents_A(evidence: RunEvidence) -> Floats:
    return _means(np.abs(evidence.ticks["current_A"][_under_way(evidence)]))


def _under_way(evidence: RunEvidence) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(ticks,) driven, and for `STARTED_S` at least."""
    driven = evidence.driven
    count = round(STARTED_S * evidence.config.loop.rate_hz)
    total = np.cumsum(driven)
    under_way = driven.copy()
    under_way[:count] = False
    if len(driven) > count:
        under_way[count:] &= total[count:] - total[:-count] >= count
    return under_way


def _means(values: Floats) -> Floats:
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)


# The force at rest is a mean over this time before the impact, without the last of it [s].
REST_S, GUARD_S = 0.5, 0.1


def share(evidence: RunEvidence) -> Floats:
    """(channels,) share of the impulse, less the one at the middle of the plate."""
    parts = evidence.numbers("impulse_by_sensor_Ns", len(evidence.config.layout.channels))
    deviation: Floats = parts / parts.sum() - _nominal_shares(evidence.config.triangle, evidence.config.layout)
    return deviation


def middle_ms(evidence: RunEvidence) -> Floats:
    """(channels,) time of half of the impulse, less the mean of the others' [ms]."""
    times = 1e3 * evidence.numbers("impulse_middle_by_sensor_s", len(evidence.config.layout.channels))
    offsets_ms: Floats = (times - times.mean()) * len(times) / max(len(times) - 1, 1)
    return offsets_ms


def peak(evidence: RunEvidence) -> Floats:
    """(1,) largest force over that of a spring that takes up T_c."""
    obstacle = nominal_rig(evidence.config).obstacle
    energy_J = evidence.number("effective_kinetic_energy_J") * _borne(evidence.config.plate)
    if obstacle is None or not energy_J > 0.0:
        return np.full(1, np.nan)
    return np.array([evidence.number("peak_force_N") / spring_peak_N(obstacle, energy_J)])


def impulse(evidence: RunEvidence) -> Floats:
    """(1,) impulse over the momentum 2 T_c / v_n of the effective mass; both normal to the plate.

    The time in contact and the stiffness do not matter to it.
    """
    normal_mps = evidence.number("impact_speed_measured_mps") * math.sin(math.radians(evidence.config.trial.angle_deg))
    momentum_Ns = 2.0 * evidence.number("effective_kinetic_energy_J") * _borne(evidence.config.plate) / normal_mps
    return np.array([evidence.number("impulse_Ns") / momentum_Ns])


def at_rest_N(evidence: RunEvidence) -> Floats:
    """(channels,) mean force just before the impact [N]."""
    onset_s, t_s = evidence.number("onset_s"), evidence.t_s
    rows = (t_s > onset_s - REST_S - GUARD_S) & (t_s < onset_s - GUARD_S)
    if not rows.any():
        return np.full(len(evidence.config.layout.channels), np.nan)
    means_N: Floats = evidence.ticks["force_N"][rows].mean(axis=0)
    return means_N


def way_mm(evidence: RunEvidence) -> Floats:
    """(1,) distance of the rover twin until the force begins, less the start distance [mm]."""
    onset_s, t_s = evidence.number("onset_s"), evidence.t_s
    if math.isnan(onset_s) or evidence.config.trial.destress_m:  # after it the rover does not stand where it was put
        return np.full(1, np.nan)
    before = t_s <= onset_s
    way_m = float(np.trapezoid(evidence.ticks["speed_mps"][before], t_s[before]))
    return np.array([1e3 * (way_m - evidence.config.trial.start_distance_m)])


def strain_peak(evidence: RunEvidence) -> Floats:
    """(1,) peak by the strain gauges less that by the force sensors, over the half-width of both intervals together."""
    together_N = math.hypot(evidence.number("strain_peak_u95_N"), evidence.number("peak_force_u95_N"))
    return np.array([(evidence.number("strain_peak_N") - evidence.number("peak_force_N")) / together_N])


def spring_peak_N(obstacle: Obstacle, energy_J: float) -> float:
    """Peak of F = k x^p that takes up an energy [N]; with a leg's own spring in front of the plate, of that spring."""
    compliance = float(obstacle.leg_compliance.max())
    stiffness, exponent = (1.0 / compliance, 1.0) if compliance else (obstacle.stiffness, obstacle.exponent)
    deepest = ((exponent + 1.0) * energy_J / stiffness) ** (1.0 / (exponent + 1.0))
    return float(stiffness * deepest**exponent)


def _borne(plate: DaqConfig | None) -> float:
    """Part of both wheels' blow that the sensors bear: one wheel hits the instrumented plate, both have bumpers."""
    return 1.0 if plate is None else 0.5


def _nominal_shares(triangle: DaqConfig | None, layout: Layout) -> Floats:
    count = len(layout.channels)
    if triangle is None:
        return np.full(count, 1.0 / count)
    shares: Floats = shares_of(np.array(triangle.places_m), 0.0, 0.0)
    return shares


class Residual(NamedTuple):
    """One residual."""

    name: ResidualName  #: in configs and summaries
    unit: str  #: of its values
    compares: str  #: what with what, in words
    look_at: str  #: what the person at the rig looks at, if it is over its threshold
    resolution: float  #: least distance of a threshold from the mean of the good runs: smaller ones do not matter
    needs: Callable[[Layout], bool]  #: whether a rig has what it compares
    elements: Callable[[Layout], tuple[str, ...]]  #: names of its values, by the rig's layout
    values: Callable[[RunEvidence], Floats]  #: (elements,) of a run; NaN: the run does not say
    in_tick: bool = False  #: whether a tick can judge it
    impact: bool = False  #: it is one of impact trials


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


def _turned(layout: Layout) -> tuple[str, ...]:
    return tuple(name for name in layout.joints_channels if name in layout.wheels)


def _sum(_: Layout) -> tuple[str, ...]:
    return ("sum",)


# A larger number is none.
MOST = 1e12

_ROWS = (
    Residual(
        "force_share", "1",
        "share of each force sensor in the impulse, with the place on the plate where a smooth wheel hits",
        "sensitivity, cable and channel of that sensor, and where the wheel hits",
        0.005, _any_channels, _channels, share, impact=True,
    ),
    Residual(
        "force_middle", "ms",
        "when half of its impulse has passed through each force sensor, with the sum of the others",
        "channel of that sensor in the data acquisition: its filter and its delay",
        0.2, _any_channels, _channels, middle_ms, impact=True,
    ),
    Residual(
        "force_peak", "1", "largest force, with the one that T_c and the stiffness of leg and plate give",
        "sensitivities of all sensors, and stiffness and masses in the config",
        0.02, _any_channels, _sum, peak, impact=True,
    ),
    Residual(
        "force_impulse", "1", "impulse of the force, with the momentum that T_c and the speed at the impact give",
        "sensitivities of all sensors, and masses in the config",
        0.02, _any_channels, _sum, impulse, impact=True,
    ),
    Residual(
        "force_at_rest", "N", "force of each sensor just before the impact, with none",
        "cable and amplifier of that sensor, and what touches the plate",
        0.3, _any_channels, _channels, at_rest_N, impact=True,
    ),
    Residual(
        "strain_peak", "1", "largest force by the strain gauges, with that by the force sensors, over both intervals",
        "sensitivities of both, daq.sinkage_m, and where the wheel hits",
        1.0, lambda layout: FRAME in layout.loads, _sum, strain_peak, impact=True,
    ),
    Residual(
        "way_to_impact", "mm", "distance by the wheels' speeds until the force begins, with trial.start_distance_m",
        "encoders, the start distance, and the time of the force's samples",
        1.0, _any_channels, _sum, way_mm, impact=True,
    ),
    Residual(
        "wheel_speed", "rad/s", "speed of each wheel, with the commanded one, mean over 0.5 s",
        "encoder of that wheel and its counts_per_rev, then its motor and gear",
        0.002, lambda _: True, _wheels, wheel_speed, in_tick=True,
    ),
    Residual(
        "wheel_turn", "1", "turn of each wheel by the encoder at its axle, with that by its drive's own encoder",
        "coupling, belt and gear between that motor and its wheel, counts_per_rev and pulses_per_turn",
        0.005, lambda layout: bool(_turned(layout)), _turned, wheel_turn_share,
    ),
    Residual(
        "speed_lag", "ms", "how late the speed of each wheel follows its changing command",
        "link to that wheel's controller, and acceleration and gains in it",
        1.0, lambda _: True, _wheels, speed_lag_ms,
    ),
    Residual(
        "current_share", "1", "current of each motor while it drives, as a part of all, with good runs",
        "current sensor of that motor; a wheel that drags or slips",
        0.005, _power, _wheels, current_share,
    ),
    Residual(
        "current_sum", "A", "current of all motors while they drive, with good runs",
        "current sensors, and what resists the rover", 0.05, _power, _sum, current_sum_A,
    ),
    Residual(
        "supply", "V", "supply voltage of the motors while they are cut, with good runs",
        "battery, and the voltage sensor of that controller",
        0.05, _power, lambda layout: layout.supplies, supply_V,
    ),
    Residual(
        "load_sum", "1", "sum of the leg sensors, with the sum of the rover twin's wheel loads, mean over 0.5 s",
        "zero and sensitivities of the leg sensors, payload and masses in the config",
        0.005, lambda layout: layout.leg_sensors, _sum, load_sum, in_tick=True,
    ),
    Residual(
        "wheel_load", "N", "load of each wheel by its leg sensor while it drives, with the rover twin's",
        "leg sensor of that wheel, its zero and its channel; pressures of the cylinders",
        2.0, lambda layout: layout.leg_sensors, _wheels, wheel_load_N,
    ),
    Residual(
        "pull", "1", "drawbar pull by the load cell, with the thrust that duty and speed of the motors give",
        "load cell and its amplifier, and the motors' data in the config",
        0.01, lambda layout: layout.load_cell and layout.open_loop, _sum, pull,
    ),
    Residual(
        "pressure", "kPa", "pressure of each chamber, with the one that valve and regulator are commanded to give",
        "pressure sensor of that chamber, its regulator and its line",
        0.5, _any_cylinders, lambda layout: layout.chambers, pressure_kPa,
    ),
    Residual(
        "pressure_lag", "ms", "how late the pressure of each chamber follows its changing command",
        "valve, regulator and line of that chamber, and its sensor's channel",
        5.0, _any_cylinders, lambda layout: layout.chambers, pressure_lag_ms,
    ),
    Residual(
        "pressure_missing", "1", "share of the pressures of each chamber that are no numbers, with good runs",
        "pressure sensor of that chamber and its cable",
        0.001, _any_cylinders, lambda layout: layout.chambers, pressure_missing,
    ),
    Residual(
        "age", "ms", "age of the newest sample of each device, by the machine's clock, with good runs",
        "link and load of that device, and the load of the machine",
        0.5, lambda _: True, lambda layout: layout.links, age_ms,
    ),
    Residual(
        "sample_clock", "ppm", "sample clock of the data acquisition, with the machine's clock",
        "rate_hz in the config, and the clock source of the data acquisition",
        100.0, lambda layout: bool(sampled_links(layout)), sampled_links, clock_ppm,
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
