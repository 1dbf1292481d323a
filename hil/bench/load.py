"""Keeps every processor busy, as a load for benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# Ends when its parent process has ended.
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"


@contextmanager
def busy_processors() -> Iterator[list[int]]:
    """Start one busy child process for each usable processor; yields their process ids, and kills them at the end."""
    with ExitStack() as stack:
        children = []
        for _ in os.sched_getaffinity(0):
            child = subprocess.Popen([sys.executable, "-I", "-S", "-c", _BUSY])
            stack.callback(child.wait)
            stack.callback(child.kill)
            children.append(child.pid)
        yield children
