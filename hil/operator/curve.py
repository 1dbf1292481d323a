"""Who may connect to a socket: CURVE keys of other computers, and the code that only a client with the token can make.

A key pair is two files in the form of ZeroMQ certificates: NAME.key_secret, which stays on its computer, and NAME.key,
which is copied to the computer at the other end.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from pathlib import Path
from typing import Any, Literal, NamedTuple

import zmq
from zmq.auth import load_certificate
from zmq.utils import z85

PUBLIC, SECRET = ".key", ".key_secret"
# Where ZeroMQ asks whether a client may connect (RFC 27, ZAP).
_ZAP = "inproc://zeromq.zap.01"
_OTHERS = 0o077


class KeysError(Exception):
    """A key file is missing, damaged or readable by others."""


class KeyPair(NamedTuple):
    """A key pair, both keys in Z85."""

    public: bytes
    secret: bytes


def own_path(path: str) -> Path:
    """A path of a config, seen from the folder where hil was started; ~ is the user's own folder."""
    return Path(path).expanduser().absolute()


def new_keys(name: str, folder: Path) -> tuple[Path, Path]:
    """Make a key pair.

    Args:
        name: of the computer or person.
        folder: of the files; made if there is none, for its owner only.

    Returns:
        The files of the public and the secret key.

    Raises:
        KeysError: the name is not allowed, or there is a file of that name.
    """
    if not KEY_NAME.fullmatch(name):
        raise KeysError(f"keys: name {name!r}, allowed: {KEY_NAME_ALLOWED}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    public, secret = zmq.curve_keypair()
    parts = ("curve", f'    public-key = "{public.decode()}"')
    files = folder / f"{name}{PUBLIC}", folder / f"{name}{SECRET}"
    _write(files[1], [*parts, f'    secret-key = "{secret.decode()}"'], 0o600)
    _write(files[0], parts, 0o644)
    return files


def _write(file: Path, lines: Any, mode: int) -> None:
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError as error:
        raise KeysError(f"{file}: {error.strerror}; allowed: a new file, for a key is never written over") from None
    with os.fdopen(fd, "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")


def read_key_pair(file: Path) -> KeyPair:
    """Read a secret key and its public key. Raises KeysError: it is no secret key, or other users can read it."""
    try:
        mode = file.stat().st_mode
        if mode & _OTHERS:
            raise KeysError(f"{file}: other users can read this secret key (mode {mode & 0o777:o}): chmod 600 {file}")
        public, secret = load_certificate(file)
        if secret is None:
            raise ValueError("a public key only")
        if zmq.curve_public(secret) != public:
            raise ValueError("the two keys do not belong together")
    except (OSError, ValueError, zmq.ZMQError) as error:
        raise KeysError(f"{file}: {error}; allowed: a file NAME{SECRET} of `hil keys new`") from None
    return KeyPair(public, secret)


def read_public_key(file: Path) -> bytes:
    """Read a public key, in Z85. Raises KeysError: it is none."""
    try:
        public, _ = load_certificate(file)
        if len(z85.decode(public)) != 32:
            raise ValueError("not a key of 32 bytes in Z85")
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise KeysError(f"{file}: {error}; allowed: a file NAME{PUBLIC} of `hil keys new`") from None
    return public


def allowed_clients(folder: Path) -> dict[bytes, str]:
    """Name by public key of all clients that may connect.

    Raises:
        KeysError: there is no such folder, other users can write to it, or a file in it is no public key.
    """
    try:
        mode = folder.stat().st_mode
        files = sorted(file for file in folder.iterdir() if file.suffix == PUBLIC)
    except OSError as error:
        raise KeysError(f"{folder}: {error.strerror}; allowed: a folder of the clients' files NAME{PUBLIC}") from None
    if mode & 0o022:
        raise KeysError(f"{folder}: other users can write to it (mode {mode & 0o777:o}): chmod 700 {folder}")
    if wrong := [file for file in files if not KEY_NAME.fullmatch(file.stem)]:
        raise KeysError(f"{wrong[0]}: name {wrong[0].stem!r}, allowed: {KEY_NAME_ALLOWED}")
    return {read_public_key(file): file.stem for file in files}


class CurveDoor:
    """Lets only allowed clients connect to the sockets of a context.

    The folder of clients is read again for each connection: a key that is added or removed there counts from the next
    connection on.

    Args:
        context: of the sockets; made for this door.

    Attributes:
        waiting: a socket that can be read when a client wants to connect; then `answer` has to be called.

    Raises:
        KeysError: as `read_key_pair` and `allowed_clients`.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], secret: Path, clients: Path) -> None:
        self._own, self._clients = read_key_pair(secret), clients
        allowed_clients(clients)
        self.waiting = context.socket(zmq.REP)
        self.waiting.setsockopt(zmq.LINGER, 0)
        self.waiting.bind(_ZAP)

    def protect(self, socket: zmq.Socket[bytes]) -> None:
        """Demand keys of whoever connects to a socket; to be called before it is bound."""
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self._own.secret)
        socket.setsockopt(zmq.ZAP_DOMAIN, b"rover-hil")

    def answer(self) -> None:
        """Decide about all clients that want to connect now; never waits."""
        while self.waiting.poll(0):
            version, request, _domain, _address, _identity, mechanism, *given = self.waiting.recv_multipart()
            name = self._name(given[0]) if mechanism == b"CURVE" and len(given) == 1 else ""
            code, text = (b"200", b"OK") if name else (b"400", b"this key is not allowed")
            self.waiting.send_multipart([version, request, code, text, name.encode(), b""])

    def _name(self, public: bytes) -> str:
        """Name of the client with that public key; "": it may not connect."""
        try:
            return allowed_clients(self._clients).get(z85.encode(public), "")
        except KeysError:  # a folder that is not in order lets nobody in
            return ""

    def close(self) -> None:
        """Close the socket; may be called twice."""
        self.waiting.close()


def prove(socket: zmq.Socket[Any], own: KeyPair, server: bytes) -> None:
    """Set the keys of a client's socket; `server` is the public key of the other end, in Z85."""
    socket.setsockopt(zmq.CURVE_SERVERKEY, server)
    socket.setsockopt(zmq.CURVE_PUBLICKEY, own.public)
    socket.setsockopt(zmq.CURVE_SECRETKEY, own.secret)


# Names of keys, which are names of files.
KEY_NAME = re.compile(r"[A-Za-z0-9._@-]{1,30}")
KEY_NAME_ALLOWED = "1 to 30 of letters, digits and . _ @ -"
# Length of the code in front of a message, where clients prove that they know the token [bytes].
CODE_BYTES = hashlib.sha256().digest_size


class Seal:
    """Puts a code in front of messages in one direction that only somebody with the token can make.

    Args:
        token: the secret that both ends know; None: the connection itself is encrypted and authenticated.
        direction: request or reply, so that none can be returned as the other.
    """

    def __init__(self, token: bytes | None, direction: Literal["request", "reply"]) -> None:
        self._token, self._direction = token, direction.encode()

    def closed(self, content: bytes) -> bytes:
        """The message with its code in front."""
        return content if self._token is None else self._code(content) + content

    def opened(self, frame: bytes) -> bytes | None:
        """The message; None: its code is wrong."""
        if self._token is None:
            return frame
        code, content = frame[:CODE_BYTES], frame[CODE_BYTES:]
        return content if hmac.compare_digest(code, self._code(content)) else None

    def _code(self, content: bytes) -> bytes:
        assert self._token is not None
        return hmac.digest(self._token, self._direction + content, "sha256")
