"""Simulated instruments that stream: a laser distance sensor, an inertial sensor, a motion-capture server."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.sim.protocol.line import SimulatedSerialDevice
from hil.testing.bench import LineDevice, Place
from hil.testing.wheels import SteadyReading

POSE = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")
INERTIA = ("ax_mps2", "ay_mps2", "az_mps2", "wx_radps", "wy_radps", "wz_radps")
# From a measurement until its message begins [ns].
DELAY_NS = 1_000_000


class StreamingInstrument(LineDevice):
    """A simulated instrument that sends its readings by itself, as its maker's protocol has it.

    Attributes:
        channels: names of the values, with their units.
    """

    def __init__(
        self,
        name: str,
        channels: Sequence[str],
        rate_hz: float,
        values: Sequence[float],
        baud: int,
        bench: Place | None,
    ) -> None:
        super().__init__(baud, bench)
        self.name, self.channels = name, tuple(channels)
        self.reading = SteadyReading(self._bench.now_ns, channels, rate_hz)
        self.reading.values[:] = values

    @property
    def values(self) -> list[float]:
        """(channels,) what it measures; set any of them. NaN: not measured."""
        return self.reading.values

    def serve(self, device: SimulatedSerialDevice, *, network: bool = False) -> StreamingInstrument:
        """Connect it."""
        self._connect(device, self.reading, network=network)
        return self


def distance_sensor(
    distance_m: float = 1.0, *, rate_hz: float = 50.0, baud: int = 115200, bench: Place | None = None
) -> StreamingInstrument:
    """A simulated Dimetix laser sensor, until it is closed; its only value is the distance. Characters are 8N1.

    Args:
        distance_m: at first [m].
        rate_hz: measurements a second.
        baud: of the line.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.dimetix.simulated import DimetixDevice

    sensor = StreamingInstrument("distance_sensor", ("distance_m",), rate_hz, (distance_m,), baud, bench)
    return sensor.serve(DimetixDevice(sensor.reading, parity=False, sensor=0, delay_ns=DELAY_NS))


def imu(*, rate_hz: float = 200.0, baud: int = 115200, bench: Place | None = None) -> StreamingInstrument:
    """A simulated VectorNav VN-100, until it is closed; it stands still at first, with gravity upwards.

    Args:
        rate_hz: readings a second.
        baud: of the line.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.vectornav.simulated import VectorNavDevice

    sensor = StreamingInstrument("imu", INERTIA, rate_hz, (0.0, 0.0, 9.81, 0.0, 0.0, 0.0), baud, bench)
    return sensor.serve(VectorNavDevice(sensor.reading, baud, DELAY_NS))


def motion_capture(*, rate_hz: float = 100.0, bench: Place | None = None) -> StreamingInstrument:
    """A simulated NatNet server with one rigid body, number 1, until it is closed; `path` is its HOST:PORT.

    Args:
        rate_hz: frames a second.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.natnet.simulated.server import MotionServer

    server = StreamingInstrument("motion_capture", POSE, rate_hz, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 115200, bench)
    return server.serve(MotionServer(server.reading), network=True)
