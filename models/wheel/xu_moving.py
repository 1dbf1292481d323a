"""Xu's wheel at any speeds: his stresses when it drives, and a reading for braking, standing and reverse.

Driving straight or at a slip angle is Xu 2021 (24)-(32) as in `models.wheel.xu`. The rest is ours:

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
from models.wheel.packed import COHESION, LATERAL_RATE, RADIUS, SHEAR_MODULUS, TAN_FRICTION, WIDTH
from models.wheel.xu import largest, moments, moved, one_less_cosine_over, one_less_sinc

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
