"""Petersen 2012, 6.2: his cost and search, shown to be under-determined; and what a ladder of experiments tells (7.2).

Run: python docs/reproduce/petersen_identification.py [--seeds N] [--check]    (some minutes with 200 seeds)

Writes docs/reproduce/petersen_identification.md. With --check it writes nothing, and says where the page differs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from written_page import write_or_compare

from hil.analysis.identification.fit import identify
from hil.analysis.identification.forward import (
    USUAL,
    ForwardModel,
    MeasuredMean,
    SharedErrors,
    WheelSize,
    Window,
    soil_of,
    wheel_state,
)
from references.bekker_wong import BekkerWong

FloatArray = NDArray[np.float64]
PAGE = Path(__file__).with_suffix(".md")
# Juno (6.1): mass, and wheels of 22 inches. Width, friction angle and cohesion are not printed: assumptions.
MASS, WHEEL, WHEEL_MASS, GRAVITY = 317.7, WheelSize(0.2794, 0.25), 9.6, 9.81
ASSUMED = {"friction_angle_deg": 30.0, "cohesion_Pa": 0.0}
START = dict(zip(USUAL, (2.5e5, 0.5, 0.15, 0.5), strict=True))
RESULTS = {
    1: dict(zip(USUAL, (2.07e5, 0.583, 0.0674, 0.689), strict=True)),
    2: dict(zip(USUAL, (1.58e5, 0.501, 0.0813, 0.819), strict=True)),
    3: dict(zip(USUAL, (1.47e5, 0.533, 0.0834, 0.794), strict=True)),
}
LOAD = MASS * GRAVITY / 4.0
# The thesis's measured means are in pictures only: a run at this slip and speed of the rims on the soil of run 2.
SLIP, RIM_MPS = 0.5, 0.2
WINDOW_S, STEPS = 10.0, 100


def state(soil: Mapping[str, float], slip: float | FloatArray) -> tuple[FloatArray, ...]:
    """Pull [N], torque [N m], sinkage [m] of one wheel of Juno at slips."""
    slips = np.atleast_1d(np.asarray(slip, dtype=np.float64))
    return wheel_state(WHEEL, soil_of({**ASSUMED, **soil}), np.full(slips.shape, LOAD), slips)


def simulated(soil: Mapping[str, float], torque: float, pull: float) -> tuple[FloatArray, FloatArray]:
    """Forward speed [m/s] and wheel spin [rad/s] over the window, driven by a torque a wheel and held by a pull.

    The slip is that at which the soil gives the torque; what is left of the wheels' force accelerates the rover.
    """
    radius, times = WHEEL.radius_m, np.linspace(0.0, WINDOW_S, STEPS)
    inertia, speed = 0.5 * WHEEL_MASS * radius**2, (1.0 - SLIP) * RIM_MPS
    forward, most, _ = state(soil, 1.0)
    if torque >= most[0]:  # the soil does not hold the wheels: they spin up
        spin = RIM_MPS / radius + times * (torque - most[0]) / inertia
        return np.maximum(speed + times * (4.0 * forward[0] - pull) / MASS, 0.0), spin
    slip = float(brentq(lambda s: state(soil, s)[1][0] - torque, 0.0, 1.0, xtol=1e-10))
    left = 4.0 * float(state(soil, slip)[0][0]) - pull
    moved = MASS + 4.0 * inertia / (radius**2 * (1.0 - slip))
    over_time = np.maximum(speed + times * left / moved, 0.0)
    return over_time, over_time / (radius * (1.0 - slip))


def residuals(soil: Mapping[str, float], ground_truth: Mapping[str, float]) -> FloatArray:
    """Weighted residuals of (6.1), both sides alike, each over the root of the number of steps."""
    radius = WHEEL.radius_m
    pull, torque, _ = state(ground_truth, SLIP)
    speed, spin = (1.0 - SLIP) * RIM_MPS, RIM_MPS / radius
    weight = spin / (speed / radius + spin)
    over_time, spins = simulated(soil, float(torque[0]), 4.0 * float(pull[0]))
    parts = [math.sqrt(weight) * (speed - over_time) / radius, math.sqrt(1.0 - weight) * (spin - spins)]
    return np.concatenate(parts) / math.sqrt(STEPS)


def searched(start: Mapping[str, float], ground_truth: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """Where Nelder and Mead's search ends, unconstrained as published, and the cost there."""

    def cost(a: FloatArray) -> float:
        if not (0.3 <= a[1] <= 1.75 and 0.0 < a[2] <= 1.0 and a[0] > 0.0 and a[3] > 0.0):
            return 1e3  # no soil: our wheel has no forces there
        return float(np.sum(residuals(dict(zip(USUAL, a.tolist(), strict=True)), ground_truth) ** 2))

    first = np.array([start[name] for name in USUAL])
    relative: Any = lambda x: cost(first * x)  # noqa: E731  the stubs of scipy know arrays of one axis only
    found = minimize(relative, np.ones(4), method="Nelder-Mead", options={"maxfev": 400})
    return dict(zip(USUAL, (first * found.x).tolist(), strict=True)), float(found.fun)


