"""Cases of the fault table: instruments of motion, and what devices report of themselves."""

from __future__ import annotations

import json
import math
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from drivers.driver_type import InstrumentType
from drivers.registry import driver_of
from drivers.reported import Reaction, StatusRow, StatusTable
from hil.app.camera.capture import DAMAGED, MONOTONIC, CameraFrame, Capture, capture, captured
from hil.app.camera.capture import EVENT as SILENT
from hil.app.faults import joint_cases, process_cases, protocol_cases
from hil.app.faults.case import LOCKSTEP, PROCESSES, VIRTUAL_TIME, Case, ExpectedOutcome, InjectionOutcome
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep_cases import inject, lockstep_case
from hil.app.faults.protocol_cases import DRIVES, MOMENTS_S, SERVOS, Step, fault, protocol_config, run_case, send, wait
from hil.app.resident import Resident
from hil.app.run import open_backend
from hil.app.run_loop import Signals, run_loop
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.instruments import ImuConfig, JointsConfig, MotionConfig
from hil.config.schema.sensors import CameraConfig
from hil.messages.fault import STOP_WRITTEN_NS, Fault
from hil.realtime import RightsWanted
from hil.recording import read_trial
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

# A jump that no rover makes and no room holds, in m, rad or m/s^2; and channels that are wired the wrong way round: two
# of the horizontal axes, or one of them with the vertical one, which shows on a rover that stands.
JUMP, JUMP_OF_OTHERS = {"motion": 300.0, "imu": 3.0}, 2.0
SWAPPED, SWAPPED_OF_OTHERS = {"imu": (0, 2)}, (0, 1)
FACTOR = 1.5
# Kinds that the readings alone need not show: an observer may notice them by their innovation.
SUBTLE = ("wrong", "swapped")


def instrument_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """Every kind of fault of every instrument, in every state but the first, in which it keeps the rig from arming.

    Args:
        config: of the rig, in lockstep.
        states: a tick in each state (`state_ticks`).
    """
    for role in config.layout.instruments:
        for made in instrument_faults(config.instruments, role):
            expected = expected_of(config, role, made)
            for state, tick in states.items():
                if state != "idle":
                    act = inject(role, made)
                    yield lockstep_case(config, row_of(made), made.kind, role, state, tick, act, expected)
        # a force that is not gravity's, or a place where no rover is
        false = (
            DeviceFault("wrong", factor=FACTOR)
            if role == "imu"
            else DeviceFault("jump", offset=JUMP.get(role, JUMP_OF_OTHERS))
        )
        for made in (DeviceFault("off"), DeviceFault("garbage"), DeviceFault("playback"), false):
            # what is noticed before arming is tried may lead to Safe, where the experiment needs the instrument
            row = row_of(made)
            expected = ExpectedOutcome(frozenset({row}), optional=True, refused=True)
            act = inject(role, made)
            yield lockstep_case(config, row, made.kind, role, "idle", 1, act, expected)


def instrument_faults(instruments: dict[str, MotionConfig | ImuConfig | JointsConfig], role: str) -> list[DeviceFault]:
    """A fault of each kind, beyond the limits of the config."""
    section = instruments[role]
    period_ms = 1e3 / section.rate_hz
    silent_ms = 1.5 * section.stale_ms + 2.0 * period_ms
    return [
        DeviceFault("off"),
        DeviceFault("intermittent", ms=silent_ms),
        DeviceFault("delayed", ms=silent_ms),
        DeviceFault("slow", every=math.ceil(2.0 * section.stale_ms / period_ms)),
        DeviceFault("stuck"),
        DeviceFault("garbage"),
        DeviceFault("wrong", factor=FACTOR),
        DeviceFault("swapped", channels=SWAPPED.get(role, SWAPPED_OF_OTHERS)),
        DeviceFault("jump", offset=JUMP.get(role, JUMP_OF_OTHERS)),
        DeviceFault("playback"),
    ]


def row_of(fault: DeviceFault) -> Fault:
    """The row of the fault table that a fault of an instrument belongs to."""
    return Fault.NOT_LIVE if fault.kind == "playback" else Fault.MEASURED_MOTION


