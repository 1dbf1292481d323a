"""Which rover-hil runs: its version, the commit of a checkout, and whether the tree was changed since."""

from __future__ import annotations

import os
import subprocess
import tomllib
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


@cache
def running_version() -> str:
    """The version that records, summaries and messages name; it is read once a process.

    Returns:
        As PEP 440 writes it. Of a wheel it is the version alone: `0.1.0`. A checkout appends its commit,
        `0.1.0+g1a2b3c4d5`, and `.changed` where a file that git knows was changed since, or `+unknown` without git.
    """
    project = _ROOT / "pyproject.toml"
    if not ((_ROOT / ".git").exists() and project.is_file()):
        from importlib.metadata import version  # takes as long as all else that `hil --version` imports

        return version("rover-hil")
    stated: str = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    return f"{stated}+{_commit(_ROOT) or 'unknown'}"


def same_commit(one: str, other: str) -> bool:
    """Whether two versions are of one commit; a file may have been changed between the starts of two processes."""
    return one.removesuffix(".changed") == other.removesuffix(".changed")


def _commit(root: Path) -> str:
    """The commit of a checkout, and a mark of a changed tree; empty where git cannot say."""
    # not the repository of a hook that this may run in; and no lock, for somebody may commit meanwhile
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", f"safe.directory={root}", "describe", "--always", "--abbrev=9", "--exclude=*"]
    try:
        done = subprocess.run(
            [*command, "--dirty=.changed"],
            cwd=root,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"g{done.stdout.strip()}" if done.returncode == 0 else ""
