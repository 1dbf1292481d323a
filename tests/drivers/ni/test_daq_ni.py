"""The DAQ driver through the real nidaqmx package, against the simulated server: blocks, times, flags, lines."""

from __future__ import annotations

import grpc
import nidaqmx
import numpy as np
import pytest

from drivers.interfaces import LinkLostError
from drivers.ni import daq as daq_ni
from drivers.ni import session as ni_session
from drivers.ni.simulated.parts import BITS

RATE = 25_600
BLOCK = 64
LEAST_V = 2 * 5.0 / 2**BITS


def test_blocks_follow_each_other_without_a_gap(daq, analog):
    found = daq.blocks(40)
    assert [block.sequence for block in found] == list(range(1, 41))
    assert analog.follow(found)
    assert all(block.values.shape == (BLOCK, 3) and block.values.flags.c_contiguous for block in found)
    assert not any(any(block.overload) for block in found)


def test_times_grow_by_the_period_and_end_before_the_block_is_there(daq):
    found = daq.blocks(40)
    times = np.concatenate([block.t_ns for block in found])
    assert times.dtype == np.int64
    assert times.shape == (40 * BLOCK,)
    assert np.diff(times) == pytest.approx(1e9 / RATE, rel=0.003)
    assert all(block.arrived_ns > block.t_ns[0] for block in found)


def test_who_has_fallen_behind_catches_up_in_few_reads_with_whole_blocks(daq, analog, chassis, machine, monkeypatch):
    daq.blocks(2)
    reads = []
    read = chassis.read
    monkeypatch.setattr(
        chassis, "read", lambda task, count, timeout_s: reads.append(count) or read(task, count, timeout_s)
    )
    machine.sleep(0.3)  # 120 blocks
    found = daq.blocks(100)
    assert max(reads) == 16 * BLOCK
    assert len(reads) < 30
    assert analog.follow(found)
    assert [block.sequence for block in found] == list(range(3, 3 + len(found)))
    assert {block.values.shape for block in found} == {(BLOCK, 3)}
    assert np.diff(np.concatenate([block.t_ns for block in found])) == pytest.approx(1e9 / RATE, rel=0.003)


@pytest.mark.parametrize(
    ("kind", "sensitivity"), [("iepe_force", 11.24), ("voltage", 500.0), ("bridge", 0.002), ("charge", 4.1)]
)
def test_every_kind_comes_back_as_volts_of_the_sensor_within_half_a_step_of_the_converter(
    make_daq, kind, sensitivity, analog
):
    daq = make_daq({"kind": kind, "sensitivity": sensitivity})
    daq.open()
    (block,) = daq.blocks(1)
    ground_truth = analog.volts(analog.numbers([block]))
    assert np.abs(block.values - ground_truth).max() < LEAST_V / 2 * (1 + 1e-6)
    assert np.abs(block.values - ground_truth).max() > 0  # a converter has steps


def test_a_step_is_in_the_sample_that_was_told_and_at_its_time(daq, chassis, analog):
    daq.blocks(3)
    sample, at_ns = chassis.step(1, 2.5)

    def jumped(block):
        return np.abs(block.values[:, 1] + 2 * block.values[:, 0] - 2.5) < 1e-5

    block = daq.until(lambda block: jumped(block).any())
    first = int(np.argmax(jumped(block)))
    assert analog.numbers([block])[first] == sample % analog.period
    assert jumped(block)[first:].all()
    assert block.t_ns[first] == pytest.approx(at_ns, abs=5e6)  # a block is 2.5 ms
    chassis.clear_steps()
    daq.until(lambda block: not jumped(block).any())


@pytest.mark.parametrize("reported_by", ["range", "device"])
def test_an_overloaded_channel_is_flagged_and_no_other(daq, chassis, monkeypatch, reported_by):
    if reported_by == "device":
        monkeypatch.setattr(daq_ni, "OVERLOAD", 2.0)
    else:
        monkeypatch.setattr(chassis, "overload_exists", lambda _: False)
    daq.blocks(2)
    chassis.step(2, 6.0)
    assert daq.until(lambda block: any(block.overload)).overload == (False, False, True)


def test_the_emergency_stop_is_told_while_its_line_is_low(make_daq, chassis):
    daq = make_daq(section={"e_stop": "cDAQ1Mod4/port0/line0"})
    daq.open()
    daq.blocks(10)
    assert not daq.health().e_stop
    chassis.e_stop = True
    daq.until(lambda _: daq.health().e_stop)
    chassis.e_stop = False
    daq.until(lambda _: not daq.health().e_stop)


def test_a_pressed_emergency_stop_is_known_once_the_device_is_open(make_daq, chassis):
    chassis.e_stop = True
    daq = make_daq(section={"e_stop": "cDAQ1Mod4/port0/line0"})
    daq.open()
    assert daq.health().e_stop


def test_the_filters_delay_is_off_the_times_and_told(make_daq, chassis, analog):
    chassis.filter_delay_s = 0.25
    daq = make_daq()
    daq.open()
    block = daq.blocks(3)[-1]
    assert daq.filter_delay_ns == 250_000_000
    assert "filter delay 250.000 ms" in daq.health().detail
    assert block.arrived_ns - block.t_ns[-1] > 245_000_000


def test_health_names_the_device_and_the_rate(daq):
    daq.blocks(5)
    health = daq.health()
    assert health.open
    assert "cDAQ1Mod1 simulated IEPE input no. 05100001" in health.detail
    assert health.rate_hz == pytest.approx(RATE, rel=1e-3)
    assert health.age_ms >= 0


def test_all_devices_and_their_lines_are_listed(server):
    session = ni_session.NiSession("list", f"127.0.0.1:{server.port}", lambda: None)
    session.open()
    found = {device.name: device for device in session.devices()}
    session.close()
    assert found["cDAQ1Mod1"].ai == ("cDAQ1Mod1/ai0", "cDAQ1Mod1/ai1", "cDAQ1Mod1/ai2")
    assert found["cDAQ1Mod2"].do[7] == "cDAQ1Mod2/port0/line7"
    assert found["cDAQ1Mod3"].ao == ("cDAQ1Mod3/ao0",)
    assert found["cDAQ1Mod4"].serial == "05100004"


@pytest.mark.slow
def test_the_computers_own_driver_is_polled_rather_than_waited_in(make_daq, server, monkeypatch, analog):
    """Without a local NI driver here, the session uses the server, and the DAQ driver takes it for the local one."""
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    monkeypatch.setattr(
        ni_session.NiSession, "_options", lambda session, name: nidaqmx.GrpcSessionOptions(channel, name)
    )
    calls = []
    daq = make_daq(alive=lambda: calls.append(1), section={"server": ""})
    daq.open()
    assert analog.follow(daq.blocks(20))
    analog.stand()
    calls.clear()
    monkeypatch.setattr(daq_ni, "TIMEOUT_S", 1.0)
    with pytest.raises(LinkLostError, match="NI -200284"):
        daq.until(lambda _: False)
    assert len(calls) >= 20
