"""The port of the simulated device server is for processes of its owner only."""

from __future__ import annotations

import os
import socket

import pytest

from drivers.interfaces import DeviceError
from drivers.ni.session import NiSession
from drivers.ni.simulated import server as ni_server
from drivers.ni.simulated.local_peers import CONNECTIONS, OwnerOnly, owner_only

LISTED = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     7        0 1 1 0 20 4 30 10 -1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
"""


@pytest.mark.parametrize(
    ("peer", "admitted"),
    [
        ("ipv4:127.0.0.1:50000", True),
        ("ipv4:127.0.0.1:51234", True),  # a socket of IPv6
        ("ipv4:127.0.0.1:8080", False),  # of another user
        ("ipv4:127.0.0.1:50001", False),  # not there
        ("ipv4:127.0.0.2:50000", False),
        ("ipv4:192.168.1.7:50000", False),
        ("ipv6:%5B::1%5D:50000", False),
        ("unix:/x", False),
        ("", False),
    ],
)
def test_only_a_connection_of_the_owner_is_admitted(tmp_path, peer, admitted):
    (tmp_path / "tcp").write_text(LISTED)
    (tmp_path / "tcp6").write_text(LISTED.replace("0100007F:C350", "0000000000000000FFFF00000100007F:C822"))
    assert OwnerOnly(1000, (tmp_path / "tcp", tmp_path / "tcp6")).admits(peer) is admitted


def test_the_kernel_lists_this_users_connection():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer = f"ipv4:127.0.0.1:{client.getsockname()[1]}"
        assert owner_only().admits(peer)
        assert not OwnerOnly(os.getuid() + 1, CONNECTIONS).admits(peer)


def test_a_call_of_another_user_is_refused(machine, chassis, monkeypatch):
    monkeypatch.setattr(ni_server, "owner_only", lambda: OwnerOnly(os.getuid() + 1))
    server = ni_server.NiServer(chassis, machine)
    address = f"127.0.0.1:{server.serve('127.0.0.1', 0)}"
    try:
        session = NiSession("daq", address, lambda: None)
        session.open()
        with pytest.raises(DeviceError, match="belongs to another user"):
            session.devices()
        session.close()
    finally:
        server.stop()
