r"""GeoCOM, the ASCII calls of Leica total stations, for the driver and for the simulated instrument.

A request is `%R1Q,<procedure>,<transaction>:<parameters>` and a reply `%R1P,<communication>,<transaction>:<code>` and,
where the code allows it, values; both end with CR and LF. The communication's code is whether the request arrived, the
other one what the procedure found. Lengths are in m, angles in rad, times in ms of the instrument's own clock.

Source: Leica, GeoCOM Reference Manual TPS1200, TS30, TM30 (version 1.50), sections 2.2 (syntax), 3.7 (errors of
communication), 17 (TMC), and its appendix of return codes; the same of TPS1100 (version 1.05). Procedures, order of
values and codes were compared with two independent clients, dm_geocom of DMPACK and GeoComPy.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple

from drivers.interfaces import BadFrameError
from drivers.reported import Reaction, StatusRow, StatusTable

MARK, IGNORED = Reaction.MARK, Reaction.IGNORED
_FAILED = "the reading has no number; what that means for the run is judged by row 33 of the fault table"
_REFUSED = "it refuses to be set up, which is an error of the driver where it is opened"
_DOUBT = "its compensator is off or out of range"
_MOVING = "usual while the prism moves; the innovation judges motion.noise_m"
_SUPPLY, _FAILING = "it may fail at any time", "its maker calls it fatal; what it still measures is not to be trusted"

CODES = StatusTable(
    "Leica",
    "code",
    (
        StatusRow(1, "unknown error", IGNORED, _FAILED),
        StatusRow(2, "invalid parameter", IGNORED, _REFUSED),
        StatusRow(3, "invalid result", IGNORED, _FAILED),
        StatusRow(4, "fatal error", MARK, _FAILING),
        StatusRow(5, "not implemented: no motors", IGNORED, _REFUSED),
        StatusRow(6, "timed out", IGNORED, _FAILED),
        StatusRow(8, "aborted", IGNORED, _FAILED),
        StatusRow(12, "it is being shut down", IGNORED, _FAILED),
        StatusRow(13, "busy with another task", IGNORED, _FAILED),
        StatusRow(14, "hardware failure", MARK, _FAILING),
        StatusRow(16, "supply voltage too low", MARK, _SUPPLY),
        StatusRow(18, "battery empty", MARK, _SUPPLY),
        StatusRow(21, "its temperature is out of range", MARK, "it is used outside of what it is made for"),
        StatusRow(22, "it is tilted out of range", MARK, "its axes are no longer level: every place is turned"),
        StatusRow(25, "it has fallen asleep", IGNORED, _FAILED),
        StatusRow(27, "no licence for GeoCOM on it", IGNORED, _REFUSED),
        StatusRow(257, "angles and inclinations not valid", IGNORED, _FAILED),
        StatusRow(258, "inclinations not valid", IGNORED, _FAILED),
        StatusRow(769, "fatal error of its distance meter", MARK, _FAILING),
        StatusRow(772, "signal too low", IGNORED, _FAILED),
        StatusRow(774, "signal too high", IGNORED, _FAILED),
        StatusRow(775, "no distance in time", IGNORED, _FAILED),
        StatusRow(776, "too much turbulence", IGNORED, _FAILED),
        StatusRow(1283, "measured without full correction", MARK, _DOUBT),
        StatusRow(1284, "accuracy cannot be guaranteed", IGNORED, _MOVING),
        StatusRow(1285, "only the angles are valid", IGNORED, _FAILED),
        StatusRow(1288, "only the angles are valid, not fully corrected", IGNORED, _FAILED),
        StatusRow(1289, "only the angles are valid, not accurate", IGNORED, _FAILED),
        StatusRow(1290, "no angles", IGNORED, _FAILED),
        StatusRow(1291, "wrong ppm or mm set", IGNORED, _FAILED),
        StatusRow(1292, "no distance: no aim", IGNORED, _FAILED),
        StatusRow(1293, "busy: nothing was measured", IGNORED, _FAILED),
        StatusRow(1294, "no signal at its distance meter", IGNORED, _FAILED),
        StatusRow(1792, "motors not ready", IGNORED, _FAILED),
        StatusRow(1793, "motors busy with another task", IGNORED, _FAILED),
        StatusRow(1799, "motors do not follow a prism", IGNORED, _FAILED),
        StatusRow(8704, "position not reached", IGNORED, _REFUSED),
        StatusRow(8707, "error of its motors", IGNORED, _REFUSED),
        StatusRow(8709, "deviation not measured", IGNORED, _REFUSED),
        StatusRow(8710, "no prism found", IGNORED, _REFUSED),
        StatusRow(8711, "several prisms found", IGNORED, _REFUSED),
        StatusRow(8712, "bad light or air", IGNORED, _REFUSED),
        StatusRow(8713, "error in seeking the prism", IGNORED, _REFUSED),
        StatusRow(8714, "seeking prisms is not enabled", IGNORED, _REFUSED),
    ),
    codes=True,
    simulated=False,
)
STATUSES = (CODES,)
# Codes with which coordinates are valid.
VALID = (0, 1283, 1284)
NO_DISTANCE = 1285


class Procedure(IntEnum):
    """Those that the driver calls or the simulated instrument knows."""

    NULL = 0
    SET_DIGITS = 107
    GET_DIGITS = 108
    DO_MEASURE = 2008
    GET_STATION = 2009
    SET_EDM_MODE = 2020
    GET_COORDINATE = 2082
    NUMBER = 5003
    NAME = 5004
    SOFTWARE = 5034
    LOCK_STATUS = 6021
    LOCK_IN = 9013
    FINE_ADJUST = 9037
    SET_ATR = 18005
    SET_LOCK = 18007


class Lock(IntEnum):
    """Whether the telescope follows the prism."""

    OUT = 0
    IN = 1
    PREDICTS = 2


# Codes of the communication: the first kind means that the line has damaged the request, which is made again.
DAMAGED = (3078, 3080, 3093, 3100, 3101)
UNDECODED, UNKNOWN_PROCEDURE = 3080, 3081
EDM_MODES = {"standard": 6, "dynamic": 7, "fast": 9}  # of continuous measurements
STOP, MEASURE, CLEAR = 0, 1, 3  # of DO_MEASURE
INCLINE = 1  # inclinations are used by themselves, or of the plane found before
DIGITS = 5  # of a number, after the point: hundredths of a millimetre
MOST_TRANSACTIONS = 8
MOST_HZ = 10.0
# Bytes of a request and its answer, of coordinates and of the lock; and of the shortest answer.
COORDINATE_BYTES, LOCK_BYTES, SHORTEST = 120, 32, 14
_REPLY = re.compile(r"%R1P,([0-9]{1,5}),([0-9]{1,5}):([0-9]{1,5})(?:,([ -~]*))?\r\n")


class GeocomReply(NamedTuple):
    """A reply.

    Attributes:
        communication: code of the communication; 0: the request arrived.
        transaction: number of the request.
        code: what the procedure found; 0: all is well.
        values: as they came, without quotation marks.
    """

    communication: int
    transaction: int
    code: int
    values: tuple[str, ...]


class Coordinates(NamedTuple):
    """What GET_COORDINATE gives.

    Attributes:
        place_m: (3,) easting, northing, height of the newest distance [m].
        measured_ms: when that was, by the instrument's clock [ms].
        asked_ms: when its angles were read for this answer, by the same clock [ms].
    """

    place_m: tuple[float, float, float]
    measured_ms: int
    asked_ms: int


def request(procedure: Procedure, transaction: int, *parameters: float) -> bytes:
    r"""A request.

    Example:
        >>> request(Procedure.GET_COORDINATE, 3, 0, INCLINE)
        b'%R1Q,2082,3:0,1\r\n'
    """
    return f"%R1Q,{procedure:d},{transaction}:{','.join(f'{one:g}' for one in parameters)}\r\n".encode()


def missing(answer: bytes, transaction: int) -> int:
    """Returns how many bytes are missing at least of the answer to a request; late ones to others may precede it."""
    last = answer[answer.rfind(b"\n", 0, -1) + 1 :]
    if not last.endswith(b"\n"):
        return max(SHORTEST - len(last), 1)
    with suppress(BadFrameError):
        return SHORTEST if decode(last).transaction not in (0, transaction) else 0
    return 0


def decode(message: bytes) -> GeocomReply:
    r"""Returns the parts of a reply, the last one of what has come.

    Raises:
        BadFrameError: it is damaged.

    Example:
        >>> decode(b'%R1P,0,5:0,"TCRP1201"\r\n')
        GeocomReply(communication=0, transaction=5, code=0, values=('TCRP1201',))
    """
    found = _REPLY.fullmatch(message[message.rfind(b"\n", 0, -1) + 1 :].decode("latin-1"))
    if found is None:
        raise BadFrameError(f"{message!r} is no reply by GeoCOM")
    communication, transaction, code, values = found.groups(default="")
    return GeocomReply(int(communication), int(transaction), int(code), tuple(values.replace('"', "").split(",")))


def coordinates(values: tuple[str, ...]) -> Coordinates:
    """Returns the coordinates of a reply. Raises BadFrameError: they are damaged."""
    try:
        east, north, height, measured, _, _, _, asked = values
        found = Coordinates((float(east), float(north), float(height)), int(measured), int(asked))
    except ValueError as error:
        raise BadFrameError(f"{','.join(values)} are no coordinates") from error
    if not all(map(math.isfinite, found.place_m)) or found.measured_ms > found.asked_ms:
        raise BadFrameError(f"{found} cannot be")
    return found


def code_words(code: int) -> str:
    """Returns what a code means.

    Example:
        >>> code_words(8710)
        'code 8710: no prism found'
    """
    words = {row.value: row.words for row in CODES.rows}
    return f"code {code}: {words.get(code, 'see its manual')}"
