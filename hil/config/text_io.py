"""Values of a range, rows of CSV text, and YAML text with every duplicate key reported, all of it limited."""

from __future__ import annotations

import copy
import csv
import math
import re
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, TextIO

import yaml

from hil.config.problems import Problem


def write_rows(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV, texts by `no_formula`, floats so that they read back to the same bits, nothing for None."""
    csv.writer(file, lineterminator="\n").writerows(
        [no_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )


def no_formula(text: str) -> str:
    """A text as the cell of a table: with an apostrophe before what a spreadsheet would calculate or run."""
    text = text.replace("\r", "\n")  # csv quotes \n only; after a bare \r a spreadsheet would begin a row
    if len(text) < 2 or text[0] not in "=@+-\t\n":
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def numbered_rows(text: str) -> list[tuple[int, list[str]]]:
    """The rows of CSV text: number of the line, from 1, and its cells without spaces around them.

    Args:
        text: its lines; empty ones, and those that begin with #, do not count.

    Raises:
        csv.Error: a line cannot be read.
    """
    return [
        (number, [cell.strip() for cell in next(csv.reader([line]))])
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def number_in(cell: str) -> float:
    """The finite number in a cell; NaN: there is none.

    Example:
        >>> number_in("0.5"), number_in("inf"), number_in("half")
        (0.5, nan, nan)
    """
    try:
        value = float(cell)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


# Limits of one text. The longest config that the program writes has 9 kB, 500 values and 6 levels.
MOST_BYTES = 2**18
MOST_VALUES = 10_000
DEEPEST = 20
_FORM = (
    "YAML: a key, a colon, a space and a value on a line of their own, those of a section indented by spaces, no tabs"
)
_SHOWN = 60  # characters of a line that is wrong
_ALLOWED = f"YAML of at most {MOST_BYTES} bytes and {MOST_VALUES} values, nested at most {DEEPEST} deep"


class _LimitError(yaml.MarkedYAMLError):
    """The text is beyond a limit."""

    def __init__(self, problem: str, mark: yaml.Mark) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class _Reader(yaml.SafeLoader):
    """PyYAML without YAML 1.1's surprises: 1e5 is a number, `on` is text, 010 is ten, 1:30 is text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  PyYAML's own name

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.problems: list[Problem] = []
        self._path: list[str] = []
        self._depth = 0
        self._values = 0
        self._values_of: dict[int, int] = {}  # by the id of a node: values in it, itself included

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node of the text; PyYAML calls this for each, aliases included.

        An alias counts for as many values as what it stands for: a few short lines can stand for billions.
        """
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        is_alias, before = self.check_event(yaml.AliasEvent), self._values
        self._values += 1
        self._depth += 1
        if self._depth > DEEPEST:
            raise _LimitError(f"nested deeper than {DEEPEST}", mark)
        node = super().compose_node(parent, index)
        if is_alias:
            if id(node) not in self._values_of:
                raise _LimitError("an alias inside the section that it stands for", mark)
            self._values = before + self._values_of[id(node)]
        if self._values > MOST_VALUES:
            raise _LimitError(f"more than {MOST_VALUES} values, aliases counted in full", mark)
        self._depth -= 1
        self._values_of[id(node)] = self._values - before
        return node

    def mapping(self, node: yaml.MappingNode) -> dict[Hashable, Any]:
        """A mapping; a key that is not text or appears twice is reported and left out."""
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            self._path.append(key)
            path = ".".join(self._path)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(path, f"a key that is not a word, line {line}", "a word before the colon"))
            elif key in mapping:
                self.problems.append(Problem(path, f"the key a second time, line {line}", "each key once in a section"))
            else:
                mapping[key] = self.construct_object(value_node, deep=True)
            self._path.pop()
        return mapping

    def integer(self, node: yaml.ScalarNode) -> int | str:
        """A whole number; one of hundreds of digits stays text, which no key accepts (Python refuses to convert it)."""
        text = str(node.value)
        return int(text, 16 if text.startswith("0x") else 10) if len(text) < 300 else text

    def real(self, node: yaml.ScalarNode) -> float:
        """A number; the loader refuses infinity and NaN later, with the name of the key."""
        text = str(node.value).lower()
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))


_INTEGER = r"[-+]?[0-9]+|0x[0-9a-fA-F]+"
_REAL = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", _INTEGER, list("-+0123456789")),
    ("float", _REAL, list("-+.0123456789")),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Reader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)
_Reader.add_constructor("tag:yaml.org,2002:int", _Reader.integer)
_Reader.add_constructor("tag:yaml.org,2002:float", _Reader.real)
_Reader.add_constructor("tag:yaml.org,2002:map", _Reader.mapping)


class _Writer(yaml.SafeDumper):
    """Quotes text that this reader or a YAML 1.1 reader would not read as text."""

    yaml_implicit_resolvers = {  # noqa: RUF012  PyYAML's own name
        first: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
            *_Reader.yaml_implicit_resolvers.get(first, []),
        ]
        for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *_Reader.yaml_implicit_resolvers}
    }


def write_yaml(value: Any) -> str:
    """The value as YAML that `read_yaml` reads back to an equal one; keys keep their order."""
    return yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True)


def read_yaml(text: str, key: str) -> tuple[Any, list[Problem]]:
    """The value of the text, and the problems of its syntax.

    Args:
        text: YAML, one document.
        key: name in the problem if the text is not YAML, or is beyond a limit.
    """
    if (length := len(text.encode("utf-8", "surrogatepass"))) > MOST_BYTES:
        return None, [Problem(key, f"{length} bytes", _ALLOWED)]
    value, problems = _read_once(text, key)
    return copy.deepcopy(value), list(problems)


@lru_cache(maxsize=64)  # a shipped config takes 15 ms, and a series of trials reads the same text many times
def _read_once(text: str, key: str) -> tuple[Any, tuple[Problem, ...]]:
    try:
        reader = _Reader(text)
        try:
            value = reader.get_single_data()
        finally:
            reader.dispose()
    except yaml.MarkedYAMLError as error:
        allowed = _ALLOWED if isinstance(error, _LimitError) else _FORM
        return None, (Problem(key, f"{_place(text, error)}{error.problem}", allowed),)
    except (yaml.YAMLError, RecursionError, ValueError, KeyError, AttributeError, TypeError) as error:
        # the last three: errors that PyYAML raises for an explicit tag that does not fit, like `!!bool maybe`
        return None, (Problem(key, f"{error}".partition("\n")[0], "YAML"),)
    return value, tuple(reader.problems)


def _place(text: str, error: yaml.MarkedYAMLError) -> str:
    """The line that is wrong, with its number. That of a key without a colon is noticed on the next one only."""
    mark = error.context_mark if "expected ':'" in f"{error.problem}" else error.problem_mark
    if mark is None:
        return ""
    lines, number = text.splitlines(), mark.line
    if "mapping values" in f"{error.problem}" and number and lines[number].count(": ") < 2:
        number -= 1
    found = lines[number].expandtabs(4).strip() if number < len(lines) else ""
    return f"line {number + 1}{f', {found[:_SHOWN]!r}' if found else ''}: "


_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"^({_NUMBER}):({_NUMBER}):({_NUMBER})$")
_WHOLE = re.compile(r"^[-+]?[0-9]+$")


def is_range(text: str) -> bool:
    """Whether a text is three numbers with colons between."""
    return _RANGE.match(text.strip()) is not None


def range_values(text: str, most: int) -> list[int] | list[float]:
    """Values from FIRST to LAST by STEP; LAST is always included. Whole numbers stay whole.

    Args:
        text: FIRST:LAST:STEP.
        most: values that are allowed.

    Raises:
        ValueError: it is no range, does not rise, or has more values.

    Example:
        >>> range_values("40:90:20", most=10)
        [40, 60, 80, 90]
    """
    match = _RANGE.match(text.strip())
    first, last, step = (float(part) for part in match.groups()) if match else (math.nan,) * 3
    rising = math.isfinite(first) and first <= last < math.inf and 0.0 < step < math.inf
    if not rising or (last - first) / step >= most:
        raise ValueError(f"FIRST:LAST:STEP, rising, at most {most} values")
    # to twelve digits of the largest number, so that 0.1 + 2 * 0.1 is 0.3, whatever the size of a value's unit
    digits = 12 - math.frexp(max(abs(first), abs(last), step))[1] * 3 // 10
    values = [round(first + i * step, digits) for i in range(math.floor((last - first) / step + 1e-9) + 1)]
    if not math.isclose(values[-1], last, rel_tol=0.0, abs_tol=1e-6 * step):
        values.append(last)
    if match and all(_WHOLE.match(part) for part in match.groups()):
        return [round(value) for value in values]
    return values
