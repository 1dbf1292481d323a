"""Instruments of motion (row 33): what is wrong with one is marked once for each cause, or latched if it is needed."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from drivers.messages import DriveSample, Reading, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.schema.trial import TrialConfig
from hil.messages.fault import Fault
from hil.messages.link_messages import EVENT
from hil.messages.stages import SOURCE_STATES, Samples
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes, warnings_for
from hil.safety.instrument_monitor import InstrumentMonitor, InstrumentSource

MS = 1_000_000
POSE = "motion={measures: pose, stale_ms: 100, frozen_readings: 5}"
UPRIGHT = (0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0)
STANDING = (0.0, 0.0, 9.81, 0.0, 0.0, 0.0)


class Watched:
    """A monitor that is given one reading after the other; each tick is as late as its reading.

    `found` has what it reported: whether it was latched, and what was said.
    """

    def __init__(self, *settings, role="motion"):
        self.config = load_config("sim_impact", settings)
        self.role, self.number, self.found = role, 0, []
        sources = [InstrumentSource(one, self.config) for one in self.config.layout.instruments]
        self.monitor = InstrumentMonitor(sources)
        self.reading = Reading.unread(len(self.config.layout.parts(role)))

    def read(self, t_ms, *value):
        self.number += 1
        self.reading = Reading(self.number, round(t_ms * MS), value, round(t_ms * MS))
        return self.tick(t_ms)

    def tick(self, t_ms, state="none"):
        observed = SimpleNamespace(source=(SOURCE_STATES.index(state),), innovation=(7.5,))
        before = len(self.found)
        self.watch(self.samples(t_ms), observed)
        return self.found[before:]

    def watch(self, samples, observed=None):
        for fault, value, limit, detail, only_marked, _ in self.monitor.alarms(
            samples, SimpleNamespace(observed=observed)
        ):
            assert fault is (Fault.MEASURED_MOTION if self.reading.live else Fault.NOT_LIVE)
            assert len(detail.encode()) <= EVENT["detail"].itemsize, detail
            self.found.append(("marked" if only_marked else "latched", detail, value, limit))

    def samples(self, t_ms):
        nothing = DriveSample(0, 0, (0.0,) * 6, -1), ValveSample(0, 0, ((0.0, 0.0),) * 2, -1)
        return Samples(round(t_ms * MS), (), 0, 0, *nothing, **{self.role: self.reading})

    def checks(self, t_ms):
        return {check.item: check for check in self.monitor.arming_checks(self.samples(t_ms))}


def details(found):
    return [detail for _, detail, *_ in found]


@pytest.fixture
def needed(monkeypatch):
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("motion",))


def noisy(number):
    return (1e-4 * (number % 3), 0.0, 0.3, 0.0, 0.0, 0.0, 1.0)


def test_without_instruments_nothing_is_watched():
    assert not InstrumentMonitor([]).watched
    assert warnings_for(Rig(load_config("sim_impact"))) == warnings_for(Rig(load_config("sim_impact", [POSE])))


@pytest.mark.parametrize("role", ["motion", "imu", "joints"])
def test_an_instrument_that_plays_a_recording_back_is_marked_once_at_its_first_such_reading(role):
    watched = Watched(f"{role}={{}}", role=role)
    played = (math.inf,) * len(watched.reading.value)
    ((how, detail, *_),) = watched.read(10, *played)
    assert how == "marked"
    assert detail.startswith(f"{role}: it plays a recording back, allowed: live readings")
    assert [watched.read(t_ms, *played) for t_ms in range(20, 2000, 10)] == [[]] * 198
    check = watched.checks(1990)[f"{role} live"]
    assert (check.ok, check.found) == (False, "it plays a recording back")


def test_an_instrument_that_the_experiment_needs_and_that_plays_a_recording_back_is_latched(needed):
    watched = Watched(POSE)
    ((how, *_),) = watched.read(10, *(math.inf,) * 7)
    assert how == "latched"


def test_good_readings_are_no_fault():
    watched = Watched(POSE)
    for number in range(200):
        watched.read(10 * number, *noisy(number))
    assert watched.found == []


def test_a_reading_is_stale_beyond_its_age_and_not_at_it():
    watched = Watched(POSE)
    watched.read(50, *UPRIGHT)
    assert watched.tick(150) == []
    (found,) = watched.tick(151)
    assert found == (
        "marked", "motion: newest reading 101 ms old, allowed: 100 ms (motion.stale_ms); look at its cable and power",
        101.0, 100.0,
    )  # fmt: skip


def test_an_instrument_that_never_sent_is_stale_from_the_start():
    watched = Watched(POSE)
    assert watched.tick(99) == []
    assert details(watched.tick(101))[0].startswith("motion: no reading yet, allowed: 100 ms")


def test_a_cause_is_marked_once_and_another_one_is_marked_too():
    watched = Watched(POSE)
    watched.tick(200)
    watched.read(210, *UPRIGHT)
    assert watched.tick(500) == []
    assert details(watched.read(600, 0.0, 30.0, *UPRIGHT[2:]))
    assert len(watched.found) == 3  # stale, jumped, out of its room


def test_equal_readings_in_a_row_are_frozen_from_the_number_of_the_config_on_and_repeated_ticks_do_not_count():
    watched = Watched(POSE)
    for number in range(4):
        assert watched.read(10 * number, *UPRIGHT) == []
        assert watched.tick(10 * number + 5) == []
    (found,) = watched.read(40, *UPRIGHT)
    assert found[1:] == (
        "motion: 5 equal readings in a row, allowed: below 5 (motion.frozen_readings); restart it", 5, 5,
    )  # fmt: skip


def test_a_reading_that_differs_in_one_bit_is_not_frozen():
    watched = Watched(POSE)
    for number in range(20):
        watched.read(10 * number, UPRIGHT[0] + number % 2 * 5e-324, *UPRIGHT[1:])
    assert watched.found == []


def test_frozen_readings_of_zero_are_not_watched():
    watched = Watched("motion={measures: pose, frozen_readings: 0}")
    for number in range(50):
        watched.read(10 * number, *UPRIGHT)
    assert watched.found == []


def test_a_jump_is_further_than_a_rover_gets_and_than_the_noise_in_that_time():
    """2 m/s for 10 ms, and 12 times 0.5 mm."""
    for step_m, jumped in ((0.0259, False), (0.0261, True)):
        watched = Watched(POSE)
        watched.read(10, *UPRIGHT)
        found = watched.read(20, step_m, *UPRIGHT[1:])
        assert bool(found) is jumped
        watched.read(30, step_m, *UPRIGHT[1:])
        assert len(watched.found) == jumped  # the reading after it is as good as the place
    assert found[0][1].startswith("motion: jumped by 0.0261 m in 10 ms, allowed: 0.026; ")


def test_after_a_gap_a_rover_may_be_further_on():
    watched = Watched("motion={measures: pose, stale_ms: 1000}")
    watched.read(10, *UPRIGHT)
    assert watched.read(310, 0.6, *UPRIGHT[1:]) == []


def test_an_attitude_jumps_and_the_other_sign_of_a_quaternion_is_the_same_attitude():
    """5 rad/s for 10 ms, and 12 times 0.1 deg."""
    most_rad = 0.05 + 12 * math.radians(0.1)
    for turn_rad, jumped in ((most_rad - 1e-3, False), (most_rad + 1e-3, True)):
        watched = Watched(POSE)
        watched.read(10, *UPRIGHT)
        after = (0.0, 0.0, -math.sin(turn_rad / 2), -math.cos(turn_rad / 2))
        assert bool(watched.read(20, *UPRIGHT[:3], *after)) is jumped


def test_a_quaternion_that_is_no_attitude_is_found():
    watched = Watched(POSE)
    assert details(watched.read(10, *UPRIGHT[:3], 0.0, 0.0, 0.0, 1.02)) == [
        "motion: quaternion of length 1.02, allowed: 1; see its driver"
    ]
    assert Watched(POSE).read(10, *UPRIGHT[:3], 0.0, 0.0, 0.0, 1.009) == []


@pytest.mark.parametrize(
    ("place", "axis"), [((1.01, 0, 0.3), "x"), ((-1.01, 0, 0.3), "x"), ((0, 2.01, 0.3), "y"), ((0, 0, -0.51), "z")]
)
def test_a_place_outside_of_the_room_is_found_with_its_axis(place, axis):
    room = "motion={measures: position, room_m: [[-1, 1], [-2, 2], [-0.5, 0.5]]}"
    (found,) = Watched(room).read(10, *place)
    assert found[1].startswith(f"motion: {axis} {place['xyz'.index(axis)]:.4g} m, allowed: ")
    assert "(motion.room_m)" in found[1]
    assert Watched(room).read(10, *(0.95 * each for each in place)) == []


def test_the_room_is_that_of_the_rig_whatever_way_the_instrument_looks():
    """Its x axis points to port, and its origin is 3 m ahead: x = 0.6 of its own is y = 0.6 in the rig."""
    turned = (
        "motion={measures: position, turn_deg: [0, 0, 90], origin_m: [3, 0, 0], room_m: [[0, 4], [-0.5, 0.5], [0, 1]]}"
    )
    (found,) = Watched(turned).read(10, 0.6, 0.0, 0.3)
    assert found[1].startswith("motion: y 0.6 m, allowed: -0.5 to 0.5")
    assert Watched(turned).read(10, 0.0, 0.6, 0.3) == []  # x = 2.4
    (found,) = Watched(turned).read(10, 0.0, 3.1, 0.3)
    assert found[1].startswith("motion: x -0.1 m, allowed: 0 to 4")


def test_a_distance_has_the_reach_of_the_room_along_its_direction():
    """From 5 m ahead and back: the room's x from -1 to 4 is a distance of 1 to 6 m."""
    distance = (
        "motion={measures: distance, origin_m: [5, 0, 0], direction: [-0.5, 0, 0], room_m: [[-1, 4], [-3, 3], [0, 1]]}"
    )
    for value, bad in ((0.99, True), (1.01, False), (5.99, False), (6.01, True)):
        found = Watched(distance).read(10, value)
        assert bool(found) is bad
        assert not bad or "allowed: 1 to 6 (motion.room_m)" in found[0][1]


