"""Damages records at random and asks `hil verify`, `hil report` and `hil replay`: none may take one for good.

python tests/soak/damage_records.py --records 200 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from hil.app.run import run_experiment
from hil.cli import run as hil
from hil.config import load_config

SHORT = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip
FIGURE = b"the figure of the good run"
RECORD, SUMMARY = "trial.h5", "summary.json"

Chance = np.random.Generator


def flip_bytes(run: Path, _other: Path, chance: Chance) -> str:
    """Some bytes of the record, anywhere."""
    data = bytearray((run / RECORD).read_bytes())
    places = chance.choice(len(data), int(chance.integers(1, 30)), replace=False)
    for place in places:
        data[place] ^= int(chance.integers(1, 256))
    (run / RECORD).write_bytes(data)
    return f"{len(places)} bytes flipped, first at {min(places)}"


def flip_in_metadata(run: Path, _other: Path, chance: Chance) -> str:
    """Bytes near the signatures of HDF5's own pieces."""
    data = bytearray((run / RECORD).read_bytes())
    signatures = [b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"EAHD", b"EAIB", b"FSHD", b"FSSE", b"\x89HDF"]
    places = [place for mark in signatures if (place := data.find(mark, int(chance.integers(len(data) // 2)))) >= 0]
    place = int(chance.choice(places or [0])) + int(chance.integers(0, 64))
    data[place] ^= int(chance.integers(1, 256))
    (run / RECORD).write_bytes(data)
    return f"a byte of HDF5's own flipped at {place}"


def overwrite(run: Path, _other: Path, chance: Chance) -> str:
    """A stretch of the record, with noise, or with another piece of it, as a disk does that mixes up its blocks."""
    data = bytearray((run / RECORD).read_bytes())
    length = int(chance.integers(1, 20_000))
    first, source = chance.integers(0, len(data) - length, 2)
    new = chance.bytes(length) if chance.random() < 0.5 else bytes(data[source : source + length])
    if data[first : first + length] == new:
        new = bytes(byte ^ 1 for byte in new)
    data[first : first + length] = new
    (run / RECORD).write_bytes(data)
    return f"{length} bytes overwritten at {first}"


def truncate(run: Path, _other: Path, chance: Chance) -> str:
    """The end of the record is not there."""
    data = (run / RECORD).read_bytes()
    length = int(chance.integers(0, len(data)))
    (run / RECORD).write_bytes(data[:length])
    return f"cut to {length} bytes"


def change_values(run: Path, _other: Path, chance: Chance) -> str:
    """Numbers of a dataset, by the library itself."""
    with h5py.File(run / RECORD, "r+") as file:
        name = str(chance.choice(["daq/raw", "daq/t_ns", "tick", "events", "daq/blocks", "timing", "meta/seed"]))
        dataset = file[name]
        if not dataset.shape:
            dataset[()] = dataset[()] + 1
            return f"/{name} changed"
        rows = dataset[()]
        first = int(chance.integers(len(rows)))
        some = slice(first, first + int(chance.integers(1, 500)))
        field = str(chance.choice(rows.dtype.names)) if rows.dtype.names else ""
        part = rows[field] if field else rows
        before = part[some].tobytes()
        if part.dtype.kind == "f":
            part[some] = np.nan if chance.random() < 0.5 else 2.0 * part[some] + 1.0
        elif part.dtype.kind == "S":
            part[some] = b"changed"
        else:
            part[some] ^= part.dtype.type(1)
        if part[some].tobytes() == before:
            part[some] = part.dtype.type(7)
        dataset[...] = rows
    return f"/{name} {field} changed in rows {some.start}..{some.stop}"


def double_volts(run: Path, _other: Path, chance: Chance) -> str:
    """Every reading is twice what it was."""
    with h5py.File(run / RECORD, "r+") as file:
        file["daq/raw"][...] = 2.0 * file["daq/raw"][()]
    return "raw volts doubled"


def take_the_others(run: Path, other: Path, chance: Chance) -> str:
    """Record or summary is another run's."""
    name = str(chance.choice([RECORD, SUMMARY]))
    shutil.copy(other / name, run / name)
    return f"{name} of another run"


def change_summary(run: Path, _other: Path, chance: Chance) -> str:
    """A number of the summary."""
    summary = json.loads((run / SUMMARY).read_text())
    if chance.random() < 0.2:
        key, value = "peak_force_N", 999.0
    else:
        key = str(chance.choice([key for key, value in summary.items() if isinstance(value, int | float)]))
        value = not summary[key] if isinstance(summary[key], bool) else summary[key] * 1.001 + 1
    summary[key] = value
    (run / SUMMARY).write_text(json.dumps(summary, indent=2))
    return f"{key} of the summary set to {value}"


def damage_summary(run: Path, _other: Path, chance: Chance) -> str:
    """Bytes of the summary, or its end."""
    good = (run / SUMMARY).read_bytes()
    while True:
        data = bytearray(good)
        place = int(chance.integers(len(data)))
        if chance.random() < 0.5:
            data[place] ^= int(chance.integers(1, 256))
        else:
            del data[place:]
        with contextlib.suppress(ValueError):
            if json.loads(bytes(data)) == json.loads(good):
                continue  # a space more or less is no damage
        (run / SUMMARY).write_bytes(data)
        return f"summary damaged at byte {place}"


KINDS: tuple[Callable[[Path, Path, Chance], str], ...] = (
    flip_bytes, flip_in_metadata, overwrite, truncate, change_values, double_volts, take_the_others, change_summary,
    damage_summary,
)  # fmt: skip


def make_run(folder: Path, seed: int) -> Path:
    """A short trial, with a figure that nobody could draw."""
    folder.mkdir()
    run_experiment(load_config("sim_impact", SHORT, seed), folder, progress=lambda _: None)
    (folder / "trial.png").write_bytes(FIGURE)
    return folder


def taken_for_good(run: Path) -> list[str]:
    """Commands that take a run for a good one, or end otherwise than with a sentence."""
    wrong = []
    for command in ("verify", "report", "replay"):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = hil([command, str(run)])
        if status not in (1, 2):
            wrong.append(f"{command} ends with status {status}")
        if "not expected" in err.getvalue():
            wrong.append(f"{command}: {err.getvalue().splitlines()[-2]}")
    if (run / "trial.png").read_bytes() != FIGURE:
        wrong.append("report drew over the good figure")
    return wrong


def damage_and_ask(good: Path, other: Path, number: int, seed: int) -> tuple[str, list[str]]:
    """One damaged copy of a run: what was done to it, and who took it for good.

    Args:
        good: folder of a run.
        other: of another.
        number: of the copy; it decides the kind of damage.
        seed: of all chance.
    """
    chance = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(prefix="hil-damaged-") as place:
        run = Path(place) / "run"
        shutil.copytree(good, run)
        done = KINDS[number % len(KINDS)](run, other, chance)
        return done, taken_for_good(run)


def main(arguments: list[str] | None = None) -> int:
    """Damage so many records; 1 if one was taken for good."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    bad: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="hil-damaged-") as place:
        good, other = (make_run(Path(place) / f"run{seed}", seed) for seed in (3, 4))
        for number in range(asked.records):
            done, wrong = damage_and_ask(good, other, number, asked.seed)
            bad += [(number, done, wrong)] if wrong else []
            print(f"{number + 1}: {done}: {'; '.join(wrong) or 'refused'}", flush=True)
    print(f"{asked.records} records damaged, {len(bad)} taken for good or badly refused")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
