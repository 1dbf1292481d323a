"""Wheel drives with the profile CiA 402 on one CAN bus.

A cut is the controlword 0, "disable voltage": the power stage is off, and no speed is held. One frame cuts all drives:
the fourth receive PDO of each has the same identifier. In each round the drives receive their set-points, or the stop
again; then our heartbeat, without which they switch off by themselves, and the synchronisation, which all answer.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from enum import Enum

from typing_extensions import override

from drivers.can import slcan
from drivers.can.bus import CanBus
from drivers.can.slcan import CanFrame
from drivers.can.status import ADAPTER
from drivers.cia402 import protocol
from drivers.cia402.drive import BOOT_S, SEEN_NS, Cia402Drive
from drivers.cia402.motor_layout import ROUND_S, Cia402Wheels
from drivers.cia402.section import Cia402DrivesSection
from drivers.cia402.state_machine import DISABLE_VOLTAGE, Cia402State, to_enable
from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, LOOK_S, SLICE_S, Alive, Host
from drivers.interfaces import ControllerState, DeviceError, DrivesDevice, Health, LinkLostError, StopFrames
from drivers.messages import DriveCommand, DriveSample
from drivers.motor_controllers import STANDING_RADPS, CutFirstMotors, for_each, power_sample, rate_hz

# A set-point has to fit into 31 bits and a sign.
UNITS_BELOW = 2.0**31
# From the command to run until all drives are enabled, at most [s].
ENABLE_S = 1.0
# From the stop until all drives are off, at most [s].
OFF_S = 0.05
# The drives may have switched off by themselves from this share of their heartbeat time on.
SILENT_AT = 0.9
# A round is asked for so often.
TRIES = 2


class _Power(Enum):
    """How far the drives are known to be off, or on."""

    MAY_RUN = 0
    STOPPED = 1  # the stop is sent
    OFF = 2  # and all drives have shown that they are off
    ENABLING = 3
    ENABLED = 4


class Cia402Drives(CutFirstMotors[DriveCommand, DriveSample], DrivesDevice):
    """A `PolledDevice`: writes and reads touch memory only, and no step waits for an answer.

    The motors run only after a cut and then a running command: after opening, after a failure, and when a drive has
    switched off by itself. A drive's fault is reset when this object is opened for the first time, which a person does;
    never when its worker opens it again.

    Args:
        section: of the config.
        rig: with the wheels.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: Cia402DrivesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        super().__init__()
        self._wheels, self._host, self._alive = Cia402Wheels(section, rig), host, alive
        self._bus = CanBus(self._wheels.device, section.port, section.baud, section.bit_rate, self._take, host, alive)
        self._drives = [Cia402Drive(self._wheels, place, self._bus, host, alive) for place in self._wheels.drives]
        self._by_node = {drive.place.node: drive for drive in self._drives}
        self._period_ns, self._round_ns = round(1e9 / section.rate_hz), round((ROUND_S + self._wheels.answers_s) * 1e9)
        self._stop = self._wheels.drives[0].stop.pack(DISABLE_VOLTAGE) if self._drives else None
        self._opened_before = False
        self._sequence = self._turn = self.retries = 0
        self._reset()

    def _reset(self) -> None:
        super()._disarm()
        self._power = _Power.MAY_RUN
        self._acknowledged_ns = self._stopped_ns = -1
        self._ran = False
        self._sample = None
        self._taken_ns: deque[int] = deque(maxlen=20)
        self._asked_ns = self._tried = 0
        self._asked: tuple[_Power, int] | None = None  # of the round whose answers are awaited
        self._due_ns = self._fed_ns = self._enabling_ns = self._stop_ns = 0
        self._flags: tuple[int, int] = (0, -SEEN_NS)

    def open(self) -> None:
        """Stop all drives, then identify, set and check them; the wheels must stand still. Raises DeviceError."""
        self._bus.close()
        self._reset()
        try:
            self._bus.open_bus()
            self._boot()
            for_each(self._drives, Cia402Drive.identify)
            for_each(self._drives, Cia402Drive.set_up)
            if not self._opened_before:
                for_each(self._drives, Cia402Drive.reset_fault)
            self._opened_before = True
            self._bus.send(*(protocol.network_command(protocol.START, one.place.node) for one in self._drives))
            self._due_ns = self._host.now_ns()
            while self._power is not _Power.OFF:
                self._act()
            for_each(self._drives, self._check_standing)
        except DeviceError:
            self.close()
            raise

    def close(self) -> None:
        """Close the port; the drives switch off without our heartbeat."""
        self._bus.close()

    def health(self) -> Health:
        """Returns the state of the bus and of each drive."""
        bus, now_ns = self._bus, self._host.now_ns()
        flags, seen_ns = self._flags
        reports = ADAPTER.reports(flags if now_ns - seen_ns < SEEN_NS else 0, f"adapter on {bus.port}")
        reports += tuple(report for one in self._drives for report in one.reports())
        troubles = [report.words for report in reports]
        supplies = [f"{state.supply_V:.1f} V" for state in self.states() if not math.isnan(state.supply_V)]
        return Health(
            self._wheels.device,
            bus.open,
            bus.errors,
            f"{', '.join([*dict.fromkeys(supplies), *troubles]) or 'nothing wrong'}; cut: {self._wheels.on_cut}",
            self.retries,
            rate_hz(self._taken_ns),
            (now_ns - bus.received_ns) * 1e-6,
            reports=reports,
            identities=tuple(one.identification for one in self._drives),
        )

    def states(self) -> tuple[ControllerState, ...]:
        """State that each drive reports."""
        return tuple(one.controller_state() for one in self._drives)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """The stop of all, that of each, and the command that ends their operation; a begun line is ended first."""
        own = [one.place.setpoint.pack(DISABLE_VOLTAGE, 0) for one in self._drives]
        own += [protocol.network_command(protocol.STOP, one.place.node) for one in self._drives]
        lines = b"".join(frame.line for frame in (*self._stop_frame, *own))
        return (StopFrames(self._wheels.device, self._bus.port, self._bus.baud, (slcan.END + lines,)),)

    @override
    def _disarm(self) -> None:
        super()._disarm()
        if self._power is not _Power.OFF:
            self._power = _Power.MAY_RUN

    @property
    def _stop_frame(self) -> tuple[CanFrame, ...]:
        return (self._stop,) if self._stop else ()

    @override
    def _act(self) -> None:
        now_ns = self._host.now_ns()
        self._bus.receive()
        self._look_at_drives(now_ns)
        command = self._command
        if command is None or command.cut:
            if self._power not in (_Power.STOPPED, _Power.OFF):
                self._send_stop()
                return
        elif self._power is _Power.OFF:
            self._power, self._enabling_ns, self._due_ns = _Power.ENABLING, now_ns, now_ns
            self._ran, self._stopped_ns = True, -1
        if self._asked is not None and self._is_answered():
            self._conclude()
        elif self._asked is not None and now_ns >= self._asked_ns + self._round_ns:
            self._ask_again()
        elif self._asked is None and now_ns >= self._due_ns:
            self._due_ns = max(self._due_ns + self._period_ns, now_ns)
            self._tried = 0
            self._begin_round(now_ns)
        else:
            self._rest(now_ns)

    def _look_at_drives(self, now_ns: int) -> None:
        """Stop all, if one has switched off by itself or may have done so. Raises LinkLostError: one began anew."""
        if booted := [one for one in self._drives if one.boots]:
            for one in booted:
                one.boots = 0
            raise LinkLostError("; ".join(f"{one.where}: it has started anew; check its supply" for one in booted))
        running = self._power in (_Power.ENABLING, _Power.ENABLED)
        if running and now_ns - self._fed_ns >= SILENT_AT * self._wheels.section.heartbeat_ms * 1e6:
            self._disarm()
        if self._power is _Power.ENABLED:
            for one in self._drives:
                if one.state is not Cia402State.ENABLED:
                    one.fall()
                    self._disarm()

    def _send_stop(self) -> None:
        """Cut all drives, now."""
        self._bus.send(*self._stop_frame)
        self._power, self._asked = _Power.STOPPED, None
        self._stop_ns = self._host.now_ns()
        if self._ran:
            self._ran, self._stopped_ns = False, self._bus.sent_ns
        self._due_ns = self._host.now_ns()  # that they are off is asked for next

    def _begin_round(self, now_ns: int) -> None:
        """Send the set-points, or the stop again, and ask all drives for their state."""
        for one in self._drives:
            one.feedback = None
        half, turn = self._turn % 2, self._turn // 2
        asks_slowly = [one.slow_request(turn) for place, one in enumerate(self._drives) if place % 2 == half]
        self._turn += 1
        beat = protocol.heartbeat(self._wheels.section.own_node)
        self._bus.send(
            *self._set_points(), beat, CanFrame(protocol.SYNC, b""), *asks_slowly, status=self._bus.flags >= 0
        )
        self._fed_ns = self._asked_ns = now_ns
        self._asked = self._power, -1 if self._command is None else self._command.t_ns

    def _set_points(self) -> list[CanFrame]:
        command = self._command
        if command is None or self._power not in (_Power.ENABLING, _Power.ENABLED):
            own = [one.place.setpoint.pack(DISABLE_VOLTAGE, 0) for one in self._drives if self._tried]
            return [*self._stop_frame, *own]
        frames = []
        for one in self._drives:
            enabled = self._power is _Power.ENABLED
            value = self._wheels.value(one.place.wheel, command.speed_radps[one.place.wheel]) if enabled else 0
            frames.append(one.place.setpoint.pack(to_enable(one.state), value))
        return frames

    def _is_answered(self) -> bool:
        return all(one.feedback is not None for one in self._drives)

    def _conclude(self) -> None:
        """All drives have answered a round: what of its command they have confirmed."""
        asked, self._asked = self._asked, None
        assert asked is not None
        power, command_ns = asked
        self._bus.judge()
        states = {one.state for one in self._drives}
        if self._bus.flags > 0:
            self._flags = self._bus.flags, self._host.now_ns()
        if power is not self._power:  # a stop has overtaken it
            pass
        elif power is _Power.ENABLING:
            self._go_on_enabling(states)
        elif power is _Power.ENABLED:
            self._acknowledged_ns = command_ns
        elif all(state.off for state in states):
            self._power, self._acknowledged_ns = _Power.OFF, max(command_ns, self._acknowledged_ns)
        elif power is _Power.OFF:  # somebody else has switched one on
            self._power = _Power.MAY_RUN
        elif self._host.now_ns() - self._stop_ns < OFF_S * 1e9:
            self._tried = 1  # the stop of all has not reached each, so each gets its own
            self._begin_round(self._host.now_ns())
        else:
            on = "; ".join(one.where for one in self._drives if not one.state.off)
            raise DeviceError(f"{on}: its power stage is still on {OFF_S:g} s after the stop; press the emergency stop")
        self._publish()

    def _go_on_enabling(self, states: set[Cia402State]) -> None:
        """Raises DeviceError: a drive does not come into operation."""
        if states == {Cia402State.ENABLED}:
            self._power, self._due_ns = _Power.ENABLED, self._host.now_ns()
        elif Cia402State.FAULT in states:  # it reports that by itself
            self._disarm()
        elif self._host.now_ns() - self._enabling_ns > ENABLE_S * 1e9:
            late = [one for one in self._drives if one.state is not Cia402State.ENABLED]
            found = "; ".join(f"{one.where}: {one.state.name.lower().replace('_', ' ')}" for one in late)
            raise DeviceError(f"{found}: needed: operation enabled within {ENABLE_S:g} s; is safe torque off released?")
        else:
            self._due_ns = self._host.now_ns()

    def _ask_again(self) -> None:
        """Raises DeviceError: it was asked for often enough."""
        instead = self._bus.found_instead()
        self._bus.judge()
        self._tried += 1
        if self._tried < TRIES:
            self.retries += 1
            self._begin_round(self._host.now_ns())
            return
        self._asked = None
        silent = "; ".join(one.where for one in self._drives if one.feedback is None)
        raise LinkLostError(
            f"{silent}: no answer within {self._round_ns * 1e-6:.0f} ms, twice; check cable, termination, power and "
            f"bit rate{instead}"
        )

    def _publish(self) -> None:
        self._sequence += 1
        speeds = [0.0] * len(self._wheels.names)
        for one in self._drives:
            speeds[one.place.wheel] = one.speed_radps
        power = power_sample(one.power() for one in self._drives) if self._wheels.section.measures_power else None
        self._taken_ns.append(self._asked_ns)
        self._sample = DriveSample(
            self._sequence, self._asked_ns, tuple(speeds), self._acknowledged_ns, self._stopped_ns, power
        )

    def _rest(self, now_ns: int) -> None:
        """Rest until something is due, or the answers can be there."""
        if self._asked is None:
            due_ns = self._due_ns
        else:
            come_ns = self._bus.sent_ns + round(self._wheels.answers_s * 1e9)
            due_ns = max(come_ns, now_ns + round(LOOK_S * 1e9))
        self._host.rest(min(max(due_ns - now_ns, 0) * 1e-9, SLICE_S))
        self._alive()

    def _boot(self) -> None:
        """Stop what may run, and have all drives begin anew. Raises DeviceError."""
        for one in self._drives:
            one.forget()
        own = [one.place.setpoint.pack(DISABLE_VOLTAGE, 0) for one in self._drives]
        self._bus.send(*self._stop_frame, *own)
        for_each(self._drives, lambda one: one.write(protocol.CONTROLWORD, DISABLE_VOLTAGE))
        nodes = [one.place.node for one in self._drives]
        self._bus.send(*(protocol.network_command(protocol.RESET_COMMUNICATION, node) for node in nodes))
        self._await(lambda: all(one.boots for one in self._drives), BOOT_S)
        self._await(lambda: False, SLICE_S)
        for_each(self._drives, self._check_booted)

    def _await(self, done: Callable[[], bool], seconds: float) -> None:
        until_ns = self._host.now_ns() + round(seconds * 1e9)
        while not done() and self._host.now_ns() < until_ns:
            self._bus.receive(1)
            self._alive()

    def _check_booted(self, drive: Cia402Drive) -> None:
        boots, drive.boots = drive.boots, 0
        if not boots:
            raise LinkLostError(f"{drive.where}: it has not started anew within {BOOT_S:g} s; switch it off and on")
        if boots > 1:
            raise DeviceError(f"{drive.where}: {boots} drives have this node-ID; give each its own (maker's program)")

    def _check_standing(self, drive: Cia402Drive) -> None:
        if abs(drive.speed_radps) > STANDING_RADPS:
            raise DeviceError(
                f"{drive.where}: turns at {drive.speed_radps:.3f} rad/s after its stop; wait until it stands still"
            )

    def _take(self, frame: CanFrame) -> None:
        """Take a frame; those of other nodes are none of ours. Raises BadFrameError."""
        if (drive := self._by_node.get(frame.identifier & protocol.NODES)) is not None:
            drive.take(frame)

    @override
    def _check_command(self, command: DriveCommand) -> None:
        name, below = self._wheels.device, UNITS_BELOW / self._wheels.units_per_radps
        if command.duty:
            raise DeviceError(f"{name}: duties commanded, but the drives are in profile velocity mode; drive by speed")
        for wheel, speed in enumerate(command.speed_radps):
            if not abs(speed) < below:
                raise DeviceError(f"{name}: speed of wheel {wheel}: {speed} rad/s, allowed: below {below:.3f}")
