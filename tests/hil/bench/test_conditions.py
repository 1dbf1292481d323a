"""Processor and memory usage of each process of a trial, by its name."""

import subprocess
import sys

from hil.bench.bench_rig import _memory_rows
from hil.bench.conditions import ALLOWED_IN_ALL_MB, ALLOWED_MB, memory_usage
from hil.realtime.rights import Memory


def test_memory_is_told_by_the_module_that_a_process_runs():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen([sys.executable, "-m", "code"], **pipes) as child:
        child.stdout.read(1)  # it has started
        found = memory_usage(child.pid)
        child.stdin.close()
        child.stdout.read()
    assert list(found) == ["code"]
    assert found["code"].share_MB > 1.0


def test_each_process_and_all_of_them_have_a_row_with_what_is_locked_and_allowed():
    rows = {row["name"]: row for row in _memory_rows({"loop": Memory(140.0, 110.0, 130.0), "other": Memory(5, 5, 0)})}
    assert rows["memory_loop"]["p50"] == 140.0
    assert rows["memory_loop"]["locked"] == 130.0
    assert rows["memory_loop"]["allowed"] == ALLOWED_MB["loop"]
    assert rows["memory_other"]["allowed"] is None
    assert (rows["memory_all"]["p50"], rows["memory_all"]["allowed"]) == (145.0, ALLOWED_IN_ALL_MB)
