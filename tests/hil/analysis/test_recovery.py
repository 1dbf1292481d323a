"""`hil recover`: makes a complete file from a killed run, and reports about it."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

import hil as program
from hil.analysis import recovery as module
from hil.analysis.recovery import KILLED, RECOVERED, NothingToRecoverError, holes, recover
from hil.cli import run as hil
from hil.config import load_config
from hil.ipc.run_memory import FOLDER, RunMemory
from hil.ipc.shared_types import START
from hil.messages.link_messages import IMPACT, event_row
from hil.operator.telemetry import open_publisher
from hil.recording import open_writer, read_trial
from hil.recording.recorder import RingConsumer
from hil.recording.sinks import FileAndTelemetrySink

pytestmark = pytest.mark.slow

START_NS = 7_000_000_000
BURST = ("record.sensors=burst", "record.before_s=0.1", "record.after_s=0.2", "trial.settle_s=0.5")
GRID = np.arange(200_000) * 1_000_000_000 // 30_000


class ProcessKill:
    """A run whose processes end without any message."""

    def __init__(self, folder, *settings):
        config = load_config("sim_impact", ["clock=realtime", "telemetry.endpoint=''", *settings])
        self.folder, self.shared, self.number = folder, RunMemory(folder, config, {"version": "1"}), 0
        self.recorder = open_writer(folder, config, self.shared.meta)
        self.consumer = RingConsumer(
            self.shared,
            FileAndTelemetrySink(
                self.recorder, open_publisher(config.telemetry, config.loop.rate_hz, config.layout, print)
            ),
        )
        start = np.zeros(1, START)
        start["start_ns"] = START_NS
        self.shared.start.write(start)

    def live(self, ticks, skipped=0):
        row, times, block = (np.zeros(1, getattr(self.shared, it).dtype) for it in ("ticks", "timings", "blocks"))
        self.number += skipped
        for _ in range(ticks):
            self.number += 1
            row["tick"] = times["tick"] = self.number
            row["t_ns"] = self.number * 1_000_000
            assert self.shared.ticks.append(row)
            assert self.shared.timings.append(times)
            if self.number % 2 == 0:
                first = self.number * 30 - 60
                block["sequence"], block["t_ns"] = self.number // 2, GRID[first : first + 60]
                block["volts"] = np.arange(first, first + 60)[:, None]
                assert self.shared.blocks.append(block)
        self.shared.heartbeat.beat("loop_turn", START_NS + self.number * 1_000_000)

    def report(self, name, id=0, value=0.0):
        self.shared.events.append(event_row(id, name, self.number, self.number * 1_000_000, value))

    def die(self, damage=b""):
        """Leave a file as a killed recorder does: HDF5 has it marked as being written."""
        path = self.folder / "trial.h5"
        left = path.read_bytes()
        self.recorder.close()
        path.write_bytes(damage or left)
        self.shared.leave()

    def recovered(self):
        made = recover(self.folder)
        assert not (self.folder / FOLDER).exists()
        with h5py.File(self.folder / "trial.h5", "r") as file:  # as any program opens it
            assert file["tick"]["tick"].tolist() == read_trial(self.folder).tick["tick"].tolist()
        return made, read_trial(self.folder)


@pytest.fixture
def killed(tmp_path):
    return ProcessKill(tmp_path)


def test_file_and_rings_together_are_whole(killed):
    killed.live(500)
    killed.report("before")
    killed.consumer.run()
    killed.live(100)
    killed.report("after")
    killed.die()
    with pytest.raises(OSError, match="already open"):
        h5py.File(killed.folder / "trial.h5", "r")
    made, record = killed.recovered()
    assert (made.ticks, made.samples, made.events) == ((600, 100), (18_000, 3_000), ("before", "after"))
    assert (made.ticks_missing, made.blocks_missing, made.lost_ms, made.finished) == ((), (), 0.0, False)
    assert record.tick["tick"].tolist() == record.timing["tick"].tolist() == list(range(1, 601))
    assert record.daq_t_ns.tolist() == GRID[:18_000].tolist()
    assert record.raw[:, 2].tolist() == list(range(18_000))
    assert record.blocks["sequence"].tolist() == list(range(1, 301))
    assert record.meta == {"version": "1", RECOVERED: program.__version__}
    assert (killed.folder / KILLED).is_file()


@pytest.mark.parametrize("damage", [b"", b"HDF5 no more"])
def test_a_run_with_two_channels_is_recovered_with_two(tmp_path, damage):
    killed = ProcessKill(tmp_path, "daq={layout: bumper}")
    killed.live(120)
    killed.consumer.run()
    killed.die(damage)
    _, record = killed.recovered()
    assert record.raw.tolist() == [[i, i] for i in range(3_600)]
    assert record.blocks["overload"].shape == (60, 2)


@pytest.mark.parametrize("damage", [b"HDF5 no more", b"\x89HDF\r\n\x1a\n" + bytes(2000)])
def test_a_file_that_cannot_be_read_costs_only_what_the_rings_no_longer_hold(killed, damage):
    capacity = killed.shared.ticks.capacity
    for _ in range(capacity // 100 + 2):
        killed.live(100)
        killed.consumer.run()
    killed.die(damage)
    made, record = killed.recovered()
    last = killed.number
    assert made.ticks == (capacity, capacity)
    assert record.tick["tick"].tolist() == list(range(last - capacity + 1, last + 1))
    assert made.ticks_missing == ((1, last - capacity),)
    first_block = record.blocks["sequence"][0]
    assert made.blocks_missing == ((1, first_block - 1),)
    assert made.blocks_missing[0][1] == last // 2 - killed.shared.blocks.capacity


RECOVER = "import sys, pathlib; from hil.analysis import recovery; "


def test_half_a_header_does_not_hold_up_a_recovery(killed):
    """As a power cut may leave it. HDF5 doubles its wait before each of 100 tries, and nothing interrupts that."""
    killed.live(500)
    killed.consumer.run()
    with h5py.File(killed.folder / "trial.h5", "r", libver="latest", swmr=True) as file:
        at = h5py.h5o.get_info(file["tick"].id).addr
    left = bytearray((killed.folder / "trial.h5").read_bytes())
    at = left.find(b"OHDR", at % len(left))
    left[at + 60] ^= 1
    killed.die(bytes(left))
    code = RECOVER + "print(recovery.recover(pathlib.Path(sys.argv[1])).ticks)"
    command = [sys.executable, "-c", code, str(killed.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "(500, 500)\n"
    record = read_trial(killed.folder)
    assert record.daq_t_ns.tolist() == GRID[:15_000].tolist()


def test_skipped_ticks_and_the_time_without_a_record_are_told(killed):
    killed.live(10)
    killed.live(10, skipped=3)
    killed.shared.heartbeat.beat("loop_turn", START_NS + 23_000_000 + 1_500_000)
    killed.die()
    made, _ = killed.recovered()
    assert made.ticks_missing == ((11, 13),)
    assert made.lost_ms == 1.5


def test_an_event_in_file_and_ring_counts_once_also_without_a_value(killed):
    killed.live(10)
    killed.report("stop_by_operator", id=18, value=float("nan"))
    killed.consumer.run()
    killed.die()
    made, _ = killed.recovered()
    assert made.events == ("stop_by_operator",)


@pytest.mark.parametrize("drained", [0, 500, 600, 700])
def test_the_burst_of_an_impact_is_whole_wherever_the_recorder_was(tmp_path, drained):
    """Impact at 550 ms, reported at 600 ms, killed at 1000 ms; the recorder had read up to `drained`."""
    killed = ProcessKill(tmp_path, *BURST)
    for now in range(0, 1000, 10):
        killed.live(10)
        if now == 590:
            killed.shared.events.append(event_row(0, IMPACT, 600, 550_000_000))
        if now < drained:
            killed.consumer.run()
    killed.die()
    made, record = killed.recovered()
    assert record.daq_t_ns.tolist() == GRID[(GRID >= 450_000_000) & (GRID <= 750_000_000)].tolist()
    assert record.raw[:, 0].tolist() == np.flatnonzero((GRID >= 450_000_000) & (GRID <= 750_000_000)).tolist()
    assert made.events == (IMPACT,)


def test_without_an_impact_the_last_samples_are_kept(tmp_path):
    killed = ProcessKill(tmp_path, *BURST)
    killed.live(1000)
    killed.consumer.run()
    killed.die()
    _, record = killed.recovered()
    last = GRID[29_999]
    assert record.daq_t_ns.tolist() == GRID[(last - 100_000_000 <= GRID) & (last >= GRID)].tolist()


def test_a_file_that_the_recorder_finished_is_kept_as_it_is(killed, capsys):
    killed.live(100)
    killed.consumer.run()
    killed.recorder.close()
    before = (killed.folder / "trial.h5").read_bytes()
    killed.shared.leave()
    assert hil(["recover", str(killed.folder)]) == 0
    assert "is complete: the recorder had finished it" in capsys.readouterr().out
    assert (killed.folder / "trial.h5").read_bytes() == before
    assert [path.name for path in killed.folder.iterdir()] == ["trial.h5"]


@pytest.mark.parametrize("until", ["write_whole", "fsync", "link", "replace", "rmtree"])
def test_a_recovery_that_is_cut_short_can_be_run_again(killed, monkeypatch, until):
    killed.live(500)
    killed.consumer.run()
    killed.live(100)
    killed.die()

    def cut(*_, **__):
        raise KeyboardInterrupt

    owner = {"fsync": module.os, "link": module.os, "replace": module.Path, "rmtree": module.shutil}.get(until, module)
    with monkeypatch.context() as context:
        context.setattr(owner, until, cut)
        with pytest.raises(KeyboardInterrupt):
            recover(killed.folder)
    made, record = killed.recovered()
    assert record.tick["tick"].tolist() == list(range(1, 601))
    assert made.ticks[0] == 600


def test_a_run_that_goes_on_is_left_alone(killed, monkeypatch):
    monkeypatch.setattr("hil.analysis.recovery.DYING_S", 0.0)
    killed.live(10)
    with pytest.raises(NothingToRecoverError, match="is still alive"):
        recover(killed.folder)
    assert (killed.folder / FOLDER / "ticks").is_file()
    killed.recorder.close()


def test_the_command_tells_all_of_it_as_json(killed, capsys):
    killed.live(100)
    killed.die()
    assert hil(["recover", str(killed.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("summary").startswith("none: its config is not one of this version: ")
    assert found == {
        "ticks": [100, 100], "samples": [3000, 3000], "events": [], "ticks_missing": [], "blocks_missing": [],
        "lost_ms": 0.0, "finished": False,
    }  # fmt: skip


def test_nothing_to_recover_is_one_sentence_and_status_2(killed, tmp_path_factory, capsys):
    empty = tmp_path_factory.mktemp("empty")
    half = tmp_path_factory.mktemp("half")
    (half / FOLDER).mkdir()
    killed.die()
    for run, said in ((empty, "it holds no record"), (half, "killed before anything"), (killed.folder, "first tick")):
        assert hil(["recover", str(run)]) == 2
        found = capsys.readouterr()
        assert found.out == ""
        assert found.err.count("\n") == 1
        assert said in found.err


def test_holes_are_named_by_their_ends():
    assert holes(np.array([2, 3, 7])) == ((1, 1), (4, 6))
    assert holes(np.array([1, 2])) == holes(np.array([], int)) == ()


def test_no_piece_of_metadata_lies_across_the_end_of_a_page(killed):
    """A SIGKILL ends a write at the end of a page, and with half a header HDF5 tries to read it for ever."""
    for _ in range(30):
        killed.live(100)
        killed.consumer.run()
    left = (killed.folder / "trial.h5").read_bytes()
    with h5py.File(killed.folder / "trial.h5", "r", libver="latest", swmr=True) as file:
        plist = file.id.get_create_plist()
        assert plist.get_file_space_strategy()[0] == h5py.h5f.FSPACE_STRATEGY_PAGE
        assert plist.get_file_space_page_size() == 4096
        sizes = {name: h5py.h5o.get_info(file[name].id).hdr.space.total for name in ("tick", "timing", "daq/raw")}
    assert max(sizes.values()) <= 4096, sizes
    killed.recorder.close()
    headers = 0
    at = -1
    while (at := left.find(b"OHDR", at + 1)) >= 0:
        flags, size_at = left[at + 5], at + 6 + 16 * (left[at + 5] >> 5 & 1) + 4 * (left[at + 5] >> 4 & 1)
        width = 1 << (flags & 3)
        size = size_at - at + width + int.from_bytes(left[size_at : size_at + width], "little") + 4
        assert at // 4096 == (at + size - 1) // 4096, f"object header of {size} bytes at {at}"
        headers += 1
    assert headers >= 8  # root, groups, datasets


def test_two_recoveries_at_once_do_not_wait_for_each_other(killed):
    killed.live(10)
    killed.die()
    first = RunMemory(killed.folder)
    assert first.alone()
    with pytest.raises(NothingToRecoverError, match="being recovered already"):
        recover(killed.folder)
    first.leave()