def eigenvalues(soil: Mapping[str, float]) -> FloatArray:
    """Of the cost's Hessian over the logs of the parameters, at a soil that fits; largest first."""
    columns = []
    for name in USUAL:
        sides = [residuals({**soil, name: soil[name] * math.exp(step)}, soil) for step in (1e-5, -1e-5)]
        columns.append((sides[0] - sides[1]) / 2e-5)
    jacobian = np.column_stack(columns)
    return np.asarray(np.linalg.eigvalsh(2.0 * jacobian.T @ jacobian)[::-1], dtype=np.float64)


def fan(count: int) -> list[tuple[dict[str, float], float]]:
    """Where the search ends from Petersen's start and from others around it, by seeded factors."""
    random = np.random.default_rng(1)
    ends = [searched(START, RESULTS[2])]
    for _ in range(count - 1):
        factors = np.exp(random.uniform(-1.0, 1.0, 4) * (1.0, 0.4, 1.0, 0.5))
        ends.append(searched({name: START[name] * f for name, f in zip(USUAL, factors, strict=True)}, RESULTS[2]))
    return ends


# ---- the ladder of 7.2 -------------------------------------------------------------------------------------------

# Standard deviations: of a mean in a window, and of what the windows of a bench share. Assumptions.
ROVER = SharedErrors("rover", pull_gain=0.01, pull_zero_N=2.5, torque_gain=0.025, load_gain=0.01)
CARRIAGE = SharedErrors("carriage", pull_gain=0.005, pull_zero_N=1.0, torque_gain=0.01, load_gain=0.005)
PRESS = SharedErrors("press", load_gain=0.005)
SD = {"pull_N": 2.0, "torque_Nm": 1.0, "sinkage_m": 5e-4}
SLIPS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
SHEARED_M = 0.02  # K_x of the other law, an assumption: its curve of pull over slip is about that of run 2
# What makes the data of the single wheel, other than the fit takes it.
MISSTATED: Mapping[str, Mapping[str, Any]] = {
    "half as large": {"times": 0.5},
    "twice as large": {"times": 2.0},
    "as stated, by the integrals of Wong and Reece": {"integrals": True},
}


def rover(slips: Sequence[float], measured: Sequence[str]) -> list[Window]:
    """Juno held back at slips."""
    return [_window("rover", (LOAD,) * 4, slip, measured, ROVER) for slip in slips]


def single_wheel() -> list[Window]:
    """One of its wheels on a carriage, at three loads and four slips."""
    return [
        _window("wheel", (load,), slip, [*SD], CARRIAGE)
        for load in (400.0, 780.0, 1200.0)
        for slip in (0.1, 0.2, 0.4, 0.8)
    ]


def sinkage_test() -> list[Window]:
    """One of its wheels pressed down."""
    return [_window("press", (load,), None, ["sinkage_m"], PRESS) for load in (200.0, 400.0, 800.0, 1600.0)]


