"""The twin of a rig that is as its config says: it drives as the rig does, whatever loads the wheels.

Rig and sensors have no error and no noise here; the rig drives by its own servo, the twin by measured wheel speeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import rig_configs
from hil.app.run_loop import simulated_rig_io
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.twin import RoverTwin
from hil.experiments.registry import build_cycle
from hil.recording.sinks import MemorySink
from hil.runtime.loop import LockstepClock, Loop
from hil.simulator.simulated_rig import build_simulated_rig
from models.plant import Plant

pytestmark = pytest.mark.slow

# a wheel that is pressed in does not drive, and an arm has none
STANDS = {"sim_sinkage", "sim_capture"}
CONFIGS = sorted({path.stem for path in Path(next(iter(rig_configs.__path__))).glob("*.yaml")} - STANDS)
IN_LOCKSTEP = ("rig=simulated", "clock=lockstep", "devices=null")
EXACT = (
    *(f"plant.spread.{name}=0" for name in ("mass", "soil", "legs", "sensitivity", "start_m")),
    "plant.noise.speed_radps=0",
    "plant.noise.pressure_kPa=0",
    "plant.veer={}",
)
# A load cell without error, and without the lag of its low-pass.
EXACT_CELL = (
    *(f"loads.errors.{name}=0" for name in ("zero", "drift_per_min", "gain", "cross_talk")),
    "loads.load_cell.noise_V=0",
    "loads.bits=32",
    "loads.block_ms=1",
    "loads.filter_hz=500",
)
SHORT = ("trial.start_distance_m=0.1",)
# before the edge: from there on, a millimetre between rig and twin is another time of each fall
SHORT_CROSSING = ("crossing.timeout_s=1.5", "ground.profile.start_m=0.3")
SHORT_STEPS = ("normal_force.steps=[{for_s: 2, mode: passive}, {for_s: 2, mode: uniform}]",)
SHARE = 1e-3
# Of way and speed where legs move: the twin follows the angles that were measured, a tick later.
OF_LEGS = (4e-3, 2e-2)
# columns
T, PLANT_WAY, TWIN_WAY, PLANT_SPEED, TWIN_SPEED, ENERGY, PLANT_TIME_LEFT, TIME_LEFT, LOAD_ERROR = range(9)


@dataclass
class Drive:
    """A run: rows of the columns above, one for each tick in which the drives are powered, before any impact."""

    plant: Plant
    twin: RoverTwin
    rows: NDArray[np.float64]

    def __getitem__(self, column: int) -> NDArray[np.float64]:
        return self.rows[:, column]

    def after(self, seconds: float) -> NDArray[np.float64]:
        """Rows from so long after the start on."""
        return self.rows[self[T] > self[T][0] + seconds]


def drive(name: str, *settings: str) -> Drive:
    exact = EXACT_CELL if name in ("sim_drawbar", "sim_follow", "sim_soil_estimate", "sim_wheel_bed") else ()
    config = load_config(name, [*IN_LOCKSTEP, *EXACT, *exact, *settings])
    rig, sink = build_simulated_rig(Rig(config)), MemorySink(config.layout)
    cycle = build_cycle(Rig(config), simulated_rig_io(config.layout, rig), sink, None)
    plant, twin, rows = rig.plant, cycle.twin, []
    ours, theirs = plant._state, twin._state

    def note() -> None:
        if ours.drives.cut.any() or plant.hit_ns is not None:
            return
        energy, time_left = twin._twin.out[:2].tolist()
        error = np.abs(theirs.ground.vertical - ours.ground.vertical).max()
        ways, speeds = (ours.q[0], theirs.q[0]), (ours.v[0], theirs.v[0])
        rows.append((plant.t_ns * 1e-9, *ways, *speeds, energy, _time_left(plant), time_left, float(error)))

    loop = Loop(LockstepClock(rig, config.loop.rate_hz), cycle, (), note)
    cycle.rig_io.open()
    loop.run()
    cycle.rig_io.close()
    assert rows, [event["detail"] for event in sink.events]
    return Drive(plant, twin, np.array(rows))


def _time_left(plant: Plant) -> float:
    """Way of the nearer wheel to the obstacle over its speed [s]."""
    obstacle, state = plant.parameters.obstacle, plant._state
    if obstacle is None:
        return np.inf
    rover = plant.rover
    approach = rover.impact_jacobian(rover.own_configuration(state.q), obstacle.angle) @ rover.own_speeds(state.v)
    return float((state.obstacle.gap / np.maximum(approach, 1e-9)).min())


def check(run: Drive) -> None:
    """Way and speed of the twin are the rig's; with an obstacle also time to impact and T_c."""
    way, twin_way = run[PLANT_WAY][-1] - run[PLANT_WAY][0], run[TWIN_WAY][-1] - run[TWIN_WAY][0]
    share, of_speed = OF_LEGS if run.plant.parameters.servos else (SHARE, SHARE)
    assert way > 0.03
    assert twin_way == pytest.approx(way, rel=share)
    steady = run.after(1.0)
    error = steady[:, TWIN_SPEED] - steady[:, PLANT_SPEED]
    assert np.sqrt(np.mean(error**2)) < of_speed * np.mean(steady[:, PLANT_SPEED])
    if run.plant.hit_ns is None:
        return
    touch_s = run.plant.hit_ns * 1e-9
    assert run[ENERGY][-1] == pytest.approx(run.plant.effective_kinetic_energy_when_hit(), rel=SHARE)
    # the rover still rocks, so time to impact is compared with the rig's own way left over its speed
    assert np.abs(steady[:, TIME_LEFT] - steady[:, PLANT_TIME_LEFT]).max() < SHARE * (touch_s - run[T][0])


