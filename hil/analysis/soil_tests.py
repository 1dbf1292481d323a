"""Wheel models held against measurements of single wheels on soil: corpus, predictions, fits, errors, figure.

The corpus is in `rig_configs/soil_tests`: a table for each wheel, as `hil identify --tests` takes it, and what is
printed of its soil. Errors are those of the pull over the load, of the torque over load times radius, and of the
sinkage over the measured one. Plates that were pressed into soil are in its folder `plates`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hil.analysis.identification.fit import identify
from hil.analysis.identification.forward import ForwardModel, Window, soil_of, wheel_state
from hil.analysis.identification.sources import windows_of_table
from hil.config.text_io import read_yaml
from hil.experiments.drawing import COLOURS, dress_panel, new_panels, share_legend
from hil.experiments.figure_form import FigureForm
from models.gravity import GRAVITY_MPS2
from models.wheel.soil import (
    SHEAR_LAWS,
    BernsteinGoriatchkin,
    MeirionGriffithSpenko,
    PassivePressure,
    SinkageLaw,
    passive_pressure,
)

# The slips of rovers.
_LEAST, _MOST = 0.05, 0.4
QUANTITIES = ("pull_N", "torque_Nm", "sinkage_m")
_DUG = "slip_sinkage"
# What a fit searches: as `hil identify` does, and the friction of rim or soil.
_FIND = ("stiffness", "exponent", "rebound", "slip_modulus", "friction_angle_deg")
_DUG_TOO = (*_FIND, _DUG)


class _Terms(NamedTuple):
    """What is added to the closed forms in the rows of each kind."""

    words: str
    find: tuple[str, ...]  # by a fit
    pushed: bool = False  # whether soil is pushed ahead
    rim_friction: float = 1.0  # of smooth wheels, as `models.wheel.RigidWheel` takes it
    shear: str = SHEAR_LAWS[0]


_TERMS = (
    _Terms("", _FIND),
    _Terms(", slip sinkage", _DUG_TOO),
    _Terms(", slip sinkage and bulldozing", _DUG_TOO, pushed=True),
    # 2/3: usual for soil on smooth metal, of that within the soil.
    _Terms(", slip sinkage, rim friction, exponential", _DUG_TOO, rim_friction=2.0 / 3.0, shear="exponential"),
)
# At this slip the traction of a printed soil is that of its law along the contact: the middle of those of rovers.
_MATCHED_SLIP = 0.2
# Printed of no soil of the corpus: the default of section soil.
_REBOUND = 0.07
_PLACES = 2001  # in the contact
# A fit has no braking wheels: their forces follow from what driving ones give.
_DRIVING = -0.05


class NoSuchTestsError(ValueError):
    """A name that is not in the corpus; the message has those that are."""


@dataclass(frozen=True)
class SoilTests:
    """Measurements of one wheel on one soil."""

    name: str  # of its table
    title: str  # short, for people
    windows: tuple[Window, ...]  # measured steady states
    soil: Mapping[str, float]  # printed parameters by name, without slip sinkage; what is printed of none is assumed
    shear_displacement_m: float  # K_x of Janosi and Hanamoto
    basis: str  # where these come from
    slip_sinkage: float  # that a fit to these tests has found
    passive: PassivePressure  # of the printed soil, which a wheel pushes ahead
    smooth: str  # name of the tests of the same wheel without grousers; "": there are none

    @property
    def source(self) -> str:
        """Of another wheel of the same source it is the same."""
        return self.smooth or self.name


@dataclass(frozen=True)
class Predicted:
    """What a model gives for tests."""

    variant: str  # in words
    fitted_on: str  # names of tests, or what of them, that its parameters come from; "": nothing is fitted
    soil: Mapping[str, float]  # parameters
    values: tuple[float, ...]  # (n,) predictions, in the order of `measured_of(windows)`
    windows: tuple[Window, ...]  # that are predicted

    def errors(self, *, others: bool = False) -> dict[str, float]:
        """Mean absolute error, relative, of each quantity that was measured, at slips of 0.05 to 0.4, or all others."""
        found: dict[str, list[float]] = {}
        for (window, name, value), predicted in zip(measured_of(self.windows), self.values, strict=True):
            if (_LEAST <= slip_of(window) <= _MOST) is others:
                continue
            scale = {"pull_N": window.load_N[0], "torque_Nm": window.load_N[0] * window.wheel.radius_m}
            found.setdefault(name, []).append(abs(predicted - value) / scale.get(name, value))
        return {name: float(np.mean(errors)) for name, errors in found.items()}


def read_corpus() -> dict[str, SoilTests]:
    """All tests by name."""
    folder = resources.files("rig_configs") / "soil_tests"
    entries, _ = read_yaml((folder / "corpus.yaml").read_text(encoding="utf-8"), "soil_tests")
    found = {}
    for name, entry in entries.items():
        windows = windows_of_table(Path(str(folder / f"{name}.csv")))
        soil = {**entry["soil"], "rebound": _REBOUND, "slip_modulus": 1.0, _DUG: 0.0}  # its slip modulus: `_printed`
        weight = entry["density_kgpm3"] * GRAVITY_MPS2
        passive = passive_pressure(soil["cohesion_Pa"], math.radians(soil["friction_angle_deg"]), weight)
        smooth = entry.get("smooth", "")
        displacement_m = entry["shear_displacement_m"]
        found[name] = SoilTests(
            name, entry["title"], windows, soil, displacement_m, entry["basis"], entry["slip_sinkage"], passive, smooth
        )
    return found


def validate(
    names: Sequence[str] = (), done: Callable[[int, int], object] = lambda *_: None
) -> dict[str, list[Predicted]]:
    """Every prediction of tests; a wheel takes some seconds of processor time, and `done` is told how many are made.

    Raises NoSuchTestsError: a name is not in the corpus.
    """
    corpus = read_corpus()
    if wrong := [name for name in names if name not in corpus]:
        raise NoSuchTestsError(f"no tests {', '.join(wrong)}; allowed: {', '.join(corpus)}")
    found: dict[str, list[Predicted]] = {}
    for name in names or corpus:
        found[name] = list(predictions(corpus[name], corpus))
        done(len(found), len(names or corpus))
    return found


def predictions(tests: SoilTests, corpus: Mapping[str, SoilTests]) -> Iterator[Predicted]:
    """Of one wheel: nothing fitted, fitted, half of the slips from the other half, this wheel from the smooth one.

    Each comes without and with the terms of `_TERMS`; the last also with what grousers shear at their sides. They come
    one by one, those that need no fit first.
    """
    others = [one.slip_sinkage for one in corpus.values() if one.source != tests.source]
    dug = math.exp(float(np.mean(np.log(others))))
    own = [(terms, _with_terms(tests, terms)) for terms in _TERMS]
    for terms, wheel in own:
        soil, basis = _printed(wheel), ""
        if _DUG in terms.find:
            soil, basis = {**soil, _DUG: dug}, f"{_DUG}: other sources"
        yield _predicted(wheel, f"printed soil{terms.words}", basis, soil)
    if tests.smooth:
        for terms, wheel in own:
            soil = _fit(_with_terms(corpus[tests.smooth], terms), terms.find)
            yield _predicted(wheel, f"from the smooth wheel{terms.words}", tests.smooth, soil)
            if terms.words == ", slip sinkage":
                variant = f"from the smooth wheel{terms.words} and thrust"
                yield _predicted(tests, variant, tests.smooth, soil, thrust=True)
    for terms, wheel in own:
        yield _predicted(wheel, f"fitted{terms.words}", tests.name, _fit(wheel, terms.find))
    for terms, wheel in own:
        used, rest = _halves(wheel)
        yield _predicted(rest, f"half fitted{terms.words}", "every other slip", _fit(used, terms.find))


def read_plates() -> NDArray[np.float64]:
    """Circular plates pressed into the sand of cmu_smooth and cmu_grousers, means of repeated tests at a depth.

    Returns (n, 3): diameter [m], sinkage [m], pressure [Pa].
    """
    table = (resources.files("rig_configs") / "soil_tests" / "plates" / "cmu_sand.csv").read_text(encoding="utf-8")
    rows = [line.split(",")[1:4] for line in table.splitlines() if not line.startswith("#")]
    return np.array(rows[1:], dtype=float)


def validate_plates() -> dict[str, dict[float, float]]:
    """Mean absolute error of the pressure under plates, of the measured one, by law and diameter [m].

    The wheel model's own p = k z^n with the soil that is printed for the wheels, and laws fitted to all plates in logs.
    """
    points, soil = read_plates(), read_corpus()["cmu_smooth"].soil
    diameter, depth, pressure = np.log(points).T
    ones = np.ones_like(depth)
    log_k, exponent = np.linalg.lstsq(np.column_stack([ones, depth]), pressure)[0].tolist()
    log_m, shared, power = np.linalg.lstsq(np.column_stack([ones, depth, diameter]), pressure)[0].tolist()
    laws: dict[str, SinkageLaw] = {
        "k z^n, printed soil": BernsteinGoriatchkin(soil["exponent"], soil["stiffness"]),
        f"k z^n, fitted: n {exponent:.2f}": BernsteinGoriatchkin(exponent, math.exp(log_k)),
        f"k D^m z^n, fitted: n {shared:.2f}, m {power:.2f}": MeirionGriffithSpenko(shared, math.exp(log_m), power),
    }
    found: dict[str, dict[float, float]] = {}
    for name, law in laws.items():
        for size in np.unique(points[:, 0]).tolist():
            own = points[points[:, 0] == size]
            errors = [law.pressure(depth_m, 0.5 * size, size) / measured_Pa - 1.0 for _, depth_m, measured_Pa in own]
            found.setdefault(name, {})[size] = float(np.mean(np.abs(errors)))
    return found


def as_json_of(found: Mapping[str, Sequence[Predicted]]) -> dict[str, Any]:
    """What `hil validate soil --json` prints (docs/reference/command-line.md)."""
    corpus, variants = read_corpus(), dict.fromkeys(one.variant for each in found.values() for one in each)
    errors = {variant: _mean_errors(found, variant) for variant in variants}
    printed = errors["printed soil"]
    return {
        "sources": [
            {"name": name, "title": corpus[name].title, "models": {one.variant: _as_json(one) for one in each}}
            for name, each in found.items()
        ],
        "error_pull": printed.get("pull_N"),
        "error_sinkage": printed.get("sinkage_m"),
        "error_torque": printed.get("torque_Nm"),
        "errors": errors,
    }


def _mean_errors(found: Mapping[str, Sequence[Predicted]], variant: str) -> dict[str, float]:
    """Of a model, means over the wheels that have it, by quantity."""
    own = [one.errors() for each in found.values() for one in each if one.variant == variant]
    return {
        name: float(np.mean(given))
        for name in QUANTITIES
        if (given := [errors[name] for errors in own if name in errors])
    }


def _as_json(one: Predicted) -> dict[str, Any]:
    return {
        "fitted_on": one.fitted_on,
        "soil": dict(one.soil),
        "errors": one.errors(),
        "errors_at_other_slips": one.errors(others=True),
        "points": [
            {"slip": slip_of(window), "quantity": quantity, "measured": value, "predicted": predicted}
            for (window, quantity, value), predicted in zip(measured_of(one.windows), one.values, strict=True)
        ],
    }


def draw(found: Mapping[str, Sequence[Predicted]], form: FigureForm) -> Figure:
    """Pull over load, and sinkage, over slip: measured, and of the models; a row for each of the tests."""
    figure, panels = new_panels(form, 2 * len(found), 2.6)
    quantities = (("pull_N", "pull over load", "[-]"), ("sinkage_m", "sinkage", "[mm]"))
    shown = [(name, each, *quantity) for name, each in found.items() for quantity in quantities]
    for axes, (name, each, quantity, words, unit) in zip(panels, shown, strict=True):
        _panel(axes, each, quantity, form)
        dress_panel(axes, form, f"{name}: {words}", unit, "slip [-]")
    share_legend(figure, form, *panels)
    return figure


def _panel(axes: Axes, each: Sequence[Predicted], quantity: str, form: FigureForm) -> None:
    shown = [one for one in each if not one.variant.startswith(("half", "from"))]  # what all tests have
    lines = dict(zip((one.variant for one in shown), [(c, s) for s in ("-", "--", ":") for c in COLOURS], strict=False))
    for one in shown:
        points = sorted(
            (slip_of(window), value, predicted, window.load_N[0])
            for (window, name, value), predicted in zip(measured_of(one.windows), one.values, strict=True)
            if name == quantity
        )
        slips, values, predicted, loads = np.array(points).T
        unit = 1.0 / loads if quantity == "pull_N" else 1e3
        colour, style = lines[one.variant]
        axes.plot(slips, predicted * unit, color=colour, ls=style, lw=form.line(1.2), label=one.variant)
        if one is shown[0]:
            axes.plot(slips, values * unit, "o", ms=form.line(3.5), color="black", zorder=5, label="measured")


def slip_of(window: Window) -> float:
    """The slip of the one wheel of a window."""
    return window.slip[0] if window.slip else 0.0


def _printed(tests: SoilTests) -> dict[str, float]:
    """The printed soil, with the slip modulus of its shear displacement under this wheel.

    At a slip of 0.2 and the mean load the traction is that of Janosi and Hanamoto's law at each place of the contact,
    Petersen 2012 (4.2), in the mean over the pressure of (4.26). Soil slides on a rim of less friction sooner.
    """
    load_N = float(np.mean([window.load_N[0] for window in tests.windows]))
    wheel = tests.windows[0].wheel
    _, _, depth_m = wheel_state(wheel, soil_of(tests.soil), np.array([load_N]), np.zeros(1))
    radius_m = wheel.radius_m + wheel.grouser_height_m
    deepest = float(depth_m[0]) / radius_m
    entry, leave = math.acos(1.0 - deepest), math.acos(1.0 - _REBOUND * deepest)
    angle = np.linspace(-leave, entry, _PLACES)
    depth = np.maximum(np.cos(angle) - np.where(angle < 0.0, math.cos(leave), math.cos(entry)), 0.0) / deepest
    pressure = np.where(angle < 0.0, depth / _REBOUND, depth ** tests.soil["exponent"])
    ran_m = radius_m * (entry - angle - (1.0 - _MATCHED_SLIP) * (math.sin(entry) - np.sin(angle)))
    sheared = -np.expm1(-ran_m / (wheel.rim_friction * tests.shear_displacement_m))
    mobilised = float(pressure @ sheared / pressure.sum())
    exponential = wheel.shear == "exponential"
    modulus = _MATCHED_SLIP / (-math.log1p(-mobilised) if exponential else math.atanh(mobilised))
    return {**tests.soil, "slip_modulus": modulus}


def _fit(tests: SoilTests, find: Sequence[str]) -> dict[str, float]:
    driving = [window for window in tests.windows if slip_of(window) >= _DRIVING]
    return identify(driving, {**_printed(tests), "cohesion_Pa": 0.0}, find).values


def _with_terms(tests: SoilTests, terms: _Terms) -> SoilTests:
    """The same wheel with terms."""
    windows = list[Window]()
    for one in tests.windows:
        rim = 1.0 if one.wheel.grouser_height_m else terms.rim_friction
        wheel = replace(
            one.wheel,
            bulldozing=tests.passive if terms.pushed else None,
            rim_friction=rim,
            shear=terms.shear,
        )
        windows.append(replace(one, wheel=wheel))
    return replace(tests, windows=tuple(windows))


def _halves(tests: SoilTests) -> tuple[SoilTests, SoilTests]:
    """The tests of every other slip, the smallest and largest among them, and the rest; slips to a hundredth."""
    slips = sorted({round(slip_of(window), 1) for window in tests.windows if slip_of(window) >= _DRIVING})
    used = {*slips[::2]}
    parts = [tuple(w for w in tests.windows if (round(slip_of(w), 1) in used) is which) for which in (True, False)]
    rest = tuple(window for window in parts[1] if slip_of(window) >= _DRIVING)
    return replace(tests, windows=parts[0]), replace(tests, windows=rest)


def _predicted(
    tests: SoilTests, variant: str, fitted_on: str, soil: Mapping[str, float], *, thrust: bool = False
) -> Predicted:
    windows = [replace(one, wheel=replace(one.wheel, grouser_thrust=thrust)) for one in tests.windows]
    values = ForwardModel(windows).predict(soil_of(soil))
    return Predicted(variant, fitted_on, soil, tuple(values.tolist()), tests.windows)


def measured_of(windows: Sequence[Window]) -> list[tuple[Window, str, float]]:
    """Each measured value, with its window and its name, in the order of predictions."""
    return [(window, name, one.value) for window in windows for name, one in window.measured.items()]