def _window(
    name: str, loads: tuple[float, ...], slip: float | None, measured: Sequence[str], bench: SharedErrors
) -> Window:
    slips = None if slip is None else (slip,) * len(loads)
    values = {quantity: MeasuredMean(1.0, SD[quantity]) for quantity in measured}
    pull, torque, sinkage = (values.get(quantity) for quantity in SD)
    spread = () if slip is None else (0.004,) * len(loads)
    return Window(f"{name} {loads[0]:g} N {slip}", WHEEL, loads, slips, spread, pull, torque, sinkage, bench=bench)


LADDER: Mapping[str, Callable[[], list[Window]]] = {
    "rover, one slip: pull and torque (6.2)": lambda: rover((SLIP,), ["pull_N", "torque_Nm"]),
    "rover, six slips: pull": lambda: rover(SLIPS, ["pull_N"]),
    "rover, six slips: pull and torque": lambda: rover(SLIPS, ["pull_N", "torque_Nm"]),
    "sinkage test": sinkage_test,
    "sinkage test, and rover at one slip: pull and torque": lambda: [
        *sinkage_test(), *rover((SLIP,), ["pull_N", "torque_Nm"])
    ],
    "sinkage test, and rover at six slips: pull": lambda: [*sinkage_test(), *rover(SLIPS, ["pull_N"])],
    "single wheel, three loads, four slips: pull, torque, sinkage": single_wheel,
    "sinkage test, single wheel, and rover at six slips: all of them": lambda: [
        *sinkage_test(), *single_wheel(), *rover(SLIPS, ["pull_N", "torque_Nm"])
    ],
}  # fmt: skip


def synthetic(
    windows: Sequence[Window],
    ground_truth: Mapping[str, float],
    seed: int | None,
    times: float = 1.0,
    integrals: bool = False,
) -> list[Window]:
    """The windows with values of a known soil, and errors so many times their covariance; None: without errors."""
    forward, soil = ForwardModel(windows), soil_of({**ASSUMED, **ground_truth})
    values = np.array([by_integrals(forward, *one) for one in forward.names]) if integrals else forward.predict(soil)
    if seed is not None:
        factor = times * np.linalg.cholesky(forward.covariance(soil))
        values = values + factor @ np.random.default_rng(seed).standard_normal(len(values))
    found: list[dict[str, MeasuredMean]] = [{} for _ in windows]
    for (place, name), value, sd in zip(forward.names, values.tolist(), forward.sd.tolist(), strict=True):
        found[place][name] = MeasuredMean(value, sd)
    return [window.measuring(one) for window, one in zip(windows, found, strict=True)]


def by_integrals(forward: ForwardModel, place: int, name: str) -> float:
    """A mean of a single wheel by the integrals of Wong and Reece, with the k and n of run 2."""
    window, soil = forward.windows[place], RESULTS[2]
    assert window.slip is not None
    wheel = BekkerWong(
        WHEEL.radius_m, WHEEL.width_m, soil["stiffness"], soil["exponent"], ASSUMED["cohesion_Pa"],
        math.radians(ASSUMED["friction_angle_deg"]), SHEARED_M,
    )  # fmt: skip
    return dict(zip(SD, wheel.under(window.load_N[0], window.slip[0]), strict=True))[name]


def coverage(
    windows: Sequence[Window], ground_truth: Mapping[str, float], seeds: Sequence[int], **made: Any
) -> tuple[dict[str, float], float]:
    """Share of the seeds in which the 95 % interval of a parameter holds the true value; the search starts at 6.2's.

    Also the median factor by which the fit has widened its intervals. `made`: as `synthetic` takes it.
    """
    inside, widened = dict.fromkeys(USUAL, 0), []
    for seed in seeds:
        found = identify(synthetic(windows, ground_truth, seed, **made), {**ASSUMED, **START}, starts=())
        widened.append(found.widened)
        for one in found.parameters:
            inside[one.name] += one.low <= ground_truth[one.name] <= one.high
    return {name: count / len(seeds) for name, count in inside.items()}, float(np.median(widened))


