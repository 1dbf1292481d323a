"""Linearised stresses in closed form, Xu 2021 (24)-(32): the kernels behind the variant `xu`.

The normal and the shear stress rise linearly from the entry angle theta_1 to the angle theta_m of the largest stress
and fall linearly to 0 and to the cohesion c at the lowest point, where the contact ends. Misprints of the source:
(24) is (k_1 + k_2 b)(r/b)^n (cos(theta) - cos(theta_1))^n, the pressure of a Reece soil, here k r^n (...)^n with
the soil's k; (25) needs (1 - s) before sin(theta_1) - sin(theta); in (32) the cohesive term is c A without the width.
(31) uses torque/r as the horizontal force, which leaves out the compaction resistance and is too large by a factor of
1.5 or more. The horizontal resultant also has a closed form, with no more terms than (28), which is used here; his is
the torque over the radius.

The model holds for a driving wheel. The kernels take a slip below 0 as 0 and above 1 as 1; what follows is
the reading for a wheel that brakes, stands or reverses.

Xu's wheel at any speeds: his stresses when it drives, and a reading for braking, standing and reverse.

Driving straight or at a slip angle is Xu 2021 (24)-(32) as above. The rest is ours:

- *Reverse* is the mirror image. The direction of motion is the sign of R omega + v.
- *Braking.* theta_m is that of slip 0. In (25) the travel v/(R omega) is weighted so that the shear stress changes its
  sign where R omega = kappa v, kappa being the mean of cos(theta) over the shear at slip 0: there the shear's power,
  (torque/R)(R omega - kappa v), does too, and shear gives no energy. The plain (25) would go on pushing the wheel
  beyond that. A locked wheel shears the soil to its limit.
- *Against each other* (the rim turns forward, the wheel moves back): up to equal speeds the soil is sheared more and
  more, and theta_m returns to that of slip 0. Then the braking of the other direction takes over.
- *The lowest point.* The cohesion there follows the shear stress at theta_m: c at the stress of steady driving, and of
  the other sign when braking.
- *Slow.* Below the slip speed, what has a front fades: the compaction resistance with the travel, the lift of the shear
  with the motion, the effect of slip on theta_m, and the shear at slip 0. From that speed on, driving is exactly his.
- *Standing.* The stresses are states, as shares of the shear limit. They follow their steady values over a path of the
  modulus k of (25), of the larger of travel and rim. A wheel that stands keeps them, and with them what holds it on a
  slope; a locked wheel that is pushed shears the soil by 1 - exp(-path/k), which is (25) for such a wheel.
"""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel.packed import (
    COHESION,
    EXPONENT,
    LATERAL_RATE,
    PEAK_OFFSET,
    PEAK_SLOPE,
    RADIUS,
    SHEAR_MODULUS,
    STIFFNESS,
    TAN_FRICTION,
    WIDTH,
)


@kernel
def one_less_sinc(x: float) -> float:
    """1 - sin(x)/x without cancellation, for |x| <= pi/2: x^2/6 - x^4/120 + ..."""
    square = x * x
    total = 1.0
    for i in range(10, 0, -1):
        total = 1.0 - square / ((2 * i + 2) * (2 * i + 3)) * total
    return square / 6.0 * total


@kernel
def one_less_cosine_over(x: float) -> float:
    """(1 - cos(x)) / x without cancellation."""
    return math.sin(0.5 * x) * (1.0 - one_less_sinc(0.5 * x))


@kernel
def peak(p: FloatArray, u: float, slip: float) -> tuple[float, float, float, float]:
    """Where the stresses are largest and how large, Xu 2021 (24), (25), (27).

    Args:
        p: Packed parameters, shape (SIZE,).
        u: Sinkage over radius [-], in (0, 1].
        slip: s [-], taken as 0 to 1.

    Returns:
        theta_1 and theta_m [rad], sigma_m and tau_m [Pa].
    """
    s = min(max(slip, 0.0), 1.0)
    entry, middle, normal = largest(p, u, s)
    shear = (p[COHESION] + normal * p[TAN_FRICTION]) * -math.expm1(-moved(p, entry, middle, s) / p[SHEAR_MODULUS])
    return entry, middle, normal, shear


