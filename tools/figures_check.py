"""Make the figures of the pages again, and compare every number with docs/figures/data.

Run: python tools/figures_check.py [SCRIPT ...]    (all: about an hour; `make figures-check`)
     python tools/figures_check.py --resume    (after it was stopped: scripts that have run are not run again)
     python tools/figures_check.py --take PAGE ...    (after tables of a page were edited by hand: its file follows)

A script writes into an empty folder, and this tree stays as it is. Tables that need another program or a quiet machine
say so in their file, under `apart`, and are not made here.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs" / "figures"))

from page_data import FOLDER, ROOT, data_of, different, write

Tables = Mapping[str, Mapping[str, Any]]
FOUND = ROOT / "build" / "figures-check.json"  # seconds and differences of each script that has run


def pages() -> list[str]:
    """Pages that have a file of data, by their paths from the root."""
    found = [path.relative_to(ROOT / FOLDER).with_suffix(".md") for path in (ROOT / FOLDER).rglob("*.json")]
    return sorted(str(path if (ROOT / path).exists() else "docs" / path) for path in found)


def scripts() -> dict[str, dict[str, Tables]]:
    """Tables of each script with its options, by page and name; without those that say why they are `apart`."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for page in pages():
        for name, table in data_of(page)["tables"].items():
            if (script := table.get("by")) and "apart" not in table:
                found.setdefault(script, {}).setdefault(page, {})[name] = table
    return {script: dict(tables) for script, tables in sorted(found.items())}


def differences(command: str, tables: Mapping[str, Tables]) -> list[str]:
    """Run a script; rows of its tables that came out otherwise, and its exit status."""
    script, *words = command.split()
    given = (ROOT / script).read_text(encoding="utf-8")
    checks = "page_script" in given or "write_or_compare" in given
    with tempfile.TemporaryDirectory() as folder:
        options = ["--check"] if checks else ["--out", folder]
        command_line = [sys.executable, str(ROOT / script), *words, *options]
        done = subprocess.run(command_line, cwd=ROOT, capture_output=True, check=False, text=True)
        if checks or done.returncode:
            return [f"{script}: {done.stdout[-4000:]}{done.stderr[-2000:]}"] if done.returncode else []
        return [
            f"{page}, {name}: {row}"
            for page, then in tables.items()
            for name, table in then.items()
            for row in different(data_of(page, Path(folder))["tables"][name], table)
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or take what a page says; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help="of docs/figures and docs/reproduce; none: all")
    parser.add_argument("--resume", action="store_true", help=f"take what {FOUND.relative_to(ROOT)} has, run the rest")
    parser.add_argument("--take", nargs="+", metavar="PAGE", help="write the files of pages from their tables")
    given = parser.parse_args(arguments)
    for page in given.take or ():
        write(page, (ROOT / page).read_text(encoding="utf-8"), about={"from": f"page of {datetime.now(UTC):%Y-%m-%d}"})
    if given.take:
        return 0
    if unknown := set(given.scripts) - {one.split()[0] for one in scripts()}:
        parser.error(f"no table is compared with what these write: {', '.join(sorted(unknown))}")
    made = json.loads(FOUND.read_text(encoding="utf-8")) if given.resume and FOUND.exists() else {}
    wanted = [one for one in scripts() if not given.scripts or one.split()[0] in given.scripts]
    FOUND.parent.mkdir(exist_ok=True)
    for script in wanted:
        if script not in made:
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            found = differences(script, scripts()[script])
            made[script] = [resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, found]
            FOUND.write_text(json.dumps(made, indent=1), encoding="utf-8")
        used_s, found = made[script]
        print(f"{script}: {used_s:.0f} s of a processor, {len(found)} differences", *found, sep="\n  ", flush=True)
    return 1 if any(made[script][1] for script in wanted) else 0


if __name__ == "__main__":
    raise SystemExit(main())
