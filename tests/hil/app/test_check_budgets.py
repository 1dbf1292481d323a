"""Bus loads and the latency of a cut, calculated from the config, against the bytes that the drivers really send."""

import pytest

from drivers.roboclaw.drives import RoboClawDrives
from drivers.roboclaw.entry import ROBOCLAW
from drivers.roboteq.drives import RoboteqDrives
from drivers.roboteq.entry import ROBOTEQ as ROBOTEQ_DRIVER
from hil.app.check.host import bus_loads, cut_latency
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.rig_setup import rig_setup

THREE_BUSES = (
    "devices.drives.ports=['','','']",
    "devices.drives.controllers.1.bus=1",
    "devices.drives.controllers.2.bus=2",
)
ROBOTEQ = (
    "devices.drives={driver: roboteq, max_rpm: 3000, gear_ratio: 100, controllers: ["
    "{port: /dev/teq0, channel_1: front_left, channel_2: front_right},"
    "{port: /dev/teq1, channel_1: middle_left, channel_2: middle_right},"
    "{port: /dev/teq2, channel_1: rear_left, channel_2: rear_right}]}"
)


def sim_wire(*overrides):
    return load_config("sim_wire", overrides)


def loads_of(config):
    return bus_loads(config.devices, rig_setup(config))


def parts_ms(config, filter_delay_ms=0.0):
    return {
        check.item.removeprefix("cut: "): float(check.found.removesuffix(" ms"))
        for check in cut_latency(Rig(config), filter_delay_ms)
    }


def test_the_stop_of_a_bus_takes_the_line_time_of_its_stop_frame():
    config = sim_wire()
    drives, rig = config.devices.drives, rig_setup(config)
    (stop,) = RoboClawDrives(drives, rig).stop_frames()
    assert ROBOCLAW.stop_times_s(drives, rig)[1] == pytest.approx(len(stop.frames[0]) * 10 / stop.baud)


def test_buses_stop_at_the_same_time_and_a_faster_line_stops_sooner():
    one, three, quick = (
        parts_ms(sim_wire(*overrides)) for overrides in ((), THREE_BUSES, ("devices.drives.baud=460800",))
    )
    assert three["stop frames"] == pytest.approx(one["stop frames"] / 3, abs=0.01)
    assert quick["stop frames"] == pytest.approx(one["stop frames"] / 4, abs=0.01)
    assert quick["transaction in flight"] < one["transaction in flight"]


def test_a_roboteq_is_stopped_by_its_four_bytes():
    config = sim_wire(ROBOTEQ)
    drives, rig = config.devices.drives, rig_setup(config)
    stop, *_ = RoboteqDrives(drives, rig).stop_frames()
    assert b"!EX" in stop.frames[0]
    assert ROBOTEQ_DRIVER.stop_times_s(drives, rig)[1] == pytest.approx(4 * 10 / 115200)


def test_every_millisecond_of_a_cut_is_accounted_for():
    config = sim_wire("daq.block_ms=4", "daq.rate_hz=50000", "loop.rate_hz=500", "detector.consecutive=101")
    found = parts_ms(config, filter_delay_ms=0.75)
    total = found.pop("in all, at worst")
    assert total == pytest.approx(sum(found.values()), abs=0.05)
    assert found["block"] == 4.0
    assert found["tick"] == 2.0
    assert found["samples in a row"] == 2.0
    assert found["converter's filter"] == 0.75


def test_a_cut_waits_for_the_longest_request_at_most():
    config = sim_wire()
    ramped = 2 + 12 + 2  # command 40
    in_flight_s, _ = ROBOCLAW.stop_times_s(config.devices.drives, rig_setup(config))
    assert in_flight_s == pytest.approx(ramped * 10 / 115200)


def test_a_cut_that_a_dead_man_would_beat_is_not_in_order():
    slow = (
        "devices.drives.baud=9600",
        "devices.drives.rate_hz=2",
        "devices.drives.timeout_ms=1000",
        "limits.drives_age_ms=1500",
    )
    assert cut_latency(Rig(sim_wire()))[-1].ok
    total = cut_latency(Rig(sim_wire(*slow)))[-1]
    assert not total.ok
    assert total.allowed.startswith("at most 20 ms")


def test_each_line_and_each_worker_has_its_load():
    items = [check.item for check in loads_of(sim_wire(*THREE_BUSES))]
    assert len([item for item in items if item.startswith("bus load")]) == 4
    assert [item for item in items if item.startswith("worker")] == ["worker of the drives", "worker of the valves"]
    assert all(check.ok for check in loads_of(sim_wire()))


def test_nothing_is_worked_out_where_there_are_no_lines():
    config = load_config("sim_impact")
    assert loads_of(config) == []
    assert cut_latency(Rig(config)) == []
