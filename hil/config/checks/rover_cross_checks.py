"""Cross-checks of the servos and the wheels of a config, and of a vehicle without wheels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hil.config.problems import Problem
from hil.config.schema.ground_and_obstacle import SoilConfig, SoilRegionConfig
from hil.config.schema.servos import ServosConfig, driven_joints, servo_keys
from hil.config.schema.wheel import axle_of
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.layout import INSTRUMENTS
from models.rover.imported import IMPORTED
from models.rover.parameters import STEERING
from models.rover.registry import WITHOUT_WHEELS

# Sections that ask for wheels, ground, or a twin that is corrected.
_OF_ROVERS = ("loads", *INSTRUMENTS, "camera", "soil_estimation")


def without_wheels_problems(config: UncheckedConfig) -> list[Problem]:
    """All of them; none of a rover with wheels. The other checks have nothing to ask if there are any."""
    name = config.rover.type
    if name not in WITHOUT_WHEELS:
        return []
    of_type = ("rover.type",)
    if not config.section.captures:
        allowed = f"capture with rover.type {name}, which has no wheels"
        return [Problem("experiment", config.experiment, allowed, of_type)]
    problems = [
        Problem(key, "a section", f"null with rover.type {name}, which has no wheels", of_type)
        for key in _OF_ROVERS
        if getattr(config, key) is not None
    ]
    rover = config.rover
    for key, value in (("payload.mass_kg", rover.payload.mass_kg), ("drawbar.pull_N", rover.drawbar.pull_N)):
        if value != 0.0:
            problems.append(Problem(f"rover.{key}", f"{value:g}", f"0 with rover.type {name}", of_type))
    problems += [
        Problem(f"rover.{key}", "a section", f"null with rover.type {name}", of_type)
        for key in ("ballast", "flexible_legs")
        if getattr(rover, key) is not None
    ]
    if rover.locks:
        problems.append(Problem("rover.locks", ", ".join(rover.locks), f"none with rover.type {name}", of_type))
    return problems


_OF = "wheel.of"
_HITTING = 2  # the first wheels of a rover hit the obstacle


def wheel_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    unknown = list(_unknown(config))
    return unknown or [*_soil_checks(config), *_term_checks(config), *_each_check(config), *_front_checks(config)]


def _unknown(config: UncheckedConfig) -> Iterator[Problem]:
    """Names of wheels that the rover does not have."""
    names = config.rover.kind.wheels()
    known = list(dict.fromkeys([*map(axle_of, names), *names]))
    for key in config.wheel.of:
        if key not in known:
            allowed = f"wheels or axles of rover.type {config.rover.type}: {', '.join(known)}"
            yield Problem(_OF, key, allowed, ("rover.type",))


def _key(config: UncheckedConfig, wheel: str, name: str) -> str:
    """Path of the key that gives a wheel a value: its own key, that of its axle, or that of all."""
    for key in (wheel, axle_of(wheel)):
        given = config.wheel.of.get(key)
        if given is not None and getattr(given, name) is not None:
            return f"{_OF}.{key}.{name}"
    return f"wheel.{name}"


def _soil_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """What the models of the wheels ask of the soil; each model is asked once."""
    soil, kind = config.soil, config.ground.kind
    seen: dict[str, str] = {one.variant: wheel for wheel, one in reversed(config.wheels.items())}
    keys = {variant: _key(config, wheel, "variant") for variant, wheel in seen.items()}
    largest = 2.0 / (soil.exponent + 1.0)
    clamped = [variant for variant in seen if variant in ("exact", "tire_3", "published", "flexible")]
    for variant in clamped[:1]:
        if soil.rebound > largest:
            at_most = f"at most {largest:.4g} = 2/(soil.exponent + 1)"
            allowed = f"{at_most} with {keys[variant]} {variant}, or soil pushes the wheel"
            yield Problem("soil.rebound", f"{soil.rebound:g}", allowed, ("soil.exponent", keys[variant]))
    for number, other in enumerate(soil.regions):
        most = 2.0 / (other.exponent + 1.0)
        if clamped and clamped[0] != "flexible" and other.rebound > most:
            allowed = f"at most {most:.4g} = 2/(exponent + 1) of this region"
            yield Problem(f"soil.regions.{number}.rebound", f"{other.rebound:g}", allowed, (keys[clamped[0]],))
    depends_on = ("wheel.variant", "soil.rut", "ground.kind")
    mixed = bool({"flexible", "xu"} & seen.keys())
    if mixed or soil.rut == "remembered" or not config.ground.on_soil:
        allowed = "with wheel.variant flexible or xu, soil.rut remembered or a ground.kind without soil"
        if soil.regions:
            yield Problem("soil.regions", f"{len(soil.regions)} regions", f"none {allowed}", depends_on)
    without_ruts = [variant for variant in seen if variant not in ("exact", "tire_3", "flexible")]
    if soil.rut == "remembered" and without_ruts:
        key = keys[without_ruts[0]]
        allowed = f"fresh with {key} {without_ruts[0]}; remembered with exact or flexible"
        yield Problem("soil.rut", soil.rut, allowed, (key,))
    if soil.rut == "remembered" and not config.ground.on_soil:
        yield Problem("soil.rut", soil.rut, f"fresh with ground.kind {kind}; remembered with soil", ("ground.kind",))
    for variant, key in keys.items():
        if variant != "exact" and not config.ground.on_soil:
            allowed = f"exact with ground.kind {kind}, where no wheel meets soil"
            yield Problem(key, variant, allowed, ("ground.kind",))
    if "xu" not in keys:
        return
    key = keys["xu"]
    if soil.peak_offset + soil.peak_slope >= 1.0:
        allowed = f"below {1.0 - soil.peak_offset:.4g} = 1 - soil.peak_offset with {key} xu"
        yield Problem("soil.peak_slope", f"{soil.peak_slope:g}", allowed, ("soil.peak_offset", key))
    if soil.shear != "janosi_hanamoto":
        yield Problem("soil.shear", soil.shear, f"janosi_hanamoto with {key} xu, whose shear it is", (key,))


def _term_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """Optional terms of the soil, which some wheels do not have."""
    soil, wheels = config.soil, config.wheels.values()
    variants = {"flexible", "xu"} & {one.variant for one in wheels}
    crowned = any(one.crown_radius_m is not None for one in wheels)
    sections: dict[str, SoilConfig | SoilRegionConfig] = {"soil": soil}
    sections |= {f"soil.regions.{number}": one for number, one in enumerate(soil.regions)}
    others = "null with wheel.variant flexible or xu"
    if (share := config.wheel.rim_friction) is not None and all(one.grousers for one in wheels):
        allowed = "null where each wheel has grousers, which shear the soil within"
        yield Problem("wheel.rim_friction", f"{share:g}", allowed, ("wheel.grousers",))
    yield from _speed_checks(soil, variants, any(one.slip_sinkage for one in sections.values()))
    for section, one in sections.items():
        if one.slip_sinkage and variants:
            yield Problem(f"{section}.slip_sinkage", f"{one.slip_sinkage:g}", others, ("wheel.variant",))
        if one.density_kgpm3 and (variants or crowned):
            allowed, keys = f"{others}, or wheel.crown_radius_m", ("wheel.variant", "wheel.crown_radius_m")
            yield Problem(f"{section}.density_kgpm3", f"{one.density_kgpm3:g}", allowed, keys)


def _speed_checks(soil: SoilConfig, variants: set[str], digs: bool) -> Iterator[Problem]:
    """Traction that depends on the speed."""
    exponent, speed = "soil.slip_modulus_exponent", "soil.slip_modulus_speed_mps"
    if (soil.slip_modulus_exponent is None) != (soil.slip_modulus_speed_mps is None):
        given, missing = (speed, exponent) if soil.slip_modulus_exponent is None else (exponent, speed)
        yield Problem(missing, "null", f"a number with {given}, or null both", (given,))
    if soil.slip_modulus_exponent:
        found = f"{soil.slip_modulus_exponent:g}"
        if digs:
            yield Problem(exponent, found, "null with slip_sinkage", ("soil.slip_sinkage", "soil.regions"))
        if "xu" in variants:
            yield Problem(exponent, found, "null with wheel.variant xu, which has no slip modulus", ("wheel.variant",))


def _each_check(config: UncheckedConfig) -> Iterator[Problem]:
    """Grousers and crowns, of which each key is named once."""
    said = set()
    for wheel, one in config.wheels.items():
        crown, variant = _key(config, wheel, "crown_radius_m"), _key(config, wheel, "variant")
        if one.crown_radius_m is not None and crown not in said:
            said.add(crown)
            if one.variant not in ("exact", "tire_3"):
                yield Problem(crown, f"{one.crown_radius_m:g}", f"null with {variant} {one.variant}", (variant,))
            if config.soil.rut == "remembered":
                yield Problem(crown, f"{one.crown_radius_m:g}", "null with soil.rut remembered", ("soil.rut",))
        key = _key(config, wheel, "grousers")
        if key in said or not one.grousers:
            continue
        said.add(key)
        if one.variant == "flexible":
            yield Problem(key, str(one.grousers), f"0 with {variant} flexible, whose ring has none", (variant,))
        if one.grousers % 2 or one.grousers == 2:
            yield Problem(key, str(one.grousers), "0, or an even number from 4 on")


def _front_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """The two wheels that hit the obstacle are alike: it stands at one distance, its plates are made for one wheel."""
    if not config.section.obstacle:
        return
    with suppress(ValueError):  # an impossible rover, which loading names
        mounts, each = config.rover_parameters().tree().wheels[:_HITTING], list(config.wheels.values())
        sizes = {
            (mount.radius, mount.width, mount.crown or 0.0, one.grousers, one.tips_m)
            for mount, one in zip(mounts, each, strict=False)
        }
        if len(sizes) > 1:
            found = " and ".join(
                f"radius {radius:g} m, width {width:g} m, crown {crown:g} m, {count} grousers"
                for radius, width, crown, count, _ in sorted(sizes)
            )
            names = " and ".join(mount.name for mount in mounts)
            key = _OF if config.wheel.of else f"rover.{IMPORTED}.urdf"
            allowed = f"{names} alike with experiment {config.experiment}, in which they hit the obstacle"
            yield Problem(key, found, allowed, ("experiment",))


_KEY = "servos.joints"


def servo_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a rover whose joints are not driven."""
    servos = config.servos
    if servos is None:
        return []
    return list(_unknown_servos(config, servos)) or [*_held_otherwise(config, servos), *_ranges(config, servos)]


