"""Cases of forged commands and of a subscriber that never reads, without a run (rows 20, 21); and their runner.

Commands are forged at the gate, and at the socket of a command server's process.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import msgspec
import numpy as np
import zmq
from typing_extensions import override

from hil.app.faults.case import NO_RUN, PROCESSES, Case, InjectionOutcome, NotInjectedError
from hil.app.faults.lockstep import LockstepRun
from hil.app.server_process import CommandServer
from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.equipment import OperatorConfig
from hil.ipc.shared_types import LEASE, CommandMemory, SharedOperator
from hil.messages.fault import Fault
from hil.messages.operator_input import NOTICES, Arm, LeaseChange, OperatorRequest, RefusedCommands, Start
from hil.operator.client import read_reply
from hil.operator.command_messages import MOST_REQUEST_BYTES, CommandGate, CommandSink, Hello, Lease, Request, Status
from hil.operator.curve import Seal
from hil.operator.runtime_folder import read_token
from hil.operator.telemetry import Publisher

SUBSCRIBER_SLOW = 21
# Forged commands of each kind at the gate, and between two of them [ns]: so slowly that none is refused for coming too
# often.
FORGED, BETWEEN_NS = 1000, 20_000_000
# The same at the socket, and in how many pieces they are sent: the ring of commands is looked at after each.
FORGED_AT_SOCKET, PIECE = 400, 20
# How long an answer or a message on the way may take [ms]; only a server that is gone needs so long.
ANSWER_MS = 20_000
# A valid request is made so often at most, and waits so long for its answer [ms].
TRIES, TRY_MS = 20, 1000
# Ticks that are published, and after how many the subscriber that reads has to have them all. So many do not fit into
# the buffers of a subscriber that does not read.
PUBLISHED, READ_EVERY = 8_000, 200
ANYWHERE = "tcp://127.0.0.1:*"
_TOKEN = bytes(range(32))


def command_cases(config: Config) -> Iterator[Case]:
    """Forged commands of every kind at the gate and at the socket, and a subscriber that never reads."""
    refused = Fault.COMMAND_REFUSED
    at_socket = partial(_forged_at_socket, config.operator)
    for level, forged in ((NO_RUN, _forged_at_gate), (PROCESSES, at_socket)):
        for kind in FORGERIES:
            yield Case(refused, kind, "command socket", "-", level, config, run_case, partial(forged, kind))
    never_reads = partial(_never_reads, config)
    yield Case(SUBSCRIBER_SLOW, "never reads", "subscriber", "-", NO_RUN, config, run_case, never_reads)


def run_case(case: Case) -> InjectionOutcome:
    """Make a case whose `act` looks itself at the outcome. Raises NotInjectedError.

    Args:
        case: `act` takes nothing, and returns what is wrong, in words, and a remark.
    """
    wrong, remark = case.act()
    return InjectionOutcome(wrong=(wrong,) if wrong else (), remark=remark)


class Client:
    """A client with a session; it holds no lease."""

    def __init__(self, exchange: Callable[[bytes], bytes | None], token: bytes) -> None:
        self._seal, self._number, self._session = Seal(token, "request"), 0, ""
        reply = Seal(token, "reply").opened(exchange(self.frame(Hello("client", "n"))) or b"")
        assert reply is not None
        self._session = read_reply(reply).session

    def frame(self, command: OperatorRequest | Hello | Lease | Status, token: bytes | None = None) -> bytes:
        """A request with the next number, under the client's own token or another."""
        self._number += 1
        seal = self._seal if token is None else Seal(token, "request")
        return seal.closed(msgspec.json.encode(Request(self._session, self._number, command)))


def _mutated(client: Client, chance: random.Random) -> bytes:
    frame = bytearray(client.frame(Lease("take")))
    frame[chance.randrange(len(frame))] ^= chance.randrange(1, 256)
    return bytes(frame)


FORGERIES: Mapping[str, Callable[[Client, random.Random], bytes]] = {
    "random bytes": lambda _, chance: chance.randbytes(chance.randrange(300)),
    "wrong key": lambda client, chance: client.frame(Lease("take"), chance.randbytes(32)),
    "mutated": _mutated,
    "oversized": lambda client, chance: client.frame(Start()) + chance.randbytes(MOST_REQUEST_BYTES),
    "without the lease": lambda client, chance: client.frame(chance.choice((Arm(), Start()))),
}


class _Sink(CommandSink):
    """Keeps what a gate lets through."""

    def __init__(self) -> None:
        self.accepted: list[object] = []

    @override
    def put(self, command: OperatorRequest) -> bool:
        self.accepted.append(command)
        return True

    def report(self, notice: LeaseChange | RefusedCommands) -> None:
        """A notice changes nothing."""

    @override
    def set_lease(self, holder: str, t_ns: int) -> None:
        """That nobody holds it is no change."""
        if holder:
            self.accepted.append((holder, t_ns))

    @override
    def status(self) -> bytes:
        return b"{}"


