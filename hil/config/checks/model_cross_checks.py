"""Cross-checks of the choices of models and their numbers.

Cross-checks of a config whose soil is estimated beside the rover twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from hil.config.problems import Problem
from hil.config.unchecked_config import UncheckedConfig
from models.gravity import GRAVITY_MPS2

# Kinds of ground that can have a profile.
WITH_PROFILE = ("firm", "nonsmooth")
# From the start until the sensors are zeroed and the rover is armed, and some time more [s].
BEFORE_RUN_UP_S = 0.5


def model_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them."""
    return [
        *_ground_checks(config), *_scan_checks(config), *_profile_checks(config), *_rail_checks(config),
        *_obstacle_checks(config),
    ]  # fmt: skip


def _ground_checks(config: UncheckedConfig) -> list[Problem]:
    ground, trial = config.ground, config.trial
    problems = []
    if ground.law == "kelvin_voigt" and ground.exponent != 1.0:
        problems.append(
            Problem("ground.exponent", f"{ground.exponent:g}", "1 with ground.law kelvin_voigt", ("ground.law",))
        )
    if ground.gravity_mps2 != GRAVITY_MPS2:
        found, only = f"{ground.gravity_mps2:g}", f"{GRAVITY_MPS2:g}"
        if config.rig == "real":
            problems.append(Problem("ground.gravity_mps2", found, f"{only} with rig real", ("rig",)))
        if config.imu is not None:
            allowed = f"{only} with an IMU, whose checks know no other"
            problems.append(Problem("ground.gravity_mps2", found, allowed, ("imu",)))
    glided_m = BEFORE_RUN_UP_S * trial.speed_mps
    if ground.glides and trial.start_distance_m <= glided_m:
        problems.append(
            Problem(
                "trial.start_distance_m",
                f"{trial.start_distance_m:g}",
                f"above {glided_m:.4g}, the distance that a rover slides on ground.kind {ground.kind} at "
                "trial.speed_mps before it is armed",
                ("trial.speed_mps", "ground.kind", "ground.friction", "ground.rolling"),
            )
        )
    return problems


# The observer's gap is that to an obstacle on level ground.
_MEASURED = "level ground with an obstacle and instruments of motion; any without"


def _scan_checks(config: UncheckedConfig) -> list[Problem]:
    """A scan and its kinds of ground belong together, and allow no other shape."""
    ground, kind = config.ground, config.ground.kind
    is_scan = kind in ("scan", "mesh")
    if is_scan != (ground.scan is not None):
        allowed = f"file, units, up and start_m with ground.kind {kind}" if is_scan else f"null with kind {kind}"
        return [Problem("ground.scan", "null" if is_scan else "a scan", allowed, ("ground.kind",))]
    if not is_scan:
        return []
    depends_on = ("ground.kind", "experiment")
    problems = []
    if config.section.obstacle and config.instruments:
        problems.append(Problem("ground.kind", kind, _MEASURED, (*depends_on, "motion")))
    if config.section.obstacle and kind == "mesh":
        allowed = "scan, or level ground: an obstacle has no place on a mesh, on which a wheel touches in several"
        problems.append(Problem("ground.kind", kind, allowed, depends_on))
    sloping = {f"ground.{key}": getattr(ground, key) for key in ("pitch_deg", "roll_deg")}
    sloping |= {f"plant.ground_{key}": getattr(config.plant, f"ground_{key}") for key in ("pitch_deg", "roll_deg")}
    problems += [
        Problem(key, f"{value:g}", f"0 with ground.kind {kind}, which has its slopes", depends_on)
        for key, value in sloping.items()
        if value != 0.0
    ]
    if ground.wheel_height_m is not None:
        problems.append(Problem("ground.wheel_height_m", "heights", f"null with ground.kind {kind}", depends_on))
    return problems


def _profile_checks(config: UncheckedConfig) -> list[Problem]:
    """A profile is the whole shape of hard ground, with friction, and stands alone; so does nonsmooth ground."""
    ground = config.ground
    if ground.profile is None:
        return _alone(config, "ground.kind nonsmooth") if ground.kind == "nonsmooth" else []
    problems, depends_on = _alone(config, "ground.profile"), ("ground.profile",)
    if ground.kind not in WITH_PROFILE:
        allowed = f"{' or '.join(WITH_PROFILE)} with ground.profile, or ground.profile null"
        problems.append(Problem("ground.kind", ground.kind, allowed, depends_on))
    if ground.friction == 0.0:
        problems.append(Problem("ground.friction", "0", "above 0 with ground.profile", depends_on))
    corners = ground.profile.points_m
    if ground.profile.shape == "points" and any(b[0] < a[0] for a, b in pairwise([(0.0, 0.0), *corners])):
        allowed = "corners of which none lies behind the one before, seen ahead"
        problems.append(Problem("ground.profile.points_m", "a line that goes back", allowed, depends_on))
    if config.section.obstacle:
        allowed = "null with an experiment that has an obstacle of its own"
        problems.append(Problem("ground.profile", ground.profile.shape, allowed, ("experiment",)))
    if config.instruments:
        allowed = "null with ground.profile: the observer knows level ground and slopes"
        problems += [Problem(role, "an instrument", allowed, depends_on) for role in config.instruments]
    return problems


