"""Keys of a config: what each is, and which of them an operator changes between two runs."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from hil.config.checked_config import Config
from hil.config.error_messages import allowed, resolved, tag, whole_schema
from hil.config.files import OpenedFiles
from hil.config.problems import ConfigError, Problem
from hil.config.schema.base import Section

Schema = Mapping[str, Any]


def keys_of(schema: Schema) -> dict[str, Any]:
    """Schemas of a section's keys, and of those that have the name of a part of the rig."""
    named = {f"EACH {schema['each'].upper()}": schema["additionalProperties"]} if "each" in schema else {}
    return {**schema["properties"], **named}


def kinds_of(schema: Schema) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The sections that a key holds: none, one, one for each driver, or those of a list; suffix, driver, schema."""
    if "discriminator" in schema:
        key = tag(dict(schema))
        for name, reference in schema["discriminator"]["mapping"].items():
            yield "", f" with `{key}: {name}`", resolved({"$ref": reference})
    elif schema.get("type") == "array":
        for _, driver, kind in kinds_of(resolved(schema.get("items") or {})):  # a tuple has none: it is of numbers
            yield "[]", driver, kind
    elif "properties" in schema:
        yield "", "", dict(schema)
    elif (each := resolved(schema.get("additionalProperties") or {})).get("properties"):
        yield ".NAME", "", dict(each)


def default_of(schema: Schema, needed: bool) -> str:
    """The default of a key in YAML, or words where it has none."""
    if needed:
        return "needed"
    if "default" not in schema:
        return "see below" if schema.get("type") == "array" else "none"
    return f"`{_shown(schema['default'])}`"


def section_yaml(path: str) -> str:
    """A section of a config with the default of each key, and what the key is and takes as a comment.

    Args:
        path: of the section, dotted; "": all sections.

    Raises:
        ValueError: there is no such section; the message has those that there are.

    Example:
        >>> print(section_yaml("sinkage"))
        # Sinkage under a load, without turning the wheels (Petersen 2012, 7.2).
        sinkage:
          settle_s: 1 # from the start until the measurement; a number 0.1 to 600
          measure_s: 1 # length of the measurement; a number 0.1 to 600
    """
    steps, kinds = path.split(".") if path else [], [("", "", whole_schema())]
    for number, step in enumerate(steps):
        inner = {
            key: found
            for _, _, kind in kinds
            for key, value in keys_of(kind).items()
            if (found := list(kinds_of(resolved(value))))
        }
        if step not in inner:
            place = ".".join(steps[:number]) or "a config"
            raise ValueError(f"{path}: no section; those of {place}: {', '.join(inner) or 'none'}")
        kinds = inner[step]
    return "\n\n".join("\n".join(_lines(steps, kind, suffix == "[]")) for suffix, _, kind in kinds)


def _lines(path: list[str], schema: Schema, listed: bool = False) -> Iterator[str]:
    """The lines of a section: its description, its name, and its keys; `listed`: the section is in a list."""
    name = path[-1:]
    first, _, _ = str(schema["description"]).partition("\n\n")
    yield f"# {' '.join(first.split())}"
    yield from (f"{one}:" for one in name)
    indent = "  " * (len(name) + listed)
    for number, (key, given) in enumerate(keys_of(schema).items()):
        value = resolved(given)
        described = value | given
        if "properties" in value and not value.get("nullable"):
            yield from (f"{indent}{line}" for line in _lines([*path, key], value))
            continue
        shown = described.get("const") or default_of(described, key in schema.get("required", ())).strip("`")
        dash = f"{indent[:-2]}- " if listed and not number else indent
        has_more = any(kinds_of(value)) and "properties" not in value
        more = f"; its keys: hil configs --keys {'.'.join([*path, key])}" if has_more else ""
        yield f"{dash}{key}: {shown} # {described.get('description', '')}; {allowed(described)}{more}"


def _shown(value: Any) -> str:
    """A value in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, str) and "\n" in value:
        return json.dumps(value)
    return f"{value:.10g}" if isinstance(value, float | int) else value or '""'


