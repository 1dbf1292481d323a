"""A role of devices is added by its row, its places in the stages of a tick, and its driver: all else follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# The maker's package: messages, sections, drivers, and the devices of a rig that is simulated in the loop's process.
LAMP = """
from __future__ import annotations

import msgspec


class LampSample(msgspec.Struct, frozen=True, gc=False):
    sequence: int
    t_ns: int
    seen_lx: tuple[float, ...]
    acknowledged_ns: int


class LampCommand(msgspec.Struct, frozen=True, gc=False):
    t_ns: int
    bright: tuple[float, ...]
    on: bool


class StrobeCommand(msgspec.Struct, frozen=True, gc=False):
    t_ns: int
    flash: bool
"""
MAKER = """
from typing import ClassVar, Literal

from drivers.device_sections import DeviceSection
from drivers.driver_type import DriverType
from drivers.interfaces import Health
from lamp import LampSample


class LampSection(DeviceSection):
    role: ClassVar[str] = "lamp"
    driver: Literal["glow"]
    rate_hz: float = 50.0

    @property
    def parts(self):
        return ("left", "right")


class StrobeSection(DeviceSection):
    role: ClassVar[str] = "strobe"
    driver: Literal["glow"]

    @property
    def parts(self):
        return ("strobe",)


class SimStrobe:
    def __init__(self, plant):
        self._plant, self.written = plant, []

    def open(self): ...

    def close(self): ...

    def health(self):
        return Health("strobe", True, 0, "")

    def write(self, command):
        self.written.append(command)


class SimLamp(SimStrobe):
    def read(self, t_ns):
        newest = self.written[-1] if self.written else None
        lit, confirmed = (newest.bright, newest.t_ns) if newest else ((0.0, 0.0), -1)
        silent = 1.0 < t_ns * 1e-9 < 1.5 and getattr(self, "silent", False)
        return None if silent else LampSample(1, t_ns, tuple(100.0 * one for one in lit), confirmed)


class Lamp(DriverType[LampSection]):
    name, role, settings = "glow", "lamp", LampSection

    def make(self, section, rig, host=None, alive=None):
        raise NotImplementedError

    def in_process(self, section, plant):
        return SimLamp(plant)


class Strobe(Lamp):
    role, settings = "strobe", StrobeSection

    def in_process(self, section, plant):
        return SimStrobe(plant)


GLOW = Lamp(), Strobe()
"""
# What stands before which place of which file of the product.
CHANGES = {
    "layout": [
        (
            '    "loads": Role(',
            """    "lamp": Role(
        "lamps", "brightness", attrgetter("lamp"), LampSample, 8,
        unread=lambda layout: LampSample(0, 0, (0.0,) * len(layout.lamp), -1),
        command=LampCommand, fields={"bright": "bright", "on": "lamp_on"}, held="dark",
        safe=lambda t_ns, layout: LampCommand(t_ns, (0.0,) * len(layout.lamp), False), urgent=attrgetter("on"),
        wanted=lambda asked: ((0.5,) * 2, not asked.cut),
        signals=(
            Signal("bright", "f8", "1", "commanded", "command.bright", "lamp", by_name=True),
            Signal("lamp_on", "u1", "1", "commanded", "command.lamp_on", needs="lamp", flag=True),
            Signal("lamp_t_ns", "i8", "ns", "when it was measured", "samples.lamp.t_ns", needs="lamp"),
            Signal("lamp_acknowledged_ns", "i8", "ns", "confirmed", "samples.lamp.acknowledged_ns", needs="lamp"),
            Signal("seen_lx", "f8", "lx", "measured", "samples.lamp.seen_lx", "lamp", by_name=True),
        ),
    ),
    "strobe": Role(
        "strobe", "flashes", attrgetter("strobe"), None, 8, command=StrobeCommand, fields={"flash": "flash"},
        held="dark", safe=lambda t_ns, layout: StrobeCommand(t_ns, False), urgent=attrgetter("flash"),
        wanted=lambda asked: (not asked.cut,),
        signals=(Signal("flash", "u1", "1", "1 while it flashes", "command.flash", needs="strobe", flag=True),),
    ),
