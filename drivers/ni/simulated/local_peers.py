"""Which user a connection on this computer comes from, as the kernel lists it."""

from __future__ import annotations

import os
from pathlib import Path

import grpc

# The kernel's list of connections: own address and port in hexadecimal is the second column, the user the eighth.
CONNECTIONS = Path("/proc/net/tcp")
_ADDRESS, _USER = 1, 7


class OwnerOnly(grpc.ServerInterceptor):  # type: ignore[misc]
    """Refuses calls of other users of this computer: a port on the loopback address is open to all of them.

    Calls of processes of this user are passed on. A connection is looked up once.

    Args:
        user: number of the user whose processes may call.
        connections: the kernel's list.
    """

    def __init__(self, user: int, connections: Path = CONNECTIONS) -> None:
        self._user, self._connections = user, connections
        self._admitted: set[str] = set()

    def intercept_service(self, continuation, handler_call_details):  # type: ignore[no-untyped-def]
        """See grpc.ServerInterceptor."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None

        def checked(request: object, context: grpc.ServicerContext) -> object:
            if not self.admits(context.peer()):
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "this simulated rig belongs to another user")
            return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(checked, handler.request_deserializer, handler.response_serializer)

    def admits(self, peer: str) -> bool:
        """Whether a call comes from a process of the user.

        Args:
            peer: as gRPC names it, `ipv4:127.0.0.1:PORT`.
        """
        if peer not in self._admitted and _user_of(peer, self._connections) == self._user:
            self._admitted.add(peer)
        return peer in self._admitted


def owner_only() -> OwnerOnly:
    """Admits the user of this process."""
    return OwnerOnly(os.getuid())


def _user_of(peer: str, connections: Path) -> int | None:
    """Number of the user; None: the peer is not on this computer, or its connection is gone."""
    kind, _, place = peer.partition(":")
    host, _, port = place.rpartition(":")
    if kind != "ipv4" or not host.startswith("127.") or not port.isdigit():
        return None
    address = bytes(reversed([int(part) for part in host.split(".")])).hex().upper()
    wanted = f"{address}:{int(port):04X}"
    for line in connections.read_text(encoding="ascii").splitlines()[1:]:
        columns = line.split()
        if columns[_ADDRESS] == wanted:
            return int(columns[_USER])
    return None