@kernel
def largest(p: FloatArray, u: float, slip: float) -> tuple[float, float, float]:
    """theta_1 and theta_m [rad], and sigma_m [Pa]; arguments as `peak`, slip in [0, 1]."""
    entry = 2.0 * math.asin(math.sqrt(0.5 * u))
    middle = entry * (p[PEAK_OFFSET] + p[PEAK_SLOPE] * slip)
    # cos(theta_m) - cos(theta_1) as a product
    depth = 2.0 * p[RADIUS] * math.sin(0.5 * (entry + middle)) * math.sin(0.5 * (entry - middle))
    return entry, middle, p[STIFFNESS] * math.pow(depth, p[EXPONENT])


@kernel
def moved(p: FloatArray, entry: float, middle: float, slip: float) -> float:
    """Shear displacement of (25) at theta_m [m], its leading terms cancelled by hand; any slip.

    r ((theta_1 - theta_m) - (1 - s)(sin(theta_1) - sin(theta_m))).
    """
    mean, half = 0.5 * (entry + middle), 0.5 * (entry - middle)
    turned = 2.0 * math.sin(0.5 * mean) ** 2 + slip * math.cos(mean)
    return 2.0 * p[RADIUS] * (half * one_less_sinc(half) + math.sin(half) * turned)


@kernel
def moments(entry: float, middle: float) -> tuple[float, float]:
    """Integrals of the unit triangle over (0, theta_1) with its tip at theta_m, times cosine and times sine."""
    mean, half = 0.5 * (entry + middle), 0.5 * (entry - middle)
    rest = one_less_sinc(half)
    cosine = math.sin(mean) * (1.0 - rest) - one_less_cosine_over(middle)
    sine = 2.0 * math.sin(0.5 * mean) ** 2 + math.cos(mean) * rest - one_less_sinc(middle)
    return cosine, sine


@kernel
def normal_resultants(p: FloatArray, u: float) -> tuple[float, float]:
    """Vertical and horizontal resultant of the normal stress alone at slip 0 [N]; u in (0, 1]."""
    entry, middle, normal, _ = peak(p, u, 0.0)
    cosine, sine = moments(entry, middle)
    scale = p[RADIUS] * p[WIDTH] * normal
    return scale * cosine, scale * sine


@kernel
def wheel_forces(p: FloatArray, u: float, slip: float) -> tuple[float, float, float]:
    """Forces of a driving wheel, the integrals of the linear stresses (26): (28), the horizontal resultant, and (30).

    Args:
        p: Packed parameters, shape (SIZE,).
        u: Sinkage over radius [-], in (0, 1].
        slip: s [-], taken as 0 to 1.

    Returns:
        F_x [N] forward, F_z [N] upwards, torque [N m] where it resists forward spin.
    """
    entry, middle, normal, shear = peak(p, u, slip)
    cosine, sine = moments(entry, middle)
    c, patch = p[COHESION], p[RADIUS] * p[WIDTH]
    vertical = patch * (normal * cosine + shear * sine + c * one_less_sinc(middle))
    horizontal = patch * (shear * cosine + c * one_less_cosine_over(middle) - normal * sine)
    return horizontal, vertical, 0.5 * p[RADIUS] * patch * (shear * entry + c * middle)


@kernel
def lateral_force(p: FloatArray, limit: float, slip_angle: float) -> float:
    """Lateral force against sideways motion, Xu 2021 (32) corrected: (c A + N tan(friction angle))(1 - exp(-B alpha)).

    Args:
        p: Packed parameters, shape (SIZE,).
        limit: c A + N tan(friction angle) [N].
        slip_angle: alpha [rad], positive where the wheel drifts to the left.

    Returns:
        F_y [N], positive to the left.
    """
    return math.copysign(limit * math.expm1(-p[LATERAL_RATE] * abs(slip_angle)), -slip_angle)


# So close to a locked wheel, or to equal and opposite speeds, the shear stress is at its limit.
_NEARLY = 1e-9


