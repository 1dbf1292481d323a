"""Cross-checks of the choices of models and their numbers, and of a soil that is estimated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from hil.config.problems import Problem
from hil.config.schema.ground_and_obstacle import ProfileConfig
from hil.config.unchecked_config import UncheckedConfig
from models.gravity import GRAVITY_MPS2

Corners = list[tuple[float, float]]  # x and z [m]

# Kinds of ground that can have a profile.
WITH_PROFILE = ("firm", "nonsmooth", "soil", "scan")
LONGEST_PLATE_M = 5.0
_LEVEL_M = 1e-9  # rounding of a height
_SLOPES = ("pitch_deg", "roll_deg")
# From the start until the sensors are zeroed and the rover is armed, and some time more [s].
BEFORE_RUN_UP_S = 0.5


def model_cross_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """All of them."""
    for checks in (_ground_checks, _scan_checks, _profile_checks, _rail_checks, _obstacle_checks):
        yield from checks(config)


def _ground_checks(config: UncheckedConfig) -> Iterator[Problem]:
    ground, trial = config.ground, config.trial
    if ground.law == "kelvin_voigt" and ground.exponent != 1.0:
        yield Problem("ground.exponent", f"{ground.exponent:g}", "1 with ground.law kelvin_voigt", ("ground.law",))
    if ground.gravity_mps2 != GRAVITY_MPS2:
        found, only = f"{ground.gravity_mps2:g}", f"{GRAVITY_MPS2:g}"
        if config.rig == "real":
            yield Problem("ground.gravity_mps2", found, f"{only} with rig real", ("rig",))
        if config.imu is not None:
            yield Problem("ground.gravity_mps2", found, f"{only} with an IMU, whose checks know no other", ("imu",))
    glided_m = BEFORE_RUN_UP_S * trial.speed_mps
    if ground.glides and trial.start_distance_m <= glided_m:
        slides = f"the distance that a rover slides on ground.kind {ground.kind} at trial.speed_mps before it is armed"
        depends_on = ("trial.speed_mps", "ground.kind", "ground.friction", "ground.rolling")
        found = f"{trial.start_distance_m:g}"
        yield Problem("trial.start_distance_m", found, f"above {glided_m:.4g}, {slides}", depends_on)


# The observer's gap is that to an obstacle on level ground.
_MEASURED = "level ground with an obstacle and instruments of motion; any without"


def _not_level(config: UncheckedConfig, allowed: str, depends_on: tuple[str, ...]) -> Iterator[Problem]:
    """A slope of the nominal ground, and one of the simulated rig's own, where there must be none."""
    slopes = {f"ground.{key}": getattr(config.ground, key) for key in _SLOPES}
    slopes |= {f"plant.ground_{key}": getattr(config.plant, f"ground_{key}") for key in _SLOPES}
    yield from (Problem(key, f"{value:g}", allowed, depends_on) for key, value in slopes.items() if value != 0.0)


def _scan_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """A scan and its kinds of ground belong together, and allow no other shape."""
    ground, kind = config.ground, config.ground.kind
    is_scan = kind in ("scan", "mesh")
    if is_scan != (ground.scan is not None):
        allowed = f"file, units, up and start_m with ground.kind {kind}" if is_scan else f"null with kind {kind}"
        yield Problem("ground.scan", "null" if is_scan else "a scan", allowed, ("ground.kind",))
        return
    if not is_scan:
        return
    depends_on = ("ground.kind", "experiment")
    if config.section.obstacle and config.instruments:
        yield Problem("ground.kind", kind, _MEASURED, (*depends_on, "motion"))
    if config.section.obstacle and kind == "mesh":
        allowed = "scan, or level ground: an obstacle has no place on a mesh, on which a wheel touches in several"
        yield Problem("ground.kind", kind, allowed, depends_on)
    yield from _not_level(config, f"0 with ground.kind {kind}, which has its slopes", depends_on)
    if ground.wheel_height_m is not None:
        yield Problem("ground.wheel_height_m", "heights", f"null with ground.kind {kind}", depends_on)


