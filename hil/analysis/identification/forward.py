"""Steady windows with their uncertainties, and what a soil would have given in them (`models.wheel`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.wheel import RigidWheel, Soil
from models.wheel.soil import SHEAR_LAWS, PassivePressure

# Petersen's four (2012, 6.2), which are identified unless something else is asked for.
USUAL = ("stiffness", "exponent", "rebound", "slip_modulus")
# All are searched in logs: what is above 0 stays above 0, and rebound stays in (0, 1].
RANGES: Mapping[str, tuple[float, float]] = {
    "stiffness": (1e3, 1e9),
    "exponent": (0.3, 1.75),
    "rebound": (1e-3, 1.0),
    "slip_modulus": (0.01, 10.0),
    "friction_angle_deg": (1.0, 60.0),
    "cohesion_Pa": (1.0, 1e6),
    "slip_sinkage": (0.01, 10.0),
}
# Those that may be 0 when they are given, and where a search begins that finds 0 given.
MAY_BE_ZERO: Mapping[str, float] = {"cohesion_Pa": 100.0, "slip_sinkage": 1.0}
# Further starts of a search, besides the soil of the config: Petersen's own, sand, and firm soil.
STARTS: tuple[Mapping[str, float], ...] = (
    {"stiffness": 2.5e5, "exponent": 0.5, "rebound": 0.15, "slip_modulus": 0.5},
    {"stiffness": 1.8e6, "exponent": 0.8, "rebound": 0.05, "slip_modulus": 0.2},
    {"stiffness": 2e7, "exponent": 1.1, "rebound": 0.4, "slip_modulus": 0.08},
)


def soil_of(values: Mapping[str, float]) -> Soil:
    """The soil of its parameters, by name; slip sinkage is 0 where it is not named."""
    return Soil(
        values["stiffness"],
        values["exponent"],
        cohesion=values["cohesion_Pa"],
        friction_angle=math.radians(values["friction_angle_deg"]),
        rebound=values["rebound"],
        slip_modulus=values["slip_modulus"],
        slip_sinkage=values.get("slip_sinkage", 0.0),
    )


class IdentificationError(ValueError):
    """Runs or tables that no soil can be identified from; the message says why and what to do."""


def in_millimetres(value: float) -> str:
    """What a length that is too large for metres would be in millimetres, in words; nothing of one below 0."""
    return f"; if it is in mm, write {value / 1000.0:g}" if value > 0.0 else ""


# Longer than any wheel of a rover [m].
_LONGEST_M = 5.0


@dataclass(frozen=True)
class WheelSize:
    """A wheel, as `models.wheel.RigidWheel` takes it."""

    radius_m: float  # of the rim
    width_m: float  # of the rim
    grouser_height_m: float = 0.0  # added to the radius
    variant: str = "exact"  # of the wheel-soil model
    shear: str = SHEAR_LAWS[0]  # law of the soil's shear stress, as `models.wheel.Soil` takes it; it is taken as known
    shear_residual: float | None = None  # likewise
    grouser_thrust: bool = False  # as `models.wheel.RigidWheel` takes it
    rim_friction: float = 1.0  # likewise; it is taken as known
    bulldozing: PassivePressure | None = None  # of the soil, as `models.wheel.Soil` takes it; it is taken as known

    def __post_init__(self) -> None:
        for name in ("radius_m", "width_m"):
            if not 0.0 < (value := getattr(self, name)) <= _LONGEST_M:
                raise IdentificationError(
                    f"{name} is {value:g}, allowed: above 0 and up to {_LONGEST_M:g} m{in_millimetres(value)}"
                )

    def on(self, soil: Soil) -> RigidWheel:
        """The wheel on a soil."""
        known = replace(soil, shear=self.shear, shear_residual=self.shear_residual, bulldozing=self.bulldozing)
        return RigidWheel(
            self.radius_m,
            self.width_m,
            known,
            self.variant,
            grouser_height=self.grouser_height_m,
            grouser_thrust=self.grouser_thrust,
            rim_friction=self.rim_friction,
        )


@dataclass(frozen=True)
class SharedErrors:
    """What measured a window: errors that all windows of one bench share. Standard deviations."""

    name: str = ""  # of it; windows with an equal bench have the same errors
    pull_gain: float = 0.0  # of the pull's sensitivity, relative
    pull_zero_N: float = 0.0  # of the pull's zero
    torque_gain: float = 0.0  # of the torque's sensitivity, relative
    load_gain: float = 0.0  # of the load of each wheel, relative; a wheel has the same error in each window


@dataclass(frozen=True)
class MeasuredMean:
    """A measured value: its mean over a window, and the standard deviation of that mean, shared errors not included."""

    value: float
    sd: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value) or not (math.isfinite(self.sd) and self.sd > 0.0):
            raise IdentificationError(
                f"value {self.value:g} with standard deviation {self.sd:g}: allowed are a finite number and a standard "
                "deviation above 0"
            )


@dataclass(frozen=True)
class Window:
    """A steady state: what is known of the wheels, and what was measured of their forces."""

    name: str  # of the run, or the row of a table; for messages
    wheel: WheelSize  # each of the wheels is one like this
    load_N: tuple[float, ...]  # (wheels,) vertical, each at least 0
    # (wheels,) of a turning wheel, negative when braking; None: the wheel was pressed down without turning.
    slip: tuple[float, ...] | None
    slip_sd: tuple[float, ...] = ()  # (wheels,) standard deviations, of one error that all wheels share
    pull_N: MeasuredMean | None = None  # sum over the wheels, forward; None: not measured, as each of the next two
    torque_Nm: MeasuredMean | None = None  # sum over the wheels, at the axles
    sinkage_m: MeasuredMean | None = None  # mean over the wheels
    along_N: float = 0.0  # part of the wheels' forward force that carries the weight up a slope
    bench: SharedErrors = SharedErrors()  # what measured it

    def __post_init__(self) -> None:
        numbers = (*self.load_N, *(self.slip or ()), *self.slip_sd, self.along_N)
        if not self.load_N or not all(map(math.isfinite, numbers)):
            raise IdentificationError(f"{self.name}: a load or a slip is not a number")
        if min(self.load_N) < 0.0 or not max(self.load_N) > 0.0:
            raise IdentificationError(f"{self.name}: wheel loads {self.load_N}, allowed: at least 0 N, and one above")
        wheels = len(self.load_N)
        if self.slip is None:
            if self.pull_N or self.torque_Nm:
                raise IdentificationError(
                    f"{self.name}: a pull or torque without a slip; give the slip, or leave them out (a sinkage test)"
                )
        elif len(self.slip) != wheels or (self.slip_sd and len(self.slip_sd) != wheels):
            raise IdentificationError(f"{self.name}: {wheels} loads and {len(self.slip)} slips; each wheel has both")
        elif max(map(abs, self.slip)) > 1.0:
            raise IdentificationError(f"{self.name}: slip {self.slip}, allowed: -1 to 1")
        if not (self.pull_N or self.torque_Nm or self.sinkage_m):
            raise IdentificationError(f"{self.name}: no pull, torque or sinkage was measured; one of them is needed")

    def measuring(self, values: Mapping[str, MeasuredMean]) -> Window:
        """The same with other measured values, by name; what is not named was not measured."""
        pull, torque, sinkage = (values.get(name) for name in ("pull_N", "torque_Nm", "sinkage_m"))
        return replace(self, pull_N=pull, torque_Nm=torque, sinkage_m=sinkage)

    @property
    def measured(self) -> dict[str, MeasuredMean]:
        """What was measured, by its name."""
        named = {"pull_N": self.pull_N, "torque_Nm": self.torque_Nm, "sinkage_m": self.sinkage_m}
        return {name: value for name, value in named.items() if value is not None}


FloatArray = NDArray[np.float64]
# Rounds, and the relative change of a sinkage at which it is found.
_ROUNDS, _ENOUGH = 60, 1e-11
# Largest sinkage over the radius: a soil that does not bear the load there is answered with this one.
_DEEPEST = 0.95
# Steps of the differences: of a slip, and of a load, relative.
_SLIP_STEP, _LOAD_STEP = 1e-4, 1e-3


class ForwardModel:
    """Predictions for fixed windows.

    Attributes:
        windows: as given.
        names: (n,) of each prediction: the place of its window, and the name of what was measured.
        value: (n,) measured.
        sd: (n,) standard deviations of the means.
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        self.windows = tuple(windows)
        found = [(place, name, one) for place, w in enumerate(self.windows) for name, one in w.measured.items()]
        self.names = [(place, name) for place, name, _ in found]
        self.value = np.array([one.value for *_, one in found])
        self.sd = np.array([one.sd for *_, one in found])

    def predict(self, soil: Soil) -> FloatArray:
        """(n,) what the soil would give, in the order of `names`."""
        return self._predicted(self.windows, soil)

    def errors(self, soil: Soil) -> FloatArray:
        """(n, errors) how each error that several predictions share moves them, by one standard deviation each.

        Errors: the slip of each window, the load of each wheel of a bench, gains and zeros of a bench.
        """
        base = self.predict(soil)
        columns: list[FloatArray] = []
        for place, window in enumerate(self.windows):
            if window.slip is not None and any(window.slip_sd):
                moved = tuple(np.array(window.slip) + _SLIP_STEP * np.array(window.slip_sd) / max(window.slip_sd))
                others = {place: replace(window, slip=tuple(np.clip(moved, -1.0, 1.0).tolist()))}
                columns.append(self._difference(others, soil, base) * max(window.slip_sd) / _SLIP_STEP)
        for bench in dict.fromkeys(window.bench for window in self.windows):
            own = [place for place, window in enumerate(self.windows) if window.bench == bench]
            if bench.load_gain > 0.0:
                for wheel in range(max(len(self.windows[place].load_N) for place in own)):
                    others = {place: _heavier(self.windows[place], wheel) for place in own}
                    columns.append(self._difference(others, soil, base) * bench.load_gain / _LOAD_STEP)
            for name, gain in (("pull_N", bench.pull_gain), ("torque_Nm", bench.torque_gain)):
                if gain > 0.0:
                    columns.append(np.where(self._of(own, name), gain * base, 0.0))
            if bench.pull_zero_N > 0.0:
                columns.append(np.where(self._of(own, "pull_N"), bench.pull_zero_N, 0.0))
        kept = [column for column in columns if np.any(column)]
        return np.column_stack(kept) if kept else np.zeros((len(base), 0))

    def covariance(self, soil: Soil) -> FloatArray:
        """(n, n) of the measured values."""
        shared = self.errors(soil)
        return np.diag(self.sd**2) + shared @ shared.T

    def _of(self, places: Sequence[int], name: str) -> NDArray[np.bool_]:
        return np.array([place in places and what == name for place, what in self.names])

    def _difference(self, others: dict[int, Window], soil: Soil, base: FloatArray) -> FloatArray:
        """What the predictions change by where some windows are others."""
        windows = [others.get(place, window) for place, window in enumerate(self.windows)]
        return self._predicted(windows, soil) - base

    def _predicted(self, windows: Sequence[Window], soil: Soil) -> FloatArray:
        found: list[dict[str, float]] = [{}] * len(windows)
        for wheel in dict.fromkeys(window.wheel for window in windows):
            rigid = wheel.on(soil)
            for rolls in (True, False):
                places = [i for i, w in enumerate(windows) if w.wheel == wheel and (w.slip is not None) == rolls]
                if places:
                    own = [windows[place] for place in places]
                    for place, values in zip(places, (_rolled if rolls else _pressed)(rigid, own), strict=True):
                        found[place] = values
        return np.array([found[place][name] for place, name in self.names])


