"""Wheels with inertia and friction, for simulated drives to turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from threading import RLock

# Steps of a wheel that moves [ns].
STEP_NS = 1_000_000
# A speed nearer to where it goes than this is there [rad/s].
SETTLED_RADPS = 1e-6
# With so much of a speed held: time constant of a controller's loop [s].
HOLD_S = 0.02

# Settings of a wheel.
WHEEL_SETTINGS = ("inertia_kgm2", "friction_Nm", "no_load_radps", "stall_Nm", "torque_per_A")


class Wheel:
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
        self.inertia_kgm2, self.friction_Nm, self.no_load_radps = inertia_kgm2, friction_Nm, no_load_radps
        self.stall_Nm, self.torque_per_A = stall_Nm, torque_per_A
        self.load_Nm, self.blocked = 0.0, False
        self.commanded_radps: float | None = None
        self.duty: float | None = None
        self._now_ns, self._t_ns = now_ns, now_ns()
        self._speed_radps = self._angle_rad = 0.0
        self._lock = RLock()  # a test and the thread that serves the device use it

    @property
    def speed_radps(self) -> float:
        """Speed of the axle [rad/s], positive rolling forward; set it to start from there."""
        with self._lock:
            self._advance()
            return self._speed_radps

    @speed_radps.setter
    def speed_radps(self, speed: float) -> None:
        with self._lock:
            self._advance()
            self._speed_radps = float(speed)

    @property
    def angle_rad(self) -> float:
        """Angle of the axle [rad]; an encoder counts it."""
        with self._lock:
            self._advance()
            return self._angle_rad

    @angle_rad.setter
    def angle_rad(self, angle: float) -> None:
        with self._lock:
            self._advance()
            self._angle_rad = float(angle)

    @property
    def current_A(self) -> float:
        """Current of the motor [A], positive where it drives forward."""
        with self._lock:
            self._advance()
            return self._torque_Nm() / self.torque_per_A

    def hold(self, speed_radps: float) -> None:
        """The drive holds a speed [rad/s]."""
        with self._lock:
            self._advance()
            self.commanded_radps, self.duty = speed_radps, None

    def drive(self, duty: float) -> None:
        """The drive gives a share of the supply voltage, -1 to 1."""
        with self._lock:
            self._advance()
            self.commanded_radps, self.duty = None, duty

    def cut(self) -> None:
        """The output is zero: the wheel coasts."""
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


class Wheels(Sequence[Wheel]):
    """The wheels of simulated drives; the `drivers.sim.protocol.plant_ports.AxlePorts` of the device.

    Attributes:
        supply_volts: voltage of the motors' supply [V].
        reading_error: added to each reading of an angle [rad] and of a speed [rad/s]: a wrong encoder.
    """

    def __init__(self, wheels: Sequence[Wheel], supply_volts: float = 24.0) -> None:
        self._wheels, self.supply_volts = tuple(wheels), supply_volts
        self.reading_error = 0.0

    def __getitem__(self, place: int) -> Wheel:  # type: ignore[override]
        return self._wheels[place]

    def __len__(self) -> int:
        return len(self._wheels)

    def __iter__(self) -> Iterator[Wheel]:
        return iter(self._wheels)

    def speed_radps(self, wheel: int) -> float:
        """Speed as read [rad/s]."""
        return self._wheels[wheel].speed_radps + self.reading_error

    def angle_rad(self, wheel: int) -> float:
        """Angle as read [rad]."""
        return self._wheels[wheel].angle_rad + self.reading_error

    def hold(self, wheel: int, speed_radps: float) -> None:
        """See Wheel."""
        self._wheels[wheel].hold(speed_radps)

    def drive(self, wheel: int, duty: float) -> None:
        """See Wheel."""
        self._wheels[wheel].drive(duty)

    def cut(self, wheel: int) -> None:
        """See Wheel."""
        self._wheels[wheel].cut()

    def current_A(self, wheel: int) -> float:
        """Current of a motor [A]."""
        return self._wheels[wheel].current_A

    def supply_V(self) -> float:
        """Voltage of the supply [V]."""
        return self.supply_volts
