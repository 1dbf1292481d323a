"""Experiment `capture`: an arm catches a payload; how it moves, and how the run is judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.config.schema.capture import CaptureConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.estimation.twin import CaptureTwin
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.summary import finite
from hil.experiments.summary_table import Claim, SummaryKey, quantity
from hil.messages.stages import ByServo, Estimate, Goal, Prediction, Samples
from hil.recording.content import in_blocks, packed
from models.plant.grapple import CaptureTruth
from models.rover.arm_names import GRAPPLE, PAYLOAD
from models.rover.body_points import body_point
from models.rover.rover import Rover

# State of a capture; numbers as for the states of other experiments where they are alike.
CaptureState = IntEnum("CaptureState", {
    "IDLE": 0, "ARMED": 1, "APPROACH": 2, "LATCH": 3, "SETTLE": 4,
    "DONE": 5, "ABORTED": 6, "HOLD": 11, "CONTROL": 12,
})  # fmt: skip
# faster in a tick, see hil.experiments.base
IDLE, ARMED, APPROACH, LATCH, SETTLE, DONE, ABORTED, HOLD, CONTROL = CaptureState
MOVING = (APPROACH, LATCH, HOLD, CONTROL)
# Names of those while it captures.
PHASES = {int(state): state.name.lower() for state in MOVING}


Floats = NDArray[np.float64]


class _Momentum(NamedTuple):
    """About the origin of the world, its axes."""

    linear: Floats
    angular: Floats


class Configuration(NamedTuple):
    """Of one tick."""

    t_s: float  #: time [s]
    pose: Floats  #: (7,) of the base: place [m], quaternion
    joints: Floats  #: (joints,) by name, as the record has them [rad, m]


def configuration_of(rover: Rover, names: tuple[str, ...], pose: Floats, joints: Floats) -> Floats:
    """The rover's own configuration (nq,) from a row of a record."""
    own = [joints[names.index(name)] for name in rover.joint_names]
    turn = pose[3:] / np.linalg.norm(pose[3:])
    return np.concatenate([pose[:3], turn, own])


def momentum_between(rover: Rover, names: tuple[str, ...], first: Configuration, last: Configuration) -> _Momentum:
    """Mean momentum between two ticks: each body's way and turn over the time between them."""
    span_s = last.t_s - first.t_s
    ends = [configuration_of(rover, names, one.pose, one.joints) for one in (first, last)]
    linear, angular = np.zeros(3), np.zeros(3)
    for body in rover.tree.bodies:
        begin, end = (body_point(rover, q, body.name, np.array(body.com)) for q in ends)
        push = body.mass * (end.place - begin.place) / span_s
        turned = Rotation.from_matrix(end.rotation @ begin.rotation.T).as_rotvec() / span_s
        half = 0.5 * (begin.rotation + end.rotation)  # to second order that of the middle
        linear += push
        angular += np.cross(0.5 * (begin.place + end.place), push) + half @ body.inertia_matrix @ half.T @ turned
    return _Momentum(linear, angular)


