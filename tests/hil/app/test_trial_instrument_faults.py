"""A trial whose instrument of motion fails: marked, or Safe where it is needed, and its record proves itself."""

from __future__ import annotations

import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.config.schema.trial import TrialConfig
from hil.messages.fault import Fault
from hil.recording import read_trial

FROZEN = "imu={errors: {fault: frozen, fault_at_s: 0.4}}"


def faults(record):
    return [
        (int(event["id"]), int(event["reaction_tick"]), event["detail"].decode())
        for event in record.events[record.events["id"] > 0]
    ]


@pytest.mark.soak
def test_a_frozen_imu_that_the_trial_does_not_need_is_marked_and_nothing_else_comes_of_it(
    short_trial,
):
    folder, other = short_trial(FROZEN), short_trial("imu={}")
    record, good = read_trial(folder), read_trial(other)
    marks = faults(record)
    assert {mark[:2] for mark in marks} == {(Fault.MEASURED_MOTION, -1)}
    frozen = "imu: 20 equal readings in a row, allowed: below 20 (imu.frozen_readings); restart it"
    assert sorted(detail[:20] for *_, detail in marks) == ["imu: 20 equal readin", "imu: left out by the"]
    assert frozen in [detail for *_, detail in marks]
    assert not record.tick["safe"].any()
    assert record.tick["state"].tolist() == good.tick["state"].tolist()
    assert [str(check) for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []


@pytest.mark.slow
def test_a_frozen_imu_that_the_trial_needs_ends_it_in_safe(short_trial, monkeypatch):
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("imu",))
    folder = short_trial(FROZEN)
    record = read_trial(folder)
    ((number, reaction, detail),) = faults(record)
    assert (number, detail[:20]) == (Fault.MEASURED_MOTION, "imu: 20 equal readin")
    safe = record.tick["tick"][record.tick["safe"] == 1]
    assert safe[0] == reaction == pytest.approx(400 + 20 * 5, abs=10)
    assert safe[-1] == record.tick["tick"][-1]
    assert [str(check) for check in verify(folder) if not check.ok] == []
    assert replay(folder).differences == []


@pytest.mark.slow
def test_a_trial_is_not_armed_with_an_imu_that_reads_no_gravity(short_trial):
    folder = short_trial("imu={errors: {fault: jump, fault_at_s: 0, fault_size: 9}}")
    record = read_trial(folder)
    assert record.tick["cut"].all()
    assert {mark[:2] for mark in faults(record)} == {(Fault.MEASURED_MOTION, -1)}  # the observer leaves it out
