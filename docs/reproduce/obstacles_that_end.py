"""Obstacles that end: MacMahon 2016, App. C.3 and 2.1, and Acary 2013, 3.1, beside ours and independent calculations.

Writes docs/reproduce/obstacles_that_end.md; with --check compares. Takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rover_drops import drop_of_a_rover, drops_of_a_rover, first_contact_friction
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from written_page import page_script

from hil.experiments.impact.approach import frame_settings
from models.gravity import GRAVITY_MPS2
from models.sensors.rear_frame import FRONT_LINK_M, REAR_LINK_M
from models.terrain import shapes
from models.terrain.shapes import Corners
from references.one_wheel import STIFFNESS, WheelProperties

PAGE = Path(__file__).with_suffix(".md")
Row = tuple[str, str, str, str, str]
LEDGE = shapes.ended(shapes.ledge(0.5), "plateau")
DROP_M, DROP_DAMPING = 0.1, 500.0
SPEED_MPS = 0.02


def slope(angle: float, length_m: float = 5.0) -> Corners:
    """A face of that angle [rad] after the level ground."""
    return shapes.ended(shapes.faces_from([(length_m, angle)]), "plateau")


def climbs(height_m: float, friction: float) -> bool:
    """Whether a driven wheel alone gets up an upright step."""
    touches_m = math.sqrt(2.0 * 0.125 * height_m - height_m**2)
    wheel = WheelProperties(shapes.ended(shapes.step(height_m), "plateau"), friction, -touches_m - 0.002)
    wheel.run(0.1)
    wheel.drive(SPEED_MPS)
    wheel.run(4.0)
    return wheel.place[1] > 0.5 * height_m + wheel.radius_m


def least_friction_of_a_step(height_m: float, near: float) -> float:
    """By halving, from 20 % below a value to 20 % above it, to 0.6 %."""
    low, high = 0.8 * near, 1.2 * near
    while high - low > 7e-3 * near:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if climbs(height_m, middle) else (middle, high)
    return 0.5 * (low + high)


def steps() -> list[Row]:
    """The least friction for a step, by halving."""
    radius_m, rows = WheelProperties(LEDGE, 1.0, -1.0).radius_m, []
    for height_m in (0.03, 0.06):
        expected = math.tan(math.acos(1.0 - height_m / radius_m))
        found = least_friction_of_a_step(height_m, expected)
        rows.append(
            (
                f"a driven wheel alone, R {radius_m:g} m, and a step of {height_m:g} m: least friction",
                f"tan(phi), cos(phi) = 1 - h/R: {expected:.3f}",
                f"{found:.3f}",
                _off(found, expected),
                f"just below the limit the edge holds it back by very little: its {SPEED_MPS:g} m/s carry it on",
            )
        )
    return rows


def edges() -> list[Row]:
    """A wheel that stands on an edge, and one that rolls off it."""
    angle = math.radians(30.0)
    holds, slides = (WheelProperties(LEDGE, mu, 0.125 * math.sin(angle)) for mu in (0.6, 0.55))
    for wheel in (holds, slides):
        wheel.run(1.0)
    before = holds.place
    holds.run(1.0)
    ahead, up = holds.push
    free, began = WheelProperties(LEDGE, 8.0, 0.125 * math.sin(math.radians(5.0)), drives=False), math.radians(5.0)
    while free.push[1] > 0.0 or free.speed[0] < 0.1:
        free.run(1e-4)
    left = math.degrees(math.atan2(*free.place))
    expected = math.degrees(math.acos(2.0 * math.cos(began) / (3.0 + free.turning)))
    return [
        (
            "a braked wheel on an edge, its centre 30 degrees beyond: holds below its limit of friction",
            f"tan(30 degrees) = {math.tan(angle):.4f}; the edge bears the weight, "
            f"{GRAVITY_MPS2 * holds.mass_kg:.2f} N, upright",
            f"with 0.6 it bears {up:.2f} N and {abs(ahead):.2f} N ahead, and moves {_way(holds, before)} in a "
            f"second; with 0.55 it {'has slid off' if slides.place[1] < 0.0 else 'holds'}",
            "none",
            "",
        ),
        (
            "a wheel rolls freely about an edge, from rest 5 degrees beyond: where it leaves the edge",
            f"energy and N = 0: cos = 2 cos(5 degrees) / (3 + I/(m R^2)): {expected:.2f} degrees",
            f"{left:.2f} degrees",
            f"{left - expected:+.2f} degrees",
            "contact and friction are springs with dampers",
        ),
    ]


def _way(wheel: WheelProperties, before: tuple[float, float]) -> str:
    """How far it has moved."""
    way_m = math.dist(wheel.place, before)
    return "less than 1e-7 m" if way_m < 1e-7 else f"{way_m:.1e} m"


def _off(found: float, expected: float, digits: int = 1) -> str:
    """The difference in percent."""
    text = f"{100.0 * (found / expected - 1.0):+.{digits}f}"
    return "none" if float(text) == 0.0 else f"{text} %"


def slopes() -> list[Row]:
    """Rolling, standing, sliding; a compound slope."""
    rolls = WheelProperties(slope(-0.02), 0.35, 0.5, drives=False)
    rolls.run(0.5)
    before = math.hypot(*rolls.speed)
    rolls.run(2.0)
    rolling = (math.hypot(*rolls.speed) - before) / 2.0
    massless = GRAVITY_MPS2 * math.sin(0.02)

    steep = math.radians(20.0)
    stands = WheelProperties(slope(steep), 1.02 * math.tan(steep), 1.0)
    stands.run(1.5)
    place = stands.place
    stands.run(2.0)
    glides = WheelProperties(slope(steep), 0.25, 4.0)
    glides.run(0.2)
    before = math.hypot(*glides.speed)
    glides.run(0.3)
    sliding = (math.hypot(*glides.speed) - before) / 0.3
    as_block = GRAVITY_MPS2 * (math.sin(steep) - 0.25 * math.cos(steep))

    faces = shapes.ended(shapes.faces_from([(0.2, math.radians(-15.0)), (1.0, math.radians(-30.0))]), "plateau")
    down = WheelProperties(faces, 1.0, 0.1, drives=False)
    top_m = down.place[1]
    while down.place[0] < 0.6:
        down.run(1e-3)
    speed = math.hypot(*down.speed)
    from_energy = math.sqrt(2.0 * GRAVITY_MPS2 * (top_m - down.place[1]) / (1.0 + down.turning))
    return [
        (
            "Acary 3.1, slope of 0.02 rad, no torque: acceleration",
            f"not printed; g sin(0.02) = {massless:.4f} m/s^2 with wheels without mass, "
            f"{massless / (1.0 + rolls.turning):.4f} with ours",
            f"{rolling:.4f} m/s^2",
            _off(rolling * (1.0 + rolls.turning), massless),
            "the wheel's inertia turns with it",
        ),
        (
            "a braked wheel on 20 degrees, friction 2 % above the tangent: distance in 2 s",
            "0",
            _way(stands, place),
            "none",
            "friction on a profile has a static branch; on firm ground without one a held wheel creeps",
        ),
        (
            "the same with friction 0.25: acceleration",
            f"g (sin - mu cos) = {as_block:.3f} m/s^2",
            f"{sliding:.3f} m/s^2",
            _off(sliding, as_block),
            "",
        ),
        (
            "compound slope (C.3), 15 and then 30 degrees down, a free wheel from rest: speed on the second face",
            f"energy: {from_energy:.4f} m/s",
            f"{speed:.4f} m/s",
            _off(speed, from_energy),
            "so slow that the wheel stays on the edge between the faces, which then takes nothing",
        ),
    ]


def drops() -> list[Row]:
    """One wheel falls onto level ground."""
    wheel = WheelProperties([(-1.0, 0.0), (1.0, 0.0)], 0.5, 0.0, over_m=DROP_M, damping=DROP_DAMPING)
    speed, peak = 0.0, 0.0
    for _ in range(1700):
        wheel.run(1e-4)
        speed, peak = max(speed, -wheel.speed[1]), max(peak, wheel.push[1])
    mass, weight = wheel.mass_kg, GRAVITY_MPS2 * wheel.mass_kg
    free = math.sqrt(2.0 * GRAVITY_MPS2 * DROP_M)
    hard = weight + math.hypot(weight, free * math.sqrt(STIFFNESS * mass))

    def press(depth: float, rate: float) -> float:
        return max(STIFFNESS * depth + DROP_DAMPING * rate, 0.0)

    path = solve_ivp(
        lambda _, s: (s[1], GRAVITY_MPS2 - press(s[0], s[1]) / mass), (0.0, 0.02), (0.0, free), max_step=1e-5, rtol=1e-9
    )
    expected = max(press(depth, rate) for depth, rate in path.y.T)
    return [
        (
            "a wheel falls 0.1 m: speed",
            f"sqrt(2 g h) = {free:.4f} m/s (twenty times the 0.07 m/s of the thesis)",
            f"{speed:.4f} m/s",
            _off(speed, free),
            "",
        ),
        (
            f"its peak force on 1 MN/m and {DROP_DAMPING:g} N s/m",
            f"quadrature {expected:.0f} N; without damping W + hypot(W, v sqrt(k m)) = {hard:.0f} N",
            f"{peak:.0f} N",
            _off(peak, expected),
            "a step of 0.1 ms, linearly implicit",
        ),
    ]


def frame() -> str:
    """The links of the thesis's frame, by the sine rule and by closing the triangle."""
    rows = []
    for beta_deg in (10.0, 20.0, 30.0, 40.0, 60.0, 90.0):
        found, beta = frame_settings(beta_deg, 0.175), math.radians(beta_deg)
        top = FRONT_LINK_M * math.cos(beta), FRONT_LINK_M * math.sin(beta)
        closed = brentq(lambda foot, top=top: math.dist(top, (foot, 0.0)) - REAR_LINK_M, top[0], 2.0)
        printed = {40.0: "0.91", 60.0: "0.67", 90.0: "0.34"}.get(beta_deg, "-")
        rows.append(
            f"| {beta_deg:.0f} | {found.bottom_link_m:.3f} | {closed:.3f} | {printed} | {found.rear_angle_deg:.1f} |"
        )
    return "\n".join(rows)


