"""No forged, recorded, oversized or mutated request changes anything without a valid key and the operator lease.

`make fuzz` sets HIL_FUZZ=1: other random numbers each time, and ten times as many requests.
"""

from __future__ import annotations

import os
import random

import msgspec
import pytest

from hil.messages.operator_input import Arm, ChoosePlan, ClearFault, EStop, Jog, Set, SetPoint, Start, Stop
from hil.operator.command_messages import MOST_REQUEST_BYTES, Hello, Lease, Request, Status
from hil.operator.curve import CODE_BYTES, Seal

FUZZ = bool(os.environ.get("HIL_FUZZ"))
EACH = 220_000 if FUZZ else 22_000  # of five kinds, stops that have to work among those of the last
SEED = random.SystemRandom().randrange(2**32) if FUZZ else 14
COMMANDS = (
    Arm(), Start(), Stop("enough"), EStop(), ClearFault(18), SetPoint("speed_mps", 0.2), Jog(("all",), 0.1, 1.0),
    Set("trial.angle_deg", 90), ChoosePlan("thesis"), Lease("take"), Lease("release"), Lease("keep"), Status(),
    Hello("eva", "n"),
)  # fmt: skip
CHANGES = tuple(one for one in COMMANDS if not isinstance(one, Stop | EStop | Lease | Status | Hello))


@pytest.fixture(params=[SEED])
def rng(request):
    return random.Random(request.param)


@pytest.fixture
def console(client, sink):
    """A client that holds the lease; what it did is not counted."""
    console = client("console")
    console.lease("take")
    yield console
    assert console.lease("keep").lease.yours  # it still does, whatever came in between
    assert console.ask(Arm()).ok
    assert sink.commands == [Arm()]
    assert {holder for holder, _ in sink.leases[1:]} == {"console"}


def encoded(session, sequence, command):
    return msgspec.json.encode(Request(session, sequence, command))


@pytest.mark.slow
def test_forged_requests_change_nothing(gate, console, rng):
    """No key, a wrong key, the code of another message; random bytes."""
    other = Seal(rng.randbytes(32), "request")
    for number in range(EACH):
        content = encoded(console.session, 1000 + number, rng.choice(COMMANDS))
        code = console.requests.closed(encoded(console.session, number, rng.choice(COMMANDS)))[:CODE_BYTES]
        kinds = (content, bytes(CODE_BYTES) + content, other.closed(content), rng.randbytes(rng.randrange(200)))
        frame = kinds[number % 4] if number % 5 else code + content
        assert console.gate.handle(frame, "", 0) is None or gate.refused.total() == number + 1
    assert gate.refused.total() == EACH


def test_mutated_requests_change_nothing(gate, console, rng):
    """A bit, a byte or a piece of a valid request is changed on its way."""
    for number in range(EACH):
        frame = bytearray(console.requests.closed(encoded(console.session, 1000 + number, rng.choice(COMMANDS))))
        whole, at = bytes(frame), rng.randrange(len(frame))
        match number % 4:
            case 0:
                frame[at] ^= 1 << rng.randrange(8)
            case 1:
                del frame[at : at + rng.randrange(1, 20)]
            case 2:
                frame[at:at] = rng.randbytes(rng.randrange(1, 20))
            case _:
                frame += rng.randbytes(rng.randrange(1, 20))
        assert bytes(frame) != whole
        gate.handle(bytes(frame), "", 0)
    assert gate.refused["not_authenticated"] == EACH


@pytest.mark.slow
def test_replayed_requests_change_nothing(gate, console, rng):
    """Recorded from the console in this session and in an earlier one, stops among them."""
    earlier = [console.requests.closed(encoded("0" * 32, number, rng.choice(COMMANDS[:-1]))) for number in range(500)]
    console.sequence = 500
    recorded = [
        console.requests.closed(encoded(console.session, number, rng.choice(COMMANDS[:-1])))
        for number in range(1, console.sequence + 1)
    ]
    assert console.ask(Status()).ok  # its number is above all of these
    for _ in range(EACH):
        gate.handle(rng.choice(rng.choice((earlier, recorded))), "", 0)
    assert gate.refused["replayed"] + gate.refused["no_session"] == EACH


@pytest.mark.slow
def test_oversized_requests_change_nothing(gate, console, rng):
    """With a valid key and a command that would be obeyed, were it shorter."""
    spaces = b" " * MOST_REQUEST_BYTES
    for number in range(EACH):
        content = encoded(console.session, 1000 + number, rng.choice(COMMANDS))
        gate.handle(console.requests.closed(content + spaces[: MOST_REQUEST_BYTES - len(content) + 1]), "", 0)
    assert gate.refused["too_long"] == EACH


@pytest.mark.slow
def test_commands_without_the_lease_change_nothing_and_stops_among_them_work(gate, console, client, sink, rng):
    """A valid key; well formed, of a wrong form, or with fields that are not known."""
    other, stops, now_ns = client("other"), 0, 0
    for number in range(EACH):
        if number % 50 == 0:
            now_ns += 400_000_000
            console.now_ns = other.now_ns = now_ns
            console.lease("keep")
        match number % 5:
            case 0:
                assert other.ask(Stop() if number % 2 else EStop()).ok
                stops += 1
            case 1 | 2:
                assert other.ask(rng.choice(CHANGES)).refusal in ("no_lease", "too_many")
            case 3:
                assert other.lease(rng.choice(("take", "keep", "release"))).refusal in ("lease_held", "lease_lost")
            case _:
                content = encoded(other.session, other.sequence + 1, rng.choice(CHANGES))
                at = rng.randrange(1, len(content))
                wrong = rng.choice((content[:at], content + b"}", content[:-1] + b',"lease":"mine"}'))
                assert other.send(other.requests.closed(wrong)).refusal == "malformed"
    assert len(sink.commands) == stops == EACH / 5
    assert {type(command) for command in sink.commands} == {Stop, EStop}
    sink.commands.clear()


def test_the_gate_answers_anything_that_a_client_with_a_key_sends(gate, console, client, sink, rng):
    """Any bytes, any JSON: refused or answered, and never an exception, which would end the server."""
    other = client("other")
    values = (b"null", b"1e999", b"NaN", b'"\\ud800"', b"[" * 2000, b'{"a":' * 700, b'"\xff"', b"1" * 500, b"-0", b"{}")
    for number in range(EACH // 10):
        value = rng.choice((*values, rng.randbytes(rng.randrange(300))))
        parts = (
            value,
            b'{"session":%s,"sequence":%d,"command":{"type":"stop"}}' % (value, number),
            b'{"session":"%s","sequence":%s,"command":{"type":"start"}}' % (other.session.encode(), value),
            b'{"session":"%s","sequence":%d,"command":%s}' % (other.session.encode(), number, value),
            b'{"session":"","sequence":1,"command":{"type":"hello","name":%s,"nonce":%s}}' % (value, value),
        )
        reply = other.send(other.requests.closed(parts[number % 5]))
        assert not reply.ok
    assert sink.commands == []
