"""Values known only to a simulated rig, read from shared memory of its process."""

from __future__ import annotations

import numpy as np

from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import GROUND_TRUTH


class SharedGroundTruth:
    """The newest ground truth of the simulated rig (`hil.experiments.base.GroundTruth`).

    Args:
        shared: memory of the run.
    """

    def __init__(self, shared: RunMemory) -> None:
        self._mailbox = shared.ground_truth
        self._row = np.zeros(1, GROUND_TRUTH)
        self._row["hit_ns"] = self._row["cut_ns"] = -1

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
        """When the rig first executed a cut after that [ns], or None."""
        return _time(self._newest()["cut_ns"])

    def effective_kinetic_energy_when_hit(self) -> float:
        """T_c of the rig at first touch [J]."""
        return float(self._newest()["hit_energy"])

    def plant_loop(self) -> dict[str, float | dict[str, float]]:
        """How the process of the simulated rig kept up: ticks, late, skipped, and what a tick cost it [us]."""
        row = self._newest()
        cost = dict(zip(("p50", "p99", "p99_9", "max"), row["cost_us"].tolist(), strict=True))
        return {"ticks": int(row["ticks"]), "late": int(row["late"]), "skipped": int(row["skipped"]), "cost_us": cost}

    def _newest(self) -> np.void:
        self._mailbox.read(self._row)
        row: np.void = self._row[0]
        return row


def _time(t_ns: np.int64) -> int | None:
    return int(t_ns) if t_ns >= 0 else None
