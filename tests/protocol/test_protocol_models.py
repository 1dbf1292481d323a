"""One of each model of ground, wheel and rover against simulated devices: short drives with the real drivers."""

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.recording import read_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here
FOUR = ("front_left", "rear_left", "front_right", "rear_right")
SIX = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
VALVES = "valves: {driver: modbus, port: '', flash_on: true}"


STEERS = tuple(f"{wheel}_steering" for wheel in SIX)
ARC = r"time_s,speed_mps,front_left_steering_deg\n0,0,0\n0.5,0.05,3\n0.8,0,3\n"


def on_bus(motors: tuple[str, ...]) -> str:
    """RoboClaws on one bus, two motors each."""
    pairs = zip(motors[::2], motors[1::2], strict=True)
    controllers = ", ".join(f"{{address: {128 + i}, m1: {one}, m2: {two}}}" for i, (one, two) in enumerate(pairs))
    return f"driver: roboclaw, ports: [''], controllers: [{controllers}]"


def devices(wheels: tuple[str, ...], *others: str) -> str:
    """Wheel drives and other devices."""
    return f"devices={{{', '.join((f'drives: {{{on_bus(wheels)}, counts_per_rev: 150000}}', *others))}}}"


SHORT = "drive.steps=[{for_s: 0.6, speed_mps: 0.05}]"
SERVOS = f"servos: {{{on_bus(STEERS)}, baud: 460800, counts_per_turn: 4096, gear: 100, start: confirmed}}"


@pytest.mark.ci_cases("sim_xu")
@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ("sim_scan", (devices(FOUR), SHORT)),
        ("sim_flexible_wheel", (devices(SIX, VALVES), SHORT)),
        ("sim_imported", (devices(FOUR), "experiment=drive", SHORT, "daq=null")),
        ("sim_mixed_wheels", (devices(SIX, VALVES), SHORT)),
        ("sim_juno_exact", (devices(FOUR), SHORT)),
        ("sim_xu", (devices(SIX, SERVOS), f'stimulus.table="{ARC}"')),
    ],
)
def test_a_model_drives_at_the_protocol_level_verifies_and_replays(trial, config, settings):
    wire = ("rig=simulated_wire", *settings)
    done = trial(None, *wire, config=config)
    assert done.error is None
    assert done.faults == []
    assert done.run.rig.cycle.experiment.done
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    if config == "sim_xu":  # one of its six steers turns, the others hold
        turned = np.degrees(read_trial(done.folder, trusted=True).tick["servo_angle_rad"][-1])
        assert turned == pytest.approx([3.0, 0.0, 0.0, 0.0, 0.0, 0.0], abs=0.5)
