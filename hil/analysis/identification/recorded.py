"""Windows from recorded runs of `drawbar`, `slope` and `sinkage`, and whether these belong together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.dataset import verified_summary
from hil.analysis.identification.forward import (
    RANGES,
    IdentificationError,
    MeasuredMean,
    SharedErrors,
    WheelSize,
    Window,
)
from hil.config import Config, parse_config
from hil.config.model_parameters import passive_pressure_of
from hil.config.rig import Rig
from hil.config.schema.ground_and_obstacle import SoilConfig
from hil.config.schema.rover import RoverConfig
from hil.experiments.drawing import study_facts
from hil.experiments.summary import NORMAL, MeasuredWindow, window_mean
from hil.experiments.throttle import MEASURE
from hil.recording import open_trial
from hil.recording.content import in_blocks

# The experiment whose wheels stand.
PRESSED = "sinkage"


@dataclass(frozen=True)
class Uncertainty:
    """What no record says: half-widths of 95 % intervals, relative."""

    loads: float = 0.02  # of the load of each wheel
    torque: float = 0.05  # of the torque that a motor gives for a current


USUAL_UNCERTAINTY = Uncertainty()


def check_alike(runs: Sequence[tuple[Path, Config]]) -> Config:
    """The config that the others are like: that of the first run that drives, or of the first one.

    Raises IdentificationError: the runs do not belong together.
    """
    drives = [one for one in runs if one[1].experiment != PRESSED]
    first_run, first = (drives or runs)[0]
    rovers: dict[str, tuple[Path, dict[str, Any]]] = {}
    for run, config in runs:
        earlier, rover = rovers.setdefault(config.rover.type, (run, _rover_of(config.rover)))
        rolls = config.experiment != PRESSED
        # a pressed wheel of a simulated rig has another wheel model and rebound
        with_rebound = rolls or not drives
        for what, one, other, than in (
            ("rover", _rover_of(config.rover), rover, earlier),
            ("wheel model", config.wheel if rolls else first.wheel, first.wheel, first_run),
            ("soil of the config", *(_soil_of(each.soil, rebound=with_rebound) for each in (config, first)), first_run),
        ):
            if one != other:
                raise IdentificationError(
                    f"{run} has another {what} than {than}: runs of one identification have the same rover of each "
                    "type, the same wheels and soil; identify each soil and rover apart"
                )
    return first


def _rover_of(rover: RoverConfig) -> dict[str, Any]:
    """Section rover without what may differ: a payload, and the place of the drawbar."""
    return rover.model_dump(exclude={"payload", "drawbar"})


def _soil_of(soil: SoilConfig, *, rebound: bool) -> dict[str, Any]:
    kept = {*RANGES, "shear", "shear_residual", "density_kgpm3"} - (set() if rebound else {"rebound"})
    return soil.model_dump(include=kept)


def soil_section(soil: SoilConfig) -> dict[str, float]:
    """The parameters of a section soil, by name."""
    return {name: float(getattr(soil, name) or 0.0) for name in RANGES}


def wheel_of(config: Config) -> WheelSize:
    """The wheels of a config. Raises IdentificationError: they are of several sizes."""
    mounts, soil = config.rover_parameters().tree().wheels, config.soil
    pushed = passive_pressure_of(soil, config.ground.gravity_mps2)
    kinds = {
        WheelSize(
            mount.radius,
            mount.width,
            one.tips_m,
            one.variant,
            soil.shear,
            soil.residual,
            grouser_thrust=one.thrust_height_m > 0.0,
            rim_friction=one.rim_share,
            bulldozing=pushed,
        )
        for mount, one in zip(mounts, config.wheels.values(), strict=True)
    }
    if len(kinds) > 1:
        raise IdentificationError("the rover has wheels of several sizes or models; allowed: wheels of one kind")
    if mounts[0].crown is not None:
        raise IdentificationError("the rover has crowned wheels; allowed: cylinders (wheel.crown_radius_m null)")
    return kinds.pop()


def bench_of(config: Config, uncertainty: Uncertainty) -> SharedErrors:
    """What measured the runs of a rover; a load cell is in those that were pulled."""
    cell = config.loads.load_cell if config.loads and config.experiment == "drawbar" else None
    return SharedErrors(
        config.rover.type,
        pull_gain=cell.sensitivity_u95 / NORMAL if cell else 0.0,
        pull_zero_N=cell.zero_u95 * cell.force_N / NORMAL if cell else 0.0,
        torque_gain=uncertainty.torque / NORMAL,
        load_gain=uncertainty.loads / NORMAL,
    )


_DRIVES = ("drawbar", "slope")
# Values are means over this time [s].
_BLOCK_S = 0.01
# Least standard deviations: no rig knows a slip, a pull [N], a torque [N m] or the angle of a slope [rad] better.
_SLIP_SD, _PULL_SD_N, _TORQUE_SD_NM, _ANGLE_SD = 0.002, 0.1, 0.05, math.radians(0.1)
# Standard deviation of a sinkage that a simulated rig knows [m]: that of one measured with care.
_SINKAGE_SD_M = 3e-4
# The halves of a steady window have pulls, or speeds of the rims, that differ by at most this share.
_STEADY = 0.1


@dataclass(frozen=True)
class Sources:
    """What an identification is made of."""

    windows: tuple[Window, ...]  # of all sources
    soil: Mapping[str, float]  # all parameters by name: fixed, or where the search begins
    name: str  # of the config, or of the table
    facts: Mapping[str, str]  # what a figure says of them


def windows_of(
    runs: Sequence[Path],
    uncertainty: Uncertainty = USUAL_UNCERTAINTY,
    torque_per_A_Nm: float | None = None,
    *,
    unverified: bool = False,
    spread: Executor | None = None,
) -> Sources:
    """The steady window of each run.

    Args:
        runs: folders of runs of `hil drawbar`, `hil slope` or `hil run` with one of these experiments or `sinkage`.
        uncertainty: of loads and torques.
        torque_per_A_Nm: torque at an axle for each ampere of its motor, friction of the gears included in it not; None:
            of a simulated rig its own, otherwise torques are not used.
        unverified: also runs that do not match their digests.
        spread: reads the runs, one task each; None: here, one after the other.

    Raises:
        IdentificationError: a run cannot be used, or the runs do not belong together.
        FolderError, RecordError, UnverifiedRunError, ConfigError: a run cannot be read.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise IdentificationError("a run is given twice: it would count twice; give each once")
    each = map if spread is None else spread.map
    read = [(run, *found) for run, found in zip(runs, each(partial(_read, unverified=unverified), runs), strict=True)]
    first = check_alike([(run, config) for run, config, _ in read])
    window = partial(_window, uncertainty=uncertainty, torque_per_A_Nm=torque_per_A_Nm)
    windows = tuple(each(window, read))
    return Sources(windows, soil_section(first.soil), first.name, study_facts(first))


