"""The DAQ driver through the real nidaqmx package, against the simulated server: failures and their messages."""

from __future__ import annotations

import gc
import itertools
import os
import re
import subprocess
import sys

import grpc
import nidaqmx
import pytest
from nidaqmx._stubs.nidaqmx_pb2_grpc import NiDAQmxStub
from nidaqmx.constants import AcquisitionType

from drivers.extensions import install_command
from drivers.interfaces import DeviceError, LinkLostError, SamplesLostError
from drivers.ni import session as ni_session
from drivers.ni.simulated.parts import ServerFault
from drivers.rpc.channel import Channel


@pytest.mark.parametrize("skipped_s", [0.75, 2.0])  # more than the buffer holds, and than the rig keeps
def test_samples_nobody_took_are_an_error_and_opening_begins_anew(make_daq, analog, skipped_s):
    daq = make_daq(buffer_s=0.5)
    daq.open()
    daq.blocks(2)
    analog.skipped += round(skipped_s * analog.rate_hz)
    with pytest.raises(SamplesLostError, match=r"NI -200279.*longer"):
        daq.blocks(2)
    assert not daq.health().open
    with pytest.raises(LinkLostError, match="not open"):
        daq.step()
    daq.open()
    assert daq.blocks(1)[0].sequence == 1


def test_blocks_that_are_stepped_for_but_never_read_are_an_error(make_daq):
    daq = make_daq(buffer_s=0.3)
    daq.open()

    def step_on():
        for _ in range(300):
            daq.step()

    with pytest.raises(SamplesLostError, match="121 unread blocks"):
        step_on()


@pytest.mark.slow
def test_a_sample_clock_that_stops_is_a_lost_link(make_daq, analog):
    daq = make_daq()
    daq.open()
    daq.blocks(1)
    analog.stand()
    with pytest.raises(LinkLostError, match=r"NI -200284.*sample clock"):
        daq.until(lambda _: False)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (-201003, LinkLostError, "device is not reachable"),
        (-200361, SamplesLostError, "the samples were not read in time"),
        (-200088, LinkLostError, "restarted"),
        (-200999, DeviceError, "see NI's text"),
    ],
)
def test_a_code_at_a_read_becomes_the_kind_of_trouble_it_is(daq, server, code, kind, words):
    server.inject_fault(ServerFault("error", code=code))
    with pytest.raises(DeviceError, match=words) as caught:
        daq.blocks(2)
    assert type(caught.value) is kind
    assert f"NI {code}" in str(caught.value)
    assert f"127.0.0.1:{server.port}" in str(caught.value)
    assert daq.health().errors == 1


def test_a_late_answer_is_waited_for_alive_and_no_sample_is_lost(make_daq, server, analog):
    calls = []
    daq = make_daq(alive=lambda: calls.append(1))
    daq.open()
    daq.blocks(2)
    server.inject_fault(ServerFault("delayed", ms=500))
    calls.clear()
    found = daq.blocks(4)
    assert calls
    assert analog.follow(found)


def test_a_server_that_does_not_answer_is_a_lost_link(make_daq, server):
    daq = make_daq(timeout_s=0.03)
    daq.open()
    server.inject_fault(ServerFault("delayed", ms=400))
    with pytest.raises(LinkLostError, match="DEADLINE_EXCEEDED"):
        daq.blocks(2)


def test_a_dead_server_is_a_lost_link_and_opening_works_once_it_is_back(daq, server, monkeypatch):
    daq.blocks(3)
    server.inject_fault(ServerFault("off"))
    with pytest.raises(LinkLostError, match="UNAVAILABLE"):
        daq.blocks(2)
    monkeypatch.setattr(ni_session, "SETUP_TIMEOUT_S", 0.1)
    with pytest.raises(LinkLostError, match=r"no device server answers within 0\.1 s"):
        daq.open()
    server.inject_fault(ServerFault("reconnect"))
    monkeypatch.setattr(ni_session, "SETUP_TIMEOUT_S", 60.0)
    daq.open()
    assert daq.blocks(2)[-1].sequence == 2


def held_by_connections():
    """Number of channels and of the clients that use them; of threads and of open files, also those of the server."""
    gc.collect()
    kinds = (Channel, NiDAQmxStub)
    # type(), not isinstance(): that asks a weak proxy for the class of an object that may be gone
    held = [sum(issubclass(type(one), kind) for one in gc.get_objects()) for kind in kinds]
    return held, [len(os.listdir(f"/proc/self/{of}")) for of in ("task", "fd")]


