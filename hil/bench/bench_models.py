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
from models.plant.advance import PlantParts, StepLengths, advance, make_log
from models.rover.arm_names import JOINTS
from models.rover.capture_arm import CaptureArmParameters
from models.rover.rover import Rover
from models.rover.tree import Tree
from models.vehicle import Scene, VehicleState, address_of_run, run_bound
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


def arm_steps(dt_s: float) -> dict[str, Callable[[int], None]]:
    """Rows `substep_arm` and `substep_arm_rigid`: so many steps of that length [s], payload and latch included."""
    rig = nominal_rig(load_config(ARM))
    return {"substep_arm": _steps(rig, dt_s), "substep_arm_rigid": _steps(replace(rig, rover=_RigidArm()), dt_s)}


def _steps(rig: RigParameters, dt_s: float) -> Callable[[int], None]:
    rover, vehicle, state = rig.build()
    state.v[[6 + rover.tree_joint_names.index(name) for name in JOINTS]] = _SPEED
    scene = BoundArguments(Scene(vehicle, state))
    return lambda count: run_bound(scene, count, dt_s)


CONFIG, UNEVEN, XU, HARD, SHAPED = "sim_impact", "sim_scan", "sim_xu", "sim_step_nonsmooth", "sim_drop"
DT_S = 1e-4
SUBSTEPS = 10
STEP_S = SUBSTEPS * DT_S  # of the peers
STEP_NS = round(STEP_S * 1e9)
SETTLED_STEPS = 20_000
WHEELS = 500
# Every candidate runs once in each round, so that other load of the machine affects all equally.
BURST_S = 2e-3

Row = dict[str, Any]
# Does its work this number of times. What has wheels on ground returns numbers of its contacts and of bodies that move.
Contender = Callable[[int], tuple[int, int] | None]


ROVERS = {"": CONFIG, "_juno": UNEVEN, "_xu": XU, "_exomars": HARD}
MUJOCO = {f"mujoco_millisecond{rover}": config for rover, config in ROVERS.items()}
RCP, JUNO, XUS, EXOMARS = MUJOCO
FREE = {"trial.start_distance_m": 5.0, "trial.timeout_s": 200.0}  # the obstacle is out of reach
LEVEL, EXACT = {"ground.kind": "soil", "ground.scan": None}, {"rover.type": "juno_exact"}
AWAY = {"ground.profile.start_m": 50.0}
# Config, changes, and what its row is compared with. Steps are as long as the state allows, in rows `..._fixed` DT_S.
VEHICLES: dict[str, tuple[str, dict[str, Any], str]] = {
    "plant_millisecond": (CONFIG, FREE, RCP),
    "plant_millisecond_legs": (CONFIG, FREE | {"obstacle.legs": "each"}, RCP),
    "plant_millisecond_obstacle": (CONFIG, {"trial.start_distance_m": 0.02}, RCP),
    "plant_millisecond_flexible": ("sim_flexible_wheel", {}, RCP),
    "plant_millisecond_mixed_wheels": ("sim_mixed_wheels", {}, RCP),
    "plant_millisecond_juno": (UNEVEN, LEVEL, JUNO),
    "plant_millisecond_juno_exact": (UNEVEN, LEVEL | EXACT, "plant_millisecond_juno"),
    "plant_millisecond_scan": (UNEVEN, {}, JUNO),
    "plant_millisecond_xu": (XU, {}, XUS),
    "plant_millisecond_firm": (SHAPED, {"ground.profile": None, "experiment": "drive"}, RCP),
    "plant_millisecond_profile": (SHAPED, AWAY, RCP),
    "plant_millisecond_rocker_bogie": (HARD, AWAY | {"ground.kind": "firm"}, EXOMARS),
    "plant_millisecond_nonsmooth": (HARD, AWAY, EXOMARS),
}

