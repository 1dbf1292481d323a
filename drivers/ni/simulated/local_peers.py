"""Which user a connection on this computer comes from, as the kernel lists it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import grpc

# The kernel's lists of connections: own address and port in hexadecimal is the second column, the user the eighth. A
# socket of gRPC is one of IPv6, in which an address of IPv4 is the last four of sixteen bytes.
CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ADDRESS, _USER = 1, 7
_IPV4_IN_IPV6 = "0000000000000000FFFF0000"


class OwnerOnly(grpc.ServerInterceptor):  # type: ignore[misc]
    """Refuses calls of other users of this computer: a port on the loopback address is open to all of them.

    Calls of processes of this user are passed on. A connection is looked up once.

    Args:
        user: number of the user whose processes may call.
        connections: the kernel's lists.
    """

    def __init__(self, user: int, connections: Sequence[Path] = CONNECTIONS) -> None:
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


def _user_of(peer: str, connections: Sequence[Path]) -> int | None:
    """Number of the user; None: the peer is not on this computer, or its connection is gone."""
    kind, _, place = peer.partition(":")
    host, _, port = place.rpartition(":")
    if kind != "ipv4" or not host.startswith("127.") or not port.isdigit():
        return None
    address = bytes(reversed([int(part) for part in host.split(".")])).hex().upper()
    wanted = {f"{start}{address}:{int(port):04X}" for start in ("", _IPV4_IN_IPV6)}
    for listed in connections:
        for line in listed.read_text(encoding="ascii").splitlines()[1:] if listed.exists() else ():
            columns = line.split()
            if columns[_ADDRESS] in wanted:
                return int(columns[_USER])
    return None
