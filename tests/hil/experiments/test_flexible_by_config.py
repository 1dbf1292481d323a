"""Links that bend by keys of a config: modes of the booms, legs that give; by finite elements, statics, and runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.experiments.capture.experiment import bending_places
from models.rover import Rover, box
from models.rover.arm_names import DRIVEN, LATCH
from models.rover.flexible import END_SHARE
from references.boom_frame import Beam, EndBody, frequencies

MODES = {f"rover.space_arm.{boom}_modes": 2 for boom in ("upper", "lower")}
SOFTER = {"rover.space_arm.lower_stiffness_Nm2": 1.5e6, "rover.space_arm.lower_mass_kg": 100.0}


def frequencies_by_config(changes):
    """Natural frequencies [rad/s] of the arm of a config with its payload, craft and joints held."""
    tree = load_config("sim_capture", changes).rover_parameters().tree()
    rover = Rover(tree.with_locks(dict.fromkeys((*DRIVEN, *LATCH), 0.0)))
    joints = {joint.name: joint for joint in rover.tree.joints}
    K = np.diag([joints[name].stiffness for name in rover.joint_names])
    return np.sqrt(eigh(K, rover.mass_matrix(rover.neutral())[6:, 6:], eigvals_only=True))


def test_the_booms_of_a_config_vibrate_as_finite_elements_of_its_stiffness_and_mass_do():
    hub = EndBody(50.0, box(50.0, (0.4, 0.4, 0.4))[2])
    ends = [
        EndBody(90.0, box(90.0, (1.9, 0.3, 0.3))[2], (0.95, 0.0)),
        EndBody(20.0, box(20.0, (0.3, 0.3, 0.3))[2], (1.6, 0.0)),
        EndBody(1e4, box(1e4, (3.0, 3.0, 3.0))[2], (1.9 + 1.5, 0.0)),
    ]
    beams = [Beam(6.4, 139.0, 3.6e6, 0.0), Beam(7.1, 100.0, 1.5e6, 0.0)]
    element = frequencies(beams, [[hub], ends])
    # the shapes are those of the bare arm: with a payload of 10 t the second frequency needs a third
    for modes, right in ((1, 0.02), (2, 1e-3), (3, 1e-4)):
        found = frequencies_by_config(dict.fromkeys(MODES, modes) | SOFTER)
        assert len(found) == 2 * modes
        assert found[0] == pytest.approx(element[0], rel=right)
    assert found[1] == pytest.approx(element[1], rel=1e-3)
    assert len(frequencies_by_config({"rover.space_arm.upper_modes": 0})) == 1


def test_modes_are_in_the_record_by_name_and_the_fingerprint_is_that_of_before_without_them():
    bare, same = load_config("sim_capture"), load_config("sim_capture", {"rover.space_arm.upper_modes": 1})
    assert bare.sha256() == same.sha256()
    names = load_config("sim_capture", MODES).layout.turning
    places = bending_places(names)
    assert {boom: [names[k] for k in found] for boom, found in places.items()} == {
        boom: [f"{boom}_{k}_bend" for k in (1, 2)] for boom in ("upper", "lower")
    }
    assert list(bending_places(load_config("sim_capture", {"rover.space_arm.upper_modes": 0}).layout.turning)) == [
        "lower"
    ]
    with pytest.raises(ConfigError, match="upper_modes"):
        load_config("sim_capture", {"rover.space_arm.upper_modes": 9})


SHORT = {
    "telemetry.endpoint": "", "loop.rate_hz": 250, "capture.gap_m": 0.1, "capture.latch_s": 1.2, "capture.hold_s": 0.2,
    "capture.control_s": 1.0, "capture.settle_s": 0.1, "capture.most_rate_degps": 5.0, "capture.speed_mps": 0.2,
    "servos.slides.grapple.rate_mmps": 100.0, "servos.slides.grapple.acceleration_mmps2": 1000.0,
}  # fmt: skip


@pytest.mark.slow
def test_a_capture_with_one_rigid_boom_and_one_of_two_modes_is_verified_and_replayed(tmp_path):
    changes = {"rover.space_arm.upper_modes": 0, "rover.space_arm.lower_modes": 2}
    summary = run_experiment(load_config("sim_capture", {**SHORT, **changes}), tmp_path, lambda _: None).summary
    assert summary["accepted"], summary["reasons"]
    assert 0.0 < summary["bend_max_mm"] < 300.0
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    assert (tmp_path / "capture.png").stat().st_size > 10_000


LEGS = ["rover.type=rcp", "rover.flexible_legs={up_Npm: 4e4, ahead_Npm: 6e4}", "telemetry.endpoint=''"]


@pytest.mark.slow
def test_legs_of_a_config_give_under_the_load_that_their_springs_bear():
    rig = Rig(load_config("sim_step", LEGS))
    rover, _, state = rig.nominal.build()
    sag = [state.q[7 + rover.tree_joint_names.index(f"{wheel}_2_flex")] for wheel in rover.wheel_names]
    below = 4.0 + 0.5 * END_SHARE * 2.0  # the wheel, and half of the end of a leg of 2 kg
    borne = (rover.mass - 6.0 * below) * rig.config.ground.gravity_mps2
    assert sum(sag) * 4e4 == pytest.approx(borne, rel=1e-3)
    assert max(sag) < 1.02 * min(sag)
    # statics take them for relaxed: the loads are those of the rigid rover
    rigid = Rig(load_config("sim_step", [LEGS[0], LEGS[2]]))
    assert rig.resting_loads_N == pytest.approx(rigid.resting_loads_N, rel=1e-6)
    assert math.isclose(rover.mass, rigid.nominal.make_rover().mass, rel_tol=1e-12)


@pytest.mark.slow
def test_a_crossing_on_flexible_legs_is_recorded_verified_and_replayed(tmp_path):
    config = load_config("sim_step", [*LEGS, "ground.profile.start_m=0.02", "crossing.timeout_s=1.5"])
    summary = run_experiment(config, tmp_path, lambda _: None).summary
    assert "not crossed" in summary["reasons"][0]
    assert summary["mobility"]["friction_needed"]["start"] == pytest.approx(0.0, abs=1e-6)
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("sim_juno", "rover.flexible_legs={}", "a separate one for each wheel"),
        ("sim_step", "rover.flexible_legs={up_Npm: null}", "springs is empty"),
        ("sim_capture", "rover.flexible_legs={}", "null with rover.type space_arm"),
    ],
)
def test_legs_that_cannot_bend_are_refused_by_their_key(name, change, words):
    with pytest.raises(ConfigError, match=rf"rover\.flexible_legs.*{words}"):
        load_config(name, [change])
