"""The VectorNav driver against its simulated device, byte by byte, in virtual time."""

import math
from itertools import pairwise

import pytest

from drivers.device_sections import INSTRUMENTS
from drivers.driver_type import InstrumentSetup
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.reported import Reaction
from drivers.sim.protocol.plant_ports import PlantPorts
from drivers.vectornav import protocol
from drivers.vectornav.entry import VECTORNAV
from drivers.vectornav.imu import VectorNavImu
from drivers.vectornav.protocol import ERRORS
from drivers.vectornav.section import VectorNavSection
from drivers.vectornav.simulated import VectorNavDevice
from hil.config import ConfigError, load_config
from hil.config.rig_setup import rig_setup

BAUD, RATE_HZ, DELAY_NS = 460800, 200, 3_000_000
CHANNELS = ("ax_mps2", "ay_mps2", "az_mps2", "wx_radps", "wy_radps", "wz_radps")
PORT = "/dev/streams"


def numbered(number):
    """Values that say which reading they are of."""
    return (0.001 * number, -0.002 * number, -9.81, 1e-6 * number, -2e-6 * number, 0.5)


class Rig:
    def __init__(self, streams, rate_hz=RATE_HZ, baud=BAUD):
        self.streams, self.rate_hz, self.baud = streams, rate_hz, baud
        self.instrument = streams.instrument(CHANNELS, rate_hz)
        self.instrument.values = numbered
        self.device = VectorNavDevice(self.instrument, baud, DELAY_NS)
        streams.connect(self.device, baud)

    def driver(self, **changes):
        setup = InstrumentSetup(CHANNELS, changes.pop("rate_hz", self.rate_hz), DELAY_NS)
        keys = {"port": PORT, "baud": self.baud, **changes}
        return VectorNavImu(VectorNavSection(driver="vectornav", **keys), setup, self.streams.host)


@pytest.fixture
def rig(streams):
    return Rig(streams)


def number_of(reading):
    return round(reading.value[0] * 1e3)


def test_it_sets_the_device_up_and_names_model_and_firmware(rig):
    driver = rig.driver()
    assert driver.health().detail == "not opened yet"
    driver.open()
    registers = rig.device.registers
    assert (registers[protocol.OUTPUT], registers[protocol.RATE]) == ("19", "200")
    assert registers[protocol.PROTOCOL] == "0,0,0,0,1,1,1"
    assert driver.health().detail == "VN-100T-CR, firmware 3.1.0.0"
    assert driver.health().open


def test_every_reading_comes_once_in_order_with_its_values_to_the_last_digit(rig):
    driver = rig.driver()
    driver.open()
    found = rig.streams.readings(driver, 1.0)
    first = number_of(found[0])
    assert [number_of(reading) for reading in found] == list(range(first, first + len(found)))
    assert len(found) >= 197
    assert [reading.sequence for reading in found[1:]] == [reading.sequence + 1 for reading in found[:-1]]
    for reading in found:
        assert reading.value == pytest.approx(numbered(number_of(reading)), abs=0.51e-3)
        assert reading.value[3:] == pytest.approx(numbered(number_of(reading))[3:], abs=0.51e-6)


