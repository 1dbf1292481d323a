"""Whole rovers at a step and at a ledge: the friction at first contact, the force of a drop, a roll over an edge."""

from __future__ import annotations

import math

import numpy as np

from hil.bench.bench_models import CONFIG, mujoco_rover
from hil.config import Config, load_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.experiments.crossing.experiment import drop_force
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.rover import exomars
from models.rover.rover import Rover
from models.statics import least_friction, stand
from models.vehicle import Scene, VehicleState, run_bound

STEP_S = 1e-4
DROP_M = 0.1
Row = tuple[str, str, str, str, str]


def first_contact_friction() -> list[Row]:
    """Acary's step: the least friction with which statics hold the ExoMars rover with its front wheels on the edge."""
    rover, height_m = exomars(), 0.1
    radius_m = float(rover.chain.wheel_radius[0])
    angle = math.acos(1.0 - height_m / radius_m)
    normals = np.tile((0.0, 0.0, 1.0), (len(rover.wheel_names), 1))
    normals[[name.startswith("front") for name in rover.wheel_names]] = (-math.sin(angle), 0.0, math.cos(angle))
    needed = least_friction(stand(rover, rover.neutral(), normals)).coefficient
    return [
        (
            "Acary 3.1, step of 0.1 m, ExoMars, friction 0.35",
            "the rover climbs it; masses and wheels are not printed",
            f"with our wheels of R {radius_m:g} m statics need a friction of {needed:.2f} as the front wheels leave "
            "the ground: `sim_step` climbs with 0.8, and not with 0.35",
            "it does not climb",
            "larger wheels, or speed, would explain it; the source says too little to tell",
        )
    ]


def drops_of_a_rover() -> list[Row]:
    """The mass that the RCP's front wheels bring to a drop, beside MuJoCo's, and the force that arming predicts."""
    import mujoco

    rover = load_config("sim_impact").rover.parameters().build()
    q = rover.neutral()
    pair_kg = _both(rover.impact_jacobian(q, 0.0), rover.mass_matrix(q))
    model, data = mujoco_rover(CONFIG, on_plane=False)
    mujoco.mj_forward(model, data)
    mass, turn, rows = np.zeros((model.nv, model.nv)), np.zeros((3, model.nv)), np.zeros((2, model.nv))
    for one, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, mass[one], unit)
    for which, wheel in enumerate(rover.tree.wheels[:2]):
        place = np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, place, turn, mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, wheel.body))
        rows[which] = place[2]
    their_kg = _both(rows, mass)

    force = drop_force(Rig(load_config("sim_drop", ["daq={}", "ground.profile.plate={face: 2}"])))
    assert force is not None
    speed, peak_N = _let_go()
    return [
        (
            "mass that both front wheels of the RCP bring to a drop, 2 T_c / v^2 (MacMahon (3.27), row (0, -1))",
            f"MuJoCo's mass matrix of the same rover: {their_kg:.3f} kg",
            f"{pair_kg:.3f} kg",
            "none" if abs(pair_kg / their_kg - 1.0) < 1e-6 else f"{100 * (pair_kg / their_kg - 1):+.3f} %",
            "",
        ),
        (
            "the RCP's front wheels, let go 0.1 m over ground as stiff as the legs: speed and peak force of each, "
            "next to what arming predicts",
            f"simulated, drives held: {speed:.2f} m/s, {peak_N:.0f} N",
            f"predicted: {force.speed_mps:.2f} m/s, {force.wheel_N:.0f} N",
            "an upper bound",
            "it takes a free fall and adds 15 %; here the middle wheels stay on the ledge and hold the bogie",
        ),
        (
            "the same on sensors of 445 N that break at about 667 N (MacMahon 6.2.3: drops were planned, not done)",
            "-",
            f"{max(force.sensor_N):.0f} N on the upper sensor: refused at arming",
            "-",
            "",
        ),
    ]


def _both(rows: FloatArray, mass: FloatArray) -> float:
    """Effective mass [kg] of two points that are stopped at once."""
    return float(np.linalg.inv(rows @ np.linalg.solve(mass, rows.T)).sum())


def _let_go() -> tuple[float, float]:
    """Speed [m/s] and peak force [N] of a front wheel that falls on ground as stiff as its leg."""
    leg_Npm = 1.0 / load_config("sim_drop").obstacle.leg_compliance_mpN(0.0)
    soft = [f"ground.stiffness={leg_Npm}", "ground.damping_Nspm=200", "ground.profile.plate_m=2"]
    rover, state, scene, start_m = _settled(load_config("sim_drop", soft))
    state.q[0] += start_m + 2.1 * float(rover.chain.wheel_radius[0])  # wholly past the ledge
    before, fastest, peak = rover.wheel_positions(state.q)[0, 2], 0.0, 0.0
    for _ in range(400):
        run_bound(scene, 10, STEP_S)
        now = rover.wheel_positions(state.q)[0, 2]
        fastest, before = max(fastest, (before - now) / (10 * STEP_S)), now
        peak = max(peak, float(state.ground.vertical[0]))
    return fastest, peak


def _settled(config: Config) -> tuple[Rover, VehicleState, BoundArguments[Scene], float]:
    """A rover that stands before its profile with held drives, and how far before it [m]."""
    nominal = nominal_rig(config)
    rover, vehicle, state = nominal.build()
    scene = BoundArguments(Scene(vehicle, state))
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 0.0
    run_bound(scene, 5000, STEP_S)
    return rover, state, scene, nominal.start_distance


def drop_of_a_rover() -> str:
    """What sim_drop does at the edge, in words."""
    config = load_config("sim_drop", ["ground.profile.start_m=0.03"])
    rover, state, scene, _ = _settled(config)
    state.drives.set_speed[:] = config.crossing.speed_mps / config.wheel_radius_m
    radius_m, height_m = float(rover.chain.wheel_radius[0]), DROP_M
    before, fastest = rover.wheel_positions(state.q)[0, 2], 0.0
    for _ in range(4000):
        run_bound(scene, 10, STEP_S)
        now = rover.wheel_positions(state.q)[0, 2]
        fastest, before = max(fastest, (before - now) / (10 * STEP_S)), now
    alone = config.crossing.speed_mps * math.tan(math.acos(1.0 - height_m / radius_m))
    return (
        f"In `sim_drop` the ledge of {height_m:g} m is lower than the wheel (R {radius_m:g} m). "
        f"At {config.crossing.speed_mps:g} m/s the front wheels stay on the edge\n"
        f"until they touch the ground below: they arrive at {fastest:.2f} m/s, not at 1.40. A carriage that only goes "
        f"ahead would\nbring them down at v tan(phi), cos(phi) = 1 - h/R: {alone:.2f} m/s; the bogie, which turns "
        "about its joint, adds the rest.\nWhat arming predicts is the fall. The middle wheels do fall: friction of the "
        "others holds the bogie up until the drives\nare cut. Statics need 0.597 for that (`mobility` of the run), and "
        "the config has 0.6; with 0.58 they roll down."
    )
