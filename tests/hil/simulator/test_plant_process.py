"""The plant of the simulated rig at the protocol level, with a clock controlled by the test."""

from types import SimpleNamespace

import numpy as np
import pytest

from drivers.modbus.protocol import Function
from drivers.modbus.section import PressureRegisters
from drivers.modbus.simulated.relay_board import RelayBoard
from drivers.modbus.valve_requests import ChamberRegisters
from hil.config import Config, load_config
from hil.simulator.memory import RESET, CylindersInMemory, InstrumentInMemory, SimulatorMemory, WheelsInMemory
from hil.simulator.plant_process import RealtimePlant
from hil.simulator.sampled_memory import REMEMBERED, AnalogInMemory

START_NS = 50_000_000_000
MS = 1_000_000


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''", "trial.start_distance_m=0.1"])


@pytest.fixture
def rig(tmp_path, config):
    memory = SimulatorMemory(tmp_path, config)
    return memory, RealtimePlant(memory, START_NS)


def run(rig, from_ms, to_ms):
    for ms in range(from_ms, to_ms):
        rig.round(START_NS + (ms + 1) * MS)


def test_wheels_obey_one_by_one(rig):
    memory, plant = rig
    wheels = WheelsInMemory(SimulatorMemory(memory.folder))
    for wheel in range(5):
        wheels.hold(wheel, 0.4)
    run(plant, 0, 1000)
    speeds = [wheels.speed_radps(wheel) for wheel in range(6)]
    assert speeds[:5] == pytest.approx([0.4] * 5, abs=0.05)
    angles = [wheels.angle_rad(wheel) for wheel in range(6)]
    assert angles[0] == pytest.approx(0.4, abs=0.1)
    wheels.cut(0)
    run(plant, 1000, 1100)
    assert abs(wheels.speed_radps(0)) < abs(speeds[0])


def test_valves_obey_and_pressures_are_told(rig):
    memory, plant = rig
    cylinders = CylindersInMemory(SimulatorMemory(memory.folder))
    cylinders.power(2, True)
    run(plant, 0, 300)
    pressures = [cylinders.pressure_Pa(valve) for valve in range(4)]
    assert pressures[2] > 1e5
    assert pressures[0] == pressures[1] == pressures[3] == 0.0


def test_devices_at_the_protocol_level_read_the_noise_of_the_config(tmp_path):
    """The relay board's registers, and the speeds that the drives' encoders give."""
    noise = ("plant.noise.pressure_kPa=0.8", "plant.noise.speed_radps=0.004")
    memory = SimulatorMemory(tmp_path, load_config("sim_normal_force_wire", [*noise, "telemetry.endpoint=''"]))
    plant, wheels = RealtimePlant(memory, START_NS), WheelsInMemory(memory)
    places = {name: place for place, name in enumerate("abcdef")}
    chambers = ChamberRegisters(PressureRegisters.model_validate({**places, "kPa_per_count": 0.1}), tuple(places))
    board = RelayBoard(CylindersInMemory(memory), tuple(range(6)), pressures=chambers)
    pressures, speeds = [], []
    for ms in range(150):
        plant.round(START_NS + (ms + 1) * MS)
        answer = board.served[Function.READ_INPUT](bytes((0, 0, 0, 6)), 0)
        pressures.append(np.frombuffer(answer[1:], ">i2") * 100.0)
        speeds.append([wheels.speed_radps(wheel) for wheel in range(6)])
    assert (plant.plant.pressure == 0.0).all()
    assert np.std(pressures) == pytest.approx(800.0, rel=0.1)
    assert (np.array(speeds) - plant.plant.wheel_speed).std() == pytest.approx(0.004, rel=0.1)


def test_valves_of_one_way_and_regulators_obey_in_the_order_of_the_rig(tmp_path, config):
    cylinders = {"joints": ("left_bogie", "right_bogie", "rear_bogie"), "ways": "retract", "regulators": "each"}
    config = config.model_copy(update={"cylinders": config.cylinders.model_copy(update=cylinders)})
    memory = SimulatorMemory(tmp_path, Config.model_validate(config.model_dump()))
    plant, devices = RealtimePlant(memory, START_NS), CylindersInMemory(memory)
    assert (devices.valves, devices.regulators) == (3, 3)
    for regulator, pressure_Pa in enumerate((5e4, 1e5, 1.5e5)):
        devices.regulate(regulator, pressure_Pa)
    devices.power(0, True)
    devices.power(2, True)
    run(plant, 0, 500)
    assert [devices.pressure_Pa(valve) for valve in range(3)] == pytest.approx([5e4, 0.0, 1.5e5], rel=1e-3)
    assert not plant.plant.pressure[:, 0].any()
    devices.regulate(2, 0.0)
    run(plant, 500, 1000)
    assert devices.pressure_Pa(2) == pytest.approx(0.0, abs=100.0)


