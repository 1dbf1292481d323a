"""summary.json: the part that every run has; slip, speed and pull of a part of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config import Config
from hil.config.files import replacing
from hil.config.unchecked_config import fingerprint
from hil.control.following import MEASURED
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.source_check import Drift
from hil.experiments.summary_table import long_ticks_summary, machine_summary, simulated_rig_summary
from hil.messages.layout import INSTRUMENTS
from hil.messages.signals import PHASES
from hil.recording.content import Recorded, in_blocks
from hil.recording.reader import read_digests
from hil.recording.sample_writer import RECOVERED
from hil.simulator.ground_truth import GroundTruth
from hil.version import running_version


class FieldMeans:
    """Sums of fields so far.

    Args:
        axes: over which each field is summed: 0, its elements apart, or None, all of them together.
    """

    def __init__(self, axes: Mapping[str, int | None]) -> None:
        self._axes = axes
        self._sums: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self.count = 0

    def add(self, rows: NDArray[np.void]) -> None:
        """Take in rows."""
        self.count += len(rows)
        for field, axis in self._axes.items() if len(rows) else ():
            values = rows[field]
            self._numbers[field] = self._numbers.get(field, 0) + (len(rows) if axis == 0 else values.size)
            if field not in self._sums:
                self._sums[field] = values.sum(axis=axis)
            elif axis == 0:  # elements are summed row by row, as they would be all at once
                self._sums[field] = np.concatenate([self._sums[field][None], values]).sum(axis=0)
            else:
                self._sums[field] = self._sums[field] + values.sum()

    def sum(self, field: str) -> Any:
        """Of a field; 0 of no rows."""
        return self._sums.get(field, 0.0)

    def mean(self, field: str) -> Any:
        """Of a field; of no rows there is none. Raises KeyError: there were none."""
        return self._sums[field] / self._numbers[field]


SHARES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "max": 1.0}


class TimeCounts:
    """How often each time came: whole ns, of which many ticks have the same."""

    def __init__(self) -> None:
        self.times_ns: NDArray[np.int64] = np.zeros(0, np.int64)  #: (values,) those that came, rising [ns]
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)  #: (values,) how often

    def add(self, times_ns: NDArray[Any]) -> None:
        """Count times (n,) [ns]."""
        new, counts = np.unique(times_ns, return_counts=True)
        both, places = np.unique(np.concatenate([self.times_ns, new]), return_inverse=True)
        merged = np.zeros(both.size, np.int64)
        np.add.at(merged, places, np.concatenate([self.counts, counts]))
        self.times_ns, self.counts = both, merged

    def quantiles_us(self) -> dict[str, float] | None:
        """Quantiles of `SHARES` [us], to the bit those of numpy over all times; None: nothing was counted."""
        if not self.counts.size:
            return None
        last = np.cumsum(self.counts) - 1  # rank of the last of each time
        found = {}
        for name, share in SHARES.items():
            rank = share * int(last[-1])
            around = np.searchsorted(last, [int(rank), min(int(rank) + 1, int(last[-1]))])
            found[name] = float(np.quantile(self.times_ns[around], rank - int(rank))) * 1e-3
        return found


FILE_NAME = "summary.json"


def run_summary(run: FinishedRun) -> Summary:
    """What every run's summary holds: keys as docs/reference/summary.md lists them, numbers finite or None."""
    config, cycle, clock, plant_loop = run.config, run.cycle, run.clock, run.plant_loop
    experiment, ticks, took = run.experiment, cycle.tick_logger.ticks, _times_us(run.timing)
    return {
        "experiment": experiment.name,
        "aborted": not experiment.done or cycle.safety.safe,
        "clock": config.clock,
        "seed": config.seed,
        "loop": {
            "rate_hz": config.loop.rate_hz,
            "ticks": ticks,
            "late": clock.late,
            "skipped": clock.skipped,
            "long_ticks": long_ticks_summary(run.events) if config.clock == "realtime" else None,
            "work_us": took["work"],
            "wake_us": clock.wake_us,
            "plant_us": plant_loop["cost_us"] if plant_loop else took["plant"],
            "phases_us": {phase: took[phase] for phase in PHASES},
            "far_end": {key: plant_loop[key] for key in ("ticks", "late", "skipped")} if plant_loop else None,
        },
        "links": run.links,
        **disturbances(run.events, config.rig, real_time=config.clock == "realtime"),
        "real_time_factor": (ticks + clock.skipped) / config.loop.rate_hz / run.wall_s if run.wall_s > 0.0 else None,
        "config_sha256": config.sha256(),
        "version": running_version(),
    }


def disturbances(events: NDArray[np.void], rig: str, *, real_time: bool) -> Summary:
    """Keys `machine` and `simulated_rig`; None in virtual time, and None of a rig that is not simulated."""
    return {
        "machine": machine_summary(events) if real_time else None,
        "simulated_rig": simulated_rig_summary(events) if real_time and rig != "real" else None,
    }


def truth_reasons(ground_truth: GroundTruth) -> list[str]:
    """Why no run of any experiment would count that only a simulated rig knows; none of a real one."""
    if (left := ground_truth.outside) is None:
        return []
    return [f"the simulated rig left what its models hold for: {left.words}, from {left.t_ns * 1e-9:.3f} s on"]


