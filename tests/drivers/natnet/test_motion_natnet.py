"""The motion-capture driver against a simulated server, datagram by datagram, in virtual time."""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from drivers.driver_type import InstrumentSetup
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.natnet.frame import NEWEST, MessageKind, server_info
from drivers.natnet.motion import NatNetMotion
from drivers.natnet.simulated.server import ServerOptions, frame_message
from tests.drivers.natnet.conftest import POSE, motive

PERIOD_NS = 10_000_000
PLACED = (1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5)
# From axes with y up to axes with z up: a quarter turn about x.
TO_Z_UP = Rotation.from_euler("x", 90, degrees=True)


def not_tracked(reading):
    return all(map(math.isnan, reading.value))


@pytest.mark.parametrize("natnet", [(3, 0), (3, 1), (4, 0), (4, 1)])
@pytest.mark.parametrize("up_axis", ["y", "z"])
def test_a_pose_arrives_as_it_was_measured(make_rig, natnet, up_axis):
    rig = make_rig(ServerOptions(natnet=natnet, up_axis=up_axis), up_axis=up_axis)
    rig.driver.open()
    reading = rig.reading()
    assert reading.value == pytest.approx(PLACED, abs=1e-6)
    assert f"NatNet {natnet[0]}.{natnet[1]}, body 1 tracked" in rig.driver.health().detail


def test_a_stream_with_y_up_is_turned_by_a_quarter_turn_about_x_as_another_library_does(make_rig):
    """The server streams as it measured, with z up; the driver believes that y is up."""
    rig = make_rig(ServerOptions(up_axis="z"), up_axis="y")
    rig.driver.open()
    found = np.array(rig.reading().value)
    np.testing.assert_allclose(found[:3], TO_Z_UP.apply(PLACED[:3]), atol=1e-6)
    wanted = TO_Z_UP * Rotation.from_quat(PLACED[3:]) * TO_Z_UP.inv()
    np.testing.assert_allclose(Rotation.from_quat(found[3:]).as_matrix(), wanted.as_matrix(), atol=1e-6)


def test_a_body_that_is_level_in_motive_is_level_in_the_rig(make_rig):
    rig = make_rig(ServerOptions(up_axis="z"), up_axis="y")
    rig.instrument.values = lambda t_s: (0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 1.0)
    rig.driver.open()
    assert rig.reading().value == pytest.approx((0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 1.0), abs=1e-6)


def test_of_a_position_the_first_three_values_are_given(make_rig):
    rig = make_rig(channels=POSE[:3])
    rig.driver.open()
    assert rig.reading().value == pytest.approx(PLACED[:3], abs=1e-6)


def test_of_several_bodies_it_gives_the_one_that_is_set(make_rig):
    rig = make_rig(ServerOptions(body=7, bodies=(1, 2, 9)), body=7)
    rig.driver.open()
    assert rig.reading().value == pytest.approx(PLACED, abs=1e-6)


def test_a_body_that_is_not_streamed_gives_nan_and_the_health_names_the_others(make_rig):
    rig = make_rig(ServerOptions(body=7, bodies=(2,)), body=1)
    rig.driver.open()
    assert not_tracked(rig.reading())
    assert "body 1 is not streamed; streamed: 2, 7" in rig.driver.health().detail


def test_a_body_that_is_not_tracked_gives_nan_until_it_is_tracked_again(rig):
    rig.instrument.values = lambda t_s: PLACED if not 1.5 <= t_s < 1.6 else (math.nan,) * 7
    rig.driver.open()
    found = rig.step_for(1.0)
    gone = [reading for reading in found if not_tracked(reading)]
    assert [reading.sequence for reading in gone] == list(range(gone[0].sequence, gone[0].sequence + 10))
    assert gone[0].t_ns == pytest.approx(1.5e9, abs=1000)
    assert not not_tracked(found[-1])


