"""The operator lease: who holds it, who asks for it, and when it ends; no I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from hil.messages.fault_bounds import CONSOLE_SILENT_NS
from hil.messages.operator_input import LeaseChange
from hil.operator.command_messages import Lease, RequestRefusedError

# A client that asks for the lease is shown to its holder for so long; it asks again while somebody waits there [ns].
ASKED_NS = 5_000_000_000
# A client: its key and its name.
Client: TypeAlias = tuple[str, str]


class LeaseSink(Protocol):
    """Where the lease is published, and its changes are recorded."""

    def report(self, notice: LeaseChange) -> None:
        """Hand a notice to the loop, unless that would take the room of commands."""

    def set_lease(self, holder: str, t_ns: int) -> None:
        """Publish who holds the lease ("": nobody), and its last heartbeat [ns of CLOCK_MONOTONIC]."""


class OperatorLease:
    """Belongs to one client at a time, or to nobody.

    Args:
        sink: see `LeaseSink`.
        name: name of a client as people see it.

    Attributes:
        holder: of the lease; None: nobody.
        asked_by: the client that asked the holder for it last; None: nobody, or ASKED_NS ago.
    """

    def __init__(self, sink: LeaseSink, name: Callable[[Client | None], str]) -> None:
        self._sink, self._name = sink, name
        self.holder: Client | None = None
        self.asked_by: Client | None = None
        self._kept_ns = self._asked_ns = 0
        sink.set_lease("", 0)

    def pass_time(self, now_ns: int) -> None:
        """End it without a heartbeat; forget who asked for it long ago."""
        if self.holder is not None and now_ns - self._kept_ns > CONSOLE_SILENT_NS:
            self._end("expired")
        if now_ns - self._asked_ns > ASKED_NS:
            self.asked_by = None

    def change(self, request: Lease, client: Client, now_ns: int) -> None:
        """Do what a client asks for.

        Args:
            request: take, keep, release, ask or give.
            client: that sent it.
            now_ns: CLOCK_MONOTONIC [ns].

        Raises:
            RefusedError: it is not this client's to do that.
        """
        mine = self.holder == client
        if request.do == "ask":
            self.asked_by, self._asked_ns = None if mine or self.holder is None else client, now_ns
        elif request.do == "take":
            if self.holder is not None and not mine:
                error = f"{self._name(self.holder)} holds the operator lease: ask for it, or wait until it is released"
                raise RequestRefusedError("lease_held", error)
            if not mine:
                self._pass_to(client, "taken")
            self._keep(now_ns)
        elif not mine:
            error = "this client does not hold the operator lease (any more): take it again"
            raise RequestRefusedError("lease_lost", error)
        elif request.do == "keep":
            self._keep(now_ns)
        elif request.do == "release":
            self._end("released")
        elif self.asked_by is None:
            raise RequestRefusedError("not_asked", "nobody asks for the operator lease (any more): release it instead")
        else:
            self._pass_to(self.asked_by, "given")
            self._keep(now_ns)  # the new holder has as long for its first heartbeat as for any other

    def _keep(self, now_ns: int) -> None:
        self._kept_ns = now_ns
        self._sink.set_lease(self._name(self.holder), now_ns)

    def _pass_to(self, client: Client, why: Literal["taken", "given"]) -> None:
        self.holder, self.asked_by = client, None
        self._sink.report(LeaseChange(self._name(client), why))

    def _end(self, why: Literal["released", "expired"]) -> None:
        self.holder = self.asked_by = None
        self._sink.set_lease("", self._kept_ns)
        self._sink.report(LeaseChange("", why))
