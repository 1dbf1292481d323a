"""List of serial ports, without opening any."""

from __future__ import annotations

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
            one.device,
            links.get(str(Path(one.device).resolve()), ""),
            f"{one.vid:04x}:{one.pid:04x}" if one.vid is not None and one.pid is not None else "",
            one.manufacturer or "",
            one.product or "",
            one.serial_number or "",
        )
        for one in sorted(list_ports.comports(), key=lambda one: one.device)
    )
