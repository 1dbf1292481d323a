"""The operator lease passes from one client to the next only as they ask, give and release it."""

from __future__ import annotations

from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import Arm, LeaseChange
from hil.operator.command_messages import ASKED_NS

MS = 1_000_000


def test_whoever_wants_the_lease_can_ask_its_holder_for_it(client):
    anna, ben = client("anna"), client("ben")
    anna.lease("take")
    assert ben.lease("ask").lease.holder == "anna"
    assert anna.lease("keep").lease.asked_by == "ben"
    anna.lease("release")
    assert ben.lease("take").lease.asked_by == ""


def test_a_lease_that_is_given_passes_over_without_a_gap_and_is_recorded(client, sink):
    anna, ben = client("anna"), client("ben")
    anna.lease("take")
    assert ben.lease("give").refusal == "lease_lost"
    assert anna.lease("give").refusal == "not_asked"
    ben.lease("ask")
    anna.now_ns = ben.now_ns = 400 * MS
    assert anna.lease("give").lease.holder == "ben"
    assert sink.leases[-1] == ("ben", 400 * MS)
    assert "" not in [holder for holder, _ in sink.leases[1:]]
    assert sink.notices[-1] == LeaseChange("ben", "given")
    assert anna.ask(Arm()).refusal == "no_lease"
    ben.now_ns += CONSOLE_SILENT_NS
    assert ben.lease("keep").ok
    assert ben.ask(Arm()).ok


def test_whoever_asked_for_the_lease_long_ago_is_not_given_it(client):
    """A client that is gone would lose it at once, and the run with it."""
    anna, ben = client("anna"), client("ben")
    ben.lease("ask")
    anna.lease("take")
    assert anna.lease("keep").lease.asked_by == ""
    ben.lease("ask")
    for anna.now_ns in range(0, ASKED_NS + 1, 400 * MS):
        assert anna.lease("keep").lease.asked_by == "ben"
    anna.now_ns = ASKED_NS
    assert anna.lease("keep").lease.asked_by == "ben"
    anna.now_ns = ASKED_NS + 1
    assert anna.lease("keep").lease.asked_by == ""
    assert anna.lease("give").refusal == "not_asked"
