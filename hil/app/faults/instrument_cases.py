"""Cases of the instruments of motion in lockstep (rows 33 and 40); of a rig without any there are none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hil.app.faults.case import Case, Expected
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep_cases import inject, lockstep_case
from hil.config import Config
from hil.config.schema.instruments import ImuConfig, JointsConfig, MotionConfig
from hil.messages.fault import Fault
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
        for fault in instrument_faults(config.instruments, role):
            expected = expected_of(config, role, fault)
            for state, tick in states.items():
                if state != "idle":
                    act = inject(role, fault)
                    yield lockstep_case(config, row_of(fault), fault.kind, role, state, tick, act, expected)
        # a force that is not gravity's, or a place where no rover is
        false = (
            DeviceFault("wrong", factor=FACTOR)
            if role == "imu"
            else DeviceFault("jump", offset=JUMP.get(role, JUMP_OF_OTHERS))
        )
        for fault in (DeviceFault("off"), DeviceFault("garbage"), DeviceFault("playback"), false):
            # what is noticed before arming is tried may lead to Safe, where the experiment needs the instrument
            row = row_of(fault)
            expected = Expected(frozenset({row}), optional=True, refused=True)
            act = inject(role, fault)
            yield lockstep_case(config, row, fault.kind, role, "idle", 1, act, expected)


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


def expected_of(config: Config, role: str, fault: DeviceFault) -> Expected:
    """What must come of it: a mark that names the instrument, and Safe where the experiment needs it."""
    row = row_of(fault)
    bound_ms = FAULT_TABLE[row].bound_for(ReactionTimes(config), role)
    assert bound_ms is not None
    subtle = fault.kind in SUBTLE or (role, fault.kind) == ("imu", "jump")
    unseen = fault.kind == "stuck" and not config.instruments[role].frozen_readings
    needed = role in config.needed_instruments
    return Expected(
        frozenset({row}),
        None if subtle else bound_ms,
        bound_ms + config.links.drives_delay_ms if needed and not subtle else None,
        optional=subtle or unseen,
        says=f"{role}: ",
        goes_on=not needed,
    )