def _read(run: Path, *, unverified: bool) -> tuple[Config, dict[str, Any]]:
    """Config and summary of a run that counts."""
    summary, _ = verified_summary(run, unverified=unverified)
    if not summary:
        raise IdentificationError(f"{run} has no summary.json: it was killed; hil recover {run} makes one")
    experiment = summary.get("experiment")
    if experiment not in (*_DRIVES, PRESSED):
        raise IdentificationError(
            f"{run} is a run of experiment {experiment}; allowed: {' or '.join(_DRIVES)}, which drive steadily, or "
            f"{PRESSED}"
        )
    if not summary.get("accepted"):
        reasons = "; ".join(map(str, summary.get("reasons") or ())) or "no reason is recorded"
        raise IdentificationError(f"{run} is not accepted ({reasons}): leave it out, or make it again")
    with open_trial(run) as record:
        config = parse_config(str(record.meta["config"]), str(run))
    for key, found, allowed in (
        ("wheel.variant", config.wheel.variant, "any but xu, whose stresses have other parameters"),
        ("soil.rut", config.soil.rut, "fresh: in the rut of another wheel a wheel rolls on compacted soil"),
    ):
        if found in ("xu", "remembered"):
            raise IdentificationError(f"{run}: {key} is {found}; allowed for an identification: {allowed}")
    if config.ground.roll_deg or config.ground.wheel_height_m:
        raise IdentificationError(f"{run}: the ground rolls, or is uneven; allowed: level, or a slope straight ahead")
    return config, summary


