"""Watches the instruments of motion: rows 33 and 40 of the fault table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

from drivers.messages import Reading
from hil.config.schema.instruments import READINGS_TO_ARM
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.fault import Alarm, Check, Fault
from hil.messages.stages import SOURCE_STATES, Prediction, Samples
from hil.safety.instrument_values import RestReadings, Value, values_of

LEFT_OUT = SOURCE_STATES.index("left_out")
# States as a source of the observer that allow arming: one reading of a good source may be rejected, and a source may
# not be known yet.
_FIT = tuple(SOURCE_STATES.index(name) for name in ("none", "used", "rejected"))
# Readings at rest are looked at over so long at least, or over READINGS_TO_ARM periods, the newest [ns], and so many of
# them show how much they scatter.
WINDOW_NS, LEAST_AT_REST = 1_000_000_000, 3
_PLAYED_BACK = "it plays a recording back, allowed: live readings; switch it to live"


class _Spread:
    """Mean and standard deviation of readings, updated in place."""

    def __init__(self, channels: int) -> None:
        self.count, self.began_ns = 0, 0
        self._mean, self._squares = [0.0] * channels, [0.0] * channels

    def clear(self, t_ns: int) -> None:
        self.count, self.began_ns = 0, t_ns
        for place in range(len(self._mean)):
            self._mean[place] = self._squares[place] = 0.0

    def add(self, value: Value) -> None:
        """Welford's update."""
        self.count += 1
        for place, each in enumerate(value):
            off = each - self._mean[place]
            self._mean[place] += off / self.count
            self._squares[place] += off * (each - self._mean[place])

    def at_rest(self) -> RestReadings:
        others = max(self.count - 1, 1)
        return RestReadings(
            self.count, tuple(self._mean), tuple([math.sqrt(max(one, 0.0) / others) for one in self._squares])
        )


