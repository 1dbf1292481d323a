"""Files mapped into the memory of several processes, and the compiled functions of atomics.ll."""

from __future__ import annotations

import binascii
import ctypes
import functools
import mmap
import os
import platform
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.ipc.shm.machine_code import CODE


class UnsupportedMachine(RuntimeError):  # noqa: N818 - the name describes the error
    """There is no code for this machine, or it must not run here."""


class Functions(NamedTuple):
    """The functions of atomics.ll. All arguments are addresses or counts and are not checked: a wrong one crashes."""

    load: Callable[[int], int]
    store: Callable[[int, int], None]
    publish: Callable[[int, int], int]
    snapshot: Callable[[int, int], int]
    append: Callable[[int, int, int], int]
    fetch: Callable[[int, int, int, int], int]


_WORD = ctypes.c_int64
# PYFUNCTYPE keeps the GIL: after releasing it for 30 ns, getting it back can take a thread switch interval.
_TYPES = {
    "load": ctypes.PYFUNCTYPE(_WORD, _WORD),
    "store": ctypes.PYFUNCTYPE(None, _WORD, _WORD),
    "publish": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD),
    "snapshot": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD),
    "append": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD),
    "fetch": ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD, _WORD),
}
_kept: list[mmap.mmap] = []  # until the process ends


def machine() -> str:
    """Key of `CODE` for this machine. Raises UnsupportedMachine: there is no code for it."""
    description = f"{platform.machine()} {platform.system()}, {sys.maxsize.bit_length() + 1} bits"
    if description not in {f"{name} Linux, 64 bits" for name in CODE}:
        raise UnsupportedMachine(f"shared memory runs on {' and '.join(CODE)} Linux, 64 bits, found {description}")
    return platform.machine()


@functools.cache
def functions() -> Functions:
    """Load the code into the memory of this process, once.

    The code goes through an unnamed file, so that no page is both writable and executable, and so that the kernel
    updates the instruction cache where the processor does not.

    Raises:
        UnsupportedMachine: there is no code for this machine, or it must not run.
    """
    starts, text = {}, b""
    for name, digits in CODE[machine()].items():
        text += b"\0" * (-len(text) % 64)
        starts[name] = len(text)
        text += bytes.fromhex(digits)
    fd = os.memfd_create("rover-hil-atomics", os.MFD_CLOEXEC)
    try:
        os.write(fd, text)
        code = mmap.mmap(fd, len(text), mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    except PermissionError as error:
        raise UnsupportedMachine(f"shared memory: this system runs no code from memory ({error})") from None
    finally:
        os.close(fd)
    _kept.append(code)
    base = int(np.frombuffer(code, np.uint8).ctypes.data)
    return Functions(**{name: kind(base + starts[name]) for name, kind in _TYPES.items()})


_MAP_FAILED = ctypes.c_void_p(-1).value


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_int64)
    libc.mmap.restype = ctypes.c_void_p
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


def mapped_bytes(fd: int, size: int, *, populate: bool) -> NDArray[np.uint8]:
    """Map the first bytes of a file, readable and writable, shared with every process that maps it.

    The descriptor may be closed afterwards. The file is unmapped when the array and its last view are deleted.
    `mmap.mmap` would keep a duplicate of the descriptor until then, and cannot be closed while a view exists.

    Args:
        fd: descriptor of the file, open for reading and writing.
        size: bytes to map.
        populate: load all pages now, so that the first access causes no page fault.

    Raises:
        OSError: the kernel refuses.
    """
    flags = mmap.MAP_SHARED | (mmap.MAP_POPULATE if populate else 0)
    address = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    if address == _MAP_FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    held = (ctypes.c_uint8 * size).from_address(address)
    # not at the interpreter's exit: a thread may still be using it, and the kernel unmaps it then
    weakref.finalize(held, _libc().munmap, address, size).atexit = False
    return np.ctypeslib.as_array(held)


SPACING = (
    128  # bytes between control words: no two share a cache line, nor the line fetched with it (also in atomics.ll)
)
CONTROL_WORDS = 32
CONTROL_AT = 4096
PAYLOAD_AT = CONTROL_AT + CONTROL_WORDS * SPACING

