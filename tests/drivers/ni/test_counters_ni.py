"""The driver of counters against the simulated chassis, through nidaqmx: distances, angles, and what goes wrong."""

import math

import pytest

from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER
from drivers.interfaces import DeviceError, LinkLostError
from drivers.ni import counters as counters_ni
from drivers.ni.counters import COUNTS, NiCounters
from drivers.ni.section import NiJointsSection, NiMotionSection
from drivers.ni.session import NiSession
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.counters import Counters, Encoder
from drivers.ni.simulated.parts import ServerFault
from drivers.sim.server import ServerSetup
from hil.config import ConfigError, load_config
from hil.config.rig_setup import rig_setup
from tests.drivers.ni.conftest import PATIENCE_S

COUNTER = [f"cDAQ1Mod7/ctr{number}" for number in range(3)]
JOINTS = ("left_bogie", "right_bogie")
M_PER_PULSE = 1e-4


class Quantities:
    """What the encoders measure; a test sets it."""

    def __init__(self, channels, values, host):
        self.channels, self.rate_hz, self.values, self._host = channels, 100.0, list(values), host

    def since(self, _sequence):
        return [(1, self._host.now_ns(), tuple(self.values))]


@pytest.fixture
def wire(machine):
    return Quantities(("distance_m",), [0.8], machine)


@pytest.fixture
def angles(machine):
    return Quantities(JOINTS, [0.1, -0.2], machine)


@pytest.fixture
def chassis(analog, machine, wire, angles):
    encoders = {COUNTER[0]: Encoder(wire, 0), COUNTER[1]: Encoder(angles, 0), COUNTER[2]: Encoder(angles, 1)}
    return Chassis(
        analog, host=machine, rename=lambda usual: usual._replace(counters=tuple(COUNTER)), counters=Counters(encoders)
    )


@pytest.fixture
def make(server, machine, monkeypatch):
    """Makes a driver of the wire, or of the joints."""
    monkeypatch.setattr(counters_ni, "TIMEOUT_S", PATIENCE_S)
    made = []

    def make(kind="motion", **keys):
        address = f"127.0.0.1:{server.port}"
        if kind == "motion":
            keys = {"counter": COUNTER[0], "m_per_pulse": M_PER_PULSE, "initial_m": 0.8} | keys
            section, channels = NiMotionSection(driver="ni", server=address, **keys), ("distance_m",)
        else:
            encoders = [
                {"joint": joint, "counter": counter, "pulses_per_turn": 2500, "initial_deg": 0.0}
                for joint, counter in zip(JOINTS, COUNTER[1:], strict=True)
            ]
            section = NiJointsSection(driver="ni", server=address, **({"encoders": encoders} | keys))
            channels = JOINTS[::-1]  # in the rig's order, not in that of the section
        driver = NiCounters(section, InstrumentSetup(channels, 100.0, 0), machine)
        driver._session = NiSession("counters", address, lambda: None, COMPUTER)
        made.append(driver)
        return driver

    yield make
    for driver in made:
        driver.close()


def newest(driver):
    """The reading after the next period."""
    while True:
        driver.step()
        if (reading := driver.read(0)) is not None:
            return reading.value


@pytest.mark.parametrize(("decoding", "edges"), [("x1", 1), ("x2", 2), ("x4", 4)])
def test_a_wire_that_is_drawn_out_is_measured_to_half_a_count(make, wire, decoding, edges):
    driver = make(decoding=decoding)
    driver.open()
    for drawn_m in (0.0, 0.01234, 0.3, -0.05):
        wire.values[0] = 0.8 + drawn_m
        assert newest(driver)[0] == pytest.approx(0.8 + drawn_m, abs=0.51 * M_PER_PULSE / edges)
    assert driver.health().detail == f"cDAQ1Mod7 simulated counter no. 05100007; 1 counters, {decoding}"


def test_readings_come_once_a_period_with_the_time_of_their_calls(make, machine):
    driver = make()
    driver.open()
    found = []
    while len(found) < 20:
        driver.step()
        if (reading := driver.read(0)) is not None:
            found.append(reading)
            assert reading.t_ns <= reading.arrived_ns == machine.now_ns()
    assert [reading.sequence for reading in found] == list(range(1, 21))
    assert driver.health().rate_hz == pytest.approx(100.0, rel=0.1)