def expected_of(config: Config, role: str, fault: DeviceFault) -> ExpectedOutcome:
    """What must come of it: a mark that names the instrument, and Safe where the experiment needs it."""
    row = row_of(fault)
    bound_ms = FAULT_TABLE[row].bound_for(ReactionTimes(config), role)
    assert bound_ms is not None
    subtle = fault.kind in SUBTLE or (role, fault.kind) == ("imu", "jump")
    unseen = fault.kind == "stuck" and not config.instruments[role].frozen_readings
    needed = role in config.needed_instruments
    return ExpectedOutcome(
        frozenset({row}),
        None if subtle else bound_ms,
        bound_ms + config.links.drives_delay_ms if needed and not subtle else None,
        optional=subtle or unseen,
        says=f"{role}: ",
        goes_on=not needed,
    )


# Long enough for an instrument to be noticed as stale [s], and to be opened again.
GONE_S = 0.6
# A trial that goes on for so long after the run-up has begun.
LONG = ("trial.start_distance_m=0.15", "trial.ramp_s=0.5")
STATE = "run_up"
# A rig of the protocol level that has all instruments.
MEASURED = "sim_motion_wire"


def instrument_wire_cases(config: Config) -> Iterator[Case]:
    """Faults of the lines, the devices and the processes of the instruments for which the config names a driver."""
    devices = config.devices
    roles = [role for role in config.layout.instruments if devices is not None and getattr(devices, role) is not None]
    if not roles:
        return
    wire = wire_config(config, roles)
    times, row = ReactionTimes(wire), Fault.MEASURED_MOTION
    at_s = protocol_cases.MOMENTS_S[STATE]
    for role in roles:
        bound_ms = FAULT_TABLE[row].bound_for(times, role)
        noticed, unclear = (
            _expected(wire.needed_instruments, role, bound_ms),
            _expected(wire.needed_instruments, role, None, optional=True),
        )
        for endpoint in endpoints_of(wire.devices, role):
            for kind, steps, expected in _of_line(endpoint, noticed, unclear):
                run = protocol_cases.run_case
                yield Case(row, kind, endpoint, STATE, VIRTUAL_TIME, wire, run, steps, at_s, expected)
            driver = driver_of(getattr(wire.devices, role))
            if isinstance(driver, InstrumentType) and driver.plays_back:
                bound_ms = FAULT_TABLE[Fault.NOT_LIVE].bound_for(times, role)
                played = _expected(wire.needed_instruments, role, bound_ms, Fault.NOT_LIVE)
                steps = (fault(endpoint, "playback"),)
                run = protocol_cases.run_case
                yield Case(Fault.NOT_LIVE, "playback", endpoint, STATE, VIRTUAL_TIME, wire, run, steps, at_s, played)
        for kind, steps in _of_process(role):
            name, run = f"{role} process", protocol_cases.run_case
            yield Case(row, kind, name, STATE, VIRTUAL_TIME, wire, run, steps, at_s, noticed)
            yield Case(row, kind, name, STATE, PROCESSES, wire, process_cases.run_case, steps, expected=noticed)


def wire_config(config: Config, roles: list[str]) -> Config:
    """The rig of the protocol level with these instruments of a config and their drivers."""
    settings = list(LONG)
    for role in roles:
        settings.append(f"{role}={_as_yaml(config.instruments[role])}")
        settings.append(f"devices.{role}={_as_yaml(getattr(config.devices, role))}")
    return protocol_config(settings)


def endpoints_of(devices: DevicesConfig | None, role: str) -> list[str]:
    """Names of the endpoints of an instrument's driver in a simulated rig."""
    section = getattr(devices, role)
    asked = _AnyEndpoint()
    driver_of(section).at_endpoints(section.model_dump(mode="json"), asked)
    return list(asked)


class _AnyEndpoint(dict[str, str]):
    """Endpoints of a simulated rig that has every one that it is asked for."""

    def __missing__(self, name: str) -> str:
        self[name] = "127.0.0.1:1"
        return self[name]


