"""A converter for two wires that returns what is sent: no request of ours is taken for the answer of a device."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.host import COMPUTER
from drivers.interfaces import DeviceError
from drivers.messages import ValveCommand
from drivers.modbus import protocol
from drivers.modbus.line import RtuLine
from drivers.modbus.protocol import Function
from drivers.modbus.simulated.rtu import RtuBus

ADDRESS, REGISTER, BAUD = 1, 5, 19200


@pytest.fixture
def echoing(monkeypatch):
    """Every simulated line returns what is sent."""
    receive = RtuBus.receive
    monkeypatch.setattr(RtuBus, "receive", lambda self, data, *times: data + receive(self, data, *times))


@pytest.mark.usefixtures("echoing")
def test_valves_open_switch_and_read_pressures_on_a_line_that_returns_requests(rig, until):
    valves = rig.valves()
    valves.open()
    for number, powered in enumerate((((False, False),) * 2, ((True, False), (False, True))), 1):
        valves.write(ValveCommand(number, powered))
        until(valves, lambda sample, number=number: sample.acknowledged_ns == number)
    until(valves, lambda sample: sample.pressure_Pa == ((6.0e5, -1000.0), (-1000.0, 6.0e5)))
    assert rig.cylinders.powered == [True, False, False, True]
    assert valves.health().errors == 0
    valves.close()


@pytest.mark.usefixtures("echoing")
@pytest.mark.parametrize("function", [Function.WRITE_REGISTER, Function.WRITE_COIL])
def test_a_write_to_a_device_that_is_not_there_is_not_confirmed_by_the_request_that_comes_back(rig, function):
    line = line_of(rig)
    line.ask(protocol.read_registers(ADDRESS, REGISTER, 1, Function.READ_HOLDING))
    write = protocol.write_register if function is Function.WRITE_REGISTER else protocol.write_coil
    with pytest.raises(DeviceError, match="no answer"):
        line.ask(write(ADDRESS + 1, REGISTER, 0))
    line.close()


@pytest.mark.usefixtures("echoing")
def test_a_line_whose_first_request_is_a_write_is_looked_at_before(rig):
    line = line_of(rig)
    with pytest.raises(DeviceError, match="no answer"):
        line.ask(protocol.write_register(ADDRESS + 1, REGISTER, 7))
    line.ask(protocol.write_register(ADDRESS, REGISTER, 7))
    assert rig.supply.values[REGISTER] == 7
    line.close()


def line_of(rig):
    line = RtuLine("valves", str(rig.line.path), BAUD, 0.3, COMPUTER, lambda: None)
    line.open()
    return line


REQUESTS = [
    protocol.read_coils(1, 0, 4),
    protocol.read_registers(1, 0, 1),
    protocol.read_registers(1, 0x0207, 1, Function.READ_HOLDING),
    protocol.read_registers(1, 0, 3),
    protocol.write_coil(1, 3, protocol.ON),
    protocol.write_register(1, 3, -5),
    protocol.write_coils(1, 0, (True,) * 12),
    protocol.write_registers(1, 0, (1, 2, 3)),
]


def answer_to(request):
    function, body = request.frame[1], request.frame[2:-2]
    if function in (Function.WRITE_COIL, Function.WRITE_REGISTER):
        return request.frame
    if function in (Function.WRITE_COILS, Function.WRITE_REGISTERS):
        return protocol.frame(1, function, body[:4])
    return protocol.frame(1, function, bytes([request.length - 5]) + bytes(range(7, request.length + 2)))


@pytest.mark.slow
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.frame.hex())
@given(echoes=st.booleans(), refused=st.booleans(), data=st.data())
def test_an_answer_is_awaited_to_its_last_byte_and_not_beyond_it_with_and_without_the_request_before(
    request_, echoes, refused, data
):
    answer = protocol.refusal(1, request_.frame[1], protocol.Code.VALUE) if refused else answer_to(request_)
    line, got = (request_.frame if echoes else b"") + answer, b""
    known = echoes if not request_.tells_echo else data.draw(st.just(echoes) | st.just(False))
    while more := request_.missing(got, echoes=known):
        assert len(got) + more <= len(line)
        got += line[len(got) :][: data.draw(st.integers(1, more))]
    assert got == line
    if refused:
        with pytest.raises(protocol.RefusedError):
            request_.decode(got, echoes=known)
    else:
        assert request_.decode(got, echoes=known) == request_.decode(answer)
