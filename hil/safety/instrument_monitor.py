"""Watches the instruments of motion: rows 33 and 40 of the fault table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from hil.messages.check import Check
from hil.messages.fault import Fault
from hil.messages.stages import Prediction, Samples
from hil.safety.instrument_source import InstrumentSource

# Latches or marks a fault: fault, value, limit, description.
Report = Callable[[Fault, float, float, str], None]


class InstrumentMonitor:
    """Watches each instrument of motion that the rig has.

    What is wrong with one that the experiment needs is latched, as long as it is there. One that it does not need is
    marked once for each cause: the run goes on without it.

    Args:
        sources: the instruments of the rig, in the order of its layout.

    Attributes:
        watched: whether there is any.
    """

    def __init__(self, sources: Sequence[InstrumentSource]) -> None:
        self._sources = [(attrgetter(source.role), source) for source in sources]
        self.watched = bool(self._sources)

    def check(self, samples: Samples, prediction: Prediction, latch: Report, mark: Report) -> None:
        """Report what is wrong with an instrument in this tick."""
        observed = prediction.observed
        for place, (reading_of, source) in enumerate(self._sources):
            source.take(reading_of(samples))
            if observed is not None:
                source.judge(observed.source[place], observed.innovation[place])
            for cause, value, limit, words, fault in source.wrong(samples.t_ns):
                if source.needed:
                    latch(fault, value, limit, f"{source.role}: {words}")
                elif cause not in source.noted:
                    source.noted.add(cause)
                    mark(fault, value, limit, f"{source.role}: {words}")

    def record_command(self, cut: bool) -> None:
        """From the first command on that is no cut, the rover does not stand any more."""
        if not cut:
            for _, source in self._sources:
                source.moves()

    def arming_checks(self, samples: Samples) -> list[Check]:
        """Whether each instrument can be trusted; none that the config has may be missing, needed or not."""
        return [check for _, source in self._sources for check in source.arming_checks(samples.t_ns)]
