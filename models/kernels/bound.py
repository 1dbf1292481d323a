"""Arguments bound once: numba checks every array at each call, which can cost more than the kernel.

A step of a rover takes some sixty arrays, in NamedTuples; passing them from Python costs 8 us a call. `BoundArguments`
converts them once and stores numba's form of them; a kernel with such an argument reads them with `unpack`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

T = TypeVar("T")


class _BoundType(types.Type):
    """The numba type of BoundArguments: the address of a value of type `content`."""

    def __init__(self, content: types.Type) -> None:
        self.content = content
        super().__init__(f"BoundArguments({content})")


@register_model(_BoundType)
class _BoundModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: _BoundType) -> None:
        super().__init__(dmm, fe_type, cgutils.intp_t)


class BoundArguments(Generic[T]):
    """A value made of arrays and numbers, in the form of kernels.

    The arrays are shared with the caller: each side sees what the other writes. Numbers are copied: after a change of a
    number, create new BoundArguments.

    Args:
        value: a NamedTuple of arrays and numbers, also nested.

    Attributes:
        value: what was given.
        kind: numba's type of it.
        address: of its form for kernels.

    Raises:
        TypeError: it holds something else, or two bools in a row.
    """

    __slots__ = ("_buffer", "_numba_type_", "address", "kind", "value")

    def __init__(self, value: T) -> None:
        self.value = value
        content = self.kind = _type_of(value)
        self._numba_type_: types.Type = _BoundType(content)
        self._buffer = np.frombuffer(b"".join(_words(value, content)), np.float64).copy()
        if self._buffer.nbytes != _native_size(content):
            raise TypeError(
                f"a value of numba type {content} cannot be bound: its parts are not 64-bit words of this order"
            )
        self.address = int(self._buffer.ctypes.data)

    def slot(self, other: BoundArguments[T]) -> int:
        """Position of the one number in which two values of the same types differ; for `set_number`.

        Raises:
            ValueError: they differ in none, or in more.
        """
        places = np.flatnonzero(self._buffer.view(np.int64) != other._buffer.view(np.int64))
        if places.size != 1:
            raise ValueError(f"the two differ in {places.size} places, needed: one")
        return int(places[0])

    def set_number(self, slot: int, number: float) -> None:
        """Change one number in place, fast enough for a tick; new BoundArguments would take longer than a tick.

        The value that this was made of keeps the old number, and so does a copy.
        """
        self._buffer[slot] = number

    def __reduce__(self) -> tuple[type[BoundArguments[T]], tuple[T]]:
        """A copy is bound to its own copy of the arrays."""
        return type(self), (self.value,)


class BoundApart(BoundArguments[T]):
    """Bound arguments that others hold by their address: a number to numba, whatever they are made of.

    So a kernel that only passes them on (`call_at`) is compiled once for all kinds of them.
    """

    __slots__ = ()

    def __init__(self, value: T) -> None:
        super().__init__(value)
        self._numba_type_ = types.int64

    def __index__(self) -> int:
        return self.address


@typeof_impl.register(BoundArguments)
def _typeof_bound(value: BoundArguments[Any], _: Any) -> types.Type:
    return value._numba_type_


@unbox(_BoundType)
def _unbox_bound(_: _BoundType, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(address, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


class _Unpack(Protocol):
    """The value in BoundArguments; for kernels only."""

    def __call__(self, bound: BoundArguments[T], /) -> T:
        """Returns the value."""


def _unpack(_: Any, bound: types.Type) -> Any:
    if not isinstance(bound, _BoundType):
        raise TypingError(f"BoundArguments are needed, found {bound}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=8)

    return bound.content(bound), generate


unpack = cast(_Unpack, intrinsic(_unpack))


class _CallAt(Protocol):
    """Call the kernel at an address with bound arguments and numbers; for kernels only, and one that returns nothing.

    Its bound arguments may be the first parts of these: both then have the same address. Or they are a BoundApart.
    """

    def __call__(self, address: int, bound: BoundArguments[Any], steps: int, dt: float, /) -> None:
        """Call the kernel at an address, with so many steps of dt."""


def _call_at(_: Any, _address: types.Type, bound: types.Type, _steps: types.Type, _dt: types.Type) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        return _call(context, builder, signature.args[1:], arguments)

    return types.none(types.int64, bound, types.int64, types.float64), generate


call_at = cast(_CallAt, intrinsic(_call_at))


class _CallWith(Protocol):
    """Call the kernel at an address with a value, which it takes as BoundArguments, and numbers; for kernels only.

    The value is bound for the time of the call: its numbers are copied, its arrays are shared.
    """

    def __call__(self, address: int, value: Any, count: int, number: float, /) -> None:
        """Call the kernel at an address, with a count and a number."""


def _call_with(_: Any, _address: types.Type, value: types.Type, _count: types.Type, _number: types.Type) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        place = cgutils.alloca_once(builder, context.get_value_type(value))
        builder.store(arguments[1], place, align=8)
        bound = builder.ptrtoint(place, cgutils.intp_t)
        return _call(context, builder, (_BoundType(value), *signature.args[2:]), (arguments[0], bound, *arguments[2:]))

    return types.none(types.int64, value, types.int64, types.float64), generate


call_with = cast(_CallWith, intrinsic(_call_with))


def _call(context: Any, builder: Any, kinds: tuple[types.Type, ...], arguments: Sequence[Any]) -> Any:
    """Call a kernel of arguments of these kinds, which returns nothing; the first of `arguments` is its address."""
    convention = context.call_conv
    kind = convention.get_function_type(types.none, kinds)
    # numba passes two places for what is returned and what is raised; kernels on bound arguments do neither
    places = [cgutils.alloca_once(builder, place.pointee) for place in kind.args[:2]]
    builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [*places, *arguments[1:]])
    return context.get_dummy_value()


_KINDS: dict[tuple[Any, ...], types.Type] = {}


def _type_of(value: Any) -> types.Type:
    """Numba's type of a value, looked up once for each kind of array and NamedTuple: numba takes 2 ms for a rover."""
    key: tuple[Any, ...]
    if isinstance(value, np.ndarray):
        flags = value.flags
        key = value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    elif isinstance(value, tuple):
        parts = [_type_of(part) for part in value]
        key = type(value), *map(id, parts)  # each type is there once, and for good; to hash one takes too long
    else:
        return typeof(value)
    if (kind := _KINDS.get(key)) is None:
        kind = _KINDS[key] = typeof(value)
    return kind