@kernel
def faded(speed: float, slip_speed: float) -> float:
    """Sign of a speed, from -slip_speed to slip_speed a smooth transition; exactly 1 beyond."""
    x = speed / slip_speed
    if abs(x) >= 1.0:
        return math.copysign(1.0, x)
    return x * (1.5 - 0.5 * x * x)


@kernel
def steady_shear(
    p: FloatArray, u: float, slip: float, fade: float
) -> tuple[float, float, float, float, float, float, float]:
    """Stresses along the direction of motion, and the share of the shear limit that steady motion reaches at theta_m.

    Args:
        p: Packed parameters, shape (SIZE,).
        u: Sinkage over radius [-], in (0, 1].
        slip: (R omega - v) over the larger speed, positive where the wheel drives; -2 to 2.
        fade: 1 from the slip speed on, 0 at rest: part of the slip's effect on theta_m, and of the shear at slip 0.

    Returns:
        theta_1, theta_m [rad], sigma_m [Pa], the shear limit there [Pa], the share (-1 to 1), the share at which the
        stress at the lowest point is the cohesion (above 0, or 0 in soil that bears no shear), and the slope of the
        share over slip, not below 0.
    """
    driving = max(min(slip, 2.0 - slip), 0.0) * fade
    entry, middle, normal = largest(p, u, driving)
    limit = p[COHESION] + normal * p[TAN_FRICTION]
    per_modulus = 1.0 / p[SHEAR_MODULUS]
    if slip >= 0.0:
        left = max(2.0 - slip, _NEARLY)
        turned, steeper = (slip, 1.0) if slip <= 1.0 else (1.0 + (slip - 1.0) / left, 1.0 / (left * left))
        path = moved(p, entry, middle, turned) * per_modulus
        mean, half = 0.5 * (entry + middle), 0.5 * (entry - middle)
        growth = 2.0 * p[RADIUS] * math.cos(mean) * math.sin(half) * steeper
        pushing = -math.expm1(-path)
        share = pushing * (1.0 - max(1.0 - slip, 0.0) * (1.0 - fade))
        if slip > 1.0:  # to that of the other direction's braking, which follows
            pushing -= (slip - 1.0) * (pushing + math.expm1(-moved(p, entry, middle, 0.0) * per_modulus))
        return entry, middle, normal, limit, share, pushing, math.exp(-path) * growth * per_modulus
    path = moved(p, entry, middle, 0.0) * per_modulus
    pushing = -math.expm1(-path)
    if slip <= _NEARLY - 1.0:
        return entry, middle, normal, limit, -1.0, pushing, 0.0
    ratio = _kappa_over_rest(p, entry, middle, limit * pushing)
    braked = path * (1.0 + slip / (1.0 + slip) * ratio)
    steep = path * ratio / ((1.0 + slip) * (1.0 + slip)) * math.exp(-abs(braked))
    share = math.copysign(-math.expm1(-abs(braked)), braked) - pushing * (1.0 + slip) * (1.0 - fade)
    return entry, middle, normal, limit, share, pushing, steep


@kernel
def _kappa_over_rest(p: FloatArray, entry: float, middle: float, shear: float) -> float:
    """kappa/(1 - kappa), kappa the mean of cos(theta) over a shear stress of c at 0 and `shear` [Pa] at theta_m."""
    mean, half = 0.5 * (entry + middle), 0.5 * (entry - middle)
    at_mean, at_half, below = one_less_sinc(mean), one_less_sinc(half), one_less_sinc(0.5 * middle)
    # integrals of 1 - cos(theta) over the unit triangle that falls from theta = 0, and over the one with its tip at
    # theta_m; without cancellation of leading terms
    falling = 0.5 * middle * below * (2.0 - below)
    rising = mean * (at_mean + at_half - at_mean * at_half) - falling
    rest = shear * rising + p[COHESION] * falling
    whole = 0.5 * (shear * entry + p[COHESION] * middle)
    return (whole - rest) / rest if rest > 0.0 else 0.0


