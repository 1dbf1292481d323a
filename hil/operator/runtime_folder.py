"""Where a running `hil operate` leaves what its clients need: a folder of this user, which no other user can open."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import msgspec

TOKEN, TICKET, ENDPOINT, MEMORY = "token", "ticket", "endpoint.json", "memory"
_TOKEN_BYTES = 32


class RuntimeFolderError(Exception):
    """A folder or file for the clients of `hil operate` is missing, or other users can open it."""


class Running(msgspec.Struct, frozen=True):
    """A running `hil operate`, as its clients find it.

    Attributes:
        pid: its process id.
        config: name of its config.
        endpoint: of the command socket.
        token_file: of the token; null: its clients need keys.
    """

    pid: int
    config: str
    endpoint: str
    token_file: str | None


def runtime_root() -> Path:
    """The folder of this user's running programs, made if there is none.

    It is in XDG_RUNTIME_DIR, or else in the folder for temporary files. There another user may have taken its name
    first: then one of this user's own with a random name is made, which clients know by its owner.

    Raises:
        RuntimeFolderError: others can open it, or it cannot be made.
    """
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    root = Path(given) / "rover-hil" if given else Path(tempfile.gettempdir()) / f"rover-hil-{os.getuid()}"
    try:
        if not given and _others(root):
            own = _with_random_names(root)
            root = own[0] if own else Path(tempfile.mkdtemp(prefix=f"{root.name}-", dir=root.parent))
        root.mkdir(mode=0o700, exist_ok=True)
        status = root.lstat()
    except OSError as error:
        allowed = "a folder that can be made (XDG_RUNTIME_DIR)"
        raise RuntimeFolderError(f"{root}: {error.strerror}; allowed: {allowed}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        mode = f"user {status.st_uid}, mode {status.st_mode & 0o777:o}"
        raise RuntimeFolderError(f"{root}: {mode}; allowed: a folder of user {os.getuid()} alone (mode 700): remove it")
    return root


def _with_random_names(root: Path) -> list[Path]:
    """Folders of this user next to the root whose name another user had taken."""
    return [path for path in sorted(root.parent.glob(f"rover-hil-{os.getuid()}-*")) if not _others(path)]


def _others(path: Path) -> bool:
    """Whether something is there that is no folder of this user."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid()


@dataclass
class RuntimeFolder:
    """The folder of one running program, while this object is open.

    Attributes:
        path: of the folder.
        lock: descriptor that keeps it locked; the kernel releases it however the process ends.
    """

    path: Path
    lock: int

    @classmethod
    def make(cls) -> Self:
        """Make one, and remove those of programs that are gone. Raises RuntimeFolderError."""
        root = runtime_root()
        making = _locked(root, fcntl.LOCK_EX)  # a folder that is made at the same time is not taken for an old one
        try:
            for folder in root.iterdir():
                if not _in_use(folder):
                    shutil.rmtree(folder, ignore_errors=True)
            path = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=root))
            return cls(path, _locked(path, fcntl.LOCK_EX))
        finally:
            os.close(making)

    @property
    def memory(self) -> Path:
        """Where the memory shared with the command server belongs (`hil.ipc.shared_types.CommandMemory`)."""
        return self.path / MEMORY

    def new_token(self, name: str = TOKEN) -> Path:
        """Make the file of a random token, which only its owner can read."""
        file = self.path / name
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as out:
            out.write(secrets.token_hex(_TOKEN_BYTES) + "\n")
        return file

    def announce(self, running: Running) -> None:
        """Let clients find it."""
        part = self.path / f"{ENDPOINT}.part"
        part.write_bytes(msgspec.json.encode(running))
        part.replace(self.path / ENDPOINT)

    def close(self) -> None:
        """Remove the folder; may be called twice."""
        if self.lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.lock)
            self.lock = -1


def find_running() -> list[Running]:
    """All programs of this user that have a command socket. Raises RuntimeFolderError."""
    running, root = [], runtime_root()
    # whoever had taken the name of the root may have left since a program started
    roots = [root, *(other for other in _with_random_names(root) if other != root)]
    for folder in sorted(folder for parent in roots for folder in parent.iterdir()):
        file = folder / ENDPOINT
        if file.is_file() and _in_use(folder):
            running.append(msgspec.json.decode(file.read_bytes(), type=Running))
    return running


def read_token(file: Path) -> bytes:
    """Read a token. Raises RuntimeFolderError: there is none, or other users can read it."""
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="ascii").strip()
        token = bytes.fromhex(text)
    except (OSError, ValueError) as error:
        raise RuntimeFolderError(f"{file}: {error}; allowed: the token file that hil operate names") from None
    if mode & 0o077:
        raise RuntimeFolderError(f"{file}: other users can read this token (mode {mode & 0o777:o}): chmod 600 {file}")
    if len(token) != _TOKEN_BYTES:
        raise RuntimeFolderError(f"{file}: {len(token)} bytes, allowed: a token of {_TOKEN_BYTES}")
    return token


def _locked(folder: Path, how: int) -> int:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, how)
    except OSError:
        os.close(fd)
        raise
    return fd


def _in_use(folder: Path) -> bool:
    """Whether the program that made the folder is alive."""
    try:
        os.close(_locked(folder, fcntl.LOCK_SH | fcntl.LOCK_NB))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
