import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Else each worker rewrites the asserts of all test files anew, and each process of a rig compiles our sources anew: 10 s of
# a processor a worker, 1 s a process. Images of containers often ask for no bytecode.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Before anything loads OpenBLAS: our matrices are small, and its threads would take the other workers' processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# No example has to be quick: a busy machine is no defect, and the first call of a kernel compiles it.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make fuzz` asks for it by HIL_FUZZ=1; tests that say their own max_examples keep it
settings.register_profile("fuzz", settings.get_profile("suite"), max_examples=5_000)
settings.load_profile("fuzz" if os.environ.get("HIL_FUZZ") else "suite")

# The folder of locks that the workers of one session share, in the environment they inherit.
LOCKS = "HIL_TEST_LOCKS"
# Every kernel that `hil` itself uses; what tests compile beyond it is compiled by the first worker that needs it.
WARM_UP = """
from hil.app.warm import warm_up
from hil.config import load_config
warm_up(load_config("sim_impact"))
"""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    """With several workers: compile what each of them, and each process of a rig, would otherwise compile itself."""
    if not session.config.getoption("numprocesses", None):
        return
    folder = tempfile.TemporaryDirectory(prefix="rover-hil-test-locks-")
    session.config.add_cleanup(folder.cleanup)
    os.environ[LOCKS] = folder.name
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.write_line("compiling kernels for all workers (half a minute the first time, some seconds later) ...")
    subprocess.run([sys.executable, "-c", WARM_UP], check=True)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("PYTEST_XDIST_WORKER") and LOCKS in os.environ:
        compile_each_kernel_once(Path(os.environ[LOCKS]))


def compile_each_kernel_once(folder: Path) -> None:
    """One worker compiles a kernel for given types; another that needs it waits, and loads it from the cache.

    A kernel's callees are compiled under its lock, each under its own: calls have no cycles, so neither have locks.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    import models.compiled  # noqa: F401  sets the cache folder

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


@pytest.fixture(scope="session")
def kill_run():
    """The soak's own program, to be run for a few kills."""
    spec = importlib.util.spec_from_file_location("kill_run", Path(__file__).parent / "soak" / "kill_run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_run"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module
