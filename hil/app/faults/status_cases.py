"""Cases of what a device reports about itself: each row of each status that a simulated device can report (row 41).

They come from the tables of the drivers. What is ignored is reported all at once: nothing comes of it. A camera says of
each frame whether it is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from drivers.registry import driver_of
from drivers.reported import Reaction, StatusRow, StatusTable
from hil.app.camera.silence import silence
from hil.app.camera.v4l2 import DAMAGED, MONOTONIC, captured
from hil.app.faults import command_cases, servo_wire_cases
from hil.app.faults.case import NO_RUN, VIRTUAL_TIME, Case, Expected
from hil.app.faults.protocol_cases import DRIVES, MOMENTS_S, SERVOS, fault, protocol_config, run_case
from hil.config import Config, load_config
from hil.messages.fault import Fault
from hil.messages.fault_bounds import STOP_WRITTEN_NS
from hil.recording.camera_frames import RunFrame
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

ROW = Fault.DEVICE_FAULT
# A camera at this rate [Hz] for so many frames, and the bytes of one.
CAMERA_HZ, FRAMES, JPEG = 10.0, 30, b"\xff\xd8\xff\xd9"
# The rigs of these runs with controllers of the other kind.
_WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")


def _on_ports(names: Sequence[str]) -> str:
    """Controllers with two motors each, every one on a port of its own."""
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
    walking = servo_wire_cases.SETTINGS
    for config, role, device, state, at_s in (
        (protocol_config(), "drives", DRIVES, "run_up", MOMENTS_S["run_up"]),
        (protocol_config((OTHER_DRIVES,)), "drives", "roboteq", "run_up", MOMENTS_S["run_up"]),
        (_walk(walking), "servos", SERVOS, servo_wire_cases.STATE, servo_wire_cases.AT_S),
        (_walk((OTHER_SERVOS, *walking)), "servos", "roboteq_servos", servo_wire_cases.STATE, servo_wire_cases.AT_S),
    ):
        assert config.devices is not None
        section = getattr(config.devices, role)
        for status in driver_of(section).statuses:
            for kind, value, expected in _of(status, config):
                steps = (fault(device, "status", status=status.name, value=value),)
                name = f"{status.name}: {kind}"
                yield Case(ROW, name, device, state, VIRTUAL_TIME, config, run_case, steps, at_s, expected)
    for name, flags, jpeg in (("frames flagged as damaged", DAMAGED, JPEG), ("frames of 0 bytes", 0, b"")):
        silent = partial(_silent, flags, jpeg)
        yield Case(ROW, name, "camera", "-", NO_RUN, protocol_config(), command_cases.run_case, silent)


def _silent(flags: int, jpeg: bytes) -> tuple[str, str]:
    """A camera that gives only such frames must be as silent as one that gives none."""
    times = [round(number * 1e9 / CAMERA_HZ) for number in range(FRAMES)]
    found = [captured(MONOTONIC | flags, t_ns, number, jpeg, t_ns) for number, t_ns in enumerate(times)]
    kept = [RunFrame(one.t_ns, one.sequence, "", one.time_from) for one in found if one is not None]
    marks = silence(kept, (0, times[-1]), CAMERA_HZ)
    return f"{len(kept)} of {FRAMES} frames were kept" if kept or not marks else "", "none kept, and the run is marked"


def _walk(settings: Sequence[str]) -> Config:
    return load_config(servo_wire_cases.RIG, settings)


def _of(status: StatusTable, config: Config) -> Iterator[tuple[str, int, Expected]]:
    """Of each row: its words, the value that is reported, and what must come of it."""
    if not status.simulated:
        return
    by_reaction: dict[Reaction, list[StatusRow]] = {reaction: [] for reaction in Reaction}
    for row in status.rows:
        by_reaction[row.reaction].append(row)
    bound_ms = FAULT_TABLE[ROW].bound_for(ReactionTimes(config)) or 0.0
    stopped_ms = bound_ms + STOP_WRITTEN_NS * 1e-6
    rows = frozenset({ROW})
    for row in by_reaction[Reaction.SAFE]:
        yield row.words, row.value, Expected(rows, bound_ms, stopped_ms, says=row.words)
    for row in by_reaction[Reaction.MARK]:
        yield row.words, row.value, Expected(rows, bound_ms, says=row.words, goes_on=True)
    if ignored := by_reaction[Reaction.IGNORED]:
        yield "all that is ignored", sum(row.value for row in ignored), Expected()
