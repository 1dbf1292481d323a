"""A role of devices is added by its row, its signals and its places in the stages of a tick: all else follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Its messages are its own.
MESSAGES = """
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
"""
# What stands before which place of which file of the product.
CHANGES = {
    "layout": [
        ("    soil_parameters: tuple[str, ...] = ()\n", "    lamps: tuple[str, ...] = ()\n"),
        (
            '    "loads": Role(',
            """    "lamp": Role(
        "lamps", "brightness", attrgetter("lamps"), LampSample, 8,
        unread=lambda layout: LampSample(0, 0, (0.0,) * len(layout.lamps), -1),
        command=LampCommand, fields={"bright": "bright", "on": "lamp_on"}, held="dark",
        safe=lambda t_ns, layout: LampCommand(t_ns, (0.0,) * len(layout.lamps), False), urgent=attrgetter("on"),
    ),
""",
        ),
        ("from drivers.valve_layout", "from lamp import LampCommand, LampSample\n"),
    ],
    "signals": [
        (
            '    Signal("daq_age_ns"',
            """    Signal("bright", "f8", "1", "commanded", "command.bright", "lamps", by_name=True),
    Signal("lamp_on", "u1", "1", "commanded", "command.lamp_on", needs="lamps", flag=True),
    Signal("lamp_t_ns", "i8", "ns", "when it was measured", "samples.lamp.t_ns", needs="lamps"),
    Signal("lamp_acknowledged_ns", "i8", "ns", "confirmed", "samples.lamp.acknowledged_ns", needs="lamps"),
    Signal("seen_lx", "f8", "1", "measured", "samples.lamp.seen_lx", "lamps", by_name=True),
""",
        )
    ],
    "stages": [
        ("    motion: Reading | None = None\n", "    lamp: object = None\n"),
        (
            "    joint_angle_rad: ByServo = ()\n    servos_cut",
            "    bright: tuple[float, ...] = ()\n    lamp_on: bool = False\n",
        ),
    ],
}
RUN = """
import math, sys
from pathlib import Path
from types import SimpleNamespace

import msgspec

from hil.config.rig import Rig
from hil.app.run_loop import record_meta
from hil.config import load_config
from hil.config.rig import Rig
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_devices import shared_device
from hil.messages.fault import Fault
from hil.messages.packer import tick_packer
from hil.messages.schema import Row
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
from lamp import LampCommand, LampSample

config, folder = load_config("sim_impact"), Path(sys.argv[1])
config.__dict__["layout"] = layout = msgspec.structs.replace(config.layout, lamps=("left", "right"))
shared = RunMemory(folder, config, {})
taken, woken = [], []
device = SimpleNamespace(write=taken.append, read=lambda t_ns: LampSample(3, t_ns, (0.5, 0.25), 7))
bridge = LinkBridge(shared, "lamp", feed_of(shared, "lamp", device))
lamp = shared_device(shared, "lamp", lambda: woken.append(1))
still = SimpleNamespace(read=lambda t_ns: None, write=lambda command: None)
rig_io = RigIO(layout, {"drives": still, "lamp": lamp})
command = msgspec.structs.replace(rig_io.stop(5), state=0, bright=(0.1, 0.2), lamp_on=True)
rig_io.command(9, command)
shared.heartbeat.beat("loop", 1_000)
bridge.publish_samples(20)
bridge.apply_commands(21, 1_000)
bridge.stop(30)
assert taken == [LampCommand(9, (0.1, 0.2), True), LampCommand(30, (0.0, 0.0), False)]
assert woken == [1]
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
monitor._check_ages(7, late)
[stale] = [event for event in monitor.events if "lamp" in event.detail]
assert stale.fault is Fault.SENSOR_STALE
publisher, sent = Publisher("", 100.0, 1000.0, 0.0, layout), []
publisher._send = lambda topic, payload: sent.append(payload)
publisher._publish(row.array[0])
assert sent[0]["seen_lx"] == {"left": 0.5, "right": 0.25}
"""


@pytest.mark.slow
def test_a_role_of_three_product_files_has_link_memory_record_telemetry_arming_check_and_age_limit(tmp_path: Path):
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
    (tree / "lamp.py").write_text(MESSAGES, encoding="utf-8")
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
