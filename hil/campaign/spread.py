"""Parts of one computation on processes of this computer, or on the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from hil.campaign.cluster import cluster
from hil.campaign.trial import OtherVersionError
from hil.campaign.workers import LOSSES, Progress, Workers, WorkersError, process_pool, this_process
from hil.version import running_version, same_commit

T = TypeVar("T")


class _SameVersion(Executor):
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
                return work(None if alone else _SameVersion(where.executor), where.shares_folders)
        except BrokenExecutor as error:
            lost = error
    raise WorkersError(f"processes that worked, or their scheduler, were killed {LOSSES + 1} times ({lost})") from lost


def _place(processes: int, address: str | None, progress: Progress) -> AbstractContextManager[Workers]:
    if address is not None:
        return cluster(address, (), progress)
    return this_process((), progress) if processes == 1 else process_pool(processes, (), progress)
