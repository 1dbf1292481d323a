"""Messages of the step service: a header of 16 bytes, then numbers at fixed places, little-endian and without gaps.

A request is one or more messages, each a frame of one ZeroMQ message; the reply has a frame for each. Numbers have the
places that `docs/reference/step-service.md` lists, so that a C client copies them and needs no library for that.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = 1
MAGIC = b"HILS"
# Magic, version, kind, bytes after the header, and number of the rig: CRC-32 of the description's text, 0 before it is
# known. A client that was made for another rig is refused, also where the sizes are the same.
HEADER = struct.Struct("<4sHHII")
REFUSED, DESCRIBE, RESET, CONTACTS, COMMAND, STEP, STATE, ENERGY = range(8)
KINDS = ("refused", "describe", "reset", "contacts", "command", "step", "state", "energy")
WITHOUT_BODY = (DESCRIBE, RESET, STATE, ENERGY)
# In front of the description's text: its sizes, whether contacts come from outside, and bytes of the text.
SIZES = struct.Struct("<8I")
STEP_BODY = struct.Struct("<qq")  # time that the client believes it is, and by how much to step [ns]
COUNT = struct.Struct("<II")  # contacts that follow, and 0
MOST_FRAMES = 16
MOST_FRAME_BYTES = 65536

CONTACT = np.dtype(
    [
        ("wheel", "<u4"),
        ("zero", "<u4"),
        ("point", "<f8", 3),
        ("normal", "<f8", 3),
        ("penetration", "<f8"),
        ("friction", "<f8"),
        ("restitution", "<f8"),
    ]
)
# What each number of a message is, for the description and the reference.
UNITS: Mapping[str, str] = {
    "wheel": "number of the wheel, from 0",
    "zero": "0",
    "point": "m, world: the wheel's deepest point",
    "normal": "-, world: unit vector from the ground to the wheel",
    "penetration": "m: depth of that point under the surface, along the normal; below 0: not yet touched",
    "friction": "-: Coulomb coefficient; NaN: the config's ground",
    "restitution": "-, above 0 to 1; NaN: the config's contact law",
    "speed": "rad/s: of each wheel; NaN, and duty as well: its drive is cut",
    "duty": "-, -1 to 1: share of the supply voltage in place of the speed; NaN: the speed holds",
    "servo": "rad: of each driven joint; NaN: its servo is cut",
    "valve": "0 or 1: power of the valves of each cylinder, extend and retract",
    "regulator": "Pa, gauge: of each cylinder; NaN: as it is",
    "t_ns": "ns since the start",
    "outside_ns": "ns: when the rover left what its models hold for; -1: it has not",
    "q": "configuration: x y z [m], quaternion x y z w, joints [rad, m]",
    "v": "velocity: of the base in its own axes [m/s, rad/s], joints [rad/s, m/s]",
    "centre": "m, world: of each wheel",
    "axle": "-, world: unit vector of each wheel's axle, to port",
    "load": "N: force on each wheel along the normal",
    "sinkage": "m: of each wheel",
    "slip": "-: of each wheel",
    "torque": "N m: of each wheel's drive on its axle",
}


class Sizes(NamedTuple):
    """How many numbers the messages of a rig have."""

    nq: int  # of a configuration
    nv: int  # of a velocity
    wheels: int  # of the rover
    servos: int  # its driven joints
    cylinders: int  # with an air cylinder
    energies: int  # in the reply to `ENERGY`
    outside: int  # 1: contacts come from outside; 0: the ground is the config's

    def command(self) -> np.dtype[np.void]:
        """Body of `COMMAND`."""
        wheels, servos, cylinders = self.wheels, self.servos, self.cylinders
        return np.dtype(
            [
                ("speed", "<f8", (wheels,)),
                ("duty", "<f8", (wheels,)),
                ("servo", "<f8", (servos,)),
                ("valve", "<f8", (cylinders, 2)),
                ("regulator", "<f8", (cylinders,)),
            ]
        )

    def state(self) -> np.dtype[np.void]:
        """Body of the replies to `RESET`, `STEP` and `STATE`."""
        wheels = self.wheels
        return np.dtype(
            [
                ("t_ns", "<i8"),
                ("outside_ns", "<i8"),
                ("q", "<f8", (self.nq,)),
                ("v", "<f8", (self.nv,)),
                ("centre", "<f8", (wheels, 3)),
                ("axle", "<f8", (wheels, 3)),
                ("load", "<f8", (wheels,)),
                ("sinkage", "<f8", (wheels,)),
                ("slip", "<f8", (wheels,)),
                ("torque", "<f8", (wheels,)),
            ]
        )


def places(dtype: np.dtype[np.void]) -> list[dict[str, Any]]:
    """Name, offset [bytes], count and unit of each field of a body."""
    fields: Mapping[str, Any] = dtype.fields or {}
    return [
        {"name": name, "offset": fields[name][1], "count": int(np.prod(fields[name][0].shape)), "unit": UNITS[name]}
        for name in dtype.names or ()
    ]


class StepMessage(NamedTuple):
    """A frame, read."""

    kind: int  # one of `KINDS`, by number
    rig: int  # number of the rig that it was made for, or 0
    body: bytes  # what comes after the header


class BadMessage(ValueError):  # noqa: N818 - reads well: `except BadMessage`
    """A frame that is no message of this version, or has another size than its kind has here."""


def write(kind: int, body: bytes = b"", rig: int = 0) -> bytes:
    """A frame."""
    return HEADER.pack(MAGIC, VERSION, kind, len(body), rig) + body


def read(frame: bytes) -> StepMessage:
    """The message of a frame. Raises BadMessage."""
    if len(frame) < HEADER.size:
        raise BadMessage(f"a frame has {len(frame)} bytes, allowed: {HEADER.size} and more")
    magic, version, kind, size, rig = HEADER.unpack_from(frame)
    if magic != MAGIC:
        raise BadMessage(f"a frame begins with {magic!r}, allowed: {MAGIC!r}")
    if version != VERSION:
        raise BadMessage(f"a message has version {version}, allowed: {VERSION}")
    if size != len(frame) - HEADER.size:
        raise BadMessage(f"a message says that {size} bytes follow its header, found {len(frame) - HEADER.size}")
    if kind >= len(KINDS):
        raise BadMessage(f"a message has kind {kind}, allowed: {DESCRIBE} to {ENERGY}")
    return StepMessage(kind, rig, frame[HEADER.size :])


def body_of(message: StepMessage, dtype: np.dtype[np.void]) -> NDArray[np.void]:
    """The one record of a body, (1,). Raises BadMessage: another size."""
    _of_size(message, dtype.itemsize)
    return np.frombuffer(message.body, dtype)


def _of_size(message: StepMessage, size: int) -> None:
    if len(message.body) != size:
        raise BadMessage(f"{KINDS[message.kind]} has {len(message.body)} bytes after its header, allowed here: {size}")


def empty(message: StepMessage) -> None:
    """Raises BadMessage: it has a body."""
    _of_size(message, 0)


def step_of(message: StepMessage) -> tuple[int, int]:
    """Time and step [ns]. Raises BadMessage."""
    _of_size(message, STEP_BODY.size)
    at_ns, dt_ns = STEP_BODY.unpack(message.body)
    return at_ns, dt_ns


def contacts_of(message: StepMessage) -> NDArray[np.void]:
    """The contacts (n,). Raises BadMessage."""
    if len(message.body) < COUNT.size:
        raise BadMessage(f"contacts has {len(message.body)} bytes after its header, allowed: {COUNT.size} and more")
    count, _ = COUNT.unpack_from(message.body)
    _of_size(message, COUNT.size + count * CONTACT.itemsize)
    return np.frombuffer(message.body, CONTACT, offset=COUNT.size)


def write_contacts(contacts: NDArray[np.void], rig: int) -> bytes:
    """The frame of contacts (n,)."""
    return write(CONTACTS, COUNT.pack(len(contacts), 0) + contacts.tobytes(), rig)