def bending_places(names: Sequence[str]) -> dict[str, list[int]]:
    """Places of the bending coordinates of each boom that bends; its end is deflected by their sum."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if name.endswith("_bend"):
            found.setdefault(name.split("_")[0], []).append(place)
    return found


_FIELDS = ("t_ns", "state", "pose", "joint_angle_rad", "servo_angle_rad", "gap_m", "effective_kinetic_energy_J")
# Between rows that are looked at; the end over which speeds are taken; pairs of rows for a momentum, and their spans.
_EVERY_S, _END_S, _PAIRS, _SPAN_S = 0.01, 0.5, 8, 0.1

# In the order of the terminal.
RESULTS = (
    SummaryKey("phases_s", "length of `approach`, `latch`, `hold`, `control`", "phases", 2, "s"),
    SummaryKey("seat_contact_s, latched_s, held_s", "first impact on the seat, and its speed; when the latch closed on "
        "the payload, and when it held rigidly; null: never", "contact, latch, rigid hold, twin", 3, "s"),
    SummaryKey("seat_contact_true_s, latched_true_s, held_true_s", "", "contact, latch, rigid hold, simulated rig", 3,
        "s"),
    SummaryKey("closing_speed_mps, closing_speed_true_mps", ""),
    SummaryKey("contact_s", "when the phase latch began"),
    SummaryKey("capture_energy_J", "energy that a plastic capture with free joints would have taken right before",
        "energy that a capture takes at the contact, twin", 3, "J"),
    SummaryKey("energy_lost_J", "energy that impacts and rigid hold took; of each", "energy lost, twin", 3, "J",
        main="energy lost"),
    SummaryKey("energy_lost_true_J", "", "energy lost, simulated rig", 3, "J"),
    SummaryKey("energy_lost_parts_J, energy_lost_parts_true_J", ""),
    SummaryKey("seat_offset_true_mm", "where the payload was from the seat when it was held: ahead, across",
        "payload from the seat at the hold, simulated rig", 1, "mm"),
    SummaryKey("seat_offset_mm", ""),
    SummaryKey("missed, held", "the latch closed on nothing, of twin or rig; both hold the payload rigidly"),
    SummaryKey("turn_by_joint_deg", "largest measured turn of each joint since the start, and of all",
        "largest turn of each joint, measured", 1, "deg"),
    SummaryKey("turn_max_deg", ""),
    SummaryKey("rate_end_degps", "largest measured speed of a joint over the last 0.5 s",
        "largest speed of a joint at the end, measured", 3, "deg/s"),
    SummaryKey("servo_torque_max_Nm", "largest torque on a joint", "largest torque of a servo's motion, twin", 0,
        "N m"),
    SummaryKey("bend_max_mm", "largest deflection of a boom's end", "largest deflection of a boom, twin", 1, "mm"),
    SummaryKey("craft_turn_deg", "largest turn and displacement of the spacecraft",
        "largest turn of the spacecraft, twin", 4, "deg"),
    SummaryKey("craft_way_m", "", "largest displacement of the spacecraft, twin", 3, "m"),
    SummaryKey("momentum_before_Ns, momentum_after_Ns, angular_momentum_before_Nms, angular_momentum_after_Nms", "of "
        "arm and payload in the phases approach and control, about the world's origin, from poses and joint angles of "
        "the record; null: a phase is missing"),
    SummaryKey("momentum_change", "difference of the first two, over the payload's momentum as it came; of the others, "
        "over the angular momentum before", "change of momentum, twin", 5, main="momentum change"),
    SummaryKey("angular_momentum_change", "", "change of angular momentum, twin", 5),
    SummaryKey("joints", "driven joints, the grapple last; the lists follow the others", "joints, in this order"),
)  # fmt: skip


def judged(run: FinishedRun) -> Summary:
    """The part of a summary that says how the capture went."""
    config, names = run.config, run.config.layout.turning
    every, rate_hz = max(round(_EVERY_S * config.loop.rate_hz), 1), config.loop.rate_hz
    count, kept, seen, torque = dict.fromkeys(PHASES, 0), [], 0, 0.0
    contact_ns, energy_J = None, None
    for block in in_blocks(run.ticks):
        rows = packed(block, list(_FIELDS))
        inside = np.isin(rows["state"], [*PHASES, SETTLE])
        for phase in PHASES:
            count[phase] += int((rows["state"] == phase).sum())
        before, first = rows[rows["state"] == APPROACH][-1:], rows[rows["state"] == LATCH][:1]
        if before.size:
            energy_J = float(before["effective_kinetic_energy_J"][0])  # in the tick of the contact it is taken
        if contact_ns is None and first.size:
            contact_ns = int(first["t_ns"][0])
        if inside.any():
            torque = max(torque, float(np.abs(block["servo_torque_Nm"][inside][:, :-1]).max()))
        rows = rows[inside]
        if len(rows):
            kept.append(rows[-seen % every :: every])
            seen += len(rows)
    ticks = np.concatenate(kept) if kept else np.zeros(0, packed(run.ticks[:0], list(_FIELDS)).dtype)
    twin = run.cycle.twin
    each = {"": twin.grapple.outcome if isinstance(twin, CaptureTwin) else None, "_true": run.ground_truth.capture}
    found: Summary = {
        "joints": list(config.layout.servos),
        "phases_s": {name: count[phase] / rate_hz for phase, name in PHASES.items()},
        "contact_s": None if contact_ns is None else 1e-9 * contact_ns,
        "capture_energy_J": None if energy_J is None or contact_ns is None else finite(energy_J),
        "servo_torque_max_Nm": finite(torque),
        **_of_grapple(each[""], ""),
        **_of_grapple(each["_true"], "_true"),
        **_motion(ticks, names),
        **_momentum(run.rig.nominal.make_rover(), ticks, names, config.capture.speed_mps),
    }
    found["missed"] = any(one is not None and one.missed for one in each.values())
    found["held"] = all(one is None or one.held_ns is not None for one in each.values()) and count[HOLD] > 0
    return found


def _of_grapple(found: CaptureTruth | None, of: str) -> Summary:
    """What the grapple of the twin, or of the simulated rig, did."""
    times: Summary = {"seat_contact": None, "latched": None, "held": None}
    speed = lost = parts = offset = None
    if found is not None:
        ends = (found.contact_ns, found.latched_ns, found.held_ns)
        times = {key: None if t_ns is None else 1e-9 * t_ns for key, t_ns in zip(times, ends, strict=True)}
        speed = None if found.contact_ns is None else finite(found.contact_speed)
        parts = [finite(found.contact_loss), finite(found.hold_loss)]
        lost = finite(found.contact_loss + found.hold_loss)
        offset = None if found.held_ns is None else [finite(1e3 * found.ahead), finite(1e3 * found.across)]
    return {
        **{f"{key}{of}_s": value for key, value in times.items()},
        f"closing_speed{of}_mps": speed,
        f"energy_lost{of}_J": lost,
        f"energy_lost_parts{of}_J": parts,
        f"seat_offset{of}_mm": offset,
    }


def _motion(ticks: NDArray[Any], names: tuple[str, ...]) -> Summary:
    """Turns of joints, as measured, and of the craft; deflections of the booms' ends by the twin; speeds at the end."""
    keys = ("turn_by_joint_deg", "turn_max_deg", "rate_end_degps", "bend_max_mm", "craft_turn_deg", "craft_way_m")
    if len(ticks) < 2:
        return dict.fromkeys(keys)
    angles = np.degrees(ticks["servo_angle_rad"][:, :-1])  # the last is the grapple
    turns = np.abs(angles - angles[0]).max(axis=0)
    t_s = 1e-9 * ticks["t_ns"]
    last = int(np.searchsorted(t_s, t_s[-1] - _END_S))
    rates = np.abs(angles[-1] - angles[last]) / max(t_s[-1] - t_s[last], 1e-9)
    bends = [ticks["joint_angle_rad"][:, places].sum(axis=1) for places in bending_places(names).values()]
    pose = ticks["pose"].astype(np.float64)
    yaw = 2.0 * np.arctan2(pose[:, 5], pose[:, 6])
    values = (
        [finite(float(one)) for one in turns], float(turns.max()), float(rates.max()),
        1e3 * float(np.abs(bends).max(initial=0.0)), float(np.degrees(np.abs(np.unwrap(yaw) - yaw[0]).max())),
        float(np.linalg.norm(pose[:, :3] - pose[0, :3], axis=1).max()),
    )  # fmt: skip
    return dict(zip(keys, values, strict=True))


