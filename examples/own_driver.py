"""Wheel drives of a package of one's own, against their simulated device.

The driver is the one that `hil init driver textline` writes, in three short files: `entry.py` (settings, checks,
factory), `drives.py` (the driver) and `simulated.py` (the device). This program connects driver and device by a serial
line in virtual time, and shows each line of text. Run it with
`.venv/bin/python examples/own_driver.py`. It prints:

    C                                                        0.00000 0.00000 0.00000 0.00000 0.00000 0.00000
    C                                                        0.00000 0.00000 0.00000 0.00000 0.00000 0.00000
    V 0.20000 0.20000 0.20000 0.20000 0.20000 0.20000        0.20000 0.20000 0.20000 0.20000 0.20000 0.20000
    silent for 200 ms: the device has stopped the wheels by itself: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    C                                                        0.00000 0.00000 0.00000 0.00000 0.00000 0.00000
"""

from pathlib import Path

from drivers.messages import DriveCommand
from drivers.sim.protocol.line import Line
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from drivers.sim.virtual.serial import VirtualLines
from hil.config import load_config
from hil.config.rig_setup import rig_setup
from hil.testing.template.entry import TEXTLINE  # the entry point: docs/how-to/add-a-driver.md
from hil.testing.template.simulated import TextlineDevice


class Wheels:
    """Six wheels that obey at once."""

    def __init__(self) -> None:
        self.speeds = [0.0] * 6

    def hold(self, wheel: int, speed_radps: float) -> None:
        """The device holds a speed."""
        self.speeds[wheel] = speed_radps

    def cut(self, wheel: int) -> None:
        """The device takes the power away."""
        self.speeds[wheel] = 0.0

    def speed_radps(self, wheel: int) -> float:
        """The device's encoder."""
        return self.speeds[wheel]


class DrawingInputs(TextlineDevice):
    """The simulated device, showing each request and its answer."""

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Bytes of the driver, with the time when they were on the line; the answer."""
        answer: bytes = super().receive(data, began_ns, ended_ns)
        print(f"{data.decode().strip():56} {answer.decode().strip()}")
        return answer


time, wheels = VirtualTime(), Wheels()
host = VirtualHost(time)
device = DrawingInputs(wheels, 6, timeout_ms=100)  # type: ignore[arg-type]  # it needs no more of the axles
line = Line(Path("/dev/text"), device, 115200, terminal=host.terminal)
VirtualLines(time, {"text": line}, host.ports)
section = TEXTLINE.settings(driver="textline", port="/dev/text", rate_hz=100)
drives = TEXTLINE.make(section, rig_setup(load_config("sim_impact")), host)
drives.open()  # it stays stopped until it is told to cut, and then to run
for number, (cut, speed_radps) in enumerate(((True, 0.0), (False, 0.2), (True, 0.0)), start=1):
    drives.write(DriveCommand(number, cut, (speed_radps,) * 6))
    while (sample := drives.read(0)) is None or sample.acknowledged_ns < number:
        drives.step()
    if not cut:
        host.sleep(0.2)
        print("silent for 200 ms: the device has stopped the wheels by itself:", wheels.speeds)
drives.close()
time.close()
