"""A child process, while signals come to its parent."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType

import pytest

from hil.processes import lifecycle
from hil.processes.lifecycle import Process


class Interrupt:
    """Raises KeyboardInterrupt at one line of a function, as the handler of a signal that comes there would."""

    def __init__(self, code: CodeType, number: int) -> None:
        self.code, self.left, self.raised = code, number, False

    def __call__(self, frame, event, _):
        return self._line if frame.f_code is self.code else None

    def _line(self, frame, event, _):
        if event == "line" and not self.raised:
            self.left -= 1
            if self.left < 0:
                self.raised = True
                raise KeyboardInterrupt
        return self._line


@pytest.mark.parametrize("number", range(4))  # the lines up to where a look takes note of the end
def test_a_child_can_be_killed_wherever_a_signal_interrupted_a_look_at_it(monkeypatch, number):
    start = lifecycle.subprocess.Popen
    sleeping = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(lifecycle.subprocess, "Popen", lambda _, **how: start(sleeping, **how))
    child = Process("hil.processes.any", "folder")
    interrupt = Interrupt(start._internal_poll.__code__, number)
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            child.status()
    finally:
        sys.settrace(before)
    assert interrupt.raised
    child.kill()
    assert not alive(child.pid)
    for pipe in (child._process.stdin, child._process.stdout):
        pipe.close()


def alive(pid):
    """Whether a process runs; one that has ended may still be in the table."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
