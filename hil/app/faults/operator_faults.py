"""Faults of the operator's side in lockstep: a console that is lost, and forged commands (rows 19, 20)."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from drivers.host import Computer
from hil.app.console import Console
from hil.app.faults.device_faults import judge
from hil.app.faults.injection import LOCKSTEP, NO_RUN, Case, Expected, Injection, Outcome
from hil.app.faults.lockstep import LockstepRun
from hil.config import Config
from hil.ipc.command_memory import LEASE, CommandMemory
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, LeaseChange, OperatorRequest, RefusedCommands, Start
from hil.operator.command_gate import CommandGate
from hil.operator.command_messages import MOST_REQUEST_BYTES, Hello, Lease, Request, Seal, Status, read_reply
from hil.safety.fault_table import FAULT_TABLE

# Forged commands of each kind.
FORGED = 1000
# Between two of them [ns]: so slowly that none is refused for coming too often.
BETWEEN_NS = 20_000_000
_TOKEN = bytes(range(32))


def operator_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """A lost console in every state after the start, with both settings; forged commands of every kind.

    Args:
        config: of the rig, in lockstep.
        states: a tick in each state (`state_ticks`).
    """
    bound_ms = FAULT_TABLE[Fault.CONSOLE_LOST].bound_for(config)
    for setting in ("stop", "finish"):
        for state, tick in states.items():
            if state in ("idle", "armed"):
                continue  # a run that has not started ends as by the operator's stop; this is no fault
            react_ms = None if setting == "finish" or bound_ms is None else bound_ms + config.links.drives_delay_ms
            expected = Expected(frozenset({Fault.CONSOLE_LOST}), bound_ms, react_ms)
            kind = f"no heartbeat, console_lost: {setting}"
            injection = Injection(Fault.CONSOLE_LOST, kind, "console", state, LOCKSTEP, config.name)
            yield Case(injection, expected, partial(_console_lost, config, setting, tick))
    for kind, forge in FORGERIES.items():
        injection = Injection(Fault.COMMAND_REFUSED, kind, "command socket", "-", NO_RUN, config.name)
        yield Case(injection, Expected(), partial(_forged, forge))


class _RunTime(Computer):
    """The time of a run in place of the computer's."""

    def __init__(self) -> None:
        super().__init__()
        self.run: LockstepRun | None = None

    def now_ns(self) -> int:
        """Time of the simulated rig [ns]."""
        return self.run.simulated_rig.plant.t_ns if self.run is not None else 0


def _console_lost(config: Config, setting: str, tick: int, expected: Expected) -> Outcome:
    """The client that holds the lease gives its last heartbeat in the tick before."""
    raw = config.model_dump(mode="json")
    raw["operator"]["console_lost"] = setting
    effective = Config.model_validate(raw)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-faults-")))
        memory = stack.enter_context(closing(CommandMemory(place / "memory", create=True)))
        last_ns = (tick - 1) * 1_000_000_000 // config.loop.rate_hz
        memory.lease.write(np.array([(b"console", 1, last_ns)], LEASE))
        host = _RunTime()
        console = Console(memory, host)
        run = host.run = LockstepRun(effective, alarms=[console.alarm])
        console.attend(run.cycle, place, config.experiment)
        run.at(tick, lambda _: None)
        return judge(run.run(), expected)


class _Sink:
    """Keeps what a gate lets through."""

    def __init__(self) -> None:
        self.accepted: list[object] = []

    def put(self, command: OperatorRequest) -> bool:
        """See `CommandSink`."""
        self.accepted.append(command)
        return True

    def report(self, notice: LeaseChange | RefusedCommands) -> None:
        """A notice changes nothing."""

    def set_lease(self, holder: str, t_ns: int) -> None:
        """See `CommandSink`; that nobody holds it is no change."""
        if holder:
            self.accepted.append((holder, t_ns))

    def status(self) -> bytes:
        """See `CommandSink`."""
        return b"{}"


class Client:
    """A client with a session; it holds no lease.

    Args:
        exchange: sends a frame, and returns the answer.
        token: that the server asks for.
    """

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


Forge = Callable[[Client, random.Random], bytes]


def _mutated(client: Client, chance: random.Random) -> bytes:
    frame = bytearray(client.frame(Lease("take")))
    frame[chance.randrange(len(frame))] ^= chance.randrange(1, 256)
    return bytes(frame)


FORGERIES: Mapping[str, Forge] = {
    "random bytes": lambda _, chance: chance.randbytes(chance.randrange(300)),
    "wrong key": lambda client, chance: client.frame(Lease("take"), chance.randbytes(32)),
    "mutated": _mutated,
    "oversized": lambda client, chance: client.frame(Start()) + chance.randbytes(MOST_REQUEST_BYTES),
    "without the lease": lambda client, chance: client.frame(chance.choice((Arm(), Start()))),
}


def _forged(forge: Forge, expected: Expected) -> Outcome:  # noqa: ARG001
    """Many forged commands: none may come through."""
    sink, chance = _Sink(), random.Random(1)
    gate = CommandGate(sink, _TOKEN)
    client = Client(lambda frame: gate.handle(frame, "", 0), _TOKEN)
    for number in range(FORGED):
        gate.handle(forge(client, chance), "", number * BETWEEN_NS)
    wrong = (f"{len(sink.accepted)} of {FORGED} came through",) if sink.accepted else ()
    return Outcome(wrong=wrong, remark=f"{FORGED} refused")
