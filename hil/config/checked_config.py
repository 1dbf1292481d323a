"""The config of a rig, whose values fit together."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from html import escape
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from pydantic import BaseModel, ValidationError, model_validator
from typing_extensions import override

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names
from hil.config.calibration_sheets import CALIBRATIONS
from hil.config.checks.device_cross_checks import device_cross_checks, endpoint_cross_checks, limit_cross_checks
from hil.config.checks.load_cross_checks import cylinder_cross_checks, load_channel_cross_checks, load_cross_checks
from hil.config.checks.model_cross_checks import model_cross_checks, soil_estimation_cross_checks
from hil.config.checks.rover_cross_checks import servo_cross_checks, wheel_cross_checks, without_wheels_problems
from hil.config.checks.sensor_cross_checks import instrument_cross_checks, residual_cross_checks, sensor_cross_checks
from hil.config.error_messages import problems_of, shown, wrong_by_themselves
from hil.config.files import PROFILE, TABLE, NamedFile, TextFile, lines_of
from hil.config.overrides import SEED_ON_RIG, Change, changes_of, put
from hil.config.problems import ConfigError, CrossCheckError, Problem
from hil.config.scan.file import ScanFile
from hil.config.schema.base import Section
from hil.config.schema.experiments import unused_sections, users_of
from hil.config.schema.rover import ImportedSection, RoverConfig, key_path, rover_named
from hil.config.unchecked_config import UncheckedConfig
from models.rover.imported import IMPORTED
from models.rover.parameters import Parameters
from models.rover.registry import VEHICLES
from models.rover.urdf_reader import MOST_CHARACTERS

if TYPE_CHECKING:
    from models.rover.rover import Rover


def leave_out_unused(raw: dict[str, Any], changes: Sequence[Change], before: Any) -> None:
    """Remove the sections that the experiment does not use: an override names another one, or a record has them all."""
    kept = set[str]()
    for change in changes:
        if change.path == "experiment":
            kept &= unused_sections(before)  # what was set for the experiment before goes with it
            before = change.value
        kept.add(change.path.partition(".")[0])
    for name in _unused(raw):
        if name not in kept:
            del raw[name]


def unused_section_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """A problem for each section that the experiment does not use."""
    experiment = raw.get("experiment", "impact")
    for name in _unused(raw):
        users = " or ".join(users_of(name)) or name
        allowed = f"no such section with experiment: {experiment}. Delete it, or set experiment to {users}"
        yield Problem(name, f"a section of experiment {users}", allowed, ("experiment",))


def _unused(raw: dict[str, Any]) -> list[str]:
    experiment = str(raw.get("experiment", "impact"))
    unused: set[str] = set(unused_sections(experiment))
    if others := raw.keys() - UncheckedConfig.model_fields.keys() - {experiment}:
        unused |= others & set(installed_names(EXPERIMENTS))
    return [name for name in raw if name in unused]


# What to do in place of each key.
_INSTEAD = {
    "soil.raster": "outline its areas as soil.regions",
    "notify": "let the shell that starts `hil` start the program after it",
}


def retired_key_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """Remove retired keys that have no effect, as records have them, and yield a problem for each of the others."""
    if isinstance(raw.get("extensions"), dict):  # sections of installed experiments, which now stand at the top
        raw |= raw.pop("extensions")
    for key, instead in _INSTEAD.items():
        *sections, last = key.split(".")
        node: Any = raw
        for section in sections:
            node = node.get(section) if isinstance(node, dict) else None
        if not isinstance(node, dict) or last not in node:
            continue
        value = node.pop(last)
        if value and not (isinstance(value, dict) and value.get("command") == []):
            yield Problem(key, shown(value), f"no such key any more. Delete it, and {instead}")


# What takes the place of a key where a rover does not have it.
_INSTEAD_OF_ROVER_KEY = {"added_mass_kg": "rover.payload.mass_kg"}


def rover_type(raw: dict[str, Any]) -> str:
    """The type of rover that an unchecked config names."""
    rover = raw.get("rover")
    return str(rover.get("type", "rcp")) if isinstance(rover, dict) else "rcp"


def leave_out_replaced(raw: dict[str, Any], changed: Sequence[str], before: str) -> None:
    """Remove what a file says of its rover alone, where an override names another."""
    if rover_type(raw) == before:
        return
    given = [f"{key}." for key in changed]
    for path in _foreign(raw):
        if not any(f"{path}.".startswith(key) for key in given):
            _, *section, last = path.split(".")
            del (raw["rover"][section[0]] if section else raw["rover"])[last]


def other_rovers_problems(raw: dict[str, Any]) -> Iterator[Problem]:
    """A problem for each key of another rover whose value is not its default."""
    name = rover_type(raw)
    for path, (value, default) in _foreign(raw).items():
        keys = " or ".join(_instead(path.rsplit(".", 1)[1], list(_defaults(name))))
        allowed = f"{shown(default)}, its default: a rover of type {name} does not have it, use {keys}"
        yield Problem(path, shown(value), allowed, ("rover.type",))


def _instead(key: str, keys: list[str]) -> list[str]:
    """Those of a rover's keys that may be meant by another's: of its name, or else of its unit."""
    if key in _INSTEAD_OF_ROVER_KEY:
        return [_INSTEAD_OF_ROVER_KEY[key]]
    unit = key.rsplit("_", 1)[-1]
    same = [one for one in keys if one.endswith(f".{key}")] or [one for one in keys if one.endswith(f"_{unit}")]
    return same or [f"a key of {keys[-1].rsplit('.', 1)[0]}"]


def _foreign(raw: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Value and default of each key of another rover whose value is not its default; none if the type is unknown."""
    rover, has = raw.get("rover"), _defaults(rover_type(raw))
    if not has or not isinstance(rover, dict):
        return {}
    given = {f"rover.{key}": value for key, value in rover.items()}
    for name, section in rover.items():
        given |= {f"rover.{name}.{key}": value for key, value in section.items()} if isinstance(section, dict) else {}
    names = VEHICLES.keys() | {IMPORTED} | (set(map(str, rover)) - RoverConfig.model_fields.keys())
    known = {path: default for name in names for path, default in _defaults(name).items()}
    return {
        path: (value, known[path])
        for path, value in given.items()
        if path in known and path not in has and value != known[path]
    }


