"""Export of one run, or of all runs of a campaign."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from drivers.extras import install_command
from hil.analysis.dataset import MissingPackageError, UnverifiedRunError, scalars, verified_summary
from hil.analysis.export.mat_file import write_mat
from hil.analysis.export.mcap_file import write_mcap
from hil.analysis.export.motion import motion_of
from hil.analysis.export.rrd_file import write_rrd
from hil.analysis.export.table_files import write_csv, write_parquet
from hil.analysis.export.tables import Progress, tables_of
from hil.analysis.export.tdms_file import write_tdms
from hil.config.whole_file import replacing
from hil.recording import RecordError, open_trial
from hil.recording.run_folder import FolderError, file_in

CAMPAIGN = "campaign.csv"
# What brings a package, where it has another name.
_DISTRIBUTIONS = {"nptdms": "npTDMS", "foxglove": "foxglove-sdk", "rerun": "rerun-sdk"}


class Format(NamedTuple):
    """One format.

    Attributes:
        write: takes tables, facts, the path and, where it shows it, the motion.
        packages: that it needs, as they are imported.
        folder: whether it makes a folder with a file for each dataset.
        motion: whether it shows the rover in three dimensions.
        extra: of this distribution, that brings its packages.
    """

    write: Callable[..., None]
    packages: tuple[str, ...] = ()
    folder: bool = False
    motion: bool = False
    extra: str = "export"


FORMATS = {
    "tdms": Format(write_tdms, ("nptdms",)),
    "csv": Format(write_csv, folder=True),
    "parquet": Format(write_parquet, ("pyarrow",), folder=True),
    "mat": Format(write_mat),
    "mcap": Format(write_mcap, ("mcap", "foxglove"), motion=True),
    "rrd": Format(write_rrd, ("rerun",), motion=True, extra="rerun"),
}


class _Exported(NamedTuple):
    """What was written.

    Attributes:
        path: of the file or folder.
        runs: how many.
        left_out: for each run of a campaign that could not be exported: why, in a sentence.
    """

    path: Path
    runs: int
    left_out: tuple[str, ...]


def export(
    source: Path,
    to: str,
    out: Path | None = None,
    *,
    unverified: bool = False,
    progress: Progress = lambda *_: None,
) -> _Exported:
    """Write a run, or a campaign's table and all its runs, in another format.

    Args:
        source: folder of the run or the campaign.
        to: of `FORMATS`.
        out: the file (csv, parquet and campaigns: the folder) to make; by default `trial.<format>` or `<format>/` in
            `source`.
        unverified: also what does not match its digests; it is marked so inside.
        progress: see `tables_of`; of a single run.

    Raises:
        FolderError: nothing to export there, or `out` exists.
        RecordError: a run without a record that can be read.
        UnverifiedRunError: record and summary do not match their digests.
        MissingPackageError: the format's package is not installed.
    """
    made = FORMATS[to]
    if missing := [package for package in made.packages if importlib.util.find_spec(package) is None]:
        named = " and ".join(_DISTRIBUTIONS.get(package, package) for package in missing)
        are = "is" if len(missing) == 1 else "are"
        raise MissingPackageError(f"--to {to} needs {named}, which {are} not installed: {install_command(made.extra)}")
    if file_in(source, CAMPAIGN).is_file():
        return _campaign(source, to, out or source / f"export_{to}", unverified)
    path = out or source / (to if made.folder else f"trial.{to}")
    _run(source, made, path, unverified, progress)
    return _Exported(path, 1, ())


def _run(folder: Path, made: Format, path: Path, unverified: bool, progress: Progress = lambda *_: None) -> None:
    summary, wrong = verified_summary(folder, unverified=unverified)
    with open_trial(folder) as record, _making(path) as unfinished:
        facts: dict[str, Any] = dict(record.meta)
        # formats differ in what they have for true and false
        facts |= {f"summary_{key}": float(one) if isinstance(one, bool) else one for key, one in scalars(summary)}
        if wrong:
            facts["unverified"] = wrong
        tables = tables_of(record, progress)
        if made.folder:
            unfinished.mkdir()
        made.write(tables, facts, unfinished, *([motion_of(record, facts)] if made.motion else []))


def _campaign(source: Path, to: str, out: Path, unverified: bool) -> _Exported:
    made, runs, left_out = FORMATS[to], 0, []
    with _making(out) as unfinished:
        unfinished.mkdir()
        _table(source / CAMPAIGN, to, unfinished)
        for folder in sorted(path.parent for path in source.glob("*/trial.h5") if not path.parent.is_symlink()):
            try:
                _run(folder, made, unfinished / (folder.name if made.folder else f"{folder.name}.{to}"), unverified)
                runs += 1
            except (FolderError, RecordError, UnverifiedRunError) as error:
                left_out.append(f"{folder.name}: {error}")
    return _Exported(out, runs, tuple(left_out))


def _table(place: Path, to: str, folder: Path) -> None:
    """The campaign's table: Parquet with typed columns where that was asked for, else as it is."""
    if to != "parquet":
        shutil.copyfile(place, folder / CAMPAIGN)
        return
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv(place), folder / "campaign.parquet")


@contextmanager
def _making(path: Path) -> Iterator[Path]:
    """A name beside a file or folder to write it under; it gets its name once it is whole. Raises FolderError."""
    if path.exists():
        raise FolderError(f"{path} exists: remove it, or give another with --out")
    if not path.parent.is_dir():
        raise FolderError(f"{path.parent} is no folder: give a file in one with --out")
    try:
        with replacing(path, new=True) as unfinished:
            yield unfinished
    except FileExistsError:
        raise FolderError(f"{path} exists by now, of another export: give another with --out") from None
