"""Servos of driven joints: as a closed form and MuJoCo have them, within their limits, without energy of their own."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from models.actuators.drive import Drive
from models.actuators.servo import Servo, check_servo, make_servos
from models.gravity import EARTH_GRAVITY
from models.impact import effective_kinetic_energy, pair_energy
from models.rover import rcp, rocker_bogie
from models.rover.dynamics import make_work
from models.rover.locks import held_rover
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.vehicle.energy import EnergyMeter
from models.vehicle.step import accounted_step

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

IDLE = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
FLOATING = np.zeros(3)
DT = 1e-4
FREE = {"walking": None}
FRONT, REAR = "front_left_walking", "rear_right_walking"
# Neither friction nor limits: a linear system.
LINEAR = Servo(FRONT, gear_friction=0.0, rate=math.inf, torque_limit=math.inf)
WALKING = rcp(locks=FREE)
LEGS = [name for name in WALKING.joint_names if name.endswith("_walking")]


def floating(rover, servos, gravity=FLOATING):
    """A rover without ground, and its state at the start angles of its servos."""
    vehicle = VehicleModel(rover.chain, None, IDLE, None, gravity, servos=make_servos(rover, servos))
    return vehicle, make_vehicle_state(rover, servos=servos)


def angle_of(rover, state, joint=FRONT):
    return state.q[7 + rover.joint_names.index(joint)]


def test_a_small_step_is_answered_as_the_closed_form_of_the_two_loops_has_it():
    rover = rcp(locks={FRONT: None})
    vehicle, state = floating(rover, [LINEAR])
    inverse = np.linalg.inv(rover.mass_matrix(rover.neutral()))
    inertia = 1.0 / inverse[6 + rover.joint_names.index(FRONT), 6 + rover.joint_names.index(FRONT)]
    loop = np.array(
        [[0.0, 1.0], [-LINEAR.velocity_gain * LINEAR.position_gain / inertia, -LINEAR.velocity_gain / inertia]]
    )
    target = math.radians(0.5)
    state.servos.angle[:] = target
    for _ in range(50):
        run(vehicle, state, 20, DT)
        t = (_ + 1) * 20 * DT
        wanted = target - (expm(loop * t) @ np.array([target, 0.0]))[0]
        assert angle_of(rover, state) == pytest.approx(wanted, abs=0.004 * target)


def test_legs_at_their_torque_limits_move_as_with_position_actuators_of_mujoco():
    servos = [Servo(name, gear_friction=0.0, rate=math.inf, torque_limit=8.0) for name in LEGS]
    targets = np.radians([12.0, -9.0, 4.0, 15.0, -6.0, 8.0])
    vehicle, state = floating(WALKING, servos)
    state.servos.angle[:] = targets
    spec = mujoco.MjSpec.from_string(WALKING.urdf())
    spec.compiler.fusestatic = False
    spec.worldbody.first_body().add_freejoint()
    spec.option.gravity, spec.option.timestep = FLOATING, DT
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for geometry in spec.geoms:
        geometry.contype = geometry.conaffinity = 0
    gain, rate = servos[0].velocity_gain * servos[0].position_gain, servos[0].velocity_gain
    for name in LEGS:
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gainprm[0], actuator.biastype = gain, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.biasprm[:3] = 0.0, -gain, -rate
        actuator.forcelimited, actuator.forcerange = True, (-8.0, 8.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.ctrl[:] = targets
    limited = 0
    for _ in range(40):
        run(vehicle, state, 100, DT)
        for _ in range(100):
            mujoco.mj_step(model, data)
        ours = [angle_of(WALKING, state, name) for name in LEGS]
        theirs = [data.joint(name).qpos[0] for name in LEGS]
        assert ours == pytest.approx(theirs, abs=5e-4)  # both are of first order in the step
        limited += int((np.abs(state.servos.torque) > 7.999).sum())
    assert limited > 10  # so that the limit is part of the comparison
    assert ours == pytest.approx(targets, abs=1e-3)


def test_a_servo_with_huge_gains_is_a_lock_at_its_angle():
    angles = dict(zip(LEGS, np.radians([20.0, -15.0, 5.0, 0.0, 10.0, -25.0]).tolist(), strict=True))
    stiff = [LINEAR._replace(joint=name, start=at, position_gain=1e3, velocity_gain=1e9) for name, at in angles.items()]
    vehicle, state = floating(WALKING, stiff, np.array(EARTH_GRAVITY))
    still = rcp(locks=angles)
    other = VehicleModel(still.chain, None, IDLE, None, np.array(EARTH_GRAVITY))
    locked = make_vehicle_state(still)
    for one in (state, locked):
        one.pull[:] = 60.0, -40.0, 900.0, 15.0, -20.0, 8.0
    run(vehicle, state, 1000, DT)
    run(other, locked, 1000, DT)
    assert state.v[:6] == pytest.approx(locked.v[:6], abs=1e-6)
    assert [angle_of(WALKING, state, name) for name in LEGS] == pytest.approx(list(angles.values()), abs=1e-6)


def test_a_leg_that_hangs_loads_its_servo_with_its_weight_about_its_hinge():
    angles = np.radians([20.0, -15.0, 5.0, 12.0, 10.0, -25.0])
    still = dict.fromkeys(("left_bogie", "right_bogie", "rear_bogie"), 0.0)
    rover = rcp(locks=FREE | still)
    names = [name for name in rover.joint_names if name.endswith("_walking")]
    servos = [Servo(name, start=at, position_gain=100.0) for name, at in zip(names, angles, strict=True)]
    vehicle, state = floating(rover, servos, np.array(EARTH_GRAVITY))
    # what carries the rover: its weight, taken at the base, as a person at a crane would
    state.pull[:] = rover.bias(rover.own_configuration(state.q), np.zeros(rover.nv))[:6]
    run(vehicle, state, 10_000, DT)
    g, turned = -EARTH_GRAVITY[2], [angle_of(rover, state, name) for name in names]
    for name, angle, torque in zip(names, turned, state.servos.torque, strict=True):
        leg, wheel = name.replace("walking", "leg"), name.replace("walking", "wheel")
        arm = Rotation.from_euler("y", angle)
        axle = next(joint.origin for joint in rover.tree.joints if joint.child == wheel)
        body = rover.tree.body
        ahead = body[leg].mass * arm.apply(body[leg].com)[0] + body[wheel].mass * arm.apply(axle)[0]
        # its weight turns the leg by +ahead about the port axis
        assert torque == pytest.approx(-g * ahead, abs=0.02)
    assert np.abs(state.servos.torque).max() > 3.0


def test_no_servo_passes_its_torque_limit_and_a_stronger_load_turns_its_joint_with_the_rest():
    servos = [Servo(FRONT, torque_limit=20.0, velocity_gain=1e6), Servo(REAR, torque_limit=20.0, velocity_gain=1e6)]
    vehicle, state = floating(rcp(locks={FRONT: None, REAR: None}), servos)
    rover = rcp(locks={FRONT: None, REAR: None})
    places = [6 + rover.joint_names.index(name) for name in (FRONT, REAR)]
    state.torque[places] = 50.0, -15.0
    run(vehicle, state, 1, DT)
    assert state.servos.torque[0] == pytest.approx(-20.0, abs=1e-8)
    assert abs(state.servos.torque[1]) < 19.0  # it holds its joint, against the load and what the other's swing adds
    # as with a force of the limit on the one joint, and the other locked
    locked = rcp(locks={FRONT: None})
    free = np.zeros(locked.nv)
    free[6 + locked.joint_names.index(FRONT)] = 30.0
    wanted = locked.forward_dynamics(locked.neutral(), np.zeros(locked.nv), free, gravity=(0.0, 0.0, 0.0))
    friction = servos[0].gear_friction / servos[0].friction_speed * DT
    speed = wanted[6 + locked.joint_names.index(FRONT)] * DT
    inertia = 30.0 * DT / speed
    assert state.v[places[0]] == pytest.approx(speed * inertia / (inertia + friction), rel=2e-3)
    for _ in range(300):
        run(vehicle, state, 1, DT)
        assert np.abs(state.servos.torque).max() <= 20.0 + 1e-8


def test_a_far_step_is_turned_at_the_rate_of_the_servo():
    rover = rcp(locks={FRONT: None})
    servo = Servo(FRONT, gear_friction=0.0)
    vehicle, state = floating(rover, [servo])
    state.servos.angle[:] = 1.0
    place = 6 + rover.joint_names.index(FRONT)
    run(vehicle, state, 5000, DT)
    assert state.v[place] == pytest.approx(servo.rate, rel=1e-3)
    before = state.q[place + 1]
    run(vehicle, state, 5000, DT)
    assert state.q[place + 1] - before == pytest.approx(0.5 * servo.rate, rel=1e-3)


@pytest.mark.parametrize("brakes", [0.0, 1.0])
def test_a_cut_leaves_the_damping_of_its_power_stage(brakes):
    rover = rcp(locks={FRONT: None})
    servo = LINEAR._replace(brakes_on_cut=brakes, coast_damping=3.0, brake_damping=40.0)
    vehicle, state = floating(rover, [servo])
    place, damping = 6 + rover.joint_names.index(FRONT), 40.0 if brakes else 3.0
    state.servos.cut[:], state.v[place] = 1.0, 0.1
    tau = np.zeros(rover.nv)
    tau[place] = -damping * 0.1
    v = np.zeros(rover.nv)
    v[place] = 0.1
    wanted = rover.forward_dynamics(rover.neutral(), v, tau, gravity=(0.0, 0.0, 0.0))
    run(vehicle, state, 1, 1e-6)
    assert (state.v - v)[place] / 1e-6 == pytest.approx(wanted[place], rel=1e-3)
    assert state.servos.torque[0] == pytest.approx(-damping * 0.1, rel=1e-3)


def moved(dt):
    """Legs that swing at their limits, are cut, and swing back; the energies before and after."""
    servos = [Servo(name, torque_limit=6.0) for name in LEGS]
    vehicle, state = floating(WALKING, servos)
    meter = EnergyMeter(WALKING, vehicle, state)
    start = meter.read()
    for angle, cut in ((0.3, 0.0), (0.3, 1.0), (-0.2, 0.0)):
        state.servos.angle[:], state.servos.cut[:] = angle, cut
        for _ in range(round(0.4 / dt)):
            accounted_step(vehicle, state, dt, meter.ledger)
    return start, meter.read()


def test_the_work_of_servos_is_what_the_rover_gains_and_gears_and_cut_motors_lose():
    residues = []
    for dt in (2e-4, 1e-4):
        start, end = moved(dt)
        assert end.servos - start.servos > 0.1
        assert min(end.gear, end.cut_drives) > 1e-3
        residues.append(abs(end.residue(start)) / end.servos)
    assert residues[0] < 5e-3
    assert residues[1] < 0.7 * residues[0]


@pytest.mark.parametrize(
    ("servos", "said"),
    [
        ([Servo("front_left_drive")], "servo of front_left_drive: no joint to drive"),
        ([Servo("front_left_steering")], "servo of front_left_steering: no joint to drive"),
        ([Servo(FRONT), Servo(FRONT)], "each joint once"),
        ([Servo(FRONT, position_gain=0.0, torque_limit=-1.0)], "position_gain is 0.0.*torque_limit is -1.0"),
    ],
)
def test_servos_that_cannot_be_are_refused(servos, said):
    with pytest.raises(ValueError, match=said):
        make_servos(WALKING, servos)


def test_a_coupled_joint_and_its_source_have_no_servo():
    for joint in ("left_rocker", "right_rocker"):
        with pytest.raises(ValueError, match="no joint to drive"):
            make_servos(rocker_bogie(), [Servo(joint)])


def test_limits_may_be_infinite_and_nothing_else():
    check_servo(LINEAR)
    with pytest.raises(ValueError, match="velocity_gain is inf"):
        check_servo(LINEAR._replace(velocity_gain=math.inf))


def test_an_impact_counts_driven_joints_as_held_where_they_are():
    """T_c by the kernel of a tick equals that of the rover with these joints locked."""
    angles = dict(zip(LEGS, np.radians([20.0, -15.0, 5.0, 0.0, 10.0, -25.0]).tolist(), strict=True))
    state = make_vehicle_state(WALKING, servos=[Servo(name, start=at) for name, at in angles.items()])
    random = np.random.default_rng(3)
    state.v[:] = 0.1 * random.standard_normal(state.v.size)
    legs = [6 + WALKING.joint_names.index(name) for name in LEGS]
    state.v[legs] = 0.0
    held, q, v = held_rover(WALKING, state.q, state.v, LEGS)
    assert {joint.name: joint.locked_at for joint in held.tree.joints if joint.name in LEGS} == pytest.approx(angles)
    wanted = effective_kinetic_energy(held.mass_matrix(q), held.impact_jacobian(q, 1.0), v)
    rows, work = np.zeros((2, state.v.size)), make_work(WALKING.chain)
    servos = make_servos(WALKING, [Servo(name) for name in LEGS])
    assert pair_energy(WALKING.chain, state.q, state.v, 1.0, rows, work, servos) == pytest.approx(wanted, rel=1e-6)
    assert pair_energy(WALKING.chain, state.q, state.v, 1.0, rows, work) < 0.9 * wanted
