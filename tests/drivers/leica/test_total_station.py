"""The driver of the total station against its simulated instrument, byte by byte, in virtual time."""

import math

import pytest

from drivers.driver_type import InstrumentSetup
from drivers.interfaces import DeviceError, LinkLostError
from drivers.leica.entry import LEICA
from drivers.leica.protocol import CODES, VALID
from drivers.leica.section import LeicaSection
from drivers.leica.simulated import LEAST_NS, MOST_NS, TotalStation
from drivers.leica.total_station import LeicaTotalStation
from drivers.reported import Reaction
from drivers.sim.protocol.plant_ports import PlantPorts
from hil.config import ConfigError, load_config
from hil.config.rig_setup import rig_setup

CHANNELS, PORT, DELAY_NS = ("x_m", "y_m", "z_m"), "/dev/streams", 140_000_000


def numbered(number):
    """A place that says which reading it is of."""
    return (1.0 + 1e-3 * number, -2.0, 0.45)


def number_of(reading):
    return round((reading.value[0] - 1.0) * 1e3)


class Rig:
    def __init__(self, streams, rate_hz=5.0, baud=115200):
        self.streams, self.baud = streams, baud
        self.instrument = streams.instrument(CHANNELS, rate_hz)
        self.instrument.values = numbered
        self.device = TotalStation(self.instrument, DELAY_NS)
        streams.connect(self.device, baud)

    def driver(self, **keys):
        setup = InstrumentSetup(CHANNELS, self.instrument.rate_hz, DELAY_NS)
        return LeicaTotalStation(
            LeicaSection(driver="leica", port=PORT, baud=self.baud, **keys), setup, self.streams.host
        )

    def opened(self, **keys):
        driver = self.driver(**keys)
        driver.open()
        return driver


@pytest.fixture
def rig(streams):
    return Rig(streams)


@pytest.mark.slow
@pytest.mark.parametrize(("rate_hz", "baud"), [(10.0, 115200), (5.0, 115200), (3.0, 9600)])
def test_every_place_comes_once_with_the_time_when_it_was_measured(streams, rate_hz, baud):
    """The instrument's clock is 30 ppm too fast; half of an answer remains."""
    rig = Rig(streams, rate_hz, baud)
    driver = rig.opened()
    found = streams.readings(driver, 20.0)
    numbers = [number_of(reading) for reading in found]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 0.97 * (numbers[-1] - numbers[0] + 1) >= 0.95 * 20.0 * rate_hz
    for reading in found:
        assert reading.value == pytest.approx(numbered(number_of(reading)), abs=1e-5)
        assert abs(reading.t_ns - rig.instrument.at_ns(number_of(reading))) <= MOST_NS / 2
        assert reading.arrived_ns - reading.t_ns >= DELAY_NS - LEAST_NS
    assert driver.health().rate_hz == pytest.approx(rate_hz, rel=0.05)


def test_it_names_the_instrument_its_software_and_where_it_is_set_up(rig):
    driver = rig.driver()
    assert driver.health().detail == "not opened yet"
    driver.open()
    said = "TCRP1201, serial number 214587, software 5.62.0, its station at 0.00000, 0.00000, 0.00000, 0.00000"
    assert driver.health().detail == f"{said}; it follows the prism"
    assert [(one.found, one.needed) for one in driver.health().identities] == [("214587", "")]


def test_another_instrument_is_refused_before_anything_is_set(rig):
    with pytest.raises(DeviceError, match=r"identity is 214587, needed: 99"):
        rig.driver(identity="99").open()
    assert not rig.device._measures


@pytest.mark.parametrize("status", [0, 2])
def test_a_prism_that_is_lost_or_only_predicted_has_no_place(rig, status):
    driver = rig.opened()
    rig.streams.readings(driver, 1.0)
    rig.device.inject_fault("lock", {"value": status})
    hidden = rig.streams.readings(driver, 2.0)[1:]
    assert all(math.isnan(value) for reading in hidden for value in reading.value)
    assert len(hidden) == pytest.approx(9, abs=2)
    assert ("it has lost the prism", "", "the prism is hidden")[status] in driver.health().detail
    rig.device.inject_fault("lock", {"value": 1})
    assert math.isfinite(rig.streams.readings(driver, 1.0)[-1].value[0])


def test_without_a_place_for_long_the_link_is_lost_and_opened_again_it_seeks_the_prism(rig):
    driver = rig.opened(silent_s=3)
    rig.device.inject_fault("restart", {})
    with pytest.raises(LinkLostError, match=r"no place for 3 s: it has lost the prism; .*point its telescope"):
        rig.streams.readings(driver, 5.0)
    driver.open()
    assert len(rig.streams.readings(driver, 2.0)) >= 8


def test_without_a_prism_it_is_not_opened(rig):
    rig.device.inject_fault("lock", {"value": 0})
    with pytest.raises(DeviceError, match=r"%R1Q,9037,.* with code 8710: no prism found; point its telescope"):
        rig.driver().open()


def test_its_clock_that_begins_anew_moves_no_reading(rig):
    driver = rig.opened(silent_s=60)
    rig.streams.readings(driver, 2.0)
    rig.device._began_ms -= 700_000
    found = rig.streams.readings(driver, 4.0)
    assert len(found) >= 16
    for reading in found:
        assert abs(reading.t_ns - rig.instrument.at_ns(number_of(reading))) <= MOST_NS / 2


