"""Where simulated trials run: this process, a process pool, or a cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, TypeVar

from drivers.extensions import install_command
from drivers.interfaces import DeviceError
from hil.campaign.trial import Job, OtherVersionError, TrialResult, run_trial, warm
from hil.config.rig import Rig
from hil.version import running_version, same_commit

# How often a pool that lost a process, or a cluster that lost its scheduler, is opened again.
LOSSES = 3
# How often a stop is looked for while trials run [s].
_POLL_S = 0.2
Progress = Callable[[str], None]


class WorkersError(DeviceError):
    """Trials cannot run where they were to: no cluster there, or its workers die."""


@dataclass(frozen=True)
class Workers:
    """An executor that is ready for trials."""

    executor: Executor  #: that runs `run_trial`
    at_once: int  #: how many trials are handed to it before the first has come back
    shares_folders: bool  #: its processes see the folders of this one


class InThisProcess(Executor):
    """Runs a trial when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run it now."""
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


@contextmanager
def this_process(kinds: Sequence[Rig], progress: Progress) -> Iterator[Workers]:
    """Trials one after the other, here."""
    _warm_here(kinds, progress)
    yield Workers(InThisProcess(), 1, shares_folders=True)


@contextmanager
def _one_thread_for_blas() -> Iterator[None]:
    """For processes that start meanwhile, unless the user has said otherwise: the same sums, and no contention."""
    key = "OPENBLAS_NUM_THREADS"
    said = key in os.environ
    os.environ.setdefault(key, "1")
    try:
        yield
    finally:
        if not said:
            del os.environ[key]


class _Process(ForkServerProcess):
    """A process that does not import the caller's program again: a script would run a second time in each of them."""

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")  # what a trial needs is not in it
        try:
            return ForkServerProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"] = program


class _ForkServer(ForkServerContext):
    Process = _Process


@contextmanager
def process_pool(count: int, kinds: Sequence[Rig], progress: Progress) -> Iterator[Workers]:
    """Trials in so many processes of this computer.

    They come from a fork server, which has imported what a trial needs: forking a process that has threads is not safe,
    and one that starts from nothing takes a second of processor time. Kernels are in the cache before the first starts;
    the fork server imports meanwhile.
    """
    context = _ForkServer()
    # scipy.signal is for the summary of an impact: a third of a second in each process
    context.set_forkserver_preload(["scipy.signal", "hil.app.run", "hil.campaign.trial"])
    with _one_thread_for_blas():
        ensure_running()
    _warm_here(kinds, progress)
    executor = ProcessPoolExecutor(count, context, initializer=_begin_worker)
    try:
        yield Workers(executor, 2 * count, shares_folders=True)
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def kept_open(place: Callable[[], AbstractContextManager[Workers]]) -> Iterator[Callable[[], Any]]:
    """The same place for several calls of `run_jobs`, opened once; after an error the next call opens it again."""
    opened = list[Workers]()
    with ExitStack() as stack:

        @contextmanager
        def again() -> Iterator[Workers]:
            if not opened:
                opened.append(stack.enter_context(place()))
            try:
                yield opened[0]
            except BaseException:
                opened.clear()
                stack.__exit__(*sys.exc_info())  # says the error in its own words: a scheduler that is lost
                raise

        yield again


def run_jobs(
    workers: Callable[[], Any],
    jobs: Iterator[tuple[Any, Job]],
    take: Callable[[Any, TrialResult], tuple[Any, Job] | None],
    stopped: Callable[[], bool],
) -> None:
    """Run jobs wherever there is room; what is lost with a process, or with a scheduler, is run again.

    Args:
        workers: opens `Workers`, as a context; again after a loss.
        jobs: name and job, in the order of their start.
        take: given name and result of each as it comes; returns another job that is to follow, or None.
        stopped: whether no further job shall start. Those that run come to their end and are taken.

    Raises:
        WorkersError: they were lost too often.
        Exception: of a job.
    """
    lost = 0
    again: list[tuple[Any, Job]] = []
    over = False
    while not over:
        running: dict[Future[TrialResult], tuple[Any, Job]] = {}
        try:
            with workers() as where:
                over = _run_on(where, jobs, again, running, take, stopped)
        except BrokenExecutor as error:
            lost += 1
            again[:0] = running.values()
            if stopped():
                return
            if lost > LOSSES:
                wrong = f"processes that ran trials, or their scheduler, were killed {lost} times ({error}): memory?"
                raise WorkersError(wrong) from error


