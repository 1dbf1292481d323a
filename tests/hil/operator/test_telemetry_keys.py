"""With keys, only viewers whose key is allowed see anything; without, only programs on this computer."""

from __future__ import annotations

import pytest
import zmq

from drivers.interfaces import DeviceError
from hil.config import load_config
from hil.config.schema.equipment import KeysConfig
from hil.messages.layout import SENSORS, Layout
from hil.operator.curve import prove, read_key_pair, read_public_key
from hil.operator.telemetry import Publisher, open_publisher
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
# Messages published for a viewer that gets none; one that is allowed gets the first within a few.
MANY = 100


@pytest.fixture
def publisher(tmp_path, keys):
    """And the public key of its computer."""
    secret, public = keys("rig")
    section = KeysConfig(secret=str(secret), clients=str(tmp_path / "clients"))
    with Publisher("tcp://127.0.0.1:*", 100.0, 1000.0, 0.0, LAYOUT, section) as made:
        yield made, public


def received(publisher, secure, messages=None):
    """Whether a viewer gets a message of so many; None: it has to."""
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        secure(socket)
        socket.subscribe(b"")
        socket.connect(publisher.endpoint)
        sent = 0
        while messages is None or sent < messages:
            publisher.trial({"sent": sent}, t_ns=0)
            sent += 1
            if socket.poll(5):
                return True
    return False


def test_a_viewer_with_an_allowed_key_gets_messages(publisher, keys):
    made, public = publisher
    secret, _ = keys("anna", allowed=True)
    assert received(made, lambda socket: prove(socket, read_key_pair(secret), read_public_key(public)))


def test_a_viewer_with_another_key_or_none_gets_nothing_and_the_allowed_one_goes_on(publisher, keys):
    made, public = publisher
    (allowed, _), (other, _) = keys("anna", allowed=True), keys("eva")
    assert not received(made, lambda socket: prove(socket, read_key_pair(other), read_public_key(public)), MANY)
    assert not received(made, lambda _: None, MANY)
    assert received(made, lambda socket: prove(socket, read_key_pair(allowed), read_public_key(public)))


def test_off_this_computer_nothing_is_published_without_keys():
    with pytest.raises(ValueError, match=r"other computers reach: telemetry\.keys is needed"):
        Publisher("tcp://0.0.0.0:*", 100.0, 1000.0, 0.0, LAYOUT)


def test_a_run_whose_keys_are_missing_does_not_begin(tmp_path):
    keys = f"telemetry.keys={{secret: {tmp_path / 'no.key_secret'}, clients: {tmp_path}}}"
    config = load_config("sim_impact", [keys])
    with pytest.raises(DeviceError, match=r"telemetry\.keys: .*no\.key_secret: .*hil keys new"):
        open_publisher(config.telemetry, config.loop.rate_hz, config.layout, print)
