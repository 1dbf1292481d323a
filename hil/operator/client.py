"""A client of the command socket: commands, status and the operator lease, for scripts and for `hil command`.

Ten lines that make a run are in docs/how-to/operate.md.
"""

from __future__ import annotations

import getpass
import os
import platform
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import zmq

from hil.messages.operator_input import (
    Arm,
    ChoosePlan,
    ClearFault,
    EStop,
    OperatorRequest,
    Set,
    SetPoint,
    Start,
    Stop,
)
from hil.operator.command_messages import Hello, Lease, LeaseState, Reply, Request, Status
from hil.operator.curve import Seal, prove, read_key_pair, read_public_key
from hil.operator.runtime_folder import find_running, read_token

# How long a reply may take [s].
ANSWER_S = 2.0
# Between two heartbeats of the lease [s]; the lease expires after 0.5 s without one.
HEARTBEAT_S = 0.1
# Between two looks at the status [s].
_LOOK_AGAIN_S = 0.05


class CommandError(Exception):
    """A command was refused, or there is no answer.

    Attributes:
        refusal: why it was refused (`hil.operator.command_messages.Refusal`); None: there was no answer.
    """

    def __init__(self, text: str, refusal: str | None = None) -> None:
        super().__init__(text)
        self.refusal = refusal