class InstrumentSource:
    """Watches the readings of one instrument.

    Attributes:
        role: as given.
        needed: the experiment cannot go on without it.
        noted: causes that have been recorded.
    """

    def __init__(self, role: str, config: UncheckedConfig) -> None:
        section = config.instruments[role]
        self.role, self.needed, self.noted = role, role in config.needed_instruments, set[str]()
        self._channels = config.layout.parts(role)
        self._values = values_of(role, config)
        self._stale_ms, self._stale_ns = section.stale_ms, round(section.stale_ms * 1e6)
        self._frozen_readings = section.frozen_readings
        self._window_ns = max(WINDOW_NS, round(READINGS_TO_ARM * 1e9 / section.rate_hz))
        self._reading = Reading.unread(len(self._channels))
        self._found = list[Alarm]()  # in the newest reading
        self._whole: Value = ()  # the newest with a number of each channel; empty: none yet
        self._whole_ns, self._equal = 0, 0
        self._number_ns = [0] * len(self._channels)  # when each channel had one last
        self._standing, self._spread, self._spread_before = True, *(_Spread(len(self._channels)) for _ in range(2))
        self._state, self._innovation = 0, math.nan

    def moves(self) -> None:
        """From now on the rover is driven: its readings are none at rest any more."""
        self._standing = False

    def take(self, reading: Reading) -> None:
        """Take the newest reading; one that is not new changes nothing."""
        if reading.t_ns == self._reading.t_ns:
            return
        self._reading = reading
        self._found.clear()
        if not reading.live:
            self._found.append(Alarm(Fault.NOT_LIVE, math.nan, math.nan, _PLAYED_BACK, cause="not live"))
        elif math.isfinite(sum(reading.value)):
            self._take_whole(reading.t_ns, reading.value)
            return
        self._equal = 0
        for place, each in enumerate(reading.value):
            if math.isfinite(each) or not reading.live:
                self._number_ns[place] = reading.t_ns
            elif (silent_ns := reading.t_ns - self._number_ns[place]) > self._stale_ns:
                self._found.append(self._silent(self._channels[place], silent_ns))

    def _take_whole(self, t_ns: int, value: Value) -> None:
        """Take a reading with a number of each channel."""
        before, span_s = self._whole, (t_ns - self._whole_ns) * 1e-9
        self._whole, self._whole_ns = value, t_ns
        for place in range(len(value)):
            self._number_ns[place] = t_ns
        self._equal = self._equal + 1 if value == before else 1
        if self._frozen_readings and self._equal >= self._frozen_readings:
            self._found.append(self._frozen())
        if before and (jump := self._values.jumped(before, value, span_s)) is not None:
            self._found.append(jump)
        if (outside := self._values.outside(value)) is not None:
            self._found.append(outside)
        if self._standing:
            self._take_at_rest(t_ns, value)

    def judge(self, state: int, innovation: float) -> None:
        """Take its state as a source of the observer, a code of `SOURCE_STATES`, and its innovation."""
        self._state, self._innovation = state, innovation

    def wrong(self, t_ns: int) -> Sequence[Alarm]:
        """All that is wrong with it at a time of the run [ns]."""
        age_ns = t_ns - self._reading.t_ns
        if age_ns <= self._stale_ns and self._state != LEFT_OUT:
            return self._found
        found = list(self._found)
        if age_ns > self._stale_ns:
            found.append(self._stale(age_ns))
        if self._state == LEFT_OUT:
            found.append(self._left_out())
        return found

    def _stale(self, age_ns: int) -> Alarm:
        since = "no reading yet" if self._reading.t_ns < 0 else f"newest reading {age_ns * 1e-6:.0f} ms old"
        words = f"{since}, allowed: {self._stale_ms:g} ms ({self.role}.stale_ms); look at its cable and power"
        return Alarm(Fault.MEASURED_MOTION, age_ns * 1e-6, self._stale_ms, words, cause="stale")

    def _silent(self, channel: str, silent_ns: int) -> Alarm:
        words = (
            f"{channel[:24]} without a number for {silent_ns * 1e-6:.0f} ms, allowed: {self._stale_ms:g} "
            f"({self.role}.stale_ms); see its view"
        )
        return Alarm(Fault.MEASURED_MOTION, silent_ns * 1e-6, self._stale_ms, words, cause="not finite")

    def _frozen(self) -> Alarm:
        allowed = f"below {self._frozen_readings} ({self.role}.frozen_readings)"
        words = f"{self._equal} equal readings in a row, allowed: {allowed}; restart it"
        return Alarm(Fault.MEASURED_MOTION, self._equal, self._frozen_readings, words, cause="frozen")

    def _left_out(self) -> Alarm:
        found = f"left out by the observer, innovation {self._innovation:.3g}"
        words = f"{found}, expected: about 1; see its mounting and zero"
        return Alarm(Fault.MEASURED_MOTION, self._innovation, 1.0, words, cause="left out")

    def arming_checks(self, t_ns: int) -> list[Check]:
        """Whether it can be trusted at a time of the run [ns]: age, numbers, changes, what it reads at rest."""
        role, age_ns = self.role, t_ns - self._reading.t_ns
        unread = self._reading.t_ns < 0
        allowed = f"at most {self._stale_ms:g} ms ({role}.stale_ms)"
        to_do = f"look at its power and cable; without it, take {role} out of the config"
        found = "no reading yet" if unread else f"{age_ns * 1e-6:.0f} ms"
        checks = [Check(f"{role} reading age", not unread and age_ns <= self._stale_ns, found, allowed, to_do)]
        if unread:
            return checks
        return [*checks, *self._numbers(), *self._at_rest(), self._as_source()]

    def _numbers(self) -> list[Check]:
        """Whether each channel has a number, and whether they change."""
        if not self._reading.live:
            to_do = "switch the instrument from its recording to what it measures now"
            return [Check(f"{self.role} live", False, "it plays a recording back", "live readings", to_do)]
        role, pairs = self.role, zip(self._channels, self._reading.value, strict=True)
        none = [name for name, each in pairs if not math.isfinite(each)]
        found = f"no number of {', '.join(none)}" if none else "numbers"
        checks = [Check(f"{role} values", not none, found, "a number of each", "look at what the instrument sees")]
        if self._frozen_readings:
            ok, allowed = self._equal < self._frozen_readings, f"below {self._frozen_readings} ({role}.frozen_readings)"
            to_do = f"restart it; one whose steps are coarser than its noise needs {role}.frozen_readings: 0"
            checks.append(Check(f"{role} equal readings in a row", ok, f"{self._equal}", allowed, to_do))
        return checks

    def _at_rest(self) -> list[Check]:
        both = self._spread_before, self._spread  # the newer one, unless it has only begun
        rest = max(both, key=lambda one: (min(one.count, LEAST_AT_REST), one.began_ns)).at_rest()
        if not self._whole or rest.readings < LEAST_AT_REST:
            found, allowed = f"{rest.readings} readings", f"at least {LEAST_AT_REST}"
            return [Check(f"{self.role} at rest", False, found, allowed, "let the instrument send for a moment")]
        return self._values.checks(self._whole, rest)

    def _as_source(self) -> Check:
        """Whether the observer uses it; one that the experiment can do without may have to be aligned first."""
        found = SOURCE_STATES[self._state].replace("_", " ")
        to_do = f"look at mounting and zero of the instrument ({self.role} in the config): hil calibrate {self.role}"
        allowed = "not left out, not stale" if self.needed else "any: the run can do without it, and is marked"
        return Check(f"{self.role} as a source", self._state in _FIT or not self.needed, found, allowed, to_do)

    def _take_at_rest(self, t_ns: int, value: Value) -> None:
        spread = self._spread
        if t_ns - spread.began_ns > self._window_ns:
            self._spread, self._spread_before = self._spread_before, spread
            self._spread.clear(t_ns)
        self._spread.add(value)


class InstrumentMonitor:
    """Watches each instrument of motion that the rig has.

    What is wrong with one that the experiment needs is latched, as long as it is there. One that it does not need is
    marked once for each cause: the run goes on without it.
    """

    def __init__(self, sources: Sequence[InstrumentSource]) -> None:
        self._sources = [(attrgetter(source.role), source) for source in sources]
        self.watched = bool(self._sources)

    def alarms(self, samples: Samples, prediction: Prediction) -> Iterator[Alarm]:
        """What is wrong with an instrument in this tick."""
        observed = prediction.observed
        for place, (reading_of, source) in enumerate(self._sources):
            source.take(reading_of(samples))
            if observed is not None:
                source.judge(observed.source[place], observed.innovation[place])
            for alarm in source.wrong(samples.t_ns):
                if source.needed or alarm.cause not in source.noted:
                    source.noted.add(alarm.cause)
                    yield alarm._replace(detail=f"{source.role}: {alarm.detail}", only_marked=not source.needed)

    def record_command(self, cut: bool) -> None:
        """From the first command on that is no cut, the rover does not stand any more."""
        if not cut:
            for _, source in self._sources:
                source.moves()

    def arming_checks(self, samples: Samples) -> list[Check]:
        """Whether each instrument can be trusted; none that the config has may be missing, needed or not."""
        return [check for _, source in self._sources for check in source.arming_checks(samples.t_ns)]