def _expected(
    all_needed: tuple[str, ...],
    role: str,
    bound_ms: float | None,
    row: Fault = Fault.MEASURED_MOTION,
    *,
    optional: bool = False,
) -> ExpectedOutcome:
    """A mark; Safe where the experiment needs the instrument, which then is also a lost link or a lost process."""
    needed = role in all_needed
    also = {Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.PROCESS_LOST} if needed else set[Fault]()
    stop_ms = None
    if needed and bound_ms is not None:
        stop_ms = bound_ms + STOP_WRITTEN_NS * 1e-6
    says = "" if needed else f"{role}: "  # a driver has its own words for its device
    return ExpectedOutcome(frozenset({row} | also), bound_ms, stop_ms, optional=optional, says=says, goes_on=not needed)


def _of_line(
    endpoint: str, noticed: ExpectedOutcome, unclear: ExpectedOutcome
) -> Iterator[tuple[str, tuple[Step, ...], ExpectedOutcome]]:
    """Kind, what is done, and what must come of it."""
    back = fault(endpoint, "reconnect")
    yield "off", (fault(endpoint, "off"),), noticed
    yield "off and on again", (fault(endpoint, "off"), wait(GONE_S), back), noticed
    yield "unplugged and plugged in", (fault(endpoint, "disconnect"), wait(GONE_S), back), noticed
    # of messages that come without being asked for, one or two that are lost or late make no reading stale
    yield "garbage", (fault(endpoint, "garbage", count=3, every=3),), unclear
    yield "intermittent", (fault(endpoint, "intermittent", count=4),), unclear
    yield "delayed", (fault(endpoint, "delayed", ms=25.0),), unclear
    yield "duplicate", (fault(endpoint, "duplicate", count=5, every=7),), unclear
    yield "slow", (fault(endpoint, "slow", ms=25.0),), unclear


def _of_process(role: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
    yield "killed", (send(role, signal.SIGKILL),)
    yield "stopped", (send(role, signal.SIGSTOP), wait(GONE_S), send(role, signal.SIGCONT))


def _as_yaml(section: Any) -> str:
    """A section as a value of --set."""
    return json.dumps(section.model_dump(mode="json"))


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


class _DamagedCamera:
    """The process of a camera which gives only such frames, over the whole of a run.

    Args:
        span_ns: how long it gives frames [ns].
    """

    ending = orphaned = False

    def __init__(self, flags: int, jpeg: bytes, span_ns: int) -> None:
        self._flags, self._jpeg, self._span_ns = flags, jpeg, span_ns

    def __call__(self, folder: Path, camera: CameraConfig) -> Any:
        """Write the frames that are some into a folder."""

        def source(_ending: Any, began: Callable[[], None]) -> Iterator[CameraFrame]:
            began()
            for number, t_ns in enumerate(range(0, self._span_ns, round(1e9 / camera.rate_hz))):
                if found := captured(MONOTONIC | self._flags, t_ns, number, self._jpeg, t_ns):
                    yield found

        capture(folder, self, source)
        return self

    def receive(self, _within_s: float) -> dict[str, Any]:
        """Say that frames may come."""
        return {"ready": True}

    def end(self, _within_s: float) -> bool:
        """End in order."""
        return True

    def ready(self, *_: Any, **__: Any) -> None:
        """Nobody waits for it."""

    def report(self, **_: Any) -> None:
        """It has nothing to say."""


def run_filmed(case: Case) -> InjectionOutcome:
    """Make a run in lockstep that such a camera films: it must be marked as one without a single frame."""
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as place, ExitStack() as stack:
        folder, config, (flags, jpeg) = Path(place), case.config, case.act
        assert config.camera is not None
        rig = open_backend(Rig(config), folder, lambda _: None, stack)
        resident = Resident(Rig(config), rig, Signals(), lambda _: None)
        camera = Capture(folder, config.camera, _DamagedCamera(flags, jpeg, FILMED_NS))
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
    bound_ms = FAULT_TABLE[ROW].bound_for(times) or 0.0
    stopped_ms = bound_ms + STOP_WRITTEN_NS * 1e-6
    rows = frozenset({ROW})
    for row in by_reaction[Reaction.SAFE]:
        yield row.words, row.value, ExpectedOutcome(rows, bound_ms, stopped_ms, says=row.words)
    for row in by_reaction[Reaction.MARK]:
        yield row.words, row.value, ExpectedOutcome(rows, bound_ms, says=row.words, goes_on=True)
    if ignored := by_reaction[Reaction.IGNORED]:
        yield "all that is ignored", sum(row.value for row in ignored), ExpectedOutcome()
