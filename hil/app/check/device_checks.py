"""Compares the reported state of each device, the load channels among them, with the config."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from drivers.device_sections import DaqSection, ValvesSection
from drivers.interfaces import ControllerState, DeviceError, DeviceIdentity, Health, Source
from drivers.messages import DaqBlock, DriveSample, ValveSample
from drivers.registry import valves_driver
from drivers.section import SENSITIVITY
from hil.app.check.access import Access, read_blocks
from hil.app.pace_check import rate_check
from hil.config.rig import Rig
from hil.config.rig_setup import full_scales, normal_force_rows, offsets
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.sensors import DaqConfig
from hil.estimation.estimator import ZERO_TIME_S, Estimator
from hil.messages.fault import Check
from hil.messages.layout import ROLES, Layout
from hil.messages.stages import Samples
from hil.safety.arming import LOOK_AT_IT, confirmed_check
from hil.safety.limits import (
    Limit,
    age_limits,
    limit_checks,
    power_limits,
    pressure_limits,
    sensor_limits,
    standing_limit,
)

# Sensors are measured for so long [ns], and their rate may seem to differ by this share: blocks arrive unevenly.
LOOK_NS = 1_500_000_000
RATE_OFF = 0.02
# Lengths of blocks that are proposed [ms], and the share of a processor that a driver may take for blocks.
BLOCKS_MS = (1.0, 2.0, 2.5, 3.0, 4.0, 5.0)
BLOCK_SHARE = 0.15
# Time for a device to confirm a stop and to report its full state [ns]: slow state is read once a second.
ANSWER_NS = 3_000_000_000
# The rate of a link is that of its last second.
RATE_NS = 1_000_000_000
RELEASE = "release the emergency stop; if it is released, check its wire"


def check_daq(rig: Rig, access: Access) -> list[Check]:
    """Sensors at rest, their rate, calibration sheets, and the read-back of the emergency stop. Raises DeviceError."""
    blocks, age_ms, t_ns, health, cost_us = seen_blocks(access, access.device("daq"))
    at_rest = DriveSample(0, 0, rig.layout.zero_speeds, -1), ValveSample(0, 0, _no_pressures(rig.layout), -1)
    samples = Samples(t_ns, tuple(blocks), 0, 0, *at_rest)
    estimate = Estimator(rig).estimate(samples)
    if not estimate.zeroed:
        found = f"{len(blocks)} blocks in {LOOK_NS * 1e-9:g} s"
        raise DeviceError(
            f"{health.device}: {found}, too few to zero the sensors ({ZERO_TIME_S:g} s); is it connected?"
        )
    checks = [
        opened(health),
        age_limits(rig.limits, ["daq"])["daq"].check(age_ms),
        *limit_checks(sensor_limits(rig.limits, rig.layout.channels), estimate),
    ]
    if rig.config.daq is not None:
        checks += rate_checks("sample rate", blocks, rig.config.daq.rate_hz, "daq.rate_hz", 0)
        checks += couplings(rig, blocks)
        if rig.config.rig != "simulated" and rig.config.clock == "realtime":
            checks.append(block_check(rig.config.daq, rig.limits, cost_us))
    if rig.config.devices and rig.config.devices.daq:
        checks += _sheets(rig.config.sensitivities_mVpN, rig.layout, rig.config.devices.daq)
        checks.append(_e_stop(rig.config.devices.daq, health))
    return checks


def couplings(rig: Rig, blocks: Sequence[DaqBlock]) -> list[Check]:
    """Whether a force that is put on meanwhile fades as the config says."""
    from hil.signals.calibration_fits import COUPLING, fading  # no other check needs scipy

    volts, daq = np.concatenate([block.values for block in blocks]), rig.config.daq
    assert daq is not None
    each = zip(rig.layout.channels, volts.T, rig.config.droops_s, strict=True)
    seen = [(name, *fading(column, daq.rate_hz, droop_s)) for name, column, droop_s in each]
    return [Check(f"coupling of {name}", ok, found, allowed, COUPLING) for name, ok, found, allowed in seen]


def check_drives(rig: Rig, access: Access) -> list[Check]:
    """Every controller, with a cut commanded and wheels at rest. Raises DeviceError."""
    sample, checks = motor_checks("drives", "speeds", rig, access, rig.config.drives.on_cut)
    power = limit_checks(power_limits(rig.layout, rig.limits), sample.power)
    return [*checks, *limit_checks([standing_limit(rig)], sample.speed_radps), *power]


def motor_checks(link: str, values: str, rig: Rig, access: Access, on_cut: str) -> tuple[Any, list[Check]]:
    """The newest sample of drives or servos, and the checks of their controllers, which are cut. Raises DeviceError."""
    sample, confirmed, health, states = answer_to_stop(link, rig, access)
    if sample is None:
        raise DeviceError(f"{health.device}: no {values} within {ANSWER_NS * 1e-9:g} s")
    checks = [
        opened(health, f"{len(states)} controllers" if states else health.detail),
        confirmed_check(f"{link} cut", confirmed, allowed="confirmed by all of them"),
        *map(controller_check, states),
        *identity_checks(health),
    ]
    if rig.config.rig != "simulated" and rig.config.devices and getattr(rig.config.devices, link):
        checks += link_rate(rig, link, health)
        checks.append(Check(f"{link} at the cut", True, on_cut, f"what is set in the controllers ({link}.on_cut)"))
    if health.e_stop:
        checks.append(Check(f"emergency stop of the {link}", False, "pressed", "released", RELEASE))
    return sample, checks


def check_valves(rig: Rig, access: Access) -> list[Check]:
    """Valves off, regulators closed, and the dead-men that ensure it when this program dies. Raises DeviceError."""
    sample, confirmed, health, _ = answer_to_stop("valves", rig, access)
    safe = "all off, regulators closed" if rig.layout.regulators else "all off"
    checks = [
        opened(health),
        confirmed_check("valves", confirmed, f"{safe}, confirmed", f"{safe}, confirmed"),
        *limit_checks(pressure_limits(rig.layout, rig.limits), sample),
        Check(
            "pressures",
            True,
            in_kPa(rig.layout, sample.pressure_Pa if sample else _no_pressures(rig.layout)),
            "as it is",
        ),
    ]
    if rig.config.devices and (given := rig.config.devices.valves):
        checks += [*link_rate(rig, "valves", health), *_dead_men(rig.layout, given)]
    return checks


def answer_to_stop(link: str, rig: Rig, access: Access) -> tuple[Any, bool, Health, Sequence[ControllerState]]:
    """Command the safe state of a device, and wait until it is confirmed and all that the device reports is known.

    Returns:
        The newest sample, or None; whether the state is confirmed; the health of the link, whose rate is known by then;
        and the state of each motor controller.
    """
    sample, confirmed, complete = None, False, False
    with closing(access.device(link)) as device:
        device.open()
        began_ns = t_ns = access.go_on()
        device.write(ROLES[link].safe(began_ns, rig.layout))
        while t_ns < began_ns + ANSWER_NS and not (confirmed and complete):
            t_ns = access.go_on()
            sample = device.read(t_ns) or sample
            confirmed = sample is not None and sample.acknowledged_ns >= began_ns
            power = getattr(sample, "power", None)  # read more seldom than speeds, where it is measured
            complete = (power is None or power.t_ns >= 0) and all(state.known for state in access.states())
        until_ns = t_ns if rig.config.rig == "simulated" else access.go_on() + RATE_NS
        while t_ns < until_ns:
            t_ns = access.go_on()
        return sample, confirmed, device.health(), access.states()


def link_rate(rig: Rig, link: str, health: Health) -> list[Check]:
    """The rounds a second that a link makes, where it counts them."""
    check = rate_check(rig.config.devices, rig.config.rig, link, health.rate_hz)
    return [check] if check and rig.config.rig != "simulated" else []


class _DaqBlocks(NamedTuple):
    """Blocks of a data acquisition, and what is to be known of it.

    Attributes:
        age_ms: their median age on arrival [ms]; NaN: there was none.
        t_ns: time at the end [ns].
        cost_us: processor time of the driver for a block [us]; NaN: there was none.
    """

    blocks: Sequence[DaqBlock]
    age_ms: float
    t_ns: int
    health: Health
    cost_us: float


def seen_blocks(access: Access, daq: Source[DaqBlock]) -> _DaqBlocks:
    """What a data acquisition delivers within LOOK_NS. Raises DeviceError."""
    with closing(daq):
        daq.open()
        began_ns = time.thread_time_ns()
        timed, t_ns = read_blocks(access, daq, LOOK_NS)
        cost_us = (time.thread_time_ns() - began_ns) * 1e-3 / len(timed) if timed else math.nan
        ages_ms = [(read_ns - int(block.t_ns[-1])) * 1e-6 for read_ns, block in timed]
        age_ms = statistics.median(ages_ms) if ages_ms else math.nan
        return _DaqBlocks([block for _, block in timed], age_ms, t_ns, daq.health(), cost_us)


def block_check(daq: DaqConfig, limits: LimitsConfig, cost_us: float) -> Check:
    """Whether this machine would do with shorter blocks of samples, or needs longer ones.

    A cut waits for the end of a block. The proposed length is the shortest of BLOCKS_MS whose blocks take the driver
    less than BLOCK_SHARE of a processor.

    `cost_us`: processor time of the driver for a block [us].
    """
    whole = [ms for ms in BLOCKS_MS if (daq.rate_hz * ms / 1000.0).is_integer() and ms <= limits.daq_age_ms / 2]
    proposed = next((ms for ms in whole if cost_us < BLOCK_SHARE * ms * 1e3), max(whole, default=daq.block_ms))
    found = (
        f"{daq.block_ms:g} ms; a block takes {cost_us:.0f} us of processor time, {cost_us / daq.block_ms / 10:.0f} %"
    )
    return Check("block of samples", True, found, f"{proposed:g} ms is the best for this machine (daq.block_ms)")


def sample_rate_hz(blocks: Sequence[DaqBlock]) -> float | None:
    """Sample rate [Hz], from the arrival of the least late block of the first and of the last third; None: unknown."""
    third = len(blocks) // 3
    if not third or blocks[0].arrived_ns < 0:
        return None
    nominal_ns = (blocks[-1].arrived_ns - blocks[0].arrived_ns) / (len(blocks) - 1)
    late_ns = [block.arrived_ns - number * nominal_ns for number, block in enumerate(blocks)]
    first = min(range(third), key=late_ns.__getitem__)
    last = min(range(len(blocks) - third, len(blocks)), key=late_ns.__getitem__)
    span_ns = blocks[last].arrived_ns - blocks[first].arrived_ns
    return (last - first) * len(blocks[0].t_ns) * 1e9 / span_ns if span_ns > 0 else None


def rate_checks(item: str, blocks: Sequence[DaqBlock], wanted_hz: float, key: str, digits: int) -> list[Check]:
    """Whether blocks have the rate [Hz] of a config key, shown with so many digits; no check: it is not known."""
    if (rate_hz := sample_rate_hz(blocks)) is None:
        return []
    limit = Limit(item, "Hz", math.inf, key, f"set {key} to a rate that the device has").around(wanted_hz, RATE_OFF)
    return [limit.check(rate_hz, f"{rate_hz:.{digits}f} Hz, from the arrival of blocks")]


def in_kPa(layout: Layout, pressure_Pa: Sequence[tuple[float, float]]) -> str:
    """Gauge pressures of all chambers, as text."""
    if all(math.isnan(chamber) for pair in pressure_Pa for chamber in pair):
        return "not measured"
    pairs = zip(layout.cylinders, pressure_Pa, strict=True)
    return ", ".join(f"{name} extend and retract {a * 1e-3:.0f} and {b * 1e-3:.0f} kPa" for name, (a, b) in pairs)


def _no_pressures(layout: Layout) -> tuple[tuple[float, float], ...]:
    return ((math.nan, math.nan),) * len(layout.cylinders)


def opened(health: Health, found: str | None = None) -> Check:
    """Whether a device is open; by default its own words are what was found."""
    return Check(health.device, health.open, health.detail if found is None else found, "open", LOOK_AT_IT)


def identity_checks(health: Health) -> list[Check]:
    """Which device of its kind each one is, or that nothing proves it; another one than that of the config is not open.

    Of two equal devices whose cables were swapped, each does the other's work: no other check sees it.
    """
    found = [(one.where, *_identity(one)) for one in health.identities]
    return [Check(f"which device: {where}", True, says, allowed) for where, says, allowed in found]


def _identity(one: DeviceIdentity) -> tuple[str, str]:
    """What is found, and what is allowed."""
    says = f"identity {one.found}" if one.found else "no identity"
    if one.needed or one.proof:
        return f"{says}; proven by {'it' if one.needed else one.proof}", "as it is"
    to_set = f"identity: {one.found} in its section" if one.found else "a mark stored in it, or a port by its path"
    return (
        f"{says}; not proven",
        f"{to_set}, once a motion by hand has shown that it is this one (docs/how-to/bring-up.md)",
    )


def controller_check(state: ControllerState) -> Check:
    """Whether all of a controller's state is known, and it reports no trouble."""
    said = f"{state.version}, {state.supply_V:.1f} V, {' and '.join(f'{each:.2f} A' for each in state.currents_A)}"
    found = f"{said}, {state.trouble or 'no trouble'}"
    allowed = "its full state read, and no trouble reported"
    to_do = "repair what the controller reports (its manual has the words), then switch it off and on"
    return Check(state.where, state.known and not state.trouble, found, allowed, to_do)