def rung(name: str) -> tuple[int, int, dict[str, float], bool]:
    """Of a set of experiments at the true soil: values, determined directions, factor of each 95 % interval, all."""
    windows = synthetic(LADDER[name](), RESULTS[2], None)
    found = identify(windows, {**ASSUMED, **RESULTS[2]}, starts=())
    sd = np.sqrt(np.diag(found.covariance))
    factors = {one: float(np.exp(min(1.96 * s, 700.0))) for one, s in zip(USUAL, sd, strict=True)}
    return len(found.residuals), sum(one.determined for one in found.directions), factors, found.determined


# ---- the page ----------------------------------------------------------------------------------------------------


def page(seeds: int, starts: int) -> str:
    """Text of the page."""
    own, fewer = [_ladder_head(seeds), *_ladder(seeds)], seeds // 4
    others = [_MISSTATED_HEAD.format(seeds=fewer), *_misstated(fewer)]
    return "\n".join([_HEAD, *_quoted(starts), *own, *others, _TAIL])


def _quoted(starts: int) -> list[str]:
    slips = np.array([0.2, 0.4, 0.6, 0.8])
    pulls = np.array([state(soil, slips)[0] for soil in RESULTS.values()])
    depths = [1e3 * float(state(soil, 0.2)[2][0]) for soil in RESULTS.values()]
    apart = [f"{low:.0f} to {high:.0f} N" for low, high in zip(pulls.min(axis=0), pulls.max(axis=0), strict=True)]
    largest = float((pulls.max(axis=0) - pulls.min(axis=0)).max()) / LOAD
    own, cost = searched(START, RESULTS[2])
    ends = fan(starts)
    good = [end for end, value in ends if value < 1e-4]
    spans = {name: (min(end[name] for end in good), max(end[name] for end in good)) for name in USUAL}
    values = eigenvalues(RESULTS[2])
    rows = [
        (
            "Fig. 6.11", "traction over slip of the three sets: close together",
            f"pull of one wheel at slips of {', '.join(f'{slip:g}' for slip in slips)}: {', '.join(apart)}; "
            f"at most {100 * largest:.1f} % of the load apart; sinkage {min(depths):.0f} to {max(depths):.0f} mm",
            "none in prose", "the curve is in a picture; width, friction angle and cohesion are assumptions",
        ),
        (
            "Table 6.2", "from 2.5e5, 0.5, 0.15, 0.5 the search ends at 1.58e5, 0.501, 0.0813, 0.819",
            f"a run made with just these: ends at {_set(own)}, cost {cost:.1e} (0 is possible)",
            f"stiffness {own['stiffness'] / 1.58e5 - 1:+.0%}, rebound {own['rebound'] / 0.0813 - 1:+.0%}",
            "the search creeps along a valley that is narrow and has no end: the largest eigenvalue is "
            f"{values[0] / values[1]:.0e} times the second, and along two directions the cost does not change".replace(
                "e+0", "e"
            ),
        ),
        (
            "6.2, cost", "four parameters from one run: speed and spin of both sides",
            "eigenvalues of the Hessian over the logs: " + ", ".join(f"{value:.1e}" for value in values),
            "two of four are zero to rounding",
            "torque over R is the tangential force, which tells K from the slip; that less the pull is the "
            "resistance: one relation of k, eta and gamma. Two numbers, four unknowns",
        ),
        (
            "6.2, starts", "one start, three runs, three sets",
            f"one run, {starts} starts: {len(good)} end with a cost below 1e-4; there k is "
            f"{_span(spans['stiffness'])}, eta {_span(spans['exponent'])}, gamma {_span(spans['rebound'])}, "
            f"K {_span(spans['slip_modulus'])}",
            "the answer follows the start",
            "differences of the three published sets in k, eta and gamma need not be differences of the soil",
        ),
        (
            "6.2.1, run 1", "spin slightly high: traction is insensitive to slip there",
            f"torque over slip is {_slope(0.2):.0f} N m at a slip of 0.2 and {_slope(0.8):.0f} at 0.8",
            "none", "K is determined worse the flatter the curve is: low slips tell it",
        ),
    ]  # fmt: skip
    return [f"| {' | '.join(row)} |" for row in rows]


