"""An operator arms, starts and stops a run at the protocol level, and the run is replayed."""

import pytest

from hil.analysis.replay import replay
from hil.experiments.impact.experiment import ImpactState
from hil.messages.operator_input import Arm, Start, Stop
from hil.recording import read_trial

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
ADDRESSES = {0x80, 0x81, 0x82}


@pytest.mark.slow
def test_commands_are_obeyed_recorded_and_replayed_bit_for_bit(trial):
    def act(run):
        for at_s, command in ((0.5, Arm()), (0.7, Start()), (0.9, Stop("enough"))):
            run.until(at_s)
            run.rig.rig_io.operator.put(command)

    done = trial(act, "record.sensors=all", at_s=0.4, attended=True)
    assert done.error is None
    assert done.faults == []
    record = read_trial(done.folder, trusted=True)
    asked = [event for event in record.events if event["name"].startswith(b"operator")]
    assert [event["name"].decode() for event in asked] == ["operator arm", "operator start", "operator stop"]
    states = dict(zip(record.tick["tick"].tolist(), record.tick["state"].tolist(), strict=True))
    in_its_tick = [states[int(event["tick"])] for event in asked]
    assert in_its_tick == [ImpactState.ARMED, ImpactState.RUN_UP, ImpactState.ABORTED]
    assert set(done.seen_ms("starts")) == ADDRESSES  # they turned, only because of the operator's command
    assert done.runs_at_the_end() == set()
    outcome = replay(done.folder)
    assert outcome.differences == []
    assert outcome.ticks == len(record.tick) > 500
