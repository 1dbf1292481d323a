"""A joystick, to the byte of the kernel's events: held it runs; let go, lost or silent it stops; axes set values."""

import errno
import fcntl
import itertools
import os
import stat
import struct
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.ipc.shared_types import LEASE
from hil.messages.operator_input import Arm, Jog, SetPoint, Start, Stop
from hil.operator import joystick
from hil.operator.client import CommandClient, CommandError
from hil.operator.joystick import AXES, BUTTONS, EVENT, HoldToRun, Joystick, JoystickError, SetPointAxis
from tests.hil.operator.resident import Resident

TRIGGER, Y = BUTTONS["trigger"], AXES["y"]
SYN, KEY, ABS = 0, 1, 3
SPEED = SetPointAxis("speed_mps", Y, -0.05, 0.1)


class Stick:
    """The other end of a FIFO: what the kernel would send."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self._handle = path, os.open(path, os.O_RDWR)

    def send(self, kind, code, value):
        """An event and the report that ends it: two structs of 24 bytes each."""
        data = struct.pack("@llHHi", 1700000000, 123456, kind, code, value)
        os.write(self._handle, data + struct.pack("@llHHi", 1700000000, 123456, SYN, 0, 0))

    def write(self, data):
        os.write(self._handle, data)

    def unplug(self):
        os.close(self._handle)


class Rig:
    """A client that notes what it is asked for."""

    def __init__(self):
        self.asked, self.state, self.lost, self.refuses = [], "idle", "", ""

    def take_lease(self):
        self.asked.append("take")

    def release_lease(self):
        self.asked.append("release")

    def stop_heartbeat(self):
        self.asked.append("no heartbeat")

    def status(self):
        return {"state": self.state, "running": self.state in ("armed", "drive", "move")}

    def wait_until(self, condition, within_s):
        assert condition(self.status())
        assert within_s > 0.0

    def arm(self):
        if self.refuses:
            raise CommandError(self.refuses, "refused")
        self.asked.append("arm")
        self.state = "armed"

    def ask(self, jog):
        self.asked.append(jog)
        self.state = "move"

    def start(self):
        self.asked.append("start")
        self.state = "drive"

    def set_point(self, name, value):
        self.asked.append((name, round(value, 6)))

    def stop(self, reason=""):
        self.asked.append(f"stop {reason}")
        self.state = "idle"


class Bench:
    def __init__(self, folder, axes=(SPEED,), **how):
        self.stick, self.rig, self.now_s, self.said = Stick(folder / "stick"), Rig(), 0.0, []
        self.joystick = Joystick(self.stick.path, tuple(one.axis for one in axes))
        self.held = HoldToRun(
            self.rig, self.joystick, TRIGGER, axes, report=self.said.append, now_s=lambda: self.now_s, **how
        )

    def steps(self, seconds):
        for _ in range(round(seconds / 0.02)):
            self.held.step()
            self.now_s += 0.02


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(joystick, "LOOK_S", 0.0)
    return Bench(tmp_path)


def test_while_the_button_is_held_the_rig_is_armed_and_started_once_and_let_go_it_stops(bench):
    bench.steps(0.2)
    assert bench.rig.asked == []
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(1.0)
    assert bench.rig.asked == ["take", "arm", "start"]
    bench.stick.send(KEY, TRIGGER, 0)
    bench.steps(0.02)
    assert bench.rig.asked == ["take", "arm", "start", "stop joystick: let go", "release"]
    bench.steps(1.0)
    assert len(bench.rig.asked) == 5


def test_an_axis_sets_its_set_point_with_a_rate_and_at_most_its_end(bench):
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(0.5)
    bench.stick.send(ABS, Y, -32768)
    bench.steps(2.0)
    values = [one[1] for one in bench.rig.asked if isinstance(one, tuple)]
    steps = [after - before for before, after in zip([0.0, *values], values, strict=False)]
    assert values[-1] == 0.05
    assert all(0.0 < step <= 0.1 * 0.08 + 1e-9 for step in steps)
    bench.stick.send(ABS, Y, 3000)  # within the dead zone
    bench.steps(2.0)
    assert bench.rig.asked[-1] == ("speed_mps", 0.0)


@pytest.mark.parametrize("let_go", [(KEY, TRIGGER, 0), (ABS, Y, 3000)])
def test_an_axis_jogs_wheels_while_the_button_is_held_and_stops_with_either(tmp_path, monkeypatch, let_go):
    monkeypatch.setattr(joystick, "LOOK_S", 0.0)
    bench = Bench(tmp_path, jogs=("front_left", "front_right"))
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(1.0)
    assert bench.rig.asked == []  # the axis is in the middle
    bench.stick.send(ABS, Y, -32768)
    bench.steps(1.0)
    first = 0.1 * joystick.SET_S
    assert bench.rig.asked[:2] == ["take", Jog(("front_left", "front_right"), first, 10.0)]
    values = [first, *(one[1] for one in bench.rig.asked[2:])]
    assert values[-1] == 0.05
    longest_s = max(joystick.STATUS_S, joystick.SET_S) + 0.02
    assert all(0.0 < after - before <= 0.1 * longest_s for before, after in itertools.pairwise(values))
    bench.stick.send(*let_go)
    bench.steps(0.02)
    assert bench.rig.asked[-2:] == ["stop joystick: let go", "release"]
    asked = len(bench.rig.asked)
    bench.steps(2.0)
    assert len(bench.rig.asked) == asked


def test_unplugged_while_held_it_stops_and_says_so(bench):
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(0.5)
    bench.stick.unplug()
    with pytest.raises(JoystickError, match="is it unplugged"):
        bench.held.run()
    assert [one.partition(":")[0] for one in bench.rig.asked[-2:]] == ["stop joystick", "release"]


@pytest.mark.parametrize("silent_s", [0.0, 2.0])
def test_silent_for_too_long_while_held_it_stops(tmp_path, monkeypatch, silent_s):
    monkeypatch.setattr(joystick, "LOOK_S", 0.0)
    bench = Bench(tmp_path, silent_s=silent_s)
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(1.9)
    assert "start" in bench.rig.asked
    bench.steps(10.0)
    assert ("stop joystick: no event for 2 s" in bench.rig.asked) == bool(silent_s)
    bench.steps(5.0)
    assert bench.rig.asked.count("arm") == 1  # it has to be let go and pressed again


def test_events_that_the_kernel_has_dropped_may_have_been_the_release_so_it_stops(bench):
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(0.5)
    bench.stick.send(SYN, 3, 0)
    bench.steps(0.02)
    assert "stop joystick: let go" in bench.rig.asked


def test_a_lost_lease_and_a_refusal_end_it_until_the_button_is_pressed_again(bench):
    bench.rig.refuses = "arm: fault 18 is latched"
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(1.0)
    assert bench.said[0] == "pressed, but arm: fault 18 is latched"
    assert bench.rig.asked == ["take", "stop joystick: refused", "release"]
    bench.rig.refuses = ""
    bench.stick.send(KEY, TRIGGER, 0)
    bench.steps(0.02)
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(0.5)
    assert bench.rig.asked[3:] == ["take", "arm", "start"]
    bench.rig.lost = "the operator lease was lost"
    bench.steps(0.02)
    assert bench.rig.asked[6:] == ["stop joystick: the operator lease was lost", "release"]


def test_pressed_while_the_rig_is_busy_nothing_is_asked_for_later(bench):
    bench.rig.state = "concluding"
    bench.stick.send(KEY, TRIGGER, 1)
    bench.steps(0.5)
    bench.rig.state = "idle"
    bench.steps(0.5)
    assert "arm" not in bench.rig.asked
    assert bench.said[0] == "pressed, but the rig is concluding: let go, and press again once it is idle"


def test_other_events_and_halves_of_events_change_nothing(bench):
    bench.stick.send(KEY, BUTTONS["thumb"], 1)
    bench.stick.send(ABS, AXES["x"], 32767)
    data = EVENT.pack(0, 0, KEY, TRIGGER, 1)
    bench.stick.write(data[:10])
    bench.steps(0.2)
    assert bench.rig.asked == []
    bench.stick.write(data[10:])
    bench.steps(0.02)
    assert bench.rig.asked[0] == "take"


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 0.9), st.floats(0, 1), st.floats(-2, 2), st.floats(1e-3, 10))
def test_a_set_point_stays_within_its_rate_and_its_end(before, share, dead_zone, seconds, most, rate):
    before *= abs(most)
    value = SetPointAxis("speed_mps", Y, most, rate).next(before, share, dead_zone, seconds)
    assert abs(value - before) <= rate * seconds + 1e-12
    assert abs(value) <= abs(most) + 1e-12
    if abs(share) <= dead_zone:
        assert abs(value) <= abs(before)


class Kernel:
    """Answers the requests of a device that is no FIFO, with the numbers of linux/input.h."""

    name, lowest, highest = b"Logitech Extreme 3D", 0, 1023

    def ioctl(self, _handle, request, given):
        if request == 0x81004506:  # EVIOCGNAME(256)
            return self.name.ljust(len(given), b"\0")
        if request == 0x80184541:  # EVIOCGABS(ABS_Y)
            return struct.pack("@6i", 512, self.lowest, self.highest, 3, 63, 0)
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")


@pytest.fixture
def kernel(monkeypatch):
    kernel = Kernel()
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    monkeypatch.setattr(stat, "S_ISFIFO", lambda _mode: False)
    return kernel


def test_a_device_of_the_kernel_has_its_name_and_the_ends_of_its_axes(kernel, tmp_path):
    other = Stick(tmp_path / "event3")
    stick = Joystick(other.path, (Y,))
    assert stick.name == "Logitech Extreme 3D"
    for value, share in ((0, -1.0), (1023, 1.0), (767, 0.499511)):
        other.send(ABS, Y, value)
        assert stick.poll(1.0)
        assert stick.shares[Y] == pytest.approx(share, abs=1e-4)
    other.unplug()
    stick.close()


def test_what_is_no_joystick_is_refused_with_what_is_allowed(kernel, tmp_path):
    with pytest.raises(JoystickError, match="No such file or directory; allowed: an event device of Linux"):
        Joystick(tmp_path / "nothing")
    other = Stick(tmp_path / "event3")
    with pytest.raises(JoystickError, match="allowed: an event device"):
        Joystick(other.path, (AXES["x"],))  # it has none
    kernel.highest = 0
    with pytest.raises(JoystickError, match="has no axis 1"):
        Joystick(other.path, (Y,))


class Answers(Resident):
    """Armed by `arm`, driving from `start` on."""

    def answer(self, command):
        if isinstance(command, Arm | Start):
            self.show(state="armed" if isinstance(command, Arm) else "drive", running=True, message="")
        elif isinstance(command, Stop):
            time.sleep(0.05)  # the loop's next ticks
            row = np.zeros(1, LEASE)
            self._rig.memory.lease.read(row)
            self.held = bool(row["held"][0])
            self.show(state="idle", running=False, message="")


def test_over_the_command_socket_the_release_stops_and_only_then_the_lease_is_free(found_rig, tmp_path):
    stick = Stick(tmp_path / "stick")
    with Answers(found_rig) as resident, CommandClient.running("joystick") as rig:
        resident.show(state="idle", running=False, message="ready")
        held = HoldToRun(rig, Joystick(stick.path, (Y,)), TRIGGER, (SPEED,))
        stick.send(KEY, TRIGGER, 1)
        stick.send(ABS, Y, -32768)
        while not any(isinstance(one, SetPoint) for one in resident.asked):
            held.step()
        stick.send(KEY, TRIGGER, 0)
        while not any(isinstance(one, Stop) for one in resident.asked):
            held.step()
        commands = [one for one in resident.asked if isinstance(one, Arm | Start | SetPoint | Stop)]
        assert [type(one) for one in commands][:3] == [Arm, Start, SetPoint]
        assert commands[-1] == Stop("joystick: let go")
        assert resident.held  # else the loop would take the console for lost
        assert rig.lease_state.holder == ""