@pytest.mark.ci_cases(
    "sim_impact",
    "sim_juno",
    "sim_motion",
    "sim_normal_force",
    "sim_scan",
    "sim_slope",
    "sim_step",
    "sim_walk",
    "sim_xu",
)
@pytest.mark.parametrize("name", CONFIGS)
def test_the_twin_of_each_shipped_config_drives_as_the_rig_does(name):
    config = load_config(name, IN_LOCKSTEP)
    run = drive(name, *(SHORT if config.section.obstacle else SHORT_CROSSING if config.ground.profile else ()))
    check(run)
    if run.plant.hit_ns is not None:  # at the detection, some milliseconds after the touch
        expected_J, sd_J = run.plant.effective_kinetic_energy_when_hit(), run.twin.energy_at_impact_sd_J
        error_J = abs(run.twin.energy_at_impact_J - expected_J)
        # instruments have noise, and what they correct is off by as much as they say
        assert error_J < (SHARE * expected_J if np.isnan(sd_J) else 3.0 * sd_J)


@pytest.mark.ci_cases("sim_juno-soil-8", "sim_normal_force-rigid--8")
@pytest.mark.parametrize("pitch_deg", [-8, 8])
@pytest.mark.parametrize("kind", ["soil", "firm", "rigid"])
@pytest.mark.parametrize("name", ["sim_juno", "sim_normal_force"])
def test_on_a_slope_the_twin_is_no_slower_than_the_rig_and_no_faster(name, kind, pitch_deg):
    # the load of the drives: up to 250 N m a motor
    held_back = (*SHORT_STEPS, "rover.drawbar.pull_N=200") if name == "sim_normal_force" else ()
    check(drive(name, *held_back, f"ground.kind={kind}", f"ground.pitch_deg={pitch_deg}"))


@pytest.mark.parametrize("pitch_deg", [5, 20])
def test_the_twin_climbs_as_the_rig_does(pitch_deg):
    check(drive("sim_slope", f"ground.pitch_deg={pitch_deg}"))


@pytest.mark.parametrize("slip", [0.2, 0.3, 0.5, 0.7])
def test_the_twin_is_held_back_as_the_rig_is_where_the_pull_is_measured_exactly(slip):
    check(drive("sim_drawbar", f"drawbar.slip={slip}"))


@pytest.mark.ci_cases("soil-40", "rigid-80")
@pytest.mark.parametrize("angle_deg", [40, 80])
@pytest.mark.parametrize("kind", ["soil", "firm", "rigid"])
def test_the_twin_meets_the_obstacle_as_the_rig_does(kind, angle_deg):
    check(drive("sim_impact", *SHORT, f"ground.kind={kind}", f"trial.angle_deg={angle_deg}"))


def test_noise_of_the_wheel_speeds_does_not_shake_the_twins_loads_on_soil():
    run = drive("sim_impact", *SHORT, "plant.noise.speed_radps=0.005")
    assert run.after(1.0)[:, LOAD_ERROR].max() < 0.001 * run.twin.standing_N


def test_on_rigid_ground_the_twin_takes_the_mean_of_noisy_wheel_speeds():
    noise_radps = 0.002
    run = drive("sim_impact", *SHORT, "ground.kind=rigid", f"plant.noise.speed_radps={noise_radps}")
    steady, radius = run.after(1.0), run.plant.rover.chain.wheel_radius
    spread = float((steady[:, TWIN_SPEED] - steady[:, PLANT_SPEED]).std())
    assert spread < 1.2 * noise_radps * radius[0] / np.sqrt(radius.size)