def test_readings_come_once_at_the_rate_of_the_frames_with_the_time_of_their_exposure(rig):
    rig.driver.open()
    found = rig.step_for(1.0)
    assert len(found) == pytest.approx(100, abs=2)
    assert [reading.sequence for reading in found] == list(range(1, len(found) + 1))
    off_ns = np.array([reading.t_ns for reading in found]) % PERIOD_NS
    assert np.max(np.minimum(off_ns, PERIOD_NS - off_ns)) <= 200  # a tick of the server's clock is 100 ns
    assert all(reading.arrived_ns - reading.t_ns == pytest.approx(5_000_000, abs=200) for reading in found)
    assert rig.driver.health().rate_hz == pytest.approx(100.0, rel=0.01)
    assert rig.driver.read(0) is None


def test_of_several_frames_that_have_come_the_newest_is_read(rig):
    rig.driver.open()
    rig.reading()
    rig.host.sleep(0.1)
    rig.driver.step()
    newest = rig.driver.read(0)
    assert newest.t_ns > rig.host.now_ns() - 2 * PERIOD_NS
    assert rig.driver.read(0) is None


def test_the_exposure_is_a_configured_time_before_the_transmission_where_the_cameras_do_not_tell_it(make_rig):
    rig = make_rig(ServerOptions(knows_exposure=False, delay_ns=8_000_000))
    rig.driver.open()
    found = rig.step_for(0.2)
    assert all(reading.arrived_ns - reading.t_ns == pytest.approx(8_000_000, abs=200) for reading in found)


