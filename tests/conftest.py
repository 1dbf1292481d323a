import fcntl
import gc
import hashlib
import importlib.util
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
import time
import tty
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Container images often turn bytecode off. Then each worker would rewrite the asserts of all tests, and each process
# that a test starts would compile all sources again. So before anything large is imported:
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Set before OpenBLAS is loaded: our matrices are small, and its threads would compete with the other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from drivers.interfaces import StopFrames
from hil.ipc.run_memory import LINKS, RunMemory
from hil.messages.fault import Event, Fault
from hil.messages.link_messages import HEALTH
from hil.processes.disturbances import RIG_LATE, STALL
from hil.realtime.clock import StallMonitor, measured_wakeups
from hil.recording.reader import RecordError, read_trial
from models.kernels.compiled import CACHE_FOLDER

# No deadline for examples: a busy machine is no defect, and the first call of a kernel compiles it. The examples are
# the same in each run, so that what fails fails for all; `make fuzz` looks for new ones: it sets HIL_FUZZ=1.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
# tests with an explicit max_examples keep it
settings.register_profile("fuzz", settings.get_profile("suite"), max_examples=5_000, derandomize=False)
settings.load_profile("fuzz" if os.environ.get("HIL_FUZZ") else "suite")

# Environment variable with the folder of locks that the workers of one session share.
LOCKS = "HIL_TEST_LOCKS"
TESTS = Path(__file__).parent
# What `make test` leaves out, for its size (requirements-test.lock): a test that needs one of these is skipped there.
LARGE = (
    *("atheris", "axe_playwright_python", "daqp", "foxglove", "jupyter_client", "linuxpy", "mcap", "mujoco", "nptdms"),
    *("pandas", "pinocchio", "playwright", "pyarrow", "rasterio", "rerun", "xarray"),
)
ABSENT = frozenset(name for name in LARGE if importlib.util.find_spec(name) is None)
# Slow tests that every landing runs: a stop, a fault or a limit is never left to a later one.
ALWAYS = ("hil/app/test_trial_faults.py", "hil/app/test_stops_are_never_lost.py", "protocol/test_protocol_links.py")
# Of the modules with other slow tests, a landing runs one in this many.
SHARES = 6
# By test, names of its marker `ci_cases` that no case had so far.
CASES_LEFT: dict[str, set[str]] = {}
# Written to a port after the bytes that a test expects there.
MARK = b"|"
# Of a failed test, the longest.
STALLS_NAMED = 20
# The process that compiles kernels while tests are collected.
WARMING = pytest.StashKey[subprocess.Popen]()
# Every kernel of an impact trial; further kernels are compiled by the first worker that needs them.
WARM_UP = """
from hil.app.warm_up import warm_up
from hil.config import load_config
from hil.config.rig import Rig
warm_up(Rig(load_config("sim_impact")))
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    text = f"of the slow tests, run those of {', '.join(ALWAYS)} and of one module in {SHARES}, chosen by this commit"
    parser.addoption("--landing", metavar="COMMIT", type=lambda commit: int(commit, 16), help=text)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    """With several workers: compile once the kernels that otherwise each worker and each process would compile.

    The workers collect their tests in the meantime.
    """
    if not session.config.getoption("numprocesses", None):
        return
    folder = tempfile.TemporaryDirectory(prefix="rover-hil-test-locks-")
    session.config.add_cleanup(folder.cleanup)
    os.environ[LOCKS] = folder.name
    if next(CACHE_FOLDER.rglob("*.nbi"), None) is not None:
        return  # a kernel that is missing all the same is compiled by the first worker, too
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.write_line("compiling kernels for all workers (half a minute, once for these models) ...")
    session.stash[WARMING] = subprocess.Popen([sys.executable, "-c", WARM_UP])


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist gives the first test to a worker
def pytest_runtestloop(session: pytest.Session) -> None:
    """Wait for these kernels."""
    if (warming := session.stash.get(WARMING, None)) and warming.wait():
        pytest.exit("the kernels could not be compiled", warming.returncode)


def pytest_configure(config: pytest.Config) -> None:
    os.environ.pop("COLUMNS", None)  # pytest-xdist gives its workers 80; tables are as wide as their content without
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # started with & in a script; processes of tests inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("PYTEST_XDIST_WORKER") and LOCKS in os.environ:
        compile_each_kernel_once(Path(os.environ[LOCKS]))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave to the soak the cases of a test that its marker `ci_cases` does not name."""
    if named := item.get_closest_marker("ci_cases"):
        case = {item.callspec.id, *item.callspec.id.split("-")}
        CASES_LEFT.setdefault(f"{item.path.name} {item.function.__name__}", set(named.args)).difference_update(case)
        if not case.intersection(named.args):
            item.add_marker("soak")


