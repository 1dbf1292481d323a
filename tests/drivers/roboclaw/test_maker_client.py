"""The maker's client against our simulated controllers: reads and commands from independent code."""

import math

import pytest
from basicmicro import Basicmicro

from drivers.roboclaw.protocol import MARK_PLACE

COUNTS = 8192.0


@pytest.fixture
def client(rig, serve):
    serve(rig.lines)
    maker = Basicmicro(str(rig.lines[0].path), 115200, timeout=20.0, retries=5)
    assert maker.Open()
    yield maker
    maker.close()


def signed(number):
    return number - 2**32 if number & 0x80000000 else number


def test_it_reads_what_there_is(rig, client):
    controller = rig.buses[0].controllers[0x81]
    rig.wheels.supply, rig.wheels.current[2:4] = 13.4, (1.25, -0.4)
    rig.wheels.angle[2], rig.wheels.angle[3] = 2 * math.tau, -math.tau
    rig.wheels.speed[2], rig.wheels.speed[3] = math.tau, -math.tau / 2
    assert client.ReadVersion(0x81) == (True, "USB Roboclaw 2x15a v4.2.8\n")
    assert client.ReadMainBatteryVoltage(0x81) == (1, 134)
    assert client.ReadCurrents(0x81) == (True, 125, -40)
    assert client.ReadEncM1(0x81) == (1, 16384, 0)
    assert [signed(count) for count in client.GetEncoders(0x81)[1:]] == [16384, -8192]
    assert client.ReadSpeedM1(0x81) == (1, 8192, 0)
    ok, speed, backward = client.ReadSpeedM2(0x81)
    assert (ok, signed(speed), backward) == (1, -4096, 1)
    assert client.ReadError(0x81) == (1, 0)
    controller.e_stop = True
    assert client.ReadError(0x81) == (1, Basicmicro.ERROR_ESTOP)


def test_it_stores_the_mark_that_is_a_controllers_identity_and_reads_it_back(rig, client):
    for mark, address in enumerate((0x80, 0x81, 0x82), start=21):
        assert client.ReadEeprom(address, MARK_PLACE) == (1, 0xFFFF)
        assert client.WriteEeprom(address, MARK_PLACE, mark)
        assert client.ReadEeprom(address, MARK_PLACE) == (1, mark)
    assert [one.stored for one in rig.buses[0].controllers.values()] == [{0: 21}, {0: 22}, {0: 23}]


def test_it_sets_the_serial_timeout_and_reads_it_back(client):
    assert client.SetTimeout(0x80, 0.5)
    assert client.GetTimeout(0x80) == (True, 0.5)


def test_it_runs_and_stops_the_motors(rig, client):
    qpps = round(COUNTS / math.tau)
    assert client.SpeedM1M2(0x82, qpps, -qpps)
    assert rig.wheels.commanded[4:] == pytest.approx([1.0, -1.0], rel=1e-3)
    assert client.ReadPWMs(0x82)[1] > 0
    assert client.SpeedAccelM1M2(0x82, 100 * qpps, 2 * qpps, 2 * qpps)
    assert client.DutyM1M2(0x80, 16384, 0)
    assert rig.wheels.commanded[0] > 0
    assert rig.wheels.commanded[1] is None
    assert client.DutyM1M2(0x82, 0, 0)
    assert rig.wheels.commanded[4:] == [None, None]
    assert client.ResetEncoders(0x82)


def test_it_hears_nothing_from_an_address_that_nobody_has(client):
    client._trystimeout = 1
    client._port.timeout = 0.05
    assert client.ReadVersion(0x87) == (False, "")
