"""Recorded runs for the tests, each made once, and copies of them with one change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest

from hil.app import run as app
from hil.config import load_config
from hil.experiments.summary import with_digests, write_summary
from hil.messages.fault import Alarm, Fault
from hil.recording import read_trial
from hil.recording.sample_writer import write_content_digest
from hil.runtime.loop import LockstepClock

QUICK = (
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "record.after_s=0.5",
    "telemetry.endpoint=''",
)
RUN_UP_NS = 400_000_000  # a time in the middle of the run-up


class SkippingClock(LockstepClock):
    """Virtual time that sometimes skips three periods, and at the end more of them if it is to raise an alarm."""

    alarming = False

    def next(self):
        lost = 3 if self._number % 100 == 50 else 0
        if self.alarming and self._number * 1_000_000 == RUN_UP_NS:
            lost = 10
            self.alarm = Alarm(Fault.LOOP_LATE, 10.0, 5.0, "loop: 10 of the last 100 periods skipped")
        self._number += lost
        self.skipped += lost
        return super().next()


def skip(rig: Any, alarming: bool = False) -> None:
    clock = SkippingClock(rig.simulated_rig, 1000)
    clock.alarming = alarming
    rig.loop.clock = clock


def stop(rig: Any) -> None:
    """The operator presses Ctrl-C in the run-up."""
    next_tick = rig.loop.clock.next

    def pressing() -> Any:
        tick = next_tick()
        if tick.t_ns >= RUN_UP_NS:
            rig.loop.stop("operator: SIGINT")
        return tick

    rig.loop.clock.next = pressing


def drop_out(rig: Any) -> None:
    """The sensors stop sending in the run-up."""
    read = rig.simulated_rig.devices["daq"].read
    rig.simulated_rig.devices["daq"].read = lambda t_ns: read(t_ns) if t_ns < RUN_UP_NS else None


def not_finite(rig: Any) -> None:
    """A channel sends NaN from the run-up on."""
    read = rig.simulated_rig.devices["daq"].read

    def spoilt(t_ns):
        block = read(t_ns)
        if block is None or t_ns < RUN_UP_NS:
            return block
        return msgspec.structs.replace(block, values=block.values * np.array([1.0, np.nan, 1.0]))

    rig.simulated_rig.devices["daq"].read = spoilt


def breaks(stage: str, method: str, after: bool = False) -> Callable[[Any], None]:
    """A stage raises once in the run-up, before or after its work, in a tick with a block of samples."""

    def tamper(rig: Any) -> None:
        owner = rig.loop if stage == "loop" else getattr(rig.cycle, stage)
        real, raised = getattr(owner, method), []

        def raising(*args: Any) -> Any:
            due = not raised and rig.loop.last.t_ns == RUN_UP_NS + 2_000_000
            if due:
                raised.append(True)
            if due and not after:
                raise ValueError("planted")
            value = real(*args)
            if due:
                raise ValueError("planted")
            return value

        setattr(owner, method, raising)

    return tamper


RUNS: dict[str, tuple[Callable[[Any], None], tuple[str, ...]]] = {
    "good": (lambda _: None, ()),
    "delayed": (lambda _: None, ("links.drives_delay_ms=30", "links.daq_delay_ms=3.3")),
    "burst": (lambda _: None, ("record.sensors=burst", "record.before_s=0.1")),
    "stopped": (stop, ()),
    "silent": (drop_out, ()),
    "not_finite": (not_finite, ()),
    "skipping": (skip, ()),
    "late": (lambda rig: skip(rig, alarming=True), ()),
    "raised": (breaks("estimator", "estimate"), ()),
    "raised_reading": (breaks("rig_io", "sample", after=True), ()),
    "raised_after_its_row": (breaks("loop", "_feed", after=True), ()),
    "refused": (lambda _: None, ("limits.noise_V=0.0001",)),
    "loads": (lambda _: None, ("loads={leg_sensors: {axes: [fx, fz]}, load_cell: {}}",)),
}


@pytest.fixture
def quick() -> tuple[str, ...]:
    """Settings of a short trial."""
    return QUICK


@pytest.fixture(scope="session")
def recorded(tmp_path_factory) -> Callable[[str], Path]:
    """The folder of a run in virtual time, by its name; read only."""
    made: dict[str, Path] = {}

    def run(name: str) -> Path:
        if name not in made:
            tamper, overrides = RUNS[name]
            made[name] = tmp_path_factory.mktemp(name) / "run"
            made[name].mkdir()
            make_run(made[name], overrides, tamper)
        return made[name]

    return run


def make_run(folder: Path, overrides: tuple[str, ...], tamper: Callable[[Any], None]) -> None:
    open_backend = app.open_backend

    def open_and_tamper(*args: Any) -> Any:
        rig = open_backend(*args)
        tamper(rig)
        return rig

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "open_backend", open_and_tamper)
        config = load_config("sim_impact", [*QUICK, *overrides], 3)
        app.run_experiment(config, folder, progress=lambda _: None, figure=False)  # saves half the time


class Edit:
    """A record that is open for changes, where `edit["tick"]` is a dataset."""

    def __init__(self, file: h5py.File) -> None:
        self.file = file

    def __getitem__(self, name: str) -> Any:
        return self.file[name]

    def cells(self, name: str, field: str, rows: Any, change: Callable[[Any], Any]) -> None:
        """Change a field of some rows of a table."""
        table = self.file[name][()]
        table[field][rows] = change(table[field][rows])
        self.file[name][...] = table

    def rows(self, name: str, rows: Any) -> None:
        """Replace the rows of a dataset."""
        self.file[name].resize(len(rows), axis=0)
        self.file[name][...] = rows

    def keep(self, name: str, wanted: Any) -> None:
        """Remove all other rows of a dataset."""
        self.rows(name, self.file[name][()][wanted])

    def fields(self, name: str, wanted: list[str]) -> None:
        """Remove all other fields of a table."""
        rows = self.file[name][()]
        del self.file[name]
        self.file.create_dataset(name, data=rows[wanted])

    def meta(self, key: str, text: str) -> None:
        del self.file["meta"][key]
        self.file["meta"].create_dataset(key, data=np.bytes_(text.encode()))

    def config(self, old: str, new: str) -> None:
        text = self.file["meta/config"][()].decode()
        assert old in text
        self.meta("config", text.replace(old, new))

    def tick(self, number: int) -> int:
        """Index of the row of a tick."""
        return int(np.flatnonzero(self.file["tick"]["tick"] == number)[0])

    def drop_tick(self, number: int) -> None:
        for name in ("tick", "timing"):
            self.keep(name, self.file[name]["tick"] != number)

    def drop_blocks(self, first: int, last: int) -> None:
        """Remove blocks with their samples."""
        numbers, samples = self.file["daq/blocks"]["sequence"], self.file["daq/blocks"]["samples"]
        gone = (numbers >= first) & (numbers <= last)
        for name in ("daq/raw", "daq/t_ns"):
            self.keep(name, ~np.repeat(gone, samples))
        self.keep("daq/blocks", ~gone)


def seal(folder: Path) -> None:
    """Make all digests anew, as somebody would who wants a change to pass."""
    with h5py.File(folder / "trial.h5", "r+") as file:
        write_content_digest(file)
    seal_summary(folder, json.loads((folder / "summary.json").read_text()))


def seal_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write a summary with digests to match."""
    write_summary(folder, with_digests(summary, folder, read_trial(folder, trusted=True).meta))


@pytest.fixture
def sealing() -> Callable[[Path, dict[str, Any]], None]:
    """Writes a summary with digests to match."""
    return seal_summary


@pytest.fixture
def run_with() -> Callable[[Path, Callable[[Any], None]], None]:
    """Makes a run in a folder, its rig tampered with."""
    return lambda folder, tamper: make_run(folder, (), tamper)


@pytest.fixture
def edited(recorded, tmp_path) -> Callable[..., Path]:
    """A copy of a run, its record changed by a function of an `Edit`, with digests to match."""

    def copy(name: str, change: Callable[[Edit], Any] = lambda _: None, *, sealed: bool = True) -> Path:
        folder = tmp_path / "edited"
        shutil.copytree(recorded(name), folder)
        with h5py.File(folder / "trial.h5", "r+") as file:
            change(Edit(file))
        if sealed:
            seal(folder)
        return folder

    return copy
