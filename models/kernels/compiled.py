"""Where compiled code is cached, and how a kernel is compiled.

numba's `cache=True` checks the file of the compiled function, but not the files of its callees, so it would run the old
code of an edited callee. The cache folder is therefore named by a hash of every source file of `models`, of numba's
version and of Python's: an edit anywhere under `models` starts from an empty folder.

The parent of that folder is the first of `ROVER_HIL_CACHE`, `NUMBA_CACHE_DIR`, `$XDG_CACHE_HOME/rover-hil` and
`~/.cache/rover-hil` that is set; where it cannot be written, or others can put code there, which would be run, a folder
of this user's own under the temporary directory.
Clones of the same source share that folder. Folders of older code remain and may be deleted at any time.
"""

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.event import Listener, register

from models.kernels.dispatcher import Kernel, SeparateKernel

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


def compile_for(function: Callable[..., Any], *arguments: Any, inlined: bool = True) -> None:
    """Compile a kernel for such arguments without running it: the form that others inline, or that Python calls."""
    form = cast(Any, function)
    (form.inlined if inlined else form).compile(tuple(numba.typeof(value) for value in arguments))


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
