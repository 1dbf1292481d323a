"""Cross-checks of the cylinders: the rover has their joints, and their linkage can move."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.config.schema.cylinders import CylindersConfig, LinkageConfig

# A calibrated piston area, over that of the bore, is in this range; beyond it the sheet is of another cylinder, its
# chambers are swapped, or its arm is wrong.
_LEAST_AREA, _MOST_AREA = 0.5, 1.5


def cylinder_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    cylinders = config.cylinders
    problems = [*_joints(config), *_sizes(config)]
    if cylinders.calibration and not problems:
        problems += _sheets(config, cylinders)
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


def _sheets(config: UncheckedConfig, cylinders: CylindersConfig) -> Iterator[Problem]:
    from hil.config.cylinder_parameters import calibrated_areas, cylinder  # a process without sheets loads no kernels

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