# Endings of config keys and their units; the longest match counts.
_UNITS = {
    "_Nm": "N m", "_Npm": "N/m", "_Nspm": "N s/m", "_Pa": "Pa", "_V": "V", "_N": "N", "_deg": "deg", "_degps": "deg/s",
    "_degps2": "deg/s^2", "_hz": "Hz",
    "_kPa": "kPa", "_kPa_per_V": "kPa/V", "_kPa_per_count": "kPa/count",
    "_ms_per_count": "ms/count", "_kg": "kg", "_m": "m", "_mA": "mA",
    "_mVpN": "mV/N", "_mVpVpN": "mV/V/N", "_mm": "mm", "_mps": "m/s", "_ms": "ms", "_pCpN": "pC/N", "_per_s": "1/s",
    "_radps": "rad/s", "_radps2": "rad/s^2", "_rpm": "1/min", "_s": "s", "_spm": "s/m", "_us": "us",
    "_baud": "bit/s", "_mps2": "m/s^2", "_kgm2": "kg m^2",
}  # fmt: skip


def unit_of(key: str, description: str) -> str:
    """The unit in brackets at the end of the description, else the one that the key ends in; "1": a pure number.

    Example:
        >>> unit_of("speed_mps", "set forward speed"), unit_of("stiffness", "k of p = k z^n [N/m^(2+n)]")
        ('m/s', 'N/m^(2+n)')
    """
    if bracketed := re.search(r" \[([^]]+)\]$", description):
        return bracketed[1]
    return _UNITS.get(_ending(key), "1")


def name_of(key: str) -> str:
    """The key in words, without the unit that it ends in.

    Example:
        >>> name_of("start_distance_m"), name_of("slip_modulus")
        ('start distance', 'slip modulus')
    """
    return key.removesuffix(_ending(key)).replace("_", " ")


def _ending(key: str) -> str:
    """The longest ending that stands for a unit; empty: none does."""
    return max((ending for ending in _UNITS if f"_{key}".endswith(ending)), key=len, default="")


Value: TypeAlias = bool | int | float | str | None
# Makes the config of a command line with more overrides and another seed (None: the same one). Raises ConfigError.
Load: TypeAlias = Callable[[Sequence[str], Any], Config]
SEED = "seed"
# Settings that differ from those of the start, at most: all of them are in the status.
MOST_CHANGED = 24
_KINDS = {"number": "number", "integer": "integer", "string": "text", "boolean": "flag"}


class ChangeableKeys:
    """The keys of a config that may be changed between two runs."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def values(self) -> dict[str, Value]:
        """Every one of them, and its value."""
        return {key: value for key, value, _ in self._walk()}

    def rows(self, started: Mapping[str, Value]) -> list[dict[str, Any]]:
        """The same as a form shows it.

        Args:
            started: their values when `hil operate` was started.

        Returns:
            Of each: key; name; words; unit, "1" for a pure number; kind: number, integer, choice, text or flag; lowest
            and highest, null without; choices; allowed, in words; nullable; default of the schema; given, and now.
        """
        rows = []
        for key, value, schema in self._walk():
            words = str(schema.get("description", ""))
            last = key.rpartition(".")[2]
            unit = unit_of(last, words)
            rows.append(
                {
                    "key": key,
                    "name": name_of(last) if unit != "1" else last.replace("_", " "),
                    "words": words.replace(f" [{unit}]", ""),
                    "unit": unit,
                    "kind": "choice" if "enum" in schema else _KINDS[schema["type"]],
                    "lowest": schema.get("minimum", schema.get("exclusiveMinimum")),
                    "highest": schema.get("maximum", schema.get("exclusiveMaximum")),
                    "choices": schema.get("enum", []),
                    "allowed": allowed(schema),
                    "nullable": bool(schema.get("nullable")),
                    "default": schema.get("default"),
                    "given": started.get(key),
                    "now": value,
                }
            )
        return rows

    def _walk(self) -> Iterator[tuple[str, Value, dict[str, Any]]]:
        """Path, value and JSON schema of each key that may be changed."""
        for path, section in self.sections():
            whole = _schema(type(section))
            for name in section.between_runs if "*" not in section.between_runs else whole["properties"]:
                given = whole["properties"][name]
                schema = resolved(given, whole)
                if "enum" in schema or schema.get("type") in _KINDS:
                    of_key = {key: given[key] for key in ("description", "default") if key in given}
                    yield f"{path}.{name}".lstrip("."), getattr(section, name), schema | of_key

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Sections with such keys, by their paths; "": the top, whose seed a real rig does not have."""
        config = self._config
        if config.rig != "real":
            yield "", config
        yield from _nested(config.section_path, config.section)
        shown = {
            "quality": config.section.impact,
            "ground": True,
            "soil": True,
            "wheel": True,
            "obstacle": config.section.obstacle,
            "cylinders": bool(config.layout.cylinders),
        }
        for name in (name for name, is_shown in shown.items() if is_shown):
            yield from _nested(name, getattr(config, name))


