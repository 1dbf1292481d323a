"""Faults at real sockets: forged commands at the command server's process, and a slow subscriber (rows 20, 21)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import msgspec
import numpy as np
import zmq

from hil.app.command_server import CommandServer
from hil.app.faults.injection import NO_RUN, PROCESSES, Case, Expected, Injection, Outcome
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.operator_faults import FORGERIES, Client, Forge
from hil.config import Config
from hil.ipc.command_memory import LEASE, CommandMemory
from hil.ipc.operator import SharedOperator
from hil.messages.fault import Fault
from hil.messages.operator_input import NOTICES
from hil.operator.command_messages import Seal, Status, read_reply
from hil.operator.runtime_folder import read_token
from hil.operator.telemetry import Publisher

SUBSCRIBER_SLOW = 21
# Forged commands of each kind, and in how many pieces they are sent: the ring of commands is looked at after each.
FORGED, PIECE = 400, 20
# How long an answer or a message on the way may take [ms]; only a server that is gone needs so long.
ANSWER_MS = 20_000
# A valid request is made so often at most, and waits so long for its answer [ms].
TRIES, TRY_MS = 20, 1000
# Ticks that are published, and after how many the subscriber that reads has to have them all. So many do not fit into
# the buffers of a subscriber that does not read.
PUBLISHED, READ_EVERY = 8_000, 200
ANYWHERE = "tcp://127.0.0.1:*"


def socket_cases(config: Config) -> Iterator[Case]:
    """Forged commands of every kind, and a subscriber that never reads.

    Args:
        config: of the rig, in lockstep.
    """
    for kind, forge in FORGERIES.items():
        injection = Injection(Fault.COMMAND_REFUSED, kind, "command socket", "-", PROCESSES, config.name)
        yield Case(injection, Expected(), partial(_forged, config, forge))
    injection = Injection(SUBSCRIBER_SLOW, "never reads", "subscriber", "-", NO_RUN, config.name)
    yield Case(injection, Expected(), partial(_never_reads, config))


def _forged(config: Config, forge: Forge, expected: Expected) -> Outcome:  # noqa: ARG001
    """Send forged commands to the command server, and look at what it has handed to the loop."""
    operator = config.operator.model_copy(update={"endpoint": ANYWHERE, "keys": None})
    with ExitStack() as stack:
        server = stack.enter_context(CommandServer(config.model_copy(update={"operator": operator})))
        assert server.token_file is not None
        token, chance = read_token(server.token_file), random.Random(1)
        context = stack.enter_context(zmq.Context())
        dealer = stack.enter_context(context.socket(zmq.DEALER))
        dealer.linger = 0
        dealer.connect(server.endpoint)
        client = Client(partial(_answer, dealer), token)
        handed = SharedOperator(server.memory.commands)
        through = 0
        for _ in range(FORGED // PIECE):
            for _ in range(PIECE):
                dealer.send(forge(client, chance))
            if not _answers(dealer, client, token):
                return Outcome(wrong=("the command server does not answer any more",))
            through += sum(not isinstance(command, NOTICES) for command in handed.read()) + _held(server.memory)
    wrong = (f"{through} of {FORGED} came through",) if through else ()
    return Outcome(wrong=wrong, remark=f"{FORGED} refused, and the next valid request answered")


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


def _never_reads(config: Config, expected: Expected) -> Outcome:  # noqa: ARG001
    """Publish more ticks than one subscriber's buffers hold; the other must get each of them, and nothing may wait."""
    rate_hz = config.loop.rate_hz
    ticks = np.resize(LockstepRun(config).run().ticks, PUBLISHED)
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
        return Outcome(disturbed="its buffers held everything", injected=False)
    wrong = () if got == PUBLISHED else (f"{PUBLISHED - got} messages of {PUBLISHED} lost for the one that reads",)
    return Outcome(wrong=wrong, remark=f"{PUBLISHED - kept} of {PUBLISHED} messages dropped, none for another one")


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
