"""A simulated NI chassis behind a gRPC device server, for the nidaqmx package."""

from __future__ import annotations

from collections.abc import Mapping

from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.parts import ServerFault
from drivers.ni.simulated.server import NiServer, VirtualNiServer
from hil.processes.lifecycle import ServedProcess
from hil.testing.bench import ALWAYS, Computer, Place, VirtualBench, check_fault
from hil.testing.wheels import Cylinders, Voltages

KINDS = ("late", "error", "silent", "wrong_value")
# Number of a server in virtual time, so that each has its own address.
_FIRST_PORT = 31763
# Of the error that a faulty read gets: a device is not there any more.
LOST = -201003


class NiChassis(ServedProcess):
    """A simulated cDAQ chassis; a context manager.

    Its modules: cDAQ1Mod1 inputs ai0, ai1, ... (`inputs`); cDAQ1Mod2 digital outputs port0/line0, ...; cDAQ1Mod3
    analog outputs ao0, ...; cDAQ1Mod4 digital inputs, port0/line0 high while the emergency stop is not pressed;
    cDAQ1Mod5 pressures of the cylinders' chambers.

    Attributes:
        address: HOST:PORT of the device server.
        inputs: voltages of cDAQ1Mod1: `chassis.inputs[0] = 1.5`, or a function of the time.
        cylinders: what lines and analog outputs act on.
    """

    name = "ni_chassis"

    def __init__(self, channels: int, rate_hz: int, range_V: float, outputs: int, bench: Place | None) -> None:
        super().__init__()
        place: Place = bench if bench is not None else Computer()
        self._bench = place
        self.inputs = Voltages(place.now_ns, channels, rate_hz)
        self.cylinders = Cylinders(place.now_ns, 4, outputs)
        self._chassis = Chassis(self.inputs, self.cylinders, range_V=range_V, host=place.host)
        server: NiServer | VirtualNiServer
        if isinstance(place, VirtualBench):
            server = VirtualNiServer(self._chassis, place.host)
            host, port = "simulated", _FIRST_PORT + len(place.host.servers)
        else:
            server, host, port = NiServer(self._chassis), "127.0.0.1", 0
        self._server = server
        self.address = f"{host}:{server.serve(host, port)}"
        self._stack.callback(server.stop)

    @property
    def lines(self) -> Mapping[str, bool]:
        """States of the digital outputs, by physical name."""
        return dict(self._chassis.lines)

    @property
    def outputs(self) -> Mapping[str, float]:
        """Voltages of the analog outputs [V], by physical name."""
        self._chassis.wake(self._bench.now_ns())
        return dict(self._chassis.outputs)

    @property
    def e_stop(self) -> bool:
        """The emergency stop is pressed."""
        return self._chassis.e_stop

    def press_e_stop(self, pressed: bool = True) -> None:
        """Press the emergency stop, or release it."""
        self._chassis.e_stop = pressed

    def inject_fault(
        self, kind: str, *, answers: int | None = None, late_ms: float = 100.0, code: int = LOST, by: float = 1.0
    ) -> None:
        """Let it be faulty, in its next answers or until `end_faults`.

        Args:
            kind: late: reads of analog inputs are answered later by `late_ms`; error: they fail with `code`; silent:
                the server is gone, with its tasks, until `end_faults`; wrong_value: all inputs are off by `by`, until
                `end_faults`.
            answers: how many reads are late or fail; None: all until `end_faults`.
            late_ms: [ms].
            code: of NI-DAQmx.
            by: [V].

        Raises:
            ValueError: it cannot have this fault, or not so.
        """
        check_fault(self.name, kind, KINDS, answers, None)
        if kind in ("silent", "wrong_value") and answers is not None:
            raise ValueError(f"{self.name}: fault {kind} lasts until end_faults(); give no answers")
        if kind == "silent":
            self._server.inject_fault(ServerFault("off"))
        elif kind == "wrong_value":
            self.inputs.reading_error = by
        else:
            count = ALWAYS if answers is None else answers
            named = "delayed" if kind == "late" else "error"
            self._server.inject_fault(ServerFault(named, count, late_ms, code))  # type: ignore[arg-type]

    def end_faults(self) -> None:
        """End all faults; the server serves again, and tasks of before it was silent are gone."""
        self.inputs.reading_error = 0.0
        self._server.clear_faults()
        self._server.inject_fault(ServerFault("reconnect"))

    def __repr__(self) -> str:
        return f"<simulated {self.name} at {self.address}>"


def ni_chassis(
    *, channels: int = 4, rate_hz: int = 25_600, range_V: float = 10.0, outputs: int = 2, bench: Place | None = None
) -> NiChassis:
    """A simulated NI chassis, until it is closed. Needs the extra `ni`.

    Args:
        channels: inputs of cDAQ1Mod1.
        rate_hz: samples a second of these until a task sets another rate.
        range_V: full scale of the inputs, either sign [V].
        outputs: analog outputs of cDAQ1Mod3.
        bench: where it is; None: this computer, in real time.
    """
    return NiChassis(channels, rate_hz, range_V, outputs, bench)
