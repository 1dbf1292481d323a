"""A record, shown by the server of a viewer as if it ran now."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hil.analysis.dataset import scalars, verified_summary
from hil.analysis.export.messages import streams_of
from hil.analysis.export.motion import EVERY_NS, RecordedMotion
from hil.analysis.export.tables import tables_of
from hil.app.view.server import ViewServer
from hil.recording import OpenRecord, open_trial

# Between two looks whether a viewer has come [s], and after the end of the run before it begins again [s].
_LOOK_S, _PAUSE_S = 0.1, 2.0
_SHOWN = ("tick", "events")


class _Played(NamedTuple):
    """A record that can be played: open, the facts of its run, and its motion."""

    record: OpenRecord
    facts: dict[str, str | float]
    motion: RecordedMotion


@contextmanager
def played(run: Path, *, unverified: bool = False) -> Iterator[_Played]:
    """A run whose record is open.

    Args:
        run: its folder.
        unverified: also one that does not match its digests.

    Raises:
        FolderError: no such folder, or its summary cannot be read.
        RecordError: there is no record, it is damaged, or it does not say how the rover moved.
        UnverifiedRunError: record and summary do not match their digests.
    """
    summary, _ = verified_summary(run, unverified=unverified)
    with open_trial(run) as record:
        facts = {f"summary_{key}": value for key, value in scalars(summary)}
        impact_s = facts.get("summary_impact_time_s")
        yield _Played(record, facts, RecordedMotion(record, float(impact_s) if impact_s is not None else None))


def play_back(
    run: _Played,
    server: ViewServer,
    going: Callable[[], bool],
    now_ns: Callable[[], int] = time.time_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Show a record in real time, again and again while a viewer is there, until it is told to end.

    Args:
        run: that is shown.
        server: with the `live_channels` of its layout.
        going: whether to go on.
        now_ns: time since 1970 [ns].
        sleep: waits so long [s].
    """
    while going():
        if not server.watched:
            sleep(_LOOK_S)
            continue
        tables, start_ns = tables_of(run.record), now_ns()
        streams = streams_of(tables, run.facts, run.motion, _SHOWN, EVERY_NS, start_ns)
        merged = heapq.merge(*(_named(one.channel.topic, one.messages) for one in streams), key=lambda one: one[0])
        for t_ns, topic, message in merged:
            if not going():
                return
            if (early_s := (t_ns - now_ns()) * 1e-9) > 0.0:
                sleep(early_s)
            server.send(topic, message, t_ns)
        sleep(_PAUSE_S)


def _named(topic: str, messages: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, str, bytes]]:
    for t_ns, message in messages:
        yield t_ns, topic, message