def _sheets(sensitivities_mVpN: tuple[float, ...], layout: Layout, daq: DaqSection) -> list[Check]:
    """Calibration data of each sensor; they never prevent arming, and all of them are in the record."""
    checks = []
    for channel, sensitivity in zip(layout.channels, sensitivities_mVpN, strict=True):
        sheet = daq.sheet(channel)
        key = SENSITIVITY[daq.kind(channel)]
        calibrated = sheet is not None and getattr(sheet, key) is not None
        found = f"{sensitivity:.4g} mV/N by {'its sheet' if calibrated else 'daq.channels'}"
        serial, date = (sheet.serial, sheet.date) if sheet else ("unknown", None)
        found = f"serial number {serial}, {found}, {f'calibrated {date}' if date else 'no date of calibration'}"
        checks.append(Check(f"sensor {channel} sheet", True, found, "as engraved on it (devices.daq.calibration)"))
    return checks


def _e_stop(daq: DaqSection, health: Health) -> Check:
    if daq.e_stop is None:
        return Check("emergency stop", True, "not read back", "devices.daq.e_stop, where it is wired; test it by hand")
    found = "pressed, or its wire is broken" if health.e_stop else "released"
    allowed = "released; test it by hand"
    return Check("emergency stop", not health.e_stop, f"{found}, by {daq.e_stop}", allowed, RELEASE)