def test_a_channel_without_a_number_is_found_once_it_is_stale():
    watched = Watched(POSE)
    watched.read(10, *UPRIGHT)
    assert watched.read(20, UPRIGHT[0], math.nan, *UPRIGHT[2:]) == []
    assert watched.read(110, UPRIGHT[0], math.nan, *UPRIGHT[2:]) == []
    (found,) = watched.read(111, UPRIGHT[0], math.inf, *UPRIGHT[2:])
    assert found[1].startswith("motion: y_m without a number for 101 ms, allowed: 100 (motion.stale_ms)")


def test_readings_without_a_number_are_neither_frozen_nor_a_jump():
    watched = Watched("motion={measures: pose, stale_ms: 5000}")
    for number in range(50):
        watched.read(10 * number, *(math.nan,) * 7)
    assert watched.read(510, *UPRIGHT) == []
    assert watched.found == []


def test_what_the_observer_leaves_out_is_marked_with_its_innovation():
    watched = Watched(POSE)
    watched.read(10, *UPRIGHT)
    assert [watched.tick(11, state) for state in ("used", "rejected", "stale")] == [[], [], []]
    (found,) = watched.tick(12, "left_out")
    assert found[:3] == (
        "marked",
        "motion: left out by the observer, innovation 7.5, expected: about 1; see its mounting and zero",
        7.5,
    )


