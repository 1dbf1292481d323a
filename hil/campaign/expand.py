"""From a plan and a config to the list of trials: a pure function, the same on every machine."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.campaign.plan import Plan, PlannedRover, PlannedWheels
from hil.config import Config, ConfigError, Problem, load_config
from hil.config.schema.sensors import DaqConfig
from hil.experiments.impact.approach import frame_settings
from hil.messages.layout import SENSORS
from models.sensors.rear_frame import FRONT_LINK_M

OFFSET, CHANNELS = "wheel.grouser_offset_deg", "daq.channels"
_SENSITIVITY, _OF_PLACE = "sensitivity_mVpN", {"name", "across_m", "up_m"}
MOST_TRIALS = 100_000
# Streams of random numbers of one campaign seed; trials have their number there, from 1 on.
_ORDER = 0


@dataclass(frozen=True)
class PlannedTrial:
    """One trial of a plan."""

    number: int
    settings: dict[str, Any]
    random_offset: bool
    config: Config
    campaign_seed: int

    def frame(self) -> dict[str, float | None]:
        """How the obstacle's frame stands, as the page draws it [m]; without a triangle no sensors on its plate."""
        config = self.config
        frame = frame_settings(config.trial.angle_deg, config.wheel_radius_m)
        return {
            "plate_m": FRONT_LINK_M,
            "feet_m": frame.bottom_link_m,
            "wheel_radius_m": config.wheel_radius_m,
            "sensor_height_m": frame.contact_height_m if config.triangle else None,
        }

    def attempt(self, attempt: int) -> tuple[dict[str, Any], Config]:
        """Settings and config of an attempt, from 1: the seed follows from campaign seed, number and attempt."""
        config, settings = self.config, dict(self.settings)
        settings["seed"] = None
        if config.rig == "real":  # no random numbers there
            return settings, config
        words = np.random.SeedSequence([self.campaign_seed, self.number, attempt]).generate_state(2, np.uint64)
        seed = int(words[0] >> np.uint64(11))  # 53 bits: exact in every spreadsheet
        changed: dict[str, Any] = {"seed": seed}
        if self.random_offset:
            pitch_deg = 360.0 / config.wheel.grousers
            offset_deg = round((float(words[1] >> np.uint64(11)) * 2.0**-53 - 0.5) * pitch_deg, 3)
            changed["wheel.grouser_offset_deg"] = offset_deg
            settings[OFFSET] = offset_deg
        settings["seed"] = seed
        return settings, config.replace(changed)


def expand(plan: Plan, source: str, overrides: Sequence[str] = (), seed: int | None = None) -> list[PlannedTrial]:
    """The trials of a plan, in the order of the campaign.

    Args:
        plan: checked.
        source: of the config, as `load_config` takes it.
        overrides: of the config; the plan's own come after them.
        seed: replaces that of the plan, and of the config.

    Raises:
        ConfigError: all problems of all trials, each once.
    """
    base = load_config(source, overrides, seed)
    first = campaign_seed(plan, base.seed, seed)
    planned: list[tuple[dict[str, Any], bool, Config]] = []
    problems: list[Problem] = []
    for settings, changes, repeats in _combinations(plan, base.ground.kind, base.daq):
        try:
            config = load_config(source, [*overrides, "experiment=impact", *changes], seed)
        except ConfigError as error:
            problems += error.problems
            continue
        planned += [(_shown(settings, config), settings["random_offset"], config)] * repeats
        if len(planned) > MOST_TRIALS:
            raise ConfigError(plan.name, [Problem("repeats", "too many trials", f"at most {MOST_TRIALS}")], "plan")
    if problems:
        raise ConfigError(plan.name, list(dict.fromkeys(problems)), "plan")
    return [
        PlannedTrial(number, planned[place][0], planned[place][1], planned[place][2], first)
        for number, place in enumerate(_order(plan, [values for values, _, _ in planned], first), 1)
    ]


def campaign_seed(plan: Plan, of_config: int, seed: int | None) -> int:
    """Seed of order and trials: that of the command line, else of the plan, else of the config."""
    return next(candidate for candidate in (seed, plan.seed, of_config) if candidate is not None)


