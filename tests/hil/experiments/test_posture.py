"""The posture of least T_c that driven legs take before an impact trial."""

from __future__ import annotations

import numpy as np
import pytest

from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.control.motions.geometry import Geometry
from hil.experiments.impact.approach import BETWEEN_M, least_energy_posture, posture_check, posture_timeline
from models.impact import effective_kinetic_energy
from models.rover import RcpParameters

DRIVEN = ("telemetry.endpoint=''", "servos={joints: {walking: {}}}")
LEAST = "trial.posture=least_energy"


@pytest.fixture(scope="module")
def found():
    rig = Rig(load_config("sim_impact", [*DRIVEN, LEAST]))
    return rig, least_energy_posture(rig)


def test_its_energy_is_that_of_a_rover_whose_legs_are_locked_there(found):
    rig, posture = found
    for angles, energy in ((posture.angles, posture.energy_J), (np.zeros(6), posture.start_J)):
        locks = {**dict(zip(rig.layout.servos, angles.tolist(), strict=True)), "steering": 0.0}
        rover = rig.nominal.rover.build(locks=locks)
        q, v = rover.neutral(), np.zeros(rover.nv)
        v[0] = rig.config.trial.speed_mps
        rows = rover.impact_jacobian(q, np.radians(60.0))
        assert energy == pytest.approx(effective_kinetic_energy(rover.mass_matrix(q), rows, v), rel=1e-9)


def test_it_spends_less_and_its_body_is_level_and_no_wheels_meet(found):
    rig, posture = found
    assert posture.energy_J < 0.85 * posture.start_J
    geometry = Geometry(RcpParameters().tree(), rig.layout.servos)
    centre = geometry.frames(posture.angles).centre[0]
    assert np.ptp(centre[:, 2]) < 1e-4
    gaps = np.diff(np.sort(centre[::2, 0]))
    assert gaps.min() >= 2.0 * 0.175 + BETWEEN_M


def test_legs_that_would_reach_the_obstacle_are_refused_at_arming(found):
    _, posture = found
    rig = Rig(load_config("sim_impact", [*DRIVEN, LEAST, "trial.start_distance_m=0.03", "trial.ramp_s=0.1"]))
    assert posture_check(rig, posture).ok
    ahead = posture._replace(ahead_m=0.028)
    assert not posture_check(rig, ahead).ok


def test_the_way_there_leaves_the_body_where_it_is(found):
    line = posture_timeline(*found)
    assert np.abs(line.path).max() == 0.0
    assert line.angles[-1] == pytest.approx(found[1].angles)


def test_without_driven_legs_it_is_refused_with_what_is_needed():
    with pytest.raises(ConfigError, match="with servos on walking joints"):
        load_config("sim_impact", [LEAST])


@pytest.mark.slow
def test_a_trial_takes_it_before_the_run_up_and_hits_with_less(found, tmp_path):
    rig, posture = found
    run = run_experiment(load_config("sim_impact", [*DRIVEN, LEAST]), tmp_path, lambda _: None, figure=False)
    assert run.summary["accepted"], run.summary["reasons"]
    assert run.summary["effective_kinetic_energy_J"] == pytest.approx(posture.energy_J, rel=0.03)
    shown = run.summary["posture_deg"]
    assert list(shown.values()) == pytest.approx(np.degrees(posture.angles), abs=1e-2)
    assert tuple(shown) == rig.layout.servos
