"""An on-board controller in the loop: a program of yours drives a plan of activities, in virtual time.

Serve a rover in one terminal, and run this program in another one, with the endpoint that the first one prints:

    .venv/bin/hil serve sim_juno --endpoint tcp://127.0.0.1:40000
    .venv/bin/python examples/on_board_controller.py tcp://127.0.0.1:40000 one_sol

The rover moves when this program asks for it, as at the scheduler of 3DROV (Acary 2013, section 4). Every 20 ms `steer`
sees pose and heading, and sets the speeds of the wheels: put your own controller in its place. This one has the law of
`hil activity`, and arrives where that does. It prints:

    warm_up: stays
    to_the_foot: 6.2 s, 1.101 0.000 m
    panorama: stays
    up_the_mound: 7.7 s, 2.507 0.065 m
    drill: stays
    downlink: stays
    night: stays

More: docs/how-to/plan-activities.md.
"""

import math
import sys
from collections.abc import Sequence

from hil.api.stepping import Moved, StepClient
from hil.campaign.activity import load_activity_plan

TICK_NS, NEAR_M, MOST_S = 20_000_000, 0.1, 600.0


def steer(now: Moved, goal_m: tuple[float, float], speed_mps: float, to_port: Sequence[float]) -> list[float]:
    """Speed of each rim [m/s]: the side away from the goal is the faster one, by up to a half."""
    x, y, z, w = now.q[3:7].tolist()
    heading = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    aside = math.remainder(math.atan2(goal_m[1] - now.q[1], goal_m[0] - now.q[0]) - heading, math.tau)
    return [speed_mps * (1.0 - min(max(aside, -0.5), 0.5) * side) for side in to_port]


def drive(rover: StepClient, goal_m: tuple[float, float], speed_mps: float) -> float:
    """Drive to a place, at full speed after a second, and cut the drives; gives the time that it took [s]."""
    radii = [wheel["radius_m"] for wheel in rover.description["wheels"]]
    to_port = [1.0 if "left" in name else -1.0 for name in rover.wheels]
    now, gone_s = rover.state(), 0.0
    while math.dist(goal_m, now.q[:2].tolist()) >= NEAR_M and gone_s < MOST_S:
        rims_mps = steer(now, goal_m, speed_mps * min(1.0, gone_s + TICK_NS * 1e-9), to_port)
        rover.command([rim_mps / radius for rim_mps, radius in zip(rims_mps, radii, strict=True)])
        now, gone_s = rover.step(TICK_NS), gone_s + TICK_NS * 1e-9
    rover.command([math.nan] * len(radii))
    return gone_s


def main(endpoint: str, plan: str) -> None:
    """Drive the plan; a stay is not stepped, as the rover stands."""
    with StepClient(endpoint) as rover:
        rover.reset()
        for activity in load_activity_plan(plan).activities:
            if activity.to_m is None:
                print(f"{activity.name}: stays")
                continue
            gone_s = drive(rover, activity.to_m, activity.speed_mps)
            x, y = rover.state().q[:2].tolist()
            print(f"{activity.name}: {gone_s:.1f} s, {x:.3f} {y:.3f} m")


if __name__ == "__main__":
    main(*sys.argv[1:])
