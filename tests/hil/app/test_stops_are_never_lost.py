"""After a stop that was answered nothing moves until it is cleared and armed again, whenever it came.

The moments: idle, while a run is prepared, armed, while it moves, while it is concluded, between two runs, and in a
campaign. Every command that is put into the ring has been answered with ok by then.
"""

from __future__ import annotations

import random

import pytest

from hil.app.resident import Resident
from hil.app.run import open_backend
from hil.campaign.commanded import CommandedCampaign
from hil.campaign.plan import campaign_seed, expand, load_plan
from hil.campaign.run import CampaignOrder, PlanChoice
from hil.config import load_config
from hil.messages.operator_input import Arm, Campaign, ClearFault, EStop, Jog, Start, Stop, Valve, Verdict
from hil.recording.run_folder import summary_of
from hil.runtime.rig_io import RigIO

from .conftest import DRIVE, STOP_BY_OPERATOR, drives

JOG, EXTEND = Jog(("all",), 0.02, 0.4), Valve("left", "extend", 0.2)
# What an operator may send; a plan is chosen, so that a campaign may start.
MOVES = (Arm(), Start(), JOG, EXTEND, Campaign("start", "Ada"))
STOPS = (EStop("button"), Stop("enough"))
CLEAR = ClearFault(STOP_BY_OPERATOR)
GAPS_MS = (0, 0, 1, 3, 8, 15, 20, 21, 35, 50)
# How long preparing, concluding and opening take here [s].
WORK_S = 0.03
PLAN = (
    "name: one\nangles_deg: [60]\n"
    "set: {trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, record.after_s: 0.5}\n"
)


class Moves:
    """When something moved: times at which a command other than a cut with all valves off left for the devices [ns]."""

    def __init__(self, monkeypatch, operated):
        self.operated, self.times_ns = operated, []
        send = RigIO.command

        def command(devices, t_ns, command):
            moving = not command.cut and (any(command.speed_radps) or any(command.duty))
            if moving or any(any(pair) for pair in command.valves):
                self.times_ns.append(self.operated.host.now_ns())
            send(devices, t_ns, command)

        monkeypatch.setattr(RigIO, "command", command)


class Asker:
    """Sends commands, and knows from when on nothing may move.

    Attributes:
        still: spans in which nothing may move: from an answered stop until whatever may begin a motion after it.
    """

    def __init__(self, rig):
        self.rig, self.still, self._since_ns = rig, [], None
        self._latched = self._armable = False

    def ask(self, command):
        now_ns = self.rig.host.now_ns()
        self.rig.ask(command)
        if isinstance(command, EStop | Stop):
            self._latched = self._latched or isinstance(command, EStop)
            if self._since_ns is None:
                self._since_ns = now_ns
        elif command == CLEAR:
            self._latched = False
        elif self._since_ns is not None and not self._latched and self._arms(command):
            self.still.append((self._since_ns, now_ns))
            self._since_ns = None

    def _arms(self, command):
        """Whether it may begin a motion: a start does only where a campaign asks for it."""
        question = self.rig.status.get("question") or {}
        return isinstance(command, Arm | Jog | Valve) or (command == Start() and question.get("key") == "ready")

    def end(self):
        if self._since_ns is not None:
            self.still.append((self._since_ns, 2**62))


