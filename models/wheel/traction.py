"""Traction of a wheel from its speeds: driving, braking, standing, reverse, and sideways, smooth through rest.

Slip is (R omega - v_x) over the larger of the two speeds: Petersen 2012 (4.3) when driving, R omega/v_x - 1 when
braking, and beyond -1 where wheel and ground move against each other. Sliding sideways shares the shear limit (4.30)
with slip: the force acts against the resultant of both, so the limit holds in any direction. Xu's lateral force,
(32), belongs to his variant alone.

From speeds alone (`moving_forces`) a standing wheel bears no tangential force. With the soil's shear displacement as a
state (`shear_soil`, used for a rover's wheels) it does, and steady motion has the same force.
"""

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel import kernels, xu
from models.wheel.packed import RADIUS, SLIP_MODULUS, SPEED, SPEED_EXPONENT, VARIANT, XU
from models.wheel.shear_law import slip_over_grip


@kernel
def slip_and_slide(forward: float, sideways: float, rolling: float, slip_speed: float) -> tuple[float, float, float]:
    """Returns slip, slide and the speed both are measured against; slip is continuously differentiable everywhere.

    That speed is max(|v_x|, |R omega|) = (|R omega + v_x| + |R omega - v_x|)/2 with the corner of the first term
    rounded, so that it never falls below slip_speed; the second one's corner is harmless, as slip is 0 there. Slip
    differs from the sharp definition by (slip_speed / speed)^2 or less, where wheel and ground do not move against
    each other.

    Args:
        forward: v_x of the axle along the heading [m/s].
        sideways: v_y of the contact, positive to the left [m/s].
        rolling: R omega, positive for forward spin [m/s].
        slip_speed: Where slip becomes sliding speed over this [m/s], > 0.

    Returns:
        Slip and slide [-] (slide positive where the wheel drifts to the right), and the reference speed [m/s].
    """
    excess, total = rolling - forward, rolling + forward
    reference = 0.5 * (math.sqrt(total * total + 4.0 * slip_speed * slip_speed) + abs(excess))
    inverse = 1.0 / reference
    return excess * inverse, -sideways * inverse, reference


@kernel
def modulus_factor(p: FloatArray, forward: float, slip_speed: float) -> float:
    """Slip modulus at a forward speed over that at `slip_modulus_speed`.

    Traction is F_max f(v_x, s), Petersen 2012 (4.29); f is left to experiments, and (4.30) has tanh(s/K) with a K of
    the speed v_x. A power of the speed is assumed, K (v_x/v_0)^m: of what a wheel's tests at two speeds can tell.

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        forward: v_x of the axle along the heading [m/s].
        slip_speed: Below which v_x counts as about this speed [m/s].
    """
    if p[SPEED_EXPONENT] == 0.0:
        return 1.0
    least = slip_speed * slip_speed
    return math.pow((forward * forward + least) / (p[SPEED] * p[SPEED] + least), 0.5 * p[SPEED_EXPONENT])


@kernel
def shared_shear(p: FloatArray, limit: float, slip: float, slide: float) -> tuple[float, float]:
    """Splits one shear force limit tanh(total slip / K), Petersen 2012 (4.30), between slip and slide.

    Args:
        p: Packed parameters, shape (packed.SIZE,); the slip modulus and the law of the shear count here.
        limit: F_shear_max [N].
        slip: Along the heading [-].
        slide: Across it, positive where the wheel drifts to the right [-].

    Returns:
        Tangential force along the heading and lateral force, positive to the left [N].
    """
    modulus = p[SLIP_MODULUS]
    secant = limit / (modulus * slip_over_grip(p, math.sqrt(slip * slip + slide * slide) / modulus))
    return secant * slip, secant * slide