def test_a_reading_has_the_time_when_it_was_measured(rig):
    """Its message begins a delay later; the driver knows the delay, the line time, and when it has looked."""
    driver = rig.driver()
    driver.open()
    late_ns = [reading.t_ns - rig.instrument.at_ns(number_of(reading)) for reading in rig.streams.readings(driver, 2.0)]
    assert min(late_ns) >= -200  # line times are whole nanoseconds a byte
    assert max(late_ns[20:]) < 400_000
    assert sorted(late_ns)[len(late_ns) // 2] < 150_000


def test_a_reading_that_was_not_taken_is_replaced_by_a_newer_one(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.readings(driver, 0.1)
    until_ns = rig.streams.time.now_ns + 50_000_000
    while rig.streams.time.now_ns < until_ns:
        driver.step()
    newest = driver.read(0)
    assert rig.streams.time.now_ns - newest.arrived_ns < 10_000_000
    assert driver.read(0) is None


@pytest.mark.parametrize(("rate_hz", "baud"), [(5, 9600), (40, 57600), (50, 115200), (100, 230400)])
def test_other_rates_come_as_set(streams, rate_hz, baud):
    rig = Rig(streams, rate_hz, baud)
    driver = rig.driver()
    driver.open()
    streams.readings(driver, 0.3)
    assert len(streams.readings(driver, 2.0)) == pytest.approx(2 * rate_hz, abs=1)
    assert driver.health().rate_hz == pytest.approx(rate_hz, rel=0.02)


def test_a_rate_below_that_of_the_instrument_gives_each_second_or_fourth_reading(streams):
    rig = Rig(streams)
    driver = rig.driver(rate_hz=50)
    driver.open()
    numbers = [number_of(reading) for reading in streams.readings(driver, 1.0)]
    assert {later - sooner for sooner, later in pairwise(numbers[1:])} == {4}


def test_it_is_set_up_while_the_device_sends_something_else(rig):
    """As it comes from the maker, or as another program has left it."""
    rig.device.registers |= {protocol.OUTPUT: "14", protocol.RATE: "200"}
    driver = rig.driver()
    rig.streams.host.sleep(1.0)
    driver.open()
    assert driver.health().retries == 0
    assert rig.streams.readings(driver, 0.1)


def test_messages_with_a_counter_are_set_back_to_plain_ones(rig):
    rig.device.registers[protocol.PROTOCOL] = "1,1,0,0,1,1,0"
    rig.driver().open()
    assert rig.device.registers[protocol.PROTOCOL] == "0,0,0,0,1,1,1"


def test_a_request_that_is_damaged_on_its_way_is_made_again(rig):
    rig.streams.inject_fault("garbage", requests=True)
    driver = rig.driver()
    driver.open()
    assert driver.health().retries == 1


def test_an_answer_that_is_damaged_on_its_way_is_asked_for_again(rig):
    rig.device.registers[protocol.OUTPUT] = "0"
    rig.streams.inject_fault("garbage")
    driver = rig.driver()
    driver.open()
    assert driver.health().retries == 1


def test_another_device_is_refused_with_its_name(streams):
    rig = Rig(streams)
    rig.device.registers[protocol.MODEL] = "XS-7"
    with pytest.raises(DeviceError, match=r"its model is 'XS-7'; needed: VN-100, VN-200 or VN-300; check devices.imu"):
        rig.driver().open()


def test_a_rate_that_the_line_does_not_bear_is_refused_by_the_device_and_said(streams):
    rig = Rig(streams, RATE_HZ, 115200)
    with pytest.raises(
        DeviceError, match=r"VNWRG of register 6 with error 0C: baud rate too low.*check imu.rate_hz and"
    ):
        rig.driver().open()


def test_at_a_wrong_baud_rate_it_says_so(streams):
    """Bytes come, but none of them right: here, all their upper bits are set."""

    class Garbled(VectorNavDevice):
        def unasked(self, now_ns):
            return [(began_ns, bytes(byte | 0x80 for byte in data)) for began_ns, data in super().unasked(now_ns)]

        def receive(self, data, began_ns, ended_ns):
            return b""

    instrument = streams.instrument(CHANNELS, RATE_HZ)
    streams.connect(Garbled(instrument, BAUD, DELAY_NS), BAUD)
    section = VectorNavSection(driver="vectornav", port=PORT, baud=BAUD)
    with pytest.raises(
        LinkLostError, match=r"no answer to \$VNRRG,01\*72.*bytes without an end; check the baud rate, 460800"
    ):
        VectorNavImu(section, InstrumentSetup(CHANNELS, RATE_HZ, 0), streams.host).open()


def test_an_off_device_is_told_from_a_missing_port(rig):
    rig.streams.inject_fault("off")
    with pytest.raises(
        LinkLostError, match=r"nothing came: check its power, the cable, and the baud rate, 460800 here"
    ):
        rig.driver().open()
    with pytest.raises(LinkLostError, match="there is no such port; `hil devices` lists the existing ones"):
        rig.driver(port="/dev/other").open()


def test_readings_that_the_sensor_lost_are_missing_and_nothing_else_happens(rig):
    rig.instrument.lost = lambda number: number % 10 == 3
    driver = rig.driver()
    driver.open()
    numbers = [number_of(reading) for reading in rig.streams.readings(driver, 1.0)]
    assert numbers == [number for number in range(numbers[0], numbers[-1] + 1) if number % 10 != 3]
    assert driver.health().errors == 0


@pytest.mark.parametrize("kind", ["garbage", "truncated", "noise"])
def test_one_bad_message_in_ten_is_no_failure(rig, kind):
    driver = rig.driver()
    driver.open()
    rig.streams.inject_fault(kind, count=30, every=10)
    found = rig.streams.readings(driver, 1.5)
    for reading in found:
        assert reading.value == pytest.approx(numbered(number_of(reading)), abs=0.51e-3)
    assert len(found) >= 0.85 * 300


def test_many_wrong_check_sums_are_a_failure(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.inject_fault("garbage", count=100)
    with pytest.raises(DamagedError, match=r"3 of the last \d+ messages damaged.*wrong check sum"):
        rig.streams.readings(driver, 1.0)


def test_a_silent_device_is_lost(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.readings(driver, 0.5)
    rig.streams.inject_fault("off")
    with pytest.raises(LinkLostError, match="VectorNav IMU on /dev/streams: no message for 50"):
        rig.streams.readings(driver, 1.0)


def test_a_device_that_has_restarted_is_lost_though_it_sends_and_is_set_up_when_it_is_opened_again(rig):
    """Its set-up is gone with its power: it sends $VNYMR."""
    driver = rig.driver()
    driver.open()
    rig.streams.readings(driver, 0.2)
    rig.device.registers |= {protocol.OUTPUT: "14", protocol.RATE: "40"}
    with pytest.raises(LinkLostError, match="no message for 50"):
        rig.streams.readings(driver, 1.0)
    driver.open()
    assert len(rig.streams.readings(driver, 0.5)) >= 97


def test_unplugged_and_plugged_in_again_it_can_be_opened_and_is_set_up_anew(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.readings(driver, 0.2)
    rig.streams.inject_fault("disconnect")
    with pytest.raises(LinkLostError, match="is gone"):
        rig.streams.readings(driver, 0.2)
    rig.device.registers |= {protocol.OUTPUT: "14", protocol.RATE: "40"}  # it lost its power, too
    rig.streams.inject_fault("reconnect")
    driver.open()
    assert len(rig.streams.readings(driver, 0.5)) >= 97
    driver.close()
    driver.close()
    assert not driver.health().open


def test_the_registry_makes_driver_and_device_from_a_config_and_they_fit(streams):
    config = load_config(
        "sim_wire",
        ["imu={rate_hz: 100, delay_ms: 4}", "devices.imu={driver: vectornav, baud: 230400, port: /dev/streams}"],
    )
    section, setup = config.devices.imu, rig_setup(config)
    assert VECTORNAV.role in INSTRUMENTS
    assert setup.instruments["imu"] == InstrumentSetup(CHANNELS, 100.0, 4_000_000)
    instrument = streams.instrument(CHANNELS, 100.0)
    ports = PlantPorts(None, None, None, {"imu": instrument})
    peer = VECTORNAV.simulated_ports(section, setup, ports)["vectornav"]
    streams.connect(peer.device, peer.baud)
    driver = VECTORNAV.make(section, setup, streams.host)
    driver.open()
    found = streams.readings(driver, 0.5)
    assert len(found) >= 47
    assert all(math.isfinite(value) for reading in found for value in reading.value)
    assert [load.share for load in VECTORNAV.line_loads(section, setup)] == [pytest.approx(110 * 10 * 100 / 230400)]
    assert [connection.name for connection in VECTORNAV.connections(section)] == ["/dev/streams"]
    values = {}
    VECTORNAV.at_endpoints(values, {"vectornav": "/tmp/v"})
    assert values == {"port": "/tmp/v"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["imu={rate_hz: 200}", "devices.imu={driver: vectornav}"], "devices.imu.baud: found 115200, busy for 191%"),
        (["imu={rate_hz: 200}", "devices.imu={driver: vectornav}"], "or a lower imu.rate_hz"),
        (["imu={rate_hz: 300}", "devices.imu={driver: vectornav}"], "imu.rate_hz: found 300; allowed: one of 1, 2, 4"),
        (["devices.imu={driver: vectornav, baud: 460800}"], "devices.imu: found a section, vectornav; allowed: null"),
        (
            ["imu={}", "devices.imu={driver: vectornav, baud: 100}"],
            "devices.imu.baud: found 100; allowed: 9600 or 19200",
        ),
    ],
)
def test_a_config_that_cannot_work_is_refused_with_words(settings, said):
    with pytest.raises(ConfigError) as caught:
        load_config("sim_wire", settings)
    assert said in str(caught.value)


@pytest.mark.parametrize("register", protocol.BINARY_OUTPUTS)
def test_a_binary_output_that_somebody_has_left_on_is_switched_off(rig, register):
    rig.device.registers[register] = "2,4,1"
    driver = rig.driver()
    driver.open()
    assert rig.device.registers[register] == "0,1,0"
    assert len(rig.streams.readings(driver, 0.5)) > 90
    assert driver.health().errors == 0


def test_firmware_without_binary_outputs_is_opened(rig):
    for register in protocol.BINARY_OUTPUTS:
        del rig.device.registers[register]
    rig.driver().open()


def test_a_device_left_with_the_other_check_sum_and_a_counter_is_set_back(rig):
    rig.device.registers[protocol.PROTOCOL] = "1,0,0,0,3,1,1"
    driver = rig.driver()
    driver.open()
    assert rig.device.registers[protocol.PROTOCOL] == "0,0,0,0,1,1,1"
    assert len(rig.streams.readings(driver, 0.5)) > 90


def test_readings_turned_to_another_frame_are_refused_by_name(rig):
    rig.device.registers[protocol.ROTATION] = "+0.0,+1.0,+0.0,-1.0,+0.0,+0.0,+0.0,+0.0,+1.0"
    with pytest.raises(DeviceError, match=r"frame rotation \(register 26\) is \+0.0,\+1.0.*needed: 1,0,0,0,1"):
        rig.driver().open()


@pytest.mark.parametrize("row", ERRORS.rows, ids=lambda row: row.words)
def test_an_error_that_it_sends_by_itself_is_reported_as_its_row_says(rig, row):
    driver = rig.driver()
    driver.open()
    real = rig.device._message
    error, newest = (protocol.frame(protocol.ERROR, f"{value:02X}") for value in (row.value, 8))
    rig.device._message = lambda values: real(values) + error + newest  # one that is ignored hides none before it
    rig.streams.readings(driver, 0.02)
    rig.device._message = real
    rig.streams.readings(driver, 0.1)
    said = [report.words for report in driver.health().reports]
    assert said == ([] if row.reaction is Reaction.IGNORED else [f"{row.words} (VNERR {row.value}), {PORT}"])
    driver.open()
    assert driver.health().reports == ()


@pytest.mark.parametrize("needed", ["", "100012345", "0100012345"])
def test_it_says_which_one_it_is_by_its_serial_number(rig, needed):
    driver = rig.driver(identity=needed)
    assert driver.health().identities == ()
    driver.open()
    (one,) = driver.health().identities
    assert (one.where, one.found, one.needed) == (f"VectorNav IMU on {PORT}", "100012345", needed)


def test_another_one_than_that_of_the_config_is_refused_before_anything_is_set(rig):
    before = dict(rig.device.registers)
    with pytest.raises(DeviceError, match=r"VectorNav IMU on .*: its identity is 100012345, needed: 100012346"):
        rig.driver(identity="100012346").open()
    assert rig.device.registers == before
