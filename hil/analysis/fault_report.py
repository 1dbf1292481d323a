"""The faults of a run, each with what its record shows a person before, at and after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.recording_checks import carried_of
from hil.analysis.recovery import KILLED
from hil.config import parse_config
from hil.messages.layout import AGED, ROLES, Layout
from hil.messages.signals import AGE
from hil.processes.disturbances import NOTICED_WITHIN_NS, longest_near
from hil.recording import OpenRecord, RecordError, open_trial
from hil.recording.reader import file_of, is_held
from hil.recording.run_folder import recorded_run, summary_of
from hil.recording.sample_writer import RECOVERED
from hil.recording.sinks import carried_fault
from hil.runtime.loop import TICKS_AFTER_FAULT
from hil.safety.fault_table import FAULT_TABLE, FaultRow, ReactionTimes
from hil.simulator.ground_truth import TRUTH

_DEG = 180.0 / math.pi


@dataclass(frozen=True)
class _Quantity:
    """A quantity of a tick."""

    name: str  # with its unit
    text: Callable[[np.void], str]  # its value in a row of `/tick`


def quantities(layout: Layout, states: str, fields: Collection[str]) -> Iterator[_Quantity]:
    """The quantities that tell how a rig fares.

    `states` are those of the experiment as /meta/states of a record names them: 0=idle,1=armed.
    """
    names = _state_names(states)
    yield _Quantity("state", lambda row: names.get(str(row["state"]), str(row["state"])).replace("_", " "))
    yield _yes_or_no("Safe", "safe")
    yield _yes_or_no("drives cut", "cut")
    yield _Quantity("commands clamped", lambda row: str(row["clamped"]))
    yield from _ages(layout, fields)
    if layout.wheels:
        yield _Quantity("set speed of the wheels [rad/s]", lambda row: _range(row["set_speed_radps"]))
    for place, wheel in enumerate(layout.wheels):
        yield _Quantity(f"speed of {wheel} [rad/s]", partial(_element, "wheel_speed_radps", (place,), 1.0, 2))
    if layout.servos:
        yield _yes_or_no("servos cut", "servos_cut")
    for place, joint in enumerate(layout.servos):
        unit, scale = ("mm", 1e3) if joint in layout.slides else ("deg", _DEG)
        yield _Quantity(f"{joint} set [{unit}]", partial(_element, "set_servo_angle_rad", (place,), scale, 1))
        yield _Quantity(f"{joint} [{unit}]", partial(_element, "servo_angle_rad", (place,), scale, 1))
    yield _Quantity("speed of the rover, by the twin [m/s]", lambda row: _number(row["speed_mps"], 3))
    if layout.channels:
        yield _Quantity("sum of the forces [N]", lambda row: _number(row["force_sum_N"], 1))
    if layout.valves:
        yield _Quantity(
            "valves on",
            lambda row: ", ".join(compress(layout.valves, layout.valve_layout.by_valve(row["valves"]))) or "none",
        )
        for place, chamber in enumerate(layout.chambers):
            yield _Quantity(f"pressure {chamber} [kPa]", partial(_element, "pressure_Pa", divmod(place, 2), 1e-3, 0))
    if layout.trigger:
        yield _yes_or_no("camera's trigger line on", "camera_trigger")
    for place, name in enumerate(layout.triggers):
        yield _Quantity(f"trigger line {name} on", partial(_on, "camera_triggers", place))


def _yes_or_no(name: str, field: str) -> _Quantity:
    return _Quantity(name, lambda row: "yes" if row[field] else "no")


def _on(field: str, place: int, row: np.void) -> str:
    return "yes" if row[field][place] else "no"


def _ages(layout: Layout, fields: Collection[str]) -> Iterator[_Quantity]:
    """How old the newest answer of each device is."""
    for link in layout.links:
        name, aged = f"age of the {ROLES[link].says} [ms]", AGE.get(link, "")
        if aged in fields:
            yield _Quantity(name, partial(_element, aged, (), 1e-6, 0))
        elif link in AGED:
            yield _Quantity(name, partial(_since, f"{link}_t_ns"))


def _since(field: str, row: np.void) -> str:
    return _number((row["t_ns"] - row[field]) * 1e-6, 0)


def _element(field: str, place: tuple[int, ...], factor: float, decimals: int, row: np.void) -> str:
    return _number(row[field][place] * factor, decimals)


def _range(values: NDArray[np.float64]) -> str:
    """One number if all are alike, else the lowest and the highest."""
    return " to ".join(dict.fromkeys((_number(values.min(), 2), _number(values.max(), 2))))


def _number(value: float, decimals: int) -> str:
    """A number; "-" for one that is not finite, as of what is not measured."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}" if np.isfinite(value) else "-"  # + 0.0: no -0