def with_digests(summary: Summary, folder: Path, meta: Mapping[str, Any], *, trusted: bool = False) -> Summary:
    """The summary with the digests of the record that it is of, and of itself; see docs/reference/summary.md.

    Args:
        summary: of a run, without them.
        folder: of the run, its record closed.
        meta: what `/meta` of the record holds.
        trusted: see `hil.recording.reader.read_trial`.

    Raises:
        RecordError: there is no record, or it cannot be read.
    """
    found = read_digests(folder, trusted=trusted)
    digests = {
        "content": found.content,
        "file": found.file,
        "made_by": "recovery" if RECOVERED in meta else "run",
    }
    complete = {**summary, "digests": digests}
    return {**complete, "digests": {**digests, "summary": summary_sha256(complete)}}


def summary_sha256(summary: Mapping[str, Any]) -> str:
    """SHA-256 of a summary without this very digest: of its JSON with sorted keys and no spaces."""
    digests = {key: value for key, value in summary["digests"].items() if key != "summary"}
    return fingerprint({**summary, "digests": digests})


def write_summary(folder: Path, summary: Summary) -> None:
    """Write summary.json, strict JSON; it is there as a whole or not at all."""
    text = json.dumps(summary, indent=2, allow_nan=False)
    with replacing(folder / FILE_NAME) as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")


def finite(value: float) -> float | None:
    """The number, or None where it is none."""
    return value if math.isfinite(value) else None


def _times_us(timing: Recorded) -> dict[str, dict[str, float] | None]:
    """Quantiles of each time of `TIMING` [us], by its name without the unit."""
    counted = {name: TimeCounts() for name in ("work", "plant", *PHASES)}
    for rows in in_blocks(timing):
        for name, counts in counted.items():
            counts.add(rows[f"{name}_ns"])
    return {name: counts.quantiles_us() for name, counts in counted.items()}


# The sum of the autocorrelations ends at so many correlation times: further ones are noise (Sokal 1997, section 3, with
# half of the time that is called so here).
_WINDOWS = 2.5
# 97.5 % points of Student's t for 1 to 30 degrees of freedom; above, a series in their number (Abramowitz and Stegun,
# 26.7.5) is within 1e-4.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
NORMAL = 1.959964


class _WindowMean(NamedTuple):
    """Mean, half-width of its 95 % interval, and the number of independent values that the series is worth."""

    mean: float
    u95: float
    independent: float


def window_mean(values: NDArray[np.float64]) -> _WindowMean:
    """Mean of equally spaced values; its interval takes their autocorrelation into account.

    A series of n values with the correlation time tau = 1 + 2 sum rho_k is worth n / tau independent ones. The mean of
    the series is taken out before rho is estimated, which makes it too small by about tau / n: that is added. A sum of
    m autocorrelations has about n / (2 m + 1) degrees of freedom: Student's t is taken for as many.

    Args:
        values: (n,), finite.

    Returns:
        All NaN without values; the interval is infinite of values that are worth fewer than two.

    Example:
        >>> window_mean(np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0])).mean
        1.5
    """
    count = values.size
    if count == 0:
        return _WindowMean(math.nan, math.nan, math.nan)
    mean = float(values.mean())
    rest = values - mean
    variance = float(rest @ rest) / count
    if variance <= 1e-24 * max(mean * mean, 1e-300):
        return _WindowMean(mean, 0.0 if count > 1 else math.inf, float(count))
    time, terms = _correlation_time(rest, variance)
    time = min(time, float(count))
    time = time / max(1.0 - time / count, 1e-9)
    independent = count / time
    if independent < 2.0:
        return _WindowMean(mean, math.inf, independent)
    deviation = math.sqrt(variance * independent / (independent - 1.0) / independent)
    return _WindowMean(mean, student(min(count / (2.0 * terms + 1.0), independent - 1.0)) * deviation, independent)


def student(freedom: float) -> float:
    """97.5 % point of Student's t; of a broken number of degrees of freedom that of the next lower whole one."""
    if freedom <= len(_STUDENT):
        return _STUDENT[max(int(freedom), 1) - 1]
    z = NORMAL
    return z + (z**3 + z) / (4.0 * freedom) + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)


def _correlation_time(rest: NDArray[np.float64], variance: float) -> tuple[float, int]:
    """Of values with mean 0, in steps, at least 1; and the number of autocorrelations in it."""
    count = rest.size
    transformed = np.fft.rfft(rest, 2 * count)
    products = np.fft.irfft(transformed * transformed.conj(), 2 * count)[:count]
    sums = 2.0 * np.cumsum(products / (count * variance)) - 1.0
    enough = np.arange(count) >= _WINDOWS * sums
    last = int(enough.argmax()) if enough.any() else int(sums.argmax())
    return max(float(sums[last]), 1.0), last


# Values are means over this time, so that a window of ten minutes is no more than 60,000 of them [ns].
_BLOCK_NS = 10_000_000