@kernel
def shear_soil(
    p: FloatArray,
    sheared: FloatArray,
    slip: float,
    slide: float,
    reference: float,
    limit: float,
    modulus: float,
    inverses: tuple[float, float],
    damping: float,
    dt: float,
) -> tuple[float, float, float]:
    """Advance the shear displacement of the soil under a wheel by dt, and return the forces that come from it.

    As in Janosi and Hanamoto: j' = u - |u| j / j_ss, with the sliding speed u and the j_ss at which the force (the
    limit times j over the displacement) is that of (4.30). A rolling wheel reaches (4.30) within a few mm of path; a
    standing one, whose u is 0, keeps its j, and with it the force that holds it on a slope.

    Where the shear stress of a soil peaks and falls (models.wheel.shear_law), j follows the falling curve as well: it
    is the displacement at which a soil without a peak would bear the same. A standing wheel holds what it holds at a
    slip of 1, the residual. The slope is that of the chord from rest, so it stays positive beyond the peak, where the
    force itself falls: a step does not overshoot, and a wheel that is pulled with more than the peak slips faster and
    faster, down to the residual.

    Args:
        p: Packed parameters, shape (packed.SIZE,); the law of the shear counts here.
        sheared: j (2,) [m], along the heading and to its left; advanced, implicitly.
        slip: Along the heading [-], by `slip_and_slide` with a slip_speed close to zero: a standing wheel would lose
            its shear at the rate of K times that speed over the displacement.
        slide: Across it, positive where the wheel drifts to the right [-].
        reference: The speed that both are measured against [m/s].
        limit: F_shear_max [N].
        modulus: K [-].
        inverses: 1/K [-], and one over the displacement at which the limit is reached [1/m]; divisions are slow.
        damping: Retardation time of the soil [s].
        dt: Step [s].

    Returns:
        Force along the heading and to the left [N], and the slope of both over sliding speed [N s/m]: the force is that
        of the end of the step. Retarded, it still lies between that of the displacement and that of steady sliding.
    """
    per_modulus, per_displacement = inverses
    along, across = slip * reference, slide * reference
    forgetting = reference * modulus * slip_over_grip(p, math.sqrt(slip * slip + slide * slide) * per_modulus)
    forgetting *= per_displacement
    left_over, damped = 1.0 + dt * forgetting, 1.0 + damping * forgetting
    both = 1.0 / (left_over * damped)
    fade = both * damped
    sheared[0] = (sheared[0] + dt * along) * fade
    sheared[1] = (sheared[1] + dt * across) * fade
    stiffness = limit * per_displacement * both * left_over
    slope = stiffness * (fade * dt + damping)
    held = stiffness * fade
    return held * sheared[0] + slope * along, held * sheared[1] + slope * across, slope


@kernel
def fading(resistance: float, forward: float, slip_speed: float) -> float:
    """A resistance [N] that acts against motion in both directions, and is zero at rest; as `against_travel`."""
    return resistance * forward / math.sqrt(forward * forward + slip_speed * slip_speed)


@kernel
def against_travel(
    normal: float, cosine: float, sine: float, forward: float, slip_speed: float
) -> tuple[float, float, float]:
    """The normal resultant of `kernels.resultant` on a wheel that moves: size [N], cos(phi), sin(phi).

    Compaction resists motion in both directions, and is zero at rest; the vertical part does not change.

    Args:
        normal: F_n [N].
        cosine: cos(phi) [-].
        sine: sin(phi) [-].
        forward: v_x of the axle along the heading [m/s].
        slip_speed: Below which compaction resistance fades [m/s].
    """
    vertical = normal * cosine
    against = fading(normal * sine, forward, slip_speed)
    normal = math.sqrt(vertical * vertical + against * against)
    if normal == 0.0:  # no contact, or a sinkage below 1e-200 R, where both underflow
        return 0.0, 1.0, 0.0
    inverse = 1.0 / normal
    return normal, vertical * inverse, against * inverse


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
    normal, cosine, sine, limit = kernels.resultant_at_slip(p, z, slip)
    slide = -math.tan(slip_angle) * min(1.0, 1.0 - slip)
    tangential, lateral = shared_shear(p, limit, slip, slide)
    return (
        tangential * cosine - normal * sine - kernels.bulldozing(p, z),
        lateral,
        normal * cosine + tangential * sine,
        p[RADIUS] * tangential,
    )


@kernel
def moving_forces(
    p: FloatArray, z: float, forward: float, sideways: float, rolling: float, slip_speed: float
) -> tuple[float, float, float, float]:
    """Forces of a wheel from its speeds; those of `xu` are read as `models.wheel.xu` says.

    The wheel never produces energy: torque omega - F_x v_x - F_y v_y >= 0 at all speeds. For that, where the force
    along the contact's tangent, which is inclined by phi, opposes the travel, it is limited to F_n cot(phi/2), a
    bound that matters only for a soil of nearly pure cohesion.

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
    if p[VARIANT] == XU:
        return xu.steady_forces(p, kernels.relative_sinkage(p, z), forward, sideways, rolling, slip_speed)
    slip, slide, _ = slip_and_slide(forward, sideways, rolling, slip_speed)
    normal, cosine, sine, limit = kernels.resultant_at_slip(p, z, slip)
    factor = modulus_factor(p, forward, slip_speed)
    slip, slide = slip / factor, slide / factor
    normal, cosine, sine = against_travel(normal, cosine, sine, forward, slip_speed)
    tangential, lateral = shared_shear(p, limit, slip, slide)
    if tangential * sine < 0.0:
        most = normal * (1.0 + cosine) / abs(sine)
        tangential = min(max(tangential, -most), most)
    return (
        tangential * cosine - normal * sine - fading(kernels.bulldozing(p, z), forward, slip_speed),
        lateral,
        normal * cosine + tangential * sine,
        p[RADIUS] * tangential,
    )