def _ladder(seeds: int) -> list[str]:
    rows = []
    for name in LADDER:
        values, determined, factors, whole = rung(name)
        windows = [replace(window) for window in LADDER[name]()]
        inside = coverage(windows, RESULTS[2], range(seeds))[0] if whole else {}
        texts = [_factor(factor) for factor in factors.values()]
        covered = ", ".join(f"{100 * share:.1f}" for share in inside.values()) if whole else "-"
        rows.append(f"| {name} | {values} | {determined} of 4 | {' | '.join(texts)} | {covered} |")
    return rows


def _misstated(seeds: int) -> list[str]:
    """Shares where the data are not what the fit takes them for; of another law only k and n have a true value."""
    rows = []
    for name, made in MISSTATED.items():
        inside, widened = coverage(single_wheel(), RESULTS[2], range(seeds), **made)
        known = [one if "integrals" not in made or one in ("stiffness", "exponent") else None for one in USUAL]
        shares = [f"{100 * inside[one]:.1f}" if one else "-" for one in known]
        rows.append(f"| {name} | {widened:.2f} | {', '.join(shares)} |")
    return rows


def _ladder_head(seeds: int) -> str:
    return _LADDER_HEAD.format(seeds=seeds)


def _slope(slip: float) -> float:
    torque = state(RESULTS[1], np.array([slip - 0.01, slip + 0.01]))[1]
    return float(torque[1] - torque[0]) / 0.02


def _set(soil: Mapping[str, float]) -> str:
    return ", ".join(_short(soil[name]) for name in USUAL)


def _span(ends: tuple[float, float]) -> str:
    return f"{_short(ends[0])} to {_short(ends[1])}"


def _short(value: float) -> str:
    return f"{value:.3g}".replace("e+0", "e")


def _factor(factor: float) -> str:
    return f"{factor:.2f}" if factor < 10.0 else "not determined"


_HEAD = """# Petersen 2012, 6.2: soil identification, reproduced and corrected

Written by `python docs/reproduce/petersen_identification.py`. The thesis's measured means are in pictures only, so its
own data cannot be fitted again: the runs here are made with a known soil, that of its second run. Of Juno it prints no
tyre width, friction angle or cohesion: 0.25 m, 30 degrees and 0 Pa are assumptions. The cost is (6.1)-(6.4), divided by
the number of steps, which the thesis does not do though that number changes; the search is Nelder and Mead's. The
simulation is that of a rover of four equal wheels whose slip follows the torque at once.

| where | quoted | ours | difference | why |
|---|---|---|---|---|"""
_LADDER_HEAD = """
## What a set of experiments determines

[`hil identify`](../how-to/identify-a-soil.md) fits the same four parameters in logs, weighted by the uncertainty of
each value. By set of experiments (7.2 has three): measured values; combinations of the parameters that they
determine within a factor of two; the factor of each parameter's 95 % interval, either way; and the share of {seeds}
seeds of errors in which the interval holds the true value (stiffness, exponent, rebound, slip modulus; 95 is right).
The errors are drawn from the fit's own covariance. The uncertainties, in the script, are
assumptions.

| experiments | values | determined | stiffness | exponent | rebound | slip modulus | holds the truth [%] |
|---|---|---|---|---|---|---|---|"""
_MISSTATED_HEAD = """
The single wheel again, {seeds} seeds of data that are not as the fit takes them:

| errors | intervals widened by, median | holds the truth [%] |
|---|---|---|"""
_TAIL = """
- **A sinkage test separates stiffness and exponent**, as no number of drives with one load does.
- **More slips narrow the slip modulus**, and none of the other three: the resistance changes little with slip.
- **A single wheel at several loads determines all four**, if its sinkage is measured.
- The whole rover adds little to the wheel. It shows whether wheel and rover agree, its purpose in 7.2.
- **Errors stated too small widen the intervals, and these hold.** Another law widens them too; its stiffness is
  outside even so.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    text = page(options.seeds, options.starts)
    return write_or_compare(PAGE, text, check=options.check)


if __name__ == "__main__":
    raise SystemExit(main())
