"""Whether two records hold the same numbers: `python tools/compare_records.py BEFORE AFTER`.

For a change that must not change behaviour: the same config and seed, in lockstep, before and after. Every dataset and
field of both records is compared bit for bit; those in only one record are listed, elements at the end of a row
included. Ignored is what differs between any two runs: /timing, and of /meta wall time, version, config and digests.
BEFORE and AFTER are run folders, or folders of run folders, which are matched by name.

Exit status: 0 all equal, 1 something differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np

RECORD = "trial.h5"
PASSED_OVER = ("timing", "meta")


def compare(before: Path, after: Path) -> list[str]:
    """Differences between two records, one line each; "only in" marks what one of them lacks."""
    with (
        h5py.File(before, "r", swmr=True, libver="latest") as old,
        h5py.File(after, "r", swmr=True, libver="latest") as new,
    ):
        ours, theirs = _columns(old), _columns(new)
    lines = [f"  {name}: {_difference(ours[name], theirs[name])}" for name in ours if name in theirs]
    different = [line for line in lines if not line.endswith("equal")]
    part = [line for line in lines if line.endswith("elements equal")]
    alone = [f"  {name}: only in BEFORE" for name in ours if name not in theirs]
    alone += [f"  {name}: only in AFTER" for name in theirs if name not in ours]
    print(f"  {len(lines) - len(different)} of {len(lines)} columns equal", *part, *alone, sep="\n")
    return different


def _columns(file: h5py.File) -> dict[str, np.ndarray]:
    """Every dataset by its path; of a compound one, every field."""
    found: dict[str, np.ndarray] = {}

    def visit(name: str, item: h5py.Dataset | h5py.Group) -> None:
        if name.split("/", maxsplit=1)[0] in PASSED_OVER or not isinstance(item, h5py.Dataset):
            return
        values = item[()]
        if values.dtype.names is None:
            found[name] = values
        for field in values.dtype.names or ():
            found[f"{name}.{field}"] = values[field]

    file.visititems(visit)
    return found


def _difference(old: np.ndarray, new: np.ndarray) -> str:
    if old.shape != new.shape:
        common = min(old.shape[-1:], new.shape[-1:])[0] if old.ndim == new.ndim > 1 else 0
        if old.shape[:-1] != new.shape[:-1] or not common:
            return f"shape {old.shape} and {new.shape}"
        found = _difference(old[..., :common], new[..., :common])
        return found.replace("equal", f"{common} of {old.shape[-1]} and {new.shape[-1]} elements equal")
    number = np.issubdtype(old.dtype, np.number) and np.issubdtype(new.dtype, np.number)
    if np.array_equal(old, new, equal_nan=bool(number)):
        return "equal"
    if not number:
        return f"{int((old != new).sum())} of {old.size} entries differ"
    off = np.abs(np.asarray(old, dtype=np.float64) - np.asarray(new, dtype=np.float64))
    first = int(np.flatnonzero((old != new) & ~(np.isnan(off)))[0] // max(1, old[0].size)) if off.size else 0
    return f"{int((off > 0).sum())} of {old.size} entries differ, first in row {first}, by {np.nanmax(off):.3g} at most"


def main(before: Path, after: Path) -> int:
    """Compare one pair of records, or all pairs of the same name in two folders."""
    pairs = [(before, after)]
    if not (before / RECORD).is_file():
        names = sorted(
            {path.parent.name for path in before.glob(f"*/{RECORD}")} & {path.name for path in after.iterdir()}
        )
        pairs = [(before / name, after / name) for name in names]
    if not pairs:
        print(f"no records of the same name under {before} and {after}")
        return 1
    worst = 0
    for old, new in pairs:
        print(f"{old.name}:")
        for line in compare(old / RECORD, new / RECORD):
            print(line)
            worst = 1
    return worst


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
