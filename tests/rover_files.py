"""Small rovers as URDF texts: carts that differ in one thing, as the files that people have differ."""

from __future__ import annotations

WHEEL_KG, RADIUS_M = 2.0, 0.15
_INERTIAL = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>'
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
