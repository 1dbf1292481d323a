"""YAML text: numbers as people write them (YAML 1.2's core schema), every duplicate key reported."""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import yaml

from hil.config.problems import Problem


class _Reader(yaml.SafeLoader):
    """PyYAML without YAML 1.1's surprises: 1e5 is a number, `on` is text, 010 is ten, 1:30 is text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  PyYAML's own name

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.problems: list[Problem] = []
        self._path: list[str] = []

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
        key: name in the problem if the text is not YAML.
    """
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
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return None, (Problem(key, f"{place}{error.problem}", "YAML"),)
    except (yaml.YAMLError, RecursionError, ValueError, KeyError, AttributeError, TypeError) as error:
        # the last three: errors that PyYAML raises for an explicit tag that does not fit, like `!!bool maybe`
        return None, (Problem(key, f"{error}".partition("\n")[0], "YAML"),)
    return value, tuple(reader.problems)
