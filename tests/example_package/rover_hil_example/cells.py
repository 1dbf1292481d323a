"""The entry point `textcells`: load cells behind one line of text a sample, in newtons, which are sent unasked.

A line has the readings of all channels and the sum of its bytes, `+12.50 -3.25*7f`. `R 100` sets the lines a second,
and is answered by the same with its sum; from then on the cells send.
"""

from typing import Literal

from pydantic import Field

from drivers.checks import load_problems
from drivers.device_sections import Baud, LoadReading, LoadsSection, Port
from drivers.driver_type import Connection, LineLoad, LoadSetup, LoadsType, RigSetup
from drivers.host import COMPUTER, Alive, Host, line_time_s
from drivers.interfaces import BadFrameError, DeviceError, Health
from drivers.serial.listening import ListeningLink, Message, lines
from drivers.serial.streamed_loads import StreamedLoads
from drivers.sim.protocol.reading_stream import StreamingDevice

NAME = "text load cells"
LONGEST = 200  # bytes of a line


class CellsSection(LoadsSection):
    """`devices.loads` with `driver: textcells`."""

    driver: Literal["textcells"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(57600, description="of the port")
    delay_ms: float = Field(2.0, ge=0, le=50, description="from a measurement until its line begins")

    @property
    def reads(self) -> LoadReading:
        """The cells are calibrated by their maker: they send newtons."""
        return "N"


class CellsType(LoadsType[CellsSection]):
    """Load cells that send lines of text."""

    name = "textcells"
    settings = CellsSection
    even = False  # the times are those of the lines

    def make(self, section, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None):
        return TextCells(section, rig.loads, host, alive)

    def connections(self, section: CellsSection):
        yield Connection("devices.loads.port", section.port)

    def check(self, section: CellsSection, rig: RigSetup):
        if rig.loads is not None:
            yield from load_problems("loads", section.baud, self.line_loads(section, rig), ())

    def line_loads(self, section: CellsSection, rig: RigSetup):
        longest = framed([cell.full_scale for cell in rig.loads.cells])
        return [LineLoad(section.port, line_time_s(len(longest) * rig.loads.rate_hz, section.baud))]

    def at_endpoints(self, values, endpoints):
        values["port"] = endpoints["textcells"]

    def simulated_ports(self, section, rig: RigSetup, ports):
        if section is None or ports.readings is None:
            return {}
        from drivers.sim.protocol.line import SimulatedPort

        device = CellsDevice(ports.readings, round(section.delay_ms * 1e6))
        return {"textcells": SimulatedPort(device, section.baud, 100_000)}


class TextCells(StreamedLoads):
    """A `drivers.interfaces.DaqDevice`: `step` listens, `read` returns each block once."""

    def __init__(self, section: CellsSection, setup: LoadSetup, host: Host, alive) -> None:
        self._port = section.port
        link = ListeningLink(
            NAME,
            section.port,
            section.baud,
            lines(),
            self._take,
            period_ns=round(1e9 / setup.rate_hz),
            longest=LONGEST,
            host=host,
            alive=alive,
        )
        super().__init__(link, setup, round(section.delay_ms * 1e6))

    def open(self) -> None:
        self._link.open()
        request = b"R %d" % self._setup.rate_hz
        try:
            self._link.ask(request + b"\n", lambda line: True if checked(line) == request else None)
        except DeviceError:
            self._link.close()
            raise
        self._begin()

    def close(self) -> None:
        self._link.close()

    def health(self) -> Health:
        return self._link.health(f"{len(self._setup.cells)} load cells")

    def _take(self, message: Message) -> bool:
        """A line that is not damaged is a sample, or a late answer."""
        text = checked(message.data)
        if text.startswith(b"R"):
            return False
        try:
            values = tuple(map(float, text.split()))
        except ValueError as error:
            raise BadFrameError(f"{text!r} holds no readings") from error
        if len(values) != len(self._setup.cells):
            raise BadFrameError(f"{len(values)} readings, needed: {len(self._setup.cells)}")
        self._add(message, values)
        return True


def framed(values) -> bytes:
    """The line of a sample."""
    return with_sum(b" ".join(b"%+.2f" % value for value in values))


def with_sum(text: bytes) -> bytes:
    return text + b"*%02x\n" % (sum(text) & 0xFF)


def checked(line: bytes) -> bytes:
    """What a line says. Raises BadFrameError: its sum is wrong."""
    text = line.rpartition(b"*")[0]
    if line != with_sum(text):
        raise BadFrameError(f"{line!r} has a wrong sum")
    return text


class CellsDevice(StreamingDevice):
    """The cells, simulated at the protocol level: what `hil sim` serves, and tests talk to."""

    def __init__(self, readings, delay_ns: int) -> None:
        super().__init__(readings, delay_ns)
        self._buffer = b""

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        *requests, self._buffer = (self._buffer + data).split(b"\n")
        answers = b""
        for request in requests:
            command, _, rate = request.partition(b" ")
            if command == b"R" and rate.isdigit() and int(rate) > 0:
                self._stream.start(ended_ns, float(rate))
                answers += with_sum(request)
        return answers

    def _message(self, values) -> bytes:
        return b"" if values is None else framed(values)


TEXTCELLS = CellsType()
