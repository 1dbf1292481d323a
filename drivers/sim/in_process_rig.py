"""The simulated rig: one plant, stepped by the clock, and its simulated devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drivers.sim.devices import Actuators, PowerModel, SimDaq, SimDrives, SimInstrument, SimServos, SimValves
from models.plant import Plant


class InProcessRig:
    """A simulated rig in virtual time.

    Args:
        plant: the rig.
        block_samples: samples in a DAQ block.
        daq_delay_ns: age of a DAQ block when it can first be read.
        drives_delay_ns: from the write of a drive command to its effect on the axle.
        load_block_samples: samples in a block of the load channels, if the plant has any.
        power: of the drives, where they measure currents and supply voltage.
        servo_torque_per_A: of the servos' motors [N m/A], where their currents are measured.
        instrument_delays_ns: age of a reading of each instrument of motion when it can first be read, by role.
        further: devices of other roles, by role.

    Attributes:
        devices: by role.
    """

    def __init__(
        self,
        plant: Plant,
        *,
        block_samples: int,
        daq_delay_ns: int = 0,
        drives_delay_ns: int = 0,
        load_block_samples: int = 0,
        power: PowerModel | None = None,
        servo_torque_per_A: float | None = None,
        instrument_delays_ns: Mapping[str, int] = {},
        further: Mapping[str, Any] = {},
    ) -> None:
        self.plant = plant
        self.drives = SimDrives(plant, drives_delay_ns, power)
        self.devices: dict[str, Any] = {
            "daq": SimDaq(plant, block_samples, daq_delay_ns),
            "drives": self.drives,
            **{role: SimInstrument(one, role, instrument_delays_ns[role]) for role, one in plant.instruments.items()},
        }
        if plant.load_sampling:
            self.devices["loads"] = SimDaq(plant.load_sampling, load_block_samples, name="simulated load channels")
        if plant.servo_angle.size:
            self.devices["servos"] = SimServos(plant, servo_torque_per_A)
        self.devices |= {"valves": SimValves(plant), **further}
        self._actuators = {role: one for role, one in self.devices.items() if isinstance(one, Actuators)}

    def advance(self, t_ns: int) -> None:
        """Move the rig to t_ns [ns]; commands in transit and time-outs take effect at their own time."""
        under_way = self.drives.under_way
        while under_way and under_way[0][0] <= t_ns:
            due, command = under_way.popleft()
            self._pass_time(due)
            self.drives.obey(command)
        self._pass_time(t_ns)

    def active(self) -> list[str]:
        """Returns the roles of the devices that have power."""
        return [role for role, device in self._actuators.items() if device.active]

    def off_ns(self) -> int:
        """Returns when the last of all devices lost its power [ns]; -1: none had any."""
        return max(device.off_ns for device in self._actuators.values())

    def _pass_time(self, t_ns: int) -> None:
        for device in self._actuators.values():
            device.time_out(t_ns)
        self.plant.advance(t_ns)