""",
        ),
        ("from drivers.valve_layout", "from lamp import LampCommand, LampSample, StrobeCommand\n"),
    ],
    "stages": [
        ("    motion: Reading | None = None\n", "    lamp: object = None\n"),
        (
            "    joint_angle_rad: ByServo = ()\n    servos_cut",
            "    bright: tuple[float, ...] = ()\n    lamp_on: bool = False\n    flash: bool = False\n",
        ),
    ],
}
AT_MOST_FILES = 4
RUN = """
import math, sys
from pathlib import Path
from types import SimpleNamespace

import msgspec

import hil
from hil.analysis.replay import replay
from hil.app.page.content import page_content
from hil.app.run_loop import record_meta
from hil.config import load_config
from hil.config.rig import Rig
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.messages.fault import Fault
from hil.messages.stages import tick_packer
from hil.messages.link_messages import Row
from hil.messages.signals import tick_dtype
from hil.messages.stages import Command, Estimate, Prediction, Tick
from hil.messages.link_messages import SampleRow
from hil.operator.telemetry import Publisher
from hil.processes.link_bridge import LinkBridge, feed_of
from hil.recording import open_writer, read_trial
from hil.runtime.rig_io import RigIO
from hil.safety.arming import arming_checks
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes
from hil.safety.monitor import SafetyMonitor
from lamp import LampCommand, LampSample, StrobeCommand

glow = ["devices={lamp: {driver: glow}, strobe: {driver: glow}}"]
config, folder = load_config("sim_impact", glow), Path(sys.argv[1])
layout = config.layout
assert (layout.lamp, layout.strobe) == (("left", "right"), ("strobe",))
shared = RunMemory(folder, config, {})
taken, woken = [], []
device = SimpleNamespace(write=taken.append, read=lambda t_ns: LampSample(3, t_ns, (0.5, 0.25), 7))
bridge = LinkBridge(shared, "lamp", feed_of(shared, "lamp", device))
lamp = shared_device(shared, "lamp", lambda: woken.append(1))
flashed = []
out = feed_of(shared, "strobe", SimpleNamespace(write=flashed.append))
strobe = shared_device(shared, "strobe", lambda: woken.append(2))
still = SimpleNamespace(read=lambda t_ns: None, write=lambda command: None)
rig_io = RigIO(layout, {"drives": still, "lamp": lamp, "strobe": strobe})
command = msgspec.structs.replace(rig_io.stop(5), state=0, bright=(0.1, 0.2), lamp_on=True, flash=True)
rig_io.command(9, command)
shared.heartbeat.beat("loop", 1_000)
bridge.publish_samples(20)
bridge.apply_commands(21, 1_000)
bridge.stop(30)
assert taken == [LampCommand(9, (0.1, 0.2), True), LampCommand(30, (0.0, 0.0), False)]
out.apply_commands(0)
assert not out.stopped(30)
out.stop(30)
assert out.stopped(30)
assert flashed == [StrobeCommand(9, True), StrobeCommand(30, False)]
assert woken == [1, 2]
samples = rig_io.sample(40)
assert samples.lamp == LampSample(3, 20, (0.5, 0.25), 7)
late = rig_io.sample(320_000_020)
assert late.lamp == samples.lamp
fresh = {role: msgspec.structs.replace(getattr(late, role), t_ns=late.t_ns) for role in ("drives", "valves")}
late = msgspec.structs.replace(late, **fresh)

