"""A condition on runs, as `accepted and angle_deg > 60`: read as Python, evaluated without running any of it.

It is a part of what `pandas.DataFrame.query` takes, and needs no pandas: names, numbers, texts, comparisons, `and`,
`or`, `not`, `in`, and the four kinds of arithmetic.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

_MOST_CHARACTERS = 1000
_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, group: one in group, ast.NotIn: lambda one, group: one not in group,
}  # fmt: skip
_COMPUTED: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_WORDS: Final = {"true": True, "false": False, "null": None}
_ALLOWED = "names of values, numbers, texts, == != < <= > >=, in, and, or, not, + - * /"


class FilterError(ValueError):
    """A condition that is not allowed, or cannot be evaluated; the message says why."""


class RunFilter:
    """A condition on the values of a run.

    Args:
        text: the condition. A dotted name such as `loop.late` is the flat name of a nested value.

    Attributes:
        names: of the values that it asks for, in the order of the text.

    Raises:
        FilterError: it is no condition, or holds something else than is allowed.

    Example:
        >>> steep = RunFilter("accepted and angle_deg > 60")
        >>> steep.names
        ('accepted', 'angle_deg')
        >>> steep({"accepted": True, "angle_deg": 70.0}), steep({"accepted": True})
        (True, False)
        >>> RunFilter("'good' in tags")({"tags": ("good", "soft sand")})
        True
    """

    def __init__(self, text: str) -> None:
        self._text = text
        if len(text) > _MOST_CHARACTERS:
            raise FilterError(f"a condition of {len(text)} characters, allowed: {_MOST_CHARACTERS}")
        try:
            self._body = ast.parse(text.strip(), mode="eval").body
            names: dict[str, None] = {}
            self._check(self._body, names)
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            why = error if isinstance(error, FilterError) else "it cannot be read"
            raise FilterError(f"condition {text!r}: {why}; allowed: {_ALLOWED}") from None
        self.names = tuple(names)

    def __call__(self, run: Mapping[str, Any]) -> bool:
        """Whether it holds of a run. A value that the run does not have is null: no comparison with it holds but !=.

        Args:
            run: its values by flat name.

        Raises:
            FilterError: values are compared that cannot be, such as a text and a number.
        """
        try:
            return bool(self._value(self._body, run))
        except (TypeError, ArithmeticError) as error:
            raise FilterError(f"condition {self._text!r}: {error}") from None

    def _check(self, node: ast.expr, names: dict[str, None]) -> None:
        """Raises FilterError: something in it is not allowed."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                inner: list[ast.expr] = []
            case ast.Name() | ast.Attribute():
                if (name := _name(node)) not in _WORDS:
                    names[name] = None
                inner = []
            case ast.BoolOp(values=inner) | ast.Tuple(elts=inner) | ast.List(elts=inner):
                pass
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                inner = [operand]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
                inner = [left, right]
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
                inner = [left, *others]
            case _:
                raise FilterError(f"found {ast.unparse(node)[:60]!r}")
        for one in inner:
            self._check(one, names)

    def _value(self, node: ast.expr, run: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name() | ast.Attribute():
                name = _name(node)
                return _WORDS[name] if name in _WORDS else run.get(name)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return [self._value(one, run) for one in items]
            case ast.BoolOp(op=op, values=values):
                combined = all if isinstance(op, ast.And) else any
                return combined(self._value(one, run) for one in values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand, run)
            case ast.UnaryOp(operand=operand):
                value = self._value(operand, run)
                return None if value is None else -value
            case ast.BinOp(left=left, op=op, right=right):
                first, second = self._value(left, run), self._value(right, run)
                return None if first is None or second is None else _number(_COMPUTED[type(op)], first, second)
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self._value(one, run) for one in (left, *others)]
                return all(_holds(op, *pair) for op, pair in zip(ops, pairwise(values), strict=True))
        raise AssertionError(node)


def _holds(op: ast.cmpop, one: Any, other: Any) -> bool:
    """A value that is not there is neither more nor less than another, and in no list."""
    if not isinstance(op, ast.Eq | ast.NotEq) and (one is None or other is None):
        return isinstance(op, ast.NotIn)
    return _COMPARED[type(op)](one, other)


def _number(compute: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """Of numbers alone: a text times a number could fill the memory."""
    if not (isinstance(one, int | float) and isinstance(other, int | float)):
        raise TypeError(f"arithmetic is for numbers, found {one!r:.60} and {other!r:.60}")
    return compute(one, other)


def _name(node: ast.expr) -> str:
    """The flat name of a value. Raises FilterError: it is something else, such as the attribute of a call."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_name(value)}.{name}"
    raise FilterError(f"found {ast.unparse(node)[:60]!r}")
