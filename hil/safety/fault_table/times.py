"""A row of the fault table, and the times within which its fault is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hil.config import Config
from hil.ipc.run_memory import LEAST_TICKS, RING_S
from hil.messages.fault import (
    E_STOP_NS,
    FULL,
    HEALTH_EVERY_NS,
    LEAST_SET_RADPS,
    LINK_LOST_NS,
    NOT_FOLLOWING_NS,
    STANDS_SHARE,
    STATUS_ROUNDS,
    Fault,
)
from hil.messages.layout import INSTRUMENTS, OUTPUTS, SAMPLED
from hil.safety.limits import POWER_AGE, age_limits, finite_limit, follow_limits, valve_limit

ByDevice = dict[str, float]


class ReactionTimes:
    """Of one rig, in ms; by the name of the link where they differ. None: nothing watches it on that rig."""

    def __init__(self, config: Config) -> None:
        self.config, self._limits, self._links = config, config.limits, config.layout.links
        self._valves = config.devices.valves if config.devices else None
        #: limits on the age of the newest sample, by link
        self.ages = age_limits(config.limits, config.layout.links)
        self.tick_ms = 1e3 / config.loop.rate_hz

    def age(self, device: str) -> float:
        """Largest age of the newest sample of a device."""
        return self.ages[device].most

    def samples(self, device: str) -> float:
        """Period of the samples of a device."""
        section = {"daq": self.config.daq, "loads": self.config.loads}.get(device)
        return self.tick_ms if section is None else section.block_ms

    @property
    def blocks(self) -> float:
        """A block of the slowest data acquisition; a block shorter than a tick counts as one tick."""
        return max(self.tick_ms, *(self.samples(device) for device in SAMPLED))

    def aged(self, fault: Fault) -> ByDevice:
        """Samples that are too old."""
        return {name: limit.most + self.tick_ms for name, limit in self.ages.items() if limit.fault == fault}

    def stales(self) -> ByDevice:
        """Of drives and valves by the age of their answer, of channels by the time of the equal samples."""
        config, limits = self.config, self._limits
        by_device: ByDevice = {}
        if config.daq is not None and limits.frozen_samples:
            by_device["daq"] = config.daq.block_ms + 1e3 * limits.frozen_samples / config.daq.rate_hz
        if config.loads is not None and limits.loads_frozen_samples:
            by_device["loads"] = config.loads.block_ms + 1e3 * limits.loads_frozen_samples / config.loads.rate_hz
        return self.aged(Fault.SENSOR_STALE) | {name: time + self.tick_ms for name, time in by_device.items()}

    def not_finites(self) -> ByDevice:
        """Samples that are no numbers. Drives that are simulated in the loop's process answer in each tick."""
        config = self.config
        drives = config.devices.drives if config.devices and config.rig != "simulated" else None
        answers, bad = 1e3 / drives.rate_hz if drives else self.tick_ms, finite_limit("").hold + 1
        sampled = [name for name in self._links if name in SAMPLED]
        times = {"drives": bad * answers + self.tick_ms} | dict.fromkeys(sampled, bad * self.blocks + self.tick_ms)
        return times | ({"servos": bad * self.servo_answer_ms + self.tick_ms} if "servos" in self._links else {})

    @property
    def servo_answer_ms(self) -> float:
        """From one sample of the servos to the next.

        Those that are simulated in the loop's process answer in each tick; those of a device may take half of the age
        from which a sample counts as stale.
        """
        return self.tick_ms if self.config.rig == "simulated" else 0.5 * self.age("servos")

    def joint_follows(self) -> float | None:
        """A driven joint that is far from its command."""
        rows = follow_limits(self.config)
        return rows[0].hold * 1e-6 + self.servo_answer_ms + self.tick_ms if rows else None

    def instruments(self) -> ByDevice:
        """What an instrument of motion is noticed by last: an old reading, no number, or one that repeats itself."""
        first, sections = self.playbacks(), self.config.instruments
        lasts = {role: max(one.stale_ms, 1e3 * one.frozen_readings / one.rate_hz) for role, one in sections.items()}
        return {role: lasts[role] + first[role] for role in sections}

    def playbacks(self) -> ByDevice:
        """The next reading of an instrument of motion."""
        return {role: one.delay_ms + 1e3 / one.rate_hz + self.tick_ms for role, one in self.config.instruments.items()}

    def measured(self) -> float | None:
        """A current, a voltage or a pressure."""
        limits, valves = self._limits, self._valves
        times = [POWER_AGE.most] if limits.motor_current_A or limits.supply_V else []
        times += [1e3 / valves.rate_hz if valves else 0.0] if limits.pressure_kPa else []
        return max(times) + self.tick_ms if times else None

    def losts(self) -> ByDevice:
        """Of a device that is asked less often at the latest by the age of its newest answer.

        Outputs have no answer: their link is lost when they are next written.
        """
        written = [name for name in self._links if name in OUTPUTS]
        asked = [name for name in self._links if name not in ("drives", *OUTPUTS, *INSTRUMENTS)]
        times = {"drives": LINK_LOST_NS / 1e6} | {name: self.age(name) + self.tick_ms for name in asked}
        return times | dict.fromkeys(written, self.tick_ms)

    def valve(self) -> float | None:
        """A valve that does not move."""
        supply_Pa = self.config.cylinders.supply_kPa * 1e3
        limit = valve_limit(self._valves, supply_Pa, regulated=bool(self.config.layout.regulators))
        return limit.hold * 1e-6 + 1e3 / self._valves.rate_hz + self.tick_ms if limit and self._valves else None

    def reported(self) -> float | None:
        """What a motor controller reports about itself; one that is simulated in this process reports nothing."""
        devices = self.config.devices
        if devices is None or self.config.rig == "simulated":
            return None
        sections = [section for section in (devices.drives, devices.servos) if section is not None]
        rounds_ms = max((1e3 * STATUS_ROUNDS / section.rate_hz for section in sections), default=0.0)
        return max(rounds_ms + HEALTH_EVERY_NS / 1e6, E_STOP_NS / 1e6) + self.tick_ms

    def ring(self) -> float:
        """A ring that fills."""
        ticks_s = max(RING_S, LEAST_TICKS / self.config.loop.rate_hz)
        return FULL * 1e3 * (ticks_s if self.config.daq is None else RING_S) + self.tick_ms

    def standing(self) -> float | None:
        """A wheel that does not turn, by an answer of the drives that is as old as it may be.

        Until the drive's own loop asks for its full torque, from as much the other way, at the least speed.
        """
        if not self.config.layout.wheels:
            return None
        wound_ms = 2e3 * self.config.drives.full_torque_rad / ((1.0 - STANDS_SHARE) * LEAST_SET_RADPS)
        return max(NOT_FOLLOWING_NS / 1e6, wound_ms) + 2.0 * self.age("drives") + self.tick_ms


