"""Whether this machine holds the loop's rate and the links theirs: for `hil check`, and before a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from drivers.checks import PERIODS_IN_TIMEOUT
from drivers.host import Host
from drivers.messages import DaqBlock
from drivers.registry import drives_driver, servos_driver
from hil.app.run_loop import rights_wanted, simulated_rig_io
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.sensors import DaqConfig
from hil.experiments.registry import build_cycle
from hil.ipc.run_memory import RunMemory, healths
from hil.messages.fault import DEAD_MAN_NS, Check
from hil.messages.layout import CONFIRMING
from hil.messages.stages import Tick
from hil.realtime import RealtimeRight, rights
from hil.realtime.clock import MOST_BUSY, RealtimeClock, Stall
from hil.realtime.histogram import Histogram
from hil.recording.sinks import Rows
from hil.safety.arming import NotArmedError
from hil.simulator.simulated_rig import build_simulated_rig

CHECK_S = 10.0
# Number of ticks to measure the work of a tick, and the pause between two [s], as in the loop.
TICKS, PAUSE_S = 500, 0.001

Progress = Callable[[str], None]


def check_pace(rig: Rig, progress: Progress) -> list[Check]:
    """Measure wake-ups and the work of a tick with the rights that the loop would get; no checks in virtual time."""
    config = rig.config
    if config.clock != "realtime":
        return []
    progress(f"measuring for {CHECK_S:g} s whether this machine holds {config.loop.rate_hz} Hz")
    with rights(rights_wanted(config.realtime, config.clock, config.rig)) as granted:
        pace = measure_wake_ups(config.loop.rate_hz, CHECK_S, _allowed_us(config.daq, config.limits), _costs(rig))
    longest_ms = max((stall.length_ns * 1e-6 for stall in pace.stalls), default=0.0)
    count = f"{len(pace.stalls)}, longest {longest_ms:.0f} ms" if pace.stalls else "none"
    period = f"work and wake-up (p99) within {1e6 / config.loop.rate_hz:.0f} us"
    quiet = "end other programs on this machine; turn off its power saving; or use a machine with a real-time kernel"
    away_ms, source = _away_ms(config.daq, config.limits)
    stalls = f"none over {away_ms:g} ms ({source}), each of which ends a run in Safe"
    return [
        Check("wake-up of the loop", True, _in_words(pace.wake_us), f"within {pace.allowed_us:.0f} us (p99.9)"),
        Check("work of a tick", True, _in_words(pace.work_us or {}), period),
        # a stall says little about when the next comes, but on a real rig the wheels keep turning during it
        Check("machine stalls", config.rig != "real" or longest_ms <= away_ms, count, stalls, quiet),
        Check(
            "rate of the loop", pace.holds, _verdict(pace), period,
            "" if pace.holds else _advice(pace, granted, config.rig),
        ),
        *([_virtual_time(pace.holds and longest_ms <= away_ms)] if config.rig == "simulated_wire" else []),
    ]  # fmt: skip


def _virtual_time(holds: bool) -> Check:
    """What a machine that does not hold real time can still do with simulated devices."""
    found = "not needed here" if holds else "needed here: this machine does not hold real time"
    return Check("virtual time", True, found, "runs with --clock lockstep hold on any machine, on this rig")


def refuse_without_pace(rig: Rig, granted: Sequence[RealtimeRight], progress: Progress) -> None:
    """Measure before the run whether this machine holds the loop's rate, if the loop has no real-time priority.

    With priority, only a stall of the machine can delay the loop, and a second of measurement says nothing about those.
    Without, any other program can, and a second shows it: all processes of the run are working by then.

    Raises:
        NotArmedError: it does not hold the rate.
    """
    config = rig.config
    real_time = any(item.name == "scheduler" and item.granted for item in granted)
    if config.clock != "realtime" or real_time or not config.realtime.measure_s:
        return
    progress(f"measuring for {config.realtime.measure_s:g} s whether this machine holds {config.loop.rate_hz} Hz")
    pace = measure_wake_ups(config.loop.rate_hz, config.realtime.measure_s, _allowed_us(config.daq, config.limits))
    if not pace.holds:
        raise NotArmedError(
            f"not armed: without real-time rights, {_verdict(pace)}; {_advice(pace, granted, config.rig)}"
        )


def _allowed_us(daq: DaqConfig | None, limits: LimitsConfig) -> float:
    """Largest allowed lateness of a wake-up [us]: the limit of `_away_ms`, less the time of two blocks of samples."""
    return (_away_ms(daq, limits)[0] - (2.0 * daq.block_ms if daq else 0.0)) * 1e3


def _away_ms(daq: DaqConfig | None, limits: LimitsConfig) -> tuple[float, str]:
    """How long the loop may be interrupted [ms], and which setting says so: without force sensors, the dead-man."""
    return (limits.daq_age_ms, "limits.daq_age_ms") if daq else (DEAD_MAN_NS * 1e-6, "the dead-man's time")


def _verdict(pace: WakeUpTest) -> str:
    can = "can" if pace.holds else "cannot"
    wake = f"wake-up p99 {pace.wake_us['p99'] * 1e-3:.2f} ms, p99.9 {pace.wake_us['p99_9'] * 1e-3:.2f} ms"
    return f"this machine {can} hold {pace.rate_hz} Hz: {wake}, {pace.skipped} of {pace.ticks + pace.skipped} skipped"


def _advice(pace: WakeUpTest, granted: Iterable[RealtimeRight], rig: str) -> str:
    """Remedies."""
    if pace.proposed_hz:
        parts = [f"run with --set loop.rate_hz={pace.proposed_hz}"]
    else:
        parts = [f"no lower rate helps: at any rate wake-ups may be {pace.allowed_us * 1e-3:.0f} ms late (p99.9)"]
    refused = [
        f"grant {item.name} {item.wanted}: {item.detail}"
        for item in granted
        if item.name == "scheduler" and not item.granted
    ]
    if not any(item.name == "scheduler" for item in granted):
        refused.append("set realtime.fifo_priority, which is 0")
    virtual = ["make the run in virtual time, with --clock lockstep"] if rig == "simulated_wire" else []
    return "; or ".join([*parts, *refused, *virtual])


def _in_words(times_us: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', '.')} {time_us:.0f} us" for name, time_us in times_us.items()) or "not known"


def _costs(rig: Rig) -> Histogram:
    """The work of ticks of a trial, measured in virtual time."""
    costs = _TickCosts()
    simulated_rig = build_simulated_rig(rig)
    devices = simulated_rig_io(rig.layout, simulated_rig)
    cycle = build_cycle(rig, devices, costs, folder=None)
    devices.open()
    for number in range(1, TICKS + 1):
        t_ns = number * 1_000_000_000 // rig.rate_hz
        simulated_rig.advance(t_ns)
        time.sleep(PAUSE_S)
        cycle.run(Tick(number, t_ns, time.monotonic_ns(), 0))
    devices.close()
    return costs.times


class _TickCosts:
    """A record sink that keeps only the work of ticks (`hil.recording.sinks.RecordSink`)."""

    def __init__(self) -> None:
        self.times = Histogram()

    def tick(self, rows: Rows) -> None:
        """Nothing to keep."""

    def timing(self, rows: Rows) -> None:
        """Count the work of ticks."""
        for work_ns in rows["work_ns"].tolist():
            self.times.add(work_ns)

    def block(self, block: DaqBlock, group: str = "daq") -> None:
        """Nothing to keep."""

    def event(self, row: Rows) -> None:
        """Nothing to keep."""


# Least share of the set rate: beyond this, a link that loses more rounds soon has samples that are too old (fault 2).
LEAST_SHARE = 0.8
# The rate is that of so many seconds at least; a link that has just been opened may take the second time [s].
MEASURED_S, GETS_S, LOOK_S = 0.3, 2.0, 0.02
_FASTER = "raise the baud rate, or lower {key}; end other programs on this machine"
_VIRTUAL = "; or run in virtual time, with --clock lockstep"


def rate_check(devices: DevicesConfig | None, rig: str, name: str, rate_hz: float) -> Check | None:
    """The check of a link's rate; None where the link has none.

    Args:
        devices: section of the config.
        rig: the same, simulated or not.
        name: of the link, one of `CONFIRMING`.
        rate_hz: rounds that it makes [1/s]; NaN: none, or it does not count them.
    """
    section = getattr(devices, name, None)
    moves = name in ("drives", "servos")  # without rounds these stop by themselves
    if section is None or (math.isnan(rate_hz) and not moves):
        return None
    key = f"devices.{name}.rate_hz"
    least_hz, why = LEAST_SHARE * section.rate_hz, f"{LEAST_SHARE:.0%} of {key} ({section.rate_hz:g})"
    if moves:
        driver = drives_driver(section) if name == "drives" else servos_driver(section)
        _, timeout_ms = driver.timeout(section)
        if (keeps_hz := 1e3 * PERIODS_IN_TIMEOUT / timeout_ms) > least_hz:
            least_hz, why = keeps_hz, f"for the {name}' time-out of {timeout_ms:g} ms"
    to_do = _FASTER.format(key=key) + (_VIRTUAL if rig == "simulated_wire" else "")
    allowed = f"at least {least_hz:.4g}, {why}"
    found = "not known" if math.isnan(rate_hz) else f"{rate_hz:.1f} rounds a second"
    return Check(f"rate of the {name}", rate_hz >= least_hz, found, allowed, to_do)


def refuse_slow_links(rig: str, devices: DevicesConfig | None, shared: RunMemory, host: Host) -> None:
    """Let the links work for a moment, with nothing moving, and refuse the run if one does not make its rounds.

    A driver that does not count them is not refused here: `hil check` says so.

    Raises:
        NotArmedError: a link is too slow.
    """
    if rig == "simulated":
        return
    until_ns = host.now_ns() + round(GETS_S * 1e9)
    host.sleep(MEASURED_S)
    while True:
        found = healths(shared)
        rates_hz = {name: _rate_hz(found.get(name)) for name in CONFIRMING}
        over = host.now_ns() >= until_ns
        checks = [rate_check(devices, rig, name, hz) for name, hz in rates_hz.items() if not (over and math.isnan(hz))]
        slow = [check for check in checks if check is not None and not check.ok]
        if not slow:
            return
        if over:
            raise NotArmedError(
                "not armed: " + "; ".join(f"{c.item}: found {c.found}, allowed {c.allowed}; {c.to_do}" for c in slow)
            )
        host.sleep(LOOK_S)


def _rate_hz(health: dict[str, object] | None) -> float:
    rate_hz = None if health is None else health.get("rate_hz")
    return float(rate_hz) if isinstance(rate_hz, int | float) else math.nan


# Rates that may be proposed; a second is a whole number of periods of each [Hz].
RATES_HZ = (2000, 1000, 500, 250, 200, 125, 100)


class WakeUpTest(NamedTuple):
    """Measurement at one rate.

    Attributes:
        rate_hz: ticks per second.
        wake_us: quantiles of the wake-up latency [us], as in summary.json.
        work_us: quantiles of the work of a tick [us]; None: not known.
        skipped: whole periods skipped.
        ticks: number of ticks made.
        stalls: wake-ups late by more than hil.realtime.stalls.STALL_NS.
        allowed_us: largest allowed lateness of 999 of 1000 wake-ups of any process of a run, at any rate [us].
    """

    rate_hz: int
    wake_us: Mapping[str, float]
    work_us: Mapping[str, float] | None
    skipped: int
    ticks: int
    stalls: tuple[Stall, ...]
    allowed_us: float

    @property
    def holds(self) -> bool:
        """The rate can be held, according to the measurement."""
        return self.wake_us["p99_9"] <= self.allowed_us and self._fits(self.rate_hz)

    @property
    def proposed_hz(self) -> int | None:
        """The highest lower rate that would have been held; None: there is none.

        A lower rate slows down only the loop: the delay of sensor samples on their way to it stays the same.
        """
        if self.wake_us["p99_9"] > self.allowed_us:
            return None
        return next((rate_hz for rate_hz in RATES_HZ if rate_hz < self.rate_hz and self._fits(rate_hz)), None)

    def _fits(self, rate_hz: int) -> bool:
        """Wake-up and work of 99 % of ticks end before the next is due; the work alone takes under MOST_BUSY of it."""
        period_us = 1e6 / rate_hz
        work_us = self.work_us["p99"] if self.work_us else 0.0
        return work_us <= MOST_BUSY * period_us and self.wake_us["p99"] + work_us <= period_us


def measure_wake_ups(
    rate_hz: int,
    seconds: float,
    allowed_us: float,
    work: Histogram | None = None,
    now: Callable[[], int] = time.monotonic_ns,
    sleep_until: Callable[[int], None] | None = None,
) -> WakeUpTest:
    """Tick like the loop, with the rights of the calling thread, without any work.

    Args:
        rate_hz: ticks per second.
        seconds: duration [s].
        allowed_us: see `WakeUpTest`.
        work: work of ticks, measured before; None: not known.
        now: reads CLOCK_MONOTONIC [ns].
        sleep_until: returns at a time of that clock [ns] or later.
    """
    clock = RealtimeClock(rate_hz, now=now, sleep_until=sleep_until)
    while clock.next().t_ns < seconds * 1e9:
        pass
    stalls = tuple(clock.stalls.take())
    work_us = work.summary_us() if work else None
    return WakeUpTest(rate_hz, clock.wake.summary_us() or {}, work_us, clock.skipped, clock.ticks, stalls, allowed_us)