def _momentum(rover: Rover, ticks: NDArray[Any], names: tuple[str, ...], speed_mps: float) -> Summary:
    """Momentum before the contact and after the rigid hold, and its change over that of the payload when it came."""
    keys = (
        "momentum_before_Ns", "momentum_after_Ns", "angular_momentum_before_Nms", "angular_momentum_after_Nms",
    )  # fmt: skip
    found: Summary = {**dict.fromkeys(keys), "momentum_change": None, "angular_momentum_change": None}
    before, after = (_mean(rover, ticks[ticks["state"] == one], names) for one in (APPROACH, CONTROL))
    if before is None or after is None:
        return found
    vectors = (before.linear, after.linear, before.angular, after.angular)
    found |= {key: [finite(float(one)) for one in vector] for key, vector in zip(keys, vectors, strict=True)}
    payload = rover.tree.body[PAYLOAD].mass * speed_mps
    found["momentum_change"] = finite(float(np.linalg.norm(after.linear - before.linear)) / payload)
    found["angular_momentum_change"] = finite(
        float(np.linalg.norm(after.angular - before.angular) / np.linalg.norm(before.angular))
    )
    return found


def _mean(rover: Rover, ticks: NDArray[Any], names: tuple[str, ...]) -> _Momentum | None:
    """Mean over pairs of rows that are spread over these ticks; None: there are too few."""
    step = round(_SPAN_S / _EVERY_S)
    if len(ticks) <= step + 1:
        return None
    pairs = []
    for first in np.linspace(0, len(ticks) - step - 1, _PAIRS).astype(int).tolist():
        ends = [_configuration(row) for row in (ticks[first], ticks[first + step])]
        pairs.append(momentum_between(rover, names, *ends))
    return _Momentum(*(np.mean([getattr(one, key) for one in pairs], axis=0) for key in _Momentum._fields))