def _unknown_servos(config: UncheckedConfig, servos: ServosConfig) -> Iterator[Problem]:
    """Names of joints that cannot be driven."""
    kind = config.rover.kind
    if not (servos.joints or servos.slides):
        yield Problem("servos", "no joint", "joints or slides, or null: no joint is driven")
    known, tree, sliding = kind.lockable(), kind().tree(), kind.sliding()
    joints, wheels = tree.joints, {wheel.body for wheel in tree.wheels}
    kinds, names = {name.rsplit("_", 1)[-1] for name in known}, {joint.name for joint in joints}
    of_wheels = {name for joint in joints if joint.child in wheels for name in (joint.name, joint.kind)}
    for section, given, other in (("joints", servos.joints, "slides"), ("slides", servos.slides, "joints")):
        for name in given:
            wrong = [one for one in known if name in (one, one.rsplit("_", 1)[-1])]
            wrong = [one for one in wrong if (one in sliding) is not (section == "slides")]
            if wrong:
                moves = "slides" if section == "joints" else "turns"
                allowed = f"in servos.{other}, for it {moves}"
                yield Problem(f"servos.{section}", ", ".join(wrong), allowed, ("rover.type",))
    for name in (*servos.joints, *servos.slides):
        if name in known or name in kinds:
            continue
        found = f"of a wheel, {name}" if name in of_wheels else f"the coupled {name}" if name in names else name
        allowed = f"joints of rover.type {config.rover.type} that are not of wheels or coupled, or their kinds: "
        key = "servos.slides" if name in servos.slides else _KEY
        yield Problem(key, found, f"{allowed}{', '.join(known) or 'none'}", ("rover.type",))


