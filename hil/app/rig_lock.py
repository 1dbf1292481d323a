"""One run at a time on a rig: a second run is refused before it uses any device, with the process id of the first."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from collections.abc import Iterator
from typing import Self

from drivers.interfaces import DeviceError
from drivers.registry import driver_of
from drivers.serial.ports import holders
from hil.config.schema.devices import DevicesConfig
from hil.ipc.operator import peer_pid

# Largest number of refused runs that can read the owner's process id.
_ASKING = 128


class RigLock:
    """Locks every port and NI device of a real rig, until this process ends or the lock is closed.

    Each lock is a socket in the abstract namespace: the kernel removes it with the process, however that ends, and
    reports the owner to other processes. It works on this computer only; NI's driver refuses a chassis that another
    computer has reserved.

    Other programs do not ask for these locks: a serial port that one of them has open is refused, with its name.

    Args:
        rig: of the config, whether it is real; simulated devices need no lock, or have another one (`ControlServer`).

    Raises:
        DeviceError: another process has locked one of them, or another program has a port open.
    """

    def __init__(self, rig: str, devices: DevicesConfig | None) -> None:
        self._sockets: list[socket.socket] = []
        if rig != "real" or devices is None:
            return
        try:
            for place in dict.fromkeys(_places(devices)):
                self._take(place)
                if place.startswith("/"):
                    _refuse_foreign(place)
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
                f"{place}: process {_owner(place)} is running on this rig: wait until it ends or stop it (Ctrl-C there)"
            ) from None
        held.listen(_ASKING)

    def close(self) -> None:
        """Release all locks; may be called twice."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _refuse_foreign(port: str) -> None:
    """Raises DeviceError: what another program sends on this port could move the rig."""
    if found := holders(port):
        raise DeviceError(
            f"{port}: {' and '.join(found)} has this port open, and could drive its devices: close that program first "
            "(a terminal, the maker's program, ModemManager), and start again"
        )


def _owner(place: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(place))
        except OSError:  # the owner has just ended, or too many processes have asked
            return "(not known)"
        return str(peer_pid(asking))


def _address(place: str) -> bytes:
    return b"\0rover-hil/" + hashlib.sha256(place.encode()).hexdigest().encode()


def _places(devices: DevicesConfig) -> Iterator[str]:
    """The devices of a rig, each by one unique name, independent of symbolic links and letter case."""
    for section in devices.sections():
        for connection in driver_of(section).connections(section):
            if connection.network:
                yield f"UDP {connection.name.lower()}"
            else:
                yield os.path.realpath(connection.name) if connection.server is None else connection.reserved
