"""The simulated rig: one plant, stepped by the clock, and its simulated devices."""

from __future__ import annotations

from collections import deque

from drivers.messages import DriveCommand, ValveCommand
from drivers.sim.devices import SimDaq, SimDrives, SimValves
from models.plant import Plant


class InProcessRig:
    """A simulated rig in virtual time.

    Args:
        plant: the rig.
        block_samples: samples in a DAQ block.
        daq_delay_ns: age of a DAQ block when it can first be read.
        drives_delay_ns: from the write of a drive command to its effect on the axle.
        load_block_samples: samples in a block of the load channels, if the plant has any.

    Attributes:
        loads: the load channels; None: there are none.
    """

    def __init__(
        self,
        plant: Plant,
        *,
        block_samples: int,
        daq_delay_ns: int = 0,
        drives_delay_ns: int = 0,
        load_block_samples: int = 0,
    ) -> None:
        self.plant = plant
        self.daq = SimDaq(plant, block_samples, daq_delay_ns)
        self.loads = (
            SimDaq(plant.load_sampling, load_block_samples, name="simulated load channels")
            if plant.load_sampling
            else None
        )
        self.drives = SimDrives(plant, self._take_drive_command)
        self.valves = SimValves(plant, self._take_valve_command)
        self._drives_delay_ns = drives_delay_ns
        self._on_the_way: deque[tuple[int, DriveCommand]] = deque()

    def advance(self, t_ns: int) -> None:
        """Move the rig to t_ns [ns]; commands under way take effect at their own time."""
        while self._on_the_way and self._on_the_way[0][0] <= t_ns:
            due, command = self._on_the_way.popleft()
            self.plant.advance(due)
            self._obey(command)
        self.plant.advance(t_ns)

    def _take_drive_command(self, command: DriveCommand) -> None:
        if self._drives_delay_ns:
            self._on_the_way.append((command.t_ns + self._drives_delay_ns, command))
        else:
            self._obey(command)

    def _obey(self, command: DriveCommand) -> None:
        self.plant.set_drives(command.speed_radps, command.cut, command.duty)
        self.drives.acknowledged_ns = command.t_ns

    def _take_valve_command(self, command: ValveCommand) -> None:
        self.plant.set_valves(command.powered)
        if command.regulators_Pa:
            self.plant.set_regulators(command.regulators_Pa)
        self.valves.acknowledged_ns = command.t_ns
