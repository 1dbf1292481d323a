"""RoboClaw controllers on a simulated serial bus, by their manual."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typing_extensions import override

from drivers.reported import Reaction
from drivers.roboclaw import protocol
from drivers.roboclaw.motor_layout import RoboClawController
from drivers.roboclaw.protocol import (
    FULL_DUTY,
    READINGS,
    TIMEOUT_STEP_MS,
    CommandCode,
    Listener,
    PositionPid,
    ReceivedRequest,
    StatusForm,
)
from drivers.sim.protocol.line import SimulatedSerialDevice
from drivers.sim.protocol.plant_ports import NEVER_NS, AxlePorts

VERSION = "USB Roboclaw 2x15a v4.2.8\n"
# Command 79 counts over so many parts of a second.
RAW_HZ = 300
STOPS_KEPT = 4096
# Step of a ramp [ns].
RAMP_NS = 2_000_000
# Power stage of a controller: temperature without a current [deg C], rise for the square of one [K/A^2], and its time
# constant [s]. Assumptions.
AMBIENT_DEGC, RISE, THERMAL_S = 25.0, 0.05, 60.0
# For each motor command, the first motor, 0 or 1; the number of its values gives the others.
_FIRST = {
    CommandCode.DUTY_M1: 0,
    CommandCode.DUTY_M2: 1,
    CommandCode.DUTY: 0,
    CommandCode.RUN_M1: 0,
    CommandCode.RUN_M2: 1,
    CommandCode.RUN: 0,
    CommandCode.RUN_ACCELERATING_M1: 0,
    CommandCode.RUN_ACCELERATING_M2: 1,
    CommandCode.RUN_ACCELERATING: 0,
    CommandCode.GO_M1: 0,
    CommandCode.GO_M2: 1,
    CommandCode.GO: 0,
}
_DUTIES = (CommandCode.DUTY_M1, CommandCode.DUTY_M2, CommandCode.DUTY)
_ACCELERATING = (CommandCode.RUN_ACCELERATING_M1, CommandCode.RUN_ACCELERATING_M2, CommandCode.RUN_ACCELERATING)
_GOING = (CommandCode.GO_M1, CommandCode.GO_M2, CommandCode.GO)
_SET_COUNT = (CommandCode.SET_COUNT_M1, CommandCode.SET_COUNT_M2)
_SET_PID = (CommandCode.SET_POSITION_PID_M1, CommandCode.SET_POSITION_PID_M2)
# Values of a move: acceleration, speed, deceleration, position.
_MOVE = 4


class SimMotor:
    """One channel with its encoder.

    Speeds are counted exactly, without the controller's filter. A wheel's position loop is not tuned: it does not move.

    Attributes:
        duty: that it reports.
        running: it is powered.
        encoder_mode: of its encoder.
        pid: its position loop.
    """

    encoder_mode = 0

    def __init__(self, wheels: AxlePorts, wheel: int, counts_per_rad: float, no_load_radps: float) -> None:
        self._wheels, self._wheel, self._counts_per_rad = wheels, wheel, counts_per_rad
        self._no_load_radps = no_load_radps
        self._set_qpps = self._target_qpps = 0.0
        self._ramp_qpps2 = math.inf
        self._offset = 0
        self.pid = PositionPid(0, 0, 0, 0, 0, 0, 0)
        self.duty = 0
        self.running = self._holds = False

    def count(self) -> int:
        """Encoder count since it was reset."""
        return math.floor(self._wheels.angle_rad(self._wheel) * self._counts_per_rad) - self._offset

    def set_count(self, count: int) -> None:
        """Count from there."""
        self._offset += self.count() - count

    def power_up(self) -> None:
        """Its controller's power was off and is on again: the encoder counts from 0."""
        self.stop()
        self.set_count(0)

    def go(self, acceleration: int, speed: int, deceleration: int, position: int) -> None:
        """Go to a position and hold it [counts, counts/s, counts/s^2]."""

    def speed_qpps(self) -> float:
        """Encoder speed [counts/s]."""
        return self._wheels.speed_radps(self._wheel) * self._counts_per_rad

    def current_A(self) -> float:
        """Its current, with the sign of the torque at its own shaft [A]."""
        return math.copysign(1.0, self._counts_per_rad) * self._wheels.current_A(self._wheel)

    def supply_V(self) -> float:
        """Returns the voltage of its supply [V]."""
        return self._wheels.supply_V()

    def stop(self) -> None:
        """Output zero."""
        self.running, self._holds, self.duty = False, False, 0
        self._set_qpps = self._target_qpps = 0.0
        self._wheels.cut(self._wheel)

    def run(self, qpps: float, ramp_qpps2: float) -> None:
        """Hold a speed [counts/s], reached by a ramp [counts/s^2] from the one held or turned at."""
        if not self._holds:
            self._set_qpps = self.speed_qpps()
        self.running, self._holds = True, True
        self._target_qpps, self._ramp_qpps2 = float(qpps), ramp_qpps2
        self.duty = round(max(-1.0, min(1.0, qpps / (self._no_load_radps * abs(self._counts_per_rad)))) * FULL_DUTY)
        if math.isinf(ramp_qpps2):
            self._set_qpps = self._target_qpps
        self._hold()

    def give_duty(self, duty: int) -> None:
        """Duty of -32768 to 32767."""
        if duty == 0:
            self.stop()
        else:
            self.running, self._holds, self.duty = True, False, duty
            share = max(duty / FULL_DUTY, -1.0)
            self._wheels.drive(self._wheel, math.copysign(1.0, self._counts_per_rad) * share)

    def ramp(self, passed_ns: int) -> bool:
        """Advance the ramp; whether it goes on."""
        if not self._holds or self._set_qpps == self._target_qpps:
            return False
        far = self._target_qpps - self._set_qpps
        self._set_qpps += math.copysign(min(abs(far), self._ramp_qpps2 * passed_ns * 1e-9), far)
        self._hold()
        return self._set_qpps != self._target_qpps

    def _hold(self) -> None:
        self._wheels.hold(self._wheel, self._set_qpps / self._counts_per_rad)


