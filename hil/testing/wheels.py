"""Wheels with inertia and friction, cylinders, voltages and readings of simulated devices, as a test sets them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from drivers.sim.protocol.plant_ports import Analog, AxlePorts, CylinderPorts, Instrument

# Steps of a wheel that moves [ns].
STEP_NS = 1_000_000
# A speed nearer to where it goes than this is there [rad/s].
SETTLED_RADPS = 1e-6
# With so much of a speed held: time constant of a controller's loop [s].
HOLD_S = 0.02

# Settings of a wheel.
WHEEL_SETTINGS = ("inertia_kgm2", "friction_Nm", "no_load_radps", "stall_Nm", "torque_per_A")


class Turning(ABC):
    """A wheel or a joint: it moves on with the time whenever it is read or commanded."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns, self._t_ns, self._angle_rad = now_ns, now_ns(), 0.0
        self._lock = RLock()  # a test and the thread that serves the device use it

    @property
    def angle_rad(self) -> float:
        """Angle of the axle or joint [rad], which an encoder counts; set it to put the joint there."""
        with self._lock:
            self._advance()
            return self._angle_rad

    @angle_rad.setter
    def angle_rad(self, angle: float) -> None:
        with self._lock:
            self._advance()
            self._angle_rad = float(angle)

    @property
    @abstractmethod
    def speed_radps(self) -> float:
        """Its rate [rad/s], of a wheel positive rolling forward."""

    @property
    @abstractmethod
    def current_A(self) -> float:
        """Current of its motor [A], positive where it drives forward; 0 when it is cut."""

    @abstractmethod
    def hold(self, target: float, /) -> None:
        """Hold a speed of a wheel [rad/s], or an angle of a joint [rad]."""

    @abstractmethod
    def cut(self) -> None:
        """The output is zero: a wheel coasts, a joint stays where it is."""

    @abstractmethod
    def _advance(self) -> None: ...


