"""What the kernels' dispatcher changes in numba gives what numba gives."""

from __future__ import annotations

import operator

import pytest
from numba import types
from numba.core.registry import cpu_target

from models.kernels import compiled

MATRIX = types.Array(types.float64, 2, "C")


@pytest.mark.parametrize(
    ("function", "operands"),
    [
        (operator.mul, (types.float64, types.int64)),
        (operator.getitem, (MATRIX, types.int64)),
        (operator.getitem, (MATRIX, types.UniTuple(types.int64, 2))),
        (operator.lt, (types.int64, types.float64)),
    ],
)
def test_an_operator_has_the_signature_that_numba_finds_each_time_that_it_is_asked(function, operands):
    context = cpu_target.typing_context
    context.refresh()
    kind = context.resolve_value_type(function)
    expected = compiled._numba_call_type(kind, context, operands, {})
    assert [kind.get_call_type(context, operands, {}) for _ in range(2)] == [expected, expected]


def test_an_operator_without_a_rule_for_its_operands_is_an_error_each_time():
    context = cpu_target.typing_context
    context.refresh()
    kind = context.resolve_value_type(operator.mul)
    for _ in range(2):
        with pytest.raises(Exception, match="No implementation"):
            kind.get_call_type(context, (MATRIX, types.none), {})
