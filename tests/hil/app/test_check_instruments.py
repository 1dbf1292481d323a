"""Checks by `hil check` of instruments whose readings are set by the test, and what `hil devices` finds of them."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import pytest

from drivers.interfaces import DeviceError, Health
from drivers.messages import Reading
from drivers.natnet import motion
from drivers.natnet.simulated.server import MotionServer
from drivers.sim.protocol.line import Line, serve_lines
from drivers.sim.protocol.udp import UdpTerminal
from hil.app.check.instrument_checks import check_instrument
from hil.app.discovery import find_devices
from hil.config import ConfigError, load_config
from hil.config.rig import Rig

MS = 1_000_000
JOINTS = ("left_bogie", "right_bogie", "rear_bogie")
LISTED = ", ".join(f"{{joint: {name}, address: {number}, register_number: 1}}" for number, name in enumerate(JOINTS, 1))
OVERRIDES = [
    "motion={rate_hz: 100, stale_ms: 50}",
    "joints={rate_hz: 50}",
    "devices.motion={driver: natnet, address: '127.0.0.1:9'}",
    f"devices.joints={{driver: modbus, port: /dev/ttyEncoders, encoders: [{LISTED}]}}",
]
POSE = (1.0, 2.0, 0.3, 0.0, 0.0, 0.0, 1.0)
ANGLES = (0.1, math.pi / 2, math.nan)


@pytest.fixture(scope="module")
def rig():
    return Rig(load_config("mars_dome", OVERRIDES))


class Instrument:
    """The Access and its instrument, with readings set by the test."""

    def __init__(self, values=POSE):
        self.values, self.t_ns, self.number = values, 0, 0
        self.period_ns, self.age_ns, self.lost = 10 * MS, 5 * MS, set()
        self.closed = 0

    def device(self, role):
        return self

    def go_on(self):
        self.t_ns += 2 * MS
        return self.t_ns

    def open(self):
        pass

    def close(self):
        self.closed += 1

    def health(self):
        return Health("motion capture at 10.0.0.1:1510", True, 0, "Motive 3.1, body 1 tracked")

    def read(self, t_ns):
        number = self.t_ns // self.period_ns
        if number <= self.number or number in self.lost:
            return None
        self.number = number
        measured_ns = number * self.period_ns
        return Reading(number, measured_ns, self.values, measured_ns + self.age_ns)


def looked(rig, instrument, role="motion"):
    return {check.item: check for check in check_instrument(role, rig, instrument)}


def failed(checks):
    return [item for item, check in checks.items() if not check.ok]


def test_an_instrument_that_measures_at_its_rate_passes_and_is_closed(rig):
    instrument = Instrument()
    checks = looked(rig, instrument)
    assert failed(checks) == []
    assert checks["motion capture at 10.0.0.1:1510"].found == "Motive 3.1, body 1 tracked"
    assert checks["measured from outside: rate"].found == "100.0 a second, 0 of 100 lost or replaced by the next one"
    assert checks["measured from outside: age"].found == "5.0 ms on arrival, up to 15.0 ms before the next one"
    assert checks["measured from outside: newest"].found.startswith("x_m 1, y_m 2, z_m 0.3")
    assert instrument.closed == 1


def test_readings_that_are_lost_are_counted_and_do_not_change_the_rate(rig):
    instrument = Instrument()
    instrument.lost = {10, 11, 50}
    assert (
        looked(rig, instrument)["measured from outside: rate"].found
        == "100.0 a second, 3 of 100 lost or replaced by the next one"
    )


def test_a_gap_in_which_a_run_would_call_the_reading_stale_is_refused(rig):
    stale_ms = rig.config.motion.stale_ms
    for missing, ok in ((round(stale_ms / 10) - 2, True), (round(stale_ms / 10) + 1, False)):
        instrument = Instrument()
        instrument.lost = set(range(20, 20 + missing))
        assert looked(rig, instrument)["measured from outside: age"].ok is ok


def test_another_rate_than_the_config_s_is_refused_with_the_key_to_change(rig):
    instrument = Instrument()
    instrument.period_ns = 20 * MS
    check = looked(rig, instrument)["measured from outside: rate"]
    assert not check.ok
    assert check.found.startswith("50.0 a second")
    assert "motion.rate_hz" in check.to_do


def test_readings_older_than_stale_are_refused(rig):
    instrument = Instrument()
    instrument.age_ns = 60 * MS
    assert failed(looked(rig, instrument)) == ["measured from outside: age"]


def test_a_body_that_is_not_tracked_is_refused(rig):
    checks = looked(rig, Instrument((math.nan,) * 7))
    assert failed(checks) == ["measured from outside: measured"]
    assert "x_m in 100%" in checks["measured from outside: measured"].found


def test_an_encoder_that_does_not_answer_is_named_and_angles_are_shown_in_degrees(rig):
    instrument = Instrument(ANGLES)
    instrument.period_ns = 20 * MS
    checks = looked(rig, instrument, "joints")
    assert failed(checks) == ["joint angles: measured"]
    assert checks["joint angles: measured"].found.endswith("not measured: rear_bogie in 100%")
    assert checks["joint angles: newest"].found.startswith("left_bogie 5.73 deg, right_bogie 90.00 deg")


def test_a_silent_instrument_is_one_that_does_not_answer(rig):
    instrument = Instrument()
    instrument.period_ns = 10_000 * MS
    with pytest.raises(DeviceError, match=r"0 readings in 1 s \(Motive 3\.1, body 1 tracked\); is it connected"):
        check_instrument("motion", rig, instrument)
    assert instrument.closed == 1


class Streamed:
    """A pose that stands still, with the real clock."""

    channels, rate_hz = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw"), 100.0

    def since(self, sequence):
        newest = time.monotonic_ns() // (10 * MS)
        first = max(sequence + 1, newest - 100)
        return [(number, number * 10 * MS, POSE) for number in range(first, newest + 1)]


@pytest.fixture
def streaming():
    """Address of a motion-capture server on this computer."""
    line = Line(Path("natnet"), MotionServer(Streamed()), 1, 0, UdpTerminal, network=True)
    going = [True]
    thread = threading.Thread(target=serve_lines, args=([line], time.monotonic_ns, lambda: going[0]), daemon=True)
    thread.start()
    yield line.endpoint
    going[0] = False
    thread.join()
    line.close()


def test_what_answers_on_the_network_is_found_with_its_version_and_rate(streaming, monkeypatch):
    monkeypatch.setattr(motion, "GREET_NS", 60 * 10**9)  # this machine may be busy
    patient = "devices.motion.silent_s=60"
    config = load_config("mars_dome", [*OVERRIDES, f"devices.motion.address={streaming!r}", patient])
    found = find_devices(Rig(config))
    (device,) = found.network
    assert (device.address, device.driver, device.answers) == (streaming, "natnet", True)
    assert "Motive 3.1.0.0, NatNet 4.1, body 1 tracked" in device.words
    assert device.rate_hz > 1.0
    assert [key.found for key in found.keys if key.key == "devices.motion.address"] == [True]


def test_what_does_not_answer_is_told_with_the_reason():
    found = find_devices(Rig(load_config("mars_dome", OVERRIDES)))
    (device,) = found.network
    assert not device.answers
    assert "no answer within 2 s" in device.words
    assert {key.key: key.found for key in found.keys}["devices.motion.address"] is False


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        (["motion=null"], "devices.motion", "a section, natnet"),
        (["joints=null"], "devices.joints", "a section, modbus"),
        (["motion.measures=distance"], "motion.measures", "distance"),
        (["devices.motion.address=''"], "devices.motion.address", "''"),
        (["devices.motion.address=motive"], "devices.motion.address", "'motive'"),
        (["devices.joints.encoders.2.joint=rocker"], "devices.joints.encoders", "0 for rear_bogie"),
        (["devices.joints.port=/dev/same", "devices.valves.port=/dev/same"], "devices.valves.port", "2 links"),
    ],
)
def test_a_config_whose_instruments_and_devices_do_not_fit_is_refused(overrides, key, words):
    with pytest.raises(ConfigError) as caught:
        load_config("mars_dome", [*OVERRIDES, *overrides])
    assert any(problem.key == key and words in problem.found for problem in caught.value.problems)
