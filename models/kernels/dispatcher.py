"""A kernel's two compiled forms: the one that Python calls, and the one that other kernels inline.

numba gives each compiled function machine code and a wrapper that unpacks Python's arguments. A kernel that is inlined
needs neither, and both took 40 % of the time to compile (decision 0014). So the inlined form
has none, and Python never gets hold of it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llvmlite.binding import Linkage
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher
from numba.core.types import unliteral
from numba.core.types.functions import BaseFunction

if sys.platform != "win32":
    import fcntl

_MODELS = Path(__file__).resolve().parent.parent
_DEFAULTS = {name: option.default for name, option in Flags.options.items()}


def _values(flags: Flags) -> dict[str, Any]:
    return {**_DEFAULTS, **flags._values}


# numba compares flags at each call of a numpy function or an operator that it types, one property at a time: 4 % of the
# time to compile. This gives the same values.
_flags: Any = Flags
_flags.values = _values

_OPERATORS = {getattr(operator, name) for name in operator.__all__}
_CALL_TYPES: dict[tuple[Any, ...], Any] = {}
_numba_call_type = BaseFunction.get_call_type


def _call_type(function: Any, context: Any, args: tuple[Any, ...], kws: Any) -> Any:
    """The signature of a call, of an operator looked up once for each kind of operands: 250 times instead of 10,000."""
    if kws or function.typing_key not in _OPERATORS:
        return _numba_call_type(function, context, args, kws)
    key = function, context, args
    if (signature := _CALL_TYPES.get(key)) is None:
        signature = _CALL_TYPES[key] = _numba_call_type(function, context, args, kws)
    return signature


# numba asks each rule that it has for an operator, from that for dates on, at each place where one stands: a tenth of
# the time to compile.
_function: Any = BaseFunction
_function.get_call_type = _call_type


class _Library(JITCodeLibrary):
    """Leaves out passes over functions that are only declared: they change nothing and took a tenth of the time."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                with self._recorded_timings.record(f"Function passes on {function.name!r}", builder):
                    passes.run(function, builder)


class _InlinedLibrary(_Library):
    """Offers its optimised code to callers and emits none itself."""

    def _finalize_final_module(self) -> None:
        self._finalized = True  # or the next line would call this method again
        self._get_module_for_linking()  # a copy, from here on
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "available_externally"
        super()._finalize_final_module()


class _Compiler(Compiler):
    library: type[_Library] = _Library

    def __init__(self, typing_context: Any, target_context: Any, _: None, *others: Any) -> None:
        library = self.library(target_context.codegen(), "kernel")
        library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *others)


class _InlinedCompiler(_Compiler):
    library = _InlinedLibrary


class _Locator(UserProvidedCacheLocator):
    """Names a kernel of `models` by its place there, not by that of the clone: the folder above has the source's hash.

    So a further clone of the same source compiles nothing. Kernels of other packages are not in that hash, and each
    clone has its own.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        place = Path(py_file).resolve().parent
        if place.is_relative_to(_MODELS):
            return "_".join((_MODELS.name, *place.relative_to(_MODELS).parts))
        return str(super().get_suitable_cache_subpath(py_file))


class _CacheFiles(CompileResultCacheImpl):
    _locator_classes = [_Locator, *CompileResultCacheImpl._locator_classes]  # noqa: RUF012  a list, as in numba


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Only one process at a time writes to a folder of the cache; on Windows there is no such lock.

    numba numbers a new file by those that the index names: two processes could write different kernels to one file.
    """
    if sys.platform == "win32":
        yield
        return
    with open(Path(folder) / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Cache(FunctionCache):
    _impl_class = _CacheFiles

    def save_overload(self, sig: Any, data: Any) -> None:
        with _alone(self.cache_path):
            super().save_overload(sig, data)


class _InlinedCache(_Cache):
    """Keeps the inlined form apart from the other, in the same index."""

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        return "inlined", *super()._index_key(signature, codegen)


class _Inlined(CPUDispatcher):
    def enable_caching(self) -> None:
        self._cache = _InlinedCache(self.py_func)


class SeparateKernel(CPUDispatcher):
    """A kernel with one compiled form, which other kernels call: for long code that is called in several places.

    Args:
        py_func, locals, targetoptions: as numba's own dispatchers take them; it copies them by these names.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: dict[str, Any] | None = None,
        targetoptions: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(py_func, locals, targetoptions, _Compiler)
        self._cache = _Cache(py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types of a call by another kernel.

        A constant counts as any other number of its type: numba would compile the callee again for each constant, to
        the same code, for the number itself is passed all the same.
        """
        return super().get_call_template(*_plain_types(args, kws))


def _plain_types(args: Any, kws: Any) -> tuple[Any, Any]:
    return tuple(unliteral(kind) for kind in args), {name: unliteral(kind) for name, kind in dict(kws).items()}


class Kernel(SeparateKernel):
    """The form that Python calls. Each form is compiled when it is needed, and cached on disk.

    Attributes:
        inlined: the dispatcher of the other form.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: dict[str, Any] | None = None,
        targetoptions: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(py_func, locals, targetoptions)
        self.inlined = _Inlined(
            py_func, locals, {**(targetoptions or {}), "no_cpython_wrapper": True}, _InlinedCompiler
        )
        self.inlined.enable_caching()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Likewise."""
        return self.inlined.get_call_template(*_plain_types(args, kws))

    def get_overload(self, sig: Any) -> Any:
        """What another kernel calls."""
        return self.inlined.get_overload(sig)
