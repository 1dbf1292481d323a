"""One of each model of ground, wheel and rover against simulated devices: short drives with the real drivers."""

import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.experiments.drive.experiment import DrivingState

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here
FOUR = ("front_left", "rear_left", "front_right", "rear_right")
SIX = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
VALVES = "valves: {driver: modbus, port: '', flash_on: true}"


def devices(wheels: tuple[str, ...], *others: str) -> str:
    """RoboClaws on one bus, two wheels each, and other devices."""
    pairs = zip(wheels[::2], wheels[1::2], strict=True)
    on_bus = ", ".join(f"{{address: {128 + i}, m1: {one}, m2: {two}}}" for i, (one, two) in enumerate(pairs))
    drives = f"drives: {{driver: roboclaw, ports: [''], counts_per_rev: 150000, controllers: [{on_bus}]}}"
    return f"devices={{{', '.join((drives, *others))}}}"


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ("sim_scan", (devices(FOUR),)),
        ("sim_flexible_wheel", (devices(SIX, VALVES),)),
        ("sim_imported", (devices(FOUR), "experiment=drive", "daq=null")),
        ("sim_mixed_wheels", (devices(SIX, VALVES),)),
    ],
)
def test_a_model_drives_at_the_protocol_level_verifies_and_replays(trial, config, settings):
    wire = ("rig=simulated_wire", "drive.steps=[{for_s: 0.6, speed_mps: 0.05}]", *settings)
    done = trial(None, *wire, config=config)
    assert done.error is None
    assert done.faults == []
    assert done.run.rig.cycle.experiment.state == DrivingState.DONE
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