class CommandClient:
    """A client of one running `hil operate`. Several threads may use it.

    Args:
        token: of the token file (`hil.operator.runtime_folder.read_token`); None with keys.
        keys: files of this client's secret key and of the rig's public key; None with a token.
        name: of the client, as others see it; None: USER@COMPUTER-PROCESS. Clients with the same key and name count as
            one: they share the operator lease.

    Attributes:
        lease_state: as the last reply has it; who asks for it is new with each heartbeat.

    Raises:
        CommandError: there is no answer, or the key is not valid there.
        KeysError: a key file is not in order.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        token: bytes | None = None,
        keys: tuple[Path, Path] | None = None,
        name: str | None = None,
    ) -> None:
        self._endpoint, self._token, self._keys = endpoint, token, keys
        self._name = name or own_name(f"-{os.getpid()}")
        self._requests, self._replies = Seal(token, "request"), Seal(token, "reply")
        self._lock = threading.Lock()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._session, self._sequence = "", 0
        self._heartbeat: threading.Thread | None = None
        self._release = threading.Event()
        self._lost = ""
        self.lease_state = LeaseState("", yours=False, held_before=False, asked_by="")
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @classmethod
    def running(cls, name: str | None = None) -> Self:
        """A client of the only running `hil operate` of this user on this computer.

        Raises:
            CommandError: there is none, or more than one, or it needs keys.
        """
        running = find_running()
        if not running:
            raise CommandError("no hil operate of this user is running: start one with `hil operate CONFIG`")
        if len(running) > 1:
            each = "".join(f"\n  {server.config}: process {server.pid}, {server.endpoint}" for server in running)
            raise CommandError(f"{len(running)} hil operate are running, name one by its endpoint:{each}")
        server = running[0]
        if server.token_file is None:
            raise CommandError(f"hil operate at {server.endpoint} needs keys (hil keys new)")
        return cls(server.endpoint, token=read_token(Path(server.token_file)), name=name)

    def _connect(self) -> None:
        self._socket.setsockopt(zmq.LINGER, 0)
        if self._keys:
            prove(self._socket, read_key_pair(self._keys[0]), read_public_key(self._keys[1]))
        try:
            self._socket.connect(self._endpoint)
        except zmq.ZMQError as error:
            raise CommandError(f"{self._endpoint}: {error}; allowed: tcp://ADDRESS:PORT") from None
        self._hello()

    def _hello(self) -> None:
        self._session, self._sequence = "", 0
        nonce = secrets.token_hex(16)
        reply = self._exchange(Hello(self._name, nonce))
        if not reply.ok or reply.nonce != nonce:
            raise CommandError(f"{self._endpoint}: {reply.error or 'the answer is to another hello'}", reply.refusal)
        self._session = reply.session

    def ask(self, command: Status | Lease | OperatorRequest) -> Reply:
        """Send a request and wait for its reply. Raises CommandError: refused, or there is no answer."""
        with self._lock:
            reply = self._exchange(command)
            if reply.refusal == "no_session":  # the server has started anew, or has ended sessions that were idle
                self._hello()
                reply = self._exchange(command)
        self.lease_state = reply.lease or self.lease_state
        if not reply.ok:
            lost = f" ({self._lost})" if self._lost and reply.refusal == "no_lease" else ""
            raise CommandError(f"{type(command).__name__.lower()}: {reply.error}{lost}", reply.refusal)
        return reply

    def _exchange(self, command: Hello | Status | Lease | OperatorRequest) -> Reply:
        self._sequence += 1
        request = Request(self._session, self._sequence, command)
        self._socket.send(self._requests.closed(msgspec.json.encode(request)))
        until = time.monotonic() + ANSWER_S
        while self._socket.poll(max(0, round((until - time.monotonic()) * 1e3))):
            content = self._replies.opened(self._socket.recv())
            if content is None:
                wrong = "the answer was made with another token: a wrong token file, or another program listens there"
                raise CommandError(f"{self._endpoint}: {wrong}", "not_authenticated")
            reply = read_reply(content)
            of_session = reply.session in ("", self._session) or isinstance(command, Hello)
            if of_session and reply.sequence in (0, self._sequence):  # else an older one that came too late
                return reply
        keys = ", with these keys" if self._keys else ""
        problem = f"no answer in {ANSWER_S:g} s{keys}: is `hil operate` running, and is this client allowed there?"
        raise CommandError(f"{self._endpoint}: {problem}")

    def status(self) -> dict[str, Any]:
        """State of the rig, as `hil operate` last wrote it; empty until it first has. Raises CommandError."""
        return self.ask(Status()).status or {}

    def wait_until(self, condition: Callable[[dict[str, Any]], object], within_s: float = 60.0) -> dict[str, Any]:
        """Ask for the status until a condition holds.

        Args:
            condition: of the status; it is not asked of an empty one.
            within_s: how long to wait [s].

        Raises:
            CommandError: it does not hold in time, or there is no answer.
        """
        until = time.monotonic() + within_s
        while not ((status := self.status()) and condition(status)):
            if time.monotonic() > until:
                now = f"state {status.get('state')}: {status.get('message')}"
                raise CommandError(f"not what was waited for after {within_s:g} s; now {now}")
            time.sleep(_LOOK_AGAIN_S)
        return status

    # ---- the operator lease ----
    def take_lease(self) -> LeaseState:
        """Take the operator lease, and keep it with a heartbeat in a thread until `release_lease`.

        Raises:
            CommandError: another client holds it.
        """
        self.ask(Lease("take"))
        self._lost = ""
        if self._heartbeat is None or not self._heartbeat.is_alive():  # it ends when the lease is lost
            self._release.clear()
            self._heartbeat = threading.Thread(target=self._keep, name="operator lease", daemon=True)
            self._heartbeat.start()
        return self.lease_state

    def wait_for_lease(self, within_s: float = 60.0) -> LeaseState:
        """Ask its holder for the lease until it is given or free, and keep it as `take_lease`. Raises CommandError."""
        until = time.monotonic() + within_s
        while (lease := self.ask(Lease("ask")).lease) and lease.holder and not lease.yours:
            if time.monotonic() > until:
                raise CommandError(f"{lease.holder} has not given the operator lease within {within_s:g} s")
            time.sleep(_LOOK_AGAIN_S)
        return self.take_lease()

    def give_lease(self) -> str:
        """Give the lease to the client that asks for it, and return its name. Raises CommandError."""
        self.ask(Lease("give"))
        return self.lease_state.holder

    def release_lease(self) -> None:
        """Release the lease, if this client holds it. Raises CommandError: there is no answer."""
        self.stop_heartbeat()
        try:
            self.ask(Lease("release"))
        except CommandError as error:
            if error.refusal is None:
                raise

    def stop_heartbeat(self) -> None:
        """Send no further heartbeat: the lease expires unless another process of this client keeps it."""
        self._release.set()
        if self._heartbeat is not None:
            self._heartbeat.join()
            self._heartbeat = None

    @contextmanager
    def lease(self) -> Iterator[LeaseState]:
        """Hold the lease inside a `with` block; where another process of this client held it before, it stays there.

        Raises:
            CommandError: another client holds it.
        """
        lease = self.take_lease()
        try:
            yield lease
        finally:
            self.stop_heartbeat()
            if not lease.held_before:
                self.release_lease()

    @property
    def lost(self) -> str:
        """Why the lease was lost; "": it was not."""
        return self._lost

    def _keep(self) -> None:
        while not self._release.wait(HEARTBEAT_S):
            try:
                self.ask(Lease("keep"))
            except (CommandError, zmq.ZMQError) as error:
                self._lost = f"the operator lease was lost: {error}"
                return

    # ---- commands in one word ----
    def arm(self) -> None:
        """Run the arming checks, and arm if all pass. Raises CommandError."""
        self.ask(Arm())

    def start(self) -> None:
        """Start to move; the rig is armed. Raises CommandError."""
        self.ask(Start())

    def stop(self, reason: str = "") -> None:
        """End the run: drives cut, valves off; needs no lease. Raises CommandError."""
        self.ask(Stop(reason))

    def e_stop(self, reason: str = "") -> None:
        """Go to Safe at once, latched; needs no lease. Raises CommandError."""
        self.ask(EStop(reason))

    def clear(self, fault: int) -> None:
        """Clear one latched fault by its number. Raises CommandError."""
        self.ask(ClearFault(fault))

    def set_point(self, name: str, value: float) -> None:
        """Change a set-point of the running experiment, in SI. Raises CommandError."""
        self.ask(SetPoint(name, value))

    def set(self, values: Mapping[str, bool | float | str | None], within_s: float = 300.0) -> None:
        """Change settings for the next runs, as `--set` does, all of them or none; between two runs.

        Args:
            values: by dotted key, {"trial.angle_deg": 70}.
            within_s: how long the rig may take: it is opened again, and may compile kernels [s].

        Raises:
            CommandError: a key or value is refused, with what is allowed; or there is no answer.
        """
        keys = [*values]
        self._change(*(Set(key, values[key], more=key != keys[-1]) for key in keys), within_s=within_s)

    def choose_plan(self, name: str, within_s: float = 300.0) -> None:
        """Choose the plan of the next campaign, between two runs. Raises CommandError."""
        self._change(ChoosePlan(name), within_s=within_s)

    def _change(self, *commands: Set | ChoosePlan, within_s: float) -> None:
        """Send what makes up one change, and wait until it is done. Raises CommandError."""
        before = self.status()["settings"]["answered"]
        for command in commands:
            self.ask(command)
        found = self.wait_until(lambda status: status["settings"]["answered"] > before, within_s)["settings"]
        if found["refused"]:
            raise CommandError("\n".join(found["refused"]), "refused")

    def close(self) -> None:
        """Disconnect; a lease that is held expires. May be called twice."""
        self.stop_heartbeat()
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def own_name(ending: str = "") -> str:
    """USER@COMPUTER as the name of a client, with an ending, cut to the length of a name."""
    plain = re.sub(r"[^A-Za-z0-9._@-]", "_", f"{getpass.getuser()}@{platform.node() or 'computer'}")
    return plain[: 30 - len(ending)] + ending


_REPLIES: Final = msgspec.json.Decoder(Reply)


def read_reply(content: bytes) -> Reply:
    """Read a reply. Raises ValueError: it is none."""
    try:
        return _REPLIES.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no reply: {error}") from None
