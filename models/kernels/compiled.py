"""Where compiled code is cached, and how a kernel is compiled.

numba's `cache=True` checks the file of the compiled function, but not the files of its callees, so it would run the old
code of an edited callee. The cache folder is therefore named by a hash of every source file of `models`, of numba's
version and of Python's: an edit anywhere under `models` starts from an empty folder.

The parent of that folder is the first of `ROVER_HIL_CACHE`, `NUMBA_CACHE_DIR`, `$XDG_CACHE_HOME/rover-hil` and
`~/.cache/rover-hil` that is set; where it cannot be written, or others can put code there, which would be run, a folder
of this user's own under the temporary directory.
Clones of the same source share that folder. Folders of older code remain and may be deleted at any time.

A kernel's two compiled forms: the one that Python calls, and the one that other kernels inline.

numba gives each compiled function machine code and a wrapper that unpacks Python's arguments. A kernel that is inlined
needs neither, and both took 40 % of the time to compile (decision 0014). So the inlined form
has none, and Python never gets hold of it.
"""

from __future__ import annotations

import hashlib
import operator
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite.binding import Linkage
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.event import Listener, register
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


# Array type of kernels.
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
# Set by the user, the first one that is.
_SETTINGS = ("ROVER_HIL_CACHE", "NUMBA_CACHE_DIR")
F = TypeVar("F", bound=Callable[..., Any])


def source_hash(folder: Path) -> str:
    """Returns 16 hex digits over path and content of all `*.py` under `folder`, numba's version and Python's."""
    digest = hashlib.sha256(f"numba {numba.__version__}, {sys.version}".encode())
    for path in sorted(folder.rglob("*.py")):
        # neither a path nor a source file can hold a NUL, so text moved between files changes the hash
        digest.update(f"\0{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _wished_parent() -> Path:
    """The folder set by the user's environment. Raises RuntimeError if there is no home folder either."""
    for name in _SETTINGS:
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # the XDG specification says to ignore a relative path
    return (base if base.is_absolute() else Path.home() / ".cache") / "rover-hil"


def _temporary_parent() -> Path:
    """A temporary folder that only this user can have filled: cached code is run, so it must be ours."""
    shared = Path(tempfile.gettempdir()).resolve() / f"rover-hil-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        if not _others_may_fill(shared):
            return shared
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="rover-hil-"))


def _others_may_fill(folder: Path) -> str:
    """Why other users of this computer can put code into a folder; "": they cannot. Raises OSError.

    Args:
        folder: resolved, without links above it.
    """
    if os.name == "nt":
        return ""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is a link"
    if found.st_uid != os.getuid():
        return f"{folder} belongs to user {found.st_uid}"
    if found.st_mode & 0o022:
        return f"others may write to {folder} (mode {stat.S_IMODE(found.st_mode):o})"
    for above in folder.parents:
        found = above.lstat()
        if found.st_uid not in (0, os.getuid()):
            return f"{above} belongs to user {found.st_uid}"
        if found.st_mode & 0o002 and not found.st_mode & stat.S_ISVTX:
            return f"others may rename what is in {above} (mode {stat.S_IMODE(found.st_mode):o})"
    return ""


def cache_folder() -> Path:
    """Creates and returns the folder for the compiled code of this very source, falling back to a temporary one."""
    name = source_hash(Path(__file__).resolve().parent.parent)
    try:
        folder = _wished_parent().resolve() / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # permission bits are not reliable (root, read-only mounts): try it
            pass
        if not (why := _others_may_fill(folder)):
            return folder
        allowed = f"a folder of this user's own, set by {' or '.join(_SETTINGS)}"
        warnings.warn(f"compiled code is not cached in {folder}: {why}; allowed: {allowed}", RuntimeWarning, 2)
    except (OSError, RuntimeError):
        pass
    folder = _temporary_parent() / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


CACHE_FOLDER = cache_folder()
# Set in numba's configuration and not in os.environ, so that a child process starts from the user's own setting.
_config: Any = numba.config
_config.CACHE_DIR = str(CACHE_FOLDER)


class _Compilations(Listener):
    """Passes on numba's report of each function that it begins to compile."""

    callback: Callable[[str], None] | None = None

    def on_start(self, event: Any) -> None:
        if self.callback:
            self.callback(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


_COMPILATIONS = _Compilations()
register("numba:compile", _COMPILATIONS)


def on_compiling(callback: Callable[[str], None] | None) -> None:
    """Call `callback` with the name of each function before it is compiled; it replaces the previous callback."""
    _COMPILATIONS.callback = callback


def compile_for(function: F, *arguments: Any, inlined: bool = True) -> F:
    """Compile a kernel for such arguments without running it: the form that others inline, or that Python calls.

    Returns what Python can call with arguments of these types only: the kernel itself looks at them in each call.
    """
    form = cast(Any, function)
    return cast(F, (form.inlined if inlined else form).compile(tuple(numba.typeof(value) for value in arguments)))


def address_of(function: Callable[..., Any], *arguments: Any) -> int:
    """Address of a kernel's machine code for such arguments, which is compiled or loaded if need be."""
    compile_for(function, *arguments, inlined=False)
    compiled = cast(Any, function).overloads[tuple(numba.typeof(value) for value in arguments)]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


# no C wrapper: nothing here takes kernels as arguments
_OPTIONS: dict[str, Any] = {"nopython": True, "nogil": True, "_nrt": False, "boundscheck": None}
_OPTIONS |= {"error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compiles a function on scalars and arrays at its first call, cached on disk and without the GIL.

    IEEE arithmetic throughout, no reordering, NaN and infinity as they are; dividing by zero gives inf or NaN and no
    exception. Of `fastmath` only "contract" is on: a product and a sum may be rounded once instead of twice, which
    takes 8 % off a step (decision 0011).

    Without numba's run time (`_nrt=False`) a kernel that would allocate does not compile, and arrays are passed without
    counting references, which took two thirds of a step; with `forceinline` the calls between kernels vanish
    (decision 0003).
    """
    return cast(F, Kernel(function, targetoptions=_OPTIONS | {"forceinline": True}))


def separate_kernel(function: F) -> F:
    """A `kernel` that is called and not inlined: long code in several places takes minutes to compile."""
    return cast(F, SeparateKernel(function, targetoptions=dict(_OPTIONS)))
