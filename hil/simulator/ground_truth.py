"""Values of a rig that no sensor measures: unknown for a real rig, known for a simulated one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import GROUND_TRUTH, NOT_YET
from hil.ipc.shm import Mailbox
from hil.simulator.control_socket import RigControl

if TYPE_CHECKING:
    from models.plant.grapple import CaptureTruth
    from models.plant.plate_truth import PlateTruth
    from models.plant.towing import Traction
    from models.plant.validity_watch import Outside


FloatArray = NDArray[np.float64]


class GroundTruth(Protocol):
    """What only a simulated rig can tell."""

    @property
    def contact_force_peak(self) -> float:
        """Over both front wheels [N]."""

    @property
    def hit_speed(self) -> float:
        """[m/s]."""

    @property
    def hit_ns(self) -> int | None:
        """[ns]."""

    @property
    def cut_ns(self) -> int | None:
        """When the rig obeyed the first cut after that [ns]."""

    @property
    def plate(self) -> PlateTruth | None:
        """True load of the force sensors over the first contact."""

    @property
    def hit_askew(self) -> tuple[float, float]:
        """Heading at first touch [rad], and how far to port the starboard wheel was [m]; NaN if the rig is straight."""

    @property
    def slip(self) -> tuple[int | None, float]:
        """When something first slipped off an edge of a plate [ns], or None, and with what force [N]."""

    @property
    def loads(self) -> FloatArray | None:
        """True wheel loads (`models.plant.load_history.LoadHistory.rows`); None: they are not noted."""

    @property
    def motion(self) -> FloatArray | None:
        """True motion (`models.plant.motion_history.MotionHistory.rows`); None: it is not noted."""

    @property
    def traction(self) -> Traction | None:
        """Pull, slip, speed and sinkage before the drives were cut; None: of no experiment of traction."""

    @property
    def outside(self) -> Outside | None:
        """What its models hold for and the rig left first; None: it stayed within."""

    @property
    def capture(self) -> CaptureTruth | None:
        """What the grapple of a space arm did; None: there is none."""

    def effective_kinetic_energy_when_hit(self) -> float:
        """[J]."""

    def effective_kinetic_energy_on_ground_when_hit(self) -> float:
        """[J]."""


class NoGroundTruth:
    """Of a real rig."""

    contact_force_peak = math.nan
    hit_speed = 0.0
    hit_ns: int | None = None
    cut_ns: int | None = None
    plate: PlateTruth | None = None
    hit_askew: tuple[float, float] = (math.nan, math.nan)
    slip: tuple[int | None, float] = (None, math.nan)
    loads: FloatArray | None = None
    motion: FloatArray | None = None
    traction: Traction | None = None
    outside: Outside | None = None
    capture: CaptureTruth | None = None

    def effective_kinetic_energy_when_hit(self) -> float:
        """Not known."""
        return math.nan

    effective_kinetic_energy_on_ground_when_hit = effective_kinetic_energy_when_hit

    def plant_loop(self) -> dict[str, Any] | None:
        """There is none."""
        return None


class SharedGroundTruth:
    """The newest ground truth of the simulated rig.

    Args:
        shared: memory of the run.

    Attributes:
        capture: None: a capture is made in virtual time.
    """

    capture: CaptureTruth | None = None

    def __init__(self, shared: RunMemory) -> None:
        self._mailbox, self._histories = shared.ground_truth, shared.histories
        self._row = np.zeros(1, GROUND_TRUTH)
        for name in NOT_YET:
            self._row[name] = -1
        self._row["traction"] = math.nan

    @property
    def contact_force_peak(self) -> float:
        """Largest sum so far of both front wheels' normal forces on the obstacle [N]."""
        return float(self._newest()["contact_force_peak"])

    @property
    def hit_speed(self) -> float:
        """Forward speed of the rover when it first touched [m/s]; 0 before."""
        return float(self._newest()["hit_speed"])

    @property
    def hit_ns(self) -> int | None:
        """When a wheel first touched the obstacle [ns], or None."""
        return _time(self._newest()["hit_ns"])

    @property
    def cut_ns(self) -> int | None:
        """When the rig first obeyed a cut after that [ns], or None."""
        return _time(self._newest()["cut_ns"])

    @property
    def plate(self) -> PlateTruth | None:
        """True load of the force sensors over the first contact, once the run is over; None: there was none."""
        return _plate(self._newest()["plate"])

    @property
    def hit_askew(self) -> tuple[float, float]:
        """Heading at first touch [rad], and how far to port the starboard wheel was [m], at the end of the run."""
        row = self._newest()
        return float(row["hit_heading"]), float(row["hit_across"])

    @property
    def slip(self) -> tuple[int | None, float]:
        """When something first slipped off an edge of a plate [ns], or None, and with what force [N]."""
        row = self._newest()
        return _time(row["slip_ns"]), float(row["slip_force"])

    @property
    def traction(self) -> Traction | None:
        """Pull, slip and speed before the drives were cut, at the end of the run."""
        return _traction(self._newest()["traction"].tolist())

    @property
    def outside(self) -> Outside | None:
        """What its models hold for and the rig left first; None: it is within."""
        row = self._newest()
        return _outside(int(row["outside_ns"]), row["outside"].tolist(), row["outside_words"].decode())

    @property
    def loads(self) -> FloatArray | None:
        """True wheel loads, once the run is over; None: they are not noted."""
        return rows_in(self._histories.get("loads"))

    @property
    def motion(self) -> FloatArray | None:
        """True motion, once the run is over; None: it is not noted."""
        return rows_in(self._histories.get("motion"))

    def effective_kinetic_energy_when_hit(self) -> float:
        """T_c of the rig at first touch [J]."""
        return float(self._newest()["hit_energy"])

    def effective_kinetic_energy_on_ground_when_hit(self) -> float:
        """The same with the ground's active constraints [J]."""
        return float(self._newest()["hit_energy_on_ground"])

    def plant_loop(self) -> dict[str, float | dict[str, float]]:
        """How the process of the simulated rig kept up: ticks, late, skipped, and what a tick cost it [us]."""
        row = self._newest()
        cost = dict(zip(("p50", "p99", "p99_9", "max"), row["cost_us"].tolist(), strict=True))
        return {"ticks": int(row["ticks"]), "late": int(row["late"]), "skipped": int(row["skipped"]), "cost_us": cost}

    def _newest(self) -> np.void:
        self._mailbox.read(self._row)
        row: np.void = self._row[0]
        return row


