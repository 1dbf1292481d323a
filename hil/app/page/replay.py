"""A run that is over, for the page to show it again: its rover, its obstacle, and how they moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.events import impact_time
from hil.analysis.film.moments import config_of, turned_rad
from hil.app.console_status import obstacle_shown
from hil.app.page.ground_shown import ground_shown, stands_shown
from hil.app.page.rover_shown import rover_shown
from hil.app.page.series import column, series
from hil.app.page.traces import ticks_within
from hil.config import Config
from hil.config.rig import Rig
from hil.recording import OpenRecord

# What moves, and what is shown of it; fields of a tick.
_FIELDS = (
    "force_sum_N", "speed_mps", "gap_m", "way_m", "effective_kinetic_energy_J", "pose", "joint_angle_rad",
    "normal_force_N",
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
    return shown_of(config, ticks, turned_rad(ticks)) | {"impact_s": impact_time(record, summary)}


def shown_of(config: Config, ticks: NDArray[np.void], turned: NDArray[np.floating[Any]]) -> dict[str, Any]:
    """The same but for the impact, of those ticks.

    Args:
        config: of the run.
        ticks: rows of `/tick`.
        turned: (ticks, wheels) angle of each wheel [rad].
    """
    layout, stands = config.layout, obstacle_shown(config.trial, config.section)
    names = [one["name"] for one in series(layout) if one["name"].partition("/")[0] in _FIELDS]
    columns = {name: column(ticks, name, layout) for name in names}
    columns |= {f"turned_rad/{wheel}": angle for wheel, angle in zip(layout.wheels, turned.T, strict=True)}
    return {
        "rover": rover_shown(Rig(config)),
        "obstacle": stands and {**stands, "stands": stands_shown(config)},
        "ground": ground_shown(config),
        "t_s": (ticks["t_ns"] * 1e-9).tolist(),
        "columns": {name: values.tolist() for name, values in columns.items() if values is not None},
    }
