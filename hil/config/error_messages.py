"""pydantic's errors as messages for the person who edits the config: key, value found, values allowed."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from drivers.registry import driver_names, driver_type
from hil.config.problems import CrossCheckError, Problem, suggestion
from hil.config.schema.experiments import section_class
from hil.config.schema.rover import rover_section
from hil.config.unchecked_config import UncheckedConfig

# The values that a key takes, by the type of its JSON schema.
KINDS = {"number": "a number", "integer": "a whole number", "string": "text", "boolean": "true or false"}
Schema = dict[str, Any]
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxdict = 3


def problems_of(error: ValidationError, whole: Schema | None = None) -> list[Problem]:
    """Every problem of a failed check of a `Config`, or of the model whose JSON schema is `whole`."""
    problems: list[Problem] = []
    details = error.errors(include_url=False)
    for detail in details:
        place = detail["loc"]
        below = (other["loc"] for other in details if len(other["loc"]) > len(place))
        if detail["type"] == "too_short" and any(other[: len(place)] == place for other in below):
            continue  # pydantic does not count an element that is wrong
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, CrossCheckError):
            problems += cause.problems
        else:
            problems.append(_problem(detail, cause, whole))
    return problems


def wrong_by_themselves(error: ValidationError) -> dict[str, float | None]:
    """The keys that are wrong independently of all others, each with the smallest number allowed if it is a number."""
    least: dict[str, float | None] = {}
    for detail in error.errors(include_url=False):
        if not isinstance(detail.get("ctx", {}).get("error"), CrossCheckError):
            keys, schema = schema_at(detail["loc"])
            least[".".join(keys)] = schema.get("minimum")
    return least


def shown(value: Any) -> str:
    """A value as a message shows it: short, in one line."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"a section with {_short.repr([str(key) for key in value])}" if value else "an empty section"
    return _short.repr(value)


def _problem(detail: ErrorDetails, cause: Any, whole: Schema | None) -> Problem:
    location, schema = schema_at(detail["loc"], whole)
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        value = detail["input"].get(tag(schema)) if isinstance(detail["input"], dict) else detail["input"]
        names = driver_names(location[-1])
        return Problem(".".join((*location, tag(schema))), shown(value), " or ".join(names))
    key = ".".join(location) or "(file)"
    if detail["type"] == "extra_forbidden":
        return Problem(
            key, f"an unknown key with the value {shown(detail['input'])}", _known_keys(detail["loc"], whole)
        )
    if detail["type"] == "missing":
        return Problem(key, "nothing", f"{allowed(schema)}; this key is needed")
    return Problem(
        key, shown(detail["input"]), str(cause) if cause is not None else _allowed_for(detail["input"], schema)
    )


# A key or a word is meant by another from so much in common on (`suggestion`).
_ALIKE = 0.7


def _allowed_for(value: Any, schema: Schema) -> str:
    """The values that a key takes; of several words also the one that is meant by another, as firm ground by hard."""
    words = [str(word) for word in schema.get("enum", ())]
    other = schema.get("meant", {}).get(value) if isinstance(value, str) else None
    meant = suggestion(other, [other]) if other else suggestion(str(value), words, 1, _ALIKE)
    return allowed(schema) + (f"; {meant}" if meant else "")


def _known_keys(location: Sequence[int | str], whole: Schema | None) -> str:
    """The keys of the section that has an unknown key; only the most similar one, if there is one."""
    known = list(schema_at(location[:-1], whole)[1].get("properties", {}))
    return suggestion(str(location[-1]), known, 1, _ALIKE) or f"one of {', '.join(known)}"


def tag(schema: dict[str, Any]) -> str:
    """The key that selects one of several kinds of a section."""
    return str(schema["discriminator"]["propertyName"])


def allowed(schema: dict[str, Any]) -> str:
    """The values that a key takes."""
    return _allowed_but_null(schema) + (" or null" if schema.get("nullable") else "")


