"""The recorder reads rows from the rings, and releases their space only when they are in the file."""

import numpy as np
import pytest

from drivers.messages import DaqBlock
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.messages.layout import ROLES
from hil.messages.link_messages import IMPACT, TIMING, event_row
from hil.messages.signals import tick_dtype
from hil.operator.telemetry import open_publisher
from hil.recording import open_writer, read_trial, recorder
from hil.recording.recorder import RingConsumer
from hil.recording.sinks import FileAndTelemetrySink
from hil.simulator import daq_process, serial_process, simulated_rig

TICK = tick_dtype(load_config("sim_impact").layout)

BURST = ("record.sensors=burst", "record.before_s=0.1", "record.after_s=0.2", "trial.settle_s=0.5")


class Run:
    """A loop and a simulated rig that append, and a recorder that drains."""

    def __init__(self, folder, *settings):
        config = load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''", *settings])
        self.folder, self.shared = folder, RunMemory(folder, config, {"version": "1"})
        self.recorder = open_writer(folder, config, self.shared.meta)
        self.file_sink = FileAndTelemetrySink(
            self.recorder, open_publisher(config.telemetry, config.loop.rate_hz, config.layout, print)
        )
        self.consumer = RingConsumer(self.shared, self.file_sink)
        self.number = 0

    def live(self, ticks):
        """Append this number of ticks of 1 ms, and a block in every second one."""
        row, times = np.zeros(1, TICK), np.zeros(1, TIMING)
        block = np.zeros(1, self.shared.blocks.dtype)
        n = self.shared.config.daq.block_samples
        for _ in range(ticks):
            self.number += 1
            row["tick"] = times["tick"] = self.number
            row["t_ns"] = self.number * 1_000_000
            assert self.shared.ticks.append(row)
            assert self.shared.timings.append(times)
            if self.number % 2 == 0:
                first = (self.number // 2 - 1) * n
                block["sequence"] = self.number // 2
                block["t_ns"] = (np.arange(first, first + n) * 1_000_000_000) // 30_000
                block["volts"] = np.arange(first, first + n)[:, None]
                assert self.shared.blocks.append(block)

    def report(self, name, id=0):
        self.shared.events.append(event_row(id, name, self.number, self.number * 1_000_000))

    def depths(self):
        rings = (self.shared.ticks, self.shared.timings, self.shared.blocks, self.shared.events)
        return [ring.reader("recorder").depth for ring in rings]


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


@pytest.fixture
def burst(tmp_path):
    return Run(tmp_path, *BURST)


def test_what_was_drained_is_in_the_file_and_nowhere_else(run):
    run.live(100)
    run.report("hello")
    assert run.consumer.run() == 100 + 100 + 50 + 1
    assert run.depths() == [0, 0, 0, 0]
    record = read_trial(run.folder, trusted=True)  # with the recorder still at work
    assert record.tick["tick"].tolist() == list(range(1, 101))
    assert record.timing["tick"].tolist() == list(range(1, 101))
    assert record.blocks["sequence"].tolist() == list(range(1, 51))
    assert record.raw[:, 0].tolist() == list(range(50 * 60))
    assert record.events["name"].tolist() == [b"hello"]
    assert run.consumer.run() == 0
    run.live(10)  # less than the interval of the recorder
    run.consumer.run()
    assert run.depths() == [0, 0, 0, 0]
    assert read_trial(run.folder, trusted=True).tick["tick"][-1] == 110
    run.recorder.close()


@pytest.mark.parametrize("what", ["event", "blocks", "tick", "timing", "flush"])
def test_nothing_is_given_back_before_it_is_in_the_file_and_nothing_is_lost(run, monkeypatch, what):
    """The disk fails once, at any point; earlier rows are kept, and the next round writes the rest."""
    run.live(10)
    run.report("one")
    run.report("two")
    place = run.recorder if what == "flush" else run.file_sink.recorder
    work, failed = getattr(place, what), []

    def once(*row):
        if not failed:
            failed.append(True)
            if what != "flush":
                work(*row)
            raise OSError(28, "No space left on device")
        return work(*row)

    monkeypatch.setattr(place, what, once)
    with pytest.raises(OSError, match="No space"):
        run.consumer.run()
    assert run.depths() == [10, 10, 5, 2]
    run.live(10)
    run.consumer.run()
    assert run.depths() == [0, 0, 0, 0]
    run.recorder.close()
    record = read_trial(run.folder, trusted=True)
    assert record.tick["tick"].tolist() == record.timing["tick"].tolist() == list(range(1, 21))
    assert record.blocks["sequence"].tolist() == list(range(1, 11))
    assert record.events["name"].tolist() == [b"one", b"two"]


def test_samples_that_a_burst_may_need_stay_in_the_ring(burst):
    held = burst.shared.blocks_held
    assert held == round(350 / 2)  # 100 ms before the impact and 250 ms until it is reported
    burst.live(1000)
    burst.consumer.run()
    assert burst.depths() == [0, 0, held, 0]
    assert len(read_trial(burst.folder, trusted=True).raw) == 0


def test_the_burst_of_an_impact_is_whole(burst):
    burst.live(600)
    burst.consumer.run()
    burst.report(IMPACT)
    for _ in range(40):
        burst.live(10)
        burst.consumer.run()
    burst.recorder.close()
    t_ns = read_trial(burst.folder, trusted=True).daq_t_ns
    grid = np.arange(30_000) * 1_000_000_000 // 30_000
    assert t_ns.tolist() == grid[(grid >= 500_000_000) & (grid <= 800_000_000)].tolist()


def test_blocks_recorded_together_are_those_recorded_one_by_one(run, tmp_path):
    run.live(40)
    rows = run.shared.blocks.reader("test").read(100)
    (tmp_path / "single").mkdir()
    with open_writer(tmp_path / "single", run.shared.config, run.shared.meta) as single:
        for row in rows:
            numbers = (row[name].tolist() for name in ("sequence", "overload", "arrived_ns"))
            sequence, overload, arrived_ns = numbers
            single.block(DaqBlock(sequence, row["t_ns"], row["volts"], tuple(overload), arrived_ns))
    run.consumer.run()
    run.recorder.close()
    together, single = read_trial(run.folder, trusted=True), read_trial(tmp_path / "single", trusted=True)
    assert len(together.blocks) == 20
    assert together.blocks.tobytes() == single.blocks.tobytes()
    assert together.raw.tobytes() == single.raw.tobytes()
    assert together.daq_t_ns.tobytes() == single.daq_t_ns.tobytes()


def test_the_recorder_comes_after_all_devices_and_before_ordinary_programs():
    devices = (*(role.below_loop for role in ROLES.values()), simulated_rig.BELOW_LOOP, serial_process.BELOW_LOOP)
    assert max(*devices, daq_process.BELOW_LOOP) < recorder.BELOW_LOOP < load_config("sim_wire").realtime.fifo_priority
