"""Motor currents and supply voltage that simulated controllers answer, in a run at the protocol level."""

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.messages.fault import Fault
from hil.recording import read_trial

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
SHORT = ("drive.steps=[{for_s: 1.5, speed_mps: 0.05}]", "drives.power.torque_per_A_Nm=1")
WATCHED = ("limits.motor_current_A={safe_above: 200}", "limits.supply_V={safe_below: 5}")
ROBOTEQ = (
    "devices.drives={driver: roboteq, max_rpm: 3000, gear_ratio: 100, controllers: ["
    "{port: '', channel_1: front_left, channel_2: front_right},"
    "{port: '', channel_1: rear_left, channel_2: rear_right}]}"
)

CAN = (
    "devices.drives={driver: cia402, port: '', counts_per_turn: 4096, gear_ratio: 100, controllers: ["
    "{node: 1, wheel: front_left}, {node: 2, wheel: front_right}, "
    "{node: 3, wheel: rear_left}, {node: 4, wheel: rear_right}]}"
)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [(), (ROBOTEQ,), (CAN,)], ids=["roboclaw", "roboteq", "cia402"])
def test_currents_and_supply_reach_the_loop_several_times_a_second_beside_all_speeds(trial, devices):
    done = trial(None, *SHORT, *WATCHED, *devices, config="sim_juno_wire")
    assert (done.error, done.faults) == (None, [])
    ticks = read_trial(done.folder, trusted=True).tick
    rows = ticks[np.flatnonzero(ticks["set_speed_radps"].max(axis=1) > 0.0)[450:-50]]  # two readings later
    seconds = (rows["t_ns"][-1] - rows["t_ns"][0]) * 1e-9
    assert len(np.unique(rows["power_t_ns"])) > 3.0 * seconds
    assert len(np.unique(rows["drives_t_ns"])) > 45.0 * seconds
    supplies = rows["supply_V"].shape[1]
    assert supplies == (4 if devices == (CAN,) else 2)
    # the motors of the front wheels drive the rear ones by chains
    assert (np.abs(rows["current_A"]).mean(axis=0)[:2] > 1.0).all()
    assert not rows["current_A"][:, 2:].any()
    assert rows["supply_V"].max() < 24.0  # droops under that load
    assert ticks["supply_V"][-1] == pytest.approx([24.0] * supplies, abs=0.1)  # as it was, with the wheels cut
    # a power stage warms under its current; a Roboteq is not asked for it
    warm = rows["temperature_degC"]
    assert np.isnan(warm).all() if devices else (warm[-1] > 25.0).all()
    assert replay(done.folder).differences == []


@pytest.mark.slow
def test_a_current_beyond_its_limit_stops_every_controller(trial):
    done = trial(None, *SHORT, "limits.motor_current_A={safe_above: 1}", config="sim_juno_wire")
    assert done.faults[0] is Fault.MEASURED_OUT_OF_LIMIT
    assert {address for address, _ in done.all_seen("stops")} == {0x80, 0x81}
    assert done.runs_at_the_end() == set()
