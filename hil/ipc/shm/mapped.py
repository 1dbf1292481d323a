"""Files mapped into the memory of several processes, by atomic machine code."""

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

CODE = {
    "x86_64": {
        "load": "488b07c3",
        "store": "488937c3",
        "publish": (
            "488b0f488b57184c8d4a074983e1f8488b0148ffc04189c04183e0074d0fafc14c0347084989d14983e1f831ff4c39cf733a662e"
            "0f1f8400000000000f1f40004c8b143e4d8914384883c7084c39cf72efeb19662e0f1f8400000000000f1f00440fb60c3e45880c"
            "3848ffc74839d772ef488901c3"
        ),
        "snapshot": (
            "5541574156534c8b074c8b4f08488b4f10488b57184c8d52074983e2f84531db4889d74883e7f8660f1f840000000000498b0048"
            "85c0746789c383e307490fafda4c01cb4531f64939fe73300f1f40004e8b3c334e893c314983c6084939fe72efeb19662e0f1f84"
            "00000000000f1f00420fb62c3342882c3149ffc64939d672ef498b184829c34883fb07721649ffc34983fb10729a48c7c0ffffff"
            "ffeb4231c0eb3e4531c04939f873310f1f4400004e8b0c014e890c064983c0084939f872efeb19662e0f1f8400000000000f1f00"
            "420fb63c0142883c0649ffc04939d072ef5b415e415f5dc3"
        ),
        "append": (
            "554157415641554154534889d14c8b074c8b4f084c8b57104c8b5f18488b5f20488b5728498b00488d3c084d8db00001000049c7"
            "c7ffffffff0f1f800000000049ffc74939d773194d8b264983ee804989fd4d29e54d39d57ee631c0e9a8000000498b9080000000"
            "4839fa480f4ed7498990800000004531f631d249f7f24889d84883e0f84939ce7377660f1f4400004989d74d0faffb4d01cf4989"
            "f44531ed4939c5733a662e0f1f840000000000904a8b2c2e4b892c2f4983c5084983c4084939c572ebeb18660f1f840000000000"
            "410fb62c2443882c2f49ffc549ffc44939dd72ec49ffc64989d749ffc74d39d7ba00000000490f45d74801de4939ce728f498938"
            "b8010000005b415c415d415e415f5dc3"
        ),
        "fetch": (
            "554157415641554154534889d04c8b074c8b57084c8b4f104c8b5f18488b7f2031db31d249f7f14889f84883e0f84839cb737d66"
            "2e0f1f8400000000000f1f004989d64d0faff34d01d64989f74531e44939c47339662e0f1f840000000000904f8b2c264e892c26"
            "4983c4084983c7084939c472ebeb17660f1f840000000000430fb62c2641882f49ffc449ffc74939fc72ed48ffc34989d649ffc6"
            "4d39ceba00000000490f45d64801fe4839cb7290498b80800000004c29c85b415c415d415e415f5dc3"
        ),
    },
    "aarch64": {
        "load": "00fcdfc8c0035fd6",
        "store": "01fc9fc8c0035fd6",
        "publish": (
            "082c40a9e9031faa0a0c40f90c0140f94d1d0091bf3b03d580050091acf17d920d084092ab2d0c9b4cf17d923f010ceb42010054"
            "2d6869f86d6929f8292100913f010ceb83ffff54040000142c6869386c692938290500913f010aeb83ffff5400fd9fc8c0035fd6"
        ),
        "snapshot": (
            "092041a9ea031faa0b3040a90d1d0091adf17d9260fddfc8600500b40f084092ee031faa10f17d92ef310d9bdf0110eb42010054"
            "f1696ef831692ef8ce210091df0110eb83ffff5404000014f0696e3830692e38ce050091df0108eb83ffff54bf3903d56e0140f9"
            "ce0100cbdf1d00f1c30000544a0500915f4100f1c3fcff5400008092c0035fd6ea031faa0bf17d925f010beb420100542c696af8"
            "2c682af84a2100915f010beb83ffff54040000142b696a382b682a384a0500915f0108eb83ffff54c0035fd6"
        ),
        "append": (
            "082440a9100080920a2c41a9112080520c3842a90f0140f9ed01028b100600911f020eeb220100541201118b3102029152fedfc8"
            "b20112cb5f020aeb0dffff54e0031faac0035fd6f009ca9a114140f9ee031faa3f020deb0fbe0a9b30c28d9a104100f9bf3b03d5"
            "df0102eb42030054f1250b9bf0031faa80f17d92f20301aa1f0200eb62010054236870f852220091236a30f8102200911f0200eb"
            "63ffff540400001440164038206a3038100600911f020ceb83ffff54f0050091ce05009121000c8b1f020aebef078f9adf0102eb"
            "03fdff54200080520dfd9fc8c0035fd6"
        ),
        "fetch": (
            "082441a9ee031faa0d1040f94a08c89a4b89089b0a3040a9df0103eb420300547031099bef031faab2f17d92f10301aaff0112eb"
            "62010054006a6ff83122009120682ff8ef210091ff0112eb63ffff5404000014126a6f38ef05009132160038ff010deb83ffff54"
            "6f050091ce05009121000d8bff0108ebeb078b9adf0103eb03fdff54bf3903d5494140f9200108cbc0035fd6"
        ),
    },
}


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