@cache
def _native_size(kind: types.Type) -> int:
    """Bytes of a value of that type in the form of kernels."""
    context = cpu_target.target_context
    return int(context.get_abi_sizeof(context.get_value_type(kind)))


def _words(value: Any, kind: types.Type) -> Iterator[bytes]:
    """A value in kernel form, in pieces of whole 64-bit words; a bool is the first byte of one, if a word follows it.

    A kernel that stored it would be compiled for each kind of value, nearly a second each.
    """
    if isinstance(kind, types.BaseTuple):
        for part, part_kind in zip(value, cast(Iterable[types.Type], kind), strict=True):
            yield from _words(part, part_kind)
    elif isinstance(kind, types.Array):
        # no owner: kernels count no references to an array without one, and BoundArguments keeps the array
        data = value.ctypes.data
        words = (0, 0, value.size, value.itemsize, data, *value.shape, *value.strides)
        yield struct.pack(f"{len(words)}q", *words)
    elif kind == types.float64:
        yield struct.pack("d", value)
    elif kind == types.int64:
        yield struct.pack("q", value)
    elif kind == types.boolean:
        yield struct.pack("?7x", value)
    elif kind == types.none:
        yield bytes(8)
    else:
        raise TypeError(
            f"a value of numba type {kind} cannot be bound, only arrays, float, int, bool and None, also nested"
        )
