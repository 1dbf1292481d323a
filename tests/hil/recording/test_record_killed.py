"""The record when its writer was killed."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hil.recording import read_trial

pytestmark = pytest.mark.slow

WRITER = """
import sys
from pathlib import Path
import numpy as np
from drivers.messages import DaqBlock
from hil.messages.layout import Layout, SENSORS
from models.rover.assembly import WHEELS
from hil.recording import RecordWriter
from hil.messages.link_messages import TIMING, event_row
from hil.messages.signals import tick_dtype

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])

record = RecordWriter(Path(sys.argv[1]), meta={"version": "1"}, layout=LAYOUT, rates_hz={"daq": 30000}, before_s=0.5)
row, times = np.zeros(1, tick_dtype(LAYOUT)), np.zeros(1, TIMING)
for i in range(1_000_000):
    row["tick"], row["t_ns"] = i, i * 1_000_000
    t_ns = ((i * 30 + np.arange(30)) * 1e9 / 30000).astype(np.int64)
    record.block(DaqBlock(i, t_ns, np.full((30, 3), float(i)), (False,) * 3))
    times["tick"], times["work_ns"] = i, i
    record.tick(row)
    record.timing(times)
    if i == 600:
        record.event(event_row(0, "impact", i, i * 1_000_000))
    print(i, flush=True)
    if i >= int(sys.argv[2]):
        sys.stdin.read()
"""


@pytest.mark.parametrize("last", [733, 1279, 1999])
def test_killed_writer_loses_at_most_one_flush_interval(tmp_path: Path, last: int):
    command = [sys.executable, "-c", WRITER, str(tmp_path), str(last)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        for line in writer.stdout:
            if int(line) == last:
                break
        writer.send_signal(signal.SIGKILL)
    trial = read_trial(tmp_path)
    assert last - 40 <= trial.tick["tick"][-1] <= last
    np.testing.assert_array_equal(trial.tick["tick"], np.arange(len(trial.tick)))
    np.testing.assert_array_equal(trial.timing["work_ns"], trial.tick["tick"])
    assert trial.events["name"].tolist() == [b"impact"]
    assert trial.meta == {"version": "1"}
    assert trial.daq_t_ns[0] == 100_000_000
    assert trial.daq_t_ns[-1] >= (last - 41) * 1_000_000
    np.testing.assert_array_equal(trial.raw[:, 0], trial.daq_t_ns // 1_000_000)


def test_writer_killed_at_any_moment_leaves_whole_rows(tmp_path: Path):
    command = [
        sys.executable,
        "-c",
        WRITER.replace("print(i, flush=True)", "i == 2000 and print(i, flush=True)"),
        str(tmp_path),
        "1000000",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)  # at any point of its work
    trial = read_trial(tmp_path)
    assert len(trial.tick) >= 1960
    np.testing.assert_array_equal(trial.tick["tick"], np.arange(len(trial.tick)))
    np.testing.assert_array_equal(trial.raw[:, 0], trial.daq_t_ns // 1_000_000)
