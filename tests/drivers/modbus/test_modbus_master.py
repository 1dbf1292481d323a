"""Our valve driver against an independent Modbus server, pymodbus's, over two connected ptys."""

import asyncio
import math
import os
import select
import threading
import tty
from contextlib import suppress

import pytest
from pymodbus.server import ModbusSerialServer
from pymodbus.simulator import DataType, SimData, SimDevice

from drivers.driver_type import InstrumentSetup, LoadChannelSetup, LoadSetup, RigSetup
from drivers.interfaces import DeviceError
from drivers.messages import ValveCommand
from drivers.modbus import protocol
from drivers.modbus.amplifier import ModbusAmplifier
from drivers.modbus.encoders import ModbusEncoders
from drivers.modbus.section import EncoderRegister, ModbusJointsSection, ModbusLoadsSection
from drivers.valve_layout import ValveLayout

from .conftest import LAYOUT, chambers, section_of, valves_of

VALVES_OFF = ((False, False), (False, False))


@pytest.fixture
def wire():
    """Two ttys; each receives what is written to the other."""
    ends = [os.openpty() for _ in range(2)]
    for _, slave in ends:
        tty.setraw(slave)
    masters, going = [master for master, _ in ends], threading.Event()

    def carry():
        while not going.is_set():
            for ready in select.select(masters, [], [], 0.02)[0]:
                with suppress(OSError):
                    os.write(masters[1 - masters.index(ready)], os.read(ready, 4096))

    thread = threading.Thread(target=carry, daemon=True)
    thread.start()
    yield tuple(os.ttyname(slave) for _, slave in ends)
    going.set()
    thread.join()
    for end in ends:
        for handle in end:
            os.close(handle)


@pytest.fixture
def server(wire):
    """Eight coils (two of them on), input registers 10 to 13, holding registers 5 to 8; path of the other end."""
    coils = [SimData(0, values=[True, False, False, True] + [False] * 4, datatype=DataType.BITS)]
    inputs = [SimData(10, values=[6000, 1, 65526, 32767], datatype=DataType.REGISTERS)]
    holding = [SimData(5, values=[0] * 4, datatype=DataType.REGISTERS)]
    discrete = [SimData(0, values=[False], datatype=DataType.BITS)]
    device = SimDevice(1, simdata=(coils, discrete, holding, inputs))
    loop, started, holder = asyncio.new_event_loop(), threading.Event(), []

    async def serve():
        holder.append(ModbusSerialServer(device, port=wire[1], baudrate=115200))
        await holder[0].serve_forever(background=True)
        started.set()

    def run():
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait()
    yield wire[0]
    asyncio.run_coroutine_threadsafe(holder[0].shutdown(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def valves_at(port, layout=LAYOUT, **keys):
    plain = {"flash_on": False, "baud": 115200, "rate_hz": 50.0, "pressures": chambers(kPa_per_count=0.1)}
    section = section_of(layout, port=port, **{**plain, **keys})
    return valves_of(section, RigSetup(valves=layout, supply_kPa=550.0), answer_timeout_s=0.5)


def test_our_master_switches_reads_and_sets_a_server_of_another_maker(server):
    valves = valves_at(server, regulator={"holding_register": 5, "kPa_per_count": 1.0})
    valves._line._link._timeout_ns = 60 * 10**9  # that server has a separate clock, and may be slow
    valves.open()
    assert valves.read(0).pressure_Pa == ((6e5, 100.0), (-1000.0, 3276700.0))
    for t_ns, command in enumerate((VALVES_OFF, ((True, False), (False, True)), ((False, True), (False, True))), 1):
        valves.write(ValveCommand(t_ns, command))
        valves.step()
        while (sample := valves.read(0)) is None or sample.acknowledged_ns != t_ns:
            valves.step()
    assert (valves.health().errors, valves.health().retries) == (0, 0)
    valves.close()


def test_our_master_moves_regulators_of_a_server_of_another_maker(server):
    """Neighbours by function 16, a single one by function 06; what the server has is read back by another master."""
    places = {name: {"holding_register": one} for name, one in (("left", 5), ("right", 6), ("rear", 8))}
    scale = {"full_scale_kPa": 200.0, "full_scale_counts": 4000, "zero_counts": 800}
    layout = ValveLayout(regulators=tuple(places))
    valves = valves_at(server, layout, regulators={**places, **scale}, pressures=None)
    valves._line._link._timeout_ns = 60 * 10**9
    valves.open()
    read = protocol.read_registers(1, 5, 4, protocol.Function.READ_HOLDING)
    assert valves._line.ask(read) == (800, 800, 0, 800)
    for t_ns, pressures_Pa in enumerate(((), (200e3, 100e3, 50e3), (0.0, 0.0, 0.0)), 1):
        valves.write(ValveCommand(t_ns, VALVES_OFF, pressures_Pa))
        while (sample := valves.read(0)) is None or sample.acknowledged_ns != t_ns:
            valves.step()
        if any(pressures_Pa):
            assert valves._line.ask(read) == (4000, 2400, 0, 1600)
    assert valves._line.ask(read) == (800, 800, 0, 800)
    assert (valves.health().errors, valves.health().retries) == (0, 0)
    valves.close()


def test_a_register_that_the_server_has_not_is_named(server):
    valves = valves_at(server, pressures=chambers((50, 51, 52, 53)))
    valves._line._link._timeout_ns = 60 * 10**9
    with pytest.raises(DeviceError, match="function 4 refused with exception 2"):
        valves.open()


def test_our_amplifier_driver_reads_32_bits_from_a_server_of_another_maker(server):
    inputs = [{"channel": name, "register_number": one} for name, one in (("a", 10), ("b", 12))]
    section = {"driver": "modbus", "port": server, "V_per_count": 1.0, "inputs": inputs}
    setup = LoadSetup(tuple(LoadChannelSetup(name, "V", 1e10) for name in "ab"), 20, 1)
    amplifier = ModbusAmplifier(ModbusLoadsSection.model_validate(section), setup)
    amplifier._link._timeout_ns = 60 * 10**9  # that server has a separate clock, and may be slow
    amplifier.open()
    while (block := amplifier.read(0)) is None:
        amplifier.step()
    assert block.values.tolist() == [[6000 * 65536 + 1, -10 * 65536 + 32767]]
    assert amplifier.health().errors == 0
    amplifier.close()


def test_our_encoder_driver_reads_positions_from_a_server_of_another_maker(server):
    """Input registers 10 to 13 hold 6000, 1, -10 and 32767; a second encoder is read at the same address."""
    encoders = (
        EncoderRegister(joint="left_bogie", address=1, register_number=10, counts_per_turn=2**20),
        EncoderRegister(joint="right", address=1, register_number=12, bits=16, multi_turn=True, counts_per_turn=100),
    )
    section = ModbusJointsSection(driver="modbus", port=server, encoders=encoders, answer_timeout_ms=500.0)
    driver = ModbusEncoders(section, InstrumentSetup(("left_bogie", "right"), 20.0, 0))
    driver._line._link._timeout_ns = 60 * 10**9  # that server has a separate clock, and may be slow
    driver.open()
    left, right = driver.read(0).value
    counts = (6000 * 65536 + 1) % 2**20
    assert left == pytest.approx(2 * math.pi * (counts if counts <= 2**19 else counts - 2**20) / 2**20)
    assert right == pytest.approx(2 * math.pi * -10 / 100)
    assert driver.health().errors == 0
    driver.close()
