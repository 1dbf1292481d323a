"""Six wheel drives on three dual-channel Roboteq controllers, one port each.

A step writes to all ports before it awaits the first answer, so it takes as long as one transaction.

A cut is `!EX` to all controllers, then `!G n 0`, confirmed by the controller's fault flags. In closed loop `!G n 0`
alone would hold the speed at zero; `!EX` switches the output off, with four bytes. `!MG` ends it. It is sent only for a
running command, and only with both set-points at zero.

What `!G n value` commands is set at the controller: a speed in closed loop, a duty in open loop. So a command of the
other kind is refused.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import ControllerState, DeviceError, Health, StopFrames
from drivers.messages import DriveCommand, DriveSample
from drivers.power import power_sample
from drivers.roboteq import protocol
from drivers.roboteq.controller import NAME, RELEASE_STOP, ZERO, RoboteqController, StopState
from drivers.roboteq.protocol import Exchange, FaultFlag
from drivers.roboteq.settings import SLOW, SPEEDS, STOP, RoboteqControllerSettings, RoboteqSettings, budget, check

__all__ = ["RoboteqControllerSettings", "RoboteqDrives", "RoboteqSettings", "budget", "check"]

# An axle slower than this counts as standing still [rad/s].
STANDING_RADPS = 0.05


class RoboteqDrives:
    """A `PolledDevice`: writes and reads touch memory only, each step makes one transaction with every controller.

    The drives run only after a cut and then a running command: after opening, after a failure, an emergency stop, and a
    silence in which the controllers' watchdogs may have stopped them. Until then the driver stops them and checks it.

    Args:
        settings: see there.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Raises:
        ValueError: settings that cannot work.
    """

    def __init__(self, settings: RoboteqSettings, host: Host = COMPUTER, alive: Alive = lambda: None) -> None:
        check(settings)
        self.settings, self._host, self._alive = settings, host, alive
        self._controllers = [
            RoboteqController(settings, controller, host, alive) for controller in settings.controllers
        ]
        self._period_ns, self._due_ns = round(1e9 / settings.rate_hz), 0
        self._todo: deque[Callable[[], None]] = deque()
        self._turn = 0
        self._taken_ns: deque[int] = deque(maxlen=20)
        self._acknowledged_ns = self._stopped_ns = -1
        self._ran = self._e_stop = False
        self._sequence = 0
        self._sample: DriveSample | None = None
        self._command: DriveCommand | None = None
        self._cut_received, self._to_zero = False, True

    def open(self) -> None:
        """Stop all controllers, then set and check them; the wheels must stand still.

        Raises:
            DeviceError: a port or controller that is not there, is configured otherwise, or a wheel that turns.
        """
        self._todo.clear()
        self._taken_ns.clear()
        self._sample, self._acknowledged_ns, self._stopped_ns = None, -1, -1
        self._ran = self._e_stop = False
        self._disarm()
        try:
            self._each(RoboteqController.open)
            self._each(RoboteqController.set_up)
            self._read_speeds()
            for wheel, speed in enumerate(self._speeds_radps()):
                if abs(speed) > STANDING_RADPS:
                    raise DeviceError(
                        f"{NAME}: wheel {wheel} turns at {speed:.3f} rad/s after its stop; wait until it stands still"
                    )
        except DeviceError:
            self.close()
            raise
        self._due_ns = self._host.now_ns()

    def close(self) -> None:
        """Close the ports."""
        for controller in self._controllers:
            controller.link.close()

    def health(self) -> Health:
        """State of the links together."""
        each = [one.link.health(one.detail()) for one in self._controllers]
        spans = len(self._taken_ns) - 1
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1) if spans > 0 else math.nan
        return Health(
            NAME,
            all(one.open for one in each),
            sum(one.errors for one in each),
            "; ".join(one.detail for one in each),
            sum(one.retries for one in each),
            rate_hz,
            max(one.age_ms for one in each),
            self._e_stop,
        )

    def states(self) -> tuple[ControllerState, ...]:
        """State that each controller reports."""
        return tuple(controller.state() for controller in self._controllers)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """Emergency stop and both set-points zero, on each port; an unfinished line is ended first."""
        frame = protocol.END + Exchange(STOP.commands + ZERO.commands[:-1]).frame
        return tuple(
            StopFrames(NAME, controller.port, self.settings.baud, (frame,)) for controller in self.settings.controllers
        )

    def write(self, command: DriveCommand) -> None:
        """Accept a command; a running one only after a cut.

        Raises:
            DeviceError: a speed or duty beyond the controllers' range, or not what the controllers are set up for.
        """
        if not command.cut:
            if not self._cut_received:
                return
            self._check_outputs(command)
        self._cut_received = True
        self._command = command

    def read(self, t_ns: int) -> DriveSample | None:  # noqa: ARG002
        """The newest sample, once."""
        sample, self._sample = self._sample, None
        return sample

    def step(self) -> None:
        """Stop, release the stop, set-points, speeds, slow state: the first of these that is due.

        Raises:
            DeviceError: from then on the wheels are to be stopped until a new command.
        """
        try:
            self._act()
        except DeviceError:
            self._disarm()
            raise

    def _disarm(self) -> None:
        """Stop, and ignore running commands until a cut is commanded."""
        self._cut_received, self._to_zero, self._command = False, True, None

    def _act(self) -> None:
        now_ns = self._host.now_ns()
        if not self._is_to_stop() and any(controller.silent(now_ns) for controller in self._controllers):
            self._disarm()
        if now_ns >= self._due_ns and not self._todo:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            self._todo.extend([self._set, self._read_speeds, self._read_slow])
        if self._all_zero():
            self._to_zero = False
        if self._is_to_stop() and any(controller.to_cut() for controller in self._controllers):
            self._cut()
        elif not self._is_to_stop() and any(
            controller.stop_state is StopState.ZERO for controller in self._controllers
        ):
            self._release_stop()
        elif self._todo:
            self._todo.popleft()()
        else:
            self._host.rest(max(min((self._due_ns - now_ns) * 1e-9, SLICE_S), 0.0))
            self._alive()

    def _is_to_stop(self) -> bool:
        return self._to_zero or self._command is None or self._command.cut

    def _cut(self) -> None:
        """The next step of stopping, separately for each controller."""
        command = self._command
        self._together([controller.to_cut() for controller in self._controllers])
        if self._ran and not any(controller.stop_state is StopState.MAY_RUN for controller in self._controllers):
            self._ran, self._stopped_ns = False, max(controller.stopped_ns for controller in self._controllers)
        if self._all_zero():
            self._acknowledge_cut(command)
            self._todo.appendleft(self._read_speeds)

    def _release_stop(self) -> None:
        """End the emergency stop if it is ours alone."""
        self._ran, self._stopped_ns = True, -1
        self._together([RELEASE_STOP] * len(self._controllers))
        self._todo.clear()
        self._todo.extend([self._check_release, self._set, self._read_speeds])

    def _check_release(self) -> None:
        self._together([SLOW[0]] * len(self._controllers))
        self._check_e_stop()

    def _set(self) -> None:
        """Repeat the set-points, or zero, so that the watchdogs are fed."""
        command = self._command
        if command is None or self._is_to_stop():
            self._together([ZERO] * len(self._controllers))
            self._acknowledge_cut(command)
        else:
            by_duty = self.settings.open_loop
            value, outputs = (
                (self.settings.duty_value, command.duty) if by_duty else (self.settings.value, command.speed_radps)
            )
            wheels = [controller.controller.wheels for controller in self._controllers]
            values = [(value(a, outputs[a]), value(b, outputs[b])) for a, b in wheels]
            self._together([controller.run(pair) for controller, pair in zip(self._controllers, values, strict=True)])
            self._acknowledged_ns = command.t_ns

    def _read_speeds(self) -> None:
        self._together([SPEEDS] * len(self._controllers))
        now_ns = self._host.now_ns()
        self._taken_ns.append(now_ns)
        self._sequence += 1
        speeds = self._speeds_radps()
        power = power_sample(controller.power() for controller in self._controllers)
        self._sample = DriveSample(self._sequence, now_ns, speeds, self._acknowledged_ns, self._stopped_ns, power)

    def _read_slow(self) -> None:
        """One query to one controller, in turn."""
        query, place = divmod(self._turn, len(self._controllers))
        self._turn = (self._turn + 1) % (len(SLOW) * len(self._controllers))
        self._controllers[place].ask(SLOW[query])
        if self._ran:
            self._check_e_stop()

    def _check_e_stop(self) -> None:
        """Check for an emergency stop that we did not send."""
        self._e_stop = any(controller.faults & FaultFlag.EMERGENCY_STOP for controller in self._controllers)
        if self._e_stop:
            self._disarm()

    def _acknowledge_cut(self, command: DriveCommand | None) -> None:
        if command is not None and command.cut and self._all_zero():
            self._acknowledged_ns = command.t_ns

    def _all_zero(self) -> bool:
        return all(controller.stop_state is StopState.ZERO for controller in self._controllers)

    def _speeds_radps(self) -> tuple[float, ...]:
        of = {
            wheel: self.settings.speed_radps(wheel, rpm)
            for controller in self._controllers
            for wheel, rpm in zip(controller.controller.wheels, controller.rpm, strict=True)
        }
        return tuple(of[wheel] for wheel in sorted(of))

    def _check_outputs(self, command: DriveCommand) -> None:
        by_duty, most, what, unit = self.settings.open_loop, self.settings.full_speed_radps, "speed", " rad/s"
        if bool(command.duty) != by_duty:
            outputs, mode = ("duty", "closed-loop speed") if command.duty else ("speeds", "open loop")
            needed = "drive by speed" if command.duty else "drive by duty"
            raise DeviceError(f"{NAME}: {outputs} commanded, but the controllers are in {mode} mode (MMOD); {needed}")
        if by_duty:
            most, what, unit = 1.0, "duty", ""
        for wheel, output in enumerate(command.duty if by_duty else command.speed_radps):
            if not abs(output) <= most:
                allowed = f"up to {most:.3f} either way"
                raise DeviceError(f"{NAME}: {what} of wheel {wheel}: {output}{unit}, allowed: {allowed}")

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
        if troubles:
            raise troubles[0]

    def _each(self, action: Callable[[RoboteqController], None]) -> None:
        """Call for one controller after the other; an error at one does not prevent the others."""
        troubles: list[DeviceError] = []
        for controller in self._controllers:
            try:
                action(controller)
            except DeviceError as error:
                troubles.append(error)
        if troubles:
            raise troubles[0]
