"""Values of a rig that no sensor measures: unknown for a real rig, known for a simulated one."""

from __future__ import annotations

import math
from typing import Any

from hil.simulator.control_socket import RigControl


class NoGroundTruth:
    """For a real rig (`hil.experiments.base.GroundTruth`)."""

    contact_force_peak = math.nan
    hit_speed = 0.0
    hit_ns: int | None = None
    cut_ns: int | None = None

    def effective_kinetic_energy_when_hit(self) -> float:
        """Not known."""
        return math.nan

    def plant_loop(self) -> dict[str, Any] | None:
        """There is none."""
        return None


class SimulatorGroundTruth:
    """For a simulated rig at the protocol level, read once the run is over.

    Args:
        control: of the rig.
        start_ns: t = 0 of the run [ns of CLOCK_MONOTONIC].
    """

    def __init__(self, control: RigControl, start_ns: int) -> None:
        row = control.ask("truth")
        self.contact_force_peak = float(row["contact_force_peak"])
        self.hit_speed = float(row["hit_speed"])
        self.hit_ns, self.cut_ns = (row[key] - start_ns if row[key] >= 0 else None for key in ("hit_ns", "cut_ns"))
        self._row = row

    def effective_kinetic_energy_when_hit(self) -> float:
        """T_c of the rig at first touch [J]."""
        energy = self._row["hit_energy"]
        return math.nan if energy is None else float(energy)

    def plant_loop(self) -> dict[str, Any] | None:
        """How the plant's process kept up (as `hil.simulator.shared_ground_truth.SharedGroundTruth.far_end`)."""
        cost = dict(zip(("p50", "p99", "p99_9", "max"), self._row["cost_us"], strict=True))
        return {**{key: self._row[key] for key in ("ticks", "late", "skipped")}, "cost_us": cost}