def test_a_joint_beyond_its_stop_and_one_that_jumps_are_named_and_a_whole_turn_is_neither():
    encoders = "joints={encoders: [{joint: left_bogie, zero_deg: 350, reversed: true}, {joint: right_bogie}]}"
    zero_rad = math.radians(350)
    assert Watched(encoders, role="joints").read(10, zero_rad - math.tau, 0.0) == []
    (found,) = Watched(encoders, role="joints").read(10, zero_rad + 1.2, 0.0)
    assert found[1].startswith("joints: left_bogie -68.75 deg, allowed: ")
    watched = Watched(encoders, role="joints")
    watched.read(10, zero_rad, 0.0)
    assert watched.read(30, zero_rad - math.tau, 0.0) == []
    (found,) = watched.read(50, zero_rad, 0.2)
    assert found[1].startswith("joints: right_bogie jumped by 0.2 rad in 20 ms, allowed: ")


def test_a_wheel_may_turn_as_fast_as_its_drive_and_a_joint_may_not():
    settings = "joints={encoders: [{joint: right_bogie}, {joint: front_left}]}", "limits.wheel_speed_radps=9"
    for turned, found in (((0.0, 0.35), []), ((0.3, 0.0), ["right_bogie"]), ((0.0, 0.45), ["front_left"])):
        watched = Watched(*settings, role="joints")
        watched.read(10, 0.0, 0.0)
        assert [one[1].split()[1] for one in watched.read(30, *turned)] == found


