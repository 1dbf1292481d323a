"""Small rovers as URDF texts: carts that differ in one thing, as the files that people have differ."""

from __future__ import annotations

WHEEL_KG, RADIUS_M = 2.0, 0.15
_INERTIAL = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="-{0}" upper="{0}" effort="1" velocity="1"/>'
_CYLINDER = '<collision><origin rpy="1.5708 0 0"/><geometry><cylinder radius="{}" length="0.1"/></geometry></collision>'


def link(name: str, mass_kg: float, moments: tuple[float, float, float], shape: str = "") -> str:
    """A link with its centre of mass at its origin."""
    return f'<link name="{name}">{_INERTIAL.format(mass_kg, *moments)}{shape}</link>\n'


def joint(
    name: str, kind: str, parent: str, child: str, xyz: str = "0 0 0", axis: str = "0 1 0", more: str = ""
) -> str:
    """A joint that carries `child`."""
    ends = f'<origin xyz="{xyz}"/><parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<axis xyz="{axis}"/>{more}</joint>\n'


def wheel(name: str, parent: str, xyz: str, radius_m: float = RADIUS_M) -> str:
    """A wheel and its axle, joint NAME_axle."""
    body = link(name, WHEEL_KG, (0.01, 0.02, 0.01), _CYLINDER.format(radius_m))
    return body + joint(f"{name}_axle", "continuous", parent, name, xyz)


def cart(rows: int = 2, sides: str = "fixed", more: str = "", robot: str = "") -> str:
    """A cart with a pair of wheels in each row.

    Args:
        rows: of wheels, 0.6 m from the first to the last.
        sides: how the beam of each side is joined to the body: fixed, revolute (a rocker) or prismatic (upright).
        more: elements besides.
        robot: attributes of <robot> besides its name.
    """
    text = f'<robot name="cart" {robot}>\n' + link("body", 40.0, (1.0, 2.0, 2.5))
    limit = '<limit lower="-0.05" upper="0.05" effort="1" velocity="1"/>'
    for side, y in (("left", 0.3), ("right", -0.3)):
        beam, axis = f"{side}_beam", "0 0 1" if sides == "prismatic" else "0 1 0"
        text += link(beam, 3.0, (0.02, 0.1, 0.1)) + joint(
            f"{beam}_joint", sides, "body", beam, f"0 {y} 0.05", axis, limit
        )
        for row in range(rows):
            text += wheel(f"{side}_{row}", beam, f"{0.3 - 0.6 * row / (rows - 1):.4f} 0 0")
    return text + more + "</robot>\n"


