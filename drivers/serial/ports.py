"""List of serial ports, without opening any."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from serial.tools import list_ports

BY_ID = Path("/dev/serial/by-id")


class SerialPortInfo(msgspec.Struct, frozen=True):
    """A serial port as listed by the kernel.

    Attributes:
        port: path.
        by_id: a path that stays the same when other ports appear or disappear; "" where there is none.
        usb: vendor and product, like 0403:6001; "" of a port that is not on USB.
        maker: of the adapter, as it reports.
        product: name of the adapter, as it reports.
        serial: number of the adapter.
    """

    port: str
    by_id: str
    usb: str
    maker: str
    product: str
    serial: str


def serial_ports(by_id: Path = BY_ID) -> tuple[SerialPortInfo, ...]:
    """All ports, by path.

    Args:
        by_id: folder of links that are named by adapter.
    """
    links = {str(link.resolve()): str(link) for link in sorted(by_id.iterdir())} if by_id.is_dir() else {}
    return tuple(
        SerialPortInfo(
            port.device,
            links.get(str(Path(port.device).resolve()), ""),
            f"{port.vid:04x}:{port.pid:04x}" if port.vid is not None and port.pid is not None else "",
            port.manufacturer or "",
            port.product or "",
            port.serial_number or "",
        )
        for port in sorted(list_ports.comports(), key=lambda port: port.device)
    )


def holders(port: str, processes: Path = Path("/proc")) -> tuple[str, ...]:
    """Other processes that have a port open, as far as the system tells: `process 4711 (minicom)`.

    Of processes of other users only root learns which files they have open.

    Args:
        port: path, or a link to it.
        processes: the kernel's folder of processes.
    """
    device = os.path.realpath(port)
    others = (one for one in processes.iterdir() if one.name.isdecimal() and int(one.name) != os.getpid())
    return tuple(_named(one) for one in sorted(others, key=lambda one: int(one.name)) if device in _open_files(one))


def _open_files(process: Path) -> set[str]:
    found: set[str] = set()
    with suppress(OSError):  # it has ended, or is that of another user
        for descriptor in os.listdir(process / "fd"):
            with suppress(OSError):
                found.add(os.readlink(process / "fd" / descriptor))
    return found


def _named(process: Path) -> str:
    with suppress(OSError):
        return f"process {process.name} ({(process / 'comm').read_text().strip()})"
    return f"process {process.name}"
