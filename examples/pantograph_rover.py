"""A rover whose three bogies a pantograph links: its loads over the slope, and the slope on which it falls over.

The bogies of the RCP were once linked by a pantograph, the suspension RCL-E. It was disabled, because the rover was not
stable on slopes beyond a certain angle (MacMahon 2016, 4.1). The thesis prints no drawing and no size of it.

Assumed here: the body stands on levers. Those of the side bogies turn together; the rear one turns twice as far
in the opposite direction, as a four-bar that keeps its bogie upright. So the body is a mass on a joint that no wheel
holds; rising levers hold it up on level ground. Bodies and places are those of the RCP; lengths and angles of the
levers are made up and varied. All wheels roll, their drives share the pull evenly (statics). A lever has stops at 30
degrees. Compare the loads with levers that are held. `.venv/bin/python examples/pantograph_rover.py` prints:

    slope   levers  wheel loads, linked     wheel loads, levers held   [deg, N: front, middle, rear]
       10     11.3   102.4  199.5  258.4     117.5  214.7  228.1
        5      6.9   144.7  193.6  228.5     153.6  202.6  210.6
        0      0.0   188.5  188.9  191.6     188.5  188.9  191.5
       -2     -4.5   207.5  188.5  172.6     202.1  183.1  183.4
       -4    -12.6   230.4  191.9  145.3     215.5  177.0  175.1
       -6   fall to their stop                228.5  170.7  166.6
      -10   fall to their stop                253.8  157.5  149.0
    levers of 0.2 m at 70 degrees: it stands down to a slope of -4.7 degrees
    levers of 0.15 m at 70 degrees: it stands down to a slope of -8.1 degrees
    levers of 0.2 m at 65 degrees: it stands down to a slope of -2.6 degrees
    levers of 0.2 m at 75 degrees: it stands down to a slope of -7.6 degrees
"""

from dataclasses import dataclass
from math import cos, degrees, radians, sin

import numpy as np
from scipy.optimize import fsolve

from models.rover import Body, Coupling, Parameters, Rover, Tree, TreeBuilder, box, quantity
from models.rover.assembly import LATERAL, LENGTHWISE, on_side

SIDE, REAR, WHEEL, HALF_TRACK, RADIUS = (0.2671, 0.329, 0.45), (-0.5385, 0.0, 0.45), 0.5349, 0.4552, 0.175
STOP, STEP, GRAVITY = radians(30.0), 1e-4, 9.81


@dataclass(frozen=True)
class Pantograph(Parameters):
    """The RCP on levers that turn together."""

    body_mass: float = quantity(60.0, "kg", 1, 1000, "of the body")
    com_height: float = quantity(0.8246, "m", 0.1, 5, "of its centre of mass over ground")
    lever_length: float = quantity(0.20, "m", 0.02, 0.5, "of each lever")
    rise_angle: float = quantity(70.0, "deg", 0, 85, "of the levers over level, outwards from the body")

    rover = "pantograph"

    def tree(self) -> Tree:
        """Body, three levers, three bogies, six wheels."""
        size = (0.7, 0.5, 0.3)
        com = (-0.0014, 0.0, self.com_height)
        builder = TreeBuilder(self.rover, Body("main_body", self.body_mass, com, box(self.body_mass, size), size))
        along, up = self.lever_length * cos(self.rise_angle), self.lever_length * sin(self.rise_angle)
        bar, beam = box(0.5, (self.lever_length, 0.04, 0.04)), box(10.0, (0.55, 0.06, 0.06))
        for side in ("left", "right"):
            x, y, z = on_side(SIDE, side)
            hinge = (x - along, y, z - up)
            builder.add_body("main_body", f"{side}_lever", LATERAL, f"{side}_lever", 0.5, bar, hinge, stop=STOP)
            builder.add_body(f"{side}_lever", f"{side}_bogie", LATERAL, f"{side}_beam", 10.0, beam, (x, y, z))
        hinge = (REAR[0] + along, 0.0, REAR[2] - up)
        builder.add_body("main_body", "rear_lever", LATERAL, "rear_lever", 0.5, bar, hinge)
        builder.add_body("rear_lever", "rear_hinge", LATERAL, "rear_link", 0.5, bar, REAR)
        builder.add_body("rear_link", "rear_bogie", LENGTHWISE, "rear_beam", 10.0, (beam[1], beam[0], beam[2]), REAR)
        for row, x in (("front", WHEEL), ("middle", 0.0), ("rear", REAR[0])):
            for side in ("left", "right"):
                carrier = "rear_beam" if row == "rear" else f"{side}_beam"
                builder.wheel(f"{row}_{side}", carrier, 4.0, RADIUS, 0.12, on_side((x, HALF_TRACK, RADIUS), side))
        turns = {"right_lever": 1.0, "rear_lever": 2.0, "rear_hinge": -2.0}
        return builder.tree([Coupling(joint, (("left_lever", ratio),)) for joint, ratio in turns.items()])


