"""What wheel drives and servos on dual-channel Roboteq controllers, one port each, have in common.

A step writes to all ports before it awaits the first answer, so it takes as long as one transaction.

A cut is `!EX` to all controllers, then set-points at rest, confirmed by the controller's fault flags. In closed loop a
speed of zero, or a position, would be held; `!EX` switches the output off, with four bytes. `!MG` ends it. It is sent
only with both set-points at rest, for a running command, and to ask whether an emergency stop is pressed: the fault
flags do not tell a pressed button from our own `!EX`, which is therefore ended for one question and sent again. That is
asked after the first cut that is commanded, and while one was seen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable

from typing_extensions import override

from drivers.host import SLICE_S, Alive, Host
from drivers.interfaces import ControllerState, DeviceError, Health, StopFrames
from drivers.motor_controllers import Command, CutFirstMotors, Sample, for_each, raise_all, rate_hz
from drivers.roboteq import protocol
from drivers.roboteq.controller import RELEASE_STOP, RoboteqController, StopState
from drivers.roboteq.motor_layout import FAULTS, SLOW, STOP, RoboteqMotorLayout
from drivers.roboteq.protocol import Exchange, FaultFlag

# How often stopped controllers are asked whether an emergency stop that was seen is still pressed [ns].
PRESSED_EVERY_NS = 200_000_000


class RoboteqMotors(CutFirstMotors[Command, Sample]):
    """A `PolledDevice`: writes and reads touch memory only, each step makes one transaction with every controller.

    The motors run only after a cut and then a running command: after opening, after a failure, an emergency stop, and a
    silence in which the controllers' watchdogs may have stopped them. Until then the driver stops them and checks it.

    Args:
        motors: with the section of the config.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(self, motors: RoboteqMotorLayout, host: Host, alive: Alive) -> None:
        super().__init__()
        self.motors, self._host, self._alive = motors, host, alive
        self._controllers = [RoboteqController(motors, controller, host, alive) for controller in motors.controllers]
        self._period_ns, self._due_ns = round(1e9 / motors.section.rate_hz), 0
        self._todo: deque[Callable[[], None]] = deque()
        self._turn = 0
        self._taken_ns: deque[int] = deque(maxlen=20)
        self._acknowledged_ns = self._stopped_ns = -1
        self._ran = self._e_stop = False
        self._asked_pressed = False
        self._pressed_due_ns = 0
        self._sequence = 0
        self._to_zero = True

    @abstractmethod
    def _set_up(self) -> None:
        """Check that the motors stand, and what else has to be before they may run. Raises DeviceError."""

    @abstractmethod
    def _set_points(self, controller: RoboteqController, command: Command) -> Exchange:
        """The request with a controller's set-points."""

    @abstractmethod
    def _made(self, sequence: int, t_ns: int, acknowledged_ns: int, stopped_ns: int) -> Sample:
        """A sample of what was read last. Raises DeviceError: it cannot be."""

    def open(self) -> None:
        """Stop all controllers, then set and check them; the motors must stand still.

        Raises:
            DeviceError: a port or controller that is not there, is configured otherwise, or a motor that turns.
        """
        self._todo.clear()
        self._taken_ns.clear()
        self._sample, self._acknowledged_ns, self._stopped_ns = None, -1, -1
        self._ran = self._asked_pressed = False
        self._disarm()
        try:
            for_each(self._controllers, RoboteqController.open)
            for_each(self._controllers, RoboteqController.set_up)
            self._set_up()
            self._read()
        except DeviceError:
            self.close()
            raise
        self._due_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the ports."""
        for controller in self._controllers:
            controller.link.close()

    def health(self) -> Health:
        """Returns the state of the links together."""
        each = [one.link.health(one.detail()) for one in self._controllers]
        return Health(
            self.motors.device,
            all(one.open for one in each),
            sum(one.errors for one in each),
            "; ".join(one.detail for one in each),
            sum(one.retries for one in each),
            rate_hz(self._taken_ns),
            max(one.age_ms for one in each),
            self._e_stop,
            tuple(report for one in self._controllers for report in one.reports()),
            tuple(one.identification for one in self._controllers),
        )

    def states(self) -> tuple[ControllerState, ...]:
        """State that each controller reports."""
        return tuple(controller.state() for controller in self._controllers)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """Emergency stop, and set-points at rest, on each port; an unfinished line is ended first."""
        motors = self.motors
        frame = protocol.END + Exchange(STOP.commands + motors.at_rest).frame
        baud = motors.section.baud
        return tuple(StopFrames(motors.device, one.port, baud, (frame,)) for one in motors.controllers)

    @override
    def _disarm(self) -> None:
        """Stop, and ignore running commands until a cut is commanded."""
        super()._disarm()
        self._to_zero = True

    @override
    def _act(self) -> None:
        now_ns = self._host.now_ns()
        if not self._is_to_stop() and any(controller.silent(now_ns) for controller in self._controllers):
            self._disarm()
        if now_ns >= self._due_ns and not self._todo:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            self._todo.extend([self._set, self._read, self._read_slow])
        if self._all_zero():
            self._to_zero = False
        if self._is_to_stop() and any(controller.to_cut() for controller in self._controllers):
            self._cut()
        elif not self._is_to_stop() and any(
            controller.stop_state is StopState.ZERO for controller in self._controllers
        ):
            self._release_stop()
        elif self._is_to_ask_pressed() and now_ns >= self._pressed_due_ns:
            self._pressed_due_ns = now_ns + PRESSED_EVERY_NS
            self._ask_pressed()
        elif self._todo:
            self._todo.popleft()()
        else:
            self._host.rest(max(min((self._due_ns - now_ns) * 1e-9, SLICE_S), 0.0))
            self._alive()

    def _is_to_stop(self) -> bool:
        return self._to_zero or self._command is None or self._command.cut

    def _is_to_ask_pressed(self) -> bool:
        return self._is_to_stop() and (self._e_stop or (self._acknowledged_ns >= 0 and not self._asked_pressed))

    def _cut(self) -> None:
        """The next step of stopping, separately for each controller."""
        command = self._command
        self._together([controller.to_cut() for controller in self._controllers])
        if self._ran and not any(controller.stop_state is StopState.MAY_RUN for controller in self._controllers):
            self._ran, self._stopped_ns = False, max(controller.stopped_ns for controller in self._controllers)
        if self._all_zero():
            self._acknowledge_cut(command)
            self._todo.appendleft(self._read)

    def _release_stop(self) -> None:
        """End the emergency stop if it is ours alone."""
        self._ran, self._stopped_ns = True, -1
        self._together([RELEASE_STOP] * len(self._controllers))
        self._todo.clear()
        self._todo.extend([self._check_release, self._set, self._read])

    def _ask_pressed(self) -> None:
        """Look whether an emergency stop is pressed; the controllers, all at rest, are cut again."""
        self._together([RELEASE_STOP] * len(self._controllers))
        self._check_release()
        self._cut()

    def _check_release(self) -> None:
        self._together([FAULTS] * len(self._controllers))
        self._check_e_stop()

    def _set(self) -> None:
        """Repeat the set-points, or zero, so that the watchdogs are fed."""
        command = self._command
        if command is None or self._is_to_stop():
            self._together([controller.zero for controller in self._controllers])
            self._acknowledge_cut(command)
        else:
            self._together([self._set_points(controller, command) for controller in self._controllers])
            self._acknowledged_ns = command.t_ns

    def _read(self) -> None:
        self._together([self.motors.reading] * len(self._controllers))
        if self._ran:
            self._check_e_stop()
        now_ns = self._host.now_ns()
        self._taken_ns.append(now_ns)
        self._sequence += 1
        self._sample = self._made(self._sequence, now_ns, self._acknowledged_ns, self._stopped_ns)

    def _read_slow(self) -> None:
        """One query, in turn."""
        self._together([SLOW[self._turn]] * len(self._controllers))
        self._turn = (self._turn + 1) % len(SLOW)

    def _check_e_stop(self) -> None:
        """Check for an emergency stop that we did not send."""
        self._e_stop = any(controller.faults & FaultFlag.EMERGENCY_STOP for controller in self._controllers)
        self._asked_pressed = True
        if self._e_stop:
            self._disarm()

    def _acknowledge_cut(self, command: Command | None) -> None:
        if command is not None and command.cut and self._all_zero():
            self._acknowledged_ns = command.t_ns

    def _all_zero(self) -> bool:
        return all(controller.stop_state is StopState.ZERO for controller in self._controllers)

    def _together(self, exchanges: list[Exchange | None] | list[Exchange]) -> None:
        """An exchange with each controller, all sent before the first answer is awaited; None: no exchange."""
        pairs = [
            (controller, exchange)
            for controller, exchange in zip(self._controllers, exchanges, strict=True)
            if exchange
        ]
        troubles: list[DeviceError] = []
        for action in (RoboteqController.post, RoboteqController.ask):
            for controller, exchange in pairs:
                try:
                    action(controller, exchange)
                except DeviceError as error:  # the others are stopped all the same
                    troubles.append(error)
        raise_all(troubles)
