"""A signal that comes when the last tick of a run is over ends what would follow: the next run, or the campaign."""

from __future__ import annotations

import json
import signal
from types import SimpleNamespace

import pytest

from hil.app import resident
from hil.app import run as app
from hil.app.resident import Resident
from hil.app.run_loop import Signals
from hil.campaign.run import CampaignStop
from hil.config import load_config
from hil.config.rig import Rig
from hil.recording.run_folder import run_folder, summary_of

QUICK = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip
NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def repeated(tmp_path, monkeypatch):
    """Repeats a trial; a signal comes at the place that is named, in the first run. Returns the folders of the runs."""
    monkeypatch.setattr(resident, "draw", lambda *_: None)
    # an earlier test of the same process may have set handlers
    before = {number: signal.signal(number, signal.SIG_DFL) for number in NUMBERS}

    def repeat(number, place, count=3):
        work = getattr(resident if place == "write_summary" else Resident, place)

        def signalled(*arguments, **more):
            if len(list(tmp_path.iterdir())) == 1:
                signal.raise_signal(number)
            return work(*arguments, **more)

        monkeypatch.setattr(resident if place == "write_summary" else Resident, place, signalled)
        config, said = load_config("sim_impact", QUICK), []
        app.run_repeatedly(
            Rig(config),
            count,
            lambda run: run_folder(tmp_path / f"run_{run + 1}", config.name, ""),
            said.append,
            figure=False,
        )

    yield repeat
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", ["conclude", "write_summary"])
def test_a_signal_while_a_run_is_concluded_lets_it_be_concluded_and_makes_no_other(repeated, tmp_path, number, place):
    with pytest.raises(KeyboardInterrupt):
        repeated(number, place)
    assert [path.name for path in tmp_path.iterdir()] == ["run_1"]
    summary = summary_of(tmp_path / "run_1")
    assert (summary["accepted"], summary["reasons"]) == (True, [])


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_campaign_around_the_run_gets_the_signal_that_came_too_late_for_it(repeated, number):
    lines = []
    with CampaignStop(SimpleNamespace(text=lines.append)) as stop:
        repeated(number, "conclude", count=1)
        assert stop.wanted
    assert lines[0].startswith("stopping")


@pytest.mark.slow
def test_a_signal_that_ended_its_run_in_safe_is_handed_to_nobody_else(repeated, tmp_path, monkeypatch):
    run = resident.run_loop

    def signalled(rig, *arguments, **more):
        next_tick = rig.loop.clock.next

        def next_and_signal():
            tick = next_tick()
            if tick.number == 300:
                signal.raise_signal(signal.SIGINT)
            return tick

        rig.loop.clock.next = next_and_signal
        return run(rig, *arguments, **more)

    monkeypatch.setattr(resident, "run_loop", signalled)
    repeated(signal.SIGINT, "next_run")
    assert [path.name for path in tmp_path.iterdir()] == ["run_1"]
    assert "operator: SIGINT" in json.dumps(summary_of(tmp_path / "run_1")["reasons"])


def test_a_signal_that_no_tick_has_read_is_missed_and_one_that_was_read_is_not():
    for read in (True, False):
        signals, queue = Signals(), []
        signals.loop = SimpleNamespace(stop=queue.append, missed_stop=not read)
        signals._stop(signal.SIGINT, None)
        signals.release()
        assert queue == ["operator: SIGINT"]
        assert (signals.loop, signals.ended, signals.missed) == (None, True, not read)
