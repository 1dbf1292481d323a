"""The driver of the laser distance sensor against its simulated device, byte by byte, in virtual time."""

import math
from itertools import pairwise

import pytest

from drivers.device_sections import INSTRUMENTS
from drivers.dimetix import protocol
from drivers.dimetix.distance import DimetixDistance
from drivers.dimetix.entry import DIMETIX
from drivers.dimetix.protocol import ERRORS
from drivers.dimetix.section import DimetixSection
from drivers.dimetix.simulated import DimetixDevice
from drivers.driver_type import InstrumentSetup
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.reported import Reaction
from drivers.sim.protocol.plant_ports import PlantPorts
from hil.config import ConfigError, load_config
from hil.config.rig_setup import rig_setup

BAUD, PERIOD_MS, DELAY_NS = 19200, 20, 8_000_000
PORT = "/dev/streams"


def numbered(number):
    """A distance that says which reading it is of."""
    return (1.0 + 1e-4 * number,)


class Rig:
    def __init__(self, streams, *, period_ms=PERIOD_MS, baud=BAUD, parity=True, sensor=0):
        self.streams, self.plain = streams, {"period_ms": period_ms, "parity": parity, "baud": baud, "sensor": sensor}
        self.instrument = streams.instrument(("distance_m",), 1e3 / period_ms)
        self.instrument.values = numbered
        self.device = DimetixDevice(self.instrument, parity=parity, sensor=sensor, delay_ns=DELAY_NS)
        streams.connect(self.device, baud)

    def driver(self, **changes):
        keys = {"port": PORT, **self.plain, **changes}
        setup = InstrumentSetup(("distance_m",), 1e3 / keys.pop("period_ms"), DELAY_NS)
        keys["characters"] = "7e1" if keys.pop("parity") else "8n1"
        return DimetixDistance(DimetixSection(driver="dimetix", **keys), setup, self.streams.host)


@pytest.fixture
def rig(streams):
    return Rig(streams)


def number_of(reading):
    return round((reading.value[0] - 1.0) * 1e4)


def test_it_names_serial_number_and_firmware(rig):
    driver = rig.driver()
    assert driver.health().detail == "not opened yet"
    driver.open()
    assert driver.health().detail == "serial number 01234567, firmware 01060110"


def test_every_distance_comes_once_in_order_to_the_tenth_of_a_millimetre(rig):
    driver = rig.driver()
    driver.open()
    found = rig.streams.readings(driver, 2.0)
    first = number_of(found[0])
    assert [number_of(reading) for reading in found] == list(range(first, first + len(found)))
    assert len(found) >= 97
    for reading in found:
        assert reading.value == pytest.approx(numbered(number_of(reading)), abs=0.5e-4)


@pytest.mark.parametrize(
    ("period_ms", "baud", "parity", "sensor"), [(100, 9600, True, 0), (50, 19200, False, 7), (10, 115200, False, 0)]
)
def test_a_reading_has_the_time_when_it_was_measured_with_any_settings_of_the_line(
    streams, period_ms, baud, parity, sensor
):
    rig = Rig(streams, period_ms=period_ms, baud=baud, parity=parity, sensor=sensor)
    driver = rig.driver()
    driver.open()
    found = streams.readings(driver, 0.06 * period_ms)
    late_ns = [reading.t_ns - rig.instrument.at_ns(number_of(reading)) for reading in found]
    assert len(found) >= 57
    assert min(late_ns) >= -20
    assert max(late_ns[30:]) < 500_000
    assert driver.health().rate_hz == pytest.approx(1e3 / period_ms, rel=0.02)


def test_while_the_target_is_lost_readings_have_no_value_and_are_counted(rig):
    rig.instrument.lost = lambda number: 20 <= number < 40
    driver = rig.driver()
    driver.open()
    found = rig.streams.readings(driver, 1.2)
    without = [reading for reading in found if math.isnan(reading.value[0])]
    assert len(without) == pytest.approx(20, abs=1)
    assert [number_of(reading) for reading in found if reading not in without][-1] >= 55
    failed = f"; {driver.failed} measurements failed, newest error 255: signal too weak, or target lost"
    assert driver.health().detail.endswith(failed)
    assert (driver.failed, driver.health().errors) == (20, 0)


MEASURING = [row for row in ERRORS.rows if row.value not in protocol.COMMAND_ERRORS]


