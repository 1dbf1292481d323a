"""The simulated devices fulfil the drivers' interfaces at any tick rate."""

from __future__ import annotations

import copy
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.interfaces import DeviceError, Health
from drivers.messages import DaqBlock, DriveCommand, ValveCommand
from drivers.sim.in_process_rig import InProcessRig
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.simulator.simulated_rig import build_simulated_rig
from models.plant import Plant, RigParameters

VALVES_OFF = ((False, False), (False, False))

RATE = 30_000
MS = 1_000_000
SPEEDS = (0.4,) * 6
EXTEND = ((True, False), (True, False))


class Built(RigParameters):
    """Parameters that settle their rover once and return copies."""

    def build(self):
        if "settled" not in self.__dict__:
            object.__setattr__(self, "settled", super().build())
        rover, vehicle, motion = self.settled
        return rover, vehicle, copy.deepcopy(motion)


PARAMETERS = Built(**nominal_rig(load_config("sim_impact")).__dict__)


def simulated_rig(*, block_samples: int = 60, opened: bool = True, **delays_ns: int) -> InProcessRig:
    rig = InProcessRig(Plant(PARAMETERS, np.random.default_rng(7)), block_samples=block_samples, **delays_ns)
    if opened:
        for device in (rig.devices["daq"], rig.drives, rig.devices["valves"]):
            device.open()
    return rig


def read_all(rig: InProcessRig, t_ns: int) -> list[DaqBlock]:
    blocks = []
    while (block := rig.devices["daq"].read(t_ns)) is not None:
        blocks.append(block)
    return blocks


def last_ns(block_number: int, block_samples: int) -> int:
    """When the newest sample of that block was taken."""
    return ((block_number + 1) * block_samples - 1) * 1_000_000_000 // RATE


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    st.one_of(st.integers(100, 4000), st.sampled_from([100, 1000, 4000])),
    st.integers(1, 300),
    st.sampled_from([0, 1, 333_333, 2 * MS, 20 * MS]),
)
def test_every_sample_arrives_once_in_order_in_whole_blocks_and_as_soon_as_it_may(rate_hz, block_samples, delay_ns):
    rig, blocks = simulated_rig(block_samples=block_samples, daq_delay_ns=delay_ns), []
    for tick in range(1, rate_hz // 10 + 1):
        t_ns = tick * 1_000_000_000 // rate_hz
        rig.advance(t_ns)
        blocks += read_all(rig, t_ns)
        if blocks:
            assert last_ns(len(blocks) - 1, block_samples) + delay_ns <= t_ns
        assert last_ns(len(blocks), block_samples) + delay_ns > t_ns  # the next one is not due yet
    assert [block.sequence for block in blocks] == list(range(1, len(blocks) + 1))
    assert all(len(block.t_ns) == len(block.values) == block_samples for block in blocks)
    count = len(blocks) * block_samples
    taken, stamps = np.empty((count, 3)), np.arange(count, dtype=np.int64) * 1_000_000_000 // RATE
    rig.plant.copy_samples(0, taken)
    np.testing.assert_array_equal(np.concatenate([np.empty(0, np.int64), *(b.t_ns for b in blocks)]), stamps)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 3)), *(b.values for b in blocks)]), taken)


def test_a_block_is_not_readable_a_nanosecond_before_its_delay_is_over():
    rig = simulated_rig(block_samples=60, daq_delay_ns=5 * MS)
    rig.advance(20 * MS)
    due = last_ns(0, 60) + 5 * MS
    assert rig.devices["daq"].read(due - 1) is None
    assert rig.devices["daq"].read(due) is not None


def test_a_block_is_not_readable_before_its_last_sample_is_taken():
    rig = simulated_rig(block_samples=60)
    rig.advance(MS)
    assert rig.devices["daq"].read(100 * MS) is None  # a read at a future time returns no empty samples


def test_blocks_that_were_not_read_for_a_while_are_not_lost():
    rig = simulated_rig()
    rig.advance(200 * MS)
    rig.advance(400 * MS)
    assert len(read_all(rig, 400 * MS)) == 200


def test_samples_that_were_overwritten_unread_are_an_error_and_not_garbage():
    rig = simulated_rig()
    for quarter in range(1, 4):
        rig.advance(quarter * 250 * MS)
    with pytest.raises(DeviceError, match=r"simulated DAQ: samples lost.*read more often"):
        rig.devices["daq"].read(750 * MS)


