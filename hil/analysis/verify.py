"""`hil verify`: does the record of a run hold what it should, and do its outputs follow from its inputs?"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from drivers.registry import loads_driver
from hil.analysis import command_checks, recording_checks
from hil.analysis.digests import digest_checks
from hil.analysis.recompute import NO_ROOM, Recomputed, disagreements, lacking_keys, peaks_as_read, recompute
from hil.analysis.recording_checks import schema_mismatch, text_fingerprint, wrong_channels
from hil.analysis.replay import Progress
from hil.config import Config, ConfigError, parse_config
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.experiments.impact.predicted_force import Release
from hil.ipc.run_memory import FOLDER
from hil.messages.fault import DEAD_MAN_NS, Check
from hil.messages.layout import SAMPLED
from hil.messages.signals import SEQUENCE
from hil.recording import OpenRecord, RecordError
from hil.recording.content import Recorded, in_blocks
from hil.recording.reader import Digests, file_of, open_trial_and_digests
from hil.recording.run_folder import recorded_run, summary_of
from hil.safety.fault_table import only_marks, warnings_for
from hil.version import running_version

# Differences of a summary that are named; the others are counted.
MOST_LISTED = 5


def verify(run: Path, progress: Progress = lambda *_: None) -> list[Check]:
    """Check the record of a run against itself, its config and its summary, and replay it.

    That the inputs are what the devices said, only the digests show: whoever changes inputs, outputs and all digests
    alike is not found out. Returns all checks, passed or not; where the file or its config cannot be read, only those
    that can be made.

    Raises FolderError: the folder holds no record, or its summary cannot be read.
    """
    summary = summary_of(recorded_run(run))
    with ExitStack() as stack:
        try:
            record, digests = stack.enter_context(open_trial_and_digests(run))
        except RecordError as error:
            return [Check("file", False, str(error), "a record of a run")]
        return _checks(run, record, digests, summary, progress)


def _checks(
    run: Path, record: OpenRecord, digests: Digests, summary: Mapping[str, Any] | None, progress: Progress
) -> list[Check]:
    proven = digest_checks(digests, summary, run)
    checks = [_file(run, record, digests), *proven, _checksum(record, summary)]
    try:
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except ConfigError as error:
        return [*checks, Check("config", False, "; ".join(map(str, error.problems)), "a config of this version")]
    if mismatch := schema_mismatch(record, config.layout):
        allowed = (
            f"rows as version {running_version()} writes them for such a rig; the version that recorded it reads them"
        )
        return [*checks, Check("version", False, mismatch, allowed)]
    if wrong := wrong_channels(record, config.layout):
        return [*checks, Check("channels", False, wrong, "as many in both")]
    rig, loop = Rig(config), summary.get("loop") if summary else None
    ticks = recording_checks.in_order(record.tick)
    whole = [
        recording_checks.tick_order(record.tick),
        recording_checks.ticks_missing(ticks, loop),
        recording_checks.tick_times(ticks, rig.rate_hz),
        recording_checks.timing_rows(ticks, record.timing),
    ]
    # a tick whose row of /timing a kill has cut off is run all the same
    trusted = all(check.ok for check in (*proven, *whole) if check.item != "timing")
    return [
        *checks,
        *_worked_out(record, rig, summary, progress, trusted=trusted),
        *whole,
        *_of_samples(record, rig),
        *_of_commands(ticks, record.events, rig),
    ]


def _worked_out(
    record: OpenRecord, rig: Rig, summary: Mapping[str, Any] | None, progress: Progress, *, trusted: bool
) -> tuple[Check, Check]:
    """Summary and ticks, worked out again. What is not what was recorded is not run: it may take for ever."""
    wrong = "" if trusted else "not worked out again: digests or ticks are not right"
    try:
        recomputed = recompute(record, rig, summary, progress) if trusted else None
    except ValueError as error:
        recomputed, wrong = None, str(error)
    version = record.meta.get("version")
    other = f"; recorded by version {version}, this is {running_version()}" if version != running_version() else ""
    return _numbers(summary, recomputed, wrong, other), _replayed(summary, recomputed, wrong, other)


def _numbers(summary: Mapping[str, Any] | None, found: Recomputed | None, wrong: str, other: str) -> Check:
    """Every number of the summary."""
    item, allowed = "summary", "as worked out again from the record"
    if summary is None:
        return Check(item, False, "there is none", allowed)
    if found is None:
        return Check(item, False, wrong, allowed)
    different, left_out, count = disagreements(summary, found)
    words = f"{count} values the same; no record holds {', '.join(left_out)}"
    if found.lacking:
        words += f" ({found.lacking})"
    if lacking_keys(summary):
        words += "; made by a version without the analysis of samples and the rules of quality, which are not compared"
    elif peaks_as_read(summary):
        words += "; made by a version that left vibration in peak_force_N, and measured short contacts otherwise"
    if "mobility" in left_out:
        words += "; made by a version that took the forces of hits for loads in mobility, which is not compared"
    if different:
        words = f"{'; '.join(different[:MOST_LISTED])}; {len(different)} such{other}"
    return Check(item, not different, words, allowed)


def _replayed(summary: Mapping[str, Any] | None, found: Recomputed | None, wrong: str, other: str) -> Check:
    """Every field of every tick, and every event of the loop."""
    item, allowed = "replay", "every tick as this version works it out from the recorded inputs"
    if found is None:
        return Check(item, False, wrong, allowed)
    if any(str(reason).startswith(NO_ROOM) for reason in (summary or {}).get("reasons") or ()):
        return Check(
            item, True, "not replayed: arming was refused for the room on the disk; only digests hold", allowed
        )
    if different := found.differences:
        first = min(different, key=lambda difference: difference.first_tick)
        element = "".join(f"[{place}]" for place in first.element)
        words = f"tick {first.first_tick}: {first.field}{element} is {first.recorded}, the inputs give {first.replayed}"
        fields = ", ".join(difference.field for difference in different[:MOST_LISTED])
        words += f"; {max(difference.ticks for difference in different)} ticks differ in {fields}{other}"
        return Check(item, False, words, allowed)
    words = f"{found.ticks} ticks the same"
    if found.lacking:
        words = f"{words if found.ticks else 'not replayed'}: {found.lacking}; for the rest only digests hold"
    return Check(item, True, words, allowed)


def _file(run: Path, record: OpenRecord, digests: Digests) -> Check:
    """Closed by its writer, with nothing left outside of it."""
    item, allowed = "file", "closed by its writer, every row with its content"
    whole = f"hil recover {run} makes it whole"
    if not digests.closed:
        return Check(item, False, f"its writer was killed, or still writes; {whole}", allowed)
    if (run / FOLDER).is_dir():
        return Check(item, False, f"closed, but the run was killed or goes on: there is {FOLDER}; {whole}", allowed)
    with h5py.File(file_of(run), "r") as file:
        parts: dict[str, Sized] = {"tick": record.tick, "timing": record.timing, "events": record.events}
        for group in SAMPLED:
            samples = record.samples(group)
            parts |= {f"{group}/blocks": samples.blocks, f"{group}/raw": samples.raw} if group in file else {}
        lacking = {name: file[name].shape[0] - len(part) for name, part in parts.items()}
    empty = ", ".join(f"{rows} of /{name}" for name, rows in lacking.items() if rows)
    return Check(item, not empty, f"without content: {empty}" if empty else "closed", allowed)


def _checksum(record: OpenRecord, summary: Mapping[str, Any] | None) -> Check:
    """Of the config as it stands in the record, against what record and summary say it is."""
    checksum = text_fingerprint(record)
    said = {"/meta": record.meta.get("config_sha256")}
    if summary:
        said["summary.json"] = summary.get("config_sha256")
    allowed = ", ".join(f"{value} in {where}" for where, value in said.items())
    return Check("config checksum", all(stated == checksum for stated in said.values()), checksum, allowed)


def _of_samples(record: OpenRecord, rig: Rig) -> list[Check]:
    checks, config = [], rig.config
    for group, name, section in (("daq", "", config.daq), ("loads", "load ", config.loads)):
        if section is None:
            continue
        samples, length = record.samples(group), section.block_samples
        newest = max(int(rows[SEQUENCE[group]].max(initial=0)) for rows in in_blocks(record.tick))
        all_kept = group == "loads" or config.record.sensors == "all"
        checks += [
            recording_checks.blocks_missing(samples.blocks, newest, name),
            recording_checks.block_length(samples, length, all_kept, group, name),
        ]
        if group == "daq" or _evenly_sampled(config.devices, rig.kind):
            checks.append(recording_checks.sample_times(samples, section.rate_hz, length, name))
    return checks


def _evenly_sampled(devices: DevicesConfig | None, rig: str) -> bool:
    """Whether the load channels have a sample clock; an amplifier that is polled has none."""
    device = devices.loads if devices and rig != "simulated" else None
    return device is None or loads_driver(device).even


# Of each link that is commanded, the fields of its command.
_COMMANDED = {
    "drives": ("cut", "set_speed_radps"),
    "valves": ("valves", "camera_trigger", "camera_triggers"),
    "servos": ("servos_cut", "set_servo_angle_rad"),
}


def _of_commands(rows: Recorded, events: NDArray[np.void], rig: Rig) -> list[Check]:
    quick_ns, config, checks = DEAD_MAN_NS - -1_000_000_000 // rig.rate_hz, rig.config, list[Check]()
    for link, fields in _COMMANDED.items():
        if link == "drives" or link in rig.layout.links:
            late_ns, why = _allowed_ns(config, link, simulated=rig.kind == "simulated")
            checks.append(command_checks.confirmed_in_order(link, rows, events))
            checks.append(command_checks.confirmed_in_time(link, rows, fields, quick_ns + late_ns, why))
    release = Release(config.trial, config.seed) if rig.section.impact else None
    # over a plate in the ground the rover drives on
    through = config.ground.profile is not None and config.ground.profile.plate is not None
    return [
        *checks,
        command_checks.cut_in_safe(rows),
        command_checks.safe_after_fault(rows, events[~only_marks(events)], warnings_for(rig)),
        *([] if through else [command_checks.cut_at_impact(rows, events, release)]),
    ]


def _allowed_ns(config: Config, link: str, *, simulated: bool) -> tuple[int, str]:
    """How long a link may take to confirm, besides the dead-man's time and a tick [ns], and by which key.

    What a device at the protocol level receives waits for its turn, and one answer may be lost.
    """
    if link == "servos" and not simulated:
        return round(config.limits.model_dump()["servos_age_ms"] * 1e6), "limits.servos_age_ms, "
    device = getattr(config.devices, link, None) if link != "servos" and not simulated else None
    if device is not None:
        return round(2e9 / device.rate_hz), f"two periods of devices.{link}.rate_hz, "
    return (round(config.links.drives_delay_ms * 1e6), "links.drives_delay_ms, ") if link == "drives" else (0, "")