@pytest.mark.slow
@pytest.mark.parametrize("row", CODES.rows, ids=lambda row: row.words)
def test_a_code_is_reported_as_its_row_says_while_it_lasts(rig, row):
    driver = rig.opened(silent_s=60)
    rig.device.inject_fault("status", {"value": row.value})
    found = rig.streams.readings(driver, 1.5)[1:]
    assert all(math.isfinite(reading.value[0]) == (row.value in VALID) for reading in found)
    said = [(report.safe, report.words) for report in driver.health().reports]
    assert said == ([] if row.reaction is Reaction.IGNORED else [(False, f"{row.words} (code {row.value}), {PORT}")])
    rig.device.inject_fault("status", {"value": 0})
    rig.streams.readings(driver, 1.0)
    driver.health()
    rig.streams.readings(driver, 0.5)
    assert driver.health().reports == ()


def test_a_code_that_nobody_knows_leads_to_safe(rig):
    driver = rig.opened(silent_s=60)
    rig.device.inject_fault("status", {"value": 4711})
    rig.streams.readings(driver, 1.0)
    assert [report.safe for report in driver.health().reports] == [True]


@pytest.mark.parametrize("kind", ["intermittent", "truncated", "noise", "delayed"])
def test_an_answer_that_is_lost_or_damaged_is_asked_for_again(rig, kind):
    driver = rig.opened(answer_timeout_ms=150)
    rig.streams.readings(driver, 1.0)
    rig.streams.inject_fault(kind, count=8, every=13, ms=200.0)
    found = rig.streams.readings(driver, 10.0)
    assert driver.health().retries > 0
    assert len(found) >= 40
    for reading in found:
        assert reading.value == pytest.approx(numbered(number_of(reading)), abs=1e-5)
        assert abs(reading.t_ns - rig.instrument.at_ns(number_of(reading))) <= MOST_NS / 2


def test_silent_or_unplugged_it_is_lost(rig):
    driver = rig.opened()
    rig.streams.inject_fault("off")
    with pytest.raises(LinkLostError, match=r"no answer within 1000 ms, twice; check cable, power"):
        rig.streams.readings(driver, 5.0)
    rig.streams.inject_fault("disconnect")
    with pytest.raises(LinkLostError, match="is gone"):
        rig.streams.readings(driver, 3.0)
    rig.streams.inject_fault("reconnect")
    driver.open()
    assert len(rig.streams.readings(driver, 2.0)) >= 8


def test_closed_it_measures_no_more(rig):
    driver = rig.opened()
    rig.streams.readings(driver, 0.5)
    driver.close()
    driver.close()
    rig.streams.host.sleep(0.5)
    assert not rig.device._measures
    assert not driver.health().open


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"%R1Q,5003,2:\r\n", b"%R1P,0,2:0,214587\r\n"),
        (b"\n%R1Q,5004:\r\n", b'%R1P,0,0:0,"TCRP1201"\r\n'),
        (b"%R1Q,5034,1:\r\n", b"%R1P,0,1:0,5,62,0\r\n"),
        (b"%R1Q,6021,1:\r\n", b"%R1P,0,1:0,0\r\n"),
        (b"%R1Q,2020,1:5\r\n", b"%R1P,0,1:2\r\n"),
        (b"%R1Q,2008,1:\r\n", b"%R1P,0,1:2\r\n"),
        (b"%R1Q,2082,1:0,1\r\n", b"%R1P,0,1:1285\r\n"),  # it does not measure
        (b"%R1Q,4711,6:\r\n", b"%R1P,3081,6:0\r\n"),
        (b"hello\r\n", b"%R1P,3080,0:0\r\n"),
    ],
)
def test_the_simulated_instrument_answers_as_the_manual_says(rig, request_, answer):
    now_ns = rig.streams.time.now_ns
    assert rig.device.receive(request_, now_ns, now_ns) == b""
    rig.device.wake(now_ns + MOST_NS)
    assert [data for _, data in rig.device.unasked(now_ns)] == [answer]
    with pytest.raises(ValueError, match="no emergency stop"):
        rig.device.press(True)


MOTION = "motion={measures: position, rate_hz: 5, delay_ms: 140, stale_ms: 1000, frozen_readings: 0}"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["motion={measures: pose, rate_hz: 5, stale_ms: 1000}"], "motion.measures"),
        (["motion={measures: position, rate_hz: 20}"], r"motion.rate_hz.*at most 10"),
        ([MOTION, "motion.rate_hz=10", "devices.motion.baud=9600"], "at least 19000, 80% of its line time"),
    ],
)
def test_settings_that_a_total_station_cannot_have_are_refused_with_what_to_change(settings, said):
    with pytest.raises(ConfigError, match=said):
        load_config("sim_wire", [settings[0], "devices.motion={driver: leica}", *settings[1:]])


def test_a_rig_that_has_one_gets_a_simulated_one_and_its_port(streams):
    config = load_config("sim_wire", [MOTION, "devices.motion={driver: leica, identity: 77}"])
    setup, section = rig_setup(config), config.devices.motion
    instrument = streams.instrument(CHANNELS, 5.0)
    (name,) = ports = LEICA.simulated_ports(section, setup, PlantPorts(None, None, None, {"motion": instrument}))
    assert (name, ports[name].device._identity) == ("total_station", "77")
    assert LEICA.simulated_ports(None, setup, PlantPorts(None, None)) == {}
    values = {}
    LEICA.at_endpoints(values, {"total_station": "/tmp/rig/total_station"})
    assert values == {"port": "/tmp/rig/total_station"}
