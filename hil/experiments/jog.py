"""One short motion of a rig: turn wheels, power a valve, or turn a driven joint."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.messages import ValveSet
from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.capture import JogConfig
from hil.experiments.base import AFTER_NS, ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.summary_table import Claim, SummaryKey
from hil.messages.layout import Layout
from hil.messages.operator_input import Jog, JogJoint, SetPoint, Valve
from hil.messages.stages import ByServo, ByWheel, Estimate, Goal, Prediction, Samples
from hil.recording.content import Recorded
from hil.safety.monitor import SafetyMonitor

# Part of the acceleration that the limiter allows: a loop that has lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5

# In the order of the terminal.
RESULTS = (
    SummaryKey("motion", "what was to move, in words", "was to move"),
    SummaryKey("speed_reached_mps", "of each wheel by name: speed of the rim, mean over the second half of the motion; "
        "null where it is not measured", "speed reached", 3, "m/s"),
    SummaryKey("pressure_reached_kPa", "of each valve by name: largest pressure in its chamber; null where it is not "
        "measured", "pressure reached", 1, "kPa"),
    SummaryKey("angle_reached_deg", "of each driven joint by name: its last angle; only where joints are driven",
        "angle reached", 2, "deg"),
)  # fmt: skip


# State of a jog; numbers as for the states of an impact trial.
JogState = IntEnum("JogState", {"IDLE": 0, "ARMED": 1, "MOVE": 2, "SETTLE": 4, "DONE": 5, "ABORTED": 6})
IDLE, ARMED, MOVE, SETTLE, DONE, ABORTED = JogState  # faster in a tick, see hil.experiments.base


def wheel_speeds(jog: JogConfig, radii_m: Sequence[float], wheels: Sequence[str]) -> ByWheel:
    """Speed of each of these wheels from the config's section `jog` [rad/s]; a wheel at 0 is held at 0."""
    wanted = [wheel in jog.wheels or "all" in jog.wheels for wheel in wheels]
    return tuple(jog.speed_mps / radius_m if turns else 0.0 for turns, radius_m in zip(wanted, radii_m, strict=True))


def powered_valves(valve: str, cylinders: Sequence[str]) -> ValveSet:
    """The valve of that name; the wheels are cut while it is powered."""
    return tuple((f"{name}_extend" == valve, f"{name}_retract" == valve) for name in cylinders)


def what_moves(rig: Rig) -> str:
    """The parts that move, and for how long."""
    config, wheels = rig.config, rig.layout.wheels
    speeds = wheel_speeds(config.jog, config.wheel_radii_m, wheels)
    parts = [f"{name} at {config.jog.speed_mps:g} m/s" for name, speed in zip(wheels, speeds, strict=True) if speed]
    if config.jog.valve:
        parts.append(f"valve {config.jog.valve.replace('_', ' ')}")
    if config.jog.joint:
        parts.append(f"{config.jog.joint} to {config.jog.angle_deg:g} deg at {config.jog.rate_degps:g} deg/s")
    return f"{', '.join(parts)} for {config.jog.seconds:g} s"


