"""Which endpoints other computers can reach."""

from __future__ import annotations

from ipaddress import ip_address


def is_local(endpoint: str) -> bool:
    """Whether only programs on this computer can reach a ZeroMQ endpoint: loopback addresses, localhost and ipc.

    A name other than localhost counts as reachable from outside, and so does an interface.
    """
    transport, _, place = endpoint.partition("://")
    if transport != "tcp":
        return transport in ("", "ipc")
    host = place.rpartition(":")[0]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
