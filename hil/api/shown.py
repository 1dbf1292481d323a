"""Tables that a notebook shows of results, configs and lists of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of two columns, with a title; all of it is escaped."""
    cells = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table><caption>{escape(title)}</caption><tbody>{cells}</tbody></table>"


def numbers_shown(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The numbers that a verdict on a run shows: name with unit, and value."""
    from hil.config import ConfigError
    from hil.experiments.registry import experiment_named

    try:
        numbers = experiment_named(str(summary.get("experiment", "impact"))).main_numbers()
    except ConfigError:  # of a package that is not installed here
        return []
    return [
        (f"{name} [{unit}]" if unit else name, f"{value:.{digits}f}")
        for key, name, unit, digits in numbers
        if isinstance(value := summary.get(key), int | float)
    ]
