"""`hil recover` of a rig without force sensors: there is no /daq to complete."""

import numpy as np
import pytest

from hil.analysis.recovery import recover
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import START
from hil.operator.telemetry import open_publisher
from hil.recording import open_writer, read_trial
from hil.recording.recorder import RingConsumer
from hil.recording.sinks import FileAndTelemetrySink


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"HDF5 no more"])
def test_file_and_rings_together_are_whole(tmp_path, damage):
    config = load_config("sim_juno", ["clock=realtime", "telemetry.endpoint=''"])
    shared = RunMemory(tmp_path, config, {"version": "1", "layout": config.layout.to_json()})
    recorder = open_writer(tmp_path, config, shared.meta)
    drain = RingConsumer(
        shared,
        FileAndTelemetrySink(recorder, open_publisher(config.telemetry, config.loop.rate_hz, config.layout, print)),
    )
    start = np.zeros(1, START)
    start["start_ns"] = start["wall_start_s"] = 1
    shared.start.write(start)
    row, times = (np.zeros(1, ring.dtype) for ring in (shared.ticks, shared.timings))
    for number in range(1, 151):
        row["tick"] = times["tick"] = number
        row["t_ns"] = number * 1_000_000
        assert shared.ticks.append(row)
        assert shared.timings.append(times)
        if number == 120:
            drain.run()
    left = (tmp_path / "trial.h5").read_bytes()  # as a killed recorder leaves it
    recorder.close()
    (tmp_path / "trial.h5").write_bytes(damage or left)
    shared.leave()

    made, record = recover(tmp_path), read_trial(tmp_path)
    assert (made.ticks[0], made.samples, made.blocks_missing) == (150, (0, 0), ())
    assert record.tick["tick"].tolist() == record.timing["tick"].tolist() == list(range(1, 151))
    assert record.raw.size == record.blocks.size == 0