def _profile_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """A profile is the whole shape of hard ground, or a body in soil, with friction; nonsmooth ground stands alone."""
    ground, depends_on = config.ground, ("ground.profile",)
    if ground.friction_holds and ground.kind != "firm":
        allowed = f"false with ground.kind {ground.kind}; true with firm"
        yield Problem("ground.friction_holds", "true", allowed, ("ground.kind",))
    if ground.profile is None:
        if ground.kind == "nonsmooth":
            yield from _alone(config, "ground.kind nonsmooth")
        return
    yield from _alone(config, "ground.profile")
    if ground.kind not in WITH_PROFILE:
        allowed = f"{' or '.join(WITH_PROFILE)} with ground.profile, or ground.profile null"
        yield Problem("ground.kind", ground.kind, allowed, depends_on)
    if ground.friction == 0.0:
        yield Problem("ground.friction", "0", "above 0 with ground.profile", depends_on)
    yield from _plate_checks(config, ground.profile)
    if ground.on_soil and min(z for _, z in _corners(ground.profile)) < -_LEVEL_M:
        allowed = f"a shape that is nowhere below the ground before it, with ground.kind {ground.kind}"
        yield Problem("ground.profile.shape", ground.profile.shape, allowed, ("ground.kind",))
    corners = ground.profile.points_m
    if ground.profile.shape == "points" and any(b[0] < a[0] for a, b in pairwise([(0.0, 0.0), *corners])):
        allowed = "corners of which none lies behind the one before, seen ahead"
        yield Problem("ground.profile.points_m", "a line that goes back", allowed, depends_on)
    if config.section.obstacle:
        allowed = "null with an experiment that has an obstacle itself"
        yield Problem("ground.profile", ground.profile.shape, allowed, ("experiment",))
    if ground.kind == "nonsmooth":
        allowed = "null with ground.profile on nonsmooth ground: the observer knows no hits; any with ground.kind firm"
        yield from (Problem(role, "an instrument", allowed, ("ground.kind",)) for role in config.instruments)


def _corners(profile: ProfileConfig) -> Corners:
    """Those of the shape, from the end of the level ground on."""
    from hil.config.model_parameters import profile_corners  # imports kernels, which other configs do without

    return profile_corners(profile)[1:]


def _plate_checks(config: UncheckedConfig, profile: ProfileConfig) -> Iterator[Problem]:
    """Force sensors on a profile are three under a plate in one of its faces, which gives way as a spring."""
    plate, daq, key = profile.plate, config.daq, "ground.profile.plate"
    if (plate is None) != (daq is None):
        found, allowed = ("null", "a face, or daq: null") if plate is None else ("a face", "null with daq: null")
        yield Problem(key, found, allowed, ("daq",))
    if plate is None:
        return
    if daq is not None and daq.layout != "triangle":
        yield Problem("daq.layout", daq.layout, f"triangle with {key}: three sensors under a plate", (key,))
    if config.ground.kind == "nonsmooth":
        allowed = f"firm with {key}: a hit on nonsmooth ground has an impulse and no force"
        yield Problem("ground.kind", "nonsmooth", allowed, (key,))
    corners = _corners(profile)
    if plate.face >= len(corners):
        yield Problem(f"{key}.face", f"{plate.face}", f"1 to {len(corners) - 1} with this shape", ("ground.profile",))
        return
    length_m = math.dist(*corners[plate.face - 1 : plate.face + 1])
    if plate.from_m >= length_m:
        yield Problem(
            f"{key}.from_m", f"{plate.from_m:g}", f"below {length_m:.4g}, the face's length", (f"{key}.face",)
        )
    if plate.length_m is None and length_m > LONGEST_PLATE_M:
        found = f"null, to the end of a face of {length_m:g} m"
        yield Problem(f"{key}.length_m", found, f"a length up to {LONGEST_PLATE_M:g}", (f"{key}.face",))


def _alone(config: UncheckedConfig, owner: str) -> Iterator[Problem]:
    """What a line in the plane of the drive has no place for: other slopes, heights under wheels, crowned rims."""
    depends_on = tuple(owner.split()[:1])
    yield from _not_level(config, f"0 with {owner}: a slope is a shape of ground.profile", depends_on)
    if config.ground.wheel_height_m is not None:
        yield Problem("ground.wheel_height_m", "heights", f"null with {owner}", depends_on)
    for name in [name for name, one in config.wheels.items() if one.crown_radius_m is not None][:1]:
        yield Problem("wheel", f"a crown on {name}", f"straight rims with {owner}", depends_on)


def _rail_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """A carriage on rails: level ground, one wheel, nothing to hit."""
    if not config.rover.kind.guided():
        return
    of_type, with_type = ("rover.type",), f"with rover.type {config.rover.type}"
    if config.section.obstacle:
        allowed = f"drawbar or sinkage {with_type}, which stands before no obstacle"
        yield Problem("experiment", config.experiment, allowed, of_type)
    if config.ground.kind not in ("soil", "firm"):
        yield Problem("ground.kind", config.ground.kind, f"soil or firm {with_type}", of_type)
    yield from _not_level(config, f"0 {with_type}: its rails are level", of_type)


