"""Cases of what a device reports about itself: each row of each status that a simulated device can report (row 41).

They come from the tables of the drivers. What is ignored is reported all at once: nothing comes of it. A camera says of
each frame whether it is damaged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from drivers.registry import driver_of
from drivers.reported import Reaction, StatusRow, StatusTable
from hil.app.camera.capture import DAMAGED, MONOTONIC, CameraFrame, Capture, capture, captured
from hil.app.camera.capture import EVENT as SILENT
from hil.app.faults import joint_cases
from hil.app.faults.case import LOCKSTEP, VIRTUAL_TIME, Case, ExpectedOutcome, InjectionOutcome, within
from hil.app.faults.protocol_cases import (
    CAN_DRIVES,
    DRIVES,
    MOMENTS_S,
    SERVOS,
    fault,
    on_can,
    protocol_config,
    run_case,
)
from hil.app.resident import Resident
from hil.app.run import open_backend
from hil.app.run_loop import Signals, run_loop
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.schema.sensors import CameraConfig
from hil.messages.fault import Fault
from hil.realtime import RightsWanted
from hil.recording import read_trial
from hil.safety.fault_table import ReactionTimes

ROW = Fault.DEVICE_FAULT
# A run that a camera films, how long that gives frames [ns], and the bytes of one.
FILMED, FILMED_NS, JPEG = "sim_impact", 2_000_000_000, b"\xff\xd8\xff\xd9"
FILMED_SETTINGS = (
    "experiment=jog",
    "jog.seconds=1.0",
    "telemetry.endpoint=''",
    "camera={device: none, rate_hz: 10, trigger: {when: armed}}",
)
# The rigs of these runs with controllers of the other kind.
_WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")


def _on_ports(names: Sequence[str]) -> str:
    """Controllers with two motors each, every one on a separate port."""
    pairs = zip(names[::2], names[1::2], strict=True)
    return ", ".join(f"{{port: '', channel_1: {one}, channel_2: {two}}}" for one, two in pairs)


OTHER_DRIVES = (
    f"devices.drives={{driver: roboteq, max_rpm: 3000, gear_ratio: 100, controllers: [{_on_ports(_WHEELS)}]}}"
)
OTHER_SERVOS = (
    "devices.servos={driver: roboteq, counts_per_turn: 4096, gear: 100, encoder: incremental, start: confirmed, "
    f"controllers: [{_on_ports([f'{wheel}_walking' for wheel in _WHEELS])}]}}"
)


def status_cases() -> Iterator[Case]:
    """Every case, while the wheels run or the joints move."""
    walking, other = joint_cases.SETTINGS, (OTHER_SERVOS, *joint_cases.SETTINGS)
    for config, role, device, state, at_s in (
        (protocol_config(), "drives", DRIVES, "run_up", MOMENTS_S["run_up"]),
        (protocol_config((OTHER_DRIVES,)), "drives", "roboteq", "run_up", MOMENTS_S["run_up"]),
        (on_can(), "drives", CAN_DRIVES, "run_up", MOMENTS_S["run_up"]),
        (load_config(joint_cases.RIG, walking), "servos", SERVOS, joint_cases.STATE, joint_cases.AT_S),
        (load_config(joint_cases.RIG, other), "servos", "roboteq_servos", joint_cases.STATE, joint_cases.AT_S),
    ):
        assert config.devices is not None
        section, times = getattr(config.devices, role), ReactionTimes(config)
        for status in driver_of(section).statuses:
            for kind, value, expected in _of(status, times):
                steps = (fault(device, "status", status=status.name, value=value),)
                name = f"{status.name}: {kind}"
                yield Case(ROW, name, device, state, VIRTUAL_TIME, config, run_case, steps, at_s, expected)
    filmed = load_config(FILMED, FILMED_SETTINGS)
    for name, flags, jpeg in (("frames flagged as damaged", DAMAGED, JPEG), ("frames of 0 bytes", 0, b"")):
        yield Case(ROW, name, "camera", "running", LOCKSTEP, filmed, run_filmed, (flags, jpeg))


def _damaged_camera(flags: int, jpeg: bytes, folder: Path, camera: CameraConfig) -> Any:
    """The process of a camera which gives only such frames, over the whole of a run: it writes them into a folder."""

    def source(_ending: Any, began: Callable[[], None]) -> Iterator[CameraFrame]:
        began()
        for number, t_ns in enumerate(range(0, FILMED_NS, round(1e9 / camera.rate_hz))):
            if found := captured(MONOTONIC | flags, t_ns, number, jpeg, t_ns):
                yield found

    process: Any = SimpleNamespace(
        ending=False, orphaned=False, receive=lambda _: {"ready": True}, end=lambda _: True,
        ready=lambda: None, report=lambda **_: None,
    )  # fmt: skip
    capture(folder, process, source)
    return process


def run_filmed(case: Case) -> InjectionOutcome:
    """Make a run in lockstep that such a camera films: it must be marked as one without a single frame."""
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as place, ExitStack() as stack:
        folder, config, (flags, jpeg) = Path(place), case.config, case.act
        assert config.camera is not None
        rig = open_backend(Rig(config), folder, lambda _: None, stack)
        resident = Resident(Rig(config), rig, Signals(), lambda _: None)
        camera = Capture(folder, config.camera, partial(_damaged_camera, flags, jpeg))
        wall_s = run_loop(rig, Signals(), lambda _: None, wanted=RightsWanted())
        resident.conclude(folder, wall_s, figure=False, filmed=(camera, kept := camera.end(0)))
        events = read_trial(folder, trusted=True).events
    said = [bytes(one["detail"]).decode() for one in events[events["name"] == SILENT.encode()]]
    wrong = [f"{len(kept)} frames were kept"] * bool(kept) + ["the run is not marked"] * (not said)
    return InjectionOutcome(wrong=tuple(wrong), remark="; ".join(said))


def _of(status: StatusTable, times: ReactionTimes) -> Iterator[tuple[str, int, ExpectedOutcome]]:
    """Of each row: its words, the value that is reported, and what must come of it."""
    if not status.simulated:
        return
    by_reaction: dict[Reaction, list[StatusRow]] = {reaction: [] for reaction in Reaction}
    for row in status.rows:
        by_reaction[row.reaction].append(row)
    for row in by_reaction[Reaction.SAFE]:
        yield row.words, row.value, within(times, ROW, says=row.words)
    for row in by_reaction[Reaction.MARK]:
        yield row.words, row.value, within(times, ROW, stop_ms=None, says=row.words, goes_on=True)
    if ignored := by_reaction[Reaction.IGNORED]:
        yield "all that is ignored", sum(row.value for row in ignored), ExpectedOutcome()
