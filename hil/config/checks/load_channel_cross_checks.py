"""Cross-checks of the load channels of a config."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hil.config.load_channels import full_loads, leg_matrix
from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.config.schema.loads import AXES, FRAME, PULL, LoadsConfig, StrainGaugesConfig

# A calibration that magnifies errors by more than this is one of a sensor that is wired wrongly.
WORST_CONDITION = 1e3


def load_channel_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a rig without load channels."""
    loads = config.loads
    if loads is None:
        return []
    sheets = list(_sheets(config, loads))
    gauges = [] if loads.strain_gauges is None else _gauges(config, loads, loads.strain_gauges)
    return [*_some(loads), *_times(config, loads), *sheets, *_legs(config, loads, bool(sheets)), *gauges]


def _some(loads: LoadsConfig) -> Iterator[Problem]:
    if loads.leg_sensors is None and loads.load_cell is None and loads.strain_gauges is None:
        allowed = "leg_sensors, load_cell or strain_gauges, or null for a rig that has none of them"
        yield Problem("loads", "no channels", allowed)


def _times(config: UncheckedConfig, loads: LoadsConfig) -> Iterator[Problem]:
    samples, limit_ms = loads.rate_hz * loads.block_ms / 1000.0, config.limits.loads_age_ms
    if abs(samples - round(samples)) > 1e-6 or samples < 1:
        found, allowed = f"{loads.block_ms:g}, {samples:g} samples at {loads.rate_hz} Hz", "a whole number of samples"
        yield Problem("loads.block_ms", found, f"{allowed} of loads.rate_hz", ("loads.rate_hz",))
    if loads.block_ms * 2.0 > limit_ms:
        allowed = f"at most {limit_ms / 2.0:g}, half of limits.loads_age_ms, or good samples count as a drop-out"
        yield Problem("loads.block_ms", f"{loads.block_ms:g}", allowed, ("limits.loads_age_ms",))
    if loads.filter_hz * 2.0 > loads.rate_hz:
        allowed = f"at most {loads.rate_hz / 2.0:g}, half of loads.rate_hz"
        yield Problem("loads.filter_hz", f"{loads.filter_hz:g}", allowed, ("loads.rate_hz",))
    if loads.lifted_s and config.rig == "real":
        allowed = "0: a run that nobody attends cannot wait until a lifted rover stands; see `hil calibrate zero`"
        yield Problem("loads.lifted_s", f"{loads.lifted_s:g}", allowed, ("rig",))


def _sheets(config: UncheckedConfig, loads: LoadsConfig) -> Iterator[Problem]:
    known, axes = loads.channels(config.layout.wheels), loads.leg_sensors.axes if loads.leg_sensors else ()
    for name, sheet in (loads.calibration or {}).items():
        key = f"loads.calibration.{name}"
        if name not in known:
            allowed = f"channels of the rig: {', '.join(known) or 'none'}"
            keys = "loads.leg_sensors", "loads.load_cell", "loads.strain_gauges", "rover.type"
            yield Problem(key, "a calibration", allowed, keys)
            continue
        columns, reading = (name,) if name in (PULL, FRAME) else axes, config.load_reading
        if (wrong := sheet.of_other_unit(reading)) is not None:
            allowed = f"not set: the driver reads {'volts' if reading == 'V' else 'loads'}; write {wrong[:-1]}{reading}"
            yield Problem(f"{key}.{wrong}", f"a number for readings in {wrong[-1]}", allowed, ("devices.loads.driver",))
            continue
        gains, field = sheet.gains(reading), f"{key}.load_per_{reading}"
        if gains is not None and len(gains) != len(columns):
            allowed = f"{len(columns)}, for {', '.join(columns)}"
            yield Problem(field, f"{len(gains)} numbers", allowed, ("loads.leg_sensors.axes",))
        elif gains is not None and not any(gains):
            yield Problem(field, "all 0", "a number other than 0")


def _gauges(config: UncheckedConfig, loads: LoadsConfig, gauges: StrainGaugesConfig) -> Iterator[Problem]:
    """A plate whose load they measure, where the wheel hits it, and samples enough for their bandwidth."""
    if gauges.bandwidth_hz * 2.0 > loads.rate_hz:
        allowed = f"at most {loads.rate_hz / 2.0:g}, half of loads.rate_hz"
        yield Problem("loads.strain_gauges.bandwidth_hz", f"{gauges.bandwidth_hz:g}", allowed, ("loads.rate_hz",))
    if config.plate is None:
        allowed = (
            "null: they are compared with the sensors of an obstacle's plate (daq.layout triangle, rear or bottom)"
        )
        yield Problem("loads.strain_gauges", "a section", allowed, ("daq", "daq.layout"))


def _legs(config: UncheckedConfig, loads: LoadsConfig, wrong: bool) -> Iterator[Problem]:
    """Loads can be worked out of the readings: each leg's matrix can be inverted."""
    if (legs := loads.leg_sensors) is None or wrong:
        return
    full = full_loads(legs)[[AXES.index(axis) for axis in legs.axes]]
    for wheel in config.layout.wheels:
        try:
            condition = float(np.linalg.cond(leg_matrix(loads, legs, wheel, config.load_reading) / full[:, None]))
        except np.linalg.LinAlgError:
            condition = np.inf
        if not condition < WORST_CONDITION:
            found, allowed = f"a matrix of condition {condition:.3g} for {wheel}", f"below {WORST_CONDITION:g}"
            yield Problem("loads.leg_sensors.cross_talk", found, allowed, ("loads.calibration", "loads.leg_sensors"))
            return