class SimRoboClaw:
    """One dual controller.

    Attributes:
        e_stop: its emergency stop is pressed: motors are off, and commands received meanwhile do not start them.
        timeout_steps: serial time-out in steps of 100 ms, 0 for none.
        answers_bytes: it acknowledges a setting of one byte, as firmware 4.3.6 does not.
        status: bits without that of the emergency stop. Those of a motor, and errors of the controller, switch off what
            they are of, until they are gone.
        stored: its memory for users, by place; 0xFFFF where nothing was written.
    """

    def __init__(
        self, motors: tuple[SimMotor, SimMotor], timeout_steps: int, form: StatusForm, version: str, identity: str
    ) -> None:
        self.motors, self.timeout_steps = motors, timeout_steps
        self._temperature_degC, self._warm_ns = AMBIENT_DEGC, 0
        self._form, self._version = form, version
        self._fed_ns = self._now_ns = 0
        self._e_stop = False
        self.status, self.answers_bytes = 0, True
        self.stored = {protocol.MARK_PLACE: int(identity)} if identity else {}

    @property
    def e_stop(self) -> bool:
        """Its emergency stop is pressed."""
        return self._e_stop

    @e_stop.setter
    def e_stop(self, pressed: bool) -> None:
        self._e_stop = pressed
        if pressed:
            self._stop()

    def _off(self) -> set[SimMotor]:
        """The motors that its status keeps off."""
        rows = [row for row in self._form.bits.set_rows(self.status) if row.reaction is Reaction.SAFE]
        named = {"M1": self.motors[:1], "M2": self.motors[1:]}
        return {motor for row in rows for motor in named.get(row.words[:2], self.motors)}

    @property
    def running(self) -> bool:
        """A motor is powered."""
        return any(motor.running for motor in self.motors)

    def power_up(self) -> None:
        """Its power was off and is on again: what was set by commands is lost."""
        self.timeout_steps = 0
        for motor in self.motors:
            motor.power_up()

    def wake(self, now_ns: int) -> int:
        """Run its ramps and its serial time-out; when it has to be called again [ns]."""
        passed_ns = max(now_ns - self._now_ns, 0) if self._now_ns else 0
        ramps = [motor.ramp(passed_ns) for motor in self.motors]
        self._now_ns = now_ns
        for motor in self._off() if self.status else ():
            motor.stop()
        if not (self.running and self.timeout_steps):
            return now_ns + RAMP_NS if any(ramps) else NEVER_NS
        over_ns = self._fed_ns + self.timeout_steps * TIMEOUT_STEP_MS * 1_000_000 + 1
        if now_ns >= over_ns:
            self._stop()
            return NEVER_NS
        return min(over_ns, now_ns + RAMP_NS) if any(ramps) else over_ns

    def answer(self, request: ReceivedRequest) -> bytes:
        """Carry out a request; any undamaged packet feeds the serial time-out."""
        self._fed_ns = request.ended_ns
        command, values = request.command, request.values
        if command is CommandCode.STORE:  # the second byte comes when it is written
            self.stored[values[0]] = values[1]
            return protocol.ACKNOWLEDGED + b"\xaa"
        if command in protocol.SETTINGS:
            self._set(command, values)
            return protocol.ACKNOWLEDGED if self.answers_bytes or protocol.SETTINGS[command].size != 1 else b""
        if command is CommandCode.STORED:
            return protocol.stored(request, self.stored.get(values[0], 0xFFFF))
        head = bytes((request.address, command))
        return protocol.signed(head + self._reading(command))[len(head) :]

    def _stop(self) -> None:
        for motor in self.motors:
            motor.stop()

    def _temperature_now(self) -> float:
        """Of its power stage [deg C], under the present currents since it was last asked for."""
        passed_s, self._warm_ns = (self._now_ns - self._warm_ns) * 1e-9 if self._warm_ns else 0.0, self._now_ns
        final_degC = AMBIENT_DEGC + RISE * sum(motor.current_A() ** 2 for motor in self.motors)
        self._temperature_degC += (final_degC - self._temperature_degC) * -math.expm1(-passed_s / THERMAL_S)
        return self._temperature_degC

    def _set(self, command: CommandCode, values: tuple[int, ...]) -> None:
        off = self._off() if self.status else ()
        if command is CommandCode.SET_TIMEOUT:
            (self.timeout_steps,) = values
        elif command is CommandCode.RESET_COUNTS:
            for motor in self.motors:
                motor.set_count(0)
        elif command in _SET_COUNT:
            self.motors[_SET_COUNT.index(command)].set_count(values[0])
        elif command in _SET_PID:
            d, p, i, *others = values
            self.motors[_SET_PID.index(command)].pid = PositionPid(p, i, d, *others)
        elif self._e_stop:
            return
        elif command in _GOING:
            moves = [values[place : place + _MOVE] for place in range(0, len(values) - 1, _MOVE)]
            for motor, move in zip(self.motors[_FIRST[command] :], moves, strict=False):
                if motor not in off:
                    motor.go(*move)
        else:
            ramp, speeds = (float(values[0]), values[1:]) if command in _ACCELERATING else (math.inf, values)
            for motor, value in zip(self.motors[_FIRST[command] :], speeds, strict=False):
                if motor in off:
                    continue
                if command in _DUTIES:
                    motor.give_duty(value)
                else:
                    motor.run(value, ramp)

    def _reading(self, command: CommandCode) -> bytes:
        """Returns the values of an answer."""
        one, two = self.motors
        if command is CommandCode.VERSION:
            return self._version.encode("ascii")[: protocol.VERSION_BYTES - 1] + b"\0"
        if command is CommandCode.STATUS:
            return self._form.layout.pack(self.status | (self._form.bits.emergency_stop if self._e_stop else 0))
        values: dict[CommandCode, Callable[[], tuple[int, ...]]] = {
            CommandCode.TIMEOUT: lambda: (self.timeout_steps,),
            CommandCode.COUNT_M1: lambda: (_wrap(one.count()), _backward(one) << 1),
            CommandCode.COUNT_M2: lambda: (_wrap(two.count()), _backward(two) << 1),
            CommandCode.SPEED_M1: lambda: (round(one.speed_qpps()), _backward(one)),
            CommandCode.SPEED_M2: lambda: (round(two.speed_qpps()), _backward(two)),
            CommandCode.PWMS: lambda: (one.duty, two.duty),
            CommandCode.MAIN_BATTERY: lambda: (round(one.supply_V() * 10),),
            CommandCode.TEMPERATURE: lambda: (round(self._temperature_now() * 10),),
            CommandCode.TEMPERATURE_2: lambda: (round(self._temperature_now() * 10),),
            CommandCode.CURRENTS: lambda: tuple(round(motor.current_A() * 100) for motor in self.motors),
            CommandCode.POSITION_PID_M1: lambda: tuple(one.pid),
            CommandCode.POSITION_PID_M2: lambda: tuple(two.pid),
            CommandCode.ENCODER_MODES: lambda: (one.encoder_mode, two.encoder_mode),
            CommandCode.COUNTS: lambda: (_wrap(one.count()), _wrap(two.count())),
            CommandCode.RAW_SPEEDS: lambda: tuple(RAW_HZ * round(motor.speed_qpps() / RAW_HZ) for motor in self.motors),
        }
        return READINGS[command].pack(*values[command]())