def _allowed_but_null(schema: dict[str, Any]) -> str:
    if "note" in schema and "const" not in schema:
        allowed = str(schema["note"])
    elif "const" in schema:
        note = f" ({schema['note']})" if "note" in schema else ""
        allowed = f"{schema['const']}{note}"
    elif "enum" in schema:
        allowed = " or ".join(map(str, schema["enum"]))
    elif "discriminator" in schema:
        allowed = f"a section with {tag(schema)}: {' or '.join(schema['discriminator']['mapping'])}"
    elif "properties" in schema:
        each = [f"one for each {schema['each']}"] if "each" in schema else []
        allowed = f"a section with the keys {', '.join([*schema['properties'], *each])}"
    elif schema.get("type") == "array":
        limits = " to ".join(dict.fromkeys(str(schema.get(key, 0)) for key in ("minItems", "maxItems")))
        allowed = f"a list of {limits} items" if "maxItems" in schema else "a list"
    elif schema.get("type") == "object":
        allowed = "keys and their values"
    else:
        allowed = " ".join(filter(None, (KINDS.get(str(schema.get("type")), "something else"), _range(schema))))
    return allowed


def _range(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "maxLength" in schema:
        return f"of {schema.get('minLength', 0)} to {schema['maxLength']} characters"
    if "exclusiveMinimum" in schema:
        most = f"below {schema['exclusiveMaximum']:.10g}" if high is None else f"at most {high:.10g}"
        return f"above {schema['exclusiveMinimum']:.10g}, {most}"
    step = f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else ""
    return f"{low:.10g} to {high:.10g}{step}" if low is not None and high is not None else ""


@functools.cache
def whole_schema() -> dict[str, Any]:
    """The JSON schema of `Config`, which messages and `docs/reference/config.md` are made of."""
    return UncheckedConfig.model_json_schema()


def config_keys(node: Schema | None = None, before: str = "") -> Iterator[str]:
    """Every key of a config with its sections, dotted, without those of lists, drivers and installed packages."""
    for name, below in (whole_schema() if node is None else node).get("properties", {}).items():
        section = resolved(below)
        if "properties" in section:
            yield from config_keys(section, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def schema_at(location: Sequence[int | str], whole: Schema | None = None) -> tuple[tuple[str, ...], Schema]:
    """A key path as a person writes it, and its JSON schema in `whole` (that of `Config`), empty if there is none.

    pydantic names the kind of a section of several kinds in its location; the person does not.
    """
    keys: list[str] = []
    node = whole = whole_schema() if whole is None else whole
    for step in location:
        kinds = node.get("discriminator", {}).get("mapping", {})
        if step in kinds:
            node = resolved({"$ref": kinds[step]}, whole)
            continue
        if kinds and (kind := driver_type(keys[-1], str(step))) is not None:
            node = whole = kind.settings.model_json_schema()  # of a driver from an installed package
            continue
        if keys == ["extensions"]:
            keys = [str(step)]
            node = whole = section_class(str(step)).model_json_schema()
            continue
        if keys == ["rover"] and step not in node["properties"] and (section := rover_section(str(step))):
            keys.append(str(step))
            node = whole = section.model_json_schema()
            continue
        keys.append(str(step))
        if isinstance(step, int):
            items = node.get("prefixItems", [])
            node = items[step] if step < len(items) else node.get("items", {})
        else:
            below = node.get("properties", {}).get(step, node.get("additionalProperties"))
            node = below if isinstance(below, dict) else {}
        node = resolved(node, whole)
    return tuple(keys), node


def resolved(node: dict[str, Any], whole: dict[str, Any] | None = None) -> dict[str, Any]:
    """Follow a reference to the schema itself; of one that may be null, take the other choice, marked as nullable."""
    whole = whole_schema() if whole is None else whole
    if "$ref" in node:
        node = whole["$defs"][node["$ref"].rsplit("/", 1)[1]]
    others = [kind for kind in node.get("anyOf", []) if kind != {"type": "null"}]
    if len(others) == 1 and len(node["anyOf"]) == 2:
        null = {"nullable": True, **({"note": node["note"]} if "note" in node else {})}
        return {**resolved(others[0], whole), **null}
    return node
