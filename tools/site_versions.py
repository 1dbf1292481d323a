"""The menu of versions: a file in each version of the site that names the other versions in the same folder.

Run: python tools/site_versions.py FOLDER    after a version of the site was put into FOLDER, as FOLDER/0.1.0

A version is a folder with a built site. Its menu opens the same page of another version, or the first one where that
version has no such page. The file is a script, because a browser reads no data file of a page opened from a disk.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

FILE = "versions.js"


def write_alone(site: Path, name: str) -> None:
    """Write the file of a site that stands alone."""
    _write(site, [{"name": name, "path": ".", "pages": []}])


def write_all(folder: Path) -> list[str]:
    """Write the file of each version in a folder, newest first, and a first page that leads to the newest.

    Returns:
        Names of the versions.

    Raises:
        FileNotFoundError: No built site is in the folder.
    """
    names = sorted((path.parent.name for path in folder.glob(f"*/{FILE}")), key=_newness, reverse=True)
    if not names:
        raise FileNotFoundError(f"{folder}: no version of the site in it; put build/site there, as {folder}/0.1.0")
    pages = {
        name: sorted(path.relative_to(folder / name).as_posix() for path in (folder / name).rglob("*.html"))
        for name in names
    }
    for here in names:
        rows = [
            {"name": name, "path": "." if name == here else f"../{name}", "pages": [] if name == here else pages[name]}
            for name in names
        ]
        _write(folder / here, rows)
    (folder / "index.html").write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rover-hil</title>'
        f'<meta http-equiv="refresh" content="0; url={names[0]}/index.html"></head>'
        f'<body><a href="{names[0]}/index.html">rover-hil {names[0]}</a></body></html>\n',
        encoding="utf-8",
    )
    return names


def _newness(name: str) -> tuple[int, list[int], str]:
    """Releases by their number, before what has no number, as `main`; a pre-release before its release."""
    numbers = re.match(r"v?(\d+(?:\.\d+)*)", name)
    return (
        (1, [int(part) for part in numbers[1].split(".")], "" if numbers[0] != name else "~")
        if numbers
        else (0, [], name)
    )


def _write(site: Path, versions: Sequence[Mapping[str, object]]) -> None:
    known = json.dumps({"versions": versions}, indent=1)
    (site / FILE).write_text(f"window.ROVER_HIL_VERSIONS = {known};\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Write the files of all versions in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print("versions:", ", ".join(write_all(parser.parse_args(arguments).folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
