"""A plan: which impact trials a campaign makes, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, field_validator

from hil.config import ConfigError, Problem
from hil.config.error_messages import problems_of, shown
from hil.config.files import read_text
from hil.config.schema.base import Listed, Section, bounded, key
from hil.config.text_io import MOST_BYTES, read_yaml
from hil.experiments.impact.approach import LARGEST_ANGLE_DEG, LEAST_ANGLE_DEG

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


class PlannedRover(Section):
    """A rover that trials are made with."""

    variant: str | None = key(None, "rover.type; null: that of the config", max_length=64, note="the name of a rover")
    added_mass_kg: float | None = bounded(
        None, 0, 500, "rover.added_mass_kg, of a rover that has it; null: that of the config"
    )


class PlannedWheels(Section):
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
    rovers: Listed[PlannedRover] = key((PlannedRover(),), "rovers, with their added mass", min_length=1, max_length=100)
    wheels: Listed[PlannedWheels] = key((), "wheels; empty: those of the config", max_length=100)
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
    allowed = f"a YAML file, or a shipped plan: {', '.join(shipped)}"
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