@pytest.mark.slow
def test_a_link_that_is_lost_and_opened_again_holds_no_more_than_before(daq, server):
    def lose_and_open(times):
        for _ in range(times):
            server.inject_fault(ServerFault("error", code=-200279))
            with pytest.raises(SamplesLostError):
                daq.blocks(2)
            daq.open()
            daq.blocks(2)
        return held_by_connections()

    (objects, first), (objects_at_end, last) = lose_and_open(3), lose_and_open(5)
    assert objects_at_end == objects
    # the server's threads and sockets come and go by themselves: less than one more for each opening
    assert max(after - before for before, after in zip(first, last, strict=True)) < 5


@pytest.mark.parametrize(
    ("channel", "changes", "words"),
    [
        ({"physical": "cDAQ1Mod1/ai7"}, {}, "cDAQ1Mod1/ai7.*lower_left.*found: cDAQ1Mod1/ai0, cDAQ1Mod1/ai1"),
        ({"physical": "cDAQ9Mod1/ai0"}, {}, "cDAQ9Mod1/ai0.*found"),
        ({"range_V": 10.0}, {}, "NI -200077.*Maximum Value"),
        ({}, {"rate_hz": 102_400.0}, "NI -200077.*SampClk_Rate Requested Value: 102400 Maximum Value: 51200"),
        ({}, {"rate_hz": 30_000.0}, "requested 30000 Hz, the device samples at 25600 Hz"),
        ({}, {"section": {"e_stop": "cDAQ1Mod4/port0/line9"}}, "line9' for the E-stop; found: cDAQ1Mod4/port0/line0"),
    ],
)
def test_what_the_device_cannot_do_is_refused_at_opening_and_named(make_daq, channel, changes, words):
    daq = make_daq(channel, **changes)
    with pytest.raises(DeviceError, match=words):
        daq.open()
    assert not daq.health().open


def raw_task(server, name):
    """A task of another program."""
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    task = nidaqmx.Task(name, grpc_options=nidaqmx.GrpcSessionOptions(channel, name))
    task.ai_channels.add_ai_voltage_chan("cDAQ1Mod1/ai2", min_val=-5, max_val=5)
    task.timing.cfg_samp_clk_timing(25_600, sample_mode=AcquisitionType.CONTINUOUS, samps_per_chan=25_600)
    task.start()
    return task


def test_a_module_that_another_program_samples_is_refused(make_daq, server):
    task = raw_task(server, "theirs")
    with pytest.raises(DeviceError, match=r"NI -50103.*another program"):
        make_daq().open()
    task.close()
    make_daq().open()


def test_a_task_that_a_killed_program_left_behind_is_cleared(make_daq, server):
    raw_task(server, "rover_hil_daq")
    daq = make_daq()
    daq.open()
    assert daq.blocks(1)


def test_a_task_that_another_program_reads_is_left_to_it(daq, make_daq):
    def read_on():
        daq.step()

    other = make_daq(alive=read_on)  # while the other driver checks, this one keeps reading
    with pytest.raises(DeviceError, match="another program has the task rover_hil_daq"):
        other.open()
    assert daq.blocks(2)


def test_without_nis_driver_one_sentence_says_what_to_install(make_daq):
    with pytest.raises(DeviceError, match=r"NI's driver is not installed; install NI-DAQmx .*devices\.daq\.server"):
        make_daq(section={"server": ""}).open()


def test_without_the_package_one_sentence_says_what_to_install(make_daq, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "nidaqmx"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nidaqmx", None)
    with pytest.raises(DeviceError, match=re.escape(install_command("ni"))):
        make_daq().open()


@pytest.mark.slow
def test_nothing_of_ni_is_loaded_before_a_device_is_opened():
    code = "import sys, drivers.ni.daq, drivers.ni.valves; sys.exit(not {'nidaqmx', 'grpc'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_server_refuses_nonsense_and_serves_on(daq, server):
    methods = ("ReadAnalogF64", "StartTask", "CreateAIForceIEPEChan", "GetDeviceAttributeString")
    nonsense = (b"\xff" * 9, b"\x0a\x7f", b"", bytes(range(64)))
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        for method, data in itertools.product(methods, nonsense):
            with pytest.raises(grpc.RpcError):
                channel.unary_unary(f"/nidaqmx_grpc.NiDAQmx/{method}")(data, timeout=60)
    assert daq.blocks(1)
