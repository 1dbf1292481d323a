"""The wheels of a rig on CiA 402 drives, by index: their scales, process data, and the time of a round and a cut."""

from __future__ import annotations

import math
from typing import NamedTuple

from drivers.can import slcan
from drivers.cia402 import protocol
from drivers.cia402.protocol import CURRENT, Pdo
from drivers.cia402.section import Cia402DrivesSection
from drivers.driver_type import RigSetup
from drivers.host import line_time_s

# How long a round may take without line time [s]: then it is repeated once, and after that its drives are lost. An
# answer that is 25 ms late must not be a failure, and a loss must be found within 50 ms.
ROUND_S = 15e-3
# From the last byte of a request to the first of its answer, the adapter's delay included [s].
TURNAROUND_S = 500e-6
# Data of the frames of a round to all drives together: heartbeat, synchronisation.
_SHARED_DATA = (1, 0)
_MINUTE_S = 60.0


class DrivePlace(NamedTuple):
    """A drive on the bus.

    Attributes:
        node: its number.
        wheel: index of its wheel.
        identity: vendor, product code, revision and serial number; "": any.
        setpoint, feedback, stop: its process data.
    """

    node: int
    wheel: int
    identity: str
    setpoint: Pdo
    feedback: Pdo
    stop: Pdo


class Cia402Wheels:
    """The wheels of a rig on one bus, in profile velocity mode.

    Args:
        section: of the config.
        rig: with the wheels.

    Attributes:
        section: see above.
        names: of the wheels, in the order of every vector.
        device: name for people.
        sign: of each wheel, 1 or -1: -1 where the motor is mounted the other way round.
        units_per_radps: value of a drive at 1 rad/s of its axle.
        drives: in the order of the config.
    """

    device = "CiA 402 drives"

    def __init__(self, section: Cia402DrivesSection, rig: RigSetup) -> None:
        self.section, self.names, self.on_cut = section, rig.wheels, rig.on_cut
        self.sign = tuple(-1 if wheel in section.reversed else 1 for wheel in rig.wheels)
        per_turn = _MINUTE_S if section.velocity_unit == "rpm" else section.counts_per_turn or 1.0
        self.units_per_radps = per_turn * section.gear_ratio / math.tau
        measured = (protocol.STATUSWORD, protocol.VELOCITY, *((CURRENT,) if section.measures_power else ()))
        self.drives = tuple(
            DrivePlace(
                one.node,
                rig.wheels.index(one.wheel),
                one.identity,
                Pdo(0x1400, protocol.RPDO1 + one.node, protocol.EVENT_DRIVEN,
                    (protocol.CONTROLWORD, protocol.TARGET_VELOCITY)),
                Pdo(0x1800, protocol.TPDO1 + one.node, protocol.EACH_SYNC, measured),
                Pdo(0x1403, protocol.STOP_ALL, protocol.EVENT_DRIVEN, (protocol.CONTROLWORD,)),
            )
            for one in section.controllers
            if one.wheel in rig.wheels
        )  # fmt: skip

    def value(self, wheel: int, speed_radps: float) -> int:
        """Target velocity for an axle speed, in the drive's units."""
        return round(self.sign[wheel] * speed_radps * self.units_per_radps)

    def speed_radps(self, wheel: int, value: int) -> float:
        """The axle speed of a velocity in the drive's units."""
        return self.sign[wheel] * value / self.units_per_radps

    @property
    def acceleration(self) -> int | None:
        """Ramp in the drive's units for each second; None: as set in the drive."""
        ramp = self.section.acceleration_radps2
        return None if ramp is None else max(round(ramp * self.units_per_radps), 1)

    @property
    def sent(self) -> list[int]:
        """Data bytes of the frames that are sent in a round."""
        return [*(drive.setpoint.size for drive in self.drives), *_SHARED_DATA, *self._asked]

    @property
    def answered(self) -> list[int]:
        """Those of the frames that come back."""
        return [*(drive.feedback.size for drive in self.drives), *self._asked]

    @property
    def _asked(self) -> list[int]:
        """Those of the SDOs of a round: each second drive is asked."""
        return [protocol.SDO_BYTES] * ((len(self.drives) + 1) // 2)

    @property
    def line_bytes(self) -> tuple[int, int]:
        """Bytes of a round on the serial line, out and in; the adapter says of each frame that it is sent."""
        status = len(slcan.STATUS)
        confirmed = len(self.sent) * len(slcan.SENT) + status + 2
        return sum(map(slcan.line_bytes, self.sent)) + status, sum(map(slcan.line_bytes, self.answered)) + confirmed

    @property
    def bus_load(self) -> float:
        """Share of its time that the bus carries frames."""
        bits = sum(map(slcan.bus_bits, (*self.sent, *self.answered)))
        return bits * self.section.rate_hz / self.section.bit_rate

    @property
    def line_load(self) -> float:
        """Share of its time that the busier direction of the serial line carries bytes."""
        return line_time_s(max(self.line_bytes) * self.section.rate_hz, self.section.baud)

    @property
    def answers_s(self) -> float:
        """From the last byte of a round's requests to the last one of its answers [s]."""
        _, come = self.line_bytes
        return TURNAROUND_S + line_time_s(come, self.section.baud)

    @property
    def budget(self) -> float:
        """Share of each second that the rounds need. Above 1 the rate cannot be held."""
        sent, _ = self.line_bytes
        return self.section.rate_hz * (line_time_s(sent, self.section.baud) + self.answers_s)

    @property
    def in_flight_s(self) -> float:
        """How long a cut may have to wait for its line [s]: for the requests of a round that are being sent."""
        return line_time_s(self.line_bytes[0], self.section.baud)

    @property
    def cut_s(self) -> float:
        """From the first byte of a cut to its last bit on the bus [s]: all drives obey the same frame.

        It may wait for the frame that is on the bus, and for the answers of all drives, which go before it.
        """
        stop = slcan.line_bytes(protocol.CONTROLWORD.size)
        before = [protocol.SDO_BYTES, *(drive.feedback.size for drive in self.drives)]
        bits = sum(map(slcan.bus_bits, (*before, protocol.CONTROLWORD.size)))
        return line_time_s(stop, self.section.baud) + bits / self.section.bit_rate
