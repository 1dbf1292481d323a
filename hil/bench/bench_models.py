"""`hil bench models`: speed of wheel, rover and space arm, compared in one run with engines without soil."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from hil.app.warm_up import report_compiling
from hil.bench.conditions import machine, start_times_s
from hil.campaign.run import ProgressReporter
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.estimation.soil.soil_filter import SOIL, STATES, make_filter, make_wheels, update
from models.actuators.pneumatic import NO_CYLINDERS
from models.kernels.bound import BoundApart, BoundArguments
from models.plant import RigParameters
from models.plant.advance import PlantParts, advance, make_log
from models.rover.arm_names import JOINTS
from models.rover.capture_arm import CaptureArmParameters
from models.rover.rover import Rover
from models.rover.tree import Tree
from models.vehicle import Scene, VehicleModel, VehicleState, address_of_run, run_bound
from models.wheel import CrownedWheel, FlexibleWheel, RigidWheel, Ring, many

ARM = "sim_capture"
_SPEED = 0.01  # at which the joints begin to turn [rad/s]; their servos bring them back
_BENDING = ("_bend", "_shape", "_slope")


@dataclass(frozen=True)
class _RigidArm(CaptureArmParameters):
    """The same arm, whose booms do not bend."""

    def tree(self) -> Tree:
        """Without the bending, what follows from it stands still too."""
        tree = super().tree()
        joints = tuple(replace(one, locked_at=0.0) if one.name.endswith(_BENDING) else one for one in tree.joints)
        return replace(tree, joints=joints, couplings=())


def arm_steps(dt_s: float) -> dict[str, Callable[[int], object]]:
    """Rows `substep_arm` and `substep_arm_rigid`: so many steps of that length [s], payload and latch included."""
    rig = nominal_rig(load_config(ARM))
    return {"substep_arm": _steps(rig, dt_s), "substep_arm_rigid": _steps(replace(rig, rover=_RigidArm()), dt_s)}


def _steps(rig: RigParameters, dt_s: float) -> Callable[[int], object]:
    rover, vehicle, state = rig.build()
    state.v[[6 + rover.tree_joint_names.index(name) for name in JOINTS]] = _SPEED
    scene = BoundArguments(Scene(vehicle, state))
    return lambda count: run_bound(scene, count, dt_s)


CONFIG, UNEVEN, XU, MIXED, SHAPED = "sim_impact", "sim_scan", "sim_xu", "sim_mixed_wheels", "sim_drop"
HARD = "sim_step_nonsmooth"
DT_S = 1e-4
SUBSTEPS = 10
LEVEL = {"ground.profile.start_m": 50.0}  # the step is out of reach
STEP_S = SUBSTEPS * DT_S  # of the peers
STEP_NS = round(STEP_S * 1e9)
SETTLED_STEPS = 20_000
SETTLED_NS = round(SETTLED_STEPS * DT_S * 1e9)
WHEELS = 500
# Every candidate runs once in each round, so that other load of the machine affects all equally.
BURST_S = 2e-3

Row = dict[str, Any]
# Does its work this number of times.
Contender = Callable[[int], object]

PEERS = {"mujoco": "MuJoCo", "pin": "Pinocchio"}
COMPARED = {
    "millisecond": "mujoco_millisecond",
    "plant_millisecond": "mujoco_millisecond",
    "wheel_exact": "wheel_split_quadrature",
    "wheel_flexible": "wheel_exact",
    "wheel_crowned": "wheel_exact",
    "substep_mixed_wheels": "substep",
    "wheel_xu": "wheel_exact",
    "substep_scan": "substep_juno",
    "substep_juno_exact": "substep_juno",
    "substep_xu": "substep_scan",
    "substep_profile": "substep_firm",
    "substep_arm": "substep_arm_rigid",
    "substep_nonsmooth": "substep_rocker_bogie",
}


def bench_models(rounds: int, starts: int, report: ProgressReporter) -> dict[str, Any]:
    """Measure everything.

    Args:
        rounds: number of runs of each candidate; the quantiles are over these.
        starts: number of processes that start with the cache, after one with nothing compiled; 0: none.
        report: takes lines, and how many rounds are over.

    Returns:
        The content for `--json`: machine, peers, rows; the ratios are of medians.
    """
    about = machine()
    peers = {name: _version(package) for package, name in PEERS.items()}
    report_compiling(report.text)
    report.text("settling a rover on soil, and on a plane if MuJoCo is installed")
    contenders: dict[str, Contender] = {**_rover(), **_uneven(), **_wheel(), **_soil(), **arm_steps(DT_S)}
    sizes: dict[str, int] = dict.fromkeys(
        ("wheel_exact", "wheel_flexible", "wheel_crowned", "wheel_xu", "wheel_split_quadrature"), WHEELS
    )
    if peers["MuJoCo"]:
        contenders |= _mujoco()
    if peers["Pinocchio"]:
        contenders |= _pinocchio()
    report.text(f"{rounds} rounds of {len(contenders)} candidates in turn")
    rows = _measured(contenders, sizes, rounds, report)
    if starts:
        report.text(f"a process that compiles every kernel of a tick, and {starts} that load them from the cache")
        rows += _starts(starts)
    medians = {row["name"]: row["p50"] for row in rows}
    for row in rows:
        if (peer := COMPARED.get(row["name"])) in medians:
            row |= {"ratio_to": peer, "ratio": row["p50"] / medians[peer]}
    return {"machine": about, "peers": peers, "rows": rows}


def _measured(
    contenders: Mapping[str, Contender], sizes: Mapping[str, int], rounds: int, report: ProgressReporter
) -> list[Row]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    repeats = {name: _repeats(contender) for name, contender in contenders.items()}
    for count in range(rounds):
        for name, contender in contenders.items():
            times[name].append(_seconds(contender, repeats[name]) / repeats[name] / sizes.get(name, 1))
        report.done(count + 1, rounds)
    return [_row(name, "us", np.array(seconds) * 1e6) for name, seconds in times.items()]


def _starts(count: int) -> list[Row]:
    first, cached = start_times_s(count)
    return [_row("start_first", "s", np.array([first])), _row("start_cached", "s", np.array(cached))]


def _row(name: str, unit: str, times: np.ndarray) -> Row:
    p50, p99 = np.quantile(times, (0.5, 0.99)).tolist()
    row: Row = {"name": name, "unit": unit, "p50": p50, "p99": p99, "min": float(times.min())}
    return row | {"ratio_to": None, "ratio": None}


def _repeats(contender: Contender) -> int:
    """Number of repeats that fit into one burst."""
    contender(1)  # compiles
    once = min(_seconds(contender, 10) / 10 for _ in range(3))
    return max(1, round(BURST_S / once))


def _seconds(contender: Contender, repeats: int) -> float:
    began = time.perf_counter()
    contender(repeats)
    return time.perf_counter() - began


def _rover() -> dict[str, Contender]:
    """Our model: a rover that drives on soil, with six exact wheels."""
    scene = _driving(*nominal_rig(load_config(CONFIG)).build())

    def from_python(steps: int, dt_s: float) -> Contender:
        def again(count: int) -> None:
            for _ in range(count):
                run_bound(scene, steps, dt_s)

        return again

    return {
        "substep": lambda count: run_bound(scene, count, DT_S),
        "millisecond": from_python(1, STEP_S),
        "plant_millisecond": _plant(),
        "tick_10": from_python(SUBSTEPS, DT_S),
        "call_overhead": from_python(0, DT_S),
    }


def _plant() -> Contender:
    """The same as the plant steps it, without sensors: steps as long as the state allows, the obstacle far away."""
    rig = nominal_rig(load_config(CONFIG))
    rover, vehicle, state = rig.build()
    assert vehicle.obstacle is not None
    vehicle = vehicle._replace(obstacle=vehicle.obstacle._replace(foot=1e9))
    scene, chain, log = BoundApart(Scene(vehicle, state)), rover.chain, make_log(state, 0)
    parts = BoundArguments(
        PlantParts(
            scene,
            state,
            chain.wheel_body,
            rig.cylinder,
            None,
            log,
            None,
            NO_CYLINDERS,
            chain.motor_wheel,
            rig.step_lengths,
        )
    )
    run = address_of_run(vehicle, state)
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 0.4
    advance(parts, run, 0, SETTLED_NS)

    def again(count: int) -> None:
        for _ in range(count):
            advance(parts, run, 0, STEP_NS)

    return again


def _driving(_: Rover, vehicle: VehicleModel, state: VehicleState) -> BoundArguments[Scene]:
    """At constant speed, with the obstacle out of reach."""
    assert vehicle.obstacle is not None
    scene = BoundArguments(Scene(vehicle._replace(obstacle=vehicle.obstacle._replace(foot=1e9)), state))
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 0.4
    run_bound(scene, SETTLED_STEPS, DT_S)
    return scene


def _uneven() -> dict[str, Contender]:
    """Juno on level soil, with coupled rockers and with its rods, and on a scan; Xu's rover; one on mixed wheels.

    The RCP on firm ground, level and with a profile: each of its wheels looks at every face. A rocker-bogie before a
    step: by nonsmooth contact, and by a contact law with friction that holds.
    """
    level = {"ground.kind": "soil", "ground.scan": None}
    return {
        "substep_juno": _open_ground(UNEVEN, level),
        "substep_juno_exact": _open_ground(UNEVEN, level | {"rover.type": "juno_exact"}),
        "substep_scan": _open_ground(UNEVEN, {}),
        "substep_xu": _open_ground(XU, {}),
        "substep_mixed_wheels": _open_ground(MIXED, {}),
        "substep_firm": _open_ground(SHAPED, {"ground.profile": None, "experiment": "drive"}),
        "substep_profile": _open_ground(SHAPED, {"ground.profile.start_m": 50.0}),
        "substep_nonsmooth": _open_ground(HARD, LEVEL),
        "substep_rocker_bogie": _open_ground(HARD, LEVEL | {"ground.kind": "firm"}),
    }


def _open_ground(name: str, changes: Mapping[str, Any]) -> Contender:
    _, vehicle, state = nominal_rig(load_config(name, changes)).build()
    scene = BoundArguments(Scene(vehicle, state))
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 0.1
    run_bound(scene, SETTLED_STEPS, DT_S)
    return lambda count: run_bound(scene, count, DT_S)


def _wheel() -> dict[str, Contender]:
    """One wheel with traction: closed forms, the first on a tabled shape, and stresses with compiled quadrature."""
    config = load_config(CONFIG)
    rig = nominal_rig(config)
    wheel = RigidWheel(config.wheel_radius_m, rig.rover.tree().wheels[0].width, rig.ground.soil)
    rigid = np.array(wheel.parameters)
    flexible = np.array(FlexibleWheel(wheel.radius, wheel.width, wheel.soil, Ring(2.0, 1e4)).parameters)
    crowned = np.array(CrownedWheel(wheel.radius, wheel.width, wheel.soil, 0.3).parameters)
    xu = np.array(nominal_rig(load_config(XU)).ground.wheel_of(rig.rover.tree().wheels[0]).parameters)
    sinkage, slip = np.linspace(0.002, 0.03, WHEELS), np.linspace(0.05, 0.9, WHEELS)
    out = np.zeros((3, WHEELS))

    def over(kernel: Callable[..., None], packed: np.ndarray) -> Contender:
        def again(count: int) -> None:
            for _ in range(count):
                kernel(packed, sinkage, slip, out)

        return again

    return {
        "wheel_exact": over(many.forces, rigid),
        "wheel_flexible": over(many.forces, flexible),
        "wheel_crowned": over(many.forces, crowned),
        "wheel_xu": over(many.forces, xu),
        "wheel_split_quadrature": over(many.split_quadrature_forces, rigid),
    }


def _soil() -> dict[str, Contender]:
    """A measurement of the estimate of the soil, of six wheels."""
    config = load_config(CONFIG)
    rig = nominal_rig(config)
    wheel = rig.ground.wheel_of(rig.rover.tree().wheels[0])
    wheels = make_wheels(np.asarray(wheel.parameters), 6, config.soil.slip_speed_mps)
    soil = config.soil
    prior = np.array([*np.log([soil.stiffness, soil.rebound, soil.slip_modulus]), *np.zeros(STATES - SOIL)])
    found = make_filter(wheels, prior, np.full(STATES, 0.03), config.wheel_radius_m, 20.0, 0.1, 0.01)
    wheels.load[:], wheels.slip[:] = 200.0, 0.2
    found.measured[:] = 0.05, 400.0, 0.0, 90.0, 0.002
    bound = BoundArguments(found)

    def again(count: int) -> None:
        for _ in range(count):
            update(bound, 0.0025, 0.0025, 20.0)

    return {"soil_update": again}


def _mujoco() -> dict[str, Contender]:
    """The same rover in MuJoCo, a simulated millisecond: on a plane with one contact a wheel, and in free flight."""
    import mujoco

    def engine(on_plane: bool) -> Contender:
        model, data = mujoco_rover(on_plane)
        mujoco.mj_step(model, data, nstep=2000 if on_plane else 1)
        return lambda count: mujoco.mj_step(model, data, nstep=count)

    return {"mujoco_millisecond": engine(True), "mujoco_step_free": engine(False)}


def mujoco_rover(on_plane: bool) -> tuple[Any, Any]:
    """Model and data of MuJoCo for the same rover, its fixed bodies merged; on a plane its wheels are spheres.

    A sphere has one contact, as a wheel of ours. A cylinder has two to four, which takes 1.5 times as long.
    """
    import mujoco

    head, body = _peer_rover().urdf().split(">", 1)
    world = (
        '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco><link name="world"/>'
        '<joint name="flying" type="floating"><parent link="world"/><child link="main_body"/></joint>'
    )
    spec = mujoco.MjSpec.from_string(f"{head}>{world}{body}")
    spec.option.timestep = STEP_S
    if on_plane:
        _put_on_plane(mujoco, spec)
    model = spec.compile()
    return model, mujoco.MjData(model)


def _put_on_plane(mujoco: Any, spec: Any) -> None:
    """Use spheres as wheels, which touch only the plane; shapes of the URDF touch nothing."""
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for mount in _peer_rover().tree.wheels:
        spec.body(mount.body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[mount.radius, 0.0, 0.0], mass=0.0, contype=1, conaffinity=0
        )
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50.0, 50.0, 0.1], contype=0, conaffinity=1)


def _pinocchio() -> dict[str, Contender]:
    """The same rover in Pinocchio: forward dynamics without any contact."""
    import pinocchio

    model = pinocchio.buildModelFromXML(_peer_rover().urdf(), pinocchio.JointModelFreeFlyer())
    data, q = model.createData(), pinocchio.neutral(model)
    v, tau = np.full(model.nv, 0.1), np.zeros(model.nv)

    def again(count: int) -> None:
        for _ in range(count):
            pinocchio.aba(model, data, q, v, tau)

    return {"pinocchio_aba": again}


def _peer_rover() -> Rover:
    return load_config(CONFIG).rover.parameters().build()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
