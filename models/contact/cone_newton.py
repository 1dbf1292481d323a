"""Newton's method on the natural map of the contacts, smoothed: for the problems that sweeps do not solve.

The map is r - P(r - (u + mu |u_T| e_N)/w), with P the projection onto the cone. Its parts along the two ends of a
spectral decomposition, a, become (a + sqrt(a^2 + 4 eps^2))/2, and |u_T| becomes sqrt(u_T^2 + (w eps)^2) - w eps. At a
large eps the map is nearly linear; eps is brought to zero (Chen, Harker, Kanzow, Smale).
"""

from __future__ import annotations

import math

from models.contact.cones import AXES, Cones, fill_motion, local_velocity
from models.kernels.compiled import kernel, separate_kernel

STEPS = 80
HALVINGS = 16
SHRINK = 0.2  # of eps, where the step before was long; 0.5 where it was short
REGULAR = 1e-13  # of the mean weight
DAMPED = 1e-14  # of the largest element: makes the normal matrix regular where impulses are not unique


@separate_kernel
def newton(cones: Cones, count: int, start: float, held: bool, tolerance: float) -> float:
    """Steps from the impulses that there are, with eps from `start` [N s] to zero.

    Args:
        cones: prepared.
        count: contacts.
        start: eps at the beginning; 0: the map itself.
        held: whether cones.shift stands for mu |u_T|. The problem is convex then.
        tolerance: of the map [m/s].

    Returns:
        Length of the map itself [m/s] at the end.
    """
    eps, error = start, _linearise(cones, count, start, held)
    for _ in range(STEPS):
        if _map(cones, count, 0.0, held) <= tolerance * tolerance:
            break
        solve_step(cones, count)
        share = _search(cones, count, eps, held, error)
        if share < 1e-2:
            _map(cones, count, eps, held)
            _solve_damped(cones, count)
            share = max(share, _search(cones, count, eps, held, error))
        smaller = eps
        if share == 0.0:
            if eps == 0.0:
                break
            smaller = 0.5 * eps
        elif _map(cones, count, eps, held) <= (0.5 * eps * _mean_weight(cones, count)) ** 2:
            smaller = eps * (SHRINK if share > 0.3 else 0.5)
        eps = smaller if smaller * _mean_weight(cones, count) > 1e-3 * tolerance else 0.0
        error = _linearise(cones, count, eps, held)
    return math.sqrt(_map(cones, count, 0.0, held))


@kernel
def _mean_weight(cones: Cones, count: int) -> float:
    total = 0.0
    for c in range(count):
        total += cones.weight[c]
    return total / count


@kernel
def first_smoothing(cones: Cones, count: int) -> float:
    """The eps [N s] to begin with: of the order of the impulses."""
    largest = 0.0
    for i in range(AXES * count):
        largest = max(largest, abs(cones.target[i]))
    return largest / _mean_weight(cones, count)


@kernel
def begin_open(cones: Cones, count: int, normal: float) -> None:
    """Begin from impulses along the normals alone."""
    for c in range(count):
        i = AXES * c
        cones.impulse[i], cones.impulse[i + 1], cones.impulse[i + 2] = normal, 0.0, 0.0
    fill_motion(cones, count)


@kernel
def _search(cones: Cones, count: int, eps: float, held: bool, error: float) -> float:
    """Take as much of the step as lowers the map's square; returns the share taken, 0 where none does."""
    for i in range(AXES * count):
        cones.before[i] = cones.impulse[i]
    share = 1.0
    for _ in range(HALVINGS):
        for i in range(AXES * count):
            cones.impulse[i] = cones.before[i] + share * cones.step[i]
        fill_motion(cones, count)
        if _map(cones, count, eps, held) <= (1.0 - 1e-4 * share) * error:
            return share
        share *= 0.5
    for i in range(AXES * count):
        cones.impulse[i] = cones.before[i]
    fill_motion(cones, count)
    return 0.0


@separate_kernel
def solve_step(cones: Cones, count: int) -> None:
    """Newton's step by elimination, of a slope that a small diagonal makes regular where impulses are not unique."""
    n, A, d = AXES * count, cones.normal, cones.step
    small = REGULAR * _mean_weight(cones, count)
    for i in range(n):
        for j in range(n):
            A[i, j] = cones.slope[i, j]
        A[i, i] += small
        d[i] = -cones.error[i]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k:
            for j in range(k, n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            d[k], d[best] = d[best], d[k]
        pivot = A[k, k] if abs(A[k, k]) > small else small
        A[k, k] = pivot
        for i in range(k + 1, n):
            share = A[i, k] / pivot
            if share != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= share * A[k, j]
                d[i] -= share * d[k]
    for i in range(n - 1, -1, -1):
        total = d[i]
        for j in range(i + 1, n):
            total -= A[i, j] * d[j]
        d[i] = total / A[i, i]


@kernel
def _solve_damped(cones: Cones, count: int) -> None:
    """The step by the normal equations, Levenberg's and Marquardt's form, for where Newton's own leads nowhere."""
    n, A, N, d, f = AXES * count, cones.slope, cones.normal, cones.step, cones.error
    for i in range(n):
        for j in range(i + 1):
            N[i, j] = 0.0
        d[i] = 0.0
    for k in range(n):
        for i in range(n):
            x = A[k, i]
            if x != 0.0:
                d[i] -= x * f[k]
                for j in range(i + 1):
                    N[i, j] += x * A[k, j]
    trace = 0.0
    for i in range(n):
        trace += N[i, i]
    for i in range(n):
        N[i, i] += DAMPED * trace
        for j in range(i):
            total = N[i, j]
            for k in range(j):
                total -= N[i, k] * N[j, k]
            N[i, j] = total / N[j, j]
        total = N[i, i]
        for k in range(i):
            total -= N[i, k] * N[i, k]
        N[i, i] = math.sqrt(max(total, 0.1 * DAMPED * trace))
        total = d[i]
        for k in range(i):
            total -= N[i, k] * d[k]
        d[i] = total / N[i, i]
    for i in range(n - 1, -1, -1):
        total = d[i]
        for k in range(i + 1, n):
            total -= N[k, i] * d[k]
        d[i] = total / N[i, i]


@kernel
def _map(cones: Cones, count: int, eps: float, held: bool) -> float:
    """Sum of squares of the natural map [m^2/s^2]; leaves it in cones.error."""
    total, f = 0.0, cones.error
    for c in range(count):
        i, w, mu = AXES * c, cones.weight[c], cones.friction[c]
        x, y, z, _ = _lifted(cones, c, eps, held)
        p, s, t = cones.impulse[i], cones.impulse[i + 1], cones.impulse[i + 2]
        P, S, T = p - x / w, s - y / w, t - z / w
        length = math.sqrt(S * S + T * T)
        near, far = _ends(P, length, mu, eps)
        one = 1.0 / (1.0 + mu * mu)
        share = one * (mu * far - near) / length if length > 0.0 else 0.0
        f[i], f[i + 1], f[i + 2] = w * (p - one * (mu * near + far)), w * (s - share * S), w * (t - share * T)
        total += f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2]
    return total