class _Interval(NamedTuple):
    """A value, and the half-width of its 95 % interval."""

    value: float
    u95: float


class MeasuredWindow:
    """Takes the rows of a window, in order, block by block.

    Args:
        config: of a rig with an instrument that measures the rover's way.
        drift: of the instrument, where the rover stood afterwards; it may have been the same in the window.

    Attributes:
        rows: taken.
        unmeasured: of them, those in which its readings were not used.
    """

    def __init__(self, config: Config, drift: Drift | None = None) -> None:
        self._radii_m, self.drift = config.wheel_radii_m, drift
        self._source = config.layout.instruments.index(INSTRUMENTS[0])
        self._cell = config.loads.load_cell if config.loads else None
        self._ends: list[NDArray[np.void]] = []
        self._means: list[NDArray[np.float64]] = []
        self._step = max(round(_BLOCK_NS * 1e-9 * config.loop.rate_hz), 1)
        self._left = np.zeros((0, 3))
        self.rows = self.unmeasured = 0

    def add(self, ticks: NDArray[np.void]) -> None:
        """Take in rows."""
        if not len(ticks):
            return
        self._ends = [*self._ends[:1], ticks[-1].copy()] if self._ends else [ticks[0].copy(), ticks[-1].copy()]
        self.rows += len(ticks)
        self.unmeasured += int((~np.isin(ticks["source"][:, self._source], list(MEASURED))).sum())
        pull = ticks["pull_N"] if self._cell else np.zeros(len(ticks))
        rims = (ticks["wheel_speed_radps"] * self._radii_m).mean(axis=1)
        values = np.concatenate([self._left, np.column_stack([ticks["speed_mps"], rims, pull])])
        whole = len(values) // self._step * self._step
        self._means.append(values[:whole].reshape(-1, self._step, 3).mean(axis=1))
        self._left = values[whole:]

    @property
    def speed(self) -> _Interval:
        """Mean forward speed [m/s]: the way between the first and the last row."""
        if len(self._ends) < 2:
            return _Interval(math.nan, math.nan)
        first, last = self._ends
        span_s = float(last["t_ns"] - first["t_ns"]) * 1e-9
        if span_s <= 0.0:
            return _Interval(math.nan, math.nan)
        ahead = _ahead(first["pose"][3:]) + _ahead(last["pose"][3:])
        ahead /= np.linalg.norm(ahead)
        way = float((last["pose"][:3].astype(float) - first["pose"][:3]) @ ahead)
        each = [float(np.linalg.norm(row["pose_sd"][:3].astype(float) * ahead)) for row in (first, last)]
        drift_mps = 0.0 if self.drift is None else math.hypot(self.drift.rate_mps, NORMAL * self.drift.sd_mps)
        return _Interval(way / span_s, math.hypot(NORMAL * math.hypot(*each) / span_s, drift_mps))

    @property
    def slip(self) -> _Interval:
        """Slip of the rims: measurement, and scatter of the slip within the window."""
        speed, values = self.speed, np.concatenate([*self._means, np.zeros((0, 3))])
        rims = float(values[:, 1].mean()) if len(values) else math.nan
        if not rims > 0.0:
            return _Interval(math.nan, math.nan)
        kept = speed.value / rims
        scatter = window_mean(values[:, 0] - kept * values[:, 1]).u95
        return _Interval(1.0 - kept, math.hypot(speed.u95, scatter) / rims)

    @property
    def pull(self) -> _Interval | None:
        """Drawbar pull by the load cell [N]: scatter, sensitivity and zero; None: there is no load cell."""
        if self._cell is None:
            return None
        found = window_mean(np.concatenate([*self._means, np.zeros((0, 3))])[:, 2])
        sensitivity_N, zero_N = self._cell.sensitivity_u95 * found.mean, self._cell.zero_u95 * self._cell.force_N
        return _Interval(found.mean, math.hypot(found.u95, sensitivity_N, zero_N))

    def summary(self) -> dict[str, Any]:
        """Keys as docs/reference/summary.md lists them."""
        speed, slip, pull = self.speed, self.slip, self.pull
        return {
            "measured": bool(self.rows) and not self.unmeasured,
            "unmeasured_share": self.unmeasured / self.rows if self.rows else None,
            "slip": finite(slip.value),
            "slip_u95": finite(slip.u95),
            "speed_mps": finite(speed.value),
            "speed_u95_mps": finite(speed.u95),
            **({} if pull is None else {"pull_N": finite(pull.value), "pull_u95_N": finite(pull.u95)}),
        }


def measurement_reasons(summary: Mapping[str, Any]) -> list[str]:
    """Why values of `MeasuredWindow.summary` do not count; none where they do, or nothing measures the rover's way."""
    share = summary.get("unmeasured_share")
    if not share:
        return []
    return [
        f"the forward speed was not measured in {share:.1%} of the measurement: no reading of motion was used (field "
        "source of the record); allowed: 0 %"
    ]


def _ahead(quaternion: NDArray[np.float32]) -> NDArray[np.float64]:
    """The base's x axis in the world, by its quaternion x y z w."""
    x, y, z, w = map(float, quaternion)
    return np.array([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)])
