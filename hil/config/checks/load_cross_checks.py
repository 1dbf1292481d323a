"""Cross-checks of a config's load channels, its cylinders, and the distribution of the wheels' loads."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hil.config.problems import Problem
from hil.config.rig_setup import full_loads, leg_matrix
from hil.config.schema.loads import AXES, FRAME, PULL, LoadsConfig, StrainGaugesConfig
from hil.config.schema.normal_force import CylindersConfig, LinkageConfig
from hil.config.unchecked_config import UncheckedConfig


def load_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a config that controls no loads."""
    if not config.section.controls_loads:
        return []
    if not config.layout.cylinders:
        found = f"{config.experiment}, and rover.type {config.rover.type} without cylinders"
        allowed = "a rover with cylinders (cylinders.joints): they move the wheels' loads"
        return [Problem("experiment", found, allowed, ("rover.type", "cylinders.joints"))]
    return [*_ground(config), *_cylinders(config)]


def _ground(config: UncheckedConfig) -> Iterator[Problem]:
    if config.ground.kind == "none":
        allowed = "soil, firm or rigid: without ground no wheel bears a load"
        yield Problem("ground.kind", "none", allowed, ("experiment",))


def _cylinders(config: UncheckedConfig) -> Iterator[Problem]:
    """Pressures must be measured, and there must be one at all."""
    valves = config.devices.valves if config.devices else None
    if valves is not None and not valves.measures_pressures:
        allowed = "pressure_registers or pressure_channels of all chambers, by which torques are controlled"
        yield Problem("devices.valves", f"{valves.driver} without pressure inputs", allowed, ("experiment",))
    if config.cylinders.supply_kPa == 0.0:
        yield Problem("cylinders.supply_kPa", "0", "above 0: the cylinders push the wheels", ("experiment",))


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


# A calibrated piston area, over that of the bore, is in this range; beyond it the sheet is of another cylinder, its
# chambers are swapped, or its arm is wrong.
_LEAST_AREA, _MOST_AREA = 0.5, 1.5


def cylinder_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    cylinders = config.cylinders
    problems = [*_joints(config), *_sizes(config)]
    if cylinders.calibration and not problems:
        problems += _cylinder_sheets(config, cylinders)
    if cylinders.linkage is not None:
        problems += _linkage(cylinders.linkage, cylinders.stroke_mm * 1e-3)
    return problems


def _joints(config: UncheckedConfig) -> Iterator[Problem]:
    joints, bogies = config.cylinders.joints or (), config.rover.kind.bogies()
    still = [name for name in config.layout.joints if name not in bogies and config.rover.locks]
    if still:
        with_one = ", ".join(config.layout.joints)
        allowed = f"joints without a cylinder: {with_one} have one (cylinders.joints)"
        yield Problem("rover.locks", f"of {', '.join(still)}", allowed, ("rover.type", "cylinders.joints"))
        return
    unknown = [name for name in joints if name not in bogies]
    if unknown:
        allowed = f"{', '.join(bogies)} of rover.type {config.rover.type}" if bogies else "none: it has no bogies"
        yield Problem("cylinders.joints", ", ".join(unknown), allowed, ("rover.type",))
    if len(set(joints)) < len(joints):
        yield Problem("cylinders.joints", ", ".join(joints), "each joint once")


def _sizes(config: UncheckedConfig) -> Iterator[Problem]:
    cylinders, friction = config.cylinders, config.cylinders.friction
    if cylinders.rod_mm >= cylinders.bore_mm:
        bore = f"{cylinders.bore_mm:g}"
        yield Problem("cylinders.rod_mm", f"{cylinders.rod_mm:g}", f"below {bore}, the bore", ("cylinders.bore_mm",))
    if friction is not None and friction.coulomb_N > friction.static_N:
        found, most = f"{friction.coulomb_N:g}", f"{friction.static_N:g}"
        allowed = f"at most {most}, the static friction"
        yield Problem("cylinders.friction.coulomb_N", found, allowed, ("cylinders.friction.static_N",))
    if cylinders.bottle is not None and cylinders.model != "compressible":
        allowed = f"null with cylinders.model {cylinders.model}; a bottle with compressible"
        yield Problem("cylinders.bottle", "a bottle", allowed, ("cylinders.model",))


def _cylinder_sheets(config: UncheckedConfig, cylinders: CylindersConfig) -> Iterator[Problem]:
    from hil.config.cylinder_parameters import calibrated_areas, cylinder

    names, needs = config.layout.cylinders, ("cylinders.bore_mm", "cylinders.lever_m", "cylinders.linkage")
    for name, sheet in (cylinders.calibration or {}).items():
        key = f"cylinders.calibration.{name}"
        if name not in names:
            allowed = f"cylinders of the rig: {', '.join(names) or 'none'}"
            yield Problem(key, "a calibration", allowed, ("cylinders.joints", "rover.type"))
        elif sheet.torque_NmpkPa is None and sheet.force_NpkPa is None:
            yield Problem(key, "neither torque_NmpkPa nor force_NpkPa", "one of them, of hil calibrate cylinder")
    nominal = cylinder(cylinders).area
    for name, area in zip(names, calibrated_areas(cylinders, names), strict=True):
        if not _LEAST_AREA <= area / nominal <= _MOST_AREA:
            found = f"a piston area of {area * 1e6:.0f} mm^2"
            allowed = f"{_LEAST_AREA * nominal * 1e6:.0f} to {_MOST_AREA * nominal * 1e6:.0f}, for a bore of"
            yield Problem(f"cylinders.calibration.{name}", found, f"{allowed} {cylinders.bore_mm:g} mm", needs)


def _linkage(linkage: LinkageConfig, stroke_m: float) -> Iterator[Problem]:
    """The arm is zero where post, joint and clevis are in line: at the sum and the difference of their distances."""
    key = "cylinders.linkage"
    px, pz, cx, cz = linkage.post_along_m, linkage.post_up_m, linkage.clevis_along_m, linkage.clevis_up_m
    post, clevis, length = math.hypot(px, pz), math.hypot(cx, cz), math.hypot(cx - px, cz - pz)
    least, most = linkage.retracted_m, linkage.retracted_m + stroke_m
    stroke = f"its stroke is {least:.4g} to {most:.4g} m from pin to pin"
    for dead, where in ((abs(post - clevis), "the same side"), (post + clevis, "either side")):
        if least <= dead <= most:
            found = f"post {post:.4g} m and clevis {clevis:.4g} m from the joint"
            allowed = (
                f"no place where the arm is 0, but it is at {dead:.4g} m, with post and clevis in line on {where} "
            )
            yield Problem(key, found, f"{allowed}of the joint, and {stroke}", ("cylinders.stroke_mm",))
    if not least < length < most:
        found = f"{length:.4g} m from pin to pin at joint angle 0"
        yield Problem(f"{key}.retracted_m", found, f"inside the stroke: {stroke}", (key, "cylinders.stroke_mm"))
    turned = pz * cx - px * cz
    if turned <= 0.0:
        found = f"an arm of {turned / length if length else 0.0:.4g} m"
        allowed = "above 0: a longer cylinder turns the joint so that what is along goes down; put the clevis ahead"
        yield Problem(key, found, allowed)
