"""The simulated NI device server in virtual time."""

from __future__ import annotations

from typing_extensions import override

from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.server import WAKE_S
from drivers.ni.simulated.service import NiService
from drivers.sim.virtual.grpc import Network

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