wheels, nothing = (0.0,) * 6, (0.0,) * 3
estimate = Estimate(True, nothing, nothing, True, False, None, nothing, (math.nan, math.nan), wheels)
prediction = Prediction(wheels, wheels, wheels, 0.0, 0.0, math.inf, True, joint_angle_rad=(0.0,) * len(layout.turning))
row = Row(tick_dtype(layout))
row.set(*tick_packer(layout)(Tick(1, 40, 0, 0), samples, estimate, prediction, command))
with open_writer(folder, config, record_meta(Rig(config))) as writer:
    writer.tick(row.array)
[recorded] = read_trial(folder, trusted=True).tick
assert (recorded["bright"].tolist(), recorded["lamp_on"]) == ([0.1, 0.2], 1)
assert SampleRow("lamp", layout).of_tick(recorded) == msgspec.structs.replace(samples.lamp, sequence=1)
rig, limit = Rig(config), config.limits.lamp_age_ms
assert (limit, ReactionTimes(config).age("lamp")) == (200.0, 200.0)
assert "limits.lamp_age_ms" in FAULT_TABLE[Fault.SENSOR_STALE].bound
checks = {check.item: check.ok for check in arming_checks(rig, late, estimate, [])}
assert (checks["lamp sample age"], checks["lamp confirmed dark"]) == (False, True)
monitor = SafetyMonitor(rig, lambda event: None)
monitor.check(7, late, estimate, prediction)
[stale] = [event for event in monitor.events if "lamp" in event.alarm.detail]
assert stale.alarm.fault is Fault.SENSOR_STALE
publisher, sent = Publisher("", 100.0, 1000.0, 0.0, layout), []
publisher._send = lambda topic, payload: sent.append(payload())
publisher._publish(row.array[0])
assert sent[0]["seen_lx"] == {"left": 0.5, "right": 0.25}

ran = hil.run(load_config("sim_impact", [*glow, "experiment=jog", "jog.seconds=0.3"])).save(folder.parent / "ran")
record = read_trial(ran, trusted=True)
moved, safe = record.tick["cut"] == 0, record.tick["safe"] == 1
assert moved.any()
for name in ("flash", "lamp_on"):
    assert (record.tick[name] == moved).all()
assert set(record.tick["seen_lx"][moved].flat) == {50.0}
assert not replay(ran).differences
page = page_content(Rig(config), None)
series = {one["name"]: one["unit"] for one in page["series"]}
assert (series["flash"], series["lamp_on"], series["seen_lx/left"]) == ("1", "1", "lx")
assert page["limits"]["lamp_age_ms"] == 200.0
bounds, rows = ReactionTimes(config), FAULT_TABLE
assert rows[Fault.SENSOR_STALE].bounds(bounds)["lamp"] == 201.0
assert rows[Fault.LINK_LOST].bounds(bounds)["strobe"] == 1.0
assert "strobe: when they are next written" in page["faults"]["13"]["bound"]
"""


@pytest.mark.slow
def test_a_role_and_an_output_of_two_product_files_have_run_record_replay_page_and_fault_table(
    tmp_path: Path,
):
    tree = tmp_path / "tree"
    messages = tree / "hil" / "messages"
    messages.mkdir(parents=True)
    for folder, besides in ((ROOT / "hil", "messages"), (ROOT / "hil/messages", "")):
        for entry in folder.iterdir():
            if entry.name not in (besides, "__pycache__", *(f"{name}.py" for name in CHANGES)):
                (tree / folder.relative_to(ROOT) / entry.name).symlink_to(entry)
    for name, places in CHANGES.items():
        text = (ROOT / "hil/messages" / f"{name}.py").read_text(encoding="utf-8")
        for before, added in places:
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, added + before)
        (messages / f"{name}.py").write_text(text, encoding="utf-8")
    assert len(CHANGES) <= AT_MOST_FILES
    (tree / "lamp.py").write_text(LAMP, encoding="utf-8")
    (tree / "maker.py").write_text(MAKER, encoding="utf-8")
    about = tree / "glow-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: glow\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[rover_hil.drivers]\nglow = maker:GLOW\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "run")],
        env=environment,
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
