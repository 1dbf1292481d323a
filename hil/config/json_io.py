"""JSON files of runs and campaigns: limited size, number of values and depth; no NaN or infinity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from hil.config.files import read_text

DEEPEST = 32
# Each value of a list or section follows one of these, so that counting them bounds the memory before it is used.
_BEFORE_VALUES = "[{,"
# A file of that many bytes has at most this many values: 30 bytes each, as a campaign's file has.
_BYTES_A_VALUE = 30
_LEAST_VALUES = 10_000


def read_json(path: Path, most_bytes: int) -> Any:
    """The content of a JSON file.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is too large, nested too deep, or not JSON; the message says which.
    """
    return parse_json(read_text(path, most_bytes), most_bytes)


def parse_json(text: str, most_bytes: int) -> Any:
    """The value of JSON text, limited as a file of `most_bytes` is. Raises ValueError."""
    most_values = max(_LEAST_VALUES, most_bytes // _BYTES_A_VALUE)
    if (values := sum(map(text.count, _BEFORE_VALUES))) > most_values:
        raise ValueError(f"up to {values} values, allowed are {most_values}")
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST}") from None
    _check_depth(value)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON: a number is finite, or null")


def _check_depth(value: Any) -> None:
    """Functions that walk through a value call themselves at each level. Raises ValueError."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level if isinstance(outer, dict | list)
                 for inner in (outer.values() if isinstance(outer, dict) else outer)]  # fmt: skip
        if not level:
            return
    raise ValueError(f"nested deeper than {DEEPEST}")
