"""What each key of a config is, takes and defaults to, from the schema of `Config`: for pages, and as YAML to copy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hil.config.error_messages import allowed, resolved, tag, whole_schema

Schema = Mapping[str, Any]


def keys_of(schema: Schema) -> dict[str, Any]:
    """Schemas of a section's keys, and of those that have the name of a part of the rig."""
    named = {f"EACH {schema['each'].upper()}": schema["additionalProperties"]} if "each" in schema else {}
    return {**schema["properties"], **named}


def is_section(schema: Schema) -> bool:
    """Whether a key holds a section, of one kind or of several."""
    return "properties" in schema or "discriminator" in schema


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
    return "\n\n".join("\n".join(_lines(steps[-1:], kind, suffix == "[]")) for suffix, _, kind in kinds)


def _lines(name: list[str], schema: Schema, listed: bool = False) -> Iterator[str]:
    """The lines of a section: its description, its name, and its keys; `listed`: the section is in a list."""
    first, _, _ = str(schema["description"]).partition("\n\n")
    yield f"# {' '.join(first.split())}"
    yield from (f"{one}:" for one in name)
    indent = "  " * (len(name) + listed)
    for number, (key, given) in enumerate(keys_of(schema).items()):
        value = resolved(given)
        described = value | given
        if "properties" in value and not value.get("nullable"):
            yield from (f"{indent}{line}" for line in _lines([key], value))
            continue
        shown = described.get("const") or default_of(described, key in schema.get("required", ())).strip("`")
        dash = f"{indent[:-2]}- " if listed and not number else indent
        yield f"{dash}{key}: {shown} # {described.get('description', '')}; {allowed(described)}"


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
