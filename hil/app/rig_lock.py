"""One run at a time on a rig: whoever comes second is refused before it touches anything, and told whose rig it is."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from collections.abc import Iterator
from typing import Self

from drivers.interfaces import DeviceError
from drivers.registry import driver_of
from hil.config import Config
from hil.config.schema.devices import DevicesConfig
from hil.ipc.peer_pid import peer_pid

# Refused runs that can still be told the owner's process id.
_ASKING = 128


class RigLock:
    """Holds every serial port and NI device of a real rig, for as long as this process lives or until it is closed.

    A socket in the abstract namespace for each: the kernel takes it away with the process, however that ends, and tells
    whoever asks who has it. It is known on this computer only; a chassis that another computer has reserved, NI's own
    driver refuses.

    Args:
        config: of the rig; simulated devices need no lock, or have one of their own (`ControlServer`).

    Raises:
        DeviceError: another process has one of them.
    """

    def __init__(self, config: Config) -> None:
        self._sockets: list[socket.socket] = []
        if config.rig != "real" or config.devices is None:
            return
        try:
            for place in dict.fromkeys(_places(config.devices)):
                self._take(place)
        except BaseException:
            self.close()
            raise

    def _take(self, place: str) -> None:
        held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sockets.append(held)
        try:
            held.bind(_address(place))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise DeviceError(
                f"{place}: process {_owner(place)} is running on this rig: wait for its end, or stop it (Ctrl-C there)"
            ) from None
        held.listen(_ASKING)

    def close(self) -> None:
        """Let go; twice is fine."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _owner(place: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(place))
        except OSError:  # it is gone this moment, or many have asked
            return "(not known)"
        return str(peer_pid(asking))


def _address(place: str) -> bytes:
    return b"\0rover-hil/" + hashlib.sha256(place.encode()).hexdigest().encode()


def _places(devices: DevicesConfig) -> Iterator[str]:
    """What a rig is made of, each by one name whatever link or letter case it goes by."""
    for section in devices.sections():
        for connection in driver_of(section).connections(section):
            yield os.path.realpath(connection.name) if connection.server is None else connection.reserved