class SimulatorGroundTruth:
    """For a simulated rig at the protocol level, read once the run is over.

    Args:
        control: of the rig.
        start_ns: t = 0 of the run [ns of CLOCK_MONOTONIC].

    Attributes:
        capture: None: a capture is made in virtual time.
    """

    capture: CaptureTruth | None = None

    def __init__(self, control: RigControl, start_ns: int) -> None:
        row = control.ask("truth")
        self.contact_force_peak = float(row["contact_force_peak"])
        self.hit_speed = float(row["hit_speed"])
        self.hit_ns, self.cut_ns = (row[key] - start_ns if row[key] >= 0 else None for key in ("hit_ns", "cut_ns"))
        plate = _plate(np.array(row["plate"], float))
        since_s = start_ns * 1e-9
        self.plate = plate and plate._replace(onset_s=plate.onset_s - since_s, end_s=plate.end_s - since_s)
        self.hit_askew = _number(row["hit_heading"]), _number(row["hit_across"])
        self.loads, self.motion = (_since(start_ns, row["histories"].get(name)) for name in ("loads", "motion"))
        self.slip = row["slip_ns"] - start_ns if row["slip_ns"] >= 0 else None, _number(row["slip_force"])
        self.traction = _traction([_number(value) for value in row["traction"]])
        self.outside = _outside(row["outside_ns"], row["outside"], row["outside_words"], start_ns)
        self._row = row

    def effective_kinetic_energy_when_hit(self) -> float:
        """T_c of the rig at first touch [J]."""
        return _number(self._row["hit_energy"])

    def effective_kinetic_energy_on_ground_when_hit(self) -> float:
        """The same with the ground's active constraints [J]."""
        return _number(self._row["hit_energy_on_ground"])

    def plant_loop(self) -> dict[str, Any] | None:
        """How the plant's process kept up (as `SharedGroundTruth.plant_loop`)."""
        cost = dict(zip(("p50", "p99", "p99_9", "max"), self._row["cost_us"], strict=True))
        return {**{key: self._row[key] for key in ("ticks", "late", "skipped")}, "cost_us": cost}


def rows_in(mailbox: Mailbox | None) -> FloatArray | None:
    """The rows that a mailbox of `history_dtypes` holds; None: there is none."""
    if mailbox is None:
        return None
    row = np.zeros(1, mailbox.dtype)
    mailbox.read(row)
    kept: FloatArray = row["rows"][0, : int(row["count"][0])]
    return kept


def truth_answer(ground_truth: Mailbox, histories: Mapping[str, Mailbox]) -> dict[str, Any]:
    """What the control socket answers to `truth`, from the mailboxes of a rig; `SimulatorGroundTruth` reads it."""
    row = np.zeros(1, GROUND_TRUTH)
    ground_truth.read(row)
    truth_row = {name: _plain(row[name][0].tolist()) for name in GROUND_TRUTH.names or ()}
    rows = {name: rows_in(mailbox) for name, mailbox in histories.items()}
    return {**truth_row, "histories": {name: one.tolist() for name, one in rows.items() if one is not None}}


def _plain(value: Any) -> Any:
    """None for NaN and text for bytes, which JSON does not have."""
    if isinstance(value, bytes):
        return value.decode()
    return None if isinstance(value, float) and math.isnan(value) else value


def _since(start_ns: int, rows: list[list[float]] | None) -> FloatArray | None:
    """Rows of a history with times of the run, in whole nanoseconds as its record has them."""
    if not rows:
        return None
    history = np.array(rows)
    history[:, 0] = np.rint(history[:, 0] * 1e9 - start_ns) * 1e-9
    inside: FloatArray = history[history[:, 0] > 0.0]
    return inside


def _plate(values: NDArray[np.float64]) -> PlateTruth | None:
    if values[0] < 0.0:
        return None
    from models.plant.plate_truth import PlateTruth  # with the kernels, which take a second to import

    return PlateTruth(*values.tolist())


def _traction(values: Sequence[float]) -> Traction | None:
    if math.isnan(values[0]):
        return None
    from models.plant.towing import Traction

    return Traction(*values)


def _outside(t_ns: int, numbers: Sequence[float], words: str, start_ns: int = 0) -> Outside | None:
    """From the fields of GROUND_TRUTH, with its time since `start_ns`."""
    if t_ns < 0:
        return None
    from models.plant.validity_watch import Outside

    return Outside(t_ns - start_ns, numbers[0], numbers[1], words)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _time(t_ns: np.int64) -> int | None:
    return int(t_ns) if t_ns >= 0 else None