def _obstacle_checks(config: UncheckedConfig) -> Iterator[Problem]:
    obstacle, ground, plant, wheels = config.obstacle, config.ground, config.plant, len(config.layout.wheels)
    none = "an obstacle stands on the nominal ground; any with an experiment that has none, such as drive"
    of_type, with_type = ("rover.type",), f"of rover.type {config.rover.type}"
    for key in _SLOPES if config.section.obstacle else ():
        if config.instruments and (found := getattr(ground, key)) != 0.0:
            yield Problem(f"ground.{key}", f"{found:g}", _MEASURED, ("experiment", "motion"))
    for key in _SLOPES if config.section.obstacle else ():
        if (found := getattr(plant, f"ground_{key}")) != 0.0:
            yield Problem(f"plant.ground_{key}", f"{found:g}", f"0: {none}", ("experiment",))
    if (plate := obstacle.plate) is not None and plate.centre_up_m < 0.5 * plate.height_m:
        allowed = f"at least {0.5 * plate.height_m:g}, half of obstacle.plate.height_m: a plate stands above the ground"
        key = "obstacle.plate.centre_up_m"
        yield Problem(key, f"{plate.centre_up_m:g}", allowed, ("obstacle.plate.height_m",))
    if (heights := ground.wheel_height_m) is not None:
        if config.section.obstacle:
            yield Problem("ground.wheel_height_m", f"{len(heights)} heights", f"null: {none}", ("experiment",))
        if len(heights) != wheels:
            allowed = f"null, or {wheels}: one for each wheel {with_type}"
            yield Problem("ground.wheel_height_m", f"{len(heights)} heights", allowed, of_type)
    lumped = {
        "leg_stiffness_up_Npm": (obstacle.leg_stiffness_up_Npm, "null"),
        "leg_backlash_m": (obstacle.leg_backlash_m or None, "0"),
    }
    for key, (value, off) in lumped.items() if obstacle.legs == "lumped" else ():
        if value is not None:
            allowed = f"{off} with obstacle.legs lumped; any with each"
            yield Problem(f"obstacle.{key}", f"{value:g}", allowed, ("obstacle.legs",))
    steering, key = plant.veer.steering_deg, "plant.veer.steering_deg"
    if steering and not config.rover.steers:
        yield Problem(key, "angles", f"0 with rover.type {config.rover.type}", of_type)
    if isinstance(steering, tuple) and len(steering) != wheels:
        allowed = f"a number, or {wheels}: one for each wheel {with_type}"
        yield Problem(key, f"{len(steering)} angles", allowed, of_type)
    if obstacle.law == "kelvin_voigt" and obstacle.exponent != 1.0:
        allowed = "1 with obstacle.law kelvin_voigt"
        yield Problem("obstacle.exponent", f"{obstacle.exponent:g}", allowed, ("obstacle.law",))


_KEY = "soil_estimation"
_NEEDED = "null: the estimate needs"


def soil_estimation_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a config whose soil is not estimated."""
    return [*_problems(config)] if config.soil_estimation else []


def _problems(config: UncheckedConfig) -> Iterator[Problem]:
    soil = config.soil
    if config.ground.kind != "soil":
        allowed = f"{_NEEDED} ground.kind soil, level or a slope"
        yield Problem(_KEY, f"a section, with ground.kind {config.ground.kind}", allowed, ("ground.kind",))
    others = [one.variant for one in config.wheels.values() if one.variant not in ("exact", "tire_3")]
    for variant in others[:1]:
        allowed = f"{_NEEDED} wheel.variant exact, whose forces it computes"
        yield Problem(_KEY, f"a section, with wheel.variant {variant}", allowed, ("wheel.variant",))
    if soil.slip_sinkage:
        allowed = f"{_NEEDED} soil whose pressure does not depend on the slip: soil.slip_sinkage null"
        yield Problem(_KEY, f"a section, with soil.slip_sinkage {soil.slip_sinkage:g}", allowed, ("soil.slip_sinkage",))
    if soil.slip_modulus_exponent:
        allowed = f"{_NEEDED} one slip modulus at all speeds: soil.slip_modulus_exponent null"
        yield Problem(_KEY, "a section, with soil.slip_modulus_exponent", allowed, ("soil.slip_modulus_exponent",))
    if soil.density_kgpm3 is not None:
        allowed = f"{_NEEDED} wheels that push no soil ahead: soil.density_kgpm3 null"
        yield Problem(_KEY, "a section, with soil.density_kgpm3", allowed, ("soil.density_kgpm3",))
    regions = len(soil.regions)
    if soil.rut != "fresh" or regions:
        found = "soil.rut remembered" if soil.rut != "fresh" else f"{regions} soil.regions"
        allowed = f"{_NEEDED} one soil under all wheels: soil.rut fresh and soil.regions []"
        yield Problem(_KEY, f"a section, with {found}", allowed, ("soil.rut", "soil.regions"))
    if config.motion is None:
        allowed = f"{_NEEDED} a measured slip, so the instrument motion; that of the twin follows from the soil"
        yield Problem(_KEY, "a section, with motion null", allowed, ("motion",))
    if config.pull_unknown:
        allowed = f"{_NEEDED} a load cell (loads.load_cell) where a winch pulls the rover"
        yield Problem(_KEY, "a section, without a load cell", allowed, ("loads.load_cell", "experiment"))
    with suppress(ValueError):  # a rover whose sizes are not consistent is refused for that
        mounts = config.rover_parameters().tree().wheels
        if len({(mount.radius, mount.width) for mount in mounts}) > 1 or any(mount.crown for mount in mounts):
            allowed = f"{_NEEDED} wheels of one size, without a crown"
            depends_on = ("rover", "wheel.of", "wheel.crown_radius_m")
            yield Problem(_KEY, "a section, with wheels of several sizes or with a crown", allowed, depends_on)