class Wheel(Turning):
    """One wheel: inertia, dry friction, and a motor with a linear torque over speed.

    A drive that holds a speed has the motor's torque for it; one that is cut lets the wheel coast.

    Attributes:
        inertia_kgm2: of wheel, gear and motor, about the axle.
        friction_Nm: of the gear, against the rotation.
        no_load_radps: speed at full duty without friction.
        stall_Nm: torque of the motor at full duty and standstill.
        torque_per_A: torque at the axle for each ampere [N m/A].
        load_Nm: torque of the ground, against positive rotation; set it to brake the wheel.
        blocked: it does not turn, whatever the torque.
        commanded_radps: speed that the drive holds [rad/s]; None: it holds none.
        duty: share of the supply that the drive gives, -1 to 1; None: it gives none.
    """

    def __init__(
        self,
        now_ns: Callable[[], int],
        *,
        inertia_kgm2: float = 0.2,
        friction_Nm: float = 0.5,
        no_load_radps: float = 3.0,
        stall_Nm: float = 60.0,
        torque_per_A: float = 10.0,
    ) -> None:
        super().__init__(now_ns)
        self.inertia_kgm2, self.friction_Nm, self.no_load_radps = inertia_kgm2, friction_Nm, no_load_radps
        self.stall_Nm, self.torque_per_A = stall_Nm, torque_per_A
        self.load_Nm, self.blocked = 0.0, False
        self.commanded_radps: float | None = None
        self.duty: float | None = None
        self._speed_radps = 0.0

    @property
    @override
    def speed_radps(self) -> float:
        with self._lock:
            self._advance()
            return self._speed_radps

    @speed_radps.setter
    def speed_radps(self, speed: float) -> None:
        with self._lock:
            self._advance()
            self._speed_radps = float(speed)

    @property
    @override
    def current_A(self) -> float:
        with self._lock:
            self._advance()
            return self._torque_Nm() / self.torque_per_A

    @override
    def hold(self, target: float, /) -> None:
        with self._lock:
            self._advance()
            self.commanded_radps, self.duty = target, None

    def drive(self, duty: float) -> None:
        """The drive gives a share of the supply voltage, -1 to 1."""
        with self._lock:
            self._advance()
            self.commanded_radps, self.duty = None, duty

    @override
    def cut(self) -> None:
        with self._lock:
            self._advance()
            self.commanded_radps = self.duty = None

    def _torque_Nm(self) -> float:
        """Of the motor."""
        speed = self._speed_radps
        if self.duty is not None:
            return self.stall_Nm * (self.duty - speed / self.no_load_radps)
        if self.commanded_radps is None:
            return 0.0
        held = self.inertia_kgm2 * (self.commanded_radps - speed) / HOLD_S + self.load_Nm + self._friction(speed)
        least, most = self._reach_Nm()
        return min(max(held, least), most)

    def _reach_Nm(self) -> tuple[float, float]:
        """Torques of the motor at full duty, backward and forward."""
        share = self._speed_radps / self.no_load_radps
        return self.stall_Nm * (-1.0 - share), self.stall_Nm * (1.0 - share)

    def _friction(self, speed: float) -> float:
        return math.copysign(self.friction_Nm, speed) if speed else 0.0

    @override
    def _advance(self) -> None:
        now_ns = self._now_ns()
        while self._t_ns < now_ns:
            if self._rests():
                self._angle_rad += self._speed_radps * (now_ns - self._t_ns) * 1e-9
                self._t_ns = now_ns
                return
            step_ns = min(STEP_NS, now_ns - self._t_ns)
            self._step(step_ns * 1e-9)
            self._t_ns += step_ns

    def _rests(self) -> bool:
        """Its speed does not change."""
        if self.blocked:
            self._speed_radps = 0.0
            return True
        if self.commanded_radps is not None and abs(self._speed_radps - self.commanded_radps) < SETTLED_RADPS:
            least, most = self._reach_Nm()
            return least < self.load_Nm + self._friction(self._speed_radps) < most
        return self._speed_radps == 0.0 and abs(self._torque_Nm() - self.load_Nm) <= self.friction_Nm

    def _step(self, dt_s: float) -> None:
        """Semi-implicit in the motor's torque, which falls with the speed; friction stops it, and turns nothing."""
        speed, drop = self._speed_radps, 0.0
        if self.duty is not None:
            drop = self.stall_Nm / self.no_load_radps
        elif self.commanded_radps is not None:
            least, most = self._reach_Nm()
            free = least < self._torque_Nm() < most
            drop = self.inertia_kgm2 / HOLD_S if free else self.stall_Nm / self.no_load_radps
        push = (self._torque_Nm() - self.load_Nm) * dt_s / (self.inertia_kgm2 + drop * dt_s)
        pushed = speed + push
        rub = self.friction_Nm * dt_s / (self.inertia_kgm2 + drop * dt_s)
        after = math.copysign(max(abs(pushed) - rub, 0.0), pushed)
        self._angle_rad += 0.5 * (speed + after) * dt_s
        self._speed_radps = after


Part = TypeVar("Part", bound=Turning)


