"""Which rover-hil runs: the version of its release, or its commit, and whether the tree was changed since."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
# tag, commits since, commit, and a mark of a changed tree, as `git describe` prints them
_DESCRIBED = re.compile(r"v(\d+(?:\.\d+)*)-(\d+)-(g[0-9a-f]+)(-changed)?")
# Version of a tree that has no release before it, and the largest that any release follows.
_BEFORE = "0.0"


@cache
def running_version() -> str:
    """The version that records, summaries and messages name; it is read once a process.

    Of a wheel it is the version that the wheel was built with. A checkout is asked in each process, for what was
    written down when it was installed is out of date after the next commit.

    Returns:
        As PEP 440 writes it: `0.1.0` of a release; `0.1.1.dev12+g1a2b3c4d5` twelve commits after it. At its end stands
        `.changed` where a file that git knows was changed since the commit, and `+unknown` where git could not say.
    """
    if not ((_ROOT / ".git").exists() and (_ROOT / "pyproject.toml").is_file()):
        return installed_version()
    described = _described(_ROOT)
    return of_commit(described) if described else f"{installed_version().partition('+')[0]}+unknown"


def of_commit(described: str) -> str:
    """The version of a commit, numbered as setuptools-scm numbers it in a wheel.

    Args:
        described: what `git describe --tags --long --always --dirty=-changed` prints. Without a tag that is the commit.

    Returns:
        As `running_version` returns it.
    """
    found = _DESCRIBED.fullmatch(described)
    if found is None:
        return f"{_BEFORE}+g{described.replace('-', '.')}"
    release, since, commit, changed = found.groups()
    if since == "0" and not changed:
        return release
    *first, last = release.split(".")
    return f"{'.'.join([*first, str(int(last) + 1)])}.dev{since}+{commit}{'.changed' if changed else ''}"


def same_commit(one: str, other: str) -> bool:
    """Whether two versions are of one commit; a file may have been changed between the starts of two processes."""
    return one.removesuffix(".changed") == other.removesuffix(".changed")


def installed_version() -> str:
    """The version that was written down at the installation; "0.0" if it was not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as written

    try:
        return written("rover-hil")
    except PackageNotFoundError:
        return _BEFORE


def _described(root: Path) -> str:
    """What git says of the checkout; empty if it says nothing, for example because there is no git."""
    # not the repository of a hook that this may run in; and no lock, for somebody may commit meanwhile
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", f"safe.directory={root}", "describe", "--tags", "--long", "--always", "--abbrev=9"]
    try:
        done = subprocess.run(
            [*command, "--dirty=-changed", "--match=v[0-9]*"],
            cwd=root,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