class JogExperiment(Experiment):
    """Idle until the sensors are zeroed, armed if every check passes, then one motion, then cut.

    An impact ends it early. Speeds change more slowly than the limits, so that the limiter has nothing to clamp. An
    operator's set-point `speed_mps` replaces that of the wheels that turn. A driven joint turns from where it is
    measured at the begin; the others, and it afterwards, are held where they are.
    """

    name = "jog"
    section = JogConfig
    states = JogState
    set_points = MappingProxyType({"speed_mps": "m/s"})
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        jog, layout = rig.config.jog, rig.layout
        self._wanted = wheel_speeds(jog, rig.config.wheel_radii_m, layout.wheels)
        self._cut, self._before, self._speeds = not any(self._wanted), layout.zero_speeds, layout.zero_speeds
        self._asked_ns = 0
        self._valves = powered_valves(jog.valve, layout.cylinders)
        self._duration_ns = rig.config.jog.seconds * 1e9
        self._joint = layout.servos.index(jog.joint) if jog.joint else None
        self._target_rad, self._rate_radps = math.radians(jog.angle_deg), math.radians(jog.rate_degps)
        self._from_rad: ByServo = ()
        self._acceleration = OF_ACCELERATION * rig.limits.wheel_acceleration_radps2
        self.touched = False

    def headline(self) -> str:
        """What will move."""
        return f"{what_moves(self.rig)}; Ctrl-C stops it"

    @classmethod
    def label(cls, config: Config) -> str:
        """Wheels or a valve."""
        return "valve" if config.jog.valve else "jog"

    @property
    def done(self) -> bool:
        """The motion was completed, without an impact."""
        return super().done and not self.touched

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        t_ns, elapsed_ns = samples.t_ns, samples.t_ns - self._since_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state in (ARMED, MOVE) and estimate.impact_ns is not None:
            self.touched = True
            self._enter(SETTLE, t_ns)
        elif self.state == ARMED and self._may_start(samples):
            self._enter(MOVE, t_ns)
            self._asked_ns = t_ns
            if self._joint is not None and samples.servos is not None:
                self._from_rad = samples.servos.angle_rad
        elif self.state == MOVE and elapsed_ns >= self._duration_ns:
            self._enter(SETTLE, t_ns)
        elif self.state == SETTLE and elapsed_ns >= AFTER_NS:
            self._enter(DONE, t_ns)
        if self.state != MOVE:
            return Goal(self.state, True)
        for command in samples.operator:  # in most ticks none
            if isinstance(command, SetPoint) and command.name in self.set_points:
                jog = self.config.jog.model_copy(update={command.name: command.value})
                self._wanted = wheel_speeds(jog, self.config.wheel_radii_m, self.config.layout.wheels)
                self._before, self._asked_ns = self._speeds, t_ns
        reach = self._acceleration * (t_ns - self._asked_ns) * 1e-9
        self._speeds = tuple(
            [
                last + math.copysign(min(abs(new - last), reach), new - last)
                for new, last in zip(self._wanted, self._before, strict=True)
            ]
        )
        return Goal(
            self.state, self._cut, speed_radps=self._speeds, valves=self._valves, joint_angle_rad=self._angles(t_ns)
        )

    def _angles(self, t_ns: int) -> ByServo:
        """Of all driven joints, one of which turns; none: they hold."""
        if self._joint is None:
            return ()
        angles, far = list(self._from_rad), self._target_rad - self._from_rad[self._joint]
        turned = min(self._rate_radps * (t_ns - self._since_ns) * 1e-9, abs(far))
        angles[self._joint] += math.copysign(turned, far)
        return tuple(angles)

    def reasons(self, safety: SafetyMonitor, disturbance: Callable[[int], str] = lambda _: "") -> list[str]:
        """As of every experiment, and an early end."""
        touched = ["ended early: the force sensors detected an impact"] if self.touched else []
        return [*super().reasons(safety, disturbance), *touched]

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them; None for values that were not measured."""
        moved = what_moved(run.ticks, run.config.layout, run.config.wheel_radii_m)
        return {"motion": what_moves(run.rig), **moved, **super().summarise(run)}

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:  # noqa: ARG002
        """None: what it gives is measured."""
        return ()


def what_moved(ticks: Recorded, layout: Layout, radii_m: Sequence[float]) -> dict[str, Any]:
    """Rim speed of each wheel, mean over the second half of the motion [m/s]; largest pressures in that half [kPa].

    Also the last angle of each driven joint [deg], where there are any.

    Args:
        ticks: rows of `/tick`.
        layout: of the rig.
        radii_m: of the wheels [m].

    Returns:
        The values by key; None for values that were not measured.
    """
    moving = ticks[ticks["state"] == MOVE]
    speeds = moving["wheel_speed_radps"][len(moving) // 2 :] * radii_m
    pressures = moving["pressure_Pa"] if layout.cylinders else np.zeros((len(moving), 0, 2))
    by_valve = layout.valve_layout.by_valve(list(pressures.transpose(1, 2, 0) * 1e-3))
    moved: dict[str, Any] = {
        "speed_reached_mps": dict(zip(layout.wheels, (_known(wheel, np.mean) for wheel in speeds.T), strict=True)),
        "pressure_reached_kPa": dict(zip(layout.valves, (_known(one, np.max) for one in by_valve), strict=True)),
    }
    if layout.servos:
        last = np.degrees(moving["servo_angle_rad"][-1:]).T
        moved["angle_reached_deg"] = dict(zip(layout.servos, (_known(one, np.mean) for one in last), strict=True))
    return moved


def _known(values: NDArray[np.float64], of: Callable[[NDArray[np.float64]], Any]) -> float | None:
    return float(of(values)) if values.size and np.isfinite(values).all() else None


def jog_overrides(asked: Jog | JogJoint | Valve) -> list[str]:
    """Overrides that make a rig's config one of a jog: of wheels, of a driven joint or of a valve.

    Args:
        asked: what is to move, and for how long; the config checks it.
    """
    section: dict[str, object] = {"seconds": asked.seconds, "wheels": (), "valve": "", "joint": ""}
    if isinstance(asked, Jog):
        section |= {"wheels": asked.wheels, "speed_mps": asked.speed_mps}
    elif isinstance(asked, JogJoint):
        section |= {"joint": asked.joint, "angle_deg": asked.angle_deg, "rate_degps": asked.rate_degps}
    else:
        section |= {"valve": f"{asked.cylinder}_{asked.way}"}
    return ["experiment=jog", *(f"jog.{key}={json.dumps(value)}" for key, value in section.items())]
