"""A line or a machine that is too slow for the rate: fewer rounds, and nothing in them that waits for ever."""

from collections import Counter
from itertools import pairwise

import pytest

from drivers.roboclaw.protocol import CommandCode

from . import conftest as wheels
from . import servo_rig as joints

SLOW_MS = 15.0  # of each answer: set-points alone take longer than the period of 20 ms
ROUNDS = 12


@pytest.fixture(params=["wheels", "joints"])
def slow(request, tmp_path, line_time, until):
    """Motors that run on a line that has become slow, what their line received since, and one round of it."""
    if request.param == "wheels":
        rig = wheels.Rig(tmp_path, line_time, wheels.one_bus())
        motors, part, goes, recorder = rig.drives(), wheels, wheels.run(2), rig.recorders[0]
        set_points, readings = {CommandCode.RUN}, [CommandCode.SPEED_M1, CommandCode.SPEED_M2]
    else:
        rig = joints.ServoRig(tmp_path, line_time)
        motors, part, goes, recorder = rig.servos(), joints, joints.go(2, 0.25, 0.25, 0.25), rig.recorder
        set_points, readings = {67, 65}, [CommandCode.COUNTS]
    motors.open()
    motors.write(part.cut(1))
    until(motors, lambda sample: sample.acknowledged_ns >= 1)
    motors.write(goes)
    until(motors, lambda sample: sample.acknowledged_ns >= 2)
    rig.inject_fault("delayed", count=10**6, ms=SLOW_MS)
    until(motors, lambda sample: True)  # its round has begun before
    recorder.received.clear()
    return motors, recorder, rig.controllers, set_points, readings


def asked(recorder):
    return [(data[0], data[1]) for _, _, data in recorder.received]


def test_each_round_sets_and_reads_every_controller_once(slow, until):
    motors, recorder, controllers, set_points, readings = slow
    for _ in range(ROUNDS):
        until(motors, lambda sample: True)
        counts = Counter(asked(recorder))
        recorder.received.clear()
        for controller in controllers:
            address = controller.address
            assert sum(counts[address, command] for command in set_points) == 1
            assert [counts[address, command] for command in readings] == [1] * len(readings)


def test_a_sample_is_of_the_round_that_it_ends(slow, until, line_time):
    motors, *_ = slow
    for _ in range(ROUNDS):
        began_ns = line_time.now_ns
        sample = until(motors, lambda sample: True)
        assert began_ns < sample.t_ns < line_time.now_ns


@pytest.mark.slow
def test_state_is_read_between_set_points_and_readings_and_delays_each_by_one_transaction(slow, until):
    motors, recorder, controllers, set_points, readings = slow
    for _ in range(ROUNDS * len(controllers)):
        until(motors, lambda sample: True)
    order = [command in set_points or command in readings for _, command in asked(recorder)]
    assert all(first or second for first, second in pairwise(order))
    counts = Counter(asked(recorder))
    for controller in controllers:
        assert counts[controller.address, CommandCode.STATUS] > 1
        assert counts[controller.address, CommandCode.MAIN_BATTERY] > 0


def test_the_stop_is_repeated_and_readings_come_all_the_same(slow, until, line_time):
    motors, recorder, controllers, *_ = slow
    part = wheels if len(controllers) == 3 else joints
    motors.write(part.cut(3))
    until(motors, lambda sample: sample.acknowledged_ns == 3)
    until(motors, lambda sample: True)
    recorder.received.clear()
    for _ in range(ROUNDS):
        asked_ns = line_time.now_ns
        until(motors, lambda sample, asked_ns=asked_ns: sample.t_ns > asked_ns)
    stops = sum(data.count(bytes([controllers[0].address, CommandCode.DUTY])) for _, _, data in recorder.received)
    assert ROUNDS - 1 <= stops <= ROUNDS + 1
