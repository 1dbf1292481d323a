"""The simulated rig: one plant, stepped by the clock, and its simulated devices."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from drivers.messages import DriveCommand, JointCommand, ValveCommand
from drivers.sim.devices import SimDaq, SimDrives, SimInstrument, SimServos, SimValves
from drivers.sim.power import PowerModel
from models.plant import Plant

# A device without a command for so long stops by itself, as the drivers set real ones [ns].
DRIVES_TIMEOUT_NS, VALVES_TIMEOUT_NS, SERVOS_TIMEOUT_NS = 100_000_000, 500_000_000, 100_000_000


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

    Attributes:
        devices: by role; None: it has none.
        loads: the load channels; None: there are none.
        driven: the drives hold a speed or a duty; otherwise they are cut.
        cut_ns: when the drives were last cut, by a command or by their own time-out [ns]; -1: never since they ran.
        powered: a valve is powered.
        off_ns: when all valves were last switched off [ns]; -1: never since one was powered.
        servos: of the driven joints; None: there are none.
        held: the servos hold angles; otherwise they are cut.
        released_ns: as cut_ns, of the servos.
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
    ) -> None:
        self.plant = plant
        self.daq = SimDaq(plant, block_samples, daq_delay_ns)
        self.loads = (
            SimDaq(plant.load_sampling, load_block_samples, name="simulated load channels")
            if plant.load_sampling
            else None
        )
        self.drives = SimDrives(plant, self._delay if drives_delay_ns else self._obey, power)
        self.valves = SimValves(plant, self._take_valve_command)
        driven = plant.servo_angle.size > 0
        self.servos = SimServos(plant, self._take_joint_command, servo_torque_per_A) if driven else None
        self.devices: dict[str, Any] = {
            **{role: getattr(self, role) for role in ("daq", "drives", "valves", "loads", "servos")},
            **{role: SimInstrument(one, role, instrument_delays_ns[role]) for role, one in plant.instruments.items()},
        }
        self._drives_delay_ns = drives_delay_ns
        self._on_the_way: deque[tuple[int, DriveCommand]] = deque()
        self.driven = self.powered = False
        self.held = self.servos is not None  # a rover that has settled on its legs stands on them
        self.cut_ns = self.off_ns = self.released_ns = -1
        self._drives_command_ns = self._valves_command_ns = self._servos_command_ns = 0

    def advance(self, t_ns: int) -> None:
        """Move the rig to t_ns [ns]; commands under way and time-outs take effect at their own time."""
        while self._on_the_way and self._on_the_way[0][0] <= t_ns:
            due, command = self._on_the_way.popleft()
            self._pass_time(due)
            self._obey(command)
        self._pass_time(t_ns)

    def _pass_time(self, t_ns: int) -> None:
        """Move the plant; a device that has received nothing for too long stops itself meanwhile."""
        if self.driven and t_ns > (due := self._drives_command_ns + DRIVES_TIMEOUT_NS):
            self.plant.advance(due)
            self.plant.set_drives((0.0,) * len(self.plant.wheel_speed), True)
            self.driven, self.cut_ns = False, due
        if self.held and t_ns > (due := self._servos_command_ns + SERVOS_TIMEOUT_NS):
            self.plant.advance(due)
            self.plant.set_servos(self.plant.servo_angle.tolist(), True)
            self.held, self.released_ns = False, due
        if self.powered and t_ns > (due := self._valves_command_ns + VALVES_TIMEOUT_NS):
            self.plant.advance(due)
            self.plant.set_valves(((False, False),) * len(self.plant.pressure))
            self.powered, self.off_ns = False, due
        self.plant.advance(t_ns)

    def _delay(self, command: DriveCommand) -> None:
        self._on_the_way.append((command.t_ns + self._drives_delay_ns, command))

    def _obey(self, command: DriveCommand) -> None:
        self.plant.set_drives(command.speed_radps, command.cut, command.duty)
        self.drives.acknowledged_ns = command.t_ns
        self._drives_command_ns = self.plant.t_ns
        if not command.cut:
            self.driven, self.cut_ns = True, -1
        elif self.driven:
            self.driven, self.cut_ns = False, self.plant.t_ns

    def _take_valve_command(self, command: ValveCommand) -> None:
        if command.regulators_Pa:
            self.plant.set_regulators(command.regulators_Pa)
        self.valves.acknowledged_ns = command.t_ns
        self._valves_command_ns = self.plant.t_ns
        self.plant.set_valves(command.powered)
        if any(map(any, command.powered)):
            self.powered, self.off_ns = True, -1
        elif self.powered:
            self.powered, self.off_ns = False, self.plant.t_ns

    def _take_joint_command(self, command: JointCommand) -> None:
        assert self.servos is not None
        self.plant.set_servos(command.angle_rad, command.cut)
        self.servos.acknowledged_ns = command.t_ns
        self._servos_command_ns = self.plant.t_ns
        if not command.cut:
            self.held, self.released_ns = True, -1
        elif self.held:
            self.held, self.released_ns = False, self.plant.t_ns
