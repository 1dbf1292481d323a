"""The simulated device server on a network, with the gRPC calls of the nidaqmx package."""

from __future__ import annotations

import threading
from concurrent import futures
from typing import Any

import grpc

from drivers.host import COMPUTER, Host
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.local_peers import owner_only
from drivers.ni.simulated.service import SERVICE, NiService

# A read blocks its thread while it waits: one thread for the sampled channels, and three for all other calls.
THREADS = 4
# Period of the watchdog check [s].
WAKE_S = 0.005


class NiServer(NiService):
    """The device server, in separate threads, for processes of the same user.

    Args:
        chassis: the chassis that it serves.
        host: whose clock is used.
    """

    def __init__(self, chassis: Chassis, host: Host = COMPUTER) -> None:
        super().__init__(chassis, host)
        self._server: Any = None
        self._awake = threading.Event()
        self._waker: threading.Thread | None = None

    def listen(self, host: str, port: int) -> int:
        """See `NiService`."""
        pool = futures.ThreadPoolExecutor(THREADS, thread_name_prefix="ni-server")
        self._server = grpc.server(pool, options=(("grpc.so_reuseport", 0),), interceptors=(owner_only(),))
        calls = grpc.method_handlers_generic_handler(SERVICE.full_name, self.handlers())
        self._server.add_generic_rpc_handlers((calls,))
        bound: int = self._server.add_insecure_port(f"{host}:{port}")
        self._server.start()
        if self._waker is None:
            self._awake.clear()
            self._waker = threading.Thread(target=self._wake, name="ni-watchdog", daemon=True)
            self._waker.start()
        return bound

    def disconnect(self) -> None:
        """See `NiService`."""
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def stop(self) -> None:
        """Stop serving; may be called twice."""
        self.switch_off()
        self._awake.set()
        if self._waker is not None:
            self._waker.join()
            self._waker = None

    def _wake(self) -> None:
        while not self._awake.wait(WAKE_S):
            self.chassis.wake(self.host.now_ns())