class TurnedParts(Sequence[Part]):
    """Wheels or joints of a simulated device, which reads and commands them by their number.

    Attributes:
        reading_error: added to each reading of an angle [rad] and of a speed [rad/s]: a wrong encoder.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts, self.reading_error = tuple(parts), 0.0

    def __getitem__(self, place: int) -> Part:  # type: ignore[override]
        return self._parts[place]

    def __len__(self) -> int:
        return len(self._parts)

    def speed_radps(self, place: int) -> float:
        """Speed as read [rad/s]."""
        return self[place].speed_radps + self.reading_error

    def angle_rad(self, place: int) -> float:
        """Angle as read [rad]."""
        return self[place].angle_rad + self.reading_error

    def current_A(self, place: int) -> float:
        """Current of a motor [A]."""
        return self[place].current_A

    def hold(self, place: int, target: float) -> None:
        """Hold a speed of a wheel [rad/s], or an angle of a joint [rad]."""
        self[place].hold(target)

    def cut(self, place: int) -> None:
        """Set the output to zero."""
        self[place].cut()


class Wheels(TurnedParts[Wheel], AxlePorts):
    """The wheels of simulated drives.

    Attributes:
        supply_volts: voltage of the motors' supply [V].
    """

    supply_volts = 24.0

    @override
    def drive(self, wheel: int, duty: float) -> None:
        self[wheel].drive(duty)

    @override
    def supply_V(self) -> float:
        return self.supply_volts


# Samples and readings that are kept for a reader that comes late.
KEPT_S = 2.0


class Cylinders(CylinderPorts):
    """Chambers that fill through their valves towards the pressure of the supply; regulators set that pressure.

    Attributes:
        supply_Pa: gauge pressure that a chamber with a powered valve fills to [Pa]; with regulators, that of the one
            with the number of the chamber, modulo their count.
        fill_s: time constant of filling and emptying [s].
        powered: (valves,) which are powered.
        set_Pa: (regulators,) gauge pressures that the regulators are set to [Pa].
        reading_error: added to each reading of a pressure [Pa]: a wrong sensor.
    """

    def __init__(self, now_ns: Callable[[], int], valves: int = 4, regulators: int = 0) -> None:
        self.valves, self.regulators = valves, regulators
        self.supply_Pa, self.fill_s, self.reading_error = 6.0e5, 0.05, 0.0
        self.powered, self.set_Pa = [False] * valves, [0.0] * regulators
        self._now_ns = now_ns
        self._filled: list[tuple[int, float]] = [(now_ns(), 0.0)] * valves  # since when, from which pressure
        self._lock = RLock()

    @override
    def power(self, valve: int, on: bool) -> None:
        with self._lock:
            self._filled[valve] = (self._now_ns(), self.pressure(valve))
            self.powered[valve] = on

    @override
    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        with self._lock:
            for valve in range(self.valves):
                self._filled[valve] = (self._now_ns(), self.pressure(valve))
            self.set_Pa[regulator] = pressure_Pa

    def pressure(self, valve: int) -> float:
        """Gauge pressure of the chamber at a valve [Pa]."""
        with self._lock:
            since_ns, from_Pa = self._filled[valve]
            supply_Pa = self.set_Pa[valve % self.regulators] if self.regulators else self.supply_Pa
            to_Pa = supply_Pa if self.powered[valve] else 0.0
            return to_Pa + (from_Pa - to_Pa) * math.exp(-(self._now_ns() - since_ns) * 1e-9 / self.fill_s)

    def set_pressure(self, valve: int, pressure_Pa: float) -> None:
        """Let a chamber have a gauge pressure now [Pa]."""
        with self._lock:
            self._filled[valve] = (self._now_ns(), pressure_Pa)

    @override
    def pressure_Pa(self, valve: int) -> float:
        return self.pressure(valve) + self.reading_error


class Voltages(Analog):
    """Voltages of channels, each constant until set, or a function of time; sampled at a rate, and read one by one.

    Attributes:
        reading_error: added to each sample [V]: a wrong sensor.
    """

    def __init__(self, now_ns: Callable[[], int], channels: int, rate_hz: int = 25_600) -> None:
        self.channels, self.rate_hz, self.reading_error = channels, rate_hz, 0.0
        self._now_ns, self._began_ns, self._passed_s = now_ns, now_ns(), 0.0
        self._constant = [0.0] * channels
        self._since: deque[tuple[int, int, float]] = deque(maxlen=4096)  # from which sample, channel, volts before
        self._functions: dict[int, Callable[[npt.NDArray[np.float64]], npt.ArrayLike]] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return self.channels

    def __getitem__(self, channel: int) -> float:
        return self.volts(channel)

    def __setitem__(self, channel: int, volts: float | Callable[[npt.NDArray[np.float64]], npt.ArrayLike]) -> None:
        """Set a channel from now on [V]: a number, or a function of the times since the start [s], as an array."""
        place = range(self.channels)[channel]
        with self._lock:
            if callable(volts):
                self._functions[place] = volts
                return
            self._functions.pop(place, None)
            self._since.append((self.taken(), place, self._constant[place]))
            self._constant[place] = float(volts)

    def volts(self, channel: int) -> float:
        """Newest value of a channel [V]."""
        with self._lock:
            place = range(self.channels)[channel]
            if (function := self._functions.get(place)) is None:
                return self._constant[place] + self.reading_error
            now_s = self._passed_s + (self._now_ns() - self._began_ns) * 1e-9
            return float(np.asarray(function(np.array([now_s])), dtype=float).reshape(-1)[0]) + self.reading_error

    def pace(self, rate_hz: float) -> None:
        """Take so many samples a second, rounded, from now on, counted from 0; functions of the time go on."""
        with self._lock:
            now_ns = self._now_ns()
            self._passed_s += (now_ns - self._began_ns) * 1e-9
            self._began_ns, self.rate_hz = now_ns, max(round(rate_hz), 1)
            self._since.clear()

    @override
    def taken(self) -> int:
        return (self._now_ns() - self._began_ns) * self.rate_hz // 1_000_000_000

    @override
    def at_ns(self, sample: int) -> int:
        return self._began_ns + -(-sample * 1_000_000_000 // self.rate_hz)

    @override
    def due_ns(self, count: int) -> int:
        return self.at_ns(count)

    @override
    def read_in_blocks(self, first: int, count: int) -> None:
        """Any rhythm will do."""

    @override
    def copy(self, first: int, volts: npt.NDArray[np.float64]) -> None:
        if first < self.taken() - KEPT_S * self.rate_hz:
            raise OverflowError(f"sample {first}")
        with self._lock:
            volts[:] = self._constant
            for sample, channel, before in reversed(self._since):
                volts[: max(sample - first, 0), channel] = before
            times_s = self._passed_s + (first + np.arange(len(volts))) / self.rate_hz
            for channel, function in self._functions.items():
                volts[:, channel] = function(times_s)
        volts += self.reading_error


class SteadyReading(Instrument):
    """Values that an instrument measures at a steady rate: a test sets them; a `plant_ports.Instrument`.

    Attributes:
        values: (channels,) in the units of the instrument; set any of them. NaN: not measured.
        reading_error: added to each value: a wrong sensor.
    """

    def __init__(self, now_ns: Callable[[], int], channels: Sequence[str], rate_hz: float) -> None:
        self.channels, self.rate_hz = tuple(channels), rate_hz
        self.values, self.reading_error = [0.0] * len(self.channels), 0.0
        self._now_ns, self._began_ns, self._number = now_ns, now_ns(), 0
        self._kept: deque[tuple[int, int, tuple[float, ...]]] = deque(maxlen=max(round(KEPT_S * rate_hz), 2))
        self._lock = RLock()

    @override
    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        with self._lock:
            newest = int((self._now_ns() - self._began_ns) * 1e-9 * self.rate_hz) + 1
            values = tuple(value + self.reading_error for value in self.values)
            for number in range(max(self._number + 1, newest - (self._kept.maxlen or 0) + 1), newest + 1):
                at_ns = self._began_ns + round((number - 1) * 1e9 / self.rate_hz)
                self._kept.append((number, at_ns, values))
            self._number = max(self._number, newest)
            return [reading for reading in self._kept if reading[0] > sequence]


class Angles(Instrument):
    """Angles of joints, as a test sets them; the `plant_ports.Instrument` of encoders, which are always up to date.

    Attributes:
        values: (joints,) angles [rad]; set any of them.
        reading_error: added to each value [rad]: a wrong sensor.
    """

    rate_hz = 1000.0

    def __init__(self, joints: Sequence[str]) -> None:
        self.channels, self.values, self.reading_error = tuple(joints), [0.0] * len(joints), 0.0
        self._number = 0

    @override
    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        """The present values, as one reading that was measured long ago."""
        self._number = max(self._number, sequence) + 1
        return [(self._number, 0, tuple(value + self.reading_error for value in self.values))]
