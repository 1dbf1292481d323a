"""`hil energy --compliance` and `--sensitivity`: numbers against independent calculations, and what is printed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hil.analysis.energy import energy_curve
from hil.analysis.energy_variants import compliance, sensitivity
from hil.cli import run
from hil.config import load_config
from hil.config.rig import Rig
from models.impact import effective_kinetic_energy

ANGLES = [30.0, 60.0, 90.0]
WHEEL_KG, SPEED = 4.0, 0.07


@pytest.fixture(scope="module")
def config():
    return load_config("sim_impact")


@pytest.mark.slow
def test_json_has_both_parts_beside_the_keys_that_were_there(tmp_path, capsys):
    folder = tmp_path / "energy"
    options = ["--angles", "30:90:30", "--out", str(folder), "--json"]
    assert run(["energy", "sim_impact", *options, "--compliance", "--sensitivity"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["angles_deg", "energy_J", "peak_angle_deg", "compliance", "sensitivity"]
    assert all(
        len(found["compliance"][key]) == 3
        for key in ("rigid_energy_J", "energy_J", "peak_force_N", "time_s", "plate_stiffness_Npm")
    )
    assert [len(row) for row in found["sensitivity"]["gradient_Jprad"]] == [3] * len(
        found["sensitivity"]["coordinates"]
    )
    assert json.loads((folder / "energy.json").read_text()) == found
    assert {"energy_compliance.png", "energy_sensitivity.png"} <= {file.name for file in folder.iterdir()}


@pytest.mark.slow
def test_tables_of_both_parts_are_printed(tmp_path, capsys):
    options = ["--angles", "60:90:30", "--out", str(tmp_path / "e")]
    assert run(["energy", "sim_impact", *options, "--compliance", "--sensitivity"]) == 0
    printed = capsys.readouterr().out
    assert "first hit" in printed
    assert "by default steel" in " ".join(printed.split())  # not the force of a trial, whose legs give
    assert "left_bogie" in printed
    assert "mJ/deg" in printed


@pytest.mark.slow
def test_an_angle_of_zero_is_refused_with_compliance_only(tmp_path, capsys):
    options = ["--angles", "0:90:45", "--out", str(tmp_path / "e")]
    assert run(["energy", "sim_impact", *options, "--compliance"]) == 2
    assert "angles above 0" in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert run(["energy", "sim_impact", *options, "--sensitivity", "--json"]) == 0


def test_against_a_stiff_plate_the_first_hit_spends_the_wheels_alone(config):
    """The hubs are free to move: two wheels as two masses at the speed of approach."""
    found = compliance(Rig(config), ANGLES)
    for angle, energy in zip(ANGLES, found["energy_J"], strict=True):
        wheels = 2.0 * 0.5 * WHEEL_KG * (SPEED * math.sin(math.radians(angle))) ** 2
        assert energy == pytest.approx(wheels, rel=2e-3)


def test_against_a_soft_plate_it_is_t_c_of_the_rigid_rover(config):
    found = compliance(Rig(config), ANGLES)
    plates = found["over_plate"]
    assert found["rigid_energy_J"] == pytest.approx(energy_curve(Rig(config), ANGLES)["energy_J"], rel=1e-12)
    assert plates["energy_J"][0] == pytest.approx(found["rigid_energy_J"][1], rel=0.01)
    assert plates["stiffness_Npm"][0] < 0.011 * found["leg_stiffness_Npm"]
    assert max(plates["energy_J"]) <= found["rigid_energy_J"][1] * (1.0 + 1e-9)


@pytest.mark.slow
def test_between_them_it_is_that_of_the_motion_integrated_in_time(config):
    """Rover and wheels as separate bodies, joined by the springs' forces alone: no mass matrix of both together."""
    angle, plate = math.radians(60.0), 5.5e4
    legs = (4e4, 9e4)
    found = compliance(
        Rig(
            load_config(
                "sim_impact",
                [
                    "obstacle.legs=each", f"obstacle.plate_stiffness={plate}", f"obstacle.leg_stiffness_Npm={legs[0]}",
                    f"obstacle.leg_stiffness_up_Npm={legs[1]}",
                ],
            )
        ),
        [60.0],
    )  # fmt: skip
    rover = config.rover.parameters().build()
    q, front = rover.neutral(), ("front_left", "front_right")
    hubs = np.stack([rover.impact_jacobian(q, 0.5 * np.pi, front), -rover.impact_jacobian(q, 0.0, front)], axis=1)
    # the rover behind the springs: its kinetic energy less that of the two wheels at their hubs
    behind = rover.mass_matrix(q) - WHEEL_KG * np.einsum("wan,wam->nm", hubs, hubs)
    normal, springs, count = np.array([math.sin(angle), -math.cos(angle)]), np.array(legs), rover.nv

    def motion(_t, s):
        x, wheel, v, rate = np.split(s, [count, count + 4, 2 * count + 4])
        wheel, rate = wheel.reshape(2, 2), rate.reshape(2, 2)
        pull = springs * (wheel - np.einsum("wan,n->wa", hubs, x))
        push = np.outer(plate * (wheel @ normal), normal)
        a = np.linalg.solve(behind, np.einsum("wan,wa->n", hubs, pull))
        return np.concatenate([v, rate.ravel(), a, (-(pull + push) / WHEEL_KG).ravel()])

    v = np.zeros(count)
    v[0] = SPEED
    start = np.concatenate([np.zeros(count + 4), v, np.einsum("wan,n->wa", hubs, v).ravel()])
    way = solve_ivp(motion, (0.0, 0.2), start, rtol=1e-9, atol=1e-13, max_step=1e-4)
    depth = way.y[count : count + 4].T.reshape(-1, 2, 2) @ normal
    apart = np.flatnonzero((depth.sum(axis=1) <= 0.0) & (way.t > 1e-4))
    held = 0.5 * plate * (depth[: apart[0] if apart.size else None] ** 2).sum(axis=1)
    assert found["energy_J"][0] == pytest.approx(held.max(), rel=1e-4)
    assert found["time_s"][0] == pytest.approx(way.t[held.argmax()], abs=2e-4)