def _run_on(
    where: Workers,
    jobs: Iterator[tuple[Any, Job]],
    again: list[tuple[Any, Job]],
    running: dict[Future[TrialResult], tuple[Any, Job]],
    take: Callable[[Any, TrialResult], tuple[Any, Job] | None],
    stopped: Callable[[], bool],
) -> bool:
    """True once all jobs are done, or those that ran when it was stopped."""
    while True:
        while len(running) < where.at_once and not stopped():
            job = again.pop(0) if again else next(jobs, None)
            if job is None:
                break
            here = job[1] if where.shares_folders else job[1].by_files()
            try:
                running[where.executor.submit(run_trial, here)] = job
            except BrokenExecutor:
                again.insert(0, job)
                raise
        if not running:
            return True
        done, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        if stopped():
            for future in [waiting for waiting in running if waiting.cancel()]:
                del running[future]
            done -= {waiting for waiting in done if waiting.cancelled()}
        for future in sorted(done, key=_in_vain):  # what is there is taken first
            name, _ = running[future]
            result = future.result()
            del running[future]
            follows = take(name, result)
            if follows is not None:
                again.append(follows)


def _in_vain(done: Future[TrialResult]) -> bool:
    return done.cancelled() or done.exception() is not None


def _warm_here(kinds: Sequence[Rig], progress: Progress) -> None:
    from hil.app.warm_up import warm_up

    for rig in kinds:
        warm_up(rig, progress)


def _begin_worker() -> None:
    """Ctrl-C is for the process that waits for the trials; if that is killed, this one ends."""
    os.setpgid(0, 0)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with(sentinel: int) -> None:
        wait_for([sentinel])
        os._exit(1)

    threading.Thread(target=end_with, args=(parent.sentinel,), daemon=True).start()


# How long a scheduler may take to answer, and how long one that was there, or its workers, may be away [s].
_CONNECT_S, AWAY_S = 5, 120
# Trials that are handed over before the first is back, for each thread of a worker, and at least.
_AHEAD, _AHEAD_AT_LEAST = 2, 64


class _AwayError(WorkersError):
    """There is no scheduler, or it has no workers; it may yet come."""


class SchedulerLostError(BrokenExecutor):
    """The connection to the scheduler is lost, and with it the trials that it had: another one does not know them."""


@contextmanager
def cluster(address: str, kinds: Sequence[Rig], progress: Callable[[str], None]) -> Iterator[Workers]:
    """Trials on the workers of a scheduler, which gives those of a worker that is lost to others.

    A scheduler that restarts is waited for, with its workers, for `AWAY_S`; `check_cluster` does not wait.

    TLS and its certificates are as Dask's own config says (`distributed.comm.tls`), with an address that begins with
    tls://.

    Args:
        address: of the scheduler, for example tcp://127.0.0.1:8786.
        kinds: rigs that between them need every kernel.
        progress: called with what goes on.

    Raises:
        WorkersError: dask is not installed, there is no scheduler, it has no worker, or they are gone.
        SchedulerLostError: the scheduler is gone. What it had not given back is to be handed over again.
    """
    with _connected(address, progress, AWAY_S) as client:
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        threads = client.nthreads()
        progress(f"compiling kernels on {len(threads)} workers of {address}, where they are not in the cache")
        texts = tuple(rig.config.model_dump_json() for rig in kinds)
        at_once = max(_AHEAD * sum(threads.values()), _AHEAD_AT_LEAST)
        try:
            _warm(client, threads, texts)
            yield Workers(client.get_executor(pure=False), at_once, shares_folders=False)
        except KilledWorker as error:
            wrong = f"its workers die ({_first_line(error)}); --resume goes on from here"
            raise WorkersError(f"--cluster {address}: {wrong}") from None
        except (CancelledError, CommClosedError) as error:
            progress(f"the scheduler {address} is gone: what it had is run again")
            raise SchedulerLostError(_first_line(error)) from None