def rover(
    rows: tuple[float, ...],
    track_m: float,
    radius_m: float,
    body_kg: float,
    sides: str = "fixed",
    steered: tuple[int, ...] = (),
    tie: str = "",
    more: str = "",
    steer: str = "steer_{}",
    between: bool = False,
    stops: str = "",
) -> str:
    """A rover after public ones: a body, beams at its sides, and wheels in rows, of sizes that fit each other.

    Args:
        rows: x of each row of wheels [m], from the front.
        track_m: between the wheels of a row.
        radius_m: of the wheels.
        body_kg: mass of the body; all else follows from it.
        sides: fixed, rocker, bogie (rocker and bogie), upright (sliding) or arms (a parallelogram for each wheel).
        steered: rows whose wheels stand on a joint about z.
        tie: how one rocker follows the other: mimic, bar (a bar over the body leads both) or "".
        more: elements besides.
        steer: name of a steering joint by its wheel.
        between: links without mass stand between body and beams, as in universal joints.
        stops: <limit> of the beams' joints; "": they turn without end.
    """
    wheel_kg, length = 0.05 * body_kg, rows[0] - rows[-1]
    wide, kind = 0.8 * radius_m, "revolute" if stops else "continuous"
    long, across, tall = length**2 / 12, track_m**2 / 12, radius_m**2 / 12
    moments_kg = tuple(body_kg * 0.5 * one for one in (across + tall, long + tall, long + across))

    def part(name: str, mass_kg: float, reach_m: float) -> str:
        return link(name, mass_kg, tuple(mass_kg * share * reach_m**2 for share in (0.1, 0.1, 0.12)))  # type: ignore[arg-type]

    def wheel_at(name: str, parent: str, xyz: tuple[float, float, float]) -> str:
        moments = tuple(wheel_kg * radius_m**2 * share for share in (0.3, 0.5, 0.3))
        shape = _CYLINDER.format(radius_m).replace('length="0.1"', f'length="{wide}"')
        axle = joint(f"{name}_axle", "continuous", parent, name, _words(xyz))
        return link(name, wheel_kg, moments, shape) + axle  # type: ignore[arg-type]

    def end(name: str, parent: str, row: int, xyz: tuple[float, float, float]) -> str:
        if row not in steered:
            return wheel_at(name, parent, xyz)
        x, y, z = xyz
        hub = part(f"{name}_hub", 0.4 * wheel_kg, radius_m)
        turned = joint(steer.format(name), "continuous" if sides == "rocker" else "revolute", parent, f"{name}_hub",
                       _words((x, y, z + radius_m)), "0 0 1", LIMIT.format(0.7))  # fmt: skip
        return hub + turned + wheel_at(name, f"{name}_hub", (0.0, 0.0, -radius_m))

    high = 1.2 * radius_m
    text = '<robot name="rover">\n' + link("body", body_kg, moments_kg)  # type: ignore[arg-type]
    if tie == "bar":
        text += part("bar", 0.02 * body_kg, track_m) + joint(
            "bar_pivot", "continuous", "body", "bar", "0 0 0.1", "0 0 1"
        )
    for side, sign in (("left", 1.0), ("right", -1.0)):
        y = 0.5 * track_m * sign
        if sides == "fixed":
            text += "".join(end(f"{side}_{n}", "body", n, (x, y, -high)) for n, x in enumerate(rows))
            continue
        if sides in ("upright", "arms"):
            for n, x in enumerate(rows):
                name, beam = f"{side}_{n}", f"{side}_{n}_beam"
                text += part(beam, 0.03 * body_kg, radius_m)
                if sides == "upright":
                    text += joint(f"{beam}_slide", "prismatic", "body", beam, _words((x, y, 0.0)), "0 0 1", stops)
                    text += end(name, beam, n, (0.0, 0.0, -high))
                    continue
                back = -2.0 * radius_m if n == 0 else 2.0 * radius_m
                text += joint(f"{beam}_arm", kind, "body", beam, _words((x + back, y, 0.0)), "0 1 0", stops)
                knuckle = part(f"{beam}_end", 0.01 * body_kg, radius_m)
                mimic = f'<mimic joint="{beam}_arm" multiplier="-1"/>'
                text += knuckle + joint(f"{beam}_level", kind, beam, f"{beam}_end", _words((-back, 0.0, -0.5 * high)),
                                        "0 1 0", stops + mimic)  # fmt: skip
                text += end(name, f"{beam}_end", n, (0.0, 0.0, -0.5 * high))
            continue
        beam, carried = f"{side}_rocker", "body"
        if between:
            carried, tip = f"{beam}_cross", (0.0, y, 0.0)
            text += f'<link name="{carried}"/>'
            text += joint(f"{beam}_tip", "revolute", "body", carried, _words(tip), "1 0 0", LIMIT.format(0.05))
        source = {"mimic": "left_rocker_joint", "bar": "bar_pivot"}.get(tie, "")
        follows = f'<mimic joint="{source}" multiplier="{1 if sign > 0 else -1}"/>'
        tied = follows if source and (tie == "bar" or sign < 0) else ""
        at = (0.0, 0.0 if between else y, 0.0)
        text += part(beam, 0.08 * body_kg, length)
        text += joint(f"{beam}_joint", kind, carried, beam, _words(at), "0 1 0", stops + tied)
        split = sides == "bogie"
        for n, x in enumerate(rows if not split else rows[:1]):
            text += end(f"{side}_{n}", beam, n, (x, 0.0, -high))
        if split:
            middle = 0.5 * (rows[1] + rows[-1])
            text += part(f"{side}_bogie_beam", 0.04 * body_kg, 0.5 * length)
            text += joint(
                f"{side}_second", kind, beam, f"{side}_bogie_beam", _words((middle, 0.0, -0.3 * high)), "0 1 0", stops
            )
            for n, x in enumerate(rows[1:], 1):
                text += end(f"{side}_{n}", f"{side}_bogie_beam", n, (x - middle, 0.0, -0.7 * high))
    return text + more + "</robot>\n"


