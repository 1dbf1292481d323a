"""A run at the protocol level in virtual time that is disturbed once: real drivers, simulated controllers.

What the simulated controllers saw is the proof that everything stopped.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.analysis.verify import verify
from hil.app.faults.injection import Expected, Outcome, times_wrong
from hil.app.faults.oracle import latched
from hil.app.virtual.run import VirtualRun
from hil.config import Config, load_config
from hil.messages.fault_bounds import RECORD_LOST_NS
from hil.recording import TrialRecord, read_trial

# The rig of all these runs, and its trial made short: the wheels run from 0.3 s on and touch at 1.2 s.
RIG, DRIVES = "sim_wire", "roboclaw"
SETTINGS = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.06", "trial.ramp_s=0.1", "trial.settle_s=0.5",
    "record.after_s=0.5", "devices.daq.e_stop=cDAQ1Mod4/port0/line0",
)  # fmt: skip
# Checks of a record that fail where a link was dead: its last commands are never confirmed.
OF_DEAD_LINKS = ("drives: confirmed", "valves: confirmed")
# Names of the events in which other processes say that the loop is gone begin so.
OF_THE_LOOP = b"loop_"

Act = Callable[[VirtualRun], None]


@dataclass(frozen=True)
class VirtualFault:
    """What is done to a run.

    Attributes:
        act: does it.
        at_s: when [s of the run].
        settings: of the run, beside SETTINGS.
        ends: the loop does not go on after it.
    """

    act: Act
    at_s: float
    settings: Sequence[str] = ()
    ends: bool = False


def virtual_config(settings: Sequence[str] = ()) -> Config:
    """The rig of these runs."""
    return load_config(RIG, [*SETTINGS, *settings])


def run_disturbed(fault: VirtualFault, expected: Expected) -> Outcome:
    """Make a run, disturb it, and judge it."""
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as place:
        folder, scratch = Path(place) / "run", Path(place) / "rig"
        folder.mkdir()
        scratch.mkdir()
        config = virtual_config(fault.settings)
        with closing(VirtualRun(config, folder, scratch)) as run:
            if not run.until(fault.at_s):
                return Outcome(wrong=("the run ended before the fault could be injected",))
            disturbed = _Disturbed(config, run, folder, run.time.now_ns, ends=fault.ends)
            fault.act(run)
            run.finish()
            return disturbed.judge(expected)


class _Disturbed:
    """A run that was disturbed at a time [ns of its host]."""

    def __init__(self, config: Config, run: VirtualRun, folder: Path, acted_ns: int, *, ends: bool) -> None:
        self._config, self._rig, self._folder = config, run.simulated_rig, folder
        self._acted_ns, self._ends = acted_ns, ends
        assert run.start_ns is not None
        self._start_ns = run.start_ns

    def judge(self, expected: Expected) -> Outcome:
        """What came of it, and whether it is what must come of it."""
        wrong = list(self._of_the_record())
        record, seen = read_trial(self._folder, trusted=True), self._rig.ask("stops", device=DRIVES)
        wrong += self._unsafe(record, seen)
        reacted_ms = stopped_ms(seen, self._acted_ns)
        if reacted_ms == math.inf:  # the stop that a controller makes by itself, at its own button, is not recorded
            wrong += ["not every controller has stopped"] if expected.react_ms is not None else []
            reacted_ms = None
        faults = record.events[record.events["id"] > 0]
        if not len(faults):
            wrong += ["not noticed"] if expected.rows and not expected.optional else []
            wrong += times_wrong(expected, None, reacted_ms)
            return Outcome(None, reacted_ms if expected.react_ms else None, tuple(wrong))
        first = faults[0]
        detected_ms = max(self._start_ns + int(first["t_ns"]) - self._acted_ns, 0) * 1e-6
        if first["id"] not in expected.rows:
            wrong.append(f"noticed as fault {first['id']} ({bytes(first['detail']).decode(errors='replace')})")
        return Outcome(detected_ms, reacted_ms, (*wrong, *times_wrong(expected, detected_ms, reacted_ms)))

    def _of_the_record(self) -> Iterator[str]:
        """What is wrong with the record; of a loop that was killed, only how much of it is missing."""
        if not self._ends:
            for check in verify(self._folder):
                if not check.ok and check.item not in OF_DEAD_LINKS:
                    yield f"record: {check.item}: {check.found}"
            return
        ticks = read_trial(self._folder, trusted=True).tick
        lost_ns = self._acted_ns - self._start_ns - int(ticks["t_ns"][-1])
        if lost_ns > RECORD_LOST_NS:
            yield f"record: {lost_ns * 1e-6:.0f} ms of ticks lost, allowed: {RECORD_LOST_NS * 1e-6:g}"

    def _unsafe(self, record: TrialRecord, seen: Mapping[str, Any]) -> Iterator[str]:
        """What is unsafe about the outcome, judged by the simulated devices."""
        if any(self._rig.driven_radps()):
            yield "a wheel is driven at the end"
        if any(self._rig.powered()):
            yield "a valve has power at the end"
        faults = latched(self._config, record.events)
        own = [fault for fault in faults if not bytes(fault["name"]).startswith(OF_THE_LOOP)]
        if own:
            later = record.tick[record.tick["tick"] > own[0]["reaction_tick"]]
            if not ((later["safe"] == 1) & (later["cut"] == 1)).all():
                yield "Safe was not latched"
        first_ns = self._start_ns + int(faults["t_ns"][0]) if len(faults) else None
        if first_ns is not None and any(at_ns > first_ns + RECORD_LOST_NS for _, at_ns in seen["starts"]):
            yield "a controller was started again after the fault"


def stopped_ms(seen: Mapping[str, Any], acted_ns: int) -> float | None:
    """Until the last controller that ran has stopped, by a command or its time-out [ms].

    None: none ran. Infinity: one of them has not stopped.

    Args:
        seen: starts, stops and time-outs that the simulated controllers of a bus have recorded.
        acted_ns: when the fault was injected, on the same clock [ns].
    """
    running: set[int] = set()
    first: dict[int, int] = {}
    changes = [(at_ns, address, True) for address, at_ns in seen["starts"]]
    changes += [(at_ns, address, False) for what in ("stops", "timeouts") for address, at_ns in seen[what]]
    for at_ns, address, starts in sorted(changes):
        if at_ns <= acted_ns:
            (running.add if starts else running.discard)(address)
        elif not starts and address in running:
            first.setdefault(address, at_ns)
    if running - set(first):
        return math.inf
    return max(((at_ns - acted_ns) * 1e-6 for at_ns in first.values()), default=None)
