"""What stands behind the loop: a rig that is ready to run, in virtual time or in processes of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hil.config import Config
from hil.messages.fault import Event
from hil.realtime import Right
from hil.runtime.cycle import Cycle
from hil.runtime.loop import Loop
from hil.runtime.rig_io import RigIO
from hil.simulator.ground_truth import GroundTruth


class Backend(Protocol):
    """A rig that is ready to run, and after a run can be made ready for another."""

    rig_io: RigIO
    cycle: Cycle
    loop: Loop

    @property
    def ground_truth(self) -> GroundTruth:
        """What only a simulated rig can tell."""

    def granted(self) -> Sequence[Right]:
        """Rights of processes beside the loop's."""

    def plant_loop(self) -> dict[str, Any] | None:
        """How a simulated rig in its own process kept up; None where it has none."""

    def links(self) -> dict[str, Any] | None:
        """Health of each link to real devices, by its name; None where there is none."""

    def start_clock(self) -> None:
        """Time begins now."""

    def hold(self) -> None:
        """The loop has ended: whoever has the devices stops them and holds them so, and nobody misses the loop."""

    def close_record(self) -> None:
        """The run is over and the devices are held: finish the record. Raises DeviceError: there is none."""

    def lost(self) -> str:
        """Between two runs: which of its processes are gone, in words; empty: none is, and it can run again."""

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Tell viewers how it ended."""

    def next_run(
        self, folder: Path, latched: Sequence[Event], config: Config | None = None, *, attended: bool | None = None
    ) -> None:
        """Make it ready for a run in another folder, with new devices, cycle and loop.

        Args:
            folder: of that run; exists and is empty.
            latched: faults that nobody has cleared.
            config: of that run and those that follow, of the same rig and with the same layout; None: as before.
            attended: an operator arms and starts them; None: as before.

        Raises:
            DeviceError: it cannot run again.
        """
