"""Prints what the page shows of a run.

It does so in a separate process: the page server stays small, a damaged record harms nothing else, and a running loop
comes first.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hil.analysis.film.moments import config_of, turned_rad
from hil.analysis.recording_checks import impact_time, ticks_between
from hil.app.console import obstacle_shown
from hil.app.page.content import column, ground_shown, rover_shown, series, stands_shown
from hil.config.rig import Rig
from hil.messages.layout import Layout
from hil.realtime.histogram import for_people
from hil.recording import OpenRecord, RecordError, open_trial
from hil.recording.content import between
from hil.recording.run_folder import FolderError, summary_of
from hil.recording.sinks import cut_at_impact, parts_ms


def timing_of(record: OpenRecord, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The timing of a run.

    Args:
        record: of the run.
        summary: of the run; may be empty.

    Returns:
        loop: as in summary.json, null without one. histogram: lower edges [us], and the ticks whose work took so long.
        wake_histogram: the same of the time from a tick's deadline to its beginning; null: not known.
        cut: the parts of the cut at the impact [ms]; null: not known.

    Raises:
        LookupError: no tick was recorded.
    """
    if not record.timing.size:
        raise LookupError("no tick was recorded")
    impact_s = summary.get("impact_time_s")
    cut = None if impact_s is None else cut_at_impact(record, impact_s * 1e9)
    work_us, loop = record.timing["work_ns"] * 1e-3, summary.get("loop")
    return {
        "loop": loop,
        "histogram": for_people(work_us, np.ones(work_us.size)),
        "wake_histogram": ((loop or {}).get("wake_us") or {}).get("histogram"),
        "cut": cut and [{"name": name, "ms": float(ms[0])} for name, ms in parts_ms([cut]).items()],
    }


# Around the impact [ms].
BEFORE_MS, AFTER_MS = 20.0, 100.0
# Samples of a channel sent at most; more are left out evenly.
MOST_SAMPLES = 20_000


