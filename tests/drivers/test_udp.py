"""A UDP port of this computer, with datagrams that the test lets come."""

from types import SimpleNamespace

import pytest

from drivers import host
from drivers.host import UdpPort

SLICE_S = 0.005
OURS, FOREIGN = ("127.0.0.1", 1510), ("192.0.2.7", 5000)


class Network:
    """Datagrams wait, or come every `period_s`; the first `foreign` are of another computer."""

    def __init__(self, period_s, foreign):
        self.t_s, self._period_s, self._left = 0.0, period_s, foreign

    def settimeout(self, seconds):
        self._patience_s = seconds

    def recvfrom(self, most):
        if self._patience_s and self._period_s > self._patience_s:
            self.t_s += self._patience_s
            raise TimeoutError
        self.t_s += self._period_s
        self._left -= 1
        return (b"ours", OURS) if self._left < 0 else (b"foreign", FOREIGN)

    def close(self):
        pass


@pytest.fixture
def port(monkeypatch):
    def make(period_s, foreign):
        made = UdpPort("127.0.0.1:1510", SLICE_S)
        made._socket.close()
        made._socket = network = Network(period_s, foreign)
        monkeypatch.setattr(host, "time", SimpleNamespace(monotonic=lambda: network.t_s))
        return made

    return make


@pytest.mark.parametrize(("wait", "period_s"), [(True, 1 / 600), (False, 1e-5)], ids=["come", "wait already"])
def test_datagrams_of_others_do_not_hold_a_receiver_longer_than_its_slice(port, wait, period_s):
    """600 a second held one call for 486 ms, in which a worker cannot show that it is alive."""
    made = port(period_s, foreign=10**9)
    assert made.receive(wait=wait) is None
    assert made._socket.t_s <= SLICE_S + 2e-5


def test_a_datagram_of_ours_among_others_is_received(port):
    assert port(0.001, foreign=3).receive(wait=True) == b"ours"
