"""The port of the simulated device server is for processes of its owner only."""

from __future__ import annotations

import socket

import pytest

from drivers.interfaces import DeviceError
from drivers.ni.session import NiSession
from drivers.ni.simulated import server as ni_server
from drivers.sim.protocol.udp import is_own, user_of

LISTED = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     7        0 1 1 0 20 4 30 10 -1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
"""


@pytest.mark.parametrize(
    ("host", "port", "user"),
    [
        ("127.0.0.1", 50000, 1000),
        ("127.0.0.1", 51234, 1000),  # a socket of IPv6
        ("127.0.0.1", 8080, 7),
        ("127.0.0.1", 50001, None),  # not there
        ("127.0.0.2", 50000, None),
        ("192.168.1.7", 50000, None),
        ("::1", 50000, None),
    ],
)
def test_the_user_of_a_connection_is_the_one_that_the_kernel_lists(tmp_path, host, port, user):
    (tmp_path / "tcp").write_text(LISTED)
    (tmp_path / "tcp6").write_text(LISTED.replace("0100007F:C350", "0000000000000000FFFF00000100007F:C822"))
    assert user_of(host, port, (tmp_path / "tcp", tmp_path / "tcp6")) == user


def test_the_kernel_lists_this_users_connection():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        host, port = client.getsockname()
        assert is_own(host, port)


def test_a_call_of_another_user_is_refused(machine, chassis, monkeypatch):
    monkeypatch.setattr(ni_server, "is_own", lambda *_: False)
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
