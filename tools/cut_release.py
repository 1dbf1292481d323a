"""Cuts a release in CHANGELOG.md, or checks one: `python tools/cut_release.py 0.1.0`, `... --check v0.1.0`.

Cutting gives what stands under Unreleased a heading with version and day, and puts an empty Unreleased above it. The
commit and the tag are made by hand (CONTRIBUTING.md, Release).
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
UNRELEASED = "## [Unreleased]\n"
VERSION = re.compile(r"\d+\.\d+\.\d+")


class NotCutError(ValueError):
    """The changelog cannot be cut so, or is not."""


def cut(text: str, version: str, day: str) -> str:
    """The changelog with a release.

    Args:
        text: of the changelog.
        version: of the release, without v.
        day: of it, as 2026-11-25.

    Raises:
        NotCutError: the version is none, is there already, or nothing is unreleased.
    """
    if not VERSION.fullmatch(version):
        raise NotCutError(f"found version {version!r}; allowed: three numbers, as 0.1.0")
    if f"## [{version}]" in text:
        raise NotCutError(f"found {version} in the changelog already; allowed: a version that is not there")
    head, found, rest = text.partition(UNRELEASED)
    if not found or not re.sub(r"^## \[.*", "", rest, flags=re.MULTILINE | re.DOTALL).strip():
        raise NotCutError("found nothing under Unreleased; allowed: at least one entry")
    return f"{head}{UNRELEASED}\n## [{version}] - {day}\n{rest}"


def check(text: str, tag: str) -> None:
    """Raises NotCutError: the changelog has no release of this tag."""
    version = tag.removeprefix("v")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE):
        raise NotCutError(f"the changelog has no heading `## [{version}] - DAY`: cut it before the tag")


def main(arguments: list[str]) -> int:
    """Cut or check; 1 if that is not possible."""
    text = CHANGELOG.read_text(encoding="utf-8")
    try:
        if arguments[:1] == ["--check"] and len(arguments) == 2:
            check(text, arguments[1])
        elif len(arguments) == 1:
            CHANGELOG.write_text(cut(text, arguments[0], datetime.now(UTC).date().isoformat()), encoding="utf-8")
        else:
            print(__doc__, file=sys.stderr)
            return 1
    except NotCutError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
