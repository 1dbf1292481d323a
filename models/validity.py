"""Where the models hold, as data, and the steps of time with which they can be integrated.

Loading a config, arming, each tick and the acceptance of a run ask here; outside, a run is refused or ended
(decision 0038). Nothing of ours is imported, so that a config is checked before
anything is compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Codes of the ranges that each tick asks for: a kernel passes them on as numbers.
WITHIN, SINKAGE, DEPTH, LIFTED, STOPPED, TILT, LOADS, TRAVEL, SPEED, ROTATION, EDGE, SLID = range(12)
CODES = 12
# The deviation of the wheels' loads from the weight is averaged over this time [s].
LOADS_OVER_S = 0.25
# A rover whose wheels and body are slower stands: then arming judges it, not the tick [rad/s], [m/s].
STANDS_RADPS, STANDS_MPS = 0.01, 0.01
# Wheels that turn slower than this at the rim have no direction that the rover could travel against [m/s].
SLOWEST_RIM_MPS = 0.005

# Longest step that a rover is settled with before a run [s].
SETTLING_STEP = 1e-4
# Of a force that enters a step as it is at its beginning, with the slopes k [N/m] and c [N s/m], on a mass m. The step
# v' = v - dt (k x + c v)/m, x' = x + dt v' has the characteristic polynomial
# s^2 - (2 - c dt/m - k dt^2/m) s + 1 - c dt/m: its roots lie within the unit circle for k dt^2 + 2 c dt below 4 m.
EXPLICIT_NUMBER = 4.0
# Of a spring that enters with its slope, and that the wheel can leave: k dt^2 g/load. In a step a free wheel falls by
# g dt^2, and a standing one has pressed the spring in by load/k. Measured on firm ground: a rover that is put down
# stands still up to 3, and hops at 4.2; one that stands begins to hop at 6.3.
IMPLICIT_NUMBER = 2.0


class Validity(NamedTuple):
    """One range in which the models hold.

    Attributes:
        code: its number; WITHIN is none.
        name: of the quantity.
        limit: largest value, or the least if `at_least`.
        unit: of both; "" is a ratio.
        for_s: how long a value may lie outside before it counts [s]: contacts open and close for moments.
        why: reason or source.
        keys: of a config that decide it.
        at_least: the limit is the least value, not the largest.
    """

    code: int
    name: str
    limit: float
    unit: str
    for_s: float
    why: str
    keys: tuple[str, ...]
    at_least: bool = False

    def allowed(self, limit: float | None = None) -> str:
        """The range in words, with a limit of a rig that is another than `limit`."""
        return (
            f"{'above' if self.at_least else 'at most'} {self.limit if limit is None else limit:g} {self.unit}".rstrip()
        )

    def words(self, value: float, limit: float) -> str:
        """A value that lies outside, and what is allowed."""
        return f"{self.name} {value:.3g}, allowed: {self.allowed(limit)}"


_SOFT = ("soil.stiffness", "soil.exponent")
VALIDITIES = {
    one.code: one
    for one in (
        Validity(
            SINKAGE, "sinkage over wheel radius", 0.5, "", 0.1,
            "on soil. The hypervolumetric law (Petersen 2012, 4.2) carries a rim: soil against hub and wheel's flanks, "
            "and soil pushed ahead, are not in it. Its polynomials hold up to 0.8",
            _SOFT,
        ),
        Validity(
            DEPTH, "depth over wheel radius", 0.1, "", 0.1,
            "on firm ground. The force acts at the lowest point of the rim, a radius from the axle: at this depth the "
            "lever is wrong by as much",
            ("ground.stiffness", "ground.exponent"),
        ),
        Validity(
            LIFTED, "least wheel load", 0.0, "N", 0.25,
            "of each wheel that does not touch an obstacle. Equilibrium, and every distribution of loads that follows "
            "from it, needs all wheels on the ground",
            ("rover.drawbar", "rover.payload", "ground.roll_deg", "ground.pitch_deg"), at_least=True,
        ),
        Validity(
            STOPPED, "turn of a joint beyond its stop", 0.0, "deg", 0.25,
            "of the suspension. A joint at its stop no longer spreads the loads as its free pivot does",
            ("rover.drawbar", "ground.wheel_height_m", "ground.roll_deg", "normal_force.torque_limit_Nm"),
        ),
        Validity(
            TILT, "tilt of the main body", 45.0, "deg", 0.1,
            "against the vertical, `limits.tilt_deg`: slopes and wheels are those of a rover on its wheels",
            ("limits.tilt_deg", "ground.pitch_deg", "ground.roll_deg", "rover.drawbar"),
        ),
        Validity(
            LOADS, "deviation of the wheel loads' sum from the weight, mean over 0.25 s", 0.25, "of the weight", 0.0,
            "Newton's law along the ground's normal: more would give the rover 0.6 m/s upwards or downwards",
            ("soil.damping_spm", "ground.stiffness"),
        ),
        Validity(
            TRAVEL, "slip of the rover", 1.5, "", 0.5,
            "rim speed less speed, over rim speed; without contact with an obstacle. Traction is a function of slip "
            "between -1 and 1 (Petersen 2012 (4.3)); a rover that slides back faster is not driven by its wheels",
            ("ground.pitch_deg", "rover.drawbar.pull_N"),
        ),
        Validity(
            SPEED, "speed of the rover", 2.0, "m/s", 0.1,
            "the forces of soil and plate are those of slow motion: no inertia of soil, no waves",
            ("limits.wheel_speed_radps", "ground.pitch_deg"),
        ),
        Validity(
            ROTATION, "rate of rotation of the rover", 2.0, "rad/s", 0.1,
            "likewise; a rover that tips over is faster",
            ("rover.drawbar", "ground.roll_deg", "ground.pitch_deg"),
        ),
        Validity(
            EDGE, "distance of a wheel beyond the edge of the scan", 0.0, "m", 0.0,
            "on `ground.kind` scan. Beyond its edge nothing is known of the ground",
            ("ground.scan.file", "ground.scan.start_m", "ground.scan.heading_deg"),
        ),
        Validity(
            SLID, "distance of a joint that slides beyond its stop", 0.0, "mm", 0.25,
            "of the suspension, as of a joint that turns",
            ("rover.drawbar", "ground.wheel_height_m", "ground.roll_deg"),
        ),
    )
}  # fmt: skip


def longest_explicit_step(mass: float, stiffness: float, damping: float) -> float:
    """Longest step [s] of an explicit spring [N/m] and damper [N s/m] on a mass [kg]; see EXPLICIT_NUMBER.

    A mass that is a part of a rover is at least as hard to move as alone: other bodies only add inertia (Gauss's
    principle of least constraint). So the mass of the wheel is a safe one to ask with.
    """
    room = EXPLICIT_NUMBER * mass
    return room / (damping + math.sqrt(damping * damping + stiffness * room))


def longest_implicit_step(load: float, stiffness: float, gravity: float) -> float:
    """Longest step [s] with which a load [N] rests on an implicit spring [N/m]; see IMPLICIT_NUMBER."""
    return math.sqrt(IMPLICIT_NUMBER * load / (stiffness * gravity))


def power_law_slope(stiffness: float, exponent: float, force: float) -> float:
    """Slope dF/dz [N/m] of F = k z^p at a force [N]."""
    return exponent * math.pow(force, 1.0 - 1.0 / exponent) * math.pow(stiffness, 1.0 / exponent)


def bekker_stiffness(radius: float, width: float, exponent: float, rebound: float) -> float:
    """F/(k z^(n + 1/2)) [m^(3/2)] of a wheel on a soil p = k z^n, for small sinkage z: an upper estimate.

    Bekker's pressure on the parabola sqrt(2 R z) of the contact, 1/2 B(1/2, n + 1) of it before the wheel; behind it
    at most sqrt(rebound) as much (Petersen 2012 (4.26)).
    """
    beta = math.sqrt(math.pi) * math.gamma(exponent + 1.0) / math.gamma(exponent + 1.5)
    return width * math.sqrt(2.0 * radius) * 0.5 * beta * (1.0 + math.sqrt(rebound))
