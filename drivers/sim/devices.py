"""Simulated DAQ, drives, servos and valves, with the currents and the supply voltage of the drives."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace
from typing_extensions import override

from drivers.interfaces import DeviceError, Health
from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    PowerSample,
    Reading,
    ValveCommand,
    ValveSample,
)
from drivers.sim.protocol.plant_ports import SampledChannels
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.plant import InstrumentOnRig, Plant


class PowerModel(NamedTuple):
    """Currents in proportion to the torques, and a supply that droops with their sum.

    Attributes:
        torque_per_A: torque at the axle for each ampere [N m/A].
        supply_V: voltage without a load [V].
        supply_ohm: inner resistance of the supply and its wires [Ohm].
        supplies: how many controllers measure it.
    """

    torque_per_A: float
    supply_V: float
    supply_ohm: float
    supplies: int = 1

    def currents_A(self, torque_Nm: Sequence[float]) -> tuple[float, ...]:
        """Of each motor [A], with the sign of its torque at the axle [N m]."""
        return tuple([torque / self.torque_per_A for torque in torque_Nm])

    def voltage_V(self, currents_A: Sequence[float]) -> float:
        """Of the supply under the load of these motors [V]."""
        return self.supply_V - self.supply_ohm * sum(map(abs, currents_A))


C = TypeVar("C", DriveCommand, JointCommand, ValveCommand)
# A channel counts as overloaded from this share of its range on.
OVERLOAD = 0.99


class _Device:
    """Life cycle of a device that only needs to be opened."""

    name: str

    def __init__(self) -> None:
        self._open = False
        self._sequence = 0

    def open(self) -> None:
        """Make the device answer."""
        self._open = True

    def close(self) -> None:
        """Make it silent."""
        self._open = False

    def health(self) -> Health:
        """Returns the state of the link."""
        return Health(self.name, self._open, 0, "simulated")

    def _not_open(self) -> DeviceError:
        return DeviceError(f"{self.name}: not open; open it before use")


class SimDaq(_Device):
    """Blocks of samples, each readable once it is complete and `delay_ns` old."""

    def __init__(
        self, sampled: SampledChannels, block_samples: int, delay_ns: int = 0, name: str = "simulated DAQ"
    ) -> None:
        super().__init__()
        self.name, self._sampled = name, sampled
        self._block_samples, self._delay_ns = block_samples, delay_ns
        self._rate_hz = sampled.rate_hz
        self._overload_at = np.full(sampled.channels, OVERLOAD * sampled.full_scale)
        self._no_overload = (False,) * sampled.channels
        self._taken = 0
        self._due_ns = self._readable_ns()

    def read(self, t_ns: int) -> DaqBlock | None:
        """The next complete block, or None."""
        if not self._open:
            raise self._not_open()
        if t_ns < self._due_ns:
            return None
        first, end = self._taken, self._taken + self._block_samples
        if end > self._sampled.samples:
            return None
        volts = np.empty((self._block_samples, self._sampled.channels))
        t_ns_each = np.empty(self._block_samples, np.int64)
        try:
            self._sampled.copy_samples(first, volts)
        except OverflowError as error:
            raise DeviceError(f"{self.name}: samples lost, {error}; read more often") from error
        self._taken = end
        self._due_ns = self._readable_ns()
        self._sequence += 1
        overload = self._no_overload
        if _stamp(first, self._rate_hz, volts, self._overload_at, t_ns_each):
            overload = tuple([bool(channel.any()) for channel in (abs(volts) >= self._overload_at).T])
        return DaqBlock(self._sequence, t_ns_each, volts, overload, t_ns)

    def _readable_ns(self) -> float:
        """Returns when the next block can first be read [ns]; never if there are no sensors."""
        if not self._rate_hz:
            return math.inf
        return (self._taken + self._block_samples - 1) * 1_000_000_000 // self._rate_hz + self._delay_ns


@kernel
def _stamp(first: int, rate_hz: int, volts: FloatArray, overload_at: FloatArray, t_ns: IntArray) -> bool:
    """Note when the samples from one on are taken [ns], each n / rate in whole ns.

    Returns whether a channel has reached the end of its range; almost always none has.
    """
    reached = False
    for i in range(t_ns.size):
        t_ns[i] = (first + i) * 1_000_000_000 // rate_hz
        for channel in range(overload_at.size):
            reached = reached or abs(volts[i, channel]) >= overload_at[channel]
    return reached


class Actuators(_Device, Generic[C]):
    """Devices that accept commands and return their state, one sample per tick. They stop without commands.

    Args:
        plant, delay_ns: the rig; from the write of a command to its effect [ns].

    Attributes:
        timeout_ns: without a command for so long they stop by themselves, as the drivers set real ones [ns].
        acknowledged_ns: t_ns of the newest command that they obey, -1 before the first.
        stopped_ns: t_ns of the newest command to stop after they ran [ns], -1 while they run, and before.
        active: they have power.
        off_ns: when they last lost it, by a command or by their own time-out [ns]; -1: never since they had it.
        under_way: commands that wait for their time [ns], oldest first.
    """

    timeout_ns: ClassVar[int] = 100_000_000

    def __init__(self, plant: Plant, delay_ns: int = 0) -> None:
        super().__init__()
        self._plant, self._delay_ns = plant, delay_ns
        self._read_at = self.acknowledged_ns = self.stopped_ns = self.off_ns = -1
        self._ran = self.active = False
        self._command_ns = 0
        self.under_way: deque[tuple[int, C]] = deque()

    def write(self, command: C) -> None:
        """Obey, after the link's delay if it has one."""
        if not self._open:
            raise self._not_open()
        if self._delay_ns:
            self.under_way.append((command.t_ns + self._delay_ns, command))
        else:
            self.obey(command)
        if self._powers(command) if self._delay_ns else self.active:
            self._ran, self.stopped_ns = True, -1
        elif self._ran:
            self._ran, self.stopped_ns = False, command.t_ns

    def obey(self, command: C) -> None:
        """A command takes effect."""
        self._apply(command)
        self.acknowledged_ns, self._command_ns = command.t_ns, self._plant.t_ns
        if self._powers(command):
            self.active, self.off_ns = True, -1
        elif self.active:
            self.active, self.off_ns = False, self._plant.t_ns

    def time_out(self, t_ns: int) -> None:
        """Stop by themselves, if they have received nothing for too long by then [ns]."""
        if self.active and t_ns > (due := self._command_ns + self.timeout_ns):
            self._plant.advance(due)
            self._stop()
            self.active, self.off_ns = False, due

    def _powers(self, command: C) -> bool:
        raise NotImplementedError

    def _apply(self, command: C) -> None:
        raise NotImplementedError

    def _stop(self) -> None:
        raise NotImplementedError

    def _news(self) -> bool:
        """Returns whether the rig has advanced since the last reading, for the next sample; the rig is the clock."""
        if not self._open:
            raise self._not_open()
        if self._plant.t_ns == self._read_at:
            return False
        self._read_at = self._plant.t_ns
        self._sequence += 1
        return True


