"""Traction of a wheel from its speeds: driving, braking, standing, reverse, and sideways, smooth through rest.

Slip is (R omega - v_x) over the larger of the two speeds: Petersen 2012 (4.3) when driving, R omega/v_x - 1 when
braking, and beyond -1 where wheel and ground run against each other. Sliding sideways shares the shear limit (4.30)
with slip: the force acts against the resultant of both, so the limit holds whatever the direction. Xu's lateral force,
(32), belongs to his variant alone.
"""

import math

from models.compiled import FloatArray, kernel
from models.wheel import kernels, xu
from models.wheel.packed import RADIUS, SLIP_MODULUS, VARIANT, XU


@kernel
def slip_and_slide(forward: float, sideways: float, rolling: float, slip_speed: float) -> tuple[float, float, float]:
    """Returns slip, slide and the speed both are measured against; slip is continuously differentiable everywhere.

    That speed is max(|v_x|, |R omega|) = (|R omega + v_x| + |R omega - v_x|)/2 with the corner of the first term
    rounded, so that it never falls below slip_speed; the second one's does no harm, as slip is 0 there. Slip differs
    from the sharp definition by (slip_speed / speed)^2 or less, where wheel and ground do not run against each other.

    Args:
        forward: v_x of the axle along the heading [m/s].
        sideways: v_y of the contact, positive to the left [m/s].
        rolling: R omega, positive for forward spin [m/s].
        slip_speed: Where slip goes over into sliding speed over this [m/s], > 0.

    Returns:
        Slip and slide [-] (slide positive where the wheel drifts to the right), and the reference speed [m/s].
    """
    excess, total = rolling - forward, rolling + forward
    reference = 0.5 * (math.sqrt(total * total + 4.0 * slip_speed * slip_speed) + abs(excess))
    return excess / reference, -sideways / reference, reference


@kernel
def shared_shear(limit: float, modulus: float, slip: float, slide: float) -> tuple[float, float]:
    """Splits one shear force limit tanh(total slip / K), Petersen 2012 (4.30), between slip and slide.

    Args:
        limit: F_shear_max [N].
        modulus: K [-].
        slip: Along the heading [-].
        slide: Across it, positive where the wheel drifts to the right [-].

    Returns:
        Tangential force along the heading and lateral force, positive to the left [N].
    """
    total = math.sqrt(slip * slip + slide * slide)
    secant = limit * math.tanh(total / modulus) / total if total > 1e-150 else limit / modulus
    return secant * slip, secant * slide


@kernel
def forces_at_angle(p: FloatArray, z: float, slip: float, slip_angle: float) -> tuple[float, float, float, float]:
    """Forces of a wheel that travels forward at an angle to its heading.

    Slide is -v_y over the larger of v_x and R omega: -(1 - s) tan(alpha) when driving, -tan(alpha) when braking. For
    `xu` slip and slip angle do not interact: the lateral force is (32).

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        z: Sinkage [m].
        slip: 1 - v_x/(R omega) when driving; R omega/v_x - 1 when braking [-].
        slip_angle: alpha = atan(v_y / v_x) [rad], positive where the wheel drifts to the left, in (-pi/2, pi/2).

    Returns:
        F_x [N] forward, F_y [N] to the left, F_z [N] upwards, torque [N m] where it resists forward spin.
    """
    if z <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if p[VARIANT] == XU:
        longitudinal, vertical, torque = kernels.wheel_forces(p, z, slip)
        lateral = xu.lateral_force(p, kernels.shear_limit(p, z, vertical), slip_angle)
        return longitudinal, lateral, vertical, torque
    normal, cosine, sine, limit = kernels.resultant(p, z)
    slide = -math.tan(slip_angle) * min(1.0, 1.0 - slip)
    tangential, lateral = shared_shear(limit, p[SLIP_MODULUS], slip, slide)
    return (
        tangential * cosine - normal * sine,
        lateral,
        normal * cosine + tangential * sine,
        p[RADIUS] * tangential,
    )


@kernel
def moving_forces(
    p: FloatArray, z: float, forward: float, sideways: float, rolling: float, slip_speed: float
) -> tuple[float, float, float, float]:
    """Forces of a wheel from its speeds; any variant but `xu`, whose stresses are those of a driving wheel.

    Compaction resists whichever way the wheel travels, and not at all at rest; the vertical part of the pressure stays
    as it is. The wheel never gives energy: torque omega - F_x v_x - F_y v_y >= 0 at all speeds. Where the force along
    the contact's tangent, which leans by phi, opposes the travel, it may for that be no larger than
    F_n cot(phi/2), a bound that is far away but for a soil of nearly pure cohesion.

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        z: Sinkage [m].
        forward: v_x of the axle along the heading [m/s].
        sideways: v_y of the contact, positive to the left [m/s].
        rolling: R omega, positive for forward spin [m/s].
        slip_speed: As `slip_and_slide` takes it [m/s].

    Returns:
        F_x [N] forward, F_y [N] to the left, F_z [N] upwards, torque [N m] where it resists forward spin.
    """
    if z <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    normal, cosine, sine, limit = kernels.resultant(p, z)
    vertical = normal * cosine
    against = normal * sine * forward / math.sqrt(forward * forward + slip_speed * slip_speed)
    normal = math.sqrt(vertical * vertical + against * against)
    if normal == 0.0:  # both underflow at a sinkage below 1e-200 R
        return 0.0, 0.0, 0.0, 0.0
    cosine, sine = vertical / normal, against / normal
    slip, slide, _ = slip_and_slide(forward, sideways, rolling, slip_speed)
    tangential, lateral = shared_shear(limit, p[SLIP_MODULUS], slip, slide)
    if tangential * sine < 0.0:
        most = normal * (1.0 + cosine) / abs(sine)
        tangential = min(max(tangential, -most), most)
    return (
        tangential * cosine - against,
        lateral,
        vertical + tangential * sine,
        p[RADIUS] * tangential,
    )
