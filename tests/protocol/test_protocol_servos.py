"""A rover whose joints are driven by simulated RoboClaws and Roboteqs, on ports beside those of the wheel drives."""

import json

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.ipc.run_memory import LINKS
from hil.messages.fault import Fault
from hil.recording import read_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
SERVOS = "roboclaw_servos"
ADDRESSES = {0x80, 0x81, 0x82}
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here
TABLE = "time_s,speed_mps,front_left_walking_deg\n0,0,0\n0.5,0.02,2\n0.8,0,2\n"
SHORT = f"stimulus.table={json.dumps(TABLE)}"
PAIRS = [(f"{row}_left_walking", f"{row}_right_walking") for row in ("front", "middle", "rear")]
ON_PORTS = ", ".join(f"{{port: '', channel_1: {one}, channel_2: {two}}}" for one, two in PAIRS)
ROBOTEQ = (
    "devices.servos={driver: roboteq, counts_per_turn: 4096, gear: 100, start: confirmed, "
    f"reversed: [rear_left_walking], controllers: [{ON_PORTS}]}}"
)
MOVES_AT_S = 0.5


@pytest.fixture
def walk(trial):
    """Move a joint while driving, and disturb it while it moves."""

    def walk(act=None, *settings):
        return trial(act, SHORT, *settings, config="sim_walk_wire", at_s=MOVES_AT_S)

    return walk


@pytest.mark.ci_cases("RoboClaws")
@pytest.mark.parametrize("settings", [(), (ROBOTEQ,)], ids=["RoboClaws", "Roboteqs"])
def test_joints_follow_a_table_and_the_run_verifies_and_replays(walk, settings):
    """With a limit of the motors' currents, so that they are recorded."""
    done = walk(None, "limits.motor_current_A={safe_above: 1000}", *settings)
    assert done.error is None
    assert done.faults == []
    assert set(done.run.processes.by_name) & set(LINKS) == {"drives", "servos"}
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    tick = read_trial(done.folder, trusted=True).tick
    asked, found = (np.degrees(tick[name]) for name in ("set_servo_angle_rad", "servo_angle_rad"))
    place = done.run.shared.config.layout.servos.index("front_left_walking")
    assert asked[:, place].max() == pytest.approx(2.0, abs=0.15)  # it brakes where the table stops at once
    assert found[-1, place] == pytest.approx(2.0, abs=0.3)
    others = np.delete(found, place, axis=1)
    assert np.abs(others).max() < 1.0
    currents = tick["servo_current_A"]
    assert np.isfinite(currents[-1]).all()
    assert (np.ptp(currents[np.isfinite(currents).all(axis=1)], axis=0) > 0.01).all()  # they follow the torques
    assert np.nanmax(np.abs(currents)) < 200.0 / 5.0  # torque_limit_Nm over torque_per_A_Nm


def test_a_silent_bus_of_the_servos_is_safe_on_all_links(walk):
    done = walk(lambda run: run.inject_fault(SERVOS, "off"))
    assert done.faults[0] is Fault.LINK_LOST
    assert set(done.seen_ms("timeouts", SERVOS)) == ADDRESSES  # by their own time-out: they hear nothing
    assert set(done.seen_ms("stops")) == ADDRESSES  # the drives by a stop on their own bus
    assert done.runs_at_the_end() == done.runs_at_the_end(SERVOS) == set()


def test_a_silent_bus_of_the_drives_cuts_the_servos(walk):
    done = walk(lambda run: run.inject_fault("roboclaw", "off"))
    assert done.faults[0] is Fault.LINK_LOST
    assert set(done.seen_ms("stops", SERVOS)) == ADDRESSES
    assert done.seen_ms("starts", SERVOS) == {}


def test_the_watchdog_stops_the_servos_of_a_worker_that_is_gone(walk):
    done = walk(lambda run: run.kill("servos"))
    assert Fault.PROCESS_LOST in done.faults
    assert set(done.seen_ms("stops", SERVOS)) == ADDRESSES
    assert done.runs_at_the_end(SERVOS) == set()


def test_the_servos_worker_stops_them_when_the_loop_is_dead(walk):
    done = walk(lambda run: run.kill("loop"))
    assert set(done.seen_ms("stops", SERVOS)) == ADDRESSES
    assert max(done.seen_ms("stops", SERVOS).values()) <= 30.0  # dead-man of 20 ms, and a stop
    assert done.runs_at_the_end(SERVOS) == set()


def test_a_pressed_emergency_stop_of_a_servo_is_safe(walk):
    done = walk(lambda run: run.ask("e_stop", device=SERVOS, pressed=True))
    assert done.faults[0] is Fault.STOP_BY_OPERATOR
    assert done.runs_at_the_end() == set()


def test_simulated_controllers_play_the_motions_of_a_walk(trial):
    lower = {"motion": "body_height", "change_m": -0.002}
    done = trial(None, "experiment=walk", f"walk.steps={json.dumps([lower])}", config="sim_walk_wire")
    assert done.error is None
    assert done.faults == []
    tick = read_trial(done.folder, trusted=True).tick
    asked, found = (np.degrees(tick[name][-1]) for name in ("set_servo_angle_rad", "servo_angle_rad"))
    assert np.abs(asked).min() > 1.0
    assert found == pytest.approx(asked, abs=0.5)
    assert tick["pose"][-1][2] - tick["pose"][0][2] == pytest.approx(-0.002, abs=5e-4)