class ControllersOnBus(SimulatedSerialDevice):
    """Controllers on one bus; a `SimulatedSerialDevice`.

    It receives requests as the manual describes (see `Listener`), and does not answer damaged ones. At its TTL pins a
    controller answers to its own address only, by USB to any.

    Args:
        motors: both of each controller.
        usb: the port is the USB port of the only controller.
        timeout_ms: serial time-out at power-up, 0 for none.
        form: how their firmware answers command 90.
        version: their version text.

    Attributes:
        kinds: of faults, of a controller (`address`, or the first one): status, the bits (`value`) that it reports;
            identity, the mark (`value`) that is stored in it; unacknowledged: it acknowledges no setting of one byte.
        controllers: by address.
        stops: (address, time [ns] of the last byte of a duty 0 that stopped a running controller); the newest.
        starts: the same for commands that started a standing controller.
        timeouts: (address, time [ns] when a running controller stopped by its serial time-out, or by its status).
    """

    kinds: tuple[str, ...] = ("status", "identity", "unacknowledged")

    def __init__(
        self,
        motors: Mapping[RoboClawController, tuple[SimMotor, SimMotor]],
        *,
        usb: bool = False,
        timeout_ms: int = 0,
        form: StatusForm = protocol.WIDE,
        version: str = VERSION,
    ) -> None:
        if usb and len(motors) != 1:
            raise ValueError(f"RoboClaw by USB: {len(motors)} controllers on a port, allowed: one")
        self._usb = usb
        self.controllers = {
            one.address: SimRoboClaw(pair, timeout_ms // TIMEOUT_STEP_MS, form, version, one.identity)
            for one, pair in motors.items()
        }
        self.stops: deque[tuple[int, int]] = deque(maxlen=STOPS_KEPT)
        self.starts: deque[tuple[int, int]] = deque(maxlen=STOPS_KEPT)
        self.timeouts: deque[tuple[int, int]] = deque(maxlen=STOPS_KEPT)
        self._listener = Listener()

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        """Start a fault; see `OwnFaults`."""
        controller = self.controllers[how.get("address", next(iter(self.controllers)))]
        if kind == "status":
            controller.status = how["value"]
        elif kind == "identity":
            controller.stored[protocol.MARK_PLACE] = how["value"]
        else:
            controller.answers_bytes = False

    def press(self, pressed: bool) -> None:
        """Press or release the emergency stop that all of them read."""
        for controller in self.controllers.values():
            controller.e_stop = pressed

    @override
    def wake(self, now_ns: int) -> int:
        due_ns = NEVER_NS
        for address, controller in self.controllers.items():
            ran = controller.running
            due_ns = min(due_ns, controller.wake(now_ns))
            if ran and not controller.running:
                self.timeouts.append((address, now_ns))
        return due_ns

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Returns what the controllers answer to bytes that were on the line between two times [ns]."""
        answers = b""
        for request in self._listener.receive(data, began_ns, ended_ns):
            address = next(iter(self.controllers)) if self._usb else request.address
            if (controller := self.controllers.get(address)) is not None:
                ran = controller.running
                answers += controller.answer(request)
                if ran != controller.running:
                    (self.stops if ran else self.starts).append((address, request.ended_ns))
        return answers


class RoboClawBus(ControllersOnBus):
    """Controllers of wheels on one bus.

    Args:
        wheels: that they drive.
        controllers: address and wheels of each.
        counts_per_rev: encoder counts of one turn of an axle.
        sign: of each wheel, -1 where its motor is mounted the other way round.
        no_load_radps: speed of an axle at full duty, for the duty that they report while they hold a speed.
        **options: see `ControllersOnBus`.
    """

    def __init__(
        self,
        wheels: AxlePorts,
        controllers: Sequence[RoboClawController],
        counts_per_rev: float,
        *,
        sign: Sequence[int] = (1, 1, 1, 1, 1, 1),
        no_load_radps: float = 3.0,
        **options: Any,
    ) -> None:
        def pair(controller: RoboClawController) -> tuple[SimMotor, SimMotor]:
            one, two = (
                SimMotor(wheels, wheel, sign[wheel] * counts_per_rev / math.tau, no_load_radps)
                for wheel in controller.motors
            )
            return one, two

        super().__init__({controller: pair(controller) for controller in controllers}, **options)


def _wrap(count: int) -> int:
    return count % 2**32


def _backward(motor: SimMotor) -> int:
    return int(motor.speed_qpps() < 0)