class Settings:
    """The config of a rig that stays open, and what its operator has changed of it.

    The files of the config are read once: what was opened is what runs, whatever is written to them meanwhile.

    Attributes:
        given: config as the rig was opened first.
        config: as it is now.
        changed: what differs, by key.
        opened: the files of the config as they were read.

    Raises:
        ConfigError: the config itself is not in order.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self.opened = OpenedFiles()
        self.changed: dict[str, Value] = {}
        self.given = self.config = self.load(self.changed)

    def with_values(self, values: Mapping[str, Value]) -> tuple[Config, dict[str, Value]]:
        """The config with these values, checked as the command line checks them, and all that then differs; no change.

        Raises ConfigError: with all problems at once.
        """
        self._refuse_others(values)
        changed = {**self.changed, **values}
        config = self.load(changed)
        if config.layout != self.given.layout:
            keys = ", ".join(values)
            other = "other wheels, cylinders or sensors"
            raise ConfigError(config.name, [Problem(keys, other, "with these: start hil operate again with --set")])
        started, now = ChangeableKeys(self.given).values(), ChangeableKeys(config).values()
        changed = {key: now[key] for key in changed if now[key] != started[key]}
        if len(changed) > MOST_CHANGED:
            most = f"{MOST_CHANGED} at a time; write them into a config, and start hil operate with that"
            raise ConfigError(config.name, [Problem("settings", f"{len(changed)} that are changed", most)])
        return config, changed

    def load(self, changed: Mapping[str, Value], more: Sequence[str] = ()) -> Config:
        """The config with these values and further overrides. Raises ConfigError."""
        with self.opened.in_use():
            return self._load([*as_overrides(changed), *more], changed.get(SEED))

    def differences(self) -> str:
        """What stands in the files of the config and was not opened, in words; "": nothing."""
        if not (files := self.opened.changed()):
            return ""
        now = dict(_flat(self.config.model_dump(mode="json")))
        try:
            stands = self._load(as_overrides(self.changed), self.changed.get(SEED))
        except ConfigError as error:
            found = [str(error.problems[0])]
        else:
            there = dict(_flat(stands.model_dump(mode="json")))
            keys = [key for key in now | there if now.get(key) != there.get(key)]
            found = [f"{key} is {there.get(key)!s:.60} there, {now.get(key)!s:.60} here" for key in keys[:MOST_CHANGED]]
        differs = "; ".join(found) or "the same values"
        return (
            f"changed on disk after it was opened: {', '.join(map(str, files))} ({differs}). What was opened runs; to "
            "take the change, end hil operate and start it again"
        )

    def vary(self, more: Sequence[str]) -> Config:
        """The config as it is now, with further overrides, of a jog. Raises ConfigError."""
        return self.load(self.changed, more)

    def _refuse_others(self, values: Mapping[str, Value]) -> None:
        """Raises ConfigError: a key cannot be changed here. The loader says what is unknown in a section."""
        keys = ChangeableKeys(self.config)
        known, sections = keys.values() | {SEED: None}, dict(keys.sections())
        problems = []
        for key in values:
            path, _, last = key.rpartition(".")
            fields = () if path not in sections else type(sections[path]).model_fields
            if key not in known and (not fields or last in fields or not last.isidentifier()):
                found = "a key that is settled when the rig is opened"
                problems.append(Problem(key, found, f"seed, and keys of {', '.join(filter(None, sections))}"))
        if problems:
            raise ConfigError(self.config.name, problems)


def as_overrides(changed: Mapping[str, Value]) -> list[str]:
    """Values as `--set` takes them; a seed has a separate option."""
    return [f"{key}={json.dumps(value)}" for key, value in changed.items() if key != SEED or value is None]


def _flat(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of each key."""
    if not isinstance(values, dict):
        yield path, values
        return
    for key, value in values.items():
        yield from _flat(value, f"{path}.{key}".lstrip("."))


def _nested(path: str, section: Section) -> Iterator[tuple[str, Section]]:
    if section.between_runs:
        yield path, section
        for name in type(section).model_fields:
            if _may_change(section, name) and isinstance(inner := getattr(section, name), Section):
                yield from _nested(f"{path}.{name}", inner)


def _may_change(section: Section, name: str) -> bool:
    return "*" in section.between_runs or name in section.between_runs


@functools.cache
def _schema(section: type[Section]) -> dict[str, Any]:
    return section.model_json_schema()
