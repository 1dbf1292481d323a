"""The entry point `textangles`: encoders of the joints, asked by one line of text, `A`, for all angles [rad]."""

from typing import ClassVar, Literal

from pydantic import Field

from drivers.device_sections import Baud, JointsSection, Port, Role
from drivers.driver_type import Connection, InstrumentType, RigSetup
from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import Health
from drivers.messages import Reading
from drivers.serial.link import BadFrameError, SerialLink
from drivers.sim.protocol.plant_ports import NEVER_NS, Instrument

ASK = b"A\n"


class AnglesSection(JointsSection):
    """`devices.joints` with `driver: textangles`."""

    driver: Literal["textangles"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(115200, description="of the port")


class AnglesType(InstrumentType[AnglesSection]):
    """Encoders of the joints behind lines of text."""

    name = "textangles"
    role: ClassVar[Role] = "joints"
    settings = AnglesSection

    def make(self, section, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None):
        return TextAngles(section, rig.instruments["joints"], host, alive)

    def connections(self, section: AnglesSection):
        yield Connection("devices.joints.port", section.port)

    def at_endpoints(self, values, endpoints):
        values["port"] = endpoints["textangles"]

    def simulated_ports(self, section, rig: RigSetup, ports):
        if section is None or "joints" not in ports.instruments:
            return {}
        from drivers.sim.protocol.line import SimulatedPort

        return {"textangles": SimulatedPort(AnglesDevice(ports.instruments["joints"]), section.baud, 100_000)}


class TextAngles:
    """A `drivers.interfaces.InstrumentDevice`: `step` asks once a period, `read` returns the newest reading once."""

    def __init__(self, section: AnglesSection, setup, host: Host, alive) -> None:
        self._link = SerialLink("text angles", section.port, section.baud, timeout_s=0.05, host=host, alive=alive)
        self._setup, self._host = setup, host
        self._period_ns, self._due_ns = round(1e9 / setup.rate_hz), 0
        self._sequence, self._reading = 0, None

    def open(self) -> None:
        self._link.open()
        self._sequence, self._reading = 0, None

    def close(self) -> None:
        self._link.close()

    def health(self) -> Health:
        return self._link.health(f"{len(self._setup.channels)} joints")

    def read(self, t_ns: int) -> Reading | None:
        reading, self._reading = self._reading, None
        return reading

    def step(self) -> None:
        asked_ns = self._host.now_ns()
        if asked_ns < self._due_ns:
            self._host.rest(min((self._due_ns - asked_ns) * 1e-9, SLICE_S))  # so that its worker shows it is alive
            return
        self._due_ns = asked_ns + self._period_ns
        angles = self._link.ask(ASK, lambda answer: 0 if answer.endswith(b"\n") else 1, self._angles)
        self._sequence += 1
        now_ns = self._host.now_ns()
        self._reading = Reading(self._sequence, now_ns - self._setup.delay_ns, angles, now_ns)

    def _angles(self, answer: bytes) -> tuple[float, ...]:
        try:
            angles = tuple(map(float, answer.split()))
        except ValueError as error:
            raise BadFrameError(f"{answer!r} holds no angles") from error
        if len(angles) != len(self._setup.channels):
            raise BadFrameError(f"{len(angles)} angles, needed: {len(self._setup.channels)}")
        return angles


class AnglesDevice:
    """A `drivers.sim.protocol.line.SimulatedSerialDevice`: it answers with the newest reading of the plant."""

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument

    def wake(self, now_ns: int) -> int:
        return NEVER_NS

    def press(self, pressed: bool) -> None:
        raise ValueError("this device has no emergency stop")

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        if data != ASK or not (readings := self._instrument.since(0)):
            return b""
        return b" ".join(b"%.6f" % angle for angle in readings[-1][2]) + b"\n"


TEXTANGLES = AnglesType()
