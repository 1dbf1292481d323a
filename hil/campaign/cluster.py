"""Parts of one computation on processes of this computer, or on the workers of a Dask scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from drivers.extensions import install_command
from hil.campaign.trial import OtherVersionError, warm
from hil.campaign.workers import LOSSES, Progress, Workers, WorkersError, process_pool, this_process
from hil.config.rig import Rig
from hil.version import running_version, same_commit

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