# A record holds at least so many ticks before a fault, and TICKS_AFTER_FAULT after it, if the run was that long.
TICKS_BEFORE_FAULT = 500
# Ticks that a report shows, counted from the tick of the fault; within what the record has.
SHOWN = (-TICKS_BEFORE_FAULT, -1, 0, 10, 100, TICKS_AFTER_FAULT)
# A chamber below this share of the supply pressure is empty.
EMPTY = 0.05

Rows = NDArray[np.void]


@dataclass(frozen=True)
class FaultWindow:
    """The ticks on one side of a fault."""

    first: int  # number of its first tick, as far as the run went
    last: int  # of its last one
    found: int  # ticks that the record has
    missing: int  # ticks that the clock skipped, or that were lost


@dataclass(frozen=True)
class _Change:
    """A quantity that changed within the window."""

    quantity: str  # what, with its unit
    values: tuple[str, ...]  # at each of the ticks that the report shows


@dataclass(frozen=True)
class FaultReport:
    """One fault of a run."""

    row: FaultRow  # of the fault table
    event: str  # name of the event: that of the fault, or what watchdog or recorder have noted
    tick: int  # in which it was noticed
    t_s: float  # time of the run then [s]
    value: float | None  # what was found; None: nothing that is a number
    limit: float | None  # what is allowed; None likewise
    detail: str  # the same in words
    # longest time from its cause to the reaction with the config of the run [ms]; None: not a matter of time.
    bound_ms: float | None
    safe_tick: int | None  # first tick in Safe from then on; None: there is none
    # from that tick until all chambers were empty, where pressures are measured [ms]; None: they were before, or not
    # within the record.
    empty_ms: float | None
    before: FaultWindow  # the ticks before that of the fault
    after: FaultWindow  # the ticks after it
    shown: tuple[int, ...]  # ticks of `changes`, counted from that of the fault
    changes: tuple[_Change, ...]  # what changed
    unchanged: tuple[str, ...]  # quantities that did not
    beside: tuple[str, ...]  # stalls of the machine and late actions of a simulated rig close to it
    events: tuple[tuple[float, str], ...]  # all other events of the window, with their times of the run [s]

    def as_json(self) -> dict[str, Any]:
        """The report for JSON."""
        plain = {key: value for key, value in asdict(self).items() if key not in ("row", "bound_ms")}
        return {"fault": self.row.as_json() | {"bound_ms": self.bound_ms}, **plain}


def read_reports(run: Path) -> list[FaultReport]:
    """The faults of a run in order of time. The run may have been killed.

    Raises FolderError: there is no record; RecordError: it is damaged, or not a record of this version.
    """
    try:
        with open_trial(recorded_run(run)) as record:
            return list(fault_reports(record))
    except RecordError:
        raise
    except (ValueError, LookupError, TypeError) as error:
        raise RecordError(f"{run}: the record is not of this version ({type(error).__name__}: {error})") from None


def cut_off(run: Path) -> str:
    """That a run was cut off, where its record ends and what to do, in words; empty: it ended by itself.

    Raises FolderError, RecordError: as of `read_reports`.
    """
    alive = is_held(file_of(recorded_run(run)))
    with open_trial(run) as record:
        recovered = RECOVERED in record.meta
        if summary_of(run) and not recovered:
            return ""
        if alive:
            return "This run still goes on: its record is not whole yet."
        ends = "before its first tick"
        if len(record.tick):
            last = record.tick[-1]
            state = _state_names(str(record.meta.get("states", ""))).get(str(last["state"]), str(last["state"]))
            ends = f"with tick {last['tick']}, at {last['t_ns'] * 1e-9:.3f} s, in the state {state.replace('_', ' ')}"
    said = f"This run was cut off: its program or its computer stopped in the middle of it. Its record ends {ends}."
    if recovered:
        return f"{said} `hil recover` has made it whole; {KILLED} next to it is what was left."
    return f"{said} It has no summary.json and no figure; `hil recover {run}` makes them, and says what is missing."


def _state_names(states: str) -> dict[str, str]:
    """Names of the states of an experiment by number, from /meta/states of a record: 0=idle,1=armed."""
    return dict(state.split("=", 1) for state in states.split(",") if "=" in state)


