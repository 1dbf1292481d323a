"""Keeps every processor busy for a while."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# Ends by itself when whoever started it is gone.
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"


@contextmanager
def busy_processors() -> Iterator[list[int]]:
    """One busy child process for each processor we may use; their process ids. They are killed at the end."""
    with ExitStack() as stack:
        children = []
        for _ in os.sched_getaffinity(0):
            child = subprocess.Popen([sys.executable, "-I", "-S", "-c", _BUSY])
            stack.callback(child.wait)
            stack.callback(child.kill)
            children.append(child.pid)
        yield children
