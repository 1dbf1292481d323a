"""What only a simulated rig can tell, and its one codec for mailbox, control socket and record."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.ipc.shared_types import GROUND_TRUTH
from hil.ipc.shm import Mailbox
from hil.messages.link_messages import event_row

if TYPE_CHECKING:
    from models.plant import Plant
    from models.plant.grapple import CaptureTruth
    from models.plant.plate_truth import PlateTruth
    from models.plant.towing import Traction
    from models.plant.validity_watch import RangeExit

Columns = dict[str, Any]
FloatArray = NDArray[np.float64]
Rows = NDArray[np.void]

TRUTH = "truth: "  #: each event of what a simulated rig knows of itself begins with it
HIT_SPEED = "truth: impact speed"
PLATE_PEAK = "truth: sensors' load peak"
HEADING = "truth: heading at impact"
ACROSS = "truth: across at impact"
SLIP = "truth: slipped off the plate"
LOADS = "truth: wheel loads, torques"  # at the end of the stretch that they are means of
# At a time: place, roll, pitch, yaw, forward speed and yaw rate; slip of each wheel; normal force of each wheel.
MOTION = ("truth: motion", "truth: slips", "truth: normal forces")
_HISTORIES = "loads", "motion"
_NUMBERS = 9  # in the detail of an event
_TOWED = "mean over the last part of the drive"


class _TruthRow(NamedTuple):
    """An event of the record that holds columns of the truth; it is there if they are."""

    name: str  # of the event
    time: str  # column of its time; empty: 0
    value: str  # column of its value; empty: it has none
    detail: str  # what it is, for people; with a limit the column of these words
    limit: str = ""  # column of its limit


_NOTED = (
    _TruthRow("truth: drawbar pull", "", "traction.pull", f"N, {_TOWED}"),
    _TruthRow("truth: slip", "", "traction.slip", f"of the rims, {_TOWED}"),
    _TruthRow("truth: speed", "", "traction.speed", f"m/s, {_TOWED}"),
    _TruthRow("truth: sinkage", "", "traction.sinkage", f"m, of the wheels, {_TOWED}"),
    _TruthRow("truth: outside its models", "outside.t_ns", "outside.value", "outside.words", "outside.limit"),
    _TruthRow("truth: capture", "", "capture.missed", "1: the latch closed on nothing"),
    _TruthRow(
        "truth: speed at the seat", "capture.contact_ns", "capture.contact_speed",
        "m/s, when the payload first met the seat",
    ),
    _TruthRow(
        "truth: energy lost at the seat", "capture.contact_ns", "capture.contact_loss", "J, by all impacts on the seat"
    ),
    _TruthRow("truth: latched", "capture.latched_ns", "", "the latch closed on the payload"),
    _TruthRow(
        "truth: energy lost by the hold", "capture.held_ns", "capture.hold_loss", "J, when the payload was held rigidly"
    ),
    _TruthRow("truth: held ahead of the seat", "capture.held_ns", "capture.ahead", "m, payload ahead of the seat"),
    _TruthRow(
        "truth: held across the seat", "capture.held_ns", "capture.across",
        "m, payload across the seat, to port above 0",
    ),
    _TruthRow(HIT_SPEED, "hit_ns", "hit_speed", "m/s, when a wheel first touched an obstacle that the sensors bear"),
    _TruthRow("truth: contact force peak", "hit_ns", "contact_force_peak", "N, largest of the run, both front wheels"),
    _TruthRow("truth: energy at impact", "hit_ns", "hit_energy", "J, T_c of the simulated rig at first touch"),
    _TruthRow(
        "truth: energy at impact, ground", "hit_ns", "hit_energy_on_ground",
        "J, the same with the ground's active constraints",
    ),
    _TruthRow("truth: sensors' load onset", "plate.onset_s", "", "true load of the force sensors begins"),
    _TruthRow(PLATE_PEAK, "plate.onset_s", "plate.peak_N", "N, of the first contact"),
    _TruthRow("truth: sum of sensors' peaks", "plate.onset_s", "plate.sum_of_peaks_N", "N, of the first contact"),
    _TruthRow("truth: sensors' impulse", "plate.end_s", "plate.impulse_Ns", "N s, until the load is 5 % of its peak"),
    _TruthRow(HEADING, "hit_ns", "hit_heading", "rad, of the rover then, positive to port"),
    _TruthRow(ACROSS, "hit_ns", "hit_across", "m, starboard wheel to port of where it hits if all is straight"),
    _TruthRow(SLIP, "slip_ns", "slip_force", "N, on what first slipped off an edge of a plate"),
    _TruthRow("truth: cut obeyed", "cut_ns", "", "all drives cut, after the first touch"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """What only a simulated rig can tell; a real one tells nothing, which the defaults are."""

    contact_force_peak: float = math.nan  # largest sum of both front wheels' normal forces on the obstacle [N]
    hit_speed: float = 0.0  # forward speed when a wheel first touched a plate that has the sensors [m/s]
    hit_ns: int | None = None  # when that was [ns], or None; what follows, up to `plate`, is not known without it
    hit_energy: float = math.nan  # effective kinetic energy then [J]
    hit_energy_on_ground: float = math.nan  # the same with the ground's active constraints [J]
    hit_heading: float | None = None  # heading then [rad]; None: the rig does not veer
    # how far to port the starboard wheel then was of where it hits if all is straight [m]; likewise.
    hit_across: float | None = None
    slip_ns: int | None = None  # when something first slipped off an edge of a plate [ns], or None
    slip_force: float = math.nan  # with what force [N]
    cut_ns: int | None = None  # when the rig obeyed the first cut after the hit [ns], or None
    # true load of the force sensors over the first contact; None: there was none, or no sensors.
    plate: PlateTruth | None = None
    # pull, slip, speed and sinkage before the drives were cut; None: of no experiment of traction.
    traction: Traction | None = None
    outside: RangeExit | None = None  # what its models hold for and the rig left first; None: it stayed within
    capture: CaptureTruth | None = None  # what the grapple of a space arm did; None: there is none
    # true wheel loads (`models.plant.load_history.LoadHistory.rows`); None: they are not noted.
    loads: FloatArray | None = None
    # true motion (`models.plant.motion_history.MotionHistory.rows`); None: it is not noted.
    motion: FloatArray | None = None
    # how the process of the rig kept up: ticks, late, skipped, cost_us of a tick; None: it has none.
    plant_loop: dict[str, Any] | None = None

    @classmethod
    def of(cls, plant: Plant, known: GroundTruth | None = None) -> GroundTruth:
        """All that a plant can tell now. The energies at the hit are taken from `known` if they are there."""
        at_hit: Columns = {}
        if plant.hit_ns is not None:
            heading, across = plant.hit_askew
            energies = (known.hit_energy, known.hit_energy_on_ground) if known else (math.nan, math.nan)
            if math.isnan(energies[0]):
                energies = (
                    plant.effective_kinetic_energy_when_hit(), plant.effective_kinetic_energy_on_ground_when_hit()
                )  # fmt: skip
            names = "hit_energy", "hit_energy_on_ground", "slip_ns", "slip_force"
            at_hit = {"plate": plant.plate, **dict(zip(names, (*energies, *plant.slip), strict=True))}
            at_hit |= {} if math.isnan(heading) else {"hit_heading": heading, "hit_across": across}
        always = ("contact_force_peak", "hit_speed", "hit_ns", "cut_ns", "traction", "outside", "capture", *_HISTORIES)
        return cls(**at_hit, **{name: getattr(plant, name) for name in always})

    @classmethod
    def received(cls, answer: Mapping[str, Any], start_ns: int = 0) -> GroundTruth:
        """From what the control socket answers to `truth` (`truth_answer`).

        t = 0 of the run is `start_ns` on the clock of its times [ns].
        """
        columns: Columns = {name: math.nan if value is None else value for name, value in answer.items()}
        histories = {name: _since(start_ns, rows) for name, rows in columns.pop("histories").items()}
        return cls._of_columns(_moved(columns, -start_ns) | histories)

    @classmethod
    def recorded(cls, events: Rows) -> GroundTruth:
        """From the rows of `EVENT` of a record, as `events` makes them."""
        found = {bytes(row["name"]).decode(errors="replace"): row for row in events}
        columns: Columns = {}
        for one in _NOTED:
            if (row := found.get(one.name)) is None:
                continue
            t_ns = int(row["t_ns"])
            columns[one.time] = t_ns * 1e-9 if one.time.endswith("_s") else t_ns
            columns[one.value] = float(row["value"])
            if one.limit:
                columns[one.limit] = float(row["limit"])
                columns[one.detail] = bytes(row["detail"]).decode(errors="replace")
        columns.pop("", None)
        loads, (motion, *wheels) = _of_rows(events, LOADS), (_of_rows(events, name) for name in MOTION)
        rows = [sum((one[1:] for one in each), start=row) for row, *each in zip(motion, *wheels, strict=False)]
        histories = {"loads": np.array(loads) if loads else None, "motion": np.array(rows) if rows else None}
        return cls._of_columns(columns | histories)

    @classmethod
    def _of_columns(cls, columns: Columns) -> GroundTruth:
        from models.plant.grapple import CaptureTruth  # with the kernels, which take a second to import
        from models.plant.plate_truth import PlateTruth
        from models.plant.towing import Traction
        from models.plant.validity_watch import RangeExit

        parts: dict[str, Columns] = {"": {}}
        for name, value in columns.items():
            part, _, key = name.rpartition(".")
            parts.setdefault(part, {})[key] = value
        kinds = {"plate": PlateTruth, "traction": Traction, "outside": RangeExit, "capture": CaptureTruth}
        return cls(**parts.pop(""), **{part: kinds[part](**values) for part, values in parts.items()})

    def columns(self, by_ns: int = 0) -> Columns:
        """Its numbers by name, those of `plate` as `plate.peak_N`, without what is None and the histories.

        All times are later by `by_ns` [ns].
        """
        found: Columns = {}
        for field in fields(self):
            value = getattr(self, field.name)
            parts: Columns = value._asdict() if hasattr(value, "_asdict") else {"": value}
            found |= {f"{field.name}.{key}" if key else field.name: one for key, one in parts.items()}
        return _moved({name: one for name, one in found.items() if one is not None and name not in _HISTORIES}, by_ns)

    def events(self, rate_hz: int) -> Iterator[Rows]:
        """As rows of `EVENT`, each with id 0 and the time of what it is about; none of a real rig.

        `rate_hz` is that of the loop.
        """

        def event(name: str, t_ns: int, value: float, limit: float, detail: str) -> Rows:
            return event_row(0, name, t_ns * rate_hz // 1_000_000_000, t_ns, value, limit, detail=detail)

        for name, t_ns, words in (*_loads(self.loads), *_motion(self.motion)):
            yield event(name, t_ns, 0.0, 0.0, words)
        columns = {"": 0, **self.columns()}
        for one in _NOTED:
            if one.time in columns and one.value in columns:
                t = columns[one.time]
                t_ns = round(t * 1e9) if one.time.endswith("_s") else t
                words = columns[one.detail] if one.limit else one.detail
                yield event(one.name, t_ns, float(columns[one.value]), float(columns[one.limit]), words)


def packed(ground_truth: GroundTruth, by_ns: int) -> bytes:
    """The truth as the field `content` of `GROUND_TRUTH`: JSON, with null for what is no number.

    Its times are later by `by_ns` on the clock of the published times [ns].
    """
    columns = ground_truth.columns(by_ns)
    no_number = [name for name, value in columns.items() if isinstance(value, float) and math.isnan(value)]
    return json.dumps(columns | dict.fromkeys(no_number)).encode()


def rows_in(mailbox: Mailbox | None) -> FloatArray | None:
    """The rows that a mailbox of `history_dtypes` holds; None: there is none."""
    if mailbox is None:
        return None
    row = np.zeros(1, mailbox.dtype)
    mailbox.read(row)
    kept: FloatArray = row["rows"][0, : int(row["count"][0])]
    return kept


def truth_answer(ground_truth: Mailbox, histories: Mapping[str, Mailbox]) -> Columns:
    """What the control socket answers to `truth`, from the mailboxes of a rig; `GroundTruth.received` reads it."""
    row = np.zeros(1, GROUND_TRUTH)
    ground_truth.read(row)
    cost_us = dict(zip(("p50", "p99", "p99_9", "max"), row["cost_us"][0].tolist(), strict=True))
    rows = {name: rows_in(mailbox) for name, mailbox in histories.items()}
    return {
        **json.loads(row["content"][0] or b"{}"),
        "plant_loop": {**{name: int(row[name][0]) for name in ("ticks", "late", "skipped")}, "cost_us": cost_us},
        "histories": {name: one.tolist() for name, one in rows.items() if one is not None},
    }


def _moved(columns: Columns, by_ns: int) -> Columns:
    """The same with all times later by that much."""
    by = {"_ns": by_ns, "_s": by_ns * 1e-9}
    return {
        name: value + by[end] if (end := name[name.rfind("_") :]) in by else value for name, value in columns.items()
    }


def _since(start_ns: int, rows: Sequence[Sequence[float]] | None) -> FloatArray | None:
    """Rows of a history with times of the run, in whole nanoseconds as its record has them."""
    if not rows:
        return None
    history = np.array(rows)
    history[:, 0] = np.rint(history[:, 0] * 1e9 - start_ns) * 1e-9
    inside: FloatArray = history[history[:, 0] > 0.0]
    return inside


def _loads(rows: FloatArray | None) -> Iterator[tuple[str, int, str]]:
    """Loads [N] and torques [N m] as text, to the decimals that they have."""
    for row in () if rows is None else rows.tolist():
        for words in _details([f"{value:.3f}" for value in row[1:]]):
            yield LOADS, round(row[0] * 1e9), words


def _motion(rows: FloatArray | None) -> Iterator[tuple[str, int, str]]:
    """As text, to the decimals that they have: one event each for the motion, the slips and the loads of a time."""
    from models.plant.motion_history import BY_WHEEL, DIGITS

    for row in () if rows is None else rows:
        base, wheels = row[1:BY_WHEEL], row[BY_WHEEL:].reshape(2, -1)
        for name, values in zip(MOTION, (base, *wheels), strict=True):
            for words in _details([f"{value:.{DIGITS}g}" for value in values]):
                yield name, round(row[0] * 1e9), words


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
