"""Runs the tests near a changed file in copies of the tree, one for each process; the work tree stays as it is.

A copy lies in `build/mutants/N` and is kept, for compiled kernels belong to the path of their source. numba looks at
the size and the time of a kernel's file, Python at those of a module: a changed file gets a new time, and what
was compiled of it before is removed, so the changed code runs.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import queue
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import pytest
from check_tree import ROOT, tree_files

# Tests of a package in addition to those of the folder that mirrors it.
ALSO = {
    "hil/safety": ("tests/hil/app/faults/test_device_cases.py", "tests/hil/runtime/test_loop_alarms.py"),
    "hil/operator": ("tests/hil/app/test_command_server.py", "tests/hil/ipc/test_operator.py"),
}
QUICK = "not slow and not soak and not hardware"
# A test may take so long [s], and a run so many times as long as that of the unchanged tree, and at least so long [s];
# then the change counts as noticed: it hangs. Memory that a run may map [bytes].
TEST_S, TIMEOUT_FACTOR, LEAST_S = 90, 5.0, 180.0
MOST_MEMORY = 16 << 30
_OPTIONS = (
    "-x", "-q", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb", "no", "-m", QUICK,
    "--timeout", str(TEST_S),
)  # fmt: skip
# Forked off a process that has imported what takes most of a start, and nothing of ours.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["pytest", "numpy", "numba", "h5py", "pydantic", "scipy.optimize", "scipy.signal", "zmq"])
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_TIMED_OUT = "(no test ended in time)"


class Outcome(NamedTuple):
    """What the tests said of a changed tree.

    Attributes:
        noticed_by: the first test that failed, as pytest names it; "": none.
        took_s: how long it took [s].
    """

    noticed_by: str
    took_s: float


@functools.cache
def tests_near(file: str) -> tuple[str, ...]:
    """Test files for a source file of hil: all of the folder that mirrors its package, first those that name it."""
    package = "/".join(file.split("/")[:2])
    near = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / package).rglob("test_*.py"))
    near.sort(key=lambda name: not _names(name, file))
    return (*near, *ALSO.get(package, ()))


@functools.cache
def tests_naming(file: str) -> tuple[str, ...]:
    """Those of them that name it."""
    return tuple(name for name in tests_near(file) if _names(name, file))


def _names(test: str, file: str) -> bool:
    return file.removesuffix(".py").replace("/", ".") in (ROOT / test).read_text(encoding="utf-8")


class TreeCopy:
    """A copy of the tree, in which one file at a time is changed.

    Args:
        folder: of the copy; what is there already is brought up to date.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: BaseProcess | None = None
        files = tree_files(ROOT)
        for old in folder.rglob("*.py"):
            if old.relative_to(folder) not in files:
                old.unlink()
        for file in files:
            new, now = folder / file, (ROOT / file).stat()
            if not new.exists() or (new.stat().st_size, new.stat().st_mtime_ns) != (now.st_size, now.st_mtime_ns):
                new.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, new)

    def run(self, tests: Sequence[str], most_s: float | None = None) -> Outcome:
        """Run tests until one fails; without a time limit if `most_s` is None."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            said = Path(scratch, "said")
            self._running = process = _FORKS.Process(target=_run_tests, args=(self._folder, scratch, said, tests))
            process.start()
            process.join(most_s)
            ended = process.exitcode is not None
            self.stop()
            process.join()
            text = said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""
        if not ended:
            return Outcome(_TIMED_OUT, time.monotonic() - began)
        failed, end = _FAILED.search(text), " ".join(text[-300:].split())
        noticed_by = failed[1] if failed else f"(pytest ended with status {process.exitcode}: {end})"
        return Outcome(noticed_by if process.exitcode else "", time.monotonic() - began)

    def stop(self) -> None:
        """End the run that goes on in it, if any, and what its tests have left behind."""
        if self._running is not None and self._running.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)

    @contextmanager
    def changed(self, file: str, source: str) -> Iterator[None]:
        """The copy with another source in the place of a file, while this is open."""
        path = self._folder / file
        before, at = path.read_bytes(), path.stat()
        _write(path, source.encode())
        try:
            yield
        finally:
            _write(path, before)
            os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))


class Change(NamedTuple):
    """A file with another source, and the tests that may notice it."""

    file: str
    source: str
    tests: tuple[str, ...]


def run_all(
    changes: Sequence[Change], processes: int, ended: Callable[[int, Outcome], None] = lambda _number, _outcome: None
) -> list[Outcome]:
    """Returns what the tests say of each change; each process has a copy of the tree.

    Args:
        changes: one at a time in a copy.
        processes: that run tests at the same time.
        ended: called with the number of each change whose tests have ended.

    Raises:
        RuntimeError: a test fails in the unchanged tree.
    """
    copies: queue.SimpleQueue[TreeCopy] = queue.SimpleQueue()
    suites = {frozenset(change.tests): change.tests for change in changes}
    limits_s: dict[frozenset[str], float] = {}
    stopped = threading.Event()
    made = [TreeCopy(ROOT / "build" / "mutants" / str(number)) for number in range(processes)]
    for copy in made:
        copies.put(copy)

    def prepare(suite: frozenset[str]) -> None:
        copy = copies.get()
        outcome = copy.run(suites[suite])
        copies.put(copy)
        if outcome.noticed_by:
            raise RuntimeError(f"{outcome.noticed_by} fails in the unchanged tree: repair it first")
        limits_s[suite] = max(TIMEOUT_FACTOR * outcome.took_s, LEAST_S)

    def run(number: int) -> Outcome:
        change, copy = changes[number], copies.get()
        try:
            with copy.changed(change.file, change.source):
                outcome = copy.run(change.tests, limits_s[frozenset(change.tests)])
        finally:
            copies.put(copy)
        if stopped.is_set():  # what was killed has noticed nothing
            raise InterruptedError
        ended(number, outcome)
        return outcome

    with ThreadPoolExecutor(processes) as pool:
        try:
            list(pool.map(prepare, suites))
            return list(pool.map(run, range(len(changes))))
        except BaseException:  # a key that interrupts it, too
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for copy in made:
                copy.stop()
            raise


def _write(path: Path, source: bytes) -> None:
    """Write a module, and remove what was compiled of it."""
    path.write_bytes(source)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _run_tests(folder: Path, scratch: str, said: Path, tests: Sequence[str]) -> None:
    """Runs pytest on the sources of a copy, in a process with its own group."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    out = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ |= {"PYTHONPATH": str(folder), "TMPDIR": scratch, "ROVER_HIL_CACHE": str(folder.parent / "cache")}
    sys.exit(pytest.main([*_OPTIONS, *tests], plugins=[_ExamplesFirst()]))


class _ExamplesFirst:
    """Runs the tests of properties last: they take seconds, and an example often notices too."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: hasattr(getattr(item, "obj", None), "hypothesis"))
