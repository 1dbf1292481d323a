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
from hil.safety.limits import Limit

LEFT_OUT = SOURCE_STATES.index("left_out")
# States as a source of the observer that allow arming: one reading of a good source may be rejected, and a source may
# not be known yet.
_FIT = tuple(SOURCE_STATES.index(name) for name in ("none", "used", "rejected"))
# Readings at rest are looked at over so long at least, or over READINGS_TO_ARM periods, the newest [ns], and so many of
# them show how much they scatter.
WINDOW_NS, LEAST_AT_REST = 1_000_000_000, 3
_PLAYED_BACK = "it plays a recording back, allowed: live readings; switch it to live"


def readings_limits(role: str, stale_ms: float, frozen_readings: int) -> tuple[Limit, Limit, Limit]:
    """Age of the newest reading of an instrument, time of a channel without a number, and equal readings in a row.

    `frozen_readings`: 0: they may stay constant.
    """
    to_do = f"look at its power and cable; without it, take {role} out of the config"
    words = "{since}, allowed: {bound:g} ms ({0.setting}); look at its cable and power"
    fault, key = Fault.MEASURED_MOTION, f"{role}.stale_ms"
    age = Limit(f"{role} reading age", "ms", stale_ms, key, to_do, fault, words, shown=".0f", cause="stale")
    words = "{channel} without a number for {value:.0f} ms, allowed: {bound:g} ({0.setting}); see its view"
    silence = age._replace(item="time without a number", detail=words, cause="not finite")
    words = "{value:.0f} equal readings in a row, allowed: below {bound:g} ({0.setting}); restart it"
    to_do = f"restart it; one whose steps are coarser than its noise needs {role}.frozen_readings: 0"
    item, most, key = f"{role} equal readings in a row", frozen_readings or math.inf, f"{role}.frozen_readings"
    return age, silence, Limit(item, "", most, key, to_do, fault, words, shown=".0f", strict=True, cause="frozen")


class InstrumentSource:
    """Watches the readings of one instrument.

    Attributes:
        role: as given.
        needed: the experiment cannot go on without it.
        noted: causes that have been recorded.
        standing: the rover is not driven yet: its readings are at rest.
        state: as a source of the observer, a code of `SOURCE_STATES`, and its innovation there.
    """

    def __init__(self, role: str, config: UncheckedConfig) -> None:
        section = config.instruments[role]
        self.role, self.needed, self.noted = role, role in config.needed_instruments, set[str]()
        self._channels = config.layout.parts(role)
        self._values = values_of(role, config)
        self._age, self._silence, self._equals = readings_limits(role, section.stale_ms, section.frozen_readings)
        self._window_ns = max(WINDOW_NS, round(READINGS_TO_ARM * 1e9 / section.rate_hz))
        self._reading = Reading.unread(len(self._channels))
        self._found = list[Alarm]()  # in the newest reading
        self._whole: Value = ()  # the newest with a number of each channel; empty: none yet
        self._whole_ns, self._equal = 0, 0
        self._number_ns = [0] * len(self._channels)  # when each channel had one last
        self.standing, self._spread, self._spread_before = True, *(RestReadings(len(self._channels)) for _ in range(2))
        self.state = 0, math.nan

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
            else:
                silent_ms = (reading.t_ns - self._number_ns[place]) * 1e-6
                self._found += filter(None, [self._silence.alarm(silent_ms, channel=self._channels[place][:24])])

    def _take_whole(self, t_ns: int, value: Value) -> None:
        """Take a reading with a number of each channel."""
        before, span_s = self._whole, (t_ns - self._whole_ns) * 1e-9
        self._whole, self._whole_ns = value, t_ns
        self._number_ns[:] = [t_ns] * len(value)
        self._equal = self._equal + 1 if value == before else 1
        if frozen := self._equals.alarm(self._equal):
            self._found.append(frozen)
        self._found += self._values.alarms(before, value, span_s)
        if self.standing:
            self._take_at_rest(t_ns, value)

    def wrong(self, t_ns: int) -> Sequence[Alarm]:
        """All that is wrong with it at a time of the run [ns]."""
        age_ms = (t_ns - self._reading.t_ns) * 1e-6
        if age_ms <= self._age.most and self.state[0] != LEFT_OUT:
            return self._found
        since = "no reading yet" if self._reading.t_ns < 0 else f"newest reading {age_ms:.0f} ms old"
        found = [*self._found, *filter(None, [self._age.alarm(age_ms, since=since)])]
        state, off = self.state
        if state == LEFT_OUT:
            words = f"left out by the observer, innovation {off:.3g}, expected: about 1; see its mounting and zero"
            found.append(Alarm(Fault.MEASURED_MOTION, off, 1.0, words, cause="left out"))
        return found

    def arming_checks(self, t_ns: int) -> list[Check]:
        """Whether it can be trusted at a time of the run [ns]: age, numbers, changes, what it reads at rest."""
        if self._reading.t_ns < 0:
            return [self._age.check(math.nan, "no reading yet")]
        age = self._age.check((t_ns - self._reading.t_ns) * 1e-6)
        return [age, *self._numbers(), *self._at_rest(), self._as_source()]

    def _numbers(self) -> list[Check]:
        """Whether each channel has a number, and whether they change."""
        if not self._reading.live:
            to_do = "switch the instrument from its recording to what it measures now"
            return [Check(f"{self.role} live", False, "it plays a recording back", "live readings", to_do)]
        pairs = zip(self._channels, self._reading.value, strict=True)
        none = [name for name, each in pairs if not math.isfinite(each)]
        found, to_do = f"no number of {', '.join(none)}" if none else "numbers", "look at what the instrument sees"
        values = Check(f"{self.role} values", not none, found, "a number of each", to_do)
        return [values] if math.isinf(self._equals.most) else [values, self._equals.check(self._equal)]

    def _at_rest(self) -> list[Check]:
        both = self._spread_before, self._spread  # the newer one, unless it has only begun
        rest = max(both, key=lambda one: (min(one.count, LEAST_AT_REST), one.began_ns))
        if not self._whole or rest.count < LEAST_AT_REST:
            to_do = "let the instrument send for a moment"
            allowed = f"at least {LEAST_AT_REST}"
            return [Check(f"{self.role} at rest", False, f"{rest.count} readings", allowed, to_do)]
        return self._values.checks(self._whole, rest)

    def _as_source(self) -> Check:
        """Whether the observer uses it; one that the experiment can do without may have to be aligned first."""
        found = SOURCE_STATES[self.state[0]].replace("_", " ")
        to_do = f"look at mounting and zero of the instrument ({self.role} in the config): hil calibrate {self.role}"
        allowed = "not left out, not stale" if self.needed else "any: the run can do without it, and is marked"
        return Check(f"{self.role} as a source", self.state[0] in _FIT or not self.needed, found, allowed, to_do)

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
                source.state = observed.source[place], observed.innovation[place]
            for alarm in source.wrong(samples.t_ns):
                if source.needed or alarm.cause not in source.noted:
                    source.noted.add(alarm.cause)
                    yield alarm._replace(detail=f"{source.role}: {alarm.detail}", only_marked=not source.needed)

    def record_command(self, cut: bool) -> None:
        """From the first command on that is no cut, the rover does not stand any more."""
        if not cut:
            for _, source in self._sources:
                source.standing = False

    def arming_checks(self, samples: Samples) -> list[Check]:
        """Whether each instrument can be trusted; none that the config has may be missing, needed or not."""
        return [check for _, source in self._sources for check in source.arming_checks(samples.t_ns)]
