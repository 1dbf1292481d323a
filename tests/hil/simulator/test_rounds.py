"""When the plant of a simulated rig moves, and what becomes of commands between two of its rounds."""

import os

import numpy as np
import pytest

from hil.config import load_config
from hil.ipc.shm import ShmError
from hil.simulator import sampled_memory
from hil.simulator.memory import CylindersInMemory, SimulatorMemory, WheelsInMemory
from hil.simulator.plant_process import RealtimePlant
from hil.simulator.sampled_memory import (
    LONGEST_NS,
    REMEMBERED,
    SHORTEST_NS,
    AnalogInMemory,
    PlantRounds,
    SampledMemory,
    SamplePublisher,
)

START_NS = 50_000_000_000
MS = 1_000_000
HOUR_NS = 3600 * 10**9


class Sampling:
    """Samples at a rate, their reader, and the rounds that follow it."""

    def __init__(self, folder, rate_hz):
        self.memory = SampledMemory(folder, "", 3, create=True)
        SamplePublisher(self.memory, rate_hz, START_NS)
        self.reader = AnalogInMemory(self.memory)
        self.rounds = PlantRounds(self.memory, rate_hz, START_NS)

    def times_ns(self, count):
        """Of the next rounds, each in time."""
        return [self.rounds.next_ns(self.rounds.due_ns) for _ in range(count)]


@pytest.fixture
def sampling(tmp_path):
    made = []

    def make(rate_hz=30_000):
        made.append(Sampling(tmp_path, rate_hz))
        return made[-1]

    yield make
    for one in made:
        one.memory.close()


def test_while_nobody_reads_a_round_is_due_every_ms(sampling):
    assert np.diff(sampling().times_ns(5)).tolist() == [MS] * 4


@pytest.mark.parametrize("first", [0, 17, 100_001])
def test_rounds_end_where_the_blocks_that_are_read_end(sampling, first):
    one = sampling()
    one.times_ns(2)
    one.reader.read_in_blocks(first, 90)
    ends_ns = [one.reader.at_ns(first + 90 * block) for block in range(-2000, 2000)]
    found = one.times_ns(20)
    assert set(found) <= set(ends_ns)
    assert np.diff(found).tolist() == pytest.approx([3 * MS] * 19, abs=1)


def test_the_rhythm_is_published_once_while_blocks_follow_one_another(sampling):
    one = sampling()
    row = np.zeros(1, one.memory.blocks.dtype)
    for block in range(10):
        one.reader.read_in_blocks(5 + 90 * block, 90)
    assert one.memory.blocks.read(row) == 1
    one.reader.read_in_blocks(6, 90)
    assert one.memory.blocks.read(row) == 2


def test_rounds_stay_at_the_ends_of_blocks_for_hours(sampling):
    """154 samples at 51.2 kHz are not a whole number of ns."""
    one = sampling(51_200)
    one.reader.read_in_blocks(3, 154)
    one.times_ns(1)
    due_ns = one.rounds.next_ns(START_NS + 5 * HOUR_NS)
    blocks = round((due_ns - one.reader.at_ns(3)) * 51_200 / 154e9)
    assert abs(due_ns - one.reader.at_ns(3 + 154 * blocks)) <= 1


@pytest.mark.parametrize(
    ("samples", "period_ms"), [(15, 1.0), (30, 1.0), (60, 2.0), (120, 4.0), (150, 2.5), (300, 10 / 3)]
)
def test_long_blocks_are_divided_and_short_ones_made_together(sampling, samples, period_ms):
    one = sampling()
    one.reader.read_in_blocks(0, samples)
    one.times_ns(1)
    gaps_ns = np.diff(one.times_ns(30))
    assert gaps_ns == pytest.approx(period_ms * MS, abs=1)
    assert SHORTEST_NS <= period_ms * MS <= LONGEST_NS


def test_a_late_round_is_due_at_once_and_the_periods_that_are_over_are_skipped(sampling):
    one = sampling()
    one.reader.read_in_blocks(0, 90)
    (before_ns,) = one.times_ns(1)
    assert one.rounds.next_ns(before_ns + 3 * MS + 1) == before_ns + 3 * MS  # late, none skipped
    assert (one.rounds.late, one.rounds.skipped) == (1, 0)
    assert one.rounds.next_ns(before_ns + 14 * MS) == before_ns + 12 * MS
    assert (one.rounds.ticks, one.rounds.late, one.rounds.skipped) == (3, 2, 2)
    assert one.rounds.following_ns == before_ns + 15 * MS


def test_samples_are_due_with_the_round_that_makes_them(sampling):
    one = sampling()
    one.reader.read_in_blocks(0, 90)
    taken = np.array([(30, START_NS + MS, START_NS + 3 * MS)], one.memory.taken.dtype)
    one.memory.taken.write(taken)
    assert one.reader.due_ns(60) == START_NS + 3 * MS  # with the next round
    assert one.reader.due_ns(90) == START_NS + 3 * MS
    assert one.reader.due_ns(120) == START_NS + 5 * MS  # with the one after it


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''", "plant.noise.speed_radps=0"])


class Clock:
    """A host that is at a time."""

    def __init__(self):
        self.t_ns = START_NS

    def now_ns(self):
        return self.t_ns


def moved(folder, config, period_ms):
    """The plant's state after 60 ms, with commands at 21 and 40 ms, in rounds of a period."""
    folder.mkdir()
    clock, memory = Clock(), SimulatorMemory(folder, config)
    plant = RealtimePlant(memory, START_NS, clock)
    wheels, cylinders = WheelsInMemory(memory, clock), CylindersInMemory(memory, clock)
    happens = {
        21: lambda: [wheels.hold(wheel, 0.4) for wheel in range(6)],
        40: lambda: [wheels.cut(0), cylinders.power(1, True)],
    }
    for ms in range(1, 61):
        clock.t_ns = START_NS + ms * MS
        happens.get(ms, lambda: None)()
        if ms % period_ms == 0:
            plant.round(clock.t_ns)
    state = [plant.plant._state.q.copy(), plant.plant._state.v.copy(), plant.plant.pressure]
    memory.close()
    return state


def test_a_command_acts_at_its_time_wherever_that_lies_in_a_round(tmp_path, config):
    fine, coarse = (moved(tmp_path / str(ms), config, ms) for ms in (1, 4))
    for one, other in zip(fine, coarse, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_samples_of_a_simulated_rig_have_their_space_on_the_disk_from_the_start(tmp_path, monkeypatch):
    """Otherwise a disk that is full later is a SIGBUS of the plant."""
    SampledMemory(tmp_path, "", 3, create=True)
    files = {path.name: path.stat() for path in tmp_path.iterdir()}
    assert files["volts"].st_size == 8 * 3 * REMEMBERED
    assert all(file.st_blocks * 512 >= file.st_size for file in files.values())


def test_a_disk_without_that_space_is_refused_and_named(tmp_path, monkeypatch):
    def fallocate(handle, offset, size):
        if size >= 8 * 3 * REMEMBERED:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    monkeypatch.setattr(sampled_memory, "Mailbox", lambda *_, **__: None)
    with pytest.raises(ShmError, match=f"{tmp_path}/volts: no disk space for 3145728 bytes: No space left"):
        SampledMemory(tmp_path, "", 3, create=True)
    assert list(tmp_path.iterdir()) == []