def _pressed(run: Path, config: Config, summary: Mapping[str, Any], uncertainty: Uncertainty) -> Window:
    """The window of a run whose wheels stood."""
    sinkage, loads = summary.get("sinkage_m"), summary.get("load_N") or []
    if sinkage is None:
        raise IdentificationError(
            f"{run}: the sinkage was not measured; write load and sinkage in a table, and give it with --tests"
        )
    if (config.wheel.variant, config.soil.rebound) != ("tire_2", 1.0):
        raise IdentificationError(
            f"{run}: wheel.variant is {config.wheel.variant}, soil.rebound {config.soil.rebound:g}; allowed for a "
            "sinkage test of a simulated rig: tire_2 and 1, which compress the soil on both sides (sim_sinkage)"
        )
    if None in loads or not loads:
        raise IdentificationError(f"{run}: the wheels' loads are not known")
    return Window(
        name=str(run),
        wheel=wheel_of(config),
        load_N=tuple(map(float, loads)),
        slip=None,
        sinkage_m=MeasuredMean(float(sinkage), _SINKAGE_SD_M),
        bench=bench_of(config, uncertainty),
    )


class _WindowMeans:
    """Takes the rows of a window block by block: means over equal times of each quantity."""

    def __init__(self, config: Config, names: Sequence[str]) -> None:
        self._step, self._names = max(round(_BLOCK_S * config.loop.rate_hz), 1), tuple(names)
        self._parts: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
        self.motion = MeasuredWindow(config) if config.layout.motion_channels else None

    def add(self, rows: NDArray[np.void]) -> None:
        for name in self._names:
            values = rows[name].astype(np.float64)
            self._parts[name].append(values.reshape(len(rows), -1))
        if self.motion is not None:
            self.motion.add(rows)

    def of(self, name: str) -> NDArray[np.float64]:
        """(times, elements) of a quantity."""
        values = np.concatenate(self._parts[name])
        whole = len(values) // self._step * self._step
        means: NDArray[np.float64] = values[:whole].reshape(-1, self._step, values.shape[1]).mean(axis=1)
        return means