def test_a_sample_is_frozen_and_stays_what_it_was():
    rig = simulated_rig()
    rig.advance(10 * MS)
    block, drives, valves = (
        rig.devices["daq"].read(10 * MS),
        rig.drives.read(10 * MS),
        rig.devices["valves"].read(10 * MS),
    )
    before = msgspec.to_builtins((block.sequence, block.t_ns.tolist(), block.values.tolist(), drives, valves))
    rig.drives.write(DriveCommand(10 * MS, False, SPEEDS))
    for ms in range(20, 1000, 100):  # the sample ring wraps around
        rig.advance(ms * MS)
        read_all(rig, ms * MS)
    assert msgspec.to_builtins((block.sequence, block.t_ns.tolist(), block.values.tolist(), drives, valves)) == before
    for sample, field in ((block, "sequence"), (drives, "speed_radps"), (valves, "t_ns")):
        with pytest.raises(AttributeError):
            setattr(sample, field, 0)


def test_drives_and_valves_give_one_sample_for_each_time_of_the_rig():
    rig = simulated_rig()
    for tick in range(1, 4):
        rig.advance(tick * MS)
        for device in (rig.drives, rig.devices["valves"]):
            sample = device.read(tick * MS)
            assert (sample.sequence, sample.t_ns) == (tick, tick * MS)
            assert device.read(tick * MS) is None


def test_encoders_and_pressures_are_those_of_the_rig():
    rig = simulated_rig()
    rig.drives.write(DriveCommand(0, False, SPEEDS))
    rig.devices["valves"].write(ValveCommand(0, EXTEND))
    rig.advance(100 * MS)
    assert rig.drives.read(100 * MS).speed_radps == tuple(rig.plant.wheel_speed)
    assert min(rig.plant.wheel_speed) > 0.1
    (port_extend, port_retract), starboard = rig.devices["valves"].read(100 * MS).pressure_Pa
    assert port_extend > 1e5
    assert port_retract == pytest.approx(0.0, abs=1.0)
    assert starboard == (port_extend, port_retract)


@pytest.mark.parametrize("delay_ns", [0, 1, 700_000, MS, 2_500_000, 7 * MS])
def test_a_drive_command_takes_effect_at_its_own_time_and_not_at_a_tick(delay_ns):
    rig, alone = simulated_rig(drives_delay_ns=delay_ns), Plant(PARAMETERS, np.random.default_rng(7))
    for tick in range(1, 13):
        rig.advance(tick * MS)
        if tick == 3:
            rig.drives.write(DriveCommand(3 * MS, False, SPEEDS))
    due = 3 * MS + delay_ns
    for t_ns in sorted({*range(MS, 13 * MS, MS), due}):
        alone.advance(t_ns)
        if t_ns == due:
            alone.set_drives(SPEEDS, cut=False)
    np.testing.assert_array_equal(rig.plant.wheel_speed, alone.wheel_speed)
    assert max(np.abs(rig.plant.wheel_speed)) > 0.0


def test_commands_under_way_take_effect_in_order():
    rig, alone = simulated_rig(drives_delay_ns=5 * MS), Plant(PARAMETERS, np.random.default_rng(7))
    given = {1: (False, SPEEDS), 2: (False, (0.1,) * 6), 4: (False, (-0.3,) * 6), 40: (True, SPEEDS)}
    for tick in range(1, 100):
        rig.advance(tick * MS)
        alone.advance(tick * MS)
        np.testing.assert_array_equal(rig.plant.wheel_speed, alone.wheel_speed)
        assert rig.plant.t_ns == tick * MS
        if tick in given:
            cut, speeds = given[tick]
            rig.drives.write(DriveCommand(tick * MS, cut, speeds))
        if tick - 5 in given:
            cut, speeds = given[tick - 5]
            alone.set_drives(speeds, cut)
    assert max(np.abs(rig.plant.wheel_speed)) > 0.0


def test_a_regulated_cylinder_fills_to_the_pressure_of_its_regulators_command():
    regulated = replace(nominal_rig(load_config("sim_impact")), regulated=True)
    rig = InProcessRig(Plant(regulated, np.random.default_rng(7)), block_samples=60)
    rig.devices["valves"].open()
    each_way = ((True, False), (False, True))
    rig.devices["valves"].write(ValveCommand(0, each_way))
    rig.advance(200 * MS)
    assert not rig.plant.pressure.any()  # regulators are closed at the start
    filled = 1.0 - np.exp(-250 * MS / 0.05e9)
    rig.devices["valves"].write(ValveCommand(0, each_way, (1e5, 5e4)))
    rig.advance(450 * MS)
    assert rig.devices["valves"].read(450 * MS).pressure_Pa[0] == pytest.approx((1e5 * filled, 0.0))
    assert rig.devices["valves"].read(451 * MS) is None
    assert rig.plant.pressure[1] == pytest.approx((0.0, 5e4 * filled))
    rig.devices["valves"].write(ValveCommand(0, each_way, (2e4,)))  # one for all
    rig.advance(700 * MS)
    rig.advance(950 * MS)
    assert rig.plant.pressure == pytest.approx(np.array([[2e4, 0.0], [0.0, 2e4]]), rel=1e-3)