class SimDrives(Actuators[DriveCommand]):
    """Six wheel drives with encoders.

    Args:
        plant, delay_ns: as of `Actuators`.
        power: how currents and supply follow from the torques; None: the drives do not measure them.
    """

    name = "simulated drives"

    def __init__(self, plant: Plant, delay_ns: int = 0, power: PowerModel | None = None) -> None:
        super().__init__(plant, delay_ns)
        self._power = power

    @override
    def _powers(self, command: DriveCommand) -> bool:
        return not command.cut

    @override
    def _apply(self, command: DriveCommand) -> None:
        self._plant.set_drives(command.speed_radps, command.cut, command.duty)

    @override
    def _stop(self) -> None:
        self._plant.set_drives((0.0,) * len(self._plant.wheel_speed), True)

    def read(self, t_ns: int) -> DriveSample | None:  # noqa: ARG002
        """The present speeds, once for each time of the rig."""
        if not self._news():
            return None
        speeds = tuple(self._plant.read_wheel_speed().tolist())
        power = None if self._power is None else self._measure(self._power)
        return DriveSample(self._sequence, self._read_at, speeds, self.acknowledged_ns, self.stopped_ns, power)

    def _measure(self, model: PowerModel) -> PowerSample:
        currents_A = model.currents_A(self._plant.drive_torque.tolist())
        volts = (model.voltage_V(currents_A),) * model.supplies
        unread = PowerSample.unread(len(currents_A), model.supplies)
        return replace(unread, t_ns=self._plant.t_ns, current_A=currents_A, supply_V=volts)