def _window(
    read: tuple[Path, Config, dict[str, Any]], uncertainty: Uncertainty, torque_per_A_Nm: float | None
) -> Window:
    """The window of a run, whatever its experiment."""
    run, config, summary = read
    if config.experiment == PRESSED:
        return _pressed(run, config, summary, uncertainty)
    layout, slope = config.layout, config.experiment == "slope"
    load_field = "wheel_load_N" if layout.leg_sensors else "normal_force_N"
    if config.pull_unknown and not layout.leg_sensors:
        raise IdentificationError(
            f"{run}: the wheels' loads are not known, because the rover twin does not know the pull; "
            "measure it with a load cell (loads.load_cell={}), or the loads with leg sensors"
        )
    if not slope and not layout.load_cell and summary.get("pull_N") is None:
        raise IdentificationError(f"{run}: the pull was not measured; a load cell does (loads.load_cell={{}})")
    with open_trial(run) as record:
        there = record.tick.dtype.names or ()
        per_A = torque_per_A_Nm
        if per_A is None and config.rig == "simulated":
            per_A = config.drives.power.torque_per_A_Nm
        torque = "current_A" in there and per_A is not None
        pulled = layout.load_cell and not slope
        optional = [*(["pull_N"] if pulled else []), *(["current_A"] if torque else [])]
        means = _WindowMeans(config, [load_field, "wheel_speed_radps", *optional])
        for rows in in_blocks(record.tick):
            means.add(rows[rows["state"] == MEASURE])
    loads, rates = means.of(load_field), means.of("wheel_speed_radps")
    if len(rates) < 2:
        raise IdentificationError(f"{run}: its measurement is shorter than {2 * _BLOCK_S:g} s; set measure_s longer")
    rims = np.array(config.wheel_radii_m) * rates.mean(axis=0)
    speed, speed_sd = _speed(run, summary, means)
    if not (rims > 1e-4).all() or not speed > 1e-5:
        raise IdentificationError(
            f"{run}: the rover stands (speed {speed:.4g} m/s, slowest rim {float(rims.min()):.4g} m/s): a slip has no "
            "meaning there; drive faster, or pull less"
        )
    _steady(run, "speed of the rims", rates.mean(axis=1))
    faster = np.maximum(rims, speed)
    slip = (rims - speed) / faster
    window_torque = None
    if torque:
        axles = (float(per_A or 0.0) * means.of("current_A")).sum(axis=1) - len(rims) * config.drives.gear_friction_Nm
        window_torque = _mean_of(run, "torque", axles, _TORQUE_SD_NM)
    weight = Rig(config).weight_N
    along = weight * math.sin(math.radians(config.ground.pitch_deg)) + config.rover.drawbar.pull_N
    if pulled:
        _steady(run, "pull", means.of("pull_N")[:, 0])
        pull = _mean_of(run, "pull", means.of("pull_N")[:, 0], _PULL_SD_N)
    else:
        pull = MeasuredMean(0.0 if slope else float(summary["pull_N"]), _PULL_SD_N)
    if config.ground.pitch_deg or slope:
        pull = MeasuredMean(pull.value, math.hypot(pull.sd, weight * _ANGLE_SD))
    # a bed measures how deep its wheel sinks; under a rover nobody does
    sunk = summary.get("sinkage_m") if config.rover.kind.guided() else None
    mean_load = loads.mean(axis=0)
    if not np.isfinite(mean_load).all():
        raise IdentificationError(f"{run}: the wheels' loads are NaN: nothing measured them, and the twin has none")
    return Window(
        name=str(run),
        wheel=wheel_of(config),
        load_N=tuple(np.maximum(mean_load, 0.0).tolist()),
        slip=tuple(slip.tolist()),
        slip_sd=tuple((np.hypot(speed_sd / faster, _SLIP_SD)).tolist()),
        pull_N=pull,
        torque_Nm=window_torque,
        along_N=along,
        sinkage_m=None if sunk is None else MeasuredMean(float(sunk), _SINKAGE_SD_M),
        bench=bench_of(config, uncertainty),
    )


def _speed(run: Path, summary: Mapping[str, Any], means: _WindowMeans) -> tuple[float, float]:
    """Mean forward speed of the rover [m/s], and its standard deviation."""
    if means.motion is not None:
        found = means.motion.speed
        return found.value, found.u95 / NORMAL
    if summary.get("slip_from") != "simulated rig" or summary.get("speed_mps") is None:
        raise IdentificationError(
            f"{run}: the rover's speed is that of the twin, which follows from the soil that the config assumes; "
            "measure the way with an instrument (docs/how-to/measure-motion.md)"
        )
    return float(summary["speed_mps"]), 0.0


def _mean_of(run: Path, what: str, values: NDArray[np.float64], least: float) -> MeasuredMean:
    found = window_mean(values)
    if not math.isfinite(found.mean):
        raise IdentificationError(f"{run}: the {what} is NaN in its measurement: it was not measured all the time")
    if not math.isfinite(found.u95):
        raise IdentificationError(f"{run}: the {what} drifts through its whole measurement; settle longer (settle_s)")
    return MeasuredMean(found.mean, max(found.u95 / NORMAL, least))


def _steady(run: Path, what: str, values: NDArray[np.float64]) -> None:
    half = len(values) // 2
    before, after = float(values[:half].mean()), float(values[half:].mean())
    largest = max(abs(before), abs(after))
    if largest > 1.0 * (what == "pull") and abs(after - before) > _STEADY * largest:
        raise IdentificationError(
            f"{run}: the {what} changes from {before:.4g} to {after:.4g} in its measurement, allowed is a tenth: not "
            "a steady state; settle longer (settle_s), or measure longer (measure_s)"
        )
