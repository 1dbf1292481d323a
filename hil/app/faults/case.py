"""One case: what is injected, where and when, what it must lead to, and what it led to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from drivers.interfaces import DeviceError
from hil.config import Config
from hil.messages.fault import STOP_WRITTEN_NS
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes, bound_ms

# The levels at which a case runs.
LOCKSTEP, VIRTUAL_TIME, PROCESSES, NO_RUN = "lockstep", "virtual time", "processes", "no run"
# From the decision to stop a link to the last byte of its stop frames [ms].
STOP_MS = STOP_WRITTEN_NS * 1e-6
# A trial in real time may end by itself before its signal, as on a busy machine: it is made so often at most.
TRIES = 3


class NotInjectedError(Exception):
    """A fault could not be injected; the text says why."""


@contextmanager
def preparation(*kinds: type[Exception]) -> Iterator[None]:
    """Errors in here are none of the controller: the fault has not been injected yet.

    Raises:
        NotInjectedError: there was such an error.
    """
    expected: tuple[type[Exception], ...] = (DeviceError, *kinds)
    try:
        yield
    except expected as error:
        raise NotInjectedError(f"no trial could be made: {error}") from error


@dataclass(frozen=True)
class ExpectedOutcome:
    """What must come of a case.

    Attributes:
        rows: the fault noticed first must be one of these rows of the fault table; empty: no fault may be noticed.
        detect_ms: longest time from the injection to the detection [ms]; None: not a matter of time.
        react_ms: longest time from the injection until everything is stopped [ms]; None: as above.
        optional: it need not be noticed.
        says: the text of the fault noticed first has these words.
        ends: the loop does not go on after it.
        marked: the run goes on to its end, where its residuals may mark it; this counts as noticed.
        refused: arming is refused, and nothing is driven.
        unchanged: the ticks are those of a run without it.
        goes_on: the run goes on, and nothing but a mark of an instrument of motion comes of it.
        refused_with: the devices are not opened: the error has these words, and nothing is driven.
    """

    rows: frozenset[int] = frozenset()
    detect_ms: float | None = None
    react_ms: float | None = None
    optional: bool = False
    says: str = ""
    ends: bool = False
    marked: bool = False
    refused: bool = False
    unchanged: bool = False
    goes_on: bool = False
    refused_with: str = ""


def expect(*rows: int, detect_ms: float | None = None, react_ms: float | None = None, **more: Any) -> ExpectedOutcome:
    """What must come of a case, by the rows of the fault table of which one is noticed first."""
    return ExpectedOutcome(frozenset(rows), detect_ms, react_ms, **more)


def within(
    times: ReactionTimes,
    row: int,
    *also: int,
    device: str = "",
    late_ms: float = 0.0,
    stop_ms: float | None = STOP_MS,
    own_ms: float = 0.0,
    **more: Any,
) -> ExpectedOutcome:
    """Noticed within the bound of a row of the fault table, and stopped by the cut that follows.

    Args:
        times: of the rig.
        row: as which it is noticed, and whose bound holds.
        also: other rows as which it may be noticed.
        device: link, where the bound is that of one.
        late_ms: from the injection until its effect begins [ms].
        stop_ms: from the detection until everything is stopped [ms]; None: the run is only marked, or stops otherwise.
        own_ms: time-out of a device that takes no command any more [ms].
        more: of `ExpectedOutcome`.
    """
    detect_ms = bound_ms(row, times, device) + late_ms
    return expect(
        row, *also, detect_ms=detect_ms, react_ms=None if stop_ms is None else max(detect_ms + stop_ms, own_ms), **more
    )


@dataclass(frozen=True)
class InjectionOutcome:
    """What came of a case.

    Attributes:
        detected_ms: from the injection until it was noticed [ms]; None: it was not, or time is of no matter.
        reacted_ms: from the injection until everything was stopped [ms]; None: no reaction was wanted, or as above.
        wrong: what is not as it must be, in words; empty: all is.
        remark: what else there is to know.
        disturbed: what this machine or the simulated rig did late meanwhile: the times then say nothing about the
            controller. Empty: nothing.
        injected: it could be injected; otherwise `disturbed` says why not.
    """

    detected_ms: float | None = None
    reacted_ms: float | None = None
    wrong: tuple[str, ...] = ()
    remark: str = ""
    disturbed: str = ""
    injected: bool = True


@dataclass(frozen=True)
class Case:
    """A row of the case table: data, and the runner of its level.

    Attributes:
        row: of the fault table.
        kind: of the fault.
        device: that has it.
        state: of the experiment at that time, in lower case; "-" without a run.
        level: where it runs: LOCKSTEP, VIRTUAL_TIME, PROCESSES or NO_RUN.
        config: of the rig and the experiment.
        runner: makes the run of such a case, and judges it.
        act: what is done, as the runner takes it.
        at_s: when [s of the run].
        expected: what must come of it.
    """

    row: int
    kind: str
    device: str
    state: str
    level: str
    config: Config
    runner: Callable[[Case], InjectionOutcome]
    act: Any = None
    at_s: float = 0.0
    expected: ExpectedOutcome = ExpectedOutcome()

    @property
    def fault(self) -> str:
        """Name of the row."""
        return FAULT_TABLE[self.row].name

    def result(self) -> FaultResult:
        """Make it, again if it could not be injected. An exception of the injection itself is a wrong result."""
        for _ in range(TRIES):
            try:
                return FaultResult(self, self.runner(self))
            except NotInjectedError as error:
                outcome = InjectionOutcome(disturbed=str(error), injected=False)
            except Exception as error:  # the other cases are made all the same
                return FaultResult(self, InjectionOutcome(wrong=(f"{type(error).__name__}: {error}",)))
        return FaultResult(self, outcome)


@dataclass(frozen=True)
class FaultResult:
    """A case with its outcome."""

    case: Case
    outcome: InjectionOutcome

    @property
    def ok(self) -> bool:
        """All is as it must be."""
        return not self.outcome.wrong

    @property
    def bound_ms(self) -> float | None:
        """Longest time allowed, to the reaction if there is one, otherwise to the detection [ms]."""
        expected, outcome = self.case.expected, self.outcome
        nothing_ran = outcome.reacted_ms is None and outcome.detected_ms is not None
        return expected.detect_ms if expected.react_ms is None or nothing_ran else expected.react_ms

    def row(self) -> dict[str, Any]:
        """For JSON (docs/reference/faults.md)."""
        case, outcome = self.case, self.outcome
        return {
            "id": int(case.row),
            "fault": case.fault,
            "kind": case.kind,
            "device": case.device,
            "state": case.state,
            "detected_ms": outcome.detected_ms,
            "reacted_ms": outcome.reacted_ms,
            "bound_ms": self.bound_ms,
            "ok": self.ok if outcome.injected else None,
            "level": case.level,
            "rig": case.config.name,
            "disturbed": outcome.disturbed,
            "detail": "; ".join(outcome.wrong) or outcome.remark,
        }