def _dead_men(layout: Layout, valves: ValvesSection) -> list[Check]:
    """What makes valves and moved regulators safe when this program dies; the config has accepted that nothing does."""
    driver, none = valves_driver(valves), "none (no_dead_man: accepted): {} when this program dies"
    found = driver.dead_man(valves) or none.format("valves stay powered")
    allowed = "flash_on, watchdog_ms, or no_dead_man: accepted"
    checks = [Check("dead-man of the valves", True, found, allowed)]
    if layout.regulators:
        found = driver.regulators_dead_man(valves) or none.format("regulators keep their pressure")
        allowed = "a watchdog of the device, or regulators.no_dead_man: accepted"
        checks.append(Check("dead-man of the regulators", True, found, allowed))
    return checks


def check_loads(rig: Rig, access: Access) -> list[Check]:
    """Load channels at rest: their age, rate, range, and the loads that they give. Raises DeviceError."""
    assert rig.config.loads is not None
    blocks, age_ms, _, health, _ = seen_blocks(access, access.device("loads"))
    if len(blocks) < 2:
        raise DeviceError(f"{health.device}: {len(blocks)} blocks in {LOOK_NS * 1e-9:g} s; is it connected?")
    checks = [opened(health), age_limits(rig.limits, ["loads"])["loads"].check(age_ms)]
    checks += rate_checks("load sample rate", blocks, rig.config.loads.rate_hz, "loads.rate_hz", 1)
    readings = np.concatenate([block.values for block in blocks])
    return [*checks, *_channels(rig, readings), *_loads(rig, readings.mean(axis=0))]


