"""The resident process makes the runs that its operator asks for, and none that nobody does."""

from __future__ import annotations

import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Start, Stop
from hil.recording import read_trial

DRIVE = (
    "experiment=drive", "drive.steps=[{for_s: 60, speed_mps: 0.03}]", "record.sensors=all", "telemetry.endpoint=''",
)  # fmt: skip
STOP_BY_OPERATOR, CONSOLE_LOST = int(Fault.STOP_BY_OPERATOR), int(Fault.CONSOLE_LOST)


def wrong(folder):
    """What `hil verify` finds wrong with a run."""
    return [check for check in verify(folder) if not check.ok]


def names(folder):
    return [name.decode() for name in read_trial(folder).events["name"].tolist()]


@pytest.fixture
def rig(operated):
    """A rig that waits for its operator, who holds the lease."""
    one = operated("sim_impact", *DRIVE)
    one.until(state="idle")
    one.take_lease()
    return one


def drives(rig):
    """Arm and start a drive."""
    rig.ask(Arm())
    rig.until(state="armed")
    rig.ask(Start())
    rig.until(state="drive")


def test_a_run_is_armed_started_and_stopped_by_commands_and_the_next_one_follows(rig):
    for number in (1, 2):
        drives(rig)
        rig.host.sleep(0.3)
        rig.ask(Stop("enough"))
        status = rig.until(state="idle", runs=number)
        assert status["run"].endswith(f"run_{number}")
        assert status["summary"]["aborted"]
    rig.end()
    for number in (1, 2):
        folder = rig.folder / f"run_{number}"
        assert [name for name in names(folder) if name.startswith("operator")] == [
            "operator arm", "operator start", "operator stop",
        ]  # fmt: skip
        assert wrong(folder) == []
        assert replay(folder).differences == []
        assert abs(read_trial(folder).tick["set_speed_radps"]).max() > 0.0
    assert sorted(path.name for path in rig.folder.iterdir()) == ["run_1", "run_2"]
