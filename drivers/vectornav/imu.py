"""Inertial measurement unit VectorNav VN-100: set up when it is opened, then it sends by itself.

Nothing is stored in the device: its set-up is written at each opening, and is gone with its power.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import BadFrameError, DeviceError, DeviceIdentity, Health, LinkLostError
from drivers.messages import Reading
from drivers.serial.listening import ListeningLink, Message, StreamedInstrument, lines
from drivers.vectornav import protocol
from drivers.vectornav.protocol import ERRORS
from drivers.vectornav.section import VectorNavSection

NAME = "VectorNav IMU"
# An answer takes so long at most, line time included [s].
ANSWER_TIMEOUT_S = 0.3
# Models that send `$VNIMU`.
MODELS = re.compile(r"VN-[123][0-9]0(?![0-9]).*")


class _UnknownRegisterError(DeviceError):
    """It has no such register."""


class VectorNavImu(StreamedInstrument):
    """An `InstrumentDevice`: accelerations, then rates of turn, in the axes on the device's case.

    Args:
        section: of the config.
        setup: of the rig.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: VectorNavSection, setup: InstrumentSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._section, self._setup = section, setup
        link = ListeningLink(
            NAME,
            section.port,
            section.baud,
            lines(protocol.START),
            self._take,
            period_ns=round(1e9 / setup.rate_hz),
            longest=protocol.LONGEST,
            timeout_s=ANSWER_TIMEOUT_S,
            host=host,
            alive=alive,
        )
        super().__init__(link)
        self._model, self._firmware = "", ""
        self._which: tuple[DeviceIdentity, ...] = ()
        self._long_sums = self._refused = False
        self._errors = set[int]()  # that it has sent by itself since it was opened

    def open(self) -> None:
        """Open the port, check which device it is, and let it send. Raises DeviceError."""
        self._link.open()
        self._long_sums = self._refused = False
        try:
            self._model = self._read_model()
            if not MODELS.fullmatch(self._model):
                raise DeviceError(
                    f"{NAME} on {self._section.port}: its model is {self._model!r}; needed: VN-100, VN-200 or VN-300; "
                    "check devices.imu.port and devices.imu.driver"
                )
            serial = self._read(protocol.SERIAL_NUMBER).lstrip("0")
            self._which = (DeviceIdentity(f"{NAME} on {self._section.port}", serial, self._section.identity),)
            self._which[0].check()
            self._firmware = self._read(protocol.FIRMWARE)
            self._write(protocol.OUTPUT, protocol.OUTPUT_OFF)  # so that no rate in between is too much for the line
            self._stop_binary_outputs()
            self._write(protocol.PROTOCOL, *protocol.PLAIN)
            self._long_sums = False
            self._check_rotation()
            self._write(protocol.RATE, round(self._setup.rate_hz))
            self._write(protocol.OUTPUT, protocol.OUTPUT_IMU)
        except DeviceError:
            self._link.close()
            raise
        self._reading, self._errors = None, set()
        self._link.begin()

    def close(self) -> None:
        """Close the port; the device goes on sending."""
        self._link.close()

    def health(self) -> Health:
        """Returns the state of the link; the rate is that of good messages."""
        health = self._link.health(f"{self._model}, firmware {self._firmware}" if self._model else "not opened yet")
        reports = tuple(one for error in sorted(self._errors) for one in ERRORS.reports(error, self._section.port))
        return msgspec.structs.replace(health, reports=reports, identities=self._which)

    def _take(self, message: Message) -> bool:
        """Raises BadFrameError."""
        fields = protocol.unframe(message.data)
        if fields[0] == protocol.ERROR:
            self._errors.add(max(protocol.error_number(fields[1]), 0) if len(fields) > 1 else 0)
        if fields[0] != protocol.IMU:
            return False  # what it is set to when it starts, or a late answer
        measured = protocol.inertia(fields)
        self._reading = Reading(
            message.number,
            message.began_ns - self._setup.delay_ns,
            (*measured.acceleration_mps2, *measured.rate_radps),
            message.arrived_ns,
        )
        return True

    def _read(self, register: int) -> str:
        """Returns the value of a register. Raises DeviceError."""
        return ",".join(self._ask(protocol.READ, register))

    def _write(self, register: int, *values: int) -> None:
        """Raises DeviceError."""
        kept = self._ask(protocol.WRITE, register, *values)
        if [int(value) if value.isdecimal() else value for value in kept] != list(values):
            raise DeviceError(
                f"{NAME} on {self._section.port}: register {register} is {','.join(kept)} after "
                f"{','.join(map(str, values))} was written; check its model and firmware ({self._firmware})"
            )

    def _read_model(self) -> str:
        """Also where somebody has left it with the other check sum. Raises DeviceError."""
        try:
            return self._read(protocol.MODEL)
        except LinkLostError:
            if not self._refused:
                raise
        self._long_sums = True
        return self._read(protocol.MODEL)

    def _stop_binary_outputs(self) -> None:
        """Stop what somebody else has let it send between the messages. Raises DeviceError."""
        for register in protocol.BINARY_OUTPUTS:
            try:
                mode, *_ = self._ask(protocol.WRITE, register, *protocol.BINARY_OFF)
            except _UnknownRegisterError:
                continue
            if mode.strip("0"):
                found = f"binary output (register {register}) stays on: mode {mode}"
                raise DeviceError(f"{NAME} on {self._section.port}: {found}, written: 0")

    def _check_rotation(self) -> None:
        """Raises DeviceError: what it sends is not in the axes on its case."""
        values = self._ask(protocol.READ, protocol.ROTATION)
        if not all(map(protocol.NUMBER.fullmatch, values)) or tuple(map(float, values)) != protocol.IDENTITY:
            needed = ",".join(f"{value:g}" for value in protocol.IDENTITY)
            raise DeviceError(
                f"{NAME} on {self._section.port}: its reference frame rotation (register {protocol.ROTATION}) is "
                f"{','.join(values)}, needed: {needed}, the axes on its case, which imu.turn_deg turns; write "
                "that with the maker's program, store it (VNWNV) and reset the device (VNRST): it takes effect then"
            )

    def _ask(self, command: str, register: int, *values: int) -> list[str]:
        request = protocol.frame(command, f"{register:02d}", *values, long_sum=self._long_sums)
        return self._link.ask(request, self._answer_to(command, register))

    def _answer_to(self, command: str, register: int) -> Callable[[bytes], list[str] | None]:
        def decode(message: bytes) -> list[str] | None:
            name, *fields = protocol.unframe(message)
            if name == protocol.ERROR and fields:
                if fields[0] == protocol.DAMAGED:
                    self._refused = True
                    raise BadFrameError("it received a damaged request")
                unknown = protocol.error_number(fields[0]) == protocol.UNKNOWN_REGISTER
                raise (_UnknownRegisterError if unknown else DeviceError)(
                    f"{NAME} on {self._section.port}: it answers to {command} of register {register} with "
                    f"{protocol.error_words(fields[0])}; check imu.rate_hz and devices.imu.baud against its manual"
                )
            if name != command or not fields or not fields[0].isdecimal() or int(fields[0]) != register:
                return None
            if len(fields) < 2:
                raise BadFrameError(f"{message!r} has no value")
            return fields[1:]

        return decode
