"""A plan: which impact trials a campaign makes, in which order, and the list of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, field_validator

from hil.config import Config, ConfigError, Problem, load_config
from hil.config.error_messages import problems_of, shown
from hil.config.files import read_text
from hil.config.loading import nearest
from hil.config.schema.base import Listed, Section, bounded, key
from hil.config.schema.sensors import DaqConfig
from hil.config.text_io import MOST_BYTES, read_yaml
from hil.experiments.impact.approach import LARGEST_ANGLE_DEG, LEAST_ANGLE_DEG, frame_settings
from hil.messages.layout import SENSORS
from models.sensors.rear_frame import FRONT_LINK_M

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_NAMED = "letters, digits, - and _"
_REPEATS = "whole numbers from 1 to 1000: one for all angles, or one for each"
_ANGLE = (
    f"{LEAST_ANGLE_DEG:g} to {LARGEST_ANGLE_DEG:g}; under {LEAST_ANGLE_DEG:g} degrees the wheel meets the plate too "
    "near the ground (MacMahon 2016, 6.2.3)"
)


def _listed(value: Any) -> Any:
    """A number alone is a list of one."""
    return value if isinstance(value, list | tuple) or value is None else [value]


Repeats = Annotated[
    tuple[Annotated[int, Field(ge=1, le=1000, json_schema_extra={"note": _REPEATS})], ...],
    BeforeValidator(_listed),
    Field(strict=False, min_length=1, max_length=100),
]


class _PlannedSoil(Section):
    """A ground that trials are made on."""

    set: dict[str, Any] = Field(default_factory=dict, description="keys of the config and their values on this ground")
    repeats: Repeats | None = key(None, "trials of each combination on this ground; null: `repeats`")


class _PlannedRover(Section):
    """A rover that trials are made with."""

    variant: str | None = key(None, "rover.type; null: that of the config", max_length=64, note="the name of a rover")
    added_mass_kg: float | None = bounded(
        None, 0, 500, "rover.added_mass_kg, of a rover that has it; null: that of the config"
    )


class _PlannedWheels(Section):
    """Wheels that trials are made with, or bumpers on them."""

    kind: Literal["smooth", "grousers", "bumpers"] = Field(
        description="smooth rims, grousers, or smooth rims with a bumper and its sensor on each front wheel"
    )
    number: int = bounded(22, 4, 90, "grousers on each wheel, an even number")
    height_m: float | None = bounded(None, 0.001, 0.1, "of the grousers above the rim; null: that of the config")
    offset_deg: float | None = bounded(
        None, -90, 90, "wheel.grouser_offset_deg; null: random within a pitch, another in each trial"
    )


class Plan(Section):
    """Impact trials: every angle with every ground, rover, wheel and speed, so many times each."""

    name: str = Field(pattern=_NAME, max_length=64, description="name of the plan", json_schema_extra={"note": _NAMED})
    angles_deg: Listed[
        Annotated[float, Field(ge=LEAST_ANGLE_DEG, le=LARGEST_ANGLE_DEG, json_schema_extra={"note": _ANGLE})]
    ] = Field(min_length=1, max_length=100, description="angles of the obstacle")
    repeats: Repeats = key((1,), "trials of each combination: a number, or one for each angle", validate_default=False)
    soils: dict[str, _PlannedSoil] = Field(
        default_factory=dict, max_length=100, description="grounds by name; empty: the one of the config"
    )
    rovers: Listed[_PlannedRover] = key(
        (_PlannedRover(),), "rovers, with their added mass", min_length=1, max_length=100
    )
    wheels: Listed[_PlannedWheels] = key((), "wheels; empty: those of the config", max_length=100)
    speeds_mps: Listed[Annotated[float, Field(ge=0.005, le=0.2)]] = key(
        (), "trial.speed_mps; empty: that of the config", max_length=100
    )
    set: dict[str, Any] = Field(default_factory=dict, description="keys of the config and their values in every trial")
    vary: dict[str, list[Any]] = Field(
        default_factory=dict, max_length=20, description="keys of the config and a list of values for each"
    )
    order: Literal["listed", "random", "by_soil"] = key(
        "random", "as listed, at random, or ground by ground and at random within each"
    )
    seed: int | None = bounded(None, 0, 2**63 - 1, "of the order and of the trials; null: that of the config")
    attempts: int = bounded(3, 1, 100, "how often a trial that ends in a fault is tried in all")
    repeat_dropped: bool = key(False, "repeat a trial that is not accepted, too, as often as one that ends in a fault")

    @field_validator("soils")
    @classmethod
    def _plain_names(cls, soils: dict[str, _PlannedSoil]) -> dict[str, _PlannedSoil]:
        for name in soils:
            if not name.replace("_", "").replace("-", "").isalnum() or len(name) > 64:
                raise ValueError(f"names of grounds made of {_NAMED}")
        return soils


def load_plan(source: str | Path) -> Plan:
    """Read and check a plan.

    Args:
        source: path of a YAML file, or the name of a shipped plan, with or without `rig_configs/plans/` and `.yaml`; an
            existing file comes first.

    Raises:
        ConfigError: with all problems at once.
    """
    return read_plan(source, shipped_plans(), Plan, _cross_checks)


P = TypeVar("P", bound=Section)


def read_plan(
    source: str | Path, shipped: Mapping[str, str], kind: type[P], cross_checks: Callable[[P], list[Problem]]
) -> P:
    """A plan of a kind, checked.

    Args:
        source: path of a YAML file, or the name of a shipped plan, with or without its folders and `.yaml`.
        shipped: text by name.
        kind: what the plan has.
        cross_checks: problems of keys that are allowed alone but not together.

    Raises:
        ConfigError: with all problems at once.
    """
    where = str(source)
    raw, problems = read_yaml(_text(source, shipped), "(file)")
    if not isinstance(raw, dict):
        found = Problem("(file)", "an empty plan" if raw is None else shown(raw), "keys, as in the shipped plans")
        raise ConfigError(where, problems or [found], "plan")
    try:
        plan = kind.model_validate(raw)
    except ValidationError as error:
        problems += problems_of(error, kind.model_json_schema())
        keys = [problem.key for problem in problems]
        # a list that is too short without its wrong elements is not wrong itself
        own = [entry for entry in problems if not any(key.startswith(f"{entry.key}.") for key in keys)]
        raise ConfigError(where, own, "plan") from None
    problems += cross_checks(plan)
    if problems:
        raise ConfigError(where, problems, "plan")
    return plan


def shipped_plans(folder_name: str = "plans") -> dict[str, str]:
    """Text of every shipped plan by its name, of a folder of `rig_configs`."""
    folder = resources.files("rig_configs") / folder_name
    files = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {name.removesuffix(".yaml"): file.read_text(encoding="utf-8") for name, file in files}


def _text(source: str | Path, shipped: Mapping[str, str]) -> str:
    where = str(source)
    try:
        if Path(source).is_file():
            return read_text(Path(source), MOST_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigError(where, [Problem("(file)", str(error), "a readable YAML file")], "plan") from None
    folder, _, name = where.removeprefix("./").removeprefix("rig_configs/").removesuffix(".yaml").rpartition("/")
    if folder not in ("", "plans", "activities"):
        name = ""
    if name in shipped:
        return shipped[name]
    allowed = f"a YAML file, or a shipped plan{nearest(name, shipped)}"
    raise ConfigError(where, [Problem("(file)", "no such file", allowed)], "plan")


def _cross_checks(plan: Plan) -> list[Problem]:
    """Keys that are allowed alone but not together."""
    problems = []
    angles = len(plan.angles_deg)
    lists = {"repeats": plan.repeats} | {
        f"soils.{name}.repeats": soil.repeats for name, soil in plan.soils.items() if soil.repeats is not None
    }
    for path, repeats in lists.items():
        if len(repeats) not in (1, angles):
            allowed = f"one number, or {angles}, one for each of angles_deg"
            problems.append(Problem(path, f"{len(repeats)} numbers", allowed))
    if len(set(plan.angles_deg)) < angles:
        problems.append(Problem("angles_deg", "an angle twice", "each angle once; `repeats` for more trials of it"))
    for place, wheels in enumerate(plan.wheels):
        if wheels.kind == "grousers" and wheels.number % 2:
            problems.append(Problem(f"wheels.{place}.number", str(wheels.number), "an even number"))
    problems += [Problem(f"vary.{key}", "an empty list", "values") for key, values in plan.vary.items() if not values]
    taken = {"trial.angle_deg": "angles_deg", "experiment": "nothing: a campaign is of impact trials", "seed": "seed"}
    for section, keys in (("set", plan.set), ("vary", plan.vary)):
        problems += [Problem(f"{section}.{key}", "a separate key", taken[key]) for key in keys if key in taken]
    return problems


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
    wheels: Sequence[_PlannedWheels | None] = plan.wheels or (None,)
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


def _of_rover(rover: _PlannedRover) -> dict[str, Any]:
    values = {"rover.type": rover.variant, "rover.added_mass_kg": rover.added_mass_kg}
    return {key: value for key, value in values.items() if value is not None}


def _of_wheels(wheels: _PlannedWheels | None, daq: DaqConfig | None) -> dict[str, Any]:
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
