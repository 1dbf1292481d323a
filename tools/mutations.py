"""Mutations of a Python source, one small change each: what `make mutants` breaks to see which test notices.

A limit is broken on both sides: a comparison gets or loses its equal case and is turned round, a number is widened and
narrowed, min and max are exchanged. Texts, annotations and decorators are left as they are: no test need hold a message
word for word.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
# A number with a fraction is made so much larger, and so much smaller.
FACTOR = 1.3


class Mutation(NamedTuple):
    """A change of one place.

    Attributes:
        line: of the place.
        old: code there, in one line.
        new: code in its place, in one line.
        source: the whole changed source.
    """

    line: int
    old: str
    new: str
    source: str


def mutations_of(source: str) -> list[Mutation]:
    """All mutations of a source, in the order of their places."""
    lines = source.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    whole, found = b"".join(lines), []
    for node, new in _changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + node.end_col_offset
        old = " ".join(whole[begin:end].decode().split())
        inserted = f"({new})" if isinstance(node, ast.expr) else new
        found.append(
            (begin, Mutation(node.lineno, old, new, (whole[:begin] + inserted.encode() + whole[end:]).decode()))
        )
    return [mutation for _, mutation in sorted(found, key=lambda one: one[0])]


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Nodes below one, each with code that may stand in its place."""
    if isinstance(node, ast.expr | ast.stmt):
        for changed in _instead_of(node):
            yield node, ast.unparse(ast.fix_missing_locations(changed))
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise):
        return
    if isinstance(node, ast.If | ast.While | ast.IfExp) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield node.test, f"not {ast.unparse(node.test)}"
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or _is_type_checking(node):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child)


def _instead_of(node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for other in _COMPARED[type(op)]:
                    yield _with(node, ops=[*ops[:i], other(), *ops[i + 1 :]])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _CALCULATED:
            yield _with(node, op=_CALCULATED[type(op)]())
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float(value)):
            scaled = (value * FACTOR, value / FACTOR) if value else (1.0, -1.0)
            yield from (ast.Constant(float(f"{one:.6g}")) for one in scaled)
        case ast.Call(func=ast.Name(id=name) as function) if name in _CALLED:
            yield _with(node, func=_with(function, id=_CALLED[name]))
        case ast.Call(func=ast.Name(id="abs"), args=[one]):
            yield one
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