def fault_reports(record: OpenRecord) -> Iterator[FaultReport]:
    """A report on each fault of a record, in order of time; those of an earlier run that were still latched first.

    Raises ValueError, LookupError, TypeError: it is not a record of this version.
    """
    config = parse_config(str(record.meta["config"]), "/meta/config")
    times, supply_Pa = ReactionTimes(config), config.cylinders.supply_kPa * 1e3
    shown = list(quantities(config.layout, str(record.meta["states"]), record.tick.dtype.names or ()))
    for event in (*carried_of(record.events), *record.events[record.events["id"] > 0]):
        yield _report(record, times, supply_Pa, event, shown)


def _report(
    record: OpenRecord, times: ReactionTimes, supply_Pa: float, event: np.void, shown: Sequence[_Quantity]
) -> FaultReport:
    carried = int(event["id"]) == 0
    row = FAULT_TABLE[carried_fault(event).alarm.fault if carried else int(event["id"])]
    tick, t_ns, ticks = int(event["tick"]), int(event["t_ns"]), record.tick
    numbers = ticks["tick"]
    first = max(tick - TICKS_BEFORE_FAULT, int(numbers.min(initial=tick)))
    last = min(tick + TICKS_AFTER_FAULT, int(numbers.max(initial=tick)))
    offsets = tuple(sorted({min(max(offset, first - tick), last - tick) for offset in SHOWN}))
    changes, unchanged = _changes(ticks[(numbers >= first) & (numbers <= last)], tick, offsets, shown)
    bound_ms = row.bound_for(times)
    safe = ticks[(numbers >= tick) & (ticks["safe"] == 1)]
    return FaultReport(
        row=row,
        event=_words(event["name"]),
        tick=tick,
        t_s=t_ns * 1e-9,
        value=None if carried else _fault_number(event["value"]),
        limit=_fault_number(event["limit"]),
        detail=_words(event["detail"]),
        bound_ms=bound_ms,
        safe_tick=int(safe["tick"][0]) if len(safe) else None,
        empty_ms=_empty_ms(safe, supply_Pa),
        before=_window(numbers, first, tick - 1),
        after=_window(numbers, tick + 1, last),
        shown=offsets,
        changes=changes,
        unchanged=unchanged,
        beside=tuple(longest_near(record.events, t_ns, max(NOTICED_WITHIN_NS, round((bound_ms or 0.0) * 1e6)))),
        events=tuple(_others(record.events, event, tick)),
    )


def _window(numbers: NDArray[np.int64], first: int, last: int) -> FaultWindow:
    recorded = int(((numbers >= first) & (numbers <= last)).sum())
    return FaultWindow(first, last, recorded, max(last - first + 1, 0) - recorded)


def _changes(
    ticks: Rows, tick: int, offsets: Sequence[int], shown: Sequence[_Quantity]
) -> tuple[tuple[_Change, ...], tuple[str, ...]]:
    """What changed within these ticks, and what did not. Of a tick that is missing the one before it counts."""
    if not len(ticks):
        return (), ()
    places = np.searchsorted(ticks["tick"], [tick + offset for offset in offsets], side="right") - 1
    at = ticks[np.maximum(places, 0)]
    changes, unchanged = [], []
    for quantity in shown:
        texts = tuple(map(quantity.text, at))
        if len(set(texts)) > 1:
            changes.append(_Change(quantity.name, texts))
        else:
            unchanged.append(quantity.name)
    return tuple(changes), tuple(unchanged)


def _empty_ms(safe: Rows, supply_Pa: float) -> float | None:
    """From the first of these ticks until all chambers are empty [ms]; a pressure that is not measured is NaN."""
    if not len(safe) or "pressure_Pa" not in (safe.dtype.names or ()):
        return None
    pressures_Pa: NDArray[np.float64] = safe["pressure_Pa"]
    full = np.any(pressures_Pa > EMPTY * supply_Pa, axis=(1, 2))
    if not full[0] or full.all():
        return None
    return float(safe["t_ns"][np.argmin(full)] - safe["t_ns"][0]) * 1e-6


def _others(events: Rows, own: np.void, tick: int) -> Iterator[tuple[float, str]]:
    """Also those after the last tick, where the watchdog goes on; not what a simulated rig knows of itself."""
    offsets = events["tick"] - tick
    within = (offsets >= -TICKS_BEFORE_FAULT) & (offsets <= TICKS_AFTER_FAULT)
    within &= ~np.char.startswith(events["name"], TRUTH.encode())
    for event in events[within & (events["t_ns"] > 0)]:
        if event.tobytes() != own.tobytes():  # a value that is not a number is not equal to itself
            words = f"{_words(event['name'])}: {_words(event['detail'])}".removesuffix(": ")
            yield float(event["t_ns"]) * 1e-9, words


def _fault_number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _words(text: Any) -> str:
    return bytes(text).decode(errors="replace")
