"""The characters of a line: with the parity of the device every driver works, with another it says what to check."""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack
from functools import partial

import pytest

from drivers.driver_type import InstrumentSetup, LoadChannelSetup, LoadSetup, RigSetup
from drivers.host import COMPUTER
from drivers.interfaces import DeviceError
from drivers.modbus.amplifier import ModbusAmplifier
from drivers.modbus.encoders import ModbusEncoders
from drivers.modbus.section import AmplifierInput, EncoderRegister, ModbusJointsSection, ModbusLoadsSection
from drivers.modbus.simulated.amplifier import Amplifier
from drivers.modbus.simulated.encoders import EncoderBus
from drivers.modbus.simulated.relay_board import simulated_ports
from drivers.modbus.valve_requests import ValveRequests
from drivers.sim.protocol.line import SimulatedPort
from hil.testing.bench import VirtualBench
from tests.drivers.modbus.conftest import InstantCylinders

from .conftest import LAYOUT, section_of, valves_of

BAUD = 19200
ALL = ("8n1", "8e1", "8o1", "8n2")
ENCODERS = (EncoderRegister(joint="left_bogie", address=3, register_number=1),)
INPUTS = tuple(AmplifierInput(channel=name, register_number=one) for name, one in (("a", 0), ("b", 2)))
RIG = RigSetup(valves=LAYOUT)


class Still:
    """Readings that do not change."""

    channels, rate_hz = ("left_bogie",), 50.0

    def volts(self, channel):
        return 0.5

    def since(self, sequence):
        return [(1, 0, (0.3,))][sequence:]


def valves(characters):
    requests = ValveRequests(section_of(baud=BAUD, characters=characters), RIG)
    (port,) = simulated_ports(requests, InstantCylinders())

    def driver(path, host, **form):
        return valves_of(section_of(port=path, baud=BAUD, **form), RIG, answer_timeout_s=0.1, host=host)

    return port, driver


def loads(characters):
    section = partial(ModbusLoadsSection.model_construct, driver="modbus", baud=BAUD, inputs=INPUTS)
    setup = LoadSetup(tuple(LoadChannelSetup(name, "V", 10.0) for name in "ab"), 10, 1)
    port = SimulatedPort(Amplifier(Still(), section(), setup.channels), BAUD, 2_000_000, characters=characters)
    return port, lambda path, host, **form: ModbusAmplifier(section(port=path, **form), setup, host)


def joints(characters):
    section = partial(ModbusJointsSection.model_construct, driver="modbus", baud=BAUD, encoders=ENCODERS)
    setup = InstrumentSetup(("left_bogie",), 10.0, 0)
    port = SimulatedPort(EncoderBus(Still(), ENCODERS, BAUD), BAUD, 2_000_000, characters=characters)
    return port, lambda path, host, **form: ModbusEncoders(section(port=path, **form), setup, host)


@pytest.mark.parametrize("make", [valves, loads, joints])
@pytest.mark.parametrize(("device", "host"), [*itertools.product(ALL, ALL)])
def test_a_device_answers_at_its_own_parity_only_and_the_error_names_the_parity(make, device, host):
    with VirtualBench() as bench, ExitStack() as stack:
        port, driver = make(device)
        line = bench.connect("modbus", port, stack)
        opened = driver(line.endpoint, bench.host, characters=host)
        if device[1] == host[1]:
            opened.open()
            return
        with pytest.raises(DeviceError, match=rf"no (encoder )?answer.*{BAUD}.*{host}"):
            opened.open()


def test_a_character_with_a_parity_takes_longer_and_its_stop_is_written_with_it():
    with VirtualBench() as bench, ExitStack() as stack:
        spent_ns = {}
        for characters in ALL:
            port, driver = valves(characters)
            line = bench.connect("modbus", port, stack)
            opened = driver(line.endpoint, bench.host, characters=characters)
            began_ns = bench.now_ns()
            opened.open()
            spent_ns[characters] = bench.now_ns() - began_ns
            assert [stop.characters for stop in opened.stop_frames()] == [characters]
            opened.close()
    assert spent_ns["8e1"] == spent_ns["8o1"] == spent_ns["8n2"] > spent_ns["8n1"]


@pytest.mark.parametrize("characters", ALL)
def test_a_pseudo_terminal_is_opened_without_the_parity_that_it_cannot_carry(characters):
    handles = os.openpty()
    port = COMPUTER.open_serial(os.ttyname(handles[1]), BAUD, characters)
    shared = COMPUTER.open_shared(os.ttyname(handles[1]), None)
    port.write(b"whole")
    assert os.read(handles[0], 5) == b"whole"
    shared.close()
    port.close()
    for handle in handles:
        os.close(handle)