class SimServos(Actuators[JointCommand]):
    """Servos of the driven joints with encoders. A rover that has settled on its legs stands on them.

    Args:
        plant: the rig.
        torque_per_A: of a motor, at its joint [N m/A]; None: currents are not measured.
    """

    name = "simulated servos"

    def __init__(self, plant: Plant, torque_per_A: float | None = None) -> None:
        super().__init__(plant)
        self._torque_per_A, self.active = torque_per_A, True

    @override
    def _powers(self, command: JointCommand) -> bool:
        return not command.cut

    @override
    def _apply(self, command: JointCommand) -> None:
        self._plant.set_servos(command.angle_rad, command.cut)

    @override
    def _stop(self) -> None:
        self._plant.set_servos(self._plant.servo_angle.tolist(), True)

    def read(self, t_ns: int) -> JointSample | None:  # noqa: ARG002
        """The present angles, once for each time of the rig."""
        if not self._news():
            return None
        angles, currents_A = tuple(self._plant.servo_angle.tolist()), ()
        if self._torque_per_A is not None:  # with the output off none flows from the supply
            torques = self._plant.servo_torque * (self._ran / self._torque_per_A)
            currents_A = tuple(torques.tolist())
        return JointSample(self._sequence, self._read_at, angles, self.acknowledged_ns, self.stopped_ns, currents_A)


class SimValves(Actuators[ValveCommand]):
    """The cylinders' valves and pressure sensors; a rover without cylinders has none."""

    name = "simulated valves"
    timeout_ns = 500_000_000

    @override
    def _powers(self, command: ValveCommand) -> bool:
        return any(map(any, command.powered))

    @override
    def _apply(self, command: ValveCommand) -> None:
        if command.regulators_Pa:
            self._plant.set_regulators(command.regulators_Pa)
        self._plant.set_valves(command.powered)

    @override
    def _stop(self) -> None:
        self._plant.set_valves(((False, False),) * len(self._plant.pressure))

    def read(self, t_ns: int) -> ValveSample | None:  # noqa: ARG002
        """The present pressures, once for each time of the rig."""
        if not self._news():
            return None
        pressures = tuple([(extend, retract) for extend, retract in self._plant.read_pressure().tolist()])
        return ValveSample(self._sequence, self._read_at, pressures, self.acknowledged_ns)


class SimInstrument(_Device):
    """An instrument of motion: each reading can be read once it is `delay_ns` old; of several, the newest."""

    def __init__(self, instrument: InstrumentOnRig, role: str, delay_ns: int) -> None:
        super().__init__()
        self.name, self._instrument, self._delay_ns = f"simulated {role}", instrument, delay_ns

    def read(self, t_ns: int) -> Reading | None:
        """The newest reading that has arrived by a time of the plant [ns], once."""
        if not self._open:
            raise self._not_open()
        arrived = [one for one in self._instrument.since(self._sequence) if one[1] + self._delay_ns <= t_ns]
        if not arrived:
            return None
        self._sequence, measured_ns, value = arrived[-1]
        return Reading(self._sequence, measured_ns, value, measured_ns + self._delay_ns)