def _defaults(name: str) -> dict[str, Any]:
    """Default of each key of a rover by its path; none if there is no such rover."""
    if name == IMPORTED:
        return {f"rover.{IMPORTED}.{key}": field.default for key, field in ImportedSection.model_fields.items()}
    with suppress(ExtensionError):
        if (kind := rover_named(name)) is not None:
            return _defaults_of(kind)  # type: ignore[arg-type]  # a class can be hashed, whatever its instances can
    return {}


@cache
def _defaults_of(kind: type[Parameters]) -> dict[str, Any]:
    """The same of a known rover; every config that is loaded asks for those of all rovers."""
    return {key_path(kind, parameter): one.default for parameter, one in kind.quantities().items()}


# Its text takes the place of its path, so that a record has its own rover. What is in it is checked with the config.
URDF = TextFile(
    "rover.imported.urdf",
    MOST_CHARACTERS,
    "a readable URDF, as `hil rover import` writes it",
    lines_of,
    several_lines=True,
)
# Whatever a config may name by a path, in the order in which it is read.
FILES: tuple[NamedFile, ...] = (*CALIBRATIONS, PROFILE, TABLE, URDF, ScanFile())
Overrides: TypeAlias = Sequence[str] | Mapping[str, Any]


class Config(UncheckedConfig):
    """A rig and a trial on it, whose sections fit together. Immutable; `load_config` makes one from a file."""

    @model_validator(mode="after")
    def _cross_checks(self) -> Config:
        problems = without_wheels_problems(self) or [
            *self.section.problems(self),
            *model_cross_checks(self),
            *wheel_cross_checks(self),
            *cylinder_cross_checks(self),
            *servo_cross_checks(self),
            *load_cross_checks(self),
            *sensor_cross_checks(self),
            *load_channel_cross_checks(self),
            *instrument_cross_checks(self),
            *soil_estimation_cross_checks(self),
            *limit_cross_checks(self),
            *device_cross_checks(self),
            *endpoint_cross_checks(self),
            *residual_cross_checks(self),
        ]
        if problems:
            raise CrossCheckError(problems)
        return self

    def __repr__(self) -> str:
        return f"<Config {self.name}: {self._in_words()}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The config in a notebook: a line, and all keys behind it."""
        line, keys = escape(f"{self.name}: {self._in_words()}"), escape(self.to_yaml())
        return f"<details><summary>config {line}</summary><pre>{keys}</pre></details>"

    def _in_words(self) -> str:
        return f"{self.experiment}, rover {self.rover.type}, rig {self.rig}, {self.clock}, seed {self.seed}"

    def replace(self, values: Mapping[str, Any]) -> Config:
        """A config with other values, checked as a file is; this one stays as it is.

        Args:
            values: by dotted key: {"trial.angle_deg": 50}. A section may be a mapping: the keys that it does not name
                stay as they are. Numbers may be of numpy. Paths of files are relative to the current folder.

        Raises:
            ConfigError: with all problems at once.

        Example:
            >>> from hil.config import load_config
            >>> config = load_config("sim_impact").replace({"trial.angle_deg": 50, "soil": {"cohesion_Pa": 100.0}})
            >>> config.trial.angle_deg, config.soil.cohesion_Pa
            (50.0, 100.0)
        """
        # what was not given is left out: its default may depend on what changes
        raw = self.model_dump(mode="json", exclude_unset=True)
        return require_possible(checked_values(raw, [], self.name, values, None, Path()), self.name)

    @override
    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The values are also held against each other. `replace` takes dotted keys."""
        copy = super().model_copy(update=update, deep=deep)
        if update:
            require_possible(copy, self.name)
        return copy

    def sharing(self, other: Config) -> Config:
        """An equal config, of which the sections that are equal in another are those: many then take less memory."""
        equal = {
            name: section
            for name, section in other
            if isinstance(section, Section)
            and isinstance(mine := getattr(self, name), Section)
            and section.model_dump_json() == mine.model_dump_json()
        }
        return BaseModel.model_copy(self, update=equal)  # nothing to check: they are equal

    def rover_model(self) -> Rover:
        """The rover of this config as the rover twin has it: with its payload and grousers, locked as on the rig.

        Example:
            >>> from hil.config import load_config
            >>> rover = load_config("sim_impact").rover_model()
            >>> rover.nv, round(float(rover.mass_matrix(rover.neutral())[0, 0]), 1)
            (15, 142.7)
        """
        from hil.config.model_parameters import nominal_rig  # imports kernels, which a config does without

        return nominal_rig(self).make_rover()


def require_possible(config: Config, source: str) -> Config:
    """The config, if the models can be made of it. Raises ConfigError."""
    try:
        config.rover.parameters()
    except ValueError as error:
        raise ConfigError(source, [Problem(config.rover.path, "an impossible rover", str(error))]) from None
    try:
        config.rover_parameters()
    except ValueError as error:
        raise ConfigError(source, [Problem("wheel", "impossible wheels", str(error))]) from None
    from hil.config.integration import contacts_of, step_problems  # imports numba, as the rover above

    if problems := step_problems(contacts_of(config), config.plant.substep_us):
        raise ConfigError(source, problems)
    if config.ground.scan is not None:
        from hil.config.scan_checks import scan_problems

        if problems := scan_problems(config):
            raise ConfigError(source, problems)
    if config.soil.rut == "remembered" and any(wheel.variant == "flexible" for wheel in config.wheels.values()):
        from hil.config.scan_checks import rim_problems  # imports kernels, which other configs do not need

        if problems := rim_problems(config):
            raise ConfigError(source, problems)
    if config.layout.controls_loads:
        from hil.config.scan_checks import limit_problems  # imports kernels, which other configs do not need

        if problems := limit_problems(config):
            raise ConfigError(source, problems)
    return config


def checked_values(
    raw: dict[str, Any],
    problems: list[Problem],
    source: str,
    overrides: Overrides,
    seed: int | None,
    folder: Traversable | None,
) -> Config:
    """Override and check the values of a config, which are changed.

    Args:
        raw: the values by key.
        problems: of the text that they were read from.
        source: name of the config in errors.
        overrides: as `load_config` takes them.
        seed: replaces the seed of the config.
        folder: of its files; None: the config must contain everything.

    Raises:
        ConfigError: with all problems at once.
    """
    rover, experiment = rover_type(raw), raw.get("experiment", "impact")
    changes, wrong = changes_of(overrides)
    problems += wrong
    for change in changes:
        problems += put(raw, change)
    if seed is not None:
        raw["seed"] = seed
    chosen = "--seed" if seed is not None else "seed" if isinstance(overrides, Mapping) and "seed" in overrides else ""
    if chosen and raw.get("rig") == "real":
        problems.append(Problem(chosen, str(raw["seed"]), SEED_ON_RIG))
    given = [key for change in changes for key in change.keys_set()]
    problems += retired_key_problems(raw)
    if folder is None or raw.get("experiment", "impact") != experiment:
        leave_out_unused(raw, changes, experiment)
    problems += unused_section_problems(raw)
    if folder is not None:  # the effective config of a run may be older than this check
        leave_out_replaced(raw, given, rover)
        problems += other_rovers_problems(raw)
        for file in FILES:
            problems += file.put(raw, folder)
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        reported = {problem.key for problem in problems} & {URDF.key}  # a file that cannot be read is not missing, too
        problems += [problem for problem in problems_of(error) if problem.key not in reported]
        problems += _cross_checks_of_the_rest(raw, problems)
    if problems:
        raise ConfigError(source, problems)
    return config


def _cross_checks_of_the_rest(raw: dict[str, Any], problems: Sequence[Problem]) -> list[Problem]:
    """Problems between keys that are valid by themselves.

    pydantic checks these only once every key is valid. So invalid keys are set to their defaults here.
    """
    repaired = copy.deepcopy(raw)
    wrong = [problem.key for problem in problems]
    for key in wrong:
        _remove(repaired, key.split("."))
    repaired |= {key: value for key, value in (("name", "default"), ("rig", "simulated")) if key not in repaired}
    while True:
        try:
            Config.model_validate(repaired)
            return []
        except ValidationError as error:
            more, lacking = problems_of(error), wrong_by_themselves(error)
        # keys without a default: any number is good here, and a device that lacks anything else is left out
        settable = [key for key in lacking if key.startswith("devices.")]
        if not settable:
            return [problem for problem in more if not any(_touches(problem, key) for key in wrong)]
        for key in settable:
            _, device, *rest = key.split(".")
            section = repaired["devices"][device]
            if len(rest) == 1 and lacking[key] is not None and rest[0] not in section:
                section[rest[0]] = lacking[key]
            else:
                _remove(repaired, ["devices", device])
                break


def _remove(node: Any, keys: list[str]) -> None:
    """Remove a key; for a key in a list, remove the whole list."""
    *way, last = keys
    for key in way:
        if not isinstance(node, dict):
            return
        if isinstance(node.get(key), list):
            last = key
            break
        node = node.get(key)
    if isinstance(node, dict):
        node.pop(last, None)


def _touches(problem: Problem, wrong: str) -> bool:
    """Whether a problem depends on a key that is invalid by itself."""
    return any(
        f"{key}.".startswith(f"{wrong}.") or f"{wrong}.".startswith(f"{key}.")
        for key in (problem.key, *problem.depends_on)
    )