def page() -> str:
    """Its text."""
    rows = [*first_contact_friction(), *steps(), *edges(), *slopes(), *drops(), *drops_of_a_rover()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"""# Obstacles that end: step, ledge, edge and compound slope

Written by `python docs/reproduce/obstacles_that_end.py`. MacMahon 2016 draws three configurations of his obstacle for
later work (App. C.3: horizontal, step-down, and a compound slope for climbing) and prints no number for them. Acary
2013, 3.1, has a step of 0.1 m and a slope of 0.02 rad. So most numbers below are closed forms and integrals, next to
what `ground.profile` does. One wheel has R 0.125 m and 7.14 kg, its carriage does not turn, and ground and friction are
springs (1 MN/m, 0.8 MN/m). The drawings C-5 and C-6 were not at hand.

| what | quoted or calculated | ours | difference | why |
|---|---|---|---|---|
{table}

## A drop is no fall, if the wheel rolls over the edge
{drop_of_a_rover()}

## The frame at 0 to 30 degrees
"Shorter versions of the supporting legs" make angles from 0 to 30 degrees (6.2.3). L_1 0.50 m and L_2 0.605 m are
within 2 % of the printed table:

| beta [deg] | L_3 [m] | triangle closed by a search | Table C-1 | alpha [deg] |
|---|---|---|---|---|
{frame()}

At 0 degrees the links lie flat, L_3 = L_1 + L_2 = {FRONT_LINK_M + REAR_LINK_M:.3f} m. The length of the shorter legs
is not printed. In a config the plate's angle is `ground.profile.plate_deg`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    return page_script(__doc__, PAGE, page, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