@pytest.mark.parametrize("device", ["daq", "drives", "valves"])
def test_a_device_that_is_not_open_says_so(device):
    rig = simulated_rig(opened=False)
    link = rig.devices[device]
    command = {"drives": DriveCommand(0, True, SPEEDS), "valves": ValveCommand(0, VALVES_OFF)}.get(device)
    for _ in range(2):  # never opened, then closed again
        with pytest.raises(DeviceError, match=f"{link.name}: not open"):
            link.read(0)
        if command is not None:
            with pytest.raises(DeviceError, match=f"{link.name}: not open"):
                link.write(command)
        link.open()
        rig.advance(rig.plant.t_ns + MS)
        link.read(rig.plant.t_ns)
        link.close()
        link.close()


def test_a_command_to_a_closed_device_does_not_reach_the_rig():
    rig = simulated_rig()
    rig.drives.close()
    with pytest.raises(DeviceError):
        rig.drives.write(DriveCommand(0, False, SPEEDS))
    rig.advance(100 * MS)
    assert max(np.abs(rig.plant.wheel_speed)) < 1e-3


def test_health_tells_the_name_and_whether_the_link_is_up():
    rig = simulated_rig(opened=False)
    names = {"daq": "simulated DAQ", "drives": "simulated drives", "valves": "simulated valves"}
    for device, name in names.items():
        link = rig.devices[device]
        for up in (False, True, False):
            assert link.health() == Health(name, up, 0, "simulated")
            link.close() if up else link.open()


def test_a_channel_near_the_end_of_its_range_is_flagged():
    piezo = PARAMETERS.piezo._replace(bias=np.array([0.0, 4.96, -4.96]))
    fields = {name: getattr(PARAMETERS, name) for name in RigParameters.__dataclass_fields__}
    rig = InProcessRig(Plant(RigParameters(**fields | {"piezo": piezo}), np.random.default_rng(7)), block_samples=60)
    rig.devices["daq"].open()
    rig.advance(10 * MS)
    assert rig.devices["daq"].read(10 * MS).overload == (False, True, True)


def samples_of(seed: int):
    rig = build_simulated_rig(Rig(load_config("sim_impact", seed=seed)))
    for device in (rig.devices["daq"], rig.drives):
        device.open()
    rig.drives.write(DriveCommand(0, False, SPEEDS))
    rig.advance(100 * MS)
    speeds = rig.drives.read(100 * MS).speed_radps
    return np.concatenate([block.values for block in read_all(rig, 100 * MS)]), speeds


def test_the_same_seed_gives_the_same_samples_and_another_seed_others():
    (volts, speeds), (again, again_speeds), (other, other_speeds) = samples_of(3), samples_of(3), samples_of(4)
    np.testing.assert_array_equal(volts, again)
    assert speeds == again_speeds
    assert np.mean(volts == other) < 0.5
    assert speeds != other_speeds
    assert np.mean(volts[1:] == volts[:-1]) < 0.5  # and no sample repeats the last one


def test_drives_and_valves_without_a_command_stop_by_themselves():
    rig = simulated_rig()
    rig.drives.write(DriveCommand(0, False, SPEEDS))
    rig.devices["valves"].write(ValveCommand(0, EXTEND))
    rig.advance(100 * MS)
    assert (rig.active(), rig.drives.off_ns) == (["drives", "valves"], -1)
    for ms in range(110, 500, 10):
        rig.advance(ms * MS)
    assert (rig.active(), rig.drives.off_ns) == (["valves"], 100 * MS)
    rig.advance(510 * MS)
    assert (rig.active(), rig.off_ns()) == ([], 500 * MS)
    assert not rig.plant._state.cylinders.valve.any()
    assert (rig.plant._state.drives.cut == 1.0).all()


def test_a_reading_of_an_instrument_arrives_after_its_delay_and_once():
    given = ["motion={measures: distance, rate_hz: 100, delay_ms: 15}"]
    rig = build_simulated_rig(Rig(load_config("sim_impact", given)))
    motion = rig.devices["motion"]
    with pytest.raises(DeviceError, match="simulated motion: not open"):
        motion.read(0)
    motion.open()
    arrived = {}
    for tick in range(1, 61):
        rig.advance(tick * MS)
        if (reading := motion.read(tick * MS)) is not None:
            arrived[tick] = (reading.sequence, reading.t_ns // MS, reading.arrived_ns // MS)
    assert arrived == {25: (1, 10, 25), 35: (2, 20, 35), 45: (3, 30, 45), 55: (4, 40, 55)}


def test_of_several_readings_that_have_come_the_newest_is_read():
    rig = build_simulated_rig(Rig(load_config("sim_impact", ["imu={rate_hz: 500, delay_ms: 0}"])))
    imu = rig.devices["imu"]
    imu.open()
    for tick in range(1, 21):
        rig.advance(tick * MS)
    assert imu.read(20 * MS).sequence == 10
    assert imu.read(20 * MS) is None
