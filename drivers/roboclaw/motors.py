"""What wheel drives and servos on RoboClaw controllers have in common: stops, rounds, and the controllers' state."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import deque
from typing import ClassVar, Generic

from drivers.host import SLICE_S, Alive, Host
from drivers.interfaces import ControllerState, DeviceError, Health, LinkLostError, StopFrames
from drivers.motor_controllers import STANDING_RADPS, Command, Sample, for_each
from drivers.roboclaw.motor_layout import STATUS_HZ, RoboClawMotorLayout
from drivers.roboclaw.protocol import SLOW, CommandCode
from drivers.roboclaw.unit import StopSequence, Unit
from drivers.serial.link import OvertakenError, SerialLink

RATE_OVER = 51  # samples


class RoboClawMotors(ABC, Generic[Command, Sample]):
    """Motors on RoboClaw controllers, over one serial bus or several; a `PolledDevice` device.

    A cut is duty 0 (command 34). It is written at once, also while an answer is awaited (`StopSequence.begin`). All
    controllers confirm it before any other transaction, and it is repeated at each period, which keeps the serial
    time-outs fed. After `open`, and after any failure, the motors are cut until a cut and then a running command
    have been written.

    Transactions come in rounds: all controllers are set, then read. A round begins when it is due and the last one is
    done: where that takes longer than a period, there are fewer rounds. A sample is two rounds old at most when the
    next one replaces it. Between two of these transactions at most one asks for status or slow state.

    A confirmation of this protocol is one byte that does not name its request: a very late one counts for the next
    setting. Commands are repeated, so this is corrected within a period.

    Args:
        motors: with the section of the config.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        name: for people.
        motors: see above.
    """

    name: ClassVar[str]

    def __init__(self, motors: RoboClawMotorLayout, host: Host, alive: Alive) -> None:
        self.motors, self._host, section = motors, host, motors.section
        self._links = [
            SerialLink(self.name, port, section.baud, timeout_s=motors.answer_s, host=host, alive=alive, overtaken=True)
            for port in section.ports
        ]
        self._units = [Unit(motors, controller, self._links[controller.bus]) for controller in motors.controllers]
        self._stops = StopSequence(self._units, self._links)
        self._period_ns = round(1e9 / section.rate_hz)
        self._status_period_ns = round(1e9 / (STATUS_HZ * len(self._units)))
        self._slow_period_ns = round(1e9 / (motors.slow_hz * len(SLOW) * len(self._units)))
        self._sequence = 0
        self._reset()

    @abstractmethod
    def _take(self, command: Command) -> None:
        """Convert a running command. Raises ValueError: the controllers cannot do it; nothing is changed then."""

    @abstractmethod
    def _values(self, unit: Unit) -> tuple[CommandCode, tuple[int, ...]]:
        """Command and values of a controller's set-points."""

    @abstractmethod
    def _take_reading(self, unit: Unit, command: CommandCode) -> None:
        """Read something of a controller. Raises DeviceError."""

    @abstractmethod
    def _sample(self, sequence: int, t_ns: int, confirmed_ns: int, stopped_ns: int) -> Sample:
        """A sample of what was read last."""

    def _set_up(self, unit: Unit) -> None:
        """Check a controller that has been identified and cut. Raises DeviceError."""

    def _reset(self) -> None:
        """Reset all state, and cut until a new command."""
        for unit in self._units:
            unit.reset()
        self._speed = [0.0] * len(self.motors.names)
        self._allowed = self._ran = False
        self._cut, self._command_ns, self._stopped_ns = True, -1, -1
        self._stops.drop()
        self._announce = False
        self._to_set: deque[Unit] = deque()
        self._to_read: deque[tuple[Unit, CommandCode]] = deque()
        self._status = itertools.cycle(self._units)
        self._slow = itertools.cycle(itertools.product(self._units, SLOW))
        self._due_ns = self._status_due_ns = self._slow_due_ns = 0
        self._asked_state = False  # by the transaction before
        self._round_ns = self._sampled_ns = -1
        self._rounds: deque[int] = deque(maxlen=RATE_OVER)
        self._fresh: Sample | None = None

    def open(self) -> None:
        """Find every controller, set its time-out, cut it, and check that its motors stand. Raises DeviceError."""
        self.close()
        self._reset()
        try:
            for_each(self._links, SerialLink.open)
            for_each(self._units, Unit.identify)
            self._check_apart()
            self._stops.try_all()
            self._check_standing()
            for_each(self._units, self._set_up)
            self._sampled_ns = self._host.now_ns()
            self._publish()
        except DeviceError:
            self.close()
            raise

    def close(self) -> None:
        """Close the ports; the controllers stop by themselves within their serial time-out."""
        for link in self._links:
            link.close()

    def health(self) -> Health:
        """Returns the state of all links and of each controller."""
        each = [link.health("") for link in self._links]
        rate_hz = math.nan
        if len(self._rounds) > 1:
            rate_hz = (len(self._rounds) - 1) * 1e9 / max(self._host.now_ns() - self._rounds[0], 1)
        return Health(
            self.name,
            all(health.open for health in each),
            sum(health.errors for health in each),
            f"{'; '.join(unit.status_text() for unit in self._units)}; at duty 0: {self.motors.on_cut}",
            sum(health.retries for health in each),
            rate_hz,
            max(health.age_ms for health in each),
            any(unit.e_stop for unit in self._units),
            tuple(report for unit in self._units for report in unit.reports()),
            tuple(unit.identification() for unit in self._units),
        )

    def states(self) -> tuple[ControllerState, ...]:
        """State that each controller reports."""
        return tuple(unit.state() for unit in self._units)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """Frames that stop each bus, one entry per bus."""
        return self._stops.frames(self.name)

    def write(self, command: Command) -> None:
        """Accept a command; running ones are ignored until a cut has been written since `open` or a failure.

        Raises:
            ValueError: something commanded is not finite or beyond the controllers' range; the motors are then cut.
        """
        if command.cut:
            self._allowed = True
            self._demand_cut(command.t_ns)
        elif self._allowed:
            try:
                self._take(command)
            except ValueError:
                self._fail()
                raise
            self._cut, self._command_ns = False, command.t_ns

    def read(self, t_ns: int) -> Sample | None:  # noqa: ARG002
        """The newest sample not yet read: readings of a whole round; its t_ns is that of the first request.

        A confirmed cut makes a separate sample, with the readings of the last round.
        """
        sample, self._fresh = self._fresh, None
        return sample

    def step(self) -> None:
        """One transaction: a cut before all others, then set-points, status, readings, slow state; or a short wait.

        Raises:
            DeviceError: a controller or its link failed; from then on all reachable motors are cut.
        """
        try:
            self._step(self._host.now_ns())
        except OvertakenError:
            pass  # by a cut, whose stops are confirmed next
        except DeviceError:
            self._fail()
            raise

    def _step(self, now_ns: int) -> None:
        if self._ran and not self._cut:
            self._refuse_after_silence(now_ns)
        over = not (self._stops or self._to_set or self._to_read)
        slow = over and now_ns >= self._slow_due_ns and not self._asked_state
        if over and not slow and now_ns >= self._due_ns:
            self._begin_round(now_ns)
        if self._stops:
            self._stop_next()
        elif self._to_set:
            self._set(self._to_set.popleft())
        elif slow:
            self._asked_state, self._slow_due_ns = True, now_ns + self._slow_period_ns
            Unit.ask_slowly(*next(self._slow))
            return
        elif now_ns >= self._status_due_ns and not self._asked_state:
            self._asked_state, self._status_due_ns = True, now_ns + self._status_period_ns
            next(self._status).ask_slowly(CommandCode.STATUS)
            return
        elif self._to_read:
            self._read(*self._to_read.popleft())
        else:
            due_ns = min(self._due_ns, self._status_due_ns, self._slow_due_ns)
            self._host.rest(min(max(due_ns - now_ns, 0) * 1e-9, SLICE_S))
        self._asked_state = False

    def _fail(self) -> None:
        """Cut, and stay cut until a cut and then a running command are written."""
        self._allowed = False
        if not self._cut:
            self._demand_cut(-1)

    def _demand_cut(self, t_ns: int) -> None:
        """Start the stop of all controllers, unless it has begun or is done."""
        if not self._cut:
            self._announce = True
            self._to_set.clear()
            self._stops.begin()
        self._cut, self._command_ns = True, t_ns

    def _stop_next(self) -> None:
        self._stops.next(self._command_ns if self._cut else -1)
        if self._announce and not self._stops:
            self._announce = False
            if self._ran:
                self._ran, self._stopped_ns = False, self._stops.sent_ns()
            self._publish()

    def _begin_round(self, now_ns: int) -> None:
        """Schedule set-points, or the repeated stop, and readings."""
        self._due_ns = max(self._due_ns + self._period_ns, now_ns)
        if self._cut:
            self._stops.begin()
        else:
            self._to_set = deque(self._units)
        self._round_ns = -1
        self._to_read = deque(itertools.product(self._units, self.motors.readings))

    def _refuse_after_silence(self, now_ns: int) -> None:
        """Raises LinkLostError: a controller has stopped by itself, and our next set-point would start it again."""
        for unit in self._units:
            silent_ms = (now_ns - unit.answered_ns) * 1e-6
            if silent_ms > self.motors.section.timeout_ms:
                raise LinkLostError(
                    f"{unit.where}: no request for {silent_ms:.0f} ms, so its serial time-out of "
                    f"{self.motors.section.timeout_ms} ms has stopped it; to start it again write a cut, then a command"
                )

    def _set(self, unit: Unit) -> None:
        """Send a controller its motors' set-points."""
        command_ns = self._command_ns
        command, values = self._values(unit)
        if not self._ran:
            self._ran, self._stopped_ns = True, -1
        unit.set(command, *values)
        unit.confirm(command_ns)

    def _read(self, unit: Unit, command: CommandCode) -> None:
        if self._round_ns < 0:
            self._round_ns = self._host.now_ns()
        self._take_reading(unit, command)
        if not self._to_read:
            self._sampled_ns = self._round_ns
            self._rounds.append(self._host.now_ns())
            self._publish()

    def _publish(self) -> None:
        self._sequence += 1
        confirmed_ns = min(unit.confirmed_ns for unit in self._units)
        self._fresh = self._sample(self._sequence, self._sampled_ns, confirmed_ns, self._stopped_ns)

    def _check_apart(self) -> None:
        """Raises DeviceError: several addresses of a port are one controller, as a RoboClaw on USB answers to any."""
        for link in self._links:
            units = [unit for unit in self._units if unit.link is link]
            if len(units) == 1:
                continue
            if units[0].is_also(units[1]):
                addresses = ", ".join(f"{unit.controller.address:#04x}" for unit in units)
                raise DeviceError(
                    f"{self.name} on {link.port}: addresses {addresses} are one controller: what is set at one is read "
                    "at another. It is on USB, where a RoboClaw answers to any address. Allowed on USB: one controller "
                    "a port. Give each its own port in the config, or connect their TTL pins to a serial adapter"
                )
            for unit in units:
                unit.told_apart = True

    def _check_standing(self) -> None:
        """Raises DeviceError."""
        for unit, command in itertools.product(self._units, (CommandCode.SPEED_M1, CommandCode.SPEED_M2)):
            for motor, speed_radps in unit.speeds(command).items():
                self._speed[motor] = speed_radps
                if abs(speed_radps) > STANDING_RADPS:
                    raise DeviceError(
                        f"{unit.where}: {self.motors.names[motor]} turns at {speed_radps:.3f} rad/s though cut, "
                        f"allowed: {STANDING_RADPS}; wait until it stands still, check the encoder"
                    )