@pytest.mark.slow
def test_the_time_follows_a_server_clock_that_drifts_by_100_ppm_with_late_frames_in_between(make_rig):
    rig = make_rig(ServerOptions(clock_ppm=100.0))
    rig.instrument.values = lambda t_s: (t_s, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    late = np.random.default_rng(27)
    rig.driver.open()
    found = []
    for _ in range(1500):
        rig.inject_fault("delayed", ms=float(late.exponential(1.0)))
        found += rig.step_for(0.01)
    error_us = np.array([(reading.t_ns * 1e-9 - reading.value[0]) * 1e6 for reading in found])
    arrival_us = np.array([reading.arrived_ns * 1e-3 - 5000.0 - reading.value[0] * 1e6 for reading in found])
    assert np.ptp(arrival_us) > 3000.0
    assert np.max(np.abs(error_us)) < 1500.0  # until the clock's rate is known
    assert np.max(np.abs(error_us[300:])) < 5.0


def test_frames_that_are_lost_leave_a_gap_in_the_sequence(rig):
    rig.driver.open()
    first = rig.reading()
    lost = first.t_ns // PERIOD_NS + 3
    rig.instrument.lost = {lost, lost + 1}
    numbers = [first.sequence, *(reading.sequence for reading in rig.step_for(0.2))]
    assert set(np.diff(numbers)) == {1, 3}


def test_a_frame_that_comes_twice_is_read_once(rig):
    rig.driver.open()
    rig.inject_fault("duplicate", count=5)
    times = [reading.t_ns for reading in rig.step_for(0.3)]
    assert len(times) == len(set(times))
    assert rig.driver.late == 5


def test_no_server_is_a_lost_link_that_says_what_to_look_at(rig):
    driver = NatNetMotion(motive("127.0.0.1:9"), InstrumentSetup(POSE, 100.0, 0), rig.host)
    with pytest.raises(LinkLostError, match=r"no answer within 2 s; does Motive stream .* unicast"):
        driver.open()
    assert not driver.health().open


def test_a_server_that_falls_silent_is_a_lost_link_after_the_set_time(make_rig):
    rig = make_rig(silent_s=1.0)
    rig.driver.open()
    rig.step_for(0.1)
    rig.inject_fault("off")
    began_ns = rig.host.now_ns()
    with pytest.raises(LinkLostError, match=r"no frame for 1\.0 s; is Motive live"):
        rig.step_for(2.0)
    assert rig.host.now_ns() - began_ns == pytest.approx(1e9, rel=0.02)
    assert not rig.driver.health().open


def test_a_server_that_was_restarted_streams_again_without_a_new_opening(rig):
    rig.driver.open()
    before = rig.step_for(0.2)
    rig.server.restart()
    after = rig.step_for(1.0)
    assert after[0].t_ns - before[-1].t_ns < 400_000_000
    assert after[-1].sequence > before[-1].sequence
    assert rig.server.clients == 2


def test_a_lost_link_can_be_opened_again(rig):
    rig.driver.open()
    rig.step_for(0.1)
    rig.inject_fault("disconnect")
    with pytest.raises(LinkLostError):
        rig.step_for(3.0)
    with pytest.raises(LinkLostError):
        rig.driver.open()
    rig.inject_fault("reconnect")
    rig.driver.open()
    assert rig.reading().value == pytest.approx(PLACED, abs=1e-6)


def test_a_server_clock_that_began_anew_is_mapped_anew(make_rig):
    rig = make_rig()
    rig.driver.open()
    rig.step_for(0.5)
    rig.server._ticks = lambda t_ns: round(t_ns * 1e-2) + 1000  # its computer was started again
    found = rig.step_for(0.5)
    assert found[-1].t_ns == pytest.approx(rig.host.now_ns() - 5_000_000, abs=PERIOD_NS + 1_000_000)
    assert all(b.t_ns > a.t_ns for a, b in pairwise(found))


def deliver_forged(rig, by_ns, sender_port=None, value=7.0):
    """A frame that says that it was sent so much later than now [ns], by the server's own port or another one."""
    frame = rig.driver.frame
    body = frame.bodies[1]._replace(position=(value, value, value))
    ticks = frame.transmitted + round(by_ns * 1e-2)
    forged = frame._replace(number=frame.number + 1, bodies={1: body}, exposed=ticks, transmitted=ticks)
    own_port = rig.driver._port.sender_port
    rig.driver._port.deliver(frame_message(forged, NEWEST), sender_port or own_port)


@pytest.mark.parametrize("by_s", [-3600.0, -2.0, 0.05, 0.9, 3600.0])
def test_a_frame_with_a_time_that_cannot_be_is_refused_and_stops_none_of_the_real_ones(rig, by_s):
    rig.driver.open()
    rig.step_for(0.5)
    expected = len(rig.step_for(1.0))
    for _ in range(5):
        deliver_forged(rig, round(by_s * 1e9))
        rig.driver.step()
    found = rig.step_for(1.0)
    assert len(found) >= expected - 1
    assert all(reading.value == pytest.approx(PLACED, abs=1e-6) for reading in found)
    assert all(rig.host.now_ns() >= reading.arrived_ns >= reading.t_ns for reading in found)
    assert found[-1].t_ns == pytest.approx(rig.host.now_ns() - 5_000_000, abs=PERIOD_NS + 1_000_000)
    assert rig.driver.refused == 5
    assert "5 frames of another sender or with times that cannot be" in rig.driver.health().detail


def test_a_first_frame_with_a_false_time_holds_the_real_ones_up_for_no_longer_than_a_question(rig):
    rig.driver.open()
    rig.reading()
    rig.driver._clock = None  # the next frame is the first that tells a time
    deliver_forged(rig, 900_000_000)
    found = rig.step_for(1.0)
    assert found[-1].t_ns == pytest.approx(rig.host.now_ns() - 5_000_000, abs=PERIOD_NS + 1_000_000)
    assert len(found) > 70


def test_frames_of_another_program_on_the_server_are_none_of_the_server_s(rig):
    rig.driver.open()
    rig.step_for(0.1)
    for _ in range(20):
        deliver_forged(rig, 1_000_000, sender_port=9)
        found = rig.step_for(0.01)
        assert all(reading.value == pytest.approx(PLACED, abs=1e-6) for reading in found)
    assert rig.driver.refused == 20


@pytest.mark.parametrize("forged", [{"natnet": (2, 9)}, {"natnet": (4, 9), "name": "other"}, {"clock_hz": 0}])
def test_what_another_program_says_of_itself_stops_no_stream(rig, forged):
    rig.driver.open()
    rig.step_for(0.1)
    expected = len(rig.step_for(0.5))
    for message in (server_info(rig.driver.server._replace(**forged)), frame_message(rig.driver.frame, NEWEST)):
        rig.driver._port.deliver(message, 9)
    assert len(rig.step_for(0.5)) >= expected - 1
    assert rig.driver.refused
    assert rig.driver.server.name != "other"


def test_a_server_that_sends_from_another_port_after_a_silence_is_heard_again(rig):
    rig.driver.open()
    rig.step_for(0.1)
    rig.inject_fault("off")
    rig.step_for(0.3)
    deliver_forged(rig, 300_000_000, sender_port=9)
    assert rig.reading().value[0] == 7.0


def test_a_recording_that_is_played_back_is_not_live(rig):
    rig.driver.open()
    assert rig.reading().live
    rig.server.live = False
    played = rig.step_for(0.2)[-1]
    assert not played.live
    assert set(played.value) == {math.inf}
    assert "switch Motive from Edit to Live" in rig.driver.health().detail
    rig.server.live = True
    assert rig.step_for(0.2)[-1].value == pytest.approx(PLACED, abs=1e-6)


def test_of_two_bodies_with_one_number_none_is_taken(make_rig):
    rig = make_rig(ServerOptions(repeated=True))
    rig.driver.open()
    assert not_tracked(rig.reading())
    assert "more than one body has the streaming ID 1" in rig.driver.health().detail


@pytest.mark.slow
def test_it_tells_the_server_that_it_is_there_and_goes_on_beyond_the_time_that_a_server_waits(rig):
    rig.driver.open()
    assert len(rig.step_for(25.0)) == pytest.approx(2500, abs=3)
    assert rig.server.clients == 1


def test_a_closed_driver_gets_no_more_frames(rig):
    rig.driver.open()
    rig.reading()
    rig.driver.close()
    rig.driver.close()
    rig.host.sleep(0.1)
    assert rig.server.unasked(rig.host.now_ns()) == ()
    with pytest.raises(LinkLostError, match="not open"):
        rig.driver.step()


@pytest.mark.parametrize("natnet", [(4, 2), (4, 4), (5, 0)])
def test_a_newer_server_is_asked_for_a_version_that_is_known(make_rig, natnet):
    rig = make_rig(ServerOptions(natnet=natnet))
    rig.driver.open()
    assert rig.server.version == (4, 1)
    assert rig.reading().value == pytest.approx(PLACED, abs=1e-6)
    assert f"NatNet {natnet[0]}.{natnet[1]} (stream 4.1)" in rig.driver.health().detail


def test_a_newer_server_that_does_not_change_its_version_is_refused_in_words(make_rig):
    rig = make_rig(ServerOptions(natnet=(4, 4)))
    rig.server._choose = lambda wanted: None
    with pytest.raises(LinkLostError, match=r"NatNet 4\.4 does not stream version 4\.1 .*reads 3\.0, 3\.1, 4\.0, 4\.1"):
        rig.driver.open()


def test_an_older_server_is_refused_in_words(make_rig):
    rig = make_rig(ServerOptions(natnet=(2, 9)))
    with pytest.raises(DeviceError, match=r"NatNet 2\.9; this driver reads 3\.0, .*: update Motive"):
        rig.driver.open()


def test_a_damaged_datagram_is_dropped_and_counted_and_three_of_ten_are_an_error(rig):
    rig.driver.open()
    rig.step_for(0.2)
    frame = rig.server._frame
    rig.server._frame = lambda *of: frame(*of)[:-30]
    with pytest.raises(DamagedError, match="3 of the last 10 datagrams damaged"):
        rig.step_for(0.2)
    assert rig.driver.health().errors == 3


@given(data=st.binary(max_size=400), kind=st.sampled_from([*map(int, MessageKind), 11, 4711]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_datagram_comes_the_driver_goes_on_or_raises_an_error_of_its_own(rig, data, kind):
    rig.driver.open()
    with suppress(DeviceError):
        for _ in range(4):
            rig.line._terminal.write(struct.pack("<HH", kind, len(data)) + data)
            rig.line._terminal.write(data)
        rig.step_for(0.05)
