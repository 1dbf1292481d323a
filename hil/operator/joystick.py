"""A joystick of this computer as an operator's console: hold a button to run, let go to stop, axes set set-points.

Source: Linux, `include/uapi/linux/input.h` (struct input_event, EVIOCGNAME, EVIOCGABS) and `input-event-codes.h`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hil.messages.operator_input import Jog
from hil.operator.client import CommandClient, CommandError

# An event of the kernel: time [s, us], type, code, value.
EVENT = struct.Struct("@llHHi")
EV_SYN, EV_KEY, EV_ABS, SYN_DROPPED = 0, 1, 3, 3
_ABSOLUTE = struct.Struct("@6i")  # value, lowest, highest, fuzz, flat, resolution
_NAME_BYTES = 256
AXES = {"x": 0, "y": 1, "z": 2, "rx": 3, "ry": 4, "rz": 5, "throttle": 6, "rudder": 7, "hat0x": 16, "hat0y": 17}
BUTTONS = {
    "trigger": 0x120, "thumb": 0x121, "thumb2": 0x122, "top": 0x123, "top2": 0x124, "pinkie": 0x125, "base": 0x126,
    "a": 0x130, "b": 0x131, "x": 0x133, "y": 0x134, "tl": 0x136, "tr": 0x137, "tl2": 0x138, "tr2": 0x139,
}  # fmt: skip
# Ends of an axis of a FIFO, which has no ranges.
_SIXTEEN_BITS = (-32768, 32767)
# An event is awaited so long; between two looks at the state of the rig, and between two set-points [s].
LOOK_S, STATUS_S, SET_S = 0.01, 0.1, 0.05
# A run that is stopped has ended after so long; a jog ends after so long, however long it is held [s].
ENDS_S = JOG_S = 10.0
# States without a run in which the rig can be armed.
CAN_ARM = ("idle", "closed")
_ALLOWED = "allowed: an event device of Linux, like /dev/input/by-id/...-event-joystick, or a FIFO of its events"


class JoystickError(Exception):
    """There is no joystick, or it is lost; the message says what to do."""


class Joystick:
    """A joystick behind an event device, or behind a FIFO to which another program writes the same events.

    Args:
        path: of the device.
        axes: codes of those that are needed.

    Attributes:
        name: that it has.
        pressed: codes of the buttons that have been pressed since it was opened, and not let go.
        shares: where each axis is, -1 to 1, by its code.

    Raises:
        JoystickError: it is none, or has no such axis.
    """

    def __init__(self, path: Path, axes: tuple[int, ...] = ()) -> None:
        self._path, self._data, self._came = path, b"", False
        self.pressed, self.shares = set[int](), dict.fromkeys(axes, 0.0)
        try:
            self._handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            rights = "; give the right: adduser USER input" if error.errno == errno.EACCES else ""
            raise JoystickError(f"joystick {path}: {error.strerror}; {_ALLOWED}{rights}") from None
        self._fifo = stat.S_ISFIFO(os.fstat(self._handle).st_mode)
        try:
            self.name = "events of a FIFO" if self._fifo else self._asked(0x06, _NAME_BYTES).split(b"\0")[0].decode()
            self._ends = {axis: self._ends_of(axis) for axis in axes}
        except JoystickError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the device."""
        os.close(self._handle)

    def poll(self, wait_s: float) -> bool:
        """Wait for events, and take those that have come; whether any has. Raises JoystickError: it is lost."""
        select.select([self._handle], [], [], wait_s)
        try:
            data = os.read(self._handle, 64 * EVENT.size)
        except BlockingIOError:
            return False
        except OSError as error:
            raise JoystickError(f"joystick {self._path} is gone ({error.strerror}): is it unplugged?") from None
        if not data:
            if self._came or not self._fifo:
                raise JoystickError(f"joystick {self._path} has ended: is it unplugged?")
            time.sleep(wait_s)  # nobody writes to the FIFO yet
            return False
        self._came, self._data = True, self._data + data
        while len(self._data) >= EVENT.size:
            self._take(*EVENT.unpack(self._data[: EVENT.size])[2:])
            self._data = self._data[EVENT.size :]
        return True

    def _take(self, kind: int, code: int, value: int) -> None:
        if kind == EV_SYN and code == SYN_DROPPED:
            self.pressed.clear()  # a release may be among the events that the kernel has dropped
        elif kind == EV_KEY:
            (self.pressed.add if value else self.pressed.discard)(code)
        elif kind == EV_ABS and code in self.shares:
            lowest, highest = self._ends[code]
            self.shares[code] = min(max((2.0 * value - lowest - highest) / (highest - lowest), -1.0), 1.0)

    def _ends_of(self, axis: int) -> tuple[int, int]:
        if self._fifo:
            return _SIXTEEN_BITS
        _, lowest, highest, *_ = _ABSOLUTE.unpack(self._asked(0x40 + axis, _ABSOLUTE.size))
        if not lowest < highest:
            raise JoystickError(f"joystick {self._path} ({self.name}) has no axis {axis}: allowed are those it has")
        return lowest, highest

    def _asked(self, number: int, size: int) -> bytes:
        """Returns what the kernel answers to a read of the device's properties. Raises JoystickError: it is none."""
        try:
            return fcntl.ioctl(self._handle, 2 << 30 | size << 16 | ord("E") << 8 | number, bytes(size))
        except OSError as error:
            raise JoystickError(f"joystick {self._path}: {error.strerror}; {_ALLOWED}") from None