def wheel_state(wheel: WheelSize, soil: Soil, load_N: FloatArray, slip: FloatArray) -> tuple[FloatArray, ...]:
    """Steady state of turning wheels. Vertical loads (n,) and slips (n,).

    Returns (n,) each: forward force [N], torque [N m], sinkage [m].
    """
    rigid = wheel.on(soil)
    depth = _sinkage(rigid, load_N, slip)
    forces = rigid.forces(depth, slip)
    return forces.longitudinal, forces.torque, depth


def _heavier(window: Window, wheel: int) -> Window:
    load = [one * (1.0 + _LOAD_STEP * (place == wheel)) for place, one in enumerate(window.load_N)]
    return replace(window, load_N=tuple(load))


def _rolled(rigid: RigidWheel, windows: Sequence[Window]) -> list[dict[str, float]]:
    """Pull, torque and sinkage in windows of turning wheels."""
    load = np.concatenate([window.load_N for window in windows])
    slip = np.concatenate([window.slip or () for window in windows])
    depth = _sinkage(rigid, load, slip)
    forces = rigid.forces(depth, slip)
    ends = np.cumsum([len(window.load_N) for window in windows])[:-1]
    parts = (np.split(values, ends) for values in (forces.longitudinal, forces.torque, depth))
    return [
        {"pull_N": float(f.sum()) - window.along_N, "torque_Nm": float(t.sum()), "sinkage_m": float(z.mean())}
        for window, f, t, z in zip(windows, *parts, strict=True)
    ]


