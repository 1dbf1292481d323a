"""Tables: the runs of a folder, a row each, and the ticks of one run as a pandas DataFrame."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hil.analysis.campaign import numbers_of
from hil.analysis.dataset import imported, scalars, verified_summary
from hil.analysis.export.tables import tables_of
from hil.config.problems import suggestion
from hil.messages.signals import signals_of
from hil.recording import open_trial
from hil.recording.reader import FILE_NAME as RECORD
from hil.recording.run_folder import FolderError, annotation_of, summary_of, verdict_of

if TYPE_CHECKING:
    from pandas import DataFrame


def ticks_of(folder: Path, *, unverified: bool = False) -> DataFrame:
    """The ticks of a run: a row each, index `time` [s], a column for each field or `field.element`.

    `attrs` has `units` and `descriptions` by column, and the numbers of the summary as `summary_<key>`. If it does not
    match its digests, and is `unverified`, the attribute `unverified` says why.

    Raises:
        FolderError: no such folder, or its summary cannot be read.
        RecordError: there is no record, or it is damaged.
        UnverifiedRunError: record and summary do not match their digests.
        MissingPackageError: pandas is not installed.
    """
    with imported("pandas", "a DataFrame"):
        import pandas
    summary, wrong = verified_summary(folder, unverified=unverified)
    with open_trial(folder) as record:
        table = tables_of(record)[0]
        values = dict(zip((column.name for column in table.columns), table.whole(), strict=True))
    fields = signals_of("tick")
    values = {name: one.astype(bool) if fields[name.partition(".")[0]].flag else one for name, one in values.items()}
    time_s = pandas.Index(values.pop("t_ns") * 1e-9, name="time")
    frame = pandas.DataFrame(values, index=time_s)
    shown = [column for column in table.columns if column.name in values]
    frame.attrs = {
        "units": {column.name: column.unit for column in shown},
        "descriptions": {column.name: column.description for column in shown},
        **{f"summary_{key}": value for key, value in scalars(summary)},
        **({"unverified": wrong} if wrong else {}),
    }
    return frame


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
    """A condition on the values of a run. A dotted name such as `loop.late` is the flat name of a nested value.

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

        Raises FilterError: values are compared that cannot be, such as a text and a number.
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


SUMMARY = "summary.json"
# Folders under the given one: trials of a campaign are in its folder, and campaigns in that of all runs.
_DEEPEST = 3


def listed_runs(folder: Path, warn: list[str] | None = None) -> list[dict[str, Any]]:
    """The runs in a folder and in the folders of its campaigns, by name; a run of a link is not among them.

    Args:
        folder: of runs; of one run: that run alone.
        warn: takes a sentence on each file that cannot be read; its run is listed without what the file holds.

    Returns:
        For each run `run` (its folder, from the given one), `experiment`, `accepted` by the rules, `reasons` (a text),
        `operator_name`, `operator_verdict` and `operator_word` where an operator was asked, `counts` (by both), `note`,
        `tags` (a tuple), and every number of its summary by flat name, in the units that the names end with. What a
        run does not have is missing from its row.

    Raises:
        FolderError: there is no such folder.
    """
    if not folder.is_dir():
        raise FolderError(f"{folder} is no folder: give the folder of your runs (runs, if --out was not given)")
    problems: list[str] = [] if warn is None else warn
    return [_row(one, one.relative_to(folder).as_posix(), problems) for one in _runs_in(folder, _DEEPEST)]


def chosen(rows: Iterable[dict[str, Any]], where: str = "", tags: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The rows that a condition holds of, and that have all of the tags.

    The condition `where` is one of `RunFilter`; "": none.

    Raises FilterError: the condition is not allowed, or asks for a value that no run has.
    """
    rows, wanted = list(rows), set(tags)
    condition = RunFilter(where) if where else None
    if condition and rows:
        known = sorted({key for row in rows for key in row})
        for name in condition.names:
            if name not in known:
                meant = suggestion(name, known)
                raise FilterError(f"condition {where!r}: no run has a value {name!r}{': ' * bool(meant)}{meant}")
    return [row for row in rows if wanted <= set(row["tags"]) and (condition is None or condition(row))]


def _runs_in(folder: Path, deepest: int) -> Iterator[Path]:
    if any((folder / name).is_file() for name in (RECORD, SUMMARY)):
        yield folder
    elif deepest:
        for inner in sorted(folder.iterdir()):
            if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
                yield from _runs_in(inner, deepest - 1)


def _row(folder: Path, name: str, problems: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"run": name}
    try:
        row |= _values(summary_of(folder) or {})
    except FolderError as error:
        problems.append(str(error))
    if said := verdict_of(folder):
        row |= {f"operator_{key}": text for key, text in said.items()}
    if "accepted" in row:
        row["counts"] = bool(row["accepted"]) and row.get("operator_verdict") != "repeat"
    try:
        written = annotation_of(folder)
    except FolderError as error:
        problems.append(str(error))
        return {**row, "note": "", "tags": ()}
    return {**row, "note": written.note, "tags": written.tags}


def _values(summary: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: summary[key] for key in ("experiment", "accepted", "angle_deg", "seed", "aborted") if key in summary}
    return {**plain, "reasons": "; ".join(map(str, summary.get("reasons") or ())), **numbers_of(summary)}