def _warm(client: Any, workers: Iterable[str], texts: tuple[str, ...]) -> None:
    """Have kernels compiled on each worker; one that is lost meanwhile is not waited for: a trial compiles the rest."""
    at = {client.get_executor(workers=[one], pure=False).submit(warm, texts): one for one in workers}
    while at:
        wait(at, timeout=1.0)
        there = client.nthreads()
        at = {future: one for future, one in at.items() if not future.done() and one in there}


def check_cluster(address: str) -> None:
    """Look for the scheduler and its workers before anything is written. Raises WorkersError."""
    with _connected(address, lambda _: None, 0):
        pass


@contextmanager
def _connected(address: str, progress: Callable[[str], None], patience_s: float) -> Iterator[Any]:
    """A client of the scheduler, which has workers; both may take so long to be there."""
    until, said = time.monotonic() + patience_s, False
    while True:
        try:
            client = _client(address)
            break
        except _AwayError as error:
            if time.monotonic() >= until:
                raise
            if not said:
                progress(f"{error}; waiting {patience_s:.0f} s for them")
            said = True
        time.sleep(1.0)
    with client:
        yield client


def _client(address: str) -> Any:
    """See `_connected`.

    Raises:
        _AwayError: there is no scheduler, or it has no workers.
        WorkersError: no address, or dask is not installed.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise WorkersError(f"--cluster needs the extra cluster: {install_command('cluster')}") from None
    allowed = "the address that `dask scheduler` prints, for example tcp://127.0.0.1:8786"
    try:
        get_address_host_port(address, strict=True)
        connect: Any = Client  # it has no types
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        found = f"found no Dask scheduler ({_first_line(error)})"
        kind = _AwayError if isinstance(error, OSError) else WorkersError
        raise kind(f"--cluster {address}: {found}; allowed: {allowed}") from None
    if not client.nthreads():
        client.close()
        raise _AwayError(f"--cluster {address}: the scheduler has no workers: start some with `dask worker`")
    return client


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


T = TypeVar("T")


class _VersionCheckedExecutor(Executor):
    """Hands tasks to another executor; each is refused by a worker that has another version of rover-hil."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand it over."""
        return self._executor.submit(_checked, running_version(), fn, *args, **kwargs)


def _checked(version: str, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    if not same_commit(version, running_version()):
        raise OtherVersionError(
            f"a worker has rover-hil {running_version()}; allowed: {version}, as here: install the same everywhere"
        )
    return function(*args, **kwargs)


def with_workers(
    work: Callable[[Executor | None, bool], T], processes: int, address: str | None, progress: Progress
) -> T:
    """Do work whose tasks run elsewhere; all of it again if a process or the scheduler is lost meanwhile.

    Args:
        work: takes an executor (None: this process alone) and whether its processes see the folders of this one; it
            gives the same result whenever it is called.
        processes: of this computer.
        address: of a Dask scheduler, in their place; None: none.
        progress: called with what goes on.

    Raises:
        WorkersError: there is no scheduler, or workers were lost too often.
        OtherVersionError: a worker has another version.
    """
    for _ in range(LOSSES + 1):
        try:
            with _place(processes, address, progress) as where:
                alone = processes == 1 and address is None
                return work(None if alone else _VersionCheckedExecutor(where.executor), where.shares_folders)
        except BrokenExecutor as error:
            lost = error
    raise WorkersError(f"processes that worked, or their scheduler, were killed {LOSSES + 1} times ({lost})") from lost


def _place(processes: int, address: str | None, progress: Progress) -> AbstractContextManager[Workers]:
    if address is not None:
        return cluster(address, (), progress)
    return this_process((), progress) if processes == 1 else process_pool(processes, (), progress)
