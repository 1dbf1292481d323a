"""The simulated device server on a network, for the calls of the nidaqmx package."""

from __future__ import annotations

import threading
import time

from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.service import NiService
from drivers.rpc.server import Server
from drivers.sim.protocol.local_peers import is_own
from drivers.sim.virtual.grpc import Network

# Period of the watchdog check while its time runs [s].
WAKE_S = 0.005


class NiServer(NiService):
    """The device server, with a thread for each connection, for processes of the same user.

    Args:
        chassis: the chassis that it serves.
        host: whose clock is used.
    """

    def __init__(self, chassis: Chassis, host: Host = COMPUTER) -> None:
        super().__init__(chassis, host)
        self._server = Server(self.handlers(), is_own)
        self._ending = False
        self._waker: threading.Thread | None = None

    @override
    def listen(self, host: str, port: int) -> int:
        bound = self._server.listen(host, port)
        if self._waker is None:
            self._ending = False
            self._waker = threading.Thread(target=self._wake, name="ni-watchdog", daemon=True)
            self._waker.start()
        return bound

    @override
    def disconnect(self) -> None:
        self._server.stop()

    def stop(self) -> None:
        """Stop serving; may be called twice."""
        self.switch_off()
        self._ending = True
        self.chassis.watched.set()  # the thread may wait for it
        if self._waker is not None:
            self._waker.join()
            self._waker = None
            self.chassis.watched.clear()

    def _wake(self) -> None:
        while not self._ending:
            self.chassis.watched.wait()
            time.sleep(WAKE_S)
            self.chassis.wake(self.host.now_ns())


_WAKE_NS = round(WAKE_S * 1e9)


class VirtualNiServer(NiService):
    """The simulated device server, called by `Channel` instead of gRPC.

    Args:
        chassis: the chassis that it serves.
        network: the virtual network that it listens on.
    """

    def __init__(self, chassis: Chassis, network: Network) -> None:
        super().__init__(chassis, network)
        self._network, self._listens_at = network, ""
        self.called = self.handlers()
        self._wake()

    @override
    def listen(self, host: str, port: int) -> int:
        self._listens_at = f"{host}:{port}"
        self._network.servers[self._listens_at] = self
        return port

    @override
    def disconnect(self) -> None:
        self._network.servers.pop(self._listens_at, None)

    def _wake(self) -> None:
        time = self._network.time
        self.chassis.wake(time.now_ns)
        time.call_at(time.now_ns + _WAKE_NS, self._wake)