@pytest.fixture
def stage(operated, monkeypatch, tmp_path):
    """A resident process whose preparing, concluding and opening take time, in which commands come."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)
    rigs = []

    def lead(folder, console, report):
        plan, base = load_plan(file), load_config("sim_impact", ("experiment=impact", "telemetry.endpoint=''"))
        wanted = CampaignOrder(
            plan, base, expand(plan, "sim_impact", ("telemetry.endpoint=''",)), campaign_seed(plan, base.seed, None)
        )
        plans = PlanChoice(lambda *_: wanted, {"one": "one"}, "one")
        return CommandedCampaign(plans, folder, console, report)

    def opener(*arguments, **more):
        rigs[0].host.sleep(WORK_S)
        return open_backend(*arguments, **more)

    def slowly(cls, name):
        work = getattr(cls, name)

        def slow(*arguments, **more):
            rigs[0].host.sleep(WORK_S)
            done = work(*arguments, **more)
            rigs[0].host.sleep(WORK_S)
            return done

        monkeypatch.setattr(cls, name, slow)

    slowly(Resident, "next_run")
    slowly(Resident, "conclude")
    rigs.append(operated("sim_impact", *DRIVE, lead=lead, opener=opener))
    rigs[0].until(state="idle", message="ready: take the lease and arm")
    rigs[0].take_lease()
    return rigs[0], Moves(monkeypatch, rigs[0]), Asker(rigs[0])


def forbidden(moves, asker):
    """Times at which something moved although a stop forbade it [ns]."""
    asker.end()
    return [t_ns for t_ns in moves.times_ns for since_ns, until_ns in asker.still if since_ns < t_ns <= until_ns]


def settle(rig, asker):
    """Stop whatever runs, and wait until nothing does."""
    asker.ask(Stop())
    quiet = 0
    while quiet < 10:
        status = rig.status
        question = status.get("question") or {}
        quiet = quiet + 1 if status["state"] in ("idle", "closed") and not question else 0
        if question:
            asker.ask(Verdict("keep") if question["key"] == "verdict" else Campaign("end"))
        rig.host.sleep(0.02)


@pytest.mark.parametrize("gap_ms", [0, 20, *(pytest.param(one, marks=pytest.mark.soak) for one in (8, 15, 21, 50))])
@pytest.mark.parametrize("stop", STOPS, ids=["e_stop", "stop"])
@pytest.mark.parametrize("begin", [JOG, EXTEND, Arm()], ids=["jog", "valve", "arm"])
def test_a_stop_behind_the_command_that_begins_a_run_is_read_by_that_run(stage, begin, stop, gap_ms):
    rig, moves, asker = stage
    asker.ask(begin)
    rig.host.sleep(gap_ms * 1e-3)
    asker.ask(stop)
    rig.ask(Start())
    rig.until(state="idle", runs=1)
    rig.end()
    assert forbidden(moves, asker) == []
    assert moves.times_ns == []
    summary = summary_of(rig.folder / "run_1")
    assert not summary["accepted"]
    assert any("button" in reason or "by the operator" in reason for reason in summary["reasons"])


@pytest.mark.parametrize("gap_ms", [0, 1, 8, 50])
def test_a_fault_is_not_cleared_in_the_run_that_it_ended_which_is_not_accepted_for_it(stage, gap_ms):
    rig, moves, asker = stage
    folder = drives(rig)
    rig.host.sleep(0.2)
    asker.ask(EStop("button"))
    rig.host.sleep(gap_ms * 1e-3)
    rig.ask(CLEAR)
    rig.until(state="idle", runs=1)
    assert [fault["number"] for fault in rig.status["faults"]] == [STOP_BY_OPERATOR]
    rig.end()
    assert forbidden(moves, asker) == []
    summary = summary_of(folder)
    assert (summary["accepted"], len(summary["reasons"])) == (False, 1)
    assert summary["reasons"][0].startswith("fault 18: button")


def test_an_arm_from_before_an_e_stop_does_not_count_after_it_is_cleared(stage):
    rig, moves, asker = stage
    rig.ask(Arm())
    rig.until(state="preparing")
    asker.ask(EStop("button"))
    rig.until(running=True, safe=True)
    asker.ask(CLEAR)
    rig.until(safe=False)
    rig.ask(Start())
    rig.host.sleep(1.0)
    assert rig.status["state"] == "idle"
    assert moves.times_ns == []
    asker.ask(Arm())
    rig.until(state="armed")
    rig.ask(Stop())
    rig.until(runs=1)
    rig.end()
    assert moves.times_ns == []


def run_at_random(stage, seed, episodes):
    """Episodes: clear, begin to move, wait until it may move, then anything at any gap. Returns what moved."""
    rig, moves, asker = stage
    draw = random.Random(seed)
    for _ in range(episodes):
        begin = draw.choice([(JOG,), (EXTEND,), (Arm(), Start()), (Campaign("start", "Ada"), Start())])
        for command in (CLEAR, *begin):
            asker.ask(command)
            rig.host.sleep(draw.choice((0.0, 0.06, 0.6)))
        for _ in range(draw.randrange(1, 6)):
            asker.ask(draw.choice((*STOPS, *STOPS, CLEAR, *MOVES)))
            rig.host.sleep(1e-3 * draw.choice(GAPS_MS))
        if draw.random() < 0.5:
            settle(rig, asker)
    settle(rig, asker)
    rig.end()
    assert forbidden(moves, asker) == [], seed
    return moves


def test_whatever_is_asked_and_when_nothing_moves_after_a_stop_before_it_is_cleared_and_armed_again(stage):
    assert run_at_random(stage, 1, 8).times_ns


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 8))
def test_the_same_of_other_commands_at_other_moments(stage, seed):
    run_at_random(stage, seed, 20)