def test_an_impact_may_shake_an_imu_by_any_amount():
    watched = Watched("imu={}", role="imu")
    watched.read(5, *STANDING)
    watched.read(10, -150.0, 40.0, 300.0, 9.0, -9.0, 9.0)
    assert watched.found == []


def test_an_instrument_that_the_experiment_needs_latches_as_long_as_the_cause_is_there(needed):
    watched = Watched(POSE)
    assert [how for how, *_ in watched.tick(150)] == ["latched"]
    assert [how for how, *_ in watched.tick(151)] == ["latched"]  # cleared meanwhile, it latches again
    watched.read(160, *UPRIGHT)
    assert watched.tick(161) == []
    assert Fault.MEASURED_MOTION not in warnings_for(Rig(watched.config))


def test_one_that_it_does_not_need_is_marked_beside_one_that_it_needs(needed):
    watched = Watched(POSE, "imu={stale_ms: 50}")
    watched.role, watched.reading = "motion", Reading(1, 100 * MS, UPRIGHT, 100 * MS)
    imu = Reading.unread(6)
    samples = Samples(
        100 * MS, (), 0, 0, DriveSample(0, 0, (0.0,) * 6, -1), ValveSample(0, 0, (), -1),
        motion=watched.reading, imu=imu,
    )  # fmt: skip
    watched.watch(samples)
    assert [(how, detail[:4]) for how, detail, *_ in watched.found] == [("marked", "imu:")]


def test_arming_refuses_an_instrument_that_has_not_answered():
    (check,) = Watched(POSE).checks(50).values()
    assert (check.item, check.ok, check.found) == ("motion reading age", False, "no reading yet")
    assert "take motion out of the config" in check.to_do


def test_arming_takes_a_reading_at_its_largest_age_and_none_beyond():
    watched = Watched(POSE)
    for number in range(10):
        watched.read(10 * number, *noisy(number))
    assert {t_ms: watched.checks(t_ms)["motion reading age"].ok for t_ms in (170, 190, 190.1)} == {
        170: True, 190: True, 190.1: False,
    }  # fmt: skip


def test_arming_passes_with_good_readings_of_a_rover_that_stands():
    for settings, role, good in (
        (POSE, "motion", noisy),
        ("motion={measures: distance}", "motion", lambda number: (1e-4 * (number % 3),)),
        ("imu={}", "imu", lambda number: (0.01 * (number % 3), 0.0, 9.81, 0.001, 0.0, 0.0)),
        ("joints={}", "joints", lambda number: (1e-4 * (number % 3), 0.0, 0.0)),
    ):
        watched = Watched(settings, role=role)
        for number in range(10):
            watched.read(10 * number, *good(number))
        assert [str(check) for check in watched.checks(100).values() if not check.ok] == []


