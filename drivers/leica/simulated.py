"""A Leica total station, simulated at the protocol level."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any

from drivers.leica import protocol
from drivers.leica.protocol import Lock, Procedure
from drivers.sim.protocol.plant_ports import NEVER_NS, Instrument

SERIAL_NUMBER = "214587"
_REQUEST = re.compile(r"%R1Q,([0-9]{1,5})(?:,([0-9]{1,5}))?:([-+.,0-9a-zA-Z]*)\r")
# From the end of a request to its answer, least and most [ns]; the angles are read in the first third of it.
LEAST_NS, MOST_NS = 25_000_000, 45_000_000
# Of a search, and of locking in [ns].
_LONG_NS: dict[int, int] = {Procedure.FINE_ADJUST: 1_500_000_000, Procedure.LOCK_IN: 600_000_000}
# Its clock began so long before ours [ms], and is so much too fast.
_BEGAN_MS, CLOCK_PPM = 734_512, 30.0
# A distance is given as the newest for so many periods.
_KEPT_PERIODS = 1.7
_NAME = '"TCRP1201"'


class TotalStation:
    """A `SimulatedSerialDevice` that obeys one request after the other, each in its time.

    It knows the procedures that the driver calls, and GET_DIGITS, which other clients call. A reading that the
    instrument lost, or that is no number, is a distance that it could not measure: only the angles are valid then.
    Coordinates of the angles' time are those of the newest distance; the driver does not use them.

    Args:
        instrument: of the plant; its channels are the coordinates.
        delay_ns: from the middle of a measurement until an answer can have it [ns].
        identity: its serial number.

    Attributes:
        kinds: of faults. lock: the telescope has the state `value` (0 lost, 1 follows, 2 predicts); status: coordinates
            are answered with the code `value`, 0 ends that; restart: its clock begins anew, and it measures no more.
    """

    kinds = ("lock", "status", "restart")

    def __init__(self, instrument: Instrument, delay_ns: int, identity: str = SERIAL_NUMBER) -> None:
        self._instrument, self._identity = instrument, identity
        self._lag_ns = max(delay_ns - LEAST_NS, 0)
        self._random = Random(identity)
        self._buffer = b""
        self._asked: deque[tuple[int, int, str]] = deque()  # its angles are read, its answer begins [ns]; the request
        self._outbox: list[tuple[int, bytes]] = []
        self._free_ns = self._code = 0
        self._began_ms, self._measures, self._digits = _BEGAN_MS, False, 15
        self._lock, self._locked_by = Lock.OUT, True  # whether a search finds the prism

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:  # noqa: ARG002
        """Receive bytes of a host; what they ask for is answered later, by itself."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if not line.strip():
                continue  # it clears what has come before
            text = line.decode("latin-1")
            found = _REQUEST.fullmatch(text)
            begin_ns = max(ended_ns, self._free_ns)
            number = int(found[1]) if found else -1
            takes_ns = _LONG_NS.get(number, self._random.randrange(LEAST_NS, MOST_NS))
            self._free_ns = begin_ns + takes_ns
            self._asked.append((begin_ns + self._random.randrange(LEAST_NS // 3), self._free_ns, text))
        return b""

    def wake(self, now_ns: int) -> int:
        """Measure what is due; when it has to measure next [ns]."""
        while self._asked and self._asked[0][0] <= now_ns:
            at_ns, answer_ns, text = self._asked.popleft()
            self._outbox.append((answer_ns, f"{self._answer(text, at_ns)}\r\n".encode()))
        return self._asked[0][0] if self._asked else NEVER_NS

    def unasked(self, now_ns: int) -> list[tuple[int, bytes]]:  # noqa: ARG002
        """Returns its answers since the last call, with the time when each begins."""
        outbox, self._outbox = self._outbox, []
        return outbox

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: it reads no emergency stop."""
        raise ValueError("this device has no emergency stop")

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        """Start a fault of `kinds`. Raises ValueError: there is no such state or code."""
        if kind == "lock":
            self._lock = Lock(int(how["value"]))
            self._locked_by = self._lock is Lock.IN
        elif kind == "restart":
            self._began_ms, self._measures, self._lock = 0, False, Lock.OUT
        else:
            self._code = int(how["value"])

    def _answer(self, text: str, at_ns: int) -> str:
        found = _REQUEST.fullmatch(text)
        if found is None:
            return f"%R1P,{protocol.UNDECODED},0:0"
        number, transaction, parameters = found.groups(default="0")
        head = f"%R1P,0,{int(transaction)}:"
        values = [float(one) for one in parameters.split(",") if one] if found[3] else []
        try:
            return head + self._obey(Procedure(int(number)), values, at_ns)
        except ValueError:
            return f"%R1P,{protocol.UNKNOWN_PROCEDURE},{int(transaction)}:0"
        except IndexError:
            return f"{head}2"

    def _obey(self, procedure: Procedure, values: list[float], at_ns: int) -> str:
        """Returns the code, and what follows it. Raises IndexError: a parameter is missing."""
        if procedure is Procedure.GET_COORDINATE:
            return self._coordinates(at_ns)
        if procedure is Procedure.DO_MEASURE:
            self._measures = values[0] == protocol.MEASURE
        elif procedure is Procedure.SET_DIGITS:
            self._digits = int(values[0])
        elif procedure is Procedure.SET_EDM_MODE:
            return "0" if int(values[0]) in protocol.EDM_MODES.values() else "2"
        elif procedure in _LONG_NS:
            if not self._locked_by:
                return "8710"
            self._lock = Lock.IN if procedure is Procedure.LOCK_IN else self._lock
        answers = {
            Procedure.GET_DIGITS: f"{self._digits}",
            Procedure.NUMBER: self._identity,
            Procedure.NAME: _NAME,
            Procedure.SOFTWARE: "5,62,0",
            Procedure.LOCK_STATUS: f"{self._lock:d}",
            Procedure.GET_STATION: ",".join(self._number(0.0) for _ in range(4)),
        }
        return f"0,{answers[procedure]}" if procedure in answers else "0"

    def _coordinates(self, at_ns: int) -> str:
        if self._code and self._code not in protocol.VALID:
            return f"{self._code}"
        period_ns = 1e9 / self._instrument.rate_hz
        known = [one for one in self._instrument.since(0) if one[1] + self._lag_ns <= at_ns]
        if not self._measures or not known or at_ns - known[-1][1] > self._lag_ns + _KEPT_PERIODS * period_ns:
            return f"{protocol.NO_DISTANCE}"
        _, t_ns, place_m = known[-1]
        if not all(map(math.isfinite, place_m)) or self._lock is Lock.OUT:
            return f"{protocol.NO_DISTANCE}"
        place = ",".join(map(self._number, place_m))
        return f"{self._code},{place},{self._ms(t_ns)},{place},{self._ms(at_ns)}"

    def _number(self, value: float) -> str:
        return f"{value:.{self._digits}f}"

    def _ms(self, t_ns: int) -> int:
        """Returns the time of its clock [ms]."""
        return self._began_ms + int(t_ns * (1.0 + CLOCK_PPM * 1e-6) * 1e-6)