def test_angles_are_in_the_order_of_the_rig_and_count_from_where_they_were_opened(make, angles):
    driver = make("joints")
    driver.open()
    angles.values[:] = [0.1 + 0.25, -0.2 - 0.125]
    right, left = newest(driver)
    per_count = math.tau / 10_000
    assert (left, right) == (pytest.approx(0.25, abs=per_count), pytest.approx(-0.125, abs=per_count))


@pytest.mark.parametrize("ahead", [2**31 - 5, -(2**31) + 5])
def test_a_counter_that_begins_anew_is_followed(make, wire, chassis, ahead):
    driver = make()
    driver.open()
    per_count = M_PER_PULSE / 4
    for counts in range(0, 5 * (COUNTS // 4) + 1, COUNTS // 4):
        chassis.counters.ahead = counts if ahead > 0 else -counts
        newest(driver)
    assert newest(driver)[0] == pytest.approx(0.8 + math.copysign(5 * (COUNTS // 4), ahead) * per_count, rel=1e-9)
    wire.values[0] = 0.9
    assert newest(driver)[0] - 0.9 == pytest.approx(math.copysign(5 * (COUNTS // 4), ahead) * per_count, rel=1e-6)


def test_crossed_signals_count_the_other_way_and_an_open_cable_stands(make, wire, server):
    driver = make(initial_m=0.0)
    server.inject_fault(ServerFault("cable_crossed"))
    driver.open()
    wire.values[0] = 1.0
    assert newest(driver)[0] == pytest.approx(-0.2, abs=1e-4)
    server.inject_fault(ServerFault("cable_whole"))
    server.inject_fault(ServerFault("cable_open"))
    stands = newest(driver)
    wire.values[0] = 1.3
    assert newest(driver) == stands


def test_a_counter_that_does_not_exist_is_named_with_those_that_do(make):
    with pytest.raises(DeviceError, match=r"no counter 'Dev1/ctr0' \(distance_m\); found: cDAQ1Mod7/ctr0, cDAQ1Mod7/c"):
        make(counter="Dev1/ctr0").open()


def test_after_a_failure_it_is_not_opened_again_because_its_count_is_lost(make, server):
    driver = make()
    driver.open()
    newest(driver)
    server.inject_fault(ServerFault("error"))
    with pytest.raises(LinkLostError, match=r"reading cDAQ1Mod7/ctr0 \(distance_m\): NI -201003"):
        newest(driver)
    with pytest.raises(DeviceError, match="what it has counted is lost; bring the rover to its start place"):
        driver.open()
    with pytest.raises(LinkLostError, match="not open"):
        driver.step()


MOTION = "devices.motion={driver: ni, counter: cDAQ1Mod7/ctr0, m_per_pulse: 1.0e-4}"
ENCODERS = "devices.joints={driver: ni, encoders: [{joint: left_bogie, counter: Dev1/ctr0}]}"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["motion={measures: pose}", MOTION], r"motion.measures.*distance: a draw-wire encoder"),
        (["joints={}", ENCODERS], r"devices.joints.encoders.*right_bogie"),
    ],
)
def test_settings_that_counters_cannot_have_are_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        load_config("sim_motion_wire", [*settings[:1], "imu=null", "devices.imu=null", *settings[1:]])


def test_a_rig_has_the_counters_that_its_config_names(analog, rams, wire):
    from drivers.ni.simulated.server import NiRigPart

    config = load_config("sim_motion_wire", ["motion.measures=distance", MOTION])
    sections = {section.role: section for section in config.devices.sections()}
    setup = ServerSetup(
        analog, rams, 5.0, lambda *_: None, COMPUTER, sections=sections, instruments={"motion": wire},
        rig=rig_setup(config),
    )  # fmt: skip
    assert NiRigPart(setup)._chassis.modules["cDAQ1Mod7"].ci == ("cDAQ1Mod7/ctr0",)