def _alone(config: UncheckedConfig, owner: str) -> list[Problem]:
    """What a line in the plane of the drive has no place for: other slopes, heights under wheels, crowned rims."""
    ground, depends_on = config.ground, tuple(owner.split()[:1])
    level = {f"ground.{key}": getattr(ground, key) for key in ("pitch_deg", "roll_deg")}
    level |= {f"plant.ground_{key}": getattr(config.plant, f"ground_{key}") for key in ("pitch_deg", "roll_deg")}
    problems = [
        Problem(key, f"{value:g}", f"0 with {owner}: a slope is a shape of ground.profile", depends_on)
        for key, value in level.items()
        if value != 0.0
    ]
    if ground.wheel_height_m is not None:
        problems.append(Problem("ground.wheel_height_m", "heights", f"null with {owner}", depends_on))
    crowned = [name for name, one in config.wheels.items() if one.crown_radius_m is not None]
    if crowned:
        problems.append(Problem("wheel", f"a crown on {crowned[0]}", f"straight rims with {owner}", depends_on))
    return problems


def _rail_checks(config: UncheckedConfig) -> list[Problem]:
    """A carriage on rails: level ground, one wheel, nothing to hit."""
    rover, ground = config.rover, config.ground
    if not rover.kind.guided():
        return []
    problems = []
    if config.section.obstacle:
        allowed = f"drawbar or sinkage with rover.type {rover.type}, which stands before no obstacle"
        problems.append(Problem("experiment", config.experiment, allowed, ("rover.type",)))
    level = {f"ground.{key}": getattr(ground, key) for key in ("pitch_deg", "roll_deg")}
    level |= {f"plant.ground_{key}": getattr(config.plant, f"ground_{key}") for key in ("pitch_deg", "roll_deg")}
    if ground.kind not in ("soil", "firm"):
        problems.append(
            Problem("ground.kind", ground.kind, f"soil or firm with rover.type {rover.type}", ("rover.type",))
        )
    problems += [
        Problem(key, f"{value:g}", f"0 with rover.type {rover.type}: its rails are level", ("rover.type",))
        for key, value in level.items()
        if value
    ]
    return problems


def _obstacle_checks(config: UncheckedConfig) -> list[Problem]:
    obstacle, ground = config.obstacle, config.ground
    allowed = "0: an obstacle stands on the nominal ground; any with an experiment that has none, such as drive"
    problems = [
        Problem(f"ground.{key}", f"{getattr(ground, key):g}", _MEASURED, ("experiment", "motion"))
        for key in ("pitch_deg", "roll_deg")
        if getattr(ground, key) != 0.0 and config.section.obstacle and config.instruments
    ]
    problems += [
        Problem(f"plant.ground_{key}", f"{getattr(config.plant, f'ground_{key}'):g}", allowed, ("experiment",))
        for key in ("pitch_deg", "roll_deg")
        if getattr(config.plant, f"ground_{key}") != 0.0 and config.section.obstacle
    ]
    if (plate := obstacle.plate) is not None and plate.centre_up_m < 0.5 * plate.height_m:
        at_least = (
            f"at least {0.5 * plate.height_m:g}, half of obstacle.plate.height_m: a plate stands above the ground"
        )
        key = "obstacle.plate.centre_up_m"
        problems.append(Problem(key, f"{plate.centre_up_m:g}", at_least, ("obstacle.plate.height_m",)))
    if (heights := ground.wheel_height_m) is not None:
        wheels = len(config.layout.wheels)
        if config.section.obstacle:
            expected = allowed.replace("0", "null", 1)
            problems.append(Problem("ground.wheel_height_m", f"{len(heights)} heights", expected, ("experiment",)))
        if len(heights) != wheels:
            expected = f"null, or {wheels}: one for each wheel of rover.type {config.rover.type}"
            problems.append(Problem("ground.wheel_height_m", f"{len(heights)} heights", expected, ("rover.type",)))
    if obstacle.legs == "lumped":
        problems += [
            Problem(
                f"obstacle.{key}", f"{found:g}", f"{off} with obstacle.legs lumped; any with each", ("obstacle.legs",)
            )
            for key, found, off in (
                ("leg_stiffness_up_Npm", obstacle.leg_stiffness_up_Npm, "null"),
                ("leg_backlash_m", obstacle.leg_backlash_m or None, "0"),
            )
            if found is not None
        ]
    if config.plant.veer.steering_deg and not config.rover.steers:
        problems.append(
            Problem("plant.veer.steering_deg", "angles", f"0 with rover.type {config.rover.type}", ("rover.type",))
        )
    if isinstance(steering := config.plant.veer.steering_deg, tuple) and len(steering) != len(config.layout.wheels):
        problems.append(
            Problem(
                "plant.veer.steering_deg",
                f"{len(steering)} angles",
                f"a number, or {len(config.layout.wheels)}: one for each wheel of rover.type {config.rover.type}",
                ("rover.type",),
            )
        )
    if obstacle.law == "kelvin_voigt" and obstacle.exponent != 1.0:
        problems.append(
            Problem(
                "obstacle.exponent", f"{obstacle.exponent:g}", "1 with obstacle.law kelvin_voigt", ("obstacle.law",)
            )
        )
    return problems


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
