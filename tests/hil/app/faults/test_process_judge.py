"""What came of a signal to a process of a trial is judged by the record and by what the controllers saw."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hil.app.faults.case import ExpectedOutcome, NotInjectedError
from hil.app.faults.judge import judge
from hil.app.faults.process_cases import before_its_end, observed
from hil.config import load_config
from hil.messages.link_messages import event_row
from hil.messages.signals import tick_dtype
from hil.operator.client import CommandError
from hil.recording import open_writer

START_NS, ACTED_NS = 10_000_000_000, 10_500_000_000  # on the computer's clock
EXPECTED = ExpectedOutcome(frozenset({12}), 60.0, 60.0)
RUNNING = {"starts": [(0x80, START_NS)], "stops": [(0x80, ACTED_NS + 30_000_000)], "timeouts": []}


@pytest.fixture
def judged(tmp_path):
    """Judges a trial with these faults, by number, name and time in the run [ms], and these controllers."""
    config = load_config("sim_wire")

    def judge_trial(seen, *faults):
        with open_writer(tmp_path, config, {"config": ""}) as record:
            ticks = np.zeros(2, tick_dtype(config.layout))
            ticks["tick"], ticks["t_ns"] = (1, 490), (1_000_000, 490_000_000)
            record.tick(ticks)
            for number, name, at_ms in faults:
                record.event(event_row(number, name, at_ms, at_ms * 1_000_000))
        answers = {"stops": seen, "lateness": {"late": []}}
        control = SimpleNamespace(ask=lambda command, **_: answers[command])
        return judge(observed(control, tmp_path, START_NS, ACTED_NS), EXPECTED)

    return judge_trial


def test_a_fault_that_is_noticed_and_stopped_in_time_is_ok(judged):
    outcome = judged(RUNNING, (12, "loop_silent", 550))
    assert (outcome.injected, outcome.wrong) == (True, ())
    assert (outcome.detected_ms, outcome.reacted_ms) == pytest.approx((50.0, 30.0))


def test_a_trial_that_was_in_safe_before_the_signal_shows_nothing_of_it(judged):
    with pytest.raises(NotInjectedError, match="in Safe before the signal, fault 2"):
        judged(RUNNING, (2, "sensor_stale", 400), (12, "loop_silent", 550))


def test_drives_that_had_stopped_before_the_signal_show_nothing_of_it(judged):
    with pytest.raises(NotInjectedError, match="had stopped before the signal"):
        judged({**RUNNING, "stops": [(0x80, ACTED_NS - 1)]}, (12, "loop_silent", 550))


def test_what_other_processes_say_of_the_killed_loop_is_no_fault_before_the_signal(judged):
    """The last good tick, from which they count, is before the signal."""
    assert judged(RUNNING, (12, "loop_silent", 499)).injected


@pytest.mark.parametrize(
    ("seen", "faults", "wrong"),
    [
        ({**RUNNING, "stops": []}, [(12, "loop_silent", 550)], "not every controller has stopped"),
        ({**RUNNING, "starts": [*RUNNING["starts"], (0x80, ACTED_NS + 90_000_000)]}, [(12, "loop_silent", 550)],
         "a controller was started again after the fault"),
        (RUNNING, [], "not noticed, expected: fault 12"),
        (RUNNING, [(2, "sensor_stale", 550)], "noticed as fault 2, expected: 12"),
        (RUNNING, [(12, "loop_silent", 570)], "noticed after 70.0 ms, allowed: 60.0"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_must_not_be_is_wrong(judged, seen, faults, wrong):
    outcome = judged(seen, *faults)
    assert outcome.injected
    assert wrong in outcome.wrong


def test_a_trial_that_has_ended_is_not_waited_for(tmp_path):
    armed = before_its_end(tmp_path / "run_1", lambda status: status["state"] == "armed")
    assert not armed({"state": "idle"})
    assert armed({"state": "armed", "runs": 0})
    with pytest.raises(CommandError, match="run_1 ended before its console was killed: drives: silent"):
        armed({"state": "closed", "runs": 1, "message": "drives: silent"})
