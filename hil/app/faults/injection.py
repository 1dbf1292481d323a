"""What is injected, what is expected of it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from drivers.interfaces import DeviceError
from hil.safety.fault_table import FAULT_TABLE

# Where an injection runs.
LOCKSTEP, VIRTUAL_TIME, PROCESSES, NO_RUN = "lockstep", "virtual time", "processes", "no run"
# A trial in real time may end by itself before its signal, as on a busy machine: it is made so often at most.
TRIES = 3


class NotInjectedError(Exception):
    """A fault could not be injected; the text says why."""


@contextmanager
def preparation(*kinds: type[Exception]) -> Iterator[None]:
    """Errors in here are none of the controller: the fault has not been injected yet.

    Args:
        kinds: of the errors, beside DeviceError.

    Raises:
        NotInjectedError: there was such an error.
    """
    expected: tuple[type[Exception], ...] = (DeviceError, *kinds)
    try:
        yield
    except expected as error:
        raise NotInjectedError(f"no trial could be made: {error}") from error


@dataclass(frozen=True)
class Injection:
    """One fault, where and when it is injected.

    Attributes:
        row: of the fault table.
        kind: of the fault.
        device: that has it.
        state: of the experiment at that time, in lower case; "-" without a run.
        level: where it runs: LOCKSTEP, VIRTUAL_TIME, PROCESSES or NO_RUN.
        rig: name of the config that it runs on.
    """

    row: int
    kind: str
    device: str
    state: str
    level: str
    rig: str

    @property
    def fault(self) -> str:
        """Name of the row."""
        return FAULT_TABLE[self.row].name


@dataclass(frozen=True)
class Expected:
    """What must come of an injection.

    Attributes:
        rows: the fault noticed first must be one of these rows of the fault table; empty: no fault may be noticed.
        detect_ms: longest time from the injection to the detection [ms]; None: not a matter of time.
        react_ms: longest time from the injection until everything is stopped [ms]; None: as above.
        optional: it need not be noticed.
    """

    rows: frozenset[int] = frozenset()
    detect_ms: float | None = None
    react_ms: float | None = None
    optional: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of an injection.

    Attributes:
        detected_ms: from the injection until it was noticed [ms]; None: it was not, or time is of no matter.
        reacted_ms: from the injection until everything was stopped [ms]; None: no reaction was wanted, or as above.
        wrong: what is not as it must be, in words; empty: all is.
        remark: what else there is to know.
        disturbed: what this machine or the simulated rig did late beside it: the times then say nothing about the
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
    """An injection that can be made, once or more often.

    Attributes:
        injection: what is injected.
        expected: what must come of it.
        run: makes it.
    """

    injection: Injection
    expected: Expected
    run: Callable[[Expected], Outcome]

    def result(self) -> FaultResult:
        """Make it, again if it could not be injected. An exception of the injection itself is a wrong result."""
        for _ in range(TRIES):
            try:
                outcome = self.run(self.expected)
            except NotInjectedError as error:
                outcome = Outcome(disturbed=str(error), injected=False)
            except Exception as error:  # the other injections are made all the same
                outcome = Outcome(wrong=(f"{type(error).__name__}: {error}",))
            if outcome.injected:
                break
        return FaultResult(self.injection, self.expected, outcome)


@dataclass(frozen=True)
class FaultResult:
    """An injection with what was expected of it and what came of it."""

    injection: Injection
    expected: Expected
    outcome: Outcome

    @property
    def ok(self) -> bool:
        """All is as it must be."""
        return not self.outcome.wrong

    @property
    def bound_ms(self) -> float | None:
        """Longest time allowed, to the reaction if there is one, otherwise to the detection [ms]."""
        expected, outcome = self.expected, self.outcome
        nothing_ran = outcome.reacted_ms is None and outcome.detected_ms is not None
        return expected.detect_ms if expected.react_ms is None or nothing_ran else expected.react_ms

    def row(self) -> dict[str, Any]:
        """For JSON (docs/reference/faults.md)."""
        injection, outcome = self.injection, self.outcome
        return {
            "id": int(injection.row),
            "fault": injection.fault,
            "kind": injection.kind,
            "device": injection.device,
            "state": injection.state,
            "detected_ms": outcome.detected_ms,
            "reacted_ms": outcome.reacted_ms,
            "bound_ms": self.bound_ms,
            "ok": self.ok if outcome.injected else None,
            "level": injection.level,
            "rig": injection.rig,
            "disturbed": outcome.disturbed,
            "detail": "; ".join(outcome.wrong) or outcome.remark,
        }


def times_wrong(expected: Expected, detected_ms: float | None, reacted_ms: float | None) -> list[str]:
    """Times over their bounds, in words."""
    pairs = (("noticed", detected_ms, expected.detect_ms), ("stopped", reacted_ms, expected.react_ms))
    return [
        f"{what} after {found_ms:.1f} ms, allowed: {allowed_ms:.1f}"
        for what, found_ms, allowed_ms in pairs
        if found_ms is not None and allowed_ms is not None and found_ms > allowed_ms + 1e-6
    ]