class SetPointAxis(NamedTuple):
    """An axis that sets a set-point of the running experiment.

    Attributes:
        name: of the set-point.
        axis: code of the axis.
        most: its value at the axis's end, in SI; negative: the other way round.
        rate: that it changes by at most, in SI a second.
    """

    name: str
    axis: int
    most: float
    rate: float

    def next(self, value: float, share: float, dead_zone: float, seconds: float) -> float:
        """Returns the value after some seconds.

        Args:
            value: now.
            share: where the axis is, -1 to 1.
            dead_zone: share around the middle in which the value is 0.
            seconds: since the value was set.

        Example:
            >>> SetPointAxis("speed_mps", AXES["y"], -0.05, 0.1).next(0.0, -1.0, 0.1, 0.25)
            0.025
        """
        beyond = max(abs(share) - dead_zone, 0.0) / (1.0 - dead_zone)
        wanted = self.most * (beyond if share > 0.0 else -beyond)
        reach = self.rate * seconds
        return value + min(max(wanted - value, -reach), reach)


class HoldToRun:
    """A console that runs the rig while a button is held.

    Pressed: it takes the operator lease and arms; once the rig is armed it starts. While held, axes set set-points. Let
    go, lost, or silent for too long: it stops the run, which needs no lease, and releases the lease. A button that is
    down when the joystick is opened counts once it is pressed again. If this program dies, its lease expires, and the
    loop does what `operator.console_lost` says.

    With `jogs` the button counts while its one axis is out of the middle: wheels turn as fast as the axis says, and
    stop as soon as either is let go.

    Args:
        rig: client of the running `hil operate`.
        stick: the joystick.
        button: code of the button.
        axes: that set set-points.
        jogs: wheels that are jogged, or all; none: the experiment runs.
        dead_zone: of each axis, a share.
        silent_s: without any event for so long while held, it stops [s]; 0: not watched.
        report: called with what happens.
        now_s: the clock [s].
    """

    def __init__(
        self,
        rig: CommandClient,
        stick: Joystick,
        button: int,
        axes: tuple[SetPointAxis, ...] = (),
        *,
        jogs: tuple[str, ...] = (),
        dead_zone: float = 0.1,
        silent_s: float = 10.0,
        report: Callable[[str], Any] = lambda _: None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rig, self._stick, self._button, self._axes = rig, stick, button, axes
        self._jogs, self._dead_zone, self._silent_s, self._report, self._now_s = (
            jogs,
            dead_zone,
            silent_s,
            report,
            now_s,
        )
        self._held = self._begins = self._starts = False
        self._heard_s = self._status_s = self._set_s = 0.0
        self._values: dict[str, float] = {}

    def run(self) -> None:
        """Until Ctrl-C, which stops as well. Raises JoystickError: it is lost; the run is stopped."""
        try:
            while True:
                self.step()
        except JoystickError as error:
            self._let_go(str(error))
            raise
        finally:
            self._let_go("the program ends")

    def step(self) -> None:
        """Look at the joystick once, and do what follows. Raises JoystickError: it is lost."""
        if self._stick.poll(LOOK_S):
            self._heard_s = self._now_s()
        down = self._button in self._stick.pressed and (not self._jogs or any(self._first().values()))
        if down and not self._held and not self._begins:
            self._begins = True
            self._press()
        elif not down:
            self._begins = False
            self._let_go("let go")
        elif self._held:
            self._hold(self._now_s())

    def _first(self) -> dict[str, float]:
        """Each set-point, were it 0 until now."""
        return {one.name: one.next(0.0, self._stick.shares[one.axis], self._dead_zone, SET_S) for one in self._axes}

    def _press(self) -> None:
        try:
            self._rig.take_lease()
            self._held, self._starts, self._values = True, False, {}
            self._status_s = self._set_s = self._now_s()
            status = self._rig.status()
            if not status.get("running"):
                if (state := status.get("state")) not in CAN_ARM:
                    raise CommandError(f"the rig is {state}: let go, and press again once it is idle")
                if self._jogs:
                    self._values = self._first()
                    self._rig.ask(Jog(self._jogs, self._values["speed_mps"], JOG_S))
                else:
                    self._rig.arm()
                self._starts = True
            self._report("held: armed, and started once all checks pass")
        except CommandError as error:
            self._report(f"pressed, but {error}")
            self._let_go("refused")

    def _hold(self, now_s: float) -> None:
        try:
            if self._rig.lost:
                self._let_go(self._rig.lost)
            elif self._silent_s and now_s - self._heard_s > self._silent_s:
                self._let_go(f"no event for {self._silent_s:g} s")
            elif self._starts and now_s - self._status_s >= STATUS_S:
                self._status_s = now_s
                if self._rig.status().get("state") == ("move" if self._jogs else "armed"):
                    if not self._jogs:
                        self._rig.start()
                    self._starts = False
                    self._report("started: let go to stop")
            elif not self._starts and now_s - self._set_s >= SET_S:
                self._set(now_s)
        except CommandError as error:
            self._let_go(str(error))

    def _set(self, now_s: float) -> None:
        """Set what has changed. Raises CommandError."""
        seconds, self._set_s = now_s - self._set_s, now_s
        for one in self._axes:
            before = self._values.get(one.name, 0.0)
            value = one.next(before, self._stick.shares[one.axis], self._dead_zone, seconds)
            if value != before:
                self._rig.set_point(one.name, value)
                self._values[one.name] = value

    def _let_go(self, why: str) -> None:
        """Stop what runs, and release the lease."""
        if not self._held:
            return
        self._held = False
        self._report(f"stopped: {why}")
        try:
            self._rig.stop(f"joystick: {why}")
            # released before the loop has taken the stop, the lease would count as a lost console: fault 19
            self._rig.wait_until(lambda status: not status.get("running"), ENDS_S)
            self._rig.release_lease()
        except CommandError as error:
            self._rig.stop_heartbeat()  # the lease expires, and the loop ends the run
            self._report(str(error))