@kernel
def _ends(P: float, length: float, mu: float, eps: float) -> tuple[float, float]:
    """The smoothed parts of a vector along the two ends of its decomposition."""
    a, b, small = mu * P - length, P + mu * length, mu * eps
    return 0.5 * (a + math.sqrt(a * a + 4.0 * small * small)), 0.5 * (b + math.sqrt(b * b + 4.0 * eps * eps))


@kernel
def _lifted(cones: Cones, c: int, eps: float, held: bool) -> tuple[float, float, float, float]:
    """Velocity u + mu |u_T| e_N of a contact, and the smoothed |u_T|."""
    x, y, z = local_velocity(cones, c)
    if held:
        return x + cones.shift[c], y, z, 0.0
    low = cones.weight[c] * eps
    slide = math.sqrt(y * y + z * z + low * low)
    return x + cones.friction[c] * (slide - low), y, z, slide


@kernel
def _linearise(cones: Cones, count: int, eps: float, held: bool) -> float:
    """`_map`, and its slope by the impulses in cones.slope."""
    n, A, half = AXES * count, cones.slope, cones.half
    for c in range(count):
        i, w, mu = AXES * c, cones.weight[c], cones.friction[c]
        x, y, z, slide = _lifted(cones, c, eps, held)
        by_y, by_z = (mu * y / slide, mu * z / slide) if slide > 0.0 else (0.0, 0.0)
        P, S, T = cones.impulse[i] - x / w, cones.impulse[i + 1] - y / w, cones.impulse[i + 2] - z / w
        pp, ps, pt, ss, st, tt = _slope_of_projection(P, S, T, mu, eps)
        for j in range(n):
            wp = ws = wt = 0.0
            for a in range(cones.motion.size):
                m = half[j, a]
                wp += half[i, a] * m
                ws += half[i + 1, a] * m
                wt += half[i + 2, a] * m
            wp += cones.give[0] * (j == i)
            ws += cones.give[0] * (j == i + 1)
            wt += cones.give[0] * (j == i + 2)
            wp += by_y * ws + by_z * wt
            A[i, j] = pp * wp + ps * ws + pt * wt
            A[i + 1, j] = ps * wp + ss * ws + st * wt
            A[i + 2, j] = pt * wp + st * ws + tt * wt
        A[i, i] += w * (1.0 - pp)
        A[i, i + 1] -= w * ps
        A[i, i + 2] -= w * pt
        A[i + 1, i] -= w * ps
        A[i + 1, i + 1] += w * (1.0 - ss)
        A[i + 1, i + 2] -= w * st
        A[i + 2, i] -= w * pt
        A[i + 2, i + 1] -= w * st
        A[i + 2, i + 2] += w * (1.0 - tt)
    return _map(cones, count, eps, held)


@kernel
def _slope_of_projection(
    P: float, S: float, T: float, mu: float, eps: float
) -> tuple[float, float, float, float, float, float]:
    """Elements PP, PS, PT, SS, ST, TT of the slope of the smoothed projection, which is symmetric."""
    length = math.sqrt(S * S + T * T)
    a, b, small, one = mu * P - length, P + mu * length, mu * eps, 1.0 / (1.0 + mu * mu)
    near, far = _ends(P, length, mu, eps)
    near_root, far_root = math.sqrt(a * a + 4.0 * small * small), math.sqrt(b * b + 4.0 * eps * eps)
    g1 = 0.5 * (1.0 + a / near_root) if near_root > 0.0 else 1.0
    g2 = 0.5 * (1.0 + b / far_root) if far_root > 0.0 else 1.0
    along = one * (mu * mu * g2 + g1)
    if length <= 0.0:
        return one * (mu * mu * g1 + g2), 0.0, 0.0, along, 0.0, along
    across, cross = one * (mu * far - near) / length, one * mu * (g2 - g1)
    y, z = S / length, T / length
    return (
        one * (mu * mu * g1 + g2), cross * y, cross * z,
        along * y * y + across * z * z, (along - across) * y * z, along * z * z + across * y * y,
    )  # fmt: skip