def _held_otherwise(config: UncheckedConfig, servos: ServosConfig) -> Iterator[Problem]:
    locks = config.rover.locks
    for name, key in servo_keys(servos, config.rover.kind.lockable()).items():
        at = f"servos.slides.{key}" if key in servos.slides else f"{_KEY}.{key}"
        if name in locks or (key != name and key in locks):
            yield Problem(at, f"{name}, which rover.locks locks", "a joint that is not locked", ("rover.locks",))
        if name in config.layout.joints:
            allowed = f"a joint without a cylinder; {', '.join(config.layout.joints)} have one (cylinders.joints)"
            yield Problem(at, name, allowed, ("cylinders.joints", "rover.type"))
        if config.plant.veer.steering_deg and name.rsplit("_", 1)[-1] == STEERING:
            allowed = "0 where servos drive the steering"
            yield Problem("plant.veer.steering_deg", "angles", allowed, (at,))


def _ranges(config: UncheckedConfig, servos: ServosConfig) -> Iterator[Problem]:
    """Ranges that hold their start."""
    with suppress(ValueError):  # an impossible rover, which loading names
        tree = config.rover.parameters().tree()
        seen = set()
        for joint in driven_joints(servos, config.rover.kind.lockable(), tree):
            key = servo_keys(servos, [joint.name])[joint.name]
            low, high, start = map(joint.shown, (joint.low_rad, joint.high_rad, joint.start_rad))
            at, unit = f"servos.{joint.section}.{key}", joint.unit
            if not low < high:
                if key not in seen:
                    allowed = f"a smaller {'displacement' if joint.slides else 'angle'}, then a larger one"
                    yield Problem(f"{at}.range_{unit}", f"{low:g} to {high:g}", allowed)
            elif not low - 1e-9 <= start <= high + 1e-9 and key not in seen:
                allowed = f"{low:g} to {high:g}, {at}.range_{unit}"
                depends_on = (f"{at}.range_{unit}", "rover")
                yield Problem(f"{at}.start_{unit}", f"{start:.4g} of {joint.name}", allowed, depends_on)
            seen.add(key)
