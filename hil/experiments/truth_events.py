"""What only a simulated rig can tell, as events of the record: noted at the end of a run, read back by a proof.

Each has id 0, a number as its value, and the time of what it is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hil.messages.schema import event_row
from hil.simulator.ground_truth import GroundTruth
from models.plant.grapple import CaptureTruth
from models.plant.motion_history import BY_WHEEL, DIGITS
from models.plant.plate_truth import PlateTruth
from models.plant.towing import Traction
from models.plant.validity_watch import Outside

Rows = NDArray[np.void]

HIT_SPEED = "truth: impact speed"  # at the time of the first touch
FORCE_PEAK = "truth: contact force peak"
ENERGY = "truth: energy at impact"
ENERGY_ON_GROUND = "truth: energy at impact, ground"
PLATE_ONSET = "truth: sensors' load onset"  # at that time; it has no value
PLATE_PEAK = "truth: sensors' load peak"
PLATE_SUM = "truth: sum of sensors' peaks"
PLATE_IMPULSE = "truth: sensors' impulse"  # at the end of the first contact
HEADING = "truth: heading at impact"  # of a rig that veers, as the next
ACROSS = "truth: across at impact"
SLIP = "truth: slipped off the plate"  # at the time of the slip
LOADS = "truth: wheel loads, torques"  # at the end of the stretch that they are means of
# At a time: place, roll, pitch, yaw, forward speed and yaw rate; slip of each wheel; normal force of each wheel.
MOTION = ("truth: motion", "truth: slips", "truth: normal forces")
PULL = "truth: drawbar pull"  # of an experiment of traction, as the next three; at time 0
TOWED_SLIP = "truth: slip"
TOWED_SPEED = "truth: speed"
SINKAGE = "truth: sinkage"
OUTSIDE = "truth: outside its models"  # since that time; it has a limit, too
CAPTURE = "truth: capture"  # of a rig with a grapple, at time 0: 1 where the latch closed on nothing
SEAT_SPEED = "truth: speed at the seat"  # at the time of the first impact, as the next
SEAT_LOSS = "truth: energy lost at the seat"
LATCHED = "truth: latched"  # at that time; it has no value
HOLD_LOSS = "truth: energy lost by the hold"  # at the time of the rigid hold, as the next two
AHEAD = "truth: held ahead of the seat"
ASIDE = "truth: held across the seat"
CUT = "truth: cut obeyed"  # at the time of the cut; it has no value
_NUMBERS = 9  # in the detail of an event


def truth_events(ground_truth: GroundTruth, rate_hz: int) -> Iterator[Rows]:
    """The truth of a run as rows of `EVENT`; none of a real rig.

    Args:
        ground_truth: of the rig, the run being over.
        rate_hz: of the loop.
    """

    def event(name: str, t_ns: int, value: float, detail: str) -> Rows:
        return event_row(0, name, t_ns * rate_hz // 1_000_000_000, t_ns, value, detail=detail)

    yield from _loads(ground_truth.loads, event)
    yield from _motion(ground_truth.motion, event)
    if traction := ground_truth.traction:
        means = "mean over the last part of the drive"
        yield event(PULL, 0, traction.pull, f"N, {means}")
        yield event(TOWED_SLIP, 0, traction.slip, f"of the rims, {means}")
        yield event(TOWED_SPEED, 0, traction.speed, f"m/s, {means}")
        yield event(SINKAGE, 0, traction.sinkage, f"m, of the wheels, {means}")
    if left := ground_truth.outside:
        tick = left.t_ns * rate_hz // 1_000_000_000
        yield event_row(0, OUTSIDE, tick, left.t_ns, left.value, left.limit, detail=left.words)
    if capture := ground_truth.capture:
        yield from _capture(capture, event)
    hit_ns, cut_ns = ground_truth.hit_ns, ground_truth.cut_ns
    if hit_ns is None:
        return
    yield event(HIT_SPEED, hit_ns, ground_truth.hit_speed, "m/s, when a wheel first touched the obstacle")
    yield event(FORCE_PEAK, hit_ns, ground_truth.contact_force_peak, "N, largest of the run, both front wheels")
    yield event(
        ENERGY, hit_ns, ground_truth.effective_kinetic_energy_when_hit(), "J, T_c of the simulated rig at first touch"
    )
    on_ground = ground_truth.effective_kinetic_energy_on_ground_when_hit()
    yield event(ENERGY_ON_GROUND, hit_ns, on_ground, "J, the same with the ground's active constraints")
    if plate := ground_truth.plate:
        onset_ns, end_ns = round(plate.onset_s * 1e9), round(plate.end_s * 1e9)
        yield event(PLATE_ONSET, onset_ns, 0.0, "true load of the force sensors begins")
        yield event(PLATE_PEAK, onset_ns, plate.peak_N, "N, of the first contact")
        yield event(PLATE_SUM, onset_ns, plate.sum_of_peaks_N, "N, of the first contact")
        yield event(PLATE_IMPULSE, end_ns, plate.impulse_Ns, "N s, until the load is 5 % of its peak")
    heading, across = ground_truth.hit_askew
    if not math.isnan(heading):
        yield event(HEADING, hit_ns, heading, "rad, of the rover when a wheel first touched, positive to port")
        yield event(ACROSS, hit_ns, across, "m, starboard wheel to port of where it hits if all is straight")
    slip_ns, force = ground_truth.slip
    if slip_ns is not None:
        yield event(SLIP, slip_ns, force, "N, on what first slipped off an edge of a plate")
    if cut_ns is not None:
        yield event(CUT, cut_ns, 0.0, "all drives cut, after the first touch")


def _capture(found: CaptureTruth, event: Callable[[str, int, float, str], Rows]) -> Iterator[Rows]:
    yield event(CAPTURE, 0, float(found.missed), "1: the latch closed on nothing")
    if found.contact_ns is not None:
        yield event(SEAT_SPEED, found.contact_ns, found.contact_speed, "m/s, when the payload first met the seat")
        yield event(SEAT_LOSS, found.contact_ns, found.contact_loss, "J, by all impacts on the seat")
    if found.latched_ns is not None:
        yield event(LATCHED, found.latched_ns, 0.0, "the latch closed on the payload")
    if found.held_ns is not None:
        yield event(HOLD_LOSS, found.held_ns, found.hold_loss, "J, when the payload was held rigidly")
        yield event(AHEAD, found.held_ns, found.ahead, "m, payload ahead of the seat")
        yield event(ASIDE, found.held_ns, found.across, "m, payload across the seat, to port above 0")


def _loads(rows: NDArray[np.float64] | None, event: Callable[[str, int, float, str], Rows]) -> Iterator[Rows]:
    """Loads [N] and torques [N m] as text, to the decimals that they have."""
    for row in () if rows is None else rows.tolist():
        for words in _details([f"{value:.3f}" for value in row[1:]]):
            yield event(LOADS, round(row[0] * 1e9), 0.0, words)


def _motion(rows: NDArray[np.float64] | None, event: Callable[[str, int, float, str], Rows]) -> Iterator[Rows]:
    """As text, to the decimals that they have: one event each for the motion, the slips and the loads of a time."""
    for row in () if rows is None else rows:
        base, wheels = row[1:BY_WHEEL], row[BY_WHEEL:].reshape(2, -1)
        for name, values in zip(MOTION, (base, *wheels), strict=True):
            for words in _details([f"{value:.{DIGITS}g}" for value in values]):
                yield event(name, round(row[0] * 1e9), 0.0, words)


def _details(numbers: Sequence[str]) -> Iterator[str]:
    """Numbers as the details of as many events as they need, of which one holds 128 bytes; of none one empty text."""
    for first in range(0, max(len(numbers), 1), _NUMBERS):
        yield " ".join(numbers[first : first + _NUMBERS])


def _of_rows(events: Rows, name: str) -> list[tuple[float, ...]]:
    """Time [s] and numbers of the events of that name; events of one time hold one row."""
    found: dict[int, tuple[float, ...]] = {}
    for row in events[events["name"] == name.encode()]:
        t_ns = int(row["t_ns"])
        found[t_ns] = (*found.get(t_ns, ()), *map(float, bytes(row["detail"]).split()))
    return [(t_ns * 1e-9, *numbers) for t_ns, numbers in found.items()]


class RecordedTruth:
    """The same read back (`hil.simulator.ground_truth.GroundTruth`).

    Args:
        events: of the record, rows of `EVENT`.
    """

    def __init__(self, events: Rows) -> None:
        found = {bytes(row["name"]).decode(errors="replace"): row for row in events}
        values = {name: float(row["value"]) for name, row in found.items()}
        times = {name: int(row["t_ns"]) for name, row in found.items()}
        self.contact_force_peak = values.get(FORCE_PEAK, math.nan)
        self.hit_speed = values.get(HIT_SPEED, 0.0)
        self.hit_ns, self.cut_ns = times.get(HIT_SPEED), times.get(CUT)
        self.traction: Traction | None = None
        if PULL in found:
            sinkage = values.get(SINKAGE, math.nan)
            self.traction = Traction(values[PULL], values[TOWED_SLIP], values[TOWED_SPEED], sinkage)
        self.plate: PlateTruth | None = None
        if PLATE_ONSET in found:
            self.plate = PlateTruth(
                times[PLATE_ONSET] * 1e-9,
                values[PLATE_PEAK],
                values[PLATE_SUM],
                values[PLATE_IMPULSE],
                times[PLATE_IMPULSE] * 1e-9,
            )
        self.outside: Outside | None = None
        if (row := found.get(OUTSIDE)) is not None:
            words = bytes(row["detail"]).decode(errors="replace")
            self.outside = Outside(times[OUTSIDE], values[OUTSIDE], float(row["limit"]), words)
        self.capture: CaptureTruth | None = None
        if CAPTURE in found:
            self.capture = CaptureTruth(
                values[CAPTURE] == 1.0, times.get(SEAT_SPEED), values.get(SEAT_SPEED, 0.0), values.get(SEAT_LOSS, 0.0),
                times.get(LATCHED), times.get(HOLD_LOSS), values.get(HOLD_LOSS, 0.0), values.get(AHEAD, math.nan),
                values.get(ASIDE, math.nan),
            )  # fmt: skip
        self.hit_askew = values.get(HEADING, math.nan), values.get(ACROSS, math.nan)
        self.slip = times.get(SLIP), values.get(SLIP, math.nan)
        loads = _of_rows(events, LOADS)
        self.loads = np.array(loads) if loads else None
        motion, *wheels = (_of_rows(events, name) for name in MOTION)
        rows = [sum((one[1:] for one in each), start=row) for row, *each in zip(motion, *wheels, strict=False)]
        self.motion = np.array(rows) if rows else None
        self._energy = values.get(ENERGY, math.nan)
        self._energy_on_ground = values.get(ENERGY_ON_GROUND, math.nan)

    def effective_kinetic_energy_when_hit(self) -> float:
        """T_c of the rig at first touch [J]."""
        return self._energy

    def effective_kinetic_energy_on_ground_when_hit(self) -> float:
        """The same with the ground's active constraints [J]."""
        return self._energy_on_ground
