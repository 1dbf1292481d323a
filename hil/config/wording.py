"""pydantic's errors in the words of the person who edits the config: key, what was found, what is allowed."""

from __future__ import annotations

import difflib
import functools
import reprlib
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hil.config.problems import MisfitError, Problem

_KINDS = {"number": "a number", "integer": "a whole number", "string": "text", "boolean": "true or false"}
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60
_short.maxlist = _short.maxdict = 3


def problems_of(error: ValidationError) -> list[Problem]:
    """Every problem of a failed check of a `Config`."""
    problems: list[Problem] = []
    for detail in error.errors(include_url=False):
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, MisfitError):
            problems += cause.problems
        else:
            problems.append(_problem(detail, cause))
    return problems


def shown(value: Any) -> str:
    """A value as a message shows it: short, in one line."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"a section with {_short.repr([str(key) for key in value])}" if value else "an empty section"
    return _short.repr(value)


def _problem(detail: ErrorDetails, cause: Any) -> Problem:
    location = detail["loc"]
    key = ".".join(map(str, location)) or "(file)"
    if detail["type"] == "extra_forbidden":
        return Problem(key, f"an unknown key = {shown(detail['input'])}", _known_keys(location))
    schema = _schema(location)
    if detail["type"] == "missing":
        return Problem(key, "nothing", f"{_allowed(schema)}; this key is needed")
    return Problem(key, shown(detail["input"]), str(cause) if cause is not None else _allowed(schema))


def _known_keys(location: Sequence[int | str]) -> str:
    """The keys of the section an unknown one stands in, the likeliest alone."""
    known = list(_schema(location[:-1]).get("properties", {}))
    near = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"


def _allowed(schema: dict[str, Any]) -> str:
    """What a key takes."""
    if "note" in schema and "const" not in schema:
        allowed = str(schema["note"])
    elif "const" in schema:
        note = f" ({schema['note']})" if "note" in schema else ""
        allowed = f"{schema['const']}{note}"
    elif "enum" in schema:
        allowed = " or ".join(map(str, schema["enum"]))
    elif "properties" in schema:
        allowed = f"a section with the keys {', '.join(schema['properties'])}"
    elif schema.get("type") == "array":
        allowed = f"a list of {schema.get('minItems', 'some')}"
    else:
        allowed = " ".join(filter(None, (_KINDS.get(str(schema.get("type")), "something else"), _range(schema))))
    return allowed


def _range(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "maxLength" in schema:
        return f"of {schema.get('minLength', 0)} to {schema['maxLength']} characters"
    if "exclusiveMinimum" in schema:
        return f"above {schema['exclusiveMinimum']:.10g}, at most {high:.10g}"
    return f"{low:.10g} to {high:.10g}" if low is not None and high is not None else ""


@functools.cache
def _whole() -> dict[str, Any]:
    from hil.config.model import Config

    return Config.model_json_schema()


def _schema(location: Sequence[int | str]) -> dict[str, Any]:
    """The JSON schema at a place in the config; empty where there is none."""
    node = _whole()
    for step in location:
        if isinstance(step, int):
            items = node.get("prefixItems", [])
            node = items[step] if step < len(items) else {}
        else:
            node = node.get("properties", {}).get(step, {})
        if "$ref" in node:
            node = _whole()["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node