@pytest.mark.parametrize("row", MEASURING, ids=lambda row: row.words)
def test_an_error_of_the_sensor_is_reported_as_its_row_says_while_it_lasts(rig, row):
    driver = rig.driver()
    driver.open()
    real, rig.device._message = rig.device._message, lambda values: rig.device._error(row.value)
    rig.streams.readings(driver, 0.2)
    said = [(report.safe, report.words) for report in driver.health().reports]
    assert said == ([] if row.reaction is Reaction.IGNORED else [(False, f"{row.words} (error {row.value}), {PORT}")])
    rig.device._message = real
    rig.streams.readings(driver, 0.2)
    assert driver.health().reports == ()
    rig.device._message = lambda values: rig.device._error(row.value)
    rig.streams.readings(driver, 0.1)
    rig.device._message = real
    rig.streams.readings(driver, 0.1)
    newest = [(report.safe, report.words) for report in driver.health().reports]
    assert newest == said  # what was over before anybody asked is told all the same, once
    rig.streams.readings(driver, 0.1)
    assert driver.health().reports == ()


def test_one_failed_measurement_is_counted_and_a_newer_distance_takes_its_place(rig):
    """Its message comes half a period late, between two looks."""
    rig.instrument.lost = lambda number: number % 5 == 0
    driver = rig.driver()
    driver.open()
    found = rig.streams.readings(driver, 1.0)
    assert driver.failed == pytest.approx(10, abs=1)
    assert not any(math.isnan(reading.value[0]) for reading in found)
    assert found[-1].sequence == pytest.approx(len(found) + driver.failed, abs=1)


def test_a_target_out_of_range_is_a_failed_measurement(rig):
    rig.instrument.values = lambda _number: (0.01,)
    driver = rig.driver()
    driver.open()
    assert all(math.isnan(reading.value[0]) for reading in rig.streams.readings(driver, 0.5))
    assert "error 234: distance out of its range" in driver.health().detail


def test_a_sensor_that_tracks_already_is_stopped_and_set_up(rig):
    rig.driver().open()
    rig.streams.host.sleep(0.5)
    rig.streams.host.ports[PORT].port.close()  # the program that had it is gone
    driver = rig.driver()
    driver.open()
    assert driver.health().retries == 0
    assert len(rig.streams.readings(driver, 0.5)) >= 23


def test_closed_it_stops_the_laser(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.readings(driver, 0.1)
    driver.close()
    driver.close()
    rig.streams.host.sleep(0.1)
    assert rig.device.receive(protocol.with_parity(b"s0sn\r\n"), 0, 1) == protocol.with_parity(b"g0sn+01234567\r\n")
    assert not driver.health().open


@pytest.mark.parametrize(("there", "here"), [(True, False), (False, True)])
def test_other_characters_than_those_of_the_sensor_are_told(streams, there, here):
    rig = Rig(streams, parity=there)
    with pytest.raises(DeviceError) as caught:
        rig.driver(parity=here).open()
    said = str(caught.value)
    assert "devices.motion.characters" in said or "the characters set in the device" in said


def test_a_sensor_with_another_number_does_not_answer(streams):
    rig = Rig(streams, sensor=3)
    with pytest.raises(LinkLostError, match=r"no answer to .* within 500 ms, twice; nothing came"):
        rig.driver(sensor=0).open()


def test_a_rate_that_the_sensor_refuses_is_said_when_it_answers(rig):
    driver = rig.driver(period_ms=5)
    driver.open()
    with pytest.raises(
        DeviceError, match=r"answers to s0h with error 360: the set time .* too short; check motion.rate"
    ):
        rig.streams.readings(driver, 1.0)


def test_a_flipped_bit_now_and_then_is_noticed_by_parity_and_counted(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.inject_fault("garbage", count=20, every=5)
    found = rig.streams.readings(driver, 2.0)
    for reading in found:
        assert reading.value == pytest.approx(numbered(number_of(reading)), abs=0.5e-4)
    assert 18 <= driver.health().errors <= 20
    gaps = [later.sequence - sooner.sequence for sooner, later in pairwise(found)]
    assert gaps.count(2) == pytest.approx(20, abs=2)


def test_many_damaged_messages_are_a_failure(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.inject_fault("garbage", count=50)
    with pytest.raises(DamagedError, match=r"laser distance sensor on /dev/streams: 3 of the last .*wrong parity"):
        rig.streams.readings(driver, 1.0)


def test_silent_or_unplugged_it_is_lost_and_opened_again_it_measures(rig):
    driver = rig.driver()
    driver.open()
    rig.streams.inject_fault("off")
    with pytest.raises(LinkLostError, match=r"no message for 5[0-9]{2} ms, allowed: 500 ms"):
        rig.streams.readings(driver, 1.0)
    rig.streams.inject_fault("disconnect")
    with pytest.raises(LinkLostError, match="is gone"):
        rig.streams.readings(driver, 1.0)
    rig.streams.inject_fault("reconnect")
    driver.open()
    assert len(rig.streams.readings(driver, 0.5)) >= 23


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"s0c\r\n", b"g0?\r\n"),
        (b"s0g\r\n", b"g0@E255\r\n"),  # the plant has measured nothing yet
        (b"s0sv\r\n", b"g0sv+01060110\r\n"),
        (b"s0uo\r\n", b"g0uo+0\r\n"),
        (b"s0uo+0\r\n", b"g0uo?\r\n"),
        (b"s0uo+300\r\n", b"g0@E203\r\n"),
        (b"s0xyz\r\n", b"g0@E203\r\n"),
        (b"hello\r\n", b"g0@E203\r\n"),
        (b"s1g\r\n", b""),
        (b"s0h+5\r\n", b"g0@E360\r\n"),
        (b"s0h+99999999\r\n", b"g0@E361\r\n"),
        (b"s0h\r\ns0g\r\n", b"g0@E212\r\n"),
        (b"s0c\r\ns0c", b"g0?\r\n"),
    ],
)
def test_the_simulated_sensor_answers_as_the_manual_says(streams, command, answer):
    assert Rig(streams, parity=False).device.receive(command, 0, 1) == answer


