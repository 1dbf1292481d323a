"""The steps of time that a config's contacts can be integrated with; loading refuses what no step can."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hil.config.problems import Problem
from hil.config.schema.ground_and_obstacle import GroundConfig, ObstacleConfig, SoilConfig, SoilRegionConfig
from hil.config.schema.trial import TrialConfig
from hil.config.unchecked_config import UncheckedConfig
from models.validity import (
    bekker_stiffness,
    longest_explicit_step,
    longest_implicit_step,
    power_law_slope,
)

# A wheel may bear this many times its share of the weight: on a slope, under a drawbar, by its cylinders.
_OVER_ITS_SHARE = 2.0
# Steps away from the obstacle are at most so many times as long as at it.
_LONGEST_STRETCH = 10
# The value of a key with which a step is long enough is searched down to this share of it, by so many halvings.
_SMALLEST, _HALVINGS = 1e-12, 60


class _Contact(NamedTuple):
    """What a wheel presses on."""

    what: str  #: in words
    values: Mapping[str, float]  #: of the keys that make it stiff or damped
    #: its longest step [s], from values of the keys in that order; smaller values never shorten it
    step: Callable[..., float]
    others: tuple[str, ...]  #: further keys that it follows from
    of_ground: bool = True  #: False: only at the obstacle

    def longest_s(self) -> float:
        """With the values of the config."""
        return self.step(*self.values.values())

    def largest(self, key: str, step_s: float) -> float:
        """Largest value of a key that a step can integrate, the others as they are; 0: none is small enough."""
        low, high = _SMALLEST, 1.0
        for _ in range(_HALVINGS):
            share = math.sqrt(low * high)
            values = {**self.values, key: share * self.values[key]}
            low, high = (share, high) if self.step(*values.values()) >= step_s else (low, share)
        return low * self.values[key] if low > _SMALLEST else 0.0


def longest_step_s(contacts: Sequence[_Contact]) -> float:
    """Longest step of all contacts of the rover [s]; infinity: it has none to integrate."""
    return min((contact.longest_s() for contact in contacts), default=math.inf)


def step_problems(contacts: Sequence[_Contact], substep_us: float) -> list[Problem]:
    """Contacts that are too stiff, or too much damped, for the sub-step with which rovers settle and the plant runs."""
    problems, step_s = [], substep_us * 1e-6
    for contact in contacts:
        if contact.longest_s() < step_s:
            largest = {key: contact.largest(key, step_s) for key in contact.values}
            key = max(largest, key=lambda one: largest[one] / contact.values[one] if contact.values[one] else 0.0)
            allowed = (
                f"at most {largest[key]:.3g}, or a shorter plant.substep_us: {contact.what} can be integrated in steps "
                f"of up to {contact.longest_s() * 1e6:.3g} us, and this one has {substep_us} us"
            )
            others = (*(other for other in contact.values if other != key), "plant.substep_us", *contact.others)
            problems.append(Problem(key, f"{contact.values[key]:g}", allowed, others))
    return list({problem.key: problem for problem in reversed(problems)}.values())[::-1]


def stretch(config: UncheckedConfig) -> int:
    """How many times as long as `plant.substep_us` the plant's steps may be away from the obstacle.

    Half of what soil allows is taken, because the plant's soil differs from the config's. 1 on other ground, and with a
    profile.
    """
    if not config.ground.on_soil or config.ground.profile is not None:
        return 1
    on_ground = [contact for contact in contacts_of(config) if contact.of_ground]
    return max(1, int(min(_LONGEST_STRETCH, 0.5e6 * longest_step_s(on_ground) / config.plant.substep_us)))


def contacts_of(config: UncheckedConfig) -> list[_Contact]:
    """All contacts of the rover as the config describes it; none without wheels."""
    tree = config.rover_parameters().tree()
    if not tree.wheels:
        return []
    masses = {body.name: body.mass for body in tree.bodies}
    wheels_kg = [masses[wheel.body] for wheel in tree.wheels]
    rover_kg = sum(masses.values()) + config.rover.payload.mass_kg
    share_N = rover_kg * config.ground.gravity_mps2 / len(tree.wheels)
    contacts = []
    if config.ground.on_soil:
        radii_m = config.wheel_radii_m
        each = sorted(
            {(radius_m, kg, mount.width) for radius_m, kg, mount in zip(radii_m, wheels_kg, tree.wheels, strict=True)}
        )
        for place, soil in _soils(config.soil):
            on_soil = [_soil(place, soil, config.soil.damping_spm, *size, _OVER_ITS_SHARE * share_N) for size in each]
            contacts.append(min(on_soil, key=_Contact.longest_s))
    if config.ground.is_firm or (config.ground.on_soil and config.ground.profile is not None):
        contacts.append(_firm(config.ground, share_N))
    if config.section.obstacle:
        contacts.append(_obstacle(config.obstacle, config.trial, min(wheels_kg), rover_kg))
    return contacts


def _soils(soil: SoilConfig) -> Iterator[tuple[str, SoilConfig | SoilRegionConfig]]:
    """Every soil that a wheel can come onto, with the place of its numbers in the config."""
    yield "soil", soil
    for number, region in enumerate(soil.regions):
        yield f"soil.regions.{number}", region


def _soil(
    place: str,
    soil: SoilConfig | SoilRegionConfig,
    damping_spm: float,
    wheel_radius_m: float,
    wheel_kg: float,
    width_m: float,
    load_N: float,
) -> _Contact:
    """A wheel on a soil: its normal force and the damping of it, which all soils share, are explicit."""
    power = soil.exponent + 0.5
    form = bekker_stiffness(wheel_radius_m, width_m, soil.exponent, soil.rebound)

    def step(stiffness: float, damping_spm: float) -> float:
        slope = power_law_slope(form * stiffness, power, load_N)
        return longest_explicit_step(wheel_kg, slope, damping_spm * load_N)

    values = {f"{place}.stiffness": soil.stiffness, "soil.damping_spm": damping_spm}
    what = f"soil under a wheel of {wheel_kg:g} kg with a load of {load_N:.0f} N"
    return _Contact(what, values, step, (f"{place}.exponent", "rover"))


def _firm(ground: GroundConfig, load_N: float) -> _Contact:
    """A wheel on firm ground, whose spring and damper are implicit."""

    def step(stiffness: float) -> float:
        return longest_implicit_step(load_N, power_law_slope(stiffness, ground.exponent, load_N), ground.gravity_mps2)

    what = f"firm ground under a wheel with a load of {load_N:.0f} N"
    return _Contact(what, {"ground.stiffness": ground.stiffness}, step, ("ground.exponent", "rover"))


def _obstacle(obstacle: ObstacleConfig, trial: TrialConfig, wheel_kg: float, rover_kg: float) -> _Contact:
    """A front wheel on the plate, as deep as the rover's whole kinetic energy can press it in; all is explicit."""
    each = obstacle.legs == "each"
    exponent = 1.0 if each else obstacle.exponent
    energy_J = 0.5 * rover_kg * trial.speed_mps**2
    softer = obstacle.leg_compliance_mpN(trial.angle_deg) * obstacle.leg_stiffness_Npm  # upward, than forward

    def step(stiffness: float, damping_Nspm: float = 0.0) -> float:
        spring = stiffness / softer if each else stiffness
        deepest_m = math.pow((exponent + 1.0) * energy_J / spring, 1.0 / (exponent + 1.0))
        force_N = spring * deepest_m**exponent
        if not each and obstacle.law != "kelvin_voigt":
            damping_Nspm = _factor(obstacle.law, obstacle.restitution) * force_N / trial.speed_mps
        return longest_explicit_step(wheel_kg, exponent * force_N / deepest_m, damping_Nspm)

    values = {"obstacle.leg_stiffness_Npm": obstacle.leg_stiffness_Npm}
    if each:
        values["obstacle.leg_damping_Nspm"] = obstacle.leg_damping_Nspm
    elif obstacle.law == "kelvin_voigt":
        values["obstacle.damping_Nspm"] = obstacle.damping_Nspm
    what = f"the plate under a wheel of {wheel_kg:g} kg at {trial.speed_mps:g} m/s"
    return _Contact(
        what, values, step, ("obstacle.exponent", "obstacle.restitution", "trial.speed_mps"), of_ground=False
    )


def _factor(law: str, restitution: float) -> float:
    """Largest damping of a contact law over force and onset rate (models.contact.laws)."""
    if law == "gonthier":  # its d, MacMahon 2016 (5.9), lies below 1
        return min(1.0, 3.0 * (1.0 / restitution - 1.0)) / restitution
    return 0.0 if law == "hertz" else 1.5 * (1.0 - restitution)