def _combinations(plan: Plan, ground: str, daq: DaqConfig | None) -> Iterator[tuple[dict[str, Any], list[str], int]]:
    """Every combination: what tells it from the others, its changes of the config, and its number of trials."""
    soils: dict[str, Any] = dict(plan.soils) or {ground: None}
    wheels: Sequence[PlannedWheels | None] = plan.wheels or (None,)
    varied = [[(key, value) for value in values] for key, values in plan.vary.items()]
    speeds: Sequence[float | None] = plan.speeds_mps or (None,)
    product: Iterator[Any] = itertools.product(
        soils.items(), plan.rovers, wheels, speeds, *varied, enumerate(plan.angles_deg)
    )
    for (soil_name, soil), rover, wheel, speed_mps, *rest, (place, angle_deg) in product:
        values = dict(rest)
        changes = {**plan.set, **(soil.set if soil else {}), **values, "trial.angle_deg": angle_deg}
        if speed_mps is not None:
            values = {"trial.speed_mps": speed_mps, **values}
            changes["trial.speed_mps"] = speed_mps
        changes = {**changes, **_of_rover(rover), **_of_wheels(wheel, None if CHANNELS in changes else daq)}
        repeats = soil.repeats if soil and soil.repeats is not None else plan.repeats
        settings = {
            "ground": soil_name,
            "rover": rover,
            "wheels": wheel,
            "varied": values,
            "random_offset": bool(wheel and wheel.kind == "grousers" and wheel.offset_deg is None),
        }
        texts = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
        yield settings, texts, repeats[place if len(repeats) > 1 else 0]


def _of_rover(rover: PlannedRover) -> dict[str, Any]:
    values = {"rover.type": rover.variant, "rover.added_mass_kg": rover.added_mass_kg}
    return {key: value for key, value in values.items() if value is not None}


def _of_wheels(wheels: PlannedWheels | None, daq: DaqConfig | None) -> dict[str, Any]:
    if wheels is None:
        return {}
    if wheels.kind == "grousers":
        height = {} if wheels.height_m is None else {"wheel.grouser_height_m": wheels.height_m}
        return {"wheel.grousers": wheels.number, OFFSET: wheels.offset_deg or 0.0, **height}
    smooth = {"wheel.grousers": 0}
    if wheels.kind == "smooth" or (daq and daq.layout == "bumper"):
        return smooth
    layout = {**smooth, "daq.layout": "bumper"}
    if daq is None:  # the plan has the sensors
        return layout
    return {**layout, CHANNELS: [{**_stated(daq), "name": name} for name in SENSORS["bumper"]]}


def _stated(daq: DaqConfig) -> dict[str, Any]:
    """What the config states of every sensor alike, but for its place: the same sensors are on the bumpers.

    Raises ConfigError: sensitivities differ by sensor, so that it is not known which one is on which bumper.
    """
    each = [one.model_dump(include=one.model_fields_set - _OF_PLACE) for one in daq.channels]
    if len({one.get(_SENSITIVITY) for one in each}) > 1:
        needed = f"{CHANNELS} of the bumpers in set of the plan, where the config's sensors differ in sensitivity"
        raise ConfigError("wheels", [Problem("wheels", "kind bumpers", needed)], "plan")
    return {key: value for key, value in each[0].items() if all(one.get(key) == value for one in each)}


def _shown(settings: dict[str, Any], config: Config) -> dict[str, Any]:
    """The settings of a trial, in the order of the columns of campaign.csv."""
    wheels = settings["wheels"]
    kind = wheels.kind if wheels else "grousers" if config.wheel.grousers else "smooth"
    if wheels is None and config.daq and config.daq.layout == "bumper":
        kind = "bumpers"
    rover = config.rover
    added_kg = getattr(rover.parameters(), "added_mass", rover.payload.mass_kg)
    shown: dict[str, Any] = {
        "angle_deg": config.trial.angle_deg,
        "ground": settings["ground"],
        "variant": config.rover.type,
        "added_mass_kg": added_kg,
        "wheels": kind,
        "seed": None,
        **settings["varied"],
    }
    if wheels and wheels.kind == "grousers":
        shown[OFFSET] = wheels.offset_deg
    return shown


def _order(plan: Plan, found: Sequence[dict[str, Any]], seed: int) -> list[int]:
    """Places of the trials in the order in which they are made."""
    places = list(range(len(found)))
    if plan.order == "listed":
        return places
    mixed: list[int] = np.random.default_rng([seed, _ORDER]).permutation(len(found)).tolist()
    if plan.order == "random":
        return mixed
    grounds = list(dict.fromkeys(one["ground"] for one in found))
    return sorted(mixed, key=lambda place: grounds.index(found[place]["ground"]))