def test_the_simulated_sensor_notices_a_wrong_parity(rig):
    assert rig.device.receive(b"s0g\r\n", 0, 1) == protocol.with_parity(b"g0@E220\r\n")


def test_a_single_measurement_is_the_newest(streams):
    rig = Rig(streams, parity=False)
    streams.host.sleep(0.1)
    assert rig.device.receive(b"s0g\r\n", 0, 1) == b"g0g+00010005\r\n"


def test_a_pressed_stop_is_refused_by_a_device_that_has_none(rig):
    with pytest.raises(ValueError, match="no emergency stop"):
        rig.device.press(True)


def test_the_registry_makes_driver_and_device_from_a_config_and_they_fit(streams):
    section = "devices.motion={driver: dimetix, port: /dev/streams, baud: 115200, characters: 8n1, sensor: 2}"
    config = load_config("sim_wire", ["motion={measures: distance, rate_hz: 40, delay_ms: 8}", section])
    section, setup = config.devices.motion, rig_setup(config)
    assert DIMETIX.role in INSTRUMENTS
    instrument = streams.instrument(("distance_m",), 40.0)
    peer = DIMETIX.simulated_ports(section, setup, PlantPorts(None, None, None, {"motion": instrument}))["dimetix"]
    streams.connect(peer.device, peer.baud)
    driver = DIMETIX.make(section, setup, streams.host)
    driver.open()
    assert len(streams.readings(driver, 1.0)) >= 38
    assert [load.share for load in DIMETIX.line_loads(section, setup)] == [pytest.approx(14 * 10 * 40 / 115200)]
    assert [connection.key for connection in DIMETIX.connections(section)] == ["devices.motion.port"]
    values = {}
    DIMETIX.at_endpoints(values, {"dimetix": "/tmp/d"})
    assert values == {"port": "/tmp/d"}


@pytest.mark.parametrize(
    ("motion", "device", "said"),
    [
        ("{}", "{}", "motion.measures: found a reading of x_m, y_m, z_m, qx, qy, qz, qw; allowed: distance"),
        (
            "{measures: distance, rate_hz: 30}",
            "{}",
            "motion.rate_hz: found 30; allowed: at most 100, and a whole number",
        ),
        ("{measures: distance, rate_hz: 200}", "{}", "motion.rate_hz: found 200; allowed: at most 100"),
        ("{measures: distance, rate_hz: 100}", "{baud: 9600}", "devices.motion.baud: found 9600, busy for 146%"),
        ("{measures: distance}", "{baud: 4800}", "devices.motion.baud: found 4800; allowed: 9600 or 19200 or 115200"),
        ("null", "{}", "devices.motion: found a section, dimetix; allowed: null"),
    ],
)
def test_a_config_that_cannot_work_is_refused_with_words(motion, device, said):
    with pytest.raises(ConfigError) as caught:
        load_config("sim_wire", [f"motion={motion}", f"devices.motion={{driver: dimetix, {device[1:]}"])
    assert said in str(caught.value)


@pytest.mark.parametrize("needed", ["", "1234567", "01234567"])
def test_it_says_which_one_it_is_by_its_serial_number(rig, needed):
    driver = rig.driver(identity=needed)
    driver.open()
    (one,) = driver.health().identities
    assert (one.where, one.found, one.needed) == (f"laser distance sensor on {PORT}", "1234567", needed)


def test_another_one_than_that_of_the_config_is_refused(rig):
    with pytest.raises(DeviceError, match=r"laser distance sensor on .*: its identity is 1234567, needed: 1234568"):
        rig.driver(identity="1234568").open()