def _pressed(rigid: RigidWheel, windows: Sequence[Window]) -> list[dict[str, float]]:
    """Sinkage of wheels that are pressed down: both halves of the contact are compressed, Petersen 2012 (3.4)."""
    load = np.concatenate([window.load_N for window in windows])
    depth = _depth(load, rigid, lambda z: rigid.soil.stiffness * np.asarray(rigid.hypervolume(z)))
    ends = np.cumsum([len(window.load_N) for window in windows])[:-1]
    return [{"sinkage_m": float(z.mean())} for z in np.split(depth, ends)]


def _sinkage(rigid: RigidWheel, load: FloatArray, slip: FloatArray) -> FloatArray:
    """(n,) sinkage [m] at which turning wheels bear their loads."""
    return _depth(load, rigid, lambda z: np.asarray(rigid.forces(z, slip).vertical))


def _depth(load: FloatArray, rigid: RigidWheel, bears: object) -> FloatArray:
    """(n,) depth at which `bears(depth)` [N] is the load: it is nearly a power of the depth, so its inverse is found.

    A wheel without a load has no depth.
    """
    assert callable(bears)
    deepest = _DEEPEST * rigid.effective_radius
    power = 1.0 / (rigid.soil.exponent + 0.5)
    depth = np.full(load.shape, 0.05 * rigid.effective_radius)
    loaded = load > 0.0
    for _ in range(_ROUNDS):
        ratio = np.where(loaded, load / np.maximum(bears(depth), 1e-300), 0.0)
        after = np.minimum(depth * ratio**power, deepest)
        change = float(np.abs(after - depth).max())
        depth = after
        if change <= _ENOUGH * rigid.effective_radius:
            break
    return depth