def _channels(rig: Rig, readings: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[Check]:
    """Readings that are finite and inside the range; a broken wire ends at full scale."""
    setting = "full scale (force_N, moment_Nm)" if rig.layout.reads_loads else "loads.range_V"
    to_do = f"look for a broken wire, or choose a larger {setting}"
    means, noise = readings.mean(axis=0).tolist(), readings.std(axis=0).tolist()
    full = (0.99 * full_scales(rig.config)).tolist()
    each = zip(rig.layout.loads, rig.layout.units_of("loads"), means, noise, full, strict=True)
    return [
        Limit(f"load channel {name}", unit, most, f"99 % of {setting}", to_do, least=-most).check(
            mean, f"{mean:.4g} {unit}, noise {spread:.2g} {unit}"
        )
        for name, unit, mean, spread, most in each
    ]


def _loads(rig: Rig, mean: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[Check]:
    """What the readings mean; whether they add up to the weight is an arming check. None of strain gauges alone."""
    loads_N = (normal_force_rows(rig.config) @ (mean - offsets(rig.config))).tolist()
    names = (*(rig.layout.wheels if rig.layout.leg_sensors else ()), *(("pull",) * rig.layout.load_cell))
    words = ", ".join(f"{name} {load:.0f} N" for name, load in zip(names, loads_N, strict=True))
    allowed = "as it stands; with offsets of the calibration (hil calibrate zero)"
    return [Check("loads", True, words, allowed)] if names else []