@kernel
def resultants(
    p: FloatArray, entry: float, middle: float, normal: float, limit: float, share: float, pushing: float
) -> tuple[float, float, float, float, float]:
    """Resultants of the linear stresses (26) at a share of the shear limit.

    Args:
        p: Packed parameters, shape (SIZE,).
        entry: theta_1 [rad].
        middle: theta_m [rad].
        normal: sigma_m [Pa].
        limit: Of the shear stress at theta_m [Pa].
        share: Of that limit, -1 to 1, positive where it pushes the wheel in its direction of motion.
        pushing: Share at which the stress at the lowest point is the cohesion.

    Returns:
        Of the normal stress, the vertical and the horizontal resultant [N], the latter against the motion; of the
        shear stress, those upwards and in the direction of motion [N], and its torque against the spin [N m].
    """
    cosine, sine = moments(entry, middle)
    patch, shear = p[RADIUS] * p[WIDTH], limit * share
    lowest = p[COHESION] * min(max(share / pushing, -1.0), 1.0) if pushing > 0.0 else 0.0
    return (
        patch * normal * cosine,
        patch * normal * sine,
        patch * (shear * sine + lowest * one_less_sinc(middle)),
        patch * (shear * cosine + lowest * one_less_cosine_over(middle)),
        0.5 * p[RADIUS] * patch * (shear * entry + lowest * middle),
    )


@kernel
def steady_side(
    p: FloatArray, forward: float, sideways: float, reference: float, slip_speed: float
) -> tuple[float, float]:
    """Share of the lateral limit at steady drift, Xu 2021 (32), and its slope over the angle's speed [-].

    The slip angle is that of the axle's velocity, without sign: forward and in reverse alike. A wheel that spins nearly
    on the spot has its drift measured against the slip speed, or it would have none but full lateral forces.

    Args:
        p: Packed parameters, shape (SIZE,).
        forward: Speed of the contact along the heading [m/s].
        sideways: To its left [m/s].
        reference: The larger of travel and rim speed [m/s], > 0.
        slip_speed: [m/s].

    Returns:
        Share, -1 to 1, positive to the left; minus its derivative over `sideways` times hypot(reference, sideways).
    """
    along = max(abs(forward), min(reference, slip_speed))
    across = abs(sideways)
    bearing = math.exp(-p[LATERAL_RATE] * math.atan2(across, along))
    steep = p[LATERAL_RATE] * bearing * math.hypot(reference, across) * along / (along * along + across * across)
    return math.copysign(1.0 - bearing, -sideways), steep


@kernel
def lateral_limit(p: FloatArray, entry: float, vertical: float) -> float:
    """C A + N tan(friction angle) of (32) [N], the patch A = b r theta_1; a pull bears nothing."""
    return p[COHESION] * p[WIDTH] * p[RADIUS] * entry + max(vertical, 0.0) * p[TAN_FRICTION]


@kernel
def steady_forces(
    p: FloatArray, u: float, forward: float, sideways: float, rolling: float, slip_speed: float
) -> tuple[float, float, float, float]:
    """Forces of a wheel in steady motion; as `models.wheel.traction.moving_forces` returns them.

    Without the memory of a rover's wheel the shear fades at rest as well.

    Args:
        p: Packed parameters, shape (SIZE,).
        u: Sinkage over radius [-], in (0, 1].
        forward: Speed of the contact along the heading [m/s].
        sideways: To its left [m/s].
        rolling: R omega [m/s].
        slip_speed: [m/s].
    """
    fastest = max(abs(rolling), abs(forward))
    direction = math.copysign(1.0, rolling + forward)
    slip = direction * (rolling - forward) / fastest if fastest > 0.0 else 0.0
    fade = min(fastest / slip_speed, 1.0)
    entry, middle, normal, limit, share, pushing, _ = steady_shear(p, u, slip, fade)
    pressed, resisting, lift, push, torque = resultants(p, entry, middle, normal, limit, fade * share, pushing)
    vertical = pressed + faded(abs(rolling + forward), 2.0 * slip_speed) * lift
    side, _ = steady_side(p, forward, sideways, max(fastest, slip_speed), slip_speed)
    return (
        direction * push - faded(forward, slip_speed) * resisting,
        side * lateral_limit(p, entry, vertical),
        vertical,
        direction * torque,
    )
