"""Tables of docs/explanation/normal-force.md: what tractions do to the wheels' loads, and what moving them gains.

Run: python docs/figures/normal_force.py    (a minute)
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from outputs import Outputs, outputs

from hil.config import load_config
from hil.config.rig import Rig, best_state, steady_drive
from models.contact.ground import Ground
from models.contact.ruts import make_ruts
from models.gravity import EARTH_GRAVITY
from models.kernels.compiled import FloatArray
from models.plant.parameters import OFF
from models.rover import rcp
from models.rover.rover import Rover
from models.statics import SteadyRover, best_torques, spread_of, traction_loss, unevenness
from models.terrain import slope_of
from models.vehicle import VehicleModel
from models.vehicle.loads import CubePayload, Drawbar
from models.wheel import PRESETS, RigidWheel, Soil
from references.wheel_under_load import wheel_under_load

THREE = ("left_bogie", "right_bogie", "rear_bogie")
PAGE = "docs/explanation/normal-force.md"
SLIP = 0.2
SPEED_MPS = 1.0  # of the rims: at a low speed compaction resistance fades, which is numerical
LOADS_N = (20.0, math.inf)
SIDE_N = 588.6  # on the three wheels of a side
FRICTION = math.radians(30.0)
SOILS = {
    "dry sand": Soil(1.783e6, 0.75, friction_angle=FRICTION, rebound=0.07, slip_modulus=0.185),
    **{
        f"Juno run {run}": PRESETS[f"juno_run_{run}"].soil(0.175, 0.15, friction_angle=math.radians(30.0))
        for run in (1, 2, 3)
    },
}


def ground_of(soil: Soil, rover: Rover, ruts: bool) -> Ground:
    """Soil under the RCP's wheels."""
    wheel = rover.tree.wheels[0]
    packed = RigidWheel(wheel.radius, 0.15, soil).parameters
    return Ground(packed, 2.0, 0.02, 0.001, 0.005, make_ruts(rover) if ruts else None)


def side_pull(packed: FloatArray, loads: FloatArray, ruts: bool) -> float:
    """Net pull [N] of three wheels, one behind the other."""
    total, depth = 0.0, 0.0
    for load in loads:
        sinkage, pull, _ = wheel_under_load(packed, float(load), depth if ruts else 0.0, SLIP)
        total, depth = total + pull, max(depth, sinkage)
    return total


def moved_loads(out: Outputs) -> None:
    """Moments of tractions about the bogie's pivot."""
    rows = []
    for name, soil in SOILS.items():
        packed = ground_of(soil, rcp(), False).wheel
        _, pull, tractive = wheel_under_load(packed, SIDE_N / 3.0, 0.0, SLIP)
        moment = 0.275 * pull + 0.175 * tractive
        values = (pull, tractive, moment)
        rows.append([name, *(f"{value:.1f}" for value in values), f"{2.0 * moment / 0.5349:.0f}"])
    head = ("soil", "net pull [N]", "F_t [N]", "moment, a wheel [N m]", "moved from front to middle [N]")
    out.table(PAGE, "moved loads", head, rows)


def shares_in_ruts(out: Outputs) -> None:
    """Best shares of three wheels on one track."""
    rows = []
    steps = np.arange(0.2, 0.501, 0.1 if out.quick else 0.01)
    grid = [s for s in itertools.product(steps, repeat=2) if 1.0 - sum(s) > 0.15]
    for (name, soil), ruts in out.some(list(itertools.product(SOILS.items(), (False, True)))):
        packed = ground_of(soil, rcp(), False).wheel
        equal = side_pull(packed, np.full(3, SIDE_N / 3.0), ruts)
        best, shares = max(
            (side_pull(packed, SIDE_N * np.array((*s, 1.0 - sum(s))), ruts), (*s, 1.0 - sum(s))) for s in grid
        )
        if best < equal:
            best, shares = equal, (1 / 3,) * 3
        text = ", ".join(f"{share:.2f}" for share in shares)
        gain = f"{100 * (best / equal - 1):.1f} %"
        rows.append([name, "ruts" if ruts else "fresh", f"{equal:.1f}", f"{best:.1f}", text, gain])
    head = ("soil", "", "equal loads [N]", "best [N]", "best shares: front, middle, rear", "gain")
    out.table(PAGE, "shares in ruts", head, rows)


