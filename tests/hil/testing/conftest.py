"""Clients of others, connected to devices of `hil.testing`."""

import grpc
import nidaqmx
import pytest
from basicmicro import Basicmicro
from pymodbus.client import ModbusSerialClient

# No test waits for them; a longer one than 25 s is none to a serial port that waits between bytes.
PATIENCE_S, BYTE_S = 60.0, 20.0


@pytest.fixture
def basicmicro():
    """Connects the maker's client of RoboClaws to a path."""
    opened = []

    def connect(path, retries=5, timeout=BYTE_S):
        opened.append(Basicmicro(path, 115200, timeout=timeout, retries=retries))
        assert opened[-1].Open()
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
def modbus():
    """Connects pymodbus to a device."""
    opened = []

    def connect(device, timeout=PATIENCE_S, retries=3):
        opened.append(ModbusSerialClient(device.path, baudrate=device.baud, timeout=timeout, retries=retries))
        assert opened[-1].connect()
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
def task(simulated_ni_chassis):
    """Makes tasks of nidaqmx on the simulated chassis."""
    options = nidaqmx.GrpcSessionOptions(grpc.insecure_channel(simulated_ni_chassis.address), "")
    made = []

    def make():
        made.append(nidaqmx.Task(grpc_options=options))
        return made[-1]

    yield make
    for one in reversed(made):
        one.close()