PEERS = {"mujoco": "MuJoCo", "pin": "Pinocchio"}
COMPARED = {
    "millisecond": "mujoco_millisecond",
    "wheel_exact": "wheel_split_quadrature",
    "wheel_flexible": "wheel_exact",
    "wheel_crowned": "wheel_exact",
    "wheel_xu": "wheel_exact",
    "substep_arm": "substep_arm_rigid",
    **{name: peer for name, (_, _, peer) in VEHICLES.items()},
    **{f"{name}_fixed": name for name in VEHICLES},
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
    contenders: dict[str, Contender] = {**_rover(), **_wheel(), **_soil(), **arm_steps(DT_S)}
    for name in VEHICLES:
        contenders |= plants_of(name)
    sizes = {name: WHEELS for name in contenders if name.startswith("wheel_")}
    if peers["MuJoCo"]:
        contenders |= _mujoco()
    if peers["Pinocchio"]:
        contenders |= _pinocchio()
    report.text(f"{rounds} rounds of {len(contenders)} candidates in turn")
    rows = _measured(contenders, sizes, rounds, report)
    if starts:
        report.text(f"a process that compiles every kernel of a tick, and {starts} that load them from the cache")
        rows += _starts(starts)
    measured = {row["name"]: row for row in rows}
    for row in rows:
        if peer := measured.get(COMPARED.get(row["name"], "")):
            row |= {"ratio_to": peer["name"], "ratio": row["p50"] / peer["p50"], "peer_contacts": peer["contacts"]}
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
    rows = {name: _row(name, "us", np.array(seconds) * 1e6) for name, seconds in times.items()}
    for name, contender in contenders.items():
        if counts := contender(1):
            rows[name]["contacts"], rows[name]["bodies"] = counts
    return [*rows.values()]


def _starts(count: int) -> list[Row]:
    first, cached = start_times_s(count)
    return [_row("start_first", "s", np.array([first])), _row("start_cached", "s", np.array(cached))]


def _row(name: str, unit: str, times: np.ndarray) -> Row:
    p50, p99 = np.quantile(times, (0.5, 0.99)).tolist()
    row: Row = {"name": name, "unit": unit, "p50": p50, "p99": p99, "min": float(times.min())}
    return row | dict.fromkeys(("ratio_to", "ratio", "contacts", "bodies", "peer_contacts"))


def _repeats(contender: Contender) -> int:
    """Number of repeats that fit into one burst."""
    contender(1)  # compiles
    once = min(_seconds(contender, 10) / 10 for _ in range(3))
    return max(1, round(BURST_S / once))


def _seconds(contender: Contender, repeats: int) -> float:
    began = time.thread_time()
    contender(repeats)
    return time.thread_time() - began


def _again(work: Callable[..., object], *arguments: object) -> Contender:
    def again(count: int) -> None:
        for _ in range(count):
            work(*arguments)

    return again


def _rover() -> dict[str, Contender]:
    """The twin: a rover that drives on soil, with six exact wheels."""
    scene = BoundArguments(_driving("plant_millisecond")[2])
    again = _again(run_bound, scene, 1, STEP_S)
    return {
        "substep": lambda count: run_bound(scene, count, DT_S),
        "millisecond": lambda count: again(count) or _counts(scene.value.state),
        "tick_10": _again(run_bound, scene, SUBSTEPS, DT_S),
        "call_overhead": _again(run_bound, scene, 0, DT_S),
    }


def _counts(state: VehicleState) -> tuple[int, int]:
    """Contacts of wheels with ground and obstacle, and bodies that move: the base has six speeds, each other one."""
    contacts = np.count_nonzero(state.ground.vertical > 0.0) + np.count_nonzero(state.obstacle.force > 0.0)
    return int(contacts), state.v.size - 5


def _driving(name: str) -> tuple[RigParameters, Rover, Scene]:
    """A vehicle at constant speed, or where a wheel touches the obstacle."""
    config, changes, _ = VEHICLES[name]
    rig = nominal_rig(load_config(config, changes))
    rover, vehicle, state = rig.build()
    state.drives.cut[:], state.drives.set_speed[:] = 0.0, 0.1
    scene = BoundArguments(Scene(vehicle, state))
    for _ in range(SETTLED_STEPS):
        if not state.obstacle.force.any():
            run_bound(scene, 1, DT_S)
    return rig, rover, scene.value


def plants_of(name: str) -> dict[str, Contender]:
    """A vehicle as the plant steps it, without sensors: in steps as long as its state allows, and in fixed ones.

    A burst begins where the one before began.
    """
    rig, rover, scene = _driving(name)
    apart, run, log = BoundApart(scene), address_of_run(*scene), make_log(scene.state, 0)
    seen, chain, q, v = scene.state._replace(servos=None), rover.chain, scene.state.q.copy(), scene.state.v.copy()

    def stepped(lengths: StepLengths) -> Contender:
        gas, mounts = None, NO_CYLINDERS
        actuators = chain.wheel_body, rig.cylinder, None, log, gas, mounts, chain.motor_wheel
        parts = BoundArguments(PlantParts(apart, seen, *actuators, lengths))

        again = _again(advance, parts, run, 0, STEP_NS)

        def from_the_start(count: int) -> tuple[int, int]:
            seen.q[:], seen.v[:] = q, v
            again(count)
            return _counts(seen)

        return from_the_start

    short = round(DT_S * 1e9)
    return {name: stepped(rig.step_lengths), f"{name}_fixed": stepped(StepLengths(short, short))}


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
    rest = sinkage, slip, np.zeros((3, WHEELS))
    return {
        "wheel_exact": _again(many.forces, rigid, *rest),
        "wheel_flexible": _again(many.forces, flexible, *rest),
        "wheel_crowned": _again(many.forces, crowned, *rest),
        "wheel_xu": _again(many.forces, xu, *rest),
        "wheel_split_quadrature": _again(many.split_quadrature_forces, rigid, *rest),
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
    return {"soil_update": _again(update, BoundArguments(found), 0.0025, 0.0025, 20.0)}


def _mujoco() -> dict[str, Contender]:
    """The same rovers in MuJoCo, a simulated millisecond: on a plane with one contact a wheel, and in free flight."""
    import mujoco

    def engine(config: str, on_plane: bool) -> Contender:
        model, data = mujoco_rover(config, on_plane)
        mujoco.mj_step(model, data, nstep=2000 if on_plane else 1)
        return lambda count: mujoco.mj_step(model, data, nstep=count) or (data.ncon, model.nbody - 1)

    on_planes = {name: engine(config, True) for name, config in MUJOCO.items()}
    return {**on_planes, "mujoco_step_free": engine(CONFIG, False)}


def mujoco_rover(config: str, on_plane: bool) -> tuple[Any, Any]:
    """Model and data of MuJoCo for a config's rover, its fixed bodies merged; on a plane its wheels are spheres.

    A sphere has one contact, as a wheel of ours. A cylinder has two to four, which takes 1.5 times as long.
    """
    import mujoco

    rover = peer_rover(config)
    head, body = rover.urdf().split(">", 1)
    world = (
        '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco><link name="world"/>'
        '<joint name="flying" type="floating"><parent link="world"/><child link="main_body"/></joint>'
    )
    spec = mujoco.MjSpec.from_string(f"{head}>{world}{body}")
    spec.option.timestep = STEP_S
    for coupling in rover.tree.couplings:
        (source, ratio), *_ = coupling.sources
        held = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=coupling.joint, name2=source)
        held.objtype = mujoco.mjtObj.mjOBJ_JOINT
        held.data[:2] = coupling.offset, ratio
    if on_plane:
        _put_on_plane(mujoco, spec, rover)
    model = spec.compile()
    return model, mujoco.MjData(model)


def _put_on_plane(mujoco: Any, spec: Any, rover: Rover) -> None:
    """Use spheres as wheels, which touch only the plane; shapes of the URDF touch nothing."""
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for mount in rover.tree.wheels:
        spec.body(mount.body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[mount.radius, 0.0, 0.0], mass=0.0, contype=1, conaffinity=0
        )
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50.0, 50.0, 0.1], contype=0, conaffinity=1)


def _pinocchio() -> dict[str, Contender]:
    """The same rover in Pinocchio: forward dynamics without any contact."""
    import pinocchio

    model = pinocchio.buildModelFromXML(peer_rover(CONFIG).urdf(), pinocchio.JointModelFreeFlyer())
    data, q = model.createData(), pinocchio.neutral(model)
    v, tau = np.full(model.nv, 0.1), np.zeros(model.nv)
    return {"pinocchio_aba": _again(pinocchio.aba, model, data, q, v, tau)}


def peer_rover(config: str) -> Rover:
    """The rover of a config, locked as on the rig."""
    return nominal_rig(load_config(config)).make_rover()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