def _forged_at_gate(kind: str) -> tuple[str, str]:
    """Many forged commands: none may come through."""
    sink, chance = _Sink(), random.Random(1)
    gate = CommandGate(sink, _TOKEN)
    client = Client(lambda frame: gate.handle(frame, "", 0), _TOKEN)
    for number in range(FORGED):
        gate.handle(FORGERIES[kind](client, chance), "", number * BETWEEN_NS)
    return f"{len(sink.accepted)} of {FORGED} came through" if sink.accepted else "", f"{FORGED} refused"


def _forged_at_socket(section: OperatorConfig, kind: str) -> tuple[str, str]:
    """Send forged commands to a command server, and look at what it has handed to the loop."""
    open_to_token = section.model_copy(update={"endpoint": ANYWHERE, "keys": None})
    with ExitStack() as stack:
        server = stack.enter_context(CommandServer(open_to_token, "faults"))
        assert server.token_file is not None
        token, chance = read_token(server.token_file), random.Random(1)
        context = stack.enter_context(zmq.Context())
        dealer = stack.enter_context(context.socket(zmq.DEALER))
        dealer.linger = 0
        dealer.connect(server.endpoint)
        client = Client(partial(_answer, dealer), token)
        handed = SharedOperator(server.memory.commands)
        through = 0
        for _ in range(FORGED_AT_SOCKET // PIECE):
            for _ in range(PIECE):
                dealer.send(FORGERIES[kind](client, chance))
            if not _answers(dealer, client, token):
                return "the command server does not answer any more", ""
            through += sum(not isinstance(command, NOTICES) for command in handed.read()) + _held(server.memory)
    wrong = f"{through} of {FORGED_AT_SOCKET} came through" if through else ""
    return wrong, f"{FORGED_AT_SOCKET} refused, and the next valid request answered"


def _answers(dealer: zmq.Socket[bytes], client: Client, token: bytes) -> bool:
    """Whether a valid request is answered after those before it; it is made again, for the connection may be new."""
    replies = Seal(token, "reply")
    for _ in range(TRIES):
        dealer.send(client.frame(Status()))
        while dealer.poll(TRY_MS):
            content = replies.opened(dealer.recv())
            if content is not None and read_reply(content).ok:
                return True
    return False


def _answer(dealer: zmq.Socket[bytes], frame: bytes) -> bytes:
    dealer.send(frame)
    return dealer.recv() if dealer.poll(ANSWER_MS) else b""


def _held(memory: CommandMemory) -> int:
    """1 if anybody holds the operator lease."""
    row = np.zeros(1, LEASE)
    memory.lease.read(row)
    return int(row["held"][0])


def _never_reads(config: Config) -> tuple[str, str]:
    """Publish more ticks than one subscriber's buffers hold; the other must get each of them, and nothing may wait."""
    rate_hz = config.loop.rate_hz
    ticks = np.resize(LockstepRun(Rig(config)).run().ticks, PUBLISHED)
    ticks["tick"] = np.arange(1, PUBLISHED + 1)
    ticks["drives_stopped_ns"] = -1
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher(ANYWHERE, rate_hz, rate_hz, 0.0, config.layout))
        slow, reads = (stack.enter_context(closing(_Viewer(publisher))) for _ in range(2))
        got = 0
        for first in range(0, PUBLISHED, READ_EVERY):
            publisher.tick(ticks[first : first + READ_EVERY])
            got += reads.take(READ_EVERY)
        kept = slow.take(PUBLISHED)
    if kept == PUBLISHED:
        raise NotInjectedError("its buffers held everything")
    wrong = "" if got == PUBLISHED else f"{PUBLISHED - got} messages of {PUBLISHED} lost for the one that reads"
    return wrong, f"{PUBLISHED - kept} of {PUBLISHED} messages dropped, none for another one"


class _Viewer:
    """A subscriber of a publisher's ticks, with little room for what it has not read; connected once it is made."""

    def __init__(self, publisher: Publisher) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.rcvbuf, self._socket.rcvhwm = 65_536, READ_EVERY
        self._socket.subscribe(b"")
        self._socket.connect(publisher.endpoint)
        while not self._socket.poll(10):  # a subscription takes its time
            publisher.trial({"here": 1})
        while self._socket.poll(100):
            self._socket.recv_multipart()

    def take(self, count: int) -> int:
        """Read so many ticks, or those that there are; how many there were."""
        for taken in range(count):
            if not self._socket.poll(ANSWER_MS if count == READ_EVERY else 1000):
                return taken
            message: Any = self._socket.recv_multipart()
            msgspec.msgpack.decode(message[1])
        return count

    def close(self) -> None:
        """Disconnect."""
        self._context.destroy(linger=0)