def limits(cylinders: int, most: float) -> tuple[FloatArray, FloatArray]:
    """Least and largest torques [N m]."""
    return np.full(cylinders, -most), np.full(cylinders, most)


def best_of_rover(out: Outputs) -> None:
    """Spread and pull of the whole rover, with payload, drawbar and slopes."""
    rows = []
    payload = CubePayload(20.0, (0.0, 0.1, 0.9))
    sand = SOILS["dry sand"]
    cases = [
        ("level, drawbar at the ground", 0.0, 0.0, 0.0, False),
        ("level, drawbar 0.2 m up", 0.0, 0.0, 0.2, False),
        ("level, drawbar 0.45 m up", 0.0, 0.0, 0.45, False),
        ("10 degrees, port side up", 0.0, 10.0, 0.0, False),
        ("10 degrees, starboard side up", 0.0, -10.0, 0.0, False),
        ("15 degrees uphill", 15.0, 0.0, 0.0, False),
        ("15 degrees uphill, ruts", 15.0, 0.0, 0.0, True),
    ]
    for name, pitch, roll, height, ruts in out.some(cases, 1):
        rover = payload.on(rcp())
        terrain = slope_of(math.radians(pitch), math.radians(roll))
        ground = ground_of(sand, rover, ruts)
        vehicle = VehicleModel(rover.chain, ground, OFF, None, np.array(EARTH_GRAVITY), terrain=terrain)
        held = Drawbar(place=(-0.6, 0.0, height)).backwards()
        drive = SteadyRover(rover, vehicle, SPEED_MPS, held=held, slip=SLIP)
        passive = drive.at(np.zeros(3))
        spreads = []
        for joints, most in ((THREE[:2], 60.0), (THREE, 60.0), (THREE, 100.0)):
            _, best = best_torques(unevenness, drive, joints, *limits(len(joints), most), LOADS_N)
            spreads.append(f"{spread_of(best.load):.3f}")
        _, strongest = best_torques(traction_loss, drive, THREE, *limits(3, 60.0), LOADS_N)
        pulls = (f"{passive.pull:.1f}", f"{strongest.pull:.1f}")
        rows.append([name, f"{spread_of(passive.load):.3f}", *spreads, *pulls])
    head = ("case", "passive", "two cylinders", "three", "three, 100 N m", "pull passive [N]", "best pull [N]")
    out.table(PAGE, "best of the rover", head, rows)


def sled(out: Outputs) -> None:
    """Slip of sim_normal_force on other plants than the twin: valves off, most even loads, least slip."""
    slips = []
    for seed in range(1, 3 if out.quick else 21):
        rig = Rig(load_config("sim_normal_force", ["cylinders.friction={static_N: 0, coulomb_N: 0}"], seed=seed))
        drive = steady_drive(rig, rig.simulated)
        even, best = best_state(rig, drive, unevenness), best_state(rig, drive, traction_loss)
        slips.append((drive.at(np.zeros(3)).slip, even.slip, best.slip))
    passive, even_slip, least = np.array(slips).T
    gain = even_slip - least
    text = (
        f"Slip in the mean of {len(slips)} plants: {passive.mean():.4f} with valves off, {even_slip.mean():.4f} with "
        f"the most even loads, {least.mean():.4f} with the loads\nof the least slip. The last are better by "
        f"{gain.mean():.4f} (standard deviation {gain.std(ddof=1):.4f}, on {np.sum(gain > 0.0)} of {len(slips)})."
    )
    out.put(PAGE, "slip of the sled", text)


if __name__ == "__main__":
    options = outputs(__doc__)
    moved_loads(options)
    shares_in_ruts(options)
    best_of_rover(options)
    sled(options)
