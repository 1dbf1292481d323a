"""Wrong values in what a good run has recorded, and the smallest that its residuals show.

Put into the samples of the force sensors they are exact but for the time of the cut, which a wrong force moves by less
than the 3 ms of its rise to the threshold. In the rows of a tick they are exact for currents, supply and ages, which
nothing reacts to. Speeds, pressures and leg sensors are fed back: the rows show the residual of the wrong reading
itself, not what rover and twin make of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hil.estimation.estimator import ZERO_TIME_S
from hil.experiments.impact.sensing import PEAKS, measured_keys, peak_keys, sensor_channels
from hil.messages.link_messages import IMPACT
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import judge, marks
from hil.residuals.table import measured
from hil.signals.impact import measure_impact
from hil.signals.traces import removed_by_coupling

# Gains, as changes, and steps of the other kinds: the smallest noticed one is one of these.
GAINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
FORCES_N = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
LOADS_N = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 70.0, 100.0)
SPEEDS_RADPS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02)
CURRENTS_A = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
VOLTS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
PRESSURES_KPA = (0.2, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)
DELAYS_MS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
CLOCKS_PPM = (50.0, 100.0, 200.0, 500.0, 1000.0)
ONCE = (1.0,)
# An offset of a force sensor begins so long after the run [s]: once its channel is zeroed.
LATER_S = 1.0


class Recorded:
    """A good run, as `hil.app.run.RunResult` has it; its config has thresholds."""

    def __init__(self, config: Any, ticks: Any, summary: Any, samples: Any, events: Any) -> None:
        self.config, self.ticks, self.summary, self.samples = config, ticks, summary, samples
        self._events = events

    @cached_property
    def impact_ns(self) -> int:
        """When the force passed the threshold."""
        return int(self._events["t_ns"][self._events["name"] == IMPACT.encode()][0])

    def shown(self, ticks: Any, summary: Any) -> str:
        """The residual that is furthest over its threshold; empty: none is."""
        found = marks(judge(self.config, measured(RunEvidence(self.config, ticks, summary))))
        return f"{found[0].name} {found[0].element}" if found else ""

    def with_volts(self, volts: Any) -> tuple[Any, Any]:
        """Rows and summary, had the force sensors read this (samples, channels) [V]."""
        channels = sensor_channels(self.config)
        impact = measure_impact(self.samples[0], volts, self.impact_ns, channels)
        ticks = self.ticks.copy()
        reading = (volts - volts[: round(ZERO_TIME_S * channels.rate_hz)].mean(axis=0)) * channels.newton_per_volt
        force = reading + removed_by_coupling(reading, channels.rate_hz, channels.droop_s)
        newest = np.clip(ticks["daq_sequence"] * self.config.daq.block_samples - 1, 0, len(force) - 1)
        ticks["force_N"] = force[newest]
        corrected_N = [self.summary[f"corrected_{name}"] for name in PEAKS]
        return ticks, {**self.summary, **peak_keys(impact, corrected_N), **measured_keys(impact)}

    def with_field(self, field: str, values: Any) -> tuple[Any, Any]:
        """The same, had a field of the rows these values."""
        ticks = self.ticks.copy()
        ticks[field] = values
        return ticks, self.summary


class Wrong(NamedTuple):
    """A kind of wrong value: its name with the unit of its size, sizes in order, and how it is put into a run."""

    name: str
    sizes: Sequence[float]
    put: Callable[[Recorded, float], tuple[Any, Any]]


def smallest_noticed(recorded: Recorded, wrong: Wrong) -> tuple[float | None, str]:
    """The smallest size that is noticed, and by which residual; None: none is. Larger ones are taken to be noticed."""
    shown: dict[int, str] = {}

    def noticed(number: int) -> bool:
        shown[number] = recorded.shown(*wrong.put(recorded, wrong.sizes[number]))
        return bool(shown[number])

    at = bisect_left(range(len(wrong.sizes)), True, key=noticed)
    return (wrong.sizes[at], shown[at]) if at < len(wrong.sizes) else (None, "")


def wrong_values(config: Any) -> list[Wrong]:
    """All that the rig of a config measures."""
    layout, found = config.layout, list[Wrong]()
    rear = len(layout.wheels) - 2  # left
    if config.experiment == "impact":
        found += _forces(config)
    if not layout.open_loop:
        found += _of("wheel speed, one", "wheel_speed_radps", len(layout.wheels) // 2, SPEEDS_RADPS, "rad/s")
        found += [
            Wrong("wheel speed, all: gain", GAINS, _scaled("wheel_speed_radps", ...)),
            Wrong("wheel speed: front left and right swapped", ONCE, _swapped("wheel_speed_radps", 0, 1)),
            Wrong(
                "wheel speed: front and rear left swapped",
                ONCE,
                _swapped("wheel_speed_radps", 0, rear),
            ),
        ]
    if layout.supplies:
        found += _of("motor current, one", "current_A", 0, CURRENTS_A, "A", delays=False)
        found += [
            Wrong("motor current, all: gain", GAINS, _scaled("current_A", ...)),
            Wrong("motor current: front and rear left swapped", ONCE, _swapped("current_A", 0, rear)),
        ]
        found += _of("supply voltage", "supply_V", 0, VOLTS, "V", delays=False)
    if layout.leg_sensors:
        found += _of("leg sensor, one", "wheel_load_N", 0, LOADS_N, "N")
        found += [
            Wrong("leg sensors, all: gain", GAINS, _scaled("wheel_load_N", ...)),
            Wrong("leg sensors: front left and right swapped", ONCE, _swapped("wheel_load_N", 0, 1)),
            Wrong("leg sensors: front and rear left swapped", ONCE, _swapped("wheel_load_N", 0, rear)),
        ]
    if layout.load_cell:
        found += _of("load cell", "pull_N", ..., LOADS_N, "N")
    if config.section.controls_loads and layout.cylinders:
        found += _of("pressure, one", "pressure_Pa", (0, 0), PRESSURES_KPA, "kPa", scale=1e3)
        found.append(Wrong("pressure: left and right extend swapped", ONCE, _swapped("pressure_Pa", (0, 0), (1, 0))))
    found += [Wrong(f"time of the samples, {link}: late [ms]", DELAYS_MS, _late(link)) for link in layout.links]
    return found + [
        Wrong(f"sample clock, {link} [ppm]", CLOCKS_PPM, _slow(link))
        for link in ("daq", "loads")
        if link in layout.links
    ]


def _forces(config: Any) -> list[Wrong]:
    per_N = np.array(config.plate_sensitivities_mVpN) * 1e-3
    rate_hz = config.daq.rate_hz

    def gain(place: Any) -> Callable[[Recorded, float], tuple[Any, Any]]:
        def put(run: Recorded, size: float) -> tuple[Any, Any]:
            volts = run.samples[1].copy()
            volts[:, place] *= 1.0 + size
            return run.with_volts(volts)

        return put

    def offset(run: Recorded, size: float) -> tuple[Any, Any]:
        volts = run.samples[1].copy()
        volts[round(LATER_S * rate_hz) :, 0] += size * per_N[0]
        return run.with_volts(volts)

    def late(place: Any) -> Callable[[Recorded, float], tuple[Any, Any]]:
        def put(run: Recorded, size: float) -> tuple[Any, Any]:
            volts, count = run.samples[1].copy(), max(round(size * 1e-3 * rate_hz), 1)
            volts[count:, place] = run.samples[1][:-count, place]
            return run.with_volts(volts)

        return put

    def swapped(one: int, other: int) -> Callable[[Recorded, float], tuple[Any, Any]]:
        def put(run: Recorded, _: float) -> tuple[Any, Any]:
            volts = run.samples[1].copy()
            volts[:, [one, other]] = run.samples[1][:, [other, one]]
            return run.with_volts(volts)

        return put

    return [
        Wrong("force, top: gain", GAINS, gain(0)),
        Wrong("force, lower left: gain", GAINS, gain(1)),
        Wrong("force, all: gain", GAINS, gain(slice(None))),
        Wrong("force, top: offset [N]", FORCES_N, offset),
        Wrong("force, top: late [ms]", DELAYS_MS, late(0)),
        Wrong("force: top and lower left swapped", ONCE, swapped(0, 1)),
        Wrong("force: lower left and right swapped", ONCE, swapped(1, 2)),
    ]


def _of(
    what: str, field: str, place: Any, offsets: Sequence[float], unit: str, *, delays: bool = True, scale: float = 1.0
) -> list[Wrong]:
    """Gain, offset and delay of one element of a field."""

    def offset(run: Recorded, size: float) -> tuple[Any, Any]:
        values = run.ticks[field].copy()
        _element(values, place)[...] += size * scale
        return run.with_field(field, values)

    def late(run: Recorded, size: float) -> tuple[Any, Any]:
        values, count = run.ticks[field].copy(), max(round(size * 1e-3 * run.config.loop.rate_hz), 1)
        _element(values, place)[count:] = _element(run.ticks[field], place)[:-count]
        return run.with_field(field, values)

    found = [
        Wrong(f"{what}: gain", GAINS, _scaled(field, place)),
        Wrong(f"{what}: offset [{unit}]", offsets, offset),
    ]
    whole_ms = [size for size in DELAYS_MS if size >= 1.0]
    return [*found, Wrong(f"{what}: late [ms]", whole_ms, late)] if delays else found


def _element(values: Any, place: Any) -> Any:
    """(ticks,) of an element, or all of them with `...`."""
    return values[...] if place is ... else values[:, *(place if isinstance(place, tuple) else (place,))]


def _scaled(field: str, place: Any) -> Callable[[Recorded, float], tuple[Any, Any]]:
    def put(run: Recorded, size: float) -> tuple[Any, Any]:
        values = run.ticks[field].copy()
        _element(values, place)[...] *= 1.0 + size
        return run.with_field(field, values)

    return put


def _swapped(field: str, one: Any, other: Any) -> Callable[[Recorded, float], tuple[Any, Any]]:
    def put(run: Recorded, _: float) -> tuple[Any, Any]:
        values = run.ticks[field].copy()
        _element(values, one)[...] = _element(run.ticks[field], other)
        _element(values, other)[...] = _element(run.ticks[field], one)
        return run.with_field(field, values)

    return put


def _late(link: str) -> Callable[[Recorded, float], tuple[Any, Any]]:
    """Samples that arrive late, with right times."""
    field = {"daq": "daq_age_ns", "loads": "load_age_ns"}.get(link, f"{link}_t_ns")

    def put(run: Recorded, size: float) -> tuple[Any, Any]:
        sign = -1 if field.endswith("_t_ns") else 1
        return run.with_field(field, run.ticks[field] + sign * round(size * 1e6))

    return put


def _slow(link: str) -> Callable[[Recorded, float], tuple[Any, Any]]:
    """A sample clock that loses."""
    field = {"daq": "daq_age_ns", "loads": "load_age_ns"}[link]

    def put(run: Recorded, size: float) -> tuple[Any, Any]:
        return run.with_field(field, run.ticks[field] + np.round(size * 1e-6 * run.ticks["t_ns"]).astype(np.int64))

    return put
