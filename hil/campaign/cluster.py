"""Trials on the workers of a Dask scheduler: the function that a process pool runs, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from typing import Any

from hil.campaign.trial import warm
from hil.campaign.workers import Workers, WorkersError
from hil.config import Config

# How long a scheduler may take to answer [s].
_CONNECT_S = 5
# Trials that are handed over before the first is back, for each thread of a worker, and at least.
_AHEAD, _AHEAD_AT_LEAST = 2, 64


@contextmanager
def cluster(address: str, kinds: Sequence[Config], progress: Callable[[str], None]) -> Iterator[Workers]:
    """Trials on the workers of a scheduler, which gives those of a worker that is lost to others.

    TLS and its certificates are as Dask's own config says (`distributed.comm.tls`), with an address that begins with
    tls://.

    Args:
        address: of the scheduler, for example tcp://127.0.0.1:8786.
        kinds: configs that between them need every kernel.
        progress: called with what goes on.

    Raises:
        WorkersError: dask is not installed, there is no scheduler, it has no worker, or they are gone.
    """
    with _connected(address) as client:
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        threads = client.nthreads()
        progress(f"compiling kernels on {len(threads)} workers of {address}, where they are not in the cache")
        texts = tuple(config.model_dump_json() for config in kinds)
        # a worker that is lost meanwhile is none of ours to report: a trial compiles what is missing
        wait([client.get_executor(workers=[one], pure=False).submit(warm, texts) for one in threads])
        at_once = max(_AHEAD * sum(threads.values()), _AHEAD_AT_LEAST)
        try:
            yield Workers(client.get_executor(pure=False), at_once, shares_folders=False)
        except (KilledWorker, CancelledError, CommClosedError) as error:
            wrong = f"the scheduler or its workers are gone ({_first_line(error)}); --resume goes on from here"
            raise WorkersError(f"--cluster {address}: {wrong}") from None


def check_cluster(address: str) -> None:
    """Look for the scheduler and its workers before anything is written. Raises WorkersError."""
    with _connected(address):
        pass


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise WorkersError("--cluster needs the extra cluster: pip install 'rover-hil[cluster]'") from None
    allowed = "the address that `dask scheduler` prints, for example tcp://127.0.0.1:8786"
    try:
        get_address_host_port(address, strict=True)
        connect: Any = Client  # it has no types
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        found = f"found no Dask scheduler ({_first_line(error)})"
        raise WorkersError(f"--cluster {address}: {found}; allowed: {allowed}") from None
    with client:
        if not client.nthreads():
            raise WorkersError(f"--cluster {address}: the scheduler has no workers: start some with `dask worker`")
        yield client


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
