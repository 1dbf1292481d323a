"""What a soil would have given in the windows: the closed forms of `models.wheel` at each wheel's load and slip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hil.analysis.identification.windows import WheelSize, Window
from models.wheel import RigidWheel, Soil

FloatArray = NDArray[np.float64]
# Rounds, and the relative change of a sinkage at which it is found.
_ROUNDS, _ENOUGH = 60, 1e-11
# Largest sinkage over the radius: a soil that does not bear the load there is answered with this one.
_DEEPEST = 0.95
# Steps of the differences: of a slip, and of a load, relative.
_SLIP_STEP, _LOAD_STEP = 1e-4, 1e-3


class Forward:
    """Predictions for fixed windows.

    Args:
        windows: at least one.

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
    """Steady state of turning wheels.

    Args:
        wheel: each of them.
        soil: under them.
        load_N: (n,) vertical.
        slip: (n,).

    Returns:
        (n,) each: forward force [N], torque [N m], sinkage [m].
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