@pytest.hookimpl(trylast=True)  # after shuffling and deselection
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put modules with slow tests first in each worker's share: one at the end would keep only one worker busy.

    Those of one package go to one worker, which makes the runs that they share once.
    """
    left = {test: names for test, names in CASES_LEFT.items() if names}
    if left and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"ci_cases that no test has: {left}")
    if (landing := config.getoption("landing")) is not None:
        later = {item for item in items if item.get_closest_marker("slow") and not of_landing(item.path, landing)}
        config.hook.pytest_deselected(items=list(later))
        items[:] = [item for item in items if item not in later]
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    modules = [list(group) for _, group in itertools.groupby(items, key=lambda item: item.path)]
    slow = [module for module in modules if any(item.get_closest_marker("slow") for item in module)]
    rest = [item for module in modules if module not in slow for item in module]
    packages: dict[tuple[str, ...], list[pytest.Item]] = {}
    for module in slow:
        packages.setdefault(module[0].path.parent.parts[: len(TESTS.parts) + 2], []).extend(module)  # tests/hil/app
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for package in sorted(packages.values(), key=len, reverse=True):
        min(shares, key=len).extend(package)
    ordered: list[pytest.Item] = []
    for worker, share in enumerate(shares):
        room = (
            len(items) * (worker + 1) // workers - len(ordered) - len(share)
        )  # `--dist worksteal` begins with even shares
        ordered += share + rest[: max(room, 0)]
        del rest[: max(room, 0)]
    items[:] = ordered + rest


def of_landing(module: Path, commit: int) -> bool:
    """Whether the slow tests of a module are among those of the landing that ends with a commit."""
    name = module.relative_to(TESTS).as_posix()
    return name.startswith(ALWAYS) or zlib.crc32(name.encode()) % SHARES == commit % SHARES


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator:
    """Look for no garbage while tests are collected, nor later among the modules and tests, which stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def compile_each_kernel_once(folder: Path) -> None:
    """Let one worker compile a kernel for given types; others that need it wait, and load it from the cache.

    A kernel's callees are compiled under its lock, each with a lock too: calls have no cycles, so locks have none.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    import models.kernels.compiled  # noqa: F401  sets the cache folder

    compile_now = Dispatcher.compile

    @contextmanager
    def lock(name: str) -> Iterator[None]:
        with open(folder / hashlib.sha256(name.encode()).hexdigest(), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def compile_or_load(self, types):
        with global_compiler_lock, lock(f"{self.py_func.__module__}.{self.py_func.__qualname__}{types}"):
            return compile_now(self, types)

    Dispatcher.compile = compile_or_load


@pytest.fixture
def stalls() -> Iterator[StallMonitor]:
    """Stalls of this machine while a test of real processes runs; the report of a failed test lists them."""
    monitor = StallMonitor()
    with measured_wakeups(monitor):
        yield monitor


def skip_without(report: pytest.CollectReport | pytest.TestReport, path: Path, error: object) -> None:
    """Count a failure that an absent package explains as a skipped test."""
    missing = re.search(rf"(?:No module named '|needs |read by )({'|'.join(ABSENT)})\b", str(error), re.IGNORECASE)
    if ABSENT and report.failed and missing:
        report.outcome = "skipped"
        report.longrepr = (str(path), 0, f"Skipped: needs {missing[1]}: make install-dev")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator:
    report = yield
    skip_without(report, collector.path, report.longrepr)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator:
    report = yield
    skip_without(report, item.path, call.excinfo.value if call.excinfo else "")
    given = getattr(item, "funcargs", {})
    if report.when == "call" and report.failed and "stalls" in given:
        report.sections.append(("stalls", "\n".join(stalls_beside(given)) or "none: neither this machine nor a run's"))
    return report


def stalls_beside(given: dict[str, Any]) -> list[str]:
    """Stalls of real processes, as measured by the test and by the records of its runs."""
    now_ns = time.monotonic_ns()
    longest = sorted(given["stalls"].take(), key=lambda stall: -stall.length_ns)[:STALLS_NAMED]
    lines = [
        f"the test waited {stall.length_ns * 1e-6:.0f} ms to go on, {(now_ns - stall.began_ns) * 1e-9:.3f} s ago"
        for stall in sorted(longest)
    ]
    for file in sorted(given["tmp_path"].rglob("trial.h5")) if "tmp_path" in given else ():
        try:
            events = read_trial(file).events
        except RecordError as error:
            lines.append(str(error))
            continue
        details = [row["detail"].decode() for row in events if row["name"] in (STALL.encode(), RIG_LATE.encode())]
        lines += [f"{file.parent.name}: {detail}" for detail in details]
    return lines


@dataclass
class FinishedTrial:
    """A finished trial at the protocol level, with real processes or in virtual time.

    Attributes:
        ask: sends a command to its simulated rig, as `Control.ask`.
        run: the finished run, in virtual time.
        more: folders of further runs on the same rig.
        start_ns: its t = 0 [ns of the rig's clock]; of several runs, that of the last.
        acted_ns: when the fault was injected [ns of the same].
        events: faults that it latched.
        healths: newest of each link, rows of HEALTH.
        stopped_ns: when the stop after the impact had been sent to all drives [ns of the run]; None: no impact.
        error: why it did not start or did not end normally.
    """

    ask: Callable[..., dict[str, Any]]
    folder: Path
    run: Any = None
    more: list[Path] = field(default_factory=list)
    start_ns: int | None = None
    acted_ns: int = 0
    events: list[Event] = field(default_factory=list)
    healths: dict[str, np.void] = field(default_factory=dict)
    stopped_ns: int | None = None
    error: Exception | None = None

    def take_healths(self, shared: RunMemory) -> None:
        for name in LINKS:
            row = np.zeros(1, HEALTH)
            shared.healths[name].read(row)
            self.healths[name] = row[0]

    @property
    def faults(self) -> list[Fault]:
        return [event.alarm.fault for event in self.events]

    def noticed_ms(self, fault: Fault) -> float:
        """Time from the injection to the tick that detected a fault [ms]."""
        (event,) = (event for event in self.events if event.alarm.fault is fault)
        return (self.start_ns + event.t_ns - self.acted_ns) * 1e-6

    def all_seen(self, what: str, device: str = "roboclaw") -> list[tuple[int, int]]:
        """Events recorded by the controllers of a bus: addresses and times [ns]."""
        return self.ask("stops", device=device)[what]

    def seen_ms(self, what: str, device: str = "roboclaw") -> dict[int, float]:
        """The same since the injection: by address, the first time [ms after the injection]."""
        found: dict[int, float] = {}
        for address, at_ns in self.all_seen(what, device):
            if at_ns >= self.acted_ns:
                found.setdefault(address, (at_ns - self.acted_ns) * 1e-6)
        return found

    def runs_at_the_end(self, device: str = "roboclaw") -> set[int]:
        """Controllers that have not been stopped since their newest start, by a command or a time-out."""
        starts, stops = dict(self.all_seen("starts", device)), {}
        for address, at_ns in [*self.all_seen("stops", device), *self.all_seen("timeouts", device)]:
            stops[address] = max(at_ns, stops.get(address, 0))
        return {address for address, at_ns in starts.items() if at_ns > stops.get(address, 0)}


@pytest.fixture(scope="session")
def finished_trial() -> type[FinishedTrial]:
    """Fixture, because test folders do not import from each other."""
    return FinishedTrial


class Terminal:
    """A serial port in place of a device's, and all bytes written to it.

    Attributes:
        path: of the port.
        master: descriptor of the device's end.
        slave: of the port's end, held open; otherwise the device would see a hang-up between two openings.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reconnect()

    def reconnect(self) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave, termios.TCSANOW)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(self.slave))

    def disconnect(self) -> None:
        os.close(self.master)
        os.close(self.slave)
        self.path.unlink()

    def come(self) -> bytes:
        """All bytes written so far: everything before a mark that is written now."""
        os.write(self.slave, MARK)
        data = b""
        while not data.endswith(MARK):
            data += os.read(self.master, 4096)
        return data.removesuffix(MARK)

    def stop(self, *frames: bytes, device: str = "thing", pause_s: float = 0.0) -> StopFrames:
        return StopFrames(device, str(self.path), 115200, frames, pause_s)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[[str], Terminal]]:
    """Makes terminals, by the name of their port."""
    made: list[Terminal] = []

    def make(name: str) -> Terminal:
        made.append(Terminal(tmp_path / name))
        return made[-1]

    yield make
    for one in made:
        if one.path.exists():
            one.disconnect()


@pytest.fixture(scope="session")
def kill_run():
    """The soak program, run for a few kills."""
    spec = importlib.util.spec_from_file_location("kill_run", Path(__file__).parent / "soak" / "kill_run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_run"] = module  # dataclasses look up their module there
    spec.loader.exec_module(module)
    return module
