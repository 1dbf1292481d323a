"""Where simulated trials run: in this process or in a process pool; on a cluster: `hil.campaign.cluster`."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from drivers.interfaces import DeviceError
from hil.campaign.trial import Job, TrialResult, run_trial
from hil.config.rig import Rig

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
    context.set_forkserver_preload(["hil.campaign.preload"])
    with _one_thread_for_blas():
        ensure_running()
    _warm_here(kinds, progress)
    executor = ProcessPoolExecutor(count, context, initializer=_begin_worker)
    try:
        yield Workers(executor, 2 * count, shares_folders=True)
    finally:
        executor.shutdown(cancel_futures=True)


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
