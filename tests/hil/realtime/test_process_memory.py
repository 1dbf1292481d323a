"""Memory of a process in RAM, and the part that it releases."""

import mmap
import subprocess
import sys

import pytest

from hil.realtime.rights import _droppable, memory_of

SMAPS = """\
55d0c0000000-55d0c0001000 r--p 00000000 fe:00 1 /usr/bin/python3
Anonymous:             0 kB
7f0000000000-7f0000400000 r-xp 00000000 fe:00 2 /venv/llvmlite/binding/libllvmlite.so
Rss:                4096 kB
Anonymous:             0 kB
7f0000400000-7f0000500000 r--p 00400000 fe:00 2 /venv/llvmlite/binding/libllvmlite.so
Anonymous:             8 kB
7f0000500000-7f0000600000 rw-p 00500000 fe:00 2 /venv/llvmlite/binding/libllvmlite.so
Anonymous:             0 kB
7f0000600000-7f0000700000 rw-p 00000000 00:00 0 
Anonymous:             0 kB
7f0000700000-7f0000710000 r-xp 00000000 fe:00 3 /venv/scipy/linalg/_flapack.so
Anonymous:             0 kB
"""  # noqa: W291


def test_only_code_that_is_as_in_its_file_is_let_go_of():
    assert list(_droppable(SMAPS)) == [(0x7F0000000000, 0x400000), (0x7F0000700000, 0x10000)]


def test_memory_grows_by_what_is_touched():
    # A separate mapping: a block of the allocator can be memory that this process already had.
    with mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        before = memory_of()
        held[:] = b"x" * len(held)
        assert memory_of().own_MB > before.own_MB + 30


def test_memory_of_a_process_that_is_gone_is_an_error():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(OSError, match="o such"):
        memory_of(gone.pid)


LET_GO = """
import re
import numpy as np
from hil.realtime.rights import let_go_of_set_up

def code_in_ram():
    text = open("/proc/self/smaps").read()
    return sum(int(kb) for kb in re.findall(r" r-xp .*openblas.*\\n(?:[A-Z].*\\n)*?Rss: +(\\d+)", text))

a = np.eye(4)
np.linalg.solve(a, a)
before = code_in_ram()
let_go_of_set_up()
after = code_in_ram()
assert after < before, (before, after)
np.linalg.solve(a, a)
assert code_in_ram() > after
print("works")
"""


def test_what_was_let_go_of_works_when_it_is_used_again():
    done = subprocess.run([sys.executable, "-c", LET_GO], capture_output=True, text=True, check=True)
    assert done.stdout == "works\n"