@pytest.mark.parametrize(
    ("settings", "role", "bad", "item"),
    [
        (POSE, "motion", lambda n: (0.01 * (n % 2), *UPRIGHT[1:]), "scatter of the motion at rest"),
        (POSE, "motion", lambda n: (25.0, 1e-4 * (n % 3), *UPRIGHT[2:]), "motion x"),
        (POSE, "motion", lambda n: (*UPRIGHT[:3], 0.01 * (n % 2), 0.0, 0.0, 1.0), "scatter of the attitude at rest"),
        (POSE, "motion", lambda n: UPRIGHT, "motion equal readings in a row"),
        (POSE, "motion", lambda n: (math.nan if n == 9 else 1e-4 * (n % 3), *UPRIGHT[1:]), "motion values"),
        ("imu={}", "imu", lambda n: (0.01 * (n % 3), 0.0, 9.5, 0.0, 0.0, 0.0), "imu specific force at rest"),
        ("imu={}", "imu", lambda n: (0.01 * (n % 3), 0.0, 10.12, 0.0, 0.0, 0.0), "imu specific force at rest"),
        ("imu={}", "imu", lambda n: (0.01 * (n % 3), 0.0, 9.81, 0.0, 0.05, 0.0), "imu rate of turn at rest"),
        ("joints={}", "joints", lambda n: (1.2, 1e-4 * (n % 3), 0.0), "joint left_bogie"),
        ("joints={}", "joints", lambda n: (0.01 * (n % 2), 0.0, 0.0), "scatter of the joints at rest"),
    ],
)  # fmt: skip
def test_arming_refuses_what_is_wrong_at_rest_and_says_what_to_do(settings, role, bad, item):
    watched = Watched(settings, role=role)
    for number in range(10):
        watched.read(10 * number, *bad(number))
    wrong = {name: check for name, check in watched.checks(100).items() if not check.ok}
    assert list(wrong) == [item]
    assert wrong[item].to_do


def test_a_place_may_scatter_by_three_times_its_noise_and_no_more():
    """Two values by turns, each as far from their mean as their standard deviation."""
    for noises, ok in ((2.8, True), (3.2, False)):
        watched = Watched("motion={measures: distance, noise_m: 0.001}")
        for number in range(50):
            watched.read(10 * number, 0.001 * noises * (-1) ** number)
        assert watched.checks(500)["scatter of the motion at rest"].ok is ok


def test_arming_looks_at_the_newest_readings_and_not_at_how_somebody_pushed_the_rover_before():
    watched = Watched("motion={measures: distance}")
    for number in range(400):
        pushed = 0.01 * (number % 2) if number < 150 else 0.0
        watched.read(10 * number, pushed + 1e-4 * (number % 3))
    assert watched.checks(4000)["scatter of the motion at rest"].ok


@pytest.mark.parametrize("rate_hz", [1, 3, 100, 500])
def test_arming_is_tried_once_an_instrument_of_any_rate_has_shown_how_much_it_scatters(rate_hz):
    settings = f"motion={{measures: distance, rate_hz: {rate_hz}, stale_ms: {3000 / rate_hz + 10}, delay_ms: 5}}"
    watched = Watched(settings)
    ready_ms = Rig(watched.config).readings_ns / MS
    assert ready_ms == pytest.approx(5 + 10000 / rate_hz)
    for number in range(1, 11):
        watched.read(1e3 * number / rate_hz, 1e-4 * (number % 3))
    assert [str(check) for check in watched.checks(ready_ms).values() if not check.ok] == []


def test_readings_of_a_rover_that_drives_are_none_at_rest():
    watched = Watched("motion={measures: distance}")
    for number in range(10):
        watched.read(10 * number, 1e-4 * (number % 3))
    watched.monitor.record_command(True)
    watched.monitor.record_command(False)
    for number in range(10, 60):
        watched.read(10 * number, 0.001 * number)
    assert watched.checks(600)["scatter of the motion at rest"].ok


@pytest.mark.parametrize("needed", [True, False])
def test_arming_refuses_a_needed_source_that_the_observer_has_left_out(needed):
    """One that is not needed may have to be aligned first, by a drive."""
    watched = Watched(POSE, *(["trial.hold_line={}"] if needed else []))
    for number in range(10):
        watched.read(10 * number, *noisy(number))
    found = {}
    for state in SOURCE_STATES:
        watched.tick(91, state)
        found[state] = watched.checks(91)["motion as a source"].ok
    assert found == {state: not needed or state in ("none", "used", "rejected") for state in SOURCE_STATES}


def test_the_bound_is_the_longest_of_what_each_instrument_is_noticed_by():
    config = load_config("sim_impact", ["motion={stale_ms: 300}", "joints={frozen_readings: 40, rate_hz: 50}"])
    row, times = FAULT_TABLE[Fault.MEASURED_MOTION], ReactionTimes(config)
    assert row.bound_for(times, "motion") == pytest.approx(300 + 5 + 10 + 1)
    assert row.bound_for(times, "joints") == row.bound_for(times) == pytest.approx(800 + 5 + 20 + 1)
    assert row.bound_for(ReactionTimes(load_config("sim_impact"))) is None