_MAGIC = b"HILSHM"
_VERSION = 1
_HEADER = np.dtype(
    [
        ("version", "<i8"),
        ("kind", "S16"),
        ("capacity", "<i8"),
        ("layout_hash", "<i8"),
        ("size", "<i8"),
        ("names", "S512"),  # of cursors or of heartbeats, one per line
        ("layout", "S3072"),  # fields, one per line: for messages, truncated if too long
        ("magic", "S8"),  # written last
    ]
)


class ShmError(Exception):
    """A file of shared memory cannot be made, or does not have the expected contents. The message names the file."""


def stride(dtype: np.dtype[Any]) -> int:
    """Bytes that a record takes in shared memory: whole words."""
    return -(-dtype.itemsize // 8) * 8


def fixed_dtype(path: Path, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype, if it can be shared. Raises ShmError if it holds Python objects, is empty or a subarray."""
    dtype = np.dtype(dtype)
    if dtype.hasobject or not dtype.itemsize or dtype.subdtype:
        raise ShmError(f"{path}: cannot hold {dtype}, allowed: a record of fixed size without objects")
    return dtype


def array_address(path: Path, array: NDArray[Any], dtype: np.dtype[Any], writable: bool = False) -> int:
    """Address of the data of an array that is copied from or into as a whole.

    Raises:
        TypeError: it is not a contiguous array of exactly this dtype, or it is to be written and is read-only.
    """
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{path}: an array of {dtype} is needed, found {kind}")
    if not array.flags.c_contiguous or (writable and not array.flags.writeable):
        raise TypeError(f"{path}: a contiguous{', writable' if writable else ''} array is needed, this one is not")
    return int(array.ctypes.data)


def made_file(path: Path, size: int) -> int:
    """Make a file with all its blocks: later, a full disk would cause a SIGBUS in the middle of a trial.

    Raises:
        ShmError: it exists already, or the disk has no space for it.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ShmError(f"{path}: exists already: a run makes its own files in its own folder") from None
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        os.close(fd)
        os.unlink(path)
        raise ShmError(f"{path}: no disk space for {size} bytes: {error.strerror}") from None
    return fd


class _ClosedWords:
    """In place of the words of a file that was closed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, _: int) -> int:
        raise ShmError(f"{self._path}: used after it was closed")


class Mapped:
    """A mapped file: header, control words, payload.

    Args:
        capacity: records; None: that of the file.
        names: of control words; None: those of the file.
        slots: records in the payload, if different from the capacity.
        create: make the file (it must not exist), or open an existing one.

    Attributes:
        address: of the file's first byte, in this process.
        words: control words as they are now, by place (`word`). Python copies an aligned word of 8 bytes at once, so
            none is torn; but nothing says in which order other memory is seen. So they only tell whether there is
            something to read, or how old or how far behind something is, in a tenth of a compiled function's time.
        capacity: records.
        names: of control words.

    Raises:
        ShmError: the file cannot be made, or has other contents.
        FileNotFoundError: there is no file to open.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        dtype: np.dtype[Any],
        *,
        create: bool,
        capacity: int | None,
        names: Sequence[str] | None,
        slots: int | None = None,
    ) -> None:
        self.path = path
        if create:
            self._create(kind, dtype, capacity or 1, tuple(names or ()), slots)
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._header = self._checked(os.pread(fd, _HEADER.itemsize, 0), os.fstat(fd).st_size)
            self.capacity: int = self._header["capacity"]
            self.names: tuple[str, ...] = tuple(self._header["names"].decode().split())
            self._compare(kind, dtype, capacity, names)
            # what is mapped takes memory, so a file must not be larger than what it holds
            needed = PAYLOAD_AT + (slots or self.capacity) * stride(dtype)
            if self._header["size"] != needed:
                raise ShmError(f"{path}: {self._header['size']} bytes long, what it holds takes {needed}")
            # populated: a first touch of a page in a tick would be a page fault
            self._bytes: NDArray[np.uint8] | None = mapped_bytes(fd, self._header["size"], populate=True)
        finally:
            os.close(fd)
        self.address = int(self._bytes.ctypes.data)
        self.words: memoryview | _ClosedWords = self._bytes[CONTROL_AT:PAYLOAD_AT].view(np.int64).data

    def control(self, word: int) -> int:
        """Address of a control word."""
        return self.address + CONTROL_AT + word * SPACING

    @staticmethod
    def word(word: int) -> int:
        """Place of a control word in `words`."""
        return word * SPACING // 8

    def close(self) -> Functions:
        """Unmap the file; may be called twice.

        Returns:
            Replacements for the functions used on it. Its addresses are invalid from now on, so each of them raises
            ShmError.
        """
        self._bytes = None
        self.address = 0
        self.words = closed = _ClosedWords(self.path)

        def refuse(*_: int) -> Any:
            return closed[0]

        return Functions(*(refuse,) * len(Functions._fields))

    def _create(
        self, kind: str, dtype: np.dtype[Any], capacity: int, names: tuple[str, ...], slots: int | None
    ) -> None:
        text = "\n".join(names).encode()
        if len(text) > 512 or len(set(names)) != len(names) or any(name.split() != [name] for name in names):
            raise ShmError(f"{self.path}: names {names}, allowed: different ones, no blanks, 512 letters together")
        header = np.zeros((), _HEADER)
        size = PAYLOAD_AT + (slots or capacity) * stride(dtype)
        header["version"], header["kind"], header["capacity"], header["size"] = _VERSION, kind, capacity, size
        header["layout"], header["layout_hash"] = _layout(dtype), _hash(dtype)
        header["names"] = text
        fd = made_file(self.path, size)
        try:
            os.pwrite(fd, header.tobytes(), 0)
            os.pwrite(fd, _MAGIC, _HEADER.fields["magic"][1])  # type: ignore[index]
        finally:
            os.close(fd)

    def _checked(self, head: bytes, size: int) -> dict[str, Any]:
        if len(head) < _HEADER.itemsize:
            raise ShmError(
                f"{self.path}: not shared memory of ours: {size} bytes long, a header has {_HEADER.itemsize}"
            )
        header = dict(zip(_HEADER.names or (), np.frombuffer(head, _HEADER)[0].item(), strict=True))
        if header["magic"] != _MAGIC:
            raise ShmError(f"{self.path}: not shared memory of ours, or not finished: found {header['magic']!r}")
        if header["version"] != _VERSION:
            raise ShmError(f"{self.path}: written in format {header['version']}, this program reads {_VERSION}")
        if header["size"] != size:  # access to a page beyond the end would cause a SIGBUS
            raise ShmError(f"{self.path}: {size} bytes long, made with {header['size']}: cut off or not copied whole")
        return header

    def _compare(self, kind: str, dtype: np.dtype[Any], capacity: int | None, names: Sequence[str] | None) -> None:
        held = self._header["kind"].decode()
        if held != kind:
            raise ShmError(f"{self.path}: is a {held}, asked for as a {kind}")
        if (self._header["layout_hash"], self._header["layout"]) != (_hash(dtype), _layout(dtype)):
            here, asked = self._header["layout"].decode().split("\n"), _fields(dtype)
            only_here = [field for field in here if field not in asked] or here
            only_asked = [field for field in asked if field not in here] or asked
            raise ShmError(f"{self.path}: holds fields {', '.join(only_here)}, asked for {', '.join(only_asked)}")
        if capacity is not None and capacity != self.capacity:
            raise ShmError(f"{self.path}: capacity {self.capacity}, asked for {capacity}")
        if names is not None and tuple(names) != self.names:
            raise ShmError(f"{self.path}: names {', '.join(self.names)}, asked for {', '.join(names)}")


def _fields(dtype: np.dtype[Any]) -> list[str]:
    return [str(field) for field in dtype.descr]


def _layout(dtype: np.dtype[Any]) -> bytes:
    return "\n".join(_fields(dtype)).encode()[: _HEADER["layout"].itemsize]


def _hash(dtype: np.dtype[Any]) -> int:
    return binascii.crc32("\n".join(_fields(dtype)).encode())  # hashlib would load 4 MB of OpenSSL into each process