class Slope:
    """The rover on a slope that rises ahead, at rest, in the plane of motion: both sides do the same.

    A state is height [m], pitch, angle of the side bogies, angle of the levers [rad].
    """

    def __init__(self, rover: Rover, angle: float) -> None:
        self.rover, self.angle = rover, angle
        self.place = {name: 7 + number for number, name in enumerate(rover.joint_names)}
        self.weight = GRAVITY * rover.mass
        self.torque = self.weight * sin(angle) * RADIUS / 6.0  # of each drive

    def q(self, state: np.ndarray) -> np.ndarray:
        """Returns the configuration of the rover."""
        height, pitch, bogie, lever = state
        q = self.rover.neutral()
        q[2], q[4], q[6] = height, sin(0.5 * pitch), cos(0.5 * pitch)
        for name, angle in (("left_bogie", bogie), ("right_bogie", bogie), ("left_lever", lever)):
            q[self.place[name]] = angle
        return q

    def depth(self, state: np.ndarray) -> np.ndarray:
        """Of the front, middle and rear wheels over the ground."""
        return self.rover.wheel_positions(self.q(state))[::2, 2] - RADIUS

    def energy(self, state: np.ndarray) -> float:
        """Potential energy, less the work of the drives, which turn the wheels against what carries them."""
        _, pitch, bogie, lever = state
        q, still = self.q(state), np.zeros(self.rover.nv)
        down, back = (self.rover.bias(q, still, pull)[4] / self.rover.mass for pull in ((0, 0, -1), (-1, 0, 0)))
        ahead, up = -down, back + q[2]
        # the centre of mass, by the moments of two pulls about the base frame's y axis, which is level
        rolled = self.rover.wheel_positions(q)[::2, 0] / RADIUS - np.array([pitch + lever + bogie] * 2 + [pitch])
        work = 2.0 * self.torque * float(rolled.sum())
        return self.weight * float(up * cos(self.angle) + ahead * sin(self.angle)) - work

    def stand(self, lever: float) -> np.ndarray:
        """The state with all wheels on the ground."""

        def depth(free: np.ndarray) -> np.ndarray:
            return self.depth(np.array([*free, lever]))

        return np.array([*fsolve(depth, (0.0, 0.0, 0.0)), lever])

    def push(self, lever: float) -> float:
        """Torque on the levers [N m]: below 0 above a stable angle, above 0 below it."""
        ahead, behind = self.energy(self.stand(lever + STEP)), self.energy(self.stand(lever - STEP))
        return (behind - ahead) / (2.0 * STEP)

    def stable(self) -> float | None:
        """Angle of the levers at which the rover stands by itself, nearest to 0; None: they fall to a stop."""
        angles = np.linspace(-STOP, STOP, 41)
        pushes = [self.push(angle) for angle in angles]
        found = [
            angles[i] + (angles[i + 1] - angles[i]) * pushes[i] / (pushes[i] - pushes[i + 1])
            for i in range(len(angles) - 1)
            if pushes[i] > 0.0 >= pushes[i + 1]
        ]
        return min(found, key=abs, default=None)

    def loads(self, lever: float) -> np.ndarray:
        """Of a front, a middle and a rear wheel [N], by virtual work on height, pitch and bogies."""
        state = self.stand(lever)
        rises, gains = np.empty((3, 3)), np.empty(3)
        for number, step in enumerate(STEP * np.eye(4)[:3]):
            rises[number] = (self.depth(state + step) - self.depth(state - step)) / (2.0 * STEP)
            gains[number] = (self.energy(state + step) - self.energy(state - step)) / (2.0 * STEP)
        return np.linalg.solve(2.0 * rises, gains)


def limit_deg(rover: Rover) -> float:
    """Steepest slope downwards on which it stands [deg]."""
    steep, flat = radians(-30.0), 0.0
    while flat - steep > radians(0.05):
        middle = 0.5 * (steep + flat)
        steep, flat = (steep, middle) if Slope(rover, middle).stable() is not None else (middle, flat)
    return degrees(flat)


if __name__ == "__main__":
    print("slope   levers  wheel loads, linked     wheel loads, levers held   [deg, N: front, middle, rear]")
    rover = Pantograph().build()
    for slope_deg in (10, 5, 0, -2, -4, -6, -10):
        slope = Slope(rover, radians(slope_deg))
        lever = slope.stable()
        held = " ".join(f"{load:6.1f}" for load in slope.loads(0.0))
        if lever is None:
            print(f"{slope_deg:5d}   fall to their stop               {held}")
        else:
            linked = " ".join(f"{load:6.1f}" for load in slope.loads(lever))
            print(f"{slope_deg:5d}   {degrees(lever):6.1f}  {linked}    {held}")
    for length, rise_deg in ((0.2, 70), (0.15, 70), (0.2, 65), (0.2, 75)):
        other = Pantograph(lever_length=length, rise_angle=radians(rise_deg)).build()
        print(
            f"levers of {length} m at {rise_deg} degrees: it stands down to a slope of {limit_deg(other):.1f} degrees"
        )