def carried(name: str, kind: str, axis: str, kg: float, parent: str = "body", xyz: str = "0.1 0 0.2") -> str:
    """A link that carries no wheel, as a mast or the link of an arm."""
    return link(name, kg, (0.01 * kg, 0.01 * kg, 0.01 * kg)) + joint(f"{name}_joint", kind, parent, name, xyz, axis)


def _words(place: tuple[float, float, float]) -> str:
    return " ".join(f"{one:.5g}" for one in place)


FOUR, SIX, EIGHT = (0.3, -0.3), (0.5, 0.0, -0.5), (0.6, 0.2, -0.2, -0.6)
STOPS = LIMIT.format(0.3)
# After public rovers: what their files have in common with these is the kind, the sizes and what is odd.
CORPUS = {
    "cart": rover((0.25, -0.25), 0.55, 0.165, 40.0),  # husky, jackal, scout
    "heavy cart": rover((0.5, -0.5), 1.0, 0.3, 250.0),  # warthog
    "small cart": rover((0.1, -0.1), 0.28, 0.049, 8.0),  # dingo
    "tiny cart": rover((0.06, -0.06), 0.14, 0.03, 1.6),  # a student's
    "six wheels, skid": rover(SIX, 0.7, 0.12, 40.0),
    "eight wheels, skid": rover(EIGHT, 0.8, 0.12, 60.0),
    "rockers, mimic": rover((0.15, -0.15), 0.36, 0.0625, 5.0, "rocker", tie="mimic"),  # leo
    "rockers, no differential": rover(FOUR, 0.7, 0.12, 30.0, "rocker"),
    "rockers with stops": rover(FOUR, 0.7, 0.12, 30.0, "rocker", stops=LIMIT.format(0.05)),
    "rocker-bogie, mimic": rover(SIX, 0.9, 0.13, 60.0, "bogie", tie="mimic"),
    "rocker-bogie, bar": rover((0.25, 0.0, -0.25), 0.45, 0.06, 8.0, "bogie", (0, 2), "bar"),  # osr
    "rocker-bogie, all steered": rover(SIX, 0.9, 0.13, 60.0, "bogie", (0, 1, 2), "mimic"),  # exoter
    "rocker-bogie, large": rover((1.1, 0.0, -1.1), 2.2, 0.26, 600.0, "bogie", (0, 2), "mimic"),  # curiosity
    "four steered": rover(FOUR, 0.6, 0.1, 30.0, "fixed", (0, 1)),  # fws
    "four steered, rockers": rover(FOUR, 0.7, 0.13, 40.0, "rocker", (0, 1), "mimic"),  # kalman
    "front steered, as a car": rover((0.16, -0.16), 0.2, 0.05, 3.0, "fixed", (0,)),  # racecar
    "steered, named steering": rover(FOUR, 0.6, 0.1, 30.0, "fixed", (0, 1), steer="{}_steering"),
    "pantographs": rover((0.4, -0.4), 0.8, 0.12, 40.0, "arms", stops=STOPS),
    "arms without stops": rover((0.4, -0.4), 0.8, 0.12, 40.0, "arms"),
    "springs left out": rover(FOUR, 0.6, 0.11, 30.0, "upright", stops=LIMIT.format(0.02)),  # summit
    "universal joints": rover(FOUR, 0.7, 0.12, 30.0, "rocker", between=True, stops=LIMIT.format(0.05)),
    "mast": rover(
        FOUR,
        0.6,
        0.11,
        30.0,
        more=carried("mast", "continuous", "0 0 1", 2.0) + carried("head", "continuous", "0 1 0", 1.0, "mast"),
    ),
    "arm": rover(
        FOUR,
        0.6,
        0.11,
        30.0,
        more=carried("upper", "continuous", "0 1 0", 2.0) + carried("lower", "continuous", "0.6 0 0.8", 1.0, "upper"),
    ),
    "lift": rover(FOUR, 0.6, 0.11, 30.0, more=carried("deck", "prismatic", "0 0 1", 4.0)),
    "light links": rover(FOUR, 0.6, 0.11, 30.0, more=carried("lid", "continuous", "0 1 0", 1e-4)),
    "frames without mass": rover(
        FOUR,
        0.6,
        0.11,
        30.0,
        more='<link name="imu"><visual><geometry><box size="0 0 0"/>'
        "</geometry></visual></link>" + joint("imu_seat", "fixed", "body", "imu"),
    ),
    "rounded plate": rover(
        FOUR,
        0.6,
        0.11,
        30.0,
        more=link("plate", 0.1, (8.3e-5, 8.3e-5, 1.67e-4)) + joint("plate_seat", "fixed", "body", "plate"),
    ),
    "odd names": rover(FOUR, 0.7, 0.12, 30.0, "rocker", tie="mimic").replace("left_rocker_joint", "side.rocker é,[/x]"),
    "long names": rover(FOUR, 0.7, 0.12, 30.0, "rocker", tie="mimic").replace("right_rocker_joint", "right" * 16),
    "articulated": rover(
        (0.3,),
        0.6,
        0.11,
        30.0,
        more=link("rear", 30.0, (1.0, 2.0, 2.5))
        + joint("waist", "continuous", "body", "rear", "-0.3 0 0", "0 0 1")
        + wheel("rear_l", "rear", "-0.3 0.3 -0.132", 0.11)
        + wheel("rear_r", "rear", "-0.3 -0.3 -0.132", 0.11),
    ),
}
# What has to be refused, and what of it is said.
REFUSED = {
    "planar": (cart(sides="planar"), ("left_beam_joint is planar", "right_beam_joint is planar")),
    "limits of nothing": (
        cart(sides="revolute").replace('"-0.05"', '"0.05"'),
        ("left_beam_joint: limits 0.05 to 0.05", "right_beam_joint: limits 0.05 to 0.05"),
    ),
    "unsound inertias": (
        cart().replace('ixx="0.01" iyy="0.02"', 'ixx="0.01" iyy="0.05"'),
        ("body left_0: inertia", "body right_0: inertia", "body left_1: inertia", "body right_1: inertia"),
    ),
    "numbers, kinds and limits": (
        cart(sides="revolute")
        .replace(f'mass value="{WHEEL_KG}"', 'mass value="heavy"', 1)
        .replace('left_beam_joint" type="revolute"', 'left_beam_joint" type="planar"')
        .replace('"-0.05"', '"0.05"'),
        ("link left_0: value", "left_beam_joint is planar", "right_beam_joint: limits 0.05 to 0.05"),
    ),
    "wheels, inertias and what follows": (
        cart(sides="revolute")
        .replace('xyz="0 1 0"', 'xyz="0 0.9 0.436"')
        .replace('ixx="1.0" iyy="2.0"', 'ixx="1.0" iyy="20.0"')
        .replace("<parent", '<mimic joint="nothing"/><parent', 1),
        ("no wheel recognised", "body body: inertia", "left_beam_joint: follows nothing"),
    ),
    "masses in g and lengths in mm": (
        cart().replace('mass value="40.0"', 'mass value="40000"').replace('xyz="0 0.3 0.05"', 'xyz="0 300 50"'),
        ("are masses in g", "are they in mm"),
    ),
    "inertias in kg mm2": (
        cart().replace('ixx="0.02" iyy="0.1" izz="0.1"', 'ixx="20000" iyy="100000" izz="100000"'),
        (
            "link left_beam: 3 kg and its inertia make a box 600 m long",
            "link right_beam: 3 kg",
            "is its inertia in kg m2?",
        ),
    ),
    "wheels without a shape": (
        "".join(part.split("</collision>")[-1] for part in cart().split("<collision>")),
        ("no wheel recognised", "of those that turn without end: left_0, left_1, right_0, right_1"),
    ),
    "wheels at an angle": (cart().replace('xyz="0 1 0"', 'xyz="0 0.9 0.436"'), ("no wheel recognised", "--wheels")),
}
