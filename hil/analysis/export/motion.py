"""How the rover of a record moved, tick by tick, for formats that show it in three dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hil.analysis.film.moments import AFTER_S, BEFORE_S, config_of
from hil.analysis.film.solids import Frames, RigSolids, WheelAngles
from hil.config.rig import Rig
from hil.recording import OpenRecord, RecordError, in_blocks
from hil.recording.content import per_part

# Between two shown ticks; around the impact every tick is shown.
EVERY_NS = 10_000_000


class RecordedMotion:
    """The motion of a record. `impact_s` is when the impact was; None: there was none.

    Raises RecordError: it does not say how the rover moved, or its config is not one of this version.

    Attributes:
        rig: as it is drawn.
    """

    def __init__(self, record: OpenRecord, impact_s: float | None) -> None:
        self._record, self._impact_s = record, impact_s
        self._config = config_of(record)
        self.rig = RigSolids(Rig(self._config))
        self._foot_m = self._foot()

    def frames(self) -> Iterator[tuple[int, Frames]]:
        """Times [ns] and places of all frames, EVERY_NS and of every tick around the impact; first and last always."""
        turning, shown_ns, last = WheelAngles(len(self.rig.skeleton.wheels)), -EVERY_NS, None
        fields = ("t_ns", "pose", "joint_angle_rad", "wheel_speed_radps")
        for block in in_blocks(self._record.tick):
            columns = [per_part(block, name) for name in fields]
            for t_ns, pose, joints, speeds in zip(*columns, strict=True):
                turned, last = turning.add(int(t_ns), speeds), None
                if not np.isfinite(pose).all():
                    continue
                last = int(t_ns), pose, joints, turned
                near = self._impact_s is not None and -BEFORE_S <= last[0] * 1e-9 - self._impact_s <= AFTER_S
                if near or last[0] >= shown_ns + EVERY_NS:
                    shown_ns = last[0]
                    yield self._placed(*last)
                    last = None
        if last is not None:
            yield self._placed(*last)

    def _placed(self, t_ns: int, pose: Any, joints: Any, turned: Any) -> tuple[int, Frames]:
        return t_ns, self.rig.frames(pose, joints, turned, self._foot_m)

    def _foot(self) -> float:
        """Where the obstacle stands: where the last tick with a gap has it, as in a film."""
        found: float | None = None
        for block in in_blocks(self._record.tick):
            known = np.flatnonzero(np.isfinite(block["gap_m"]) & np.isfinite(block["pose"]).all(axis=1))
            if known.size:
                row = block[known[-1]]
                found = self.rig.foot_m(row["pose"], list(per_part(row, "joint_angle_rad")), float(row["gap_m"]))
        return self._config.trial.start_distance_m if found is None else found


def motion_of(record: OpenRecord, facts: Mapping[str, Any]) -> RecordedMotion | None:
    """The motion of a record; None: it does not say how the rover moved, or was made by another version."""
    impact_s = facts.get("summary_impact_time_s")
    try:
        return RecordedMotion(record, float(impact_s) if isinstance(impact_s, int | float) else None)
    except RecordError:
        return None