def test_plate_of_another_exponent_has_the_peak_of_that_law(config):
    found = compliance(Rig(load_config("sim_impact", ["obstacle.exponent=1.5"])), [60.0])
    one = 0.5 * found["energy_J"][0]
    deepest = (2.5 * one / 1e9) ** 0.4
    assert found["peak_force_N"][0] == pytest.approx(2.0 * 1e9 * deepest**1.5, rel=1e-3)


def test_sensitivity_to_the_bogies_is_that_of_finite_differences(config):
    found = sensitivity(Rig(config), [60.0])
    rover, h = config.rover.parameters().build(), 1e-4

    def energy(joint, angle):
        q, v = rover.neutral(), np.zeros(rover.nv)
        q[7 + rover.joint_names.index(joint)], v[0] = angle, SPEED
        return effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, math.radians(60.0)), v)

    for name in ("left_bogie", "right_bogie", "rear_bogie"):
        slope = (energy(name, h) - energy(name, -h)) / (2.0 * h)
        gradient = found["gradient_Jprad"][found["coordinates"].index(name)][0]
        assert gradient == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_sensitivity_to_the_pitch_is_the_slope_over_the_angle(config):
    """With velocity and rover pitched together it is the plate that is turned."""
    found, h = sensitivity(Rig(config), [45.0, 75.0]), 0.01
    pitch = found["gradient_Jprad"][found["coordinates"].index("base_pitch")]
    for angle, gradient in zip((45.0, 75.0), pitch, strict=True):
        low, high = energy_curve(Rig(config), [angle - h, angle + h])["energy_J"]
        assert abs(gradient) == pytest.approx(abs(high - low) / math.radians(2.0 * h), rel=1e-5)


def test_wheels_own_angles_are_no_coordinates(config):
    assert sensitivity(Rig(config), [60.0])["coordinates"] == [
        "base_roll", "base_pitch", "base_yaw", "left_bogie", "rear_bogie", "right_bogie",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_standing_on_the_obstacle_is_given_beside_the_energy(tmp_path, capsys):
    folder = tmp_path / "energy"
    assert run(["energy", "sim_impact", "--angles", "0:90:45", "--standing", "--json", "--out", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)["standing"]
    assert found == json.loads((folder / "energy.json").read_text())["standing"]
    assert (folder / "energy_standing.png").is_file()
    level, half, wall = found["friction_needed"]
    assert level == 0.0 < half < wall
    # forces along the wheels' normals bear the weight where the ground is level
    assert sum(share[0] for share in found["load_share"].values()) == pytest.approx(1.0, abs=1e-9)
    assert all(0.0 < margin < 90.0 for margin in found["stability_deg"])
