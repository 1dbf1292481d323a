"""Cross-checks of the servos: the rover has their joints, nothing else holds or pushes them, and they have room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.config.schema.driven_joints import driven_joints, servo_keys
from hil.config.schema.servos import ServosConfig
from models.rover.parameters import STEERING

_KEY = "servos.joints"


def servo_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a rover whose joints are not driven."""
    servos = config.servos
    if servos is None:
        return []
    return list(_unknown(config, servos)) or [*_held_otherwise(config, servos), *_ranges(config, servos)]


def _unknown(config: UncheckedConfig, servos: ServosConfig) -> Iterator[Problem]:
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
                    allowed = f"a smaller {'way' if joint.slides else 'angle'}, then a larger one"
                    yield Problem(f"{at}.range_{unit}", f"{low:g} to {high:g}", allowed)
            elif not low - 1e-9 <= start <= high + 1e-9 and key not in seen:
                allowed = f"{low:g} to {high:g}, {at}.range_{unit}"
                depends_on = (f"{at}.range_{unit}", "rover")
                yield Problem(f"{at}.start_{unit}", f"{start:.4g} of {joint.name}", allowed, depends_on)
            seen.add(key)
