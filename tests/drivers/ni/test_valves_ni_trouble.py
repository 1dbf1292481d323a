"""The valve driver through the real nidaqmx package, against the simulated server: watchdog and failures."""

from __future__ import annotations

import numpy as np
import pytest
from nidaqmx.constants import LineGrouping
from nidaqmx.errors import DaqError
from nidaqmx.stream_writers import DigitalMultiChannelWriter

from drivers.driver_type import RigSetup
from drivers.interfaces import DeviceError, LinkLostError
from drivers.ni import valves as valves_ni
from drivers.ni.entry import NI_VALVES
from drivers.ni.section import NiValvesSection
from drivers.ni.session import NiSession
from drivers.ni.simulated.parts import ServerFault
from drivers.ni.valves import LINES_TASK
from drivers.valve_layout import ValveLayout

from .conftest import TWO_WAYS

MS = 1_000_000
MOVED = ValveLayout(regulators=("left", "right"))
LINES = tuple(f"cDAQ1Mod2/port0/line{i}" for i in range(4))


def test_the_watchdog_takes_everything_off_when_nobody_steps(make_valves, rams, chassis, clock):
    valves = make_valves(outputs=("cDAQ1Mod3/ao0",))
    valves.obey((1,), (2, True, True, True, True))
    clock.t_ns += 99 * MS
    chassis.wake(clock.t_ns)
    assert rams.on == [True] * 4
    clock.t_ns += 2 * MS
    chassis.wake(clock.t_ns)
    assert rams.on == [False] * 4
    assert chassis.outputs["cDAQ1Mod3/ao0"] == 0.0


def test_lines_without_a_watchdog_stay_when_nobody_steps(make_valves, rams, chassis, clock):
    valves = make_valves(watchdog_ms=None)
    valves.obey((1,), (2, True, False, False, False))
    clock.t_ns += 10_000 * MS
    chassis.wake(clock.t_ns)
    assert rams.on == [True, False, False, False]
    assert valves.health().detail == "no watchdog"


def test_while_stepped_the_watchdog_is_fed(make_valves, rams, chassis, clock):
    valves = make_valves()
    valves.obey((1,), (2, True, False, False, False))
    for _ in range(100):
        clock.t_ns += 20 * MS
        valves.step()
        valves.step()
        chassis.wake(clock.t_ns)
    assert rams.on == [True, False, False, False]


def test_an_expired_watchdog_is_a_lost_link_and_only_opening_and_an_off_bring_the_valves_back(make_valves, rams, clock):
    valves = make_valves()
    valves.obey((1,), (2, True, False, False, False))
    clock.t_ns += 150 * MS
    with pytest.raises(LinkLostError, match=r"NI -200678.*safe states"):
        valves.obey((3,))
    assert rams.on == [False] * 4
    with pytest.raises(LinkLostError, match="not open"):
        valves.step()
    valves.open()
    valves.obey((4, False, True, False, False))
    assert rams.on == [False] * 4
    valves.obey((5,), (6, False, True, False, False))
    assert rams.on == [False, True, False, False]


def test_a_feed_that_comes_too_late_is_told(make_valves, clock):
    valves = make_valves()
    clock.t_ns += 150 * MS
    with pytest.raises(LinkLostError, match=r"NI -200644.*safe states"):
        valves.step()


def test_a_dead_server_is_a_lost_link_and_the_watchdog_ends_what_was_on(make_valves, rams, chassis, clock, server):
    valves = make_valves()
    valves.obey((1,), (2, True, False, True, False))
    server.inject_fault(ServerFault("off"))
    with pytest.raises(LinkLostError, match="UNAVAILABLE"):
        valves.obey((3,))
    assert rams.on == [True, False, True, False]
    clock.t_ns += 101 * MS
    chassis.wake(clock.t_ns)
    assert rams.on == [False] * 4
    server.inject_fault(ServerFault("reconnect"))
    valves.open()
    valves.obey((4,), (5, True, False, False, False))
    assert rams.on == [True, False, False, False]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lines": (*LINES[:3], "cDAQ1Mod2/port0/line9")}, "NI -200170.*line9"),
        ({"lines": (*LINES[:3], "Dev7/port0/line0")}, "NI -200220.*Dev7"),
        ({"lines": (*LINES[:3], "cDAQ1Mod4/port0/line3")}, "NI -200170.*cDAQ1Mod4"),
        ({"watchdog_ms": 500_000}, "NI -200668.*does not support this watchdog time"),
        ({"outputs": ("cDAQ1Mod3/ao4",)}, "NI -200170.*ao4"),
    ],
)
def test_what_cannot_be_is_refused_at_opening_and_named(make_valves, changes, words):
    valves = make_valves(opened=False, **changes)
    with pytest.raises(DeviceError, match=words):
        valves.open()
    assert not valves.health().open


def test_a_device_that_has_no_watchdog_is_refused_and_named(make_valves, monkeypatch):
    monkeypatch.setattr(valves_ni, "chassis_of", lambda channel: "cDAQ1Mod2")
    with pytest.raises(DeviceError, match=r"NI -200662.*no dead-man"):
        make_valves()


def test_a_supply_beyond_the_scale_of_its_regulator_is_refused():
    places = {name: f"cDAQ1Mod2/port0/line{place}" for place, name in enumerate(TWO_WAYS.valves)}
    section = NiValvesSection.model_validate(
        {"driver": "ni", "lines": places, "regulator": {"channel": "cDAQ1Mod3/ao0", "kPa_per_V": 100.0}}
    )
    found = NI_VALVES.check(section, RigSetup(valves=TWO_WAYS, supply_kPa=2000.0))
    assert any("a supply of 2000 kPa; allowed: 0 to 1000 kPa" in str(problem) for problem in found)


def test_lines_that_another_program_has_are_refused(make_valves, server):
    session = NiSession("other", f"127.0.0.1:{server.port}", lambda: None)
    session.open()
    task = session.task("theirs")
    task.do_channels.add_do_chan(LINES[1])
    task.start()
    with pytest.raises(DeviceError, match=r"NI -50103.*another program"):
        make_valves(watchdog_ms=None)
    task.close()
    session.close()


def test_the_watchdog_has_to_be_there_before_the_lines(server):
    """As NI-DAQmx demands (-201477): an order of opening that the driver keeps, and the server would refuse."""
    session = NiSession("other", f"127.0.0.1:{server.port}", lambda: None)
    session.open()
    task = session.task("theirs")
    task.do_channels.add_do_chan(LINES[1])
    task.start()
    dog = session.watchdog("cDAQ1", "dog", 1.0)
    with pytest.raises(DaqError, match="-201477"):
        dog.start()
    dog.close()
    task.close()
    session.close()


def test_lines_that_a_killed_program_left_on_are_taken_and_off(make_valves, rams, server):
    session = NiSession("killed", f"127.0.0.1:{server.port}", lambda: None)
    session.open()
    task = session.task(LINES_TASK)
    task.do_channels.add_do_chan(", ".join(LINES), line_grouping=LineGrouping.CHAN_PER_LINE)
    writer = DigitalMultiChannelWriter(task.out_stream, auto_start=True)
    writer.verify_array_shape = False
    writer.write_one_sample_one_line(np.ones(4, dtype=bool))
    assert rams.on == [True] * 4
    session.close()
    make_valves(watchdog_ms=None)
    assert rams.on == [False] * 4
