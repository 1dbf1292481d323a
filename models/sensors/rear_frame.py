"""The obstacle's frame, and force sensors in its rear or bottom links (MacMahon 2016, App. C.2, statics of Fig. C-3).

Each side of the obstacle has three links: the front link bears half of the plate at the angle beta, the rear link holds
its top at the angle alpha to the ground, and the bottom link joins their feet. The sensor measures the compression of
the rear link. Moments about the front foot: the normal force on the plate has the lever of the contact point along the
plate, d / sin(beta), for Table C-1's d is the height of that point. Friction on the plate has no lever, because the
plate points at the foot. The rear link has the lever L_3 sin(alpha). The ratios 0.079 and 0.74 that the thesis prints
for 40 and 90 degrees follow from neither lever. The links' weight is constant, and AC-coupled sensors do not read it.

The bottom link is what C.2 names as the better place, without a number. It bears a load that follows from statics only
if one foot is held and the other slides: with both bolted down, as the thesis built it (6.2.3), ground and link share
what comes. Here the rear foot is held and the front foot slides, so that the link is compressed by all that the wheel
pushes forward less what the rear link takes, f_A sin(beta) - f_c cos(alpha): between 0.53 and 0.76 of the normal force,
and less sensitive to the place of the hit. Friction on the plate is read as well, with its part along the ground.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from models.kernels.compiled import kernel

# The front link with the plate, and the rear link [m]: Table C-1 fits these two by the sine rule at all six angles.
FRONT_LINK_M, REAR_LINK_M = 0.50, 0.605


Link = Literal["rear", "bottom"]


class LinkShare(NamedTuple):
    """Compression of both links of a kind, per newton of the wheel's force on the plate.

    Attributes:
        at_foot: of a normal force at the plate's foot.
        turn: share of that force's lever over the rear link's which is added.
        grip: of a friction up along the plate.
    """

    at_foot: float
    turn: float
    grip: float


REAR = LinkShare(0.0, 1.0, 0.0)


def link_share(link: Link, angle: float) -> LinkShare:
    """Where a force on a plate at beta `angle` [rad] goes; the bottom link with its front foot free."""
    if link == "rear":
        return REAR
    return LinkShare(math.sin(angle), -math.cos(rear_link_angle(angle)), math.cos(angle))


@kernel
def link_force(link: LinkShare, force: float, lever: float, drag: float) -> float:
    """Compression of both links [N].

    Args:
        link: what they bear.
        force: normal force on the plate [N].
        lever: of it along the plate, over that of the rear link.
        drag: friction on the plate, up along it [N].
    """
    return (link.at_foot + link.turn * lever) * force + link.grip * drag


def rear_link_angle(angle: float) -> float:
    """Alpha of the rear link to the ground [rad], where the plate stands at beta `angle` [rad]."""
    return math.asin(FRONT_LINK_M * math.sin(angle) / REAR_LINK_M)


def rear_link_reach(angle: float) -> float:
    """L_3 sin(alpha): lever of the rear link about the front foot [m], where the plate stands at beta `angle` [rad]."""
    return FRONT_LINK_M * math.sin(angle + rear_link_angle(angle))


def contact_lever(angle: float, wheel_radius: float, sinkage: float = 0.0) -> float:
    """Where a wheel on level ground touches the plate, along it from its foot [m].

    Its height is d = r (1 - cos beta) less the sinkage; Table C-1 prints the same d for r = 0.175 m on firm ground.

    Args:
        angle: beta of the plate to the ground [rad], above 0 and at most pi / 2.
        wheel_radius: r [m].
        sinkage: of the wheel in the ground [m].
    """
    return wheel_radius * math.tan(0.5 * angle) - sinkage / math.sin(angle)


def frame_share(link: Link, angle: float, wheel_radius: float, sinkage: float = 0.0, friction: float = 0.0) -> float:
    """Compression of both links of a kind over the normal force of a wheel on level ground that slides down the plate.

    Args:
        link: rear or bottom.
        angle: beta of the plate to the ground [rad], above 0 and at most pi / 2.
        wheel_radius: [m].
        sinkage: of the wheel in the ground [m].
        friction: Coulomb coefficient of wheel on plate.

    Raises:
        ValueError: an angle or a radius out of range, or a wheel that has sunk in so far that it hits the foot.
    """
    if not 0.0 < angle <= 0.5 * math.pi + 1e-9:
        raise ValueError(f"rear frame: angle is {math.degrees(angle):g} deg, allowed: above 0 to 90")
    if not 0.0 < wheel_radius < math.inf:
        raise ValueError(f"rear frame: wheel_radius is {wheel_radius:g} m, allowed: above 0")
    lever = contact_lever(angle, wheel_radius, sinkage)
    if not sinkage >= 0.0 or not lever > 0.0:
        raise ValueError(
            f"rear frame: sinkage is {sinkage:g} m, allowed: 0 or more, and less than the contact's height"
        )
    share = link_share(link, angle)
    return share.at_foot + share.turn * lever / rear_link_reach(angle) - friction * share.grip