def test_a_plant_that_stood_still_for_two_seconds_goes_on_where_it_would_be_with_every_sample_handed_out(rig):
    memory, plant = rig
    WheelsInMemory(SimulatorMemory(memory.folder)).hold(0, 0.4)
    run(plant, 0, 100)
    run(plant, 2099, 2100)
    assert plant.plant.t_ns == 2100 * MS
    assert AnalogInMemory(SimulatorMemory(memory.folder).sampled["daq"]).taken() == pytest.approx(2100 * 30, abs=1)


def test_samples_are_numbered_and_timed_without_a_gap(rig):
    memory, plant = rig
    run(plant, 0, 50)
    analog = AnalogInMemory(SimulatorMemory(memory.folder).sampled["daq"])
    assert analog.taken() == pytest.approx(50 * 30, abs=1)
    volts = np.empty((100, 3))
    analog.copy(0, volts)
    direct = np.empty((100, 3))
    plant.plant.copy_samples(0, direct)
    np.testing.assert_array_equal(volts, direct)
    assert analog.at_ns(30_000) == START_NS + 1_000 * MS


def test_samples_that_nobody_took_in_time_are_gone(rig):
    memory, plant = rig
    analog = AnalogInMemory(memory.sampled["daq"])
    plant._given = 2 * REMEMBERED
    memory.sampled["daq"].taken.write(np.array([(2 * REMEMBERED, 0, 0)], memory.sampled["daq"].taken.dtype))
    with pytest.raises(OverflowError, match="sample 5 is gone"):
        analog.copy(5, np.empty((10, 3)))


def test_a_rover_put_back_stands_at_its_start_and_sampling_goes_on(rig, monkeypatch):
    memory, plant = rig
    wheels = WheelsInMemory(memory)
    for wheel in range(6):
        wheels.hold(wheel, 0.4)
    run(plant, 0, 800)
    way_m = plant.plant._state.q[0]
    assert way_m > 0.02
    analog = AnalogInMemory(memory.sampled["daq"])
    monkeypatch.setattr("hil.simulator.plant_process.COMPUTER.now_ns", lambda: START_NS + 1000 * MS)
    memory.reset.write(np.array([(45.0, 7)], RESET))
    plant.round(START_NS + 801 * MS)
    run(plant, 1001, 1011)
    assert plant.plant._state.q[0] < way_m / 4
    assert plant.plant.parameters.obstacle.angle == pytest.approx(np.pi / 4)
    assert analog.taken() == pytest.approx(1011 * 30, abs=2)
    gap = np.empty((100, 3))
    analog.copy(990 * 30, gap)
    assert not gap.any()
    assert plant.truth_publisher._start_ns == pytest.approx(START_NS + 1000 * MS, abs=MS)


def test_devices_read_the_instruments_of_the_plant_and_their_numbers_go_on_after_it_was_put_back(tmp_path):
    config = load_config("sim_impact", ["motion={measures: distance, rate_hz: 100}", "trial.start_distance_m=0.1"])
    memory, clock = SimulatorMemory(tmp_path, config), SimpleNamespace(now_ns=lambda: START_NS + 51 * MS)
    plant = RealtimePlant(memory, START_NS, clock)
    device = InstrumentInMemory(SimulatorMemory(tmp_path), "motion")
    assert (device.channels, device.rate_hz) == (("distance_m",), 100.0)
    assert not device.since(0)
    run(plant, 0, 50)
    readings = device.since(0)
    assert [(number, t_ns - START_NS) for number, t_ns, _ in readings] == [(n, 10 * n * MS) for n in range(1, 6)]
    assert [one[0] for one in device.since(4)] == [5]
    memory.reset.write(np.array([(60.0, 3)], RESET))
    run(plant, 50, 92)
    assert [one[0] for one in device.since(5)] == [6, 7, 8, 9]
    assert device.since(8)[0][1] >= START_NS + 91 * MS
