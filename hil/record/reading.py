"""Reads `trial.h5` back, whole or from a writer that was killed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

FILE_NAME = "trial.h5"


@dataclass(frozen=True, slots=True, eq=False)
class TrialRecord:
    """What `trial.h5` holds."""

    tick: NDArray[np.void]  # rows of TICK, shape (ticks,)
    events: NDArray[np.void]  # rows of EVENT, shape (events,)
    timing: NDArray[np.void]  # rows of TIMING, shape (ticks,)
    blocks: NDArray[np.void]  # rows of BLOCK, shape (blocks,)
    raw: NDArray[np.float64]  # sensor readings [V], shape (samples, channels)
    daq_t_ns: NDArray[np.int64]  # their times [ns], shape (samples,)
    meta: dict[str, str | float | int]


def read_trial(path: Path) -> TrialRecord:
    """Reads a record, also one whose writer was killed or is still writing.

    A row whose place, but not whose content had reached the disk when the writer was killed is left out.

    Args:
        path: The file, or the run folder it is in.

    Raises:
        OSError: There is none, or it is no HDF5 file.
        KeyError: It is not a record of ours.
    """
    place = file_of(path)
    try:
        file = h5py.File(place, "r", libver="latest", swmr=True)
    except OSError:  # a plain copy in an older format: it knows no SWMR and needs none
        file = h5py.File(place, "r")
    with file:
        tick, timing, events = file["tick"][()], file["timing"][()], file["events"][()]
        blocks, raw, daq_t_ns = file["daq/blocks"][()], file["daq/raw"][()], file["daq/t_ns"][()]
        meta = {key: _plain(dataset[()]) for key, dataset in file["meta"].items()}
    samples = min(_whole(daq_t_ns), len(raw))
    return TrialRecord(
        tick=tick[: _whole(tick["tick"])],
        events=events[events["name"] != b""],
        timing=timing[: _whole(timing["tick"])],
        blocks=blocks[: _whole(blocks["sequence"])],
        raw=raw[:samples],
        daq_t_ns=daq_t_ns[:samples],
        meta=meta,
    )


def file_of(path: Path) -> Path:
    """The record of a run folder, or the file itself."""
    return path / FILE_NAME if path.is_dir() else path


def _plain(value: Any) -> str | float | int:
    plain: str | float | int = value.decode() if isinstance(value, bytes) else value.item()
    return plain


def _whole(rising: NDArray[np.int64]) -> int:
    """Returns how many rows are there: rows at the end that were given a place but no content read as 0."""
    rises = np.flatnonzero(np.diff(rising) > 0)
    return int(rises[-1]) + 2 if rises.size else min(1, rising.size)