def _configuration(row: np.void) -> Configuration:
    return Configuration(
        1e-9 * float(row["t_ns"]), row["pose"].astype(np.float64), row["joint_angle_rad"].astype(np.float64)
    )


# Part of a servo's largest rate and acceleration at which its set angle moves: the limiter has nothing to clamp.
OF_RATE = 0.9
# The grapple is commanded so far beyond the way at which it acts [m]: its drive need not get there exactly.
BEYOND_M = 0.003


class CaptureExperiment(Experiment):
    """Idle until armed; approach until the payload is in the seat; latch; hold it rigidly; bring the arm to rest.

    Where the payload is says the twin, and where the grapple is its measured way. In latch and hold the joints give
    way: each is commanded to where it is, so that its servo brakes it and does not push it back. Then they return to
    their start angles.
    """

    name = "capture"
    section: ClassVar[type[ExperimentSection]] = CaptureConfig
    states = CaptureState
    figure = "capture.png"
    plotter = "hil.experiments.capture.figure:plot_capture"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        section, joints, rate_hz = self.config.capture, self.config.driven_joints, self.config.loop.rate_hz
        each_s = section.timeout_s, section.latch_s, section.hold_s, section.control_s, section.settle_s
        timeout_ns, latch_ns, hold_ns, control_ns, self._settle_ns = (round(1e9 * one) for one in each_s)
        self._timeout_ns, self._hold_ns = timeout_ns, hold_ns
        self._lasts_ns: dict[IntEnum, int] = {LATCH: latch_ns, CONTROL: control_ns}
        self._start: ByServo = tuple(joint.start_rad for joint in joints)
        self._grapple = [joint.name for joint in joints].index(GRAPPLE)
        highest = joints[self._grapple].high_rad
        self._hold_way = 1e-3 * section.hold_mm
        self._ways: dict[IntEnum, float] = {
            LATCH: min(1e-3 * section.latch_mm + BEYOND_M, 0.5e-3 * (section.latch_mm + section.hold_mm)),
            HOLD: min(self._hold_way + BEYOND_M, highest),
        }
        self._ranges = tuple((joint.low_rad, joint.high_rad) for joint in joints)
        self._steps = tuple(OF_RATE * joint.rate_radps / rate_hz for joint in joints)
        slow = math.radians(section.control_degps) / rate_hz
        slowly = tuple(min(slow, step) for step in self._steps)
        self._slowly = (*slowly[: self._grapple], self._steps[self._grapple], *slowly[self._grapple + 1 :])
        self._set, self._way, self._held_ns = self._start, self._start[self._grapple], -1

    def headline(self) -> str:
        """Payload and speed."""
        payload_kg = self.rig.nominal.make_rover().tree.body[PAYLOAD].mass
        return f"a payload of {payload_kg:g} kg comes with {self.config.capture.speed_mps:g} m/s"

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""
        t_ns = samples.t_ns
        measured = samples.servos.angle_rad if samples.servos is not None else self._start
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == ARMED and self._may_start(samples):
            self._enter(APPROACH, t_ns)
        elif self.state in MOVING:
            self._go_on(t_ns, prediction.gap_m, measured[self._grapple])
        elif self.state == SETTLE and t_ns - self._since_ns >= self._settle_ns:
            self._enter(DONE, t_ns)
        if self.state in MOVING:
            self._move(measured)
        return Goal(self.state, self.state not in MOVING, joint_angle_rad=self._set)

    def _go_on(self, t_ns: int, gap_m: float, way_m: float) -> None:
        """To the next phase, if this one is over."""
        elapsed_ns = t_ns - self._since_ns
        if self.state == APPROACH:
            if gap_m <= 0.0:
                self._enter(LATCH, t_ns)
            elif elapsed_ns >= self._timeout_ns:
                self._enter(SETTLE, t_ns)
        elif self.state == HOLD:
            if self._held_ns < 0 and way_m >= self._hold_way:
                self._held_ns = t_ns
            if 0 <= self._held_ns <= t_ns - self._hold_ns:
                self._enter(CONTROL, t_ns)
            elif elapsed_ns >= self._timeout_ns + self._hold_ns:  # the drive does not get there
                self._enter(SETTLE, t_ns)
        elif elapsed_ns >= self._lasts_ns[self.state]:
            self._enter(HOLD if self.state == LATCH else SETTLE, t_ns)
        self._way = self._ways.get(self.state, self._way)

    def _move(self, measured: ByServo) -> None:
        """Set angles: the start, or where the joints are; and the grapple's way."""
        gives = self.state in (LATCH, HOLD)
        steps = self._slowly if self.state == CONTROL else self._steps
        out = []
        for i, (last, step, (low, high)) in enumerate(zip(self._set, steps, self._ranges, strict=True)):
            wish = measured[i] if gives else self._start[i]
            if i == self._grapple:
                wish = self._way
            wish = min(max(wish, low), high)
            out.append(last + min(max(wish - last, -step), step))
        self._set = tuple(out)

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        found = judged(run)
        return {**found, **self.verdict(run, self._own_reasons(found))}

    def _own_reasons(self, found: Summary) -> list[str]:
        """Why a run that went through would not be accepted."""
        section, reasons = self.config.capture, []
        if found["contact_s"] is None:
            reasons.append(
                f"the payload did not come within {section.timeout_s:g} s (capture.timeout_s; gap_m over speed_mps)"
            )
        elif found["missed"]:
            reasons.append(
                f"the latch closed while the payload was out of its reach of {section.reach_m:g} m (capture.reach_m)"
            )
        elif not found["held"]:
            reasons.append("the payload was not held rigidly: the grapple's drive did not get to capture.hold_mm")
        for key, words, unit, limit, name in (
            ("turn_max_deg", "a joint turned by", "deg", section.most_turn_deg, "most_turn_deg"),
            ("rate_end_degps", "at the end a joint turned at", "deg/s", section.most_rate_degps, "most_rate_degps"),
            ("bend_max_mm", "a boom bent by", "mm", section.most_bend_mm, "most_bend_mm"),
            ("momentum_change", "momentum changed by a share of", "", section.most_momentum, "most_momentum"),
        ):
            if (value := found[key]) is not None and value > limit:
                shown = quantity(value, unit, 4)
                reasons.append(f"{words} {shown}, allowed: {limit:g} {unit}".rstrip() + f" (capture.{name})")
        return reasons

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:  # noqa: ARG002
        """None: whether it held is asked of the simulated rig too."""
        return ()