# How a latched fault is cleared; it latches again if its cause is still there.
BY_OPERATOR = "by an operator: hil command clear NUMBER"
# A row that is not a latched fault.
NOTHING_TO_CLEAR = "nothing to clear"
NOT_ARMED = "nothing to clear: a run is armed once the check holds"


@dataclass(frozen=True)
class FaultRow:
    """What is watched, how soon it is noticed, what happens then, and what a person does."""

    number: int  #: of the row; the number of the fault in a record, if it is one
    name: str  #: as a person says it
    watched: str  #: what is watched
    bound: str  #: the bound in words, with the config keys that set it
    operator: str  #: what the person at the rig looks at and does
    #: longest time from the cause to the reaction [ms], of a rig where it depends on the config, and by the name of the
    #: link where they differ; None: not a matter of time, or not watched on that rig
    bound_ms: Callable[[ReactionTimes], ByDevice | float | None] | float | None = None
    reaction: str = "Safe"  #: what the program does
    clears: str = BY_OPERATOR  #: how it is cleared: NOTHING_TO_CLEAR and NOT_ARMED are of rows that latch nothing
    #: its cause lies outside the values of a tick; the others are noticed again wherever the values are the same
    external: bool = False

    @property
    def latched(self) -> bool:
        """Safe stays latched until an operator clears the fault."""
        return self.clears not in (NOTHING_TO_CLEAR, NOT_ARMED)

    def bounds(self, times: ReactionTimes) -> ByDevice | float | None:
        """`bound_ms` of that rig."""
        return self.bound_ms(times) if callable(self.bound_ms) else self.bound_ms

    def bound_for(self, times: ReactionTimes, device: str = "") -> float | None:
        """Longest time from cause to reaction on that rig [ms], in the link `device` or any; None: as `bound_ms`."""
        found = self.bounds(times)
        if not isinstance(found, dict):
            return found
        return found.get(device) if device else max(found.values(), default=None)

    def as_json(self) -> dict[str, Any]:
        """The columns for a person; `bound_ms` is None where it depends on the config."""
        columns = ("number", "name", "watched", "bound_ms", "bound", "reaction", "latched", "clears", "operator")
        values = {name: getattr(self, name) for name in columns}
        return values | {"bound_ms": None if callable(self.bound_ms) else self.bound_ms}