def impact_of(record: OpenRecord, summary: dict[str, Any]) -> dict[str, Any]:
    """The force sensors around the impact, at full rate.

    Args:
        record: of the run.
        summary: of the run; may be empty.

    Returns:
        t_ms: (samples,) from the impact [ms]; channels: name and readings [V]; detected_ms and cut_ms: of the tick that
        has the impact, and of the cut; null: not known. every: of so many samples one is there.

    Raises:
        LookupError: there was no impact, or no sensor was recorded around it.
    """
    impact_s = summary.get("impact_time_s")
    hit = record.tick["t_ns"][record.tick["impact"].astype(bool)]
    if impact_s is None and not hit.size:
        raise LookupError("there was no impact")
    zero_ns = float(hit[0]) if impact_s is None else impact_s * 1e9
    about = between(record.daq_t_ns, zero_ns - 2e6 * BEFORE_MS, zero_ns + 2e6 * AFTER_MS)
    t_ms, volts = (record.daq_t_ns[about] - zero_ns) * 1e-6, record.raw[about]
    near = np.flatnonzero((t_ms >= -BEFORE_MS) & (t_ms <= AFTER_MS))
    if not near.size:
        raise LookupError("no sensor was recorded around the impact")
    every = -(-near.size // MOST_SAMPLES)
    near = near[::every]
    names = Layout.from_json(str(record.meta["layout"])).channels
    return {
        "t_ms": t_ms[near].tolist(),
        "channels": [{"name": name, "V": volts[near, index].tolist()} for index, name in enumerate(names)],
        "detected_ms": float(hit[0] - zero_ns) * 1e-6 if hit.size else None,
        "cut_ms": summary.get("cut_latency_ms"),
        "every": int(every),
    }


# Ticks of a run that are sent at most; more are left out evenly.
MOST_TICKS = 3000


def traces_of(record: OpenRecord, summary: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Series of a run.

    `summary`: of the run; may be empty.

    Returns:
        t_s: (ticks,) from the start of the run [s]. columns: by name, (ticks,) each, null where it is not finite; a
        series that the run does not have is left out. impact_s: of the impact, null: there was none.

    Raises:
        LookupError: no tick was recorded.
    """
    ticks = ticks_within(record)
    layout = Layout.from_json(str(record.meta["layout"]))
    columns = {name: column(ticks, name, layout) for name in names}
    return {
        "t_s": (ticks["t_ns"] * 1e-9).tolist(),
        "columns": {name: values.tolist() for name, values in columns.items() if values is not None},
        "impact_s": impact_time(record, summary),
    }


def ticks_within(record: OpenRecord, from_s: float | None = None, to_s: float | None = None) -> NDArray[np.void]:
    """Ticks from one time to another, all of them or, of many, evenly as many as are sent. Raises LookupError: none."""
    first, end = ticks_between(record, from_s, to_s)
    if first >= end:
        raise LookupError("no tick was recorded" if first == 0 else "no tick was recorded in that time")
    ticks: NDArray[np.void] = record.tick[first:end][:: -(-(end - first) // MOST_TICKS)]
    return ticks


# What moves, and what is shown of it; fields of a tick.
_FIELDS = (
    "force_sum_N", "speed_mps", "gap_m", "way_m", "effective_kinetic_energy_J", "pose", "joint_angle_rad",
    "normal_force_N", "load_wanted_N", "wheel_load_N", "slip", "sinkage_m",
)  # fmt: skip


def replay_of(
    record: OpenRecord, summary: Mapping[str, Any], from_s: float | None, to_s: float | None
) -> dict[str, Any]:
    """What the page draws a run with.

    Args:
        record: of the run.
        summary: of the run; may be empty.
        from_s: first time [s]; None: the start.
        to_s: last time [s]; None: the end.

    Returns:
        rover, obstacle, ground: as in GET /api/config, of the run. t_s, columns, impact_s: as of traces, with
        `turned_rad/WHEEL`, the angle by which each wheel has turned in this time.

    Raises:
        LookupError: no tick was recorded in this time.
        RecordError: of a version that did not record the motion.
    """
    config = config_of(record)
    ticks = ticks_within(record, from_s, to_s)
    return shown_of(Rig(config), ticks, turned_rad(ticks)) | {"impact_s": impact_time(record, summary)}


def shown_of(rig: Rig, ticks: NDArray[np.void], turned: NDArray[np.floating[Any]]) -> dict[str, Any]:
    """The same but for the impact, of those ticks.

    Args:
        rig: of the run.
        ticks: rows of `/tick`.
        turned: (ticks, wheels) angle of each wheel [rad].
    """
    layout, stands = rig.layout, obstacle_shown(rig.config.trial, rig.section)
    names = [one["name"] for one in series(layout, rig.section) if one["name"].partition("/")[0] in _FIELDS]
    columns = {name: column(ticks, name, layout) for name in names}
    columns |= {f"turned_rad/{wheel}": angle for wheel, angle in zip(layout.wheels, turned.T, strict=True)}
    return {
        "rover": rover_shown(rig),
        "obstacle": stands and {**stands, "stands": stands_shown(rig)},
        "ground": ground_shown(rig),
        "t_s": (ticks["t_ns"] * 1e-9).tolist(),
        "columns": {name: values.tolist() for name, values in columns.items() if values is not None},
    }


def shown(run: Path, what: str, names: Sequence[str]) -> bytes:
    """What the page shows of a run.

    `what`: impact, timing, traces or replay, as JSON, replay@FROM:TO of a time [s]; or the format of an export that is
    one file: tdms, mat or mcap.

    Raises:
        LookupError: the run has nothing of that.
        RecordError: the record cannot be read.
        FolderError: the summary cannot be read.
    """
    what, _, span = what.partition("@")
    if what not in ("impact", "timing", "traces", "replay"):
        return _exported(run, what)
    with open_trial(run) as record:
        summary = summary_of(run) or {}
        if what == "replay":
            from_s, to_s = map(float, span.split(":")) if span else (None, None)
            return msgspec.json.encode(replay_of(record, summary, from_s, to_s))
        if what == "traces":
            return msgspec.json.encode(traces_of(record, summary, names))
        return msgspec.json.encode(timing_of(record, summary) if what == "timing" else impact_of(record, summary))


def _exported(run: Path, to: str) -> bytes:
    # imported here: it takes longer than all else together
    from hil.analysis.dataset import MissingPackageError, UnverifiedRunError
    from hil.analysis.export.run import export

    with tempfile.TemporaryDirectory() as folder:
        try:
            return export(run, to, Path(folder) / f"trial.{to}").path.read_bytes()
        except (MissingPackageError, UnverifiedRunError) as error:
            raise LookupError(str(error)) from None


def print_record(run: str, what: str, *names: str) -> int:
    """Print it; the exit status is 1, and the reason on stderr, if there is nothing.

    `what`: impact, timing, traces, replay or replay@FROM:TO with times in seconds, or a format of `hil export`.
    """
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    try:
        content = shown(Path(run), what, names)
    except (LookupError, RecordError, FolderError) as error:
        print(error.args[0], file=sys.stderr)  # noqa: T201
        return 1
    sys.stdout.buffer.write(content)
    return 0
