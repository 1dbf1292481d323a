"""Cross-checks of the wheels: their models on this soil, their grousers, and what single wheels have of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.config.schema.wheel import axle_of
from models.rover.imported import IMPORTED

_OF = "wheel.of"
_HITTING = 2  # the first wheels of a rover hit the obstacle


def wheel_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    unknown = list(_unknown(config))
    return unknown or [*_soil_checks(config), *_each_check(config), *_front_checks(config)]


def _unknown(config: UncheckedConfig) -> Iterator[Problem]:
    """Names of wheels that the rover does not have."""
    names = config.rover.kind.wheels()
    known = list(dict.fromkeys([*map(axle_of, names), *names]))
    for key in config.wheel.of:
        if key not in known:
            allowed = f"wheels or axles of rover.type {config.rover.type}: {', '.join(known)}"
            yield Problem(_OF, key, allowed, ("rover.type",))


def _key(config: UncheckedConfig, wheel: str, name: str) -> str:
    """Path of the key that gives a wheel a value: of its own, of its axle, or of all."""
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
    without_ruts = [variant for variant in seen if variant not in ("exact", "tire_3")]
    if soil.rut == "remembered" and without_ruts:
        key = keys[without_ruts[0]]
        yield Problem("soil.rut", soil.rut, f"fresh with {key} {without_ruts[0]}; remembered with exact", (key,))
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
            yield Problem(key, str(one.grousers), f"0 with {variant} flexible", (variant,))
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
