"""What a film shows of a run: its ticks from one time to another, and what does not move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.analysis.dataset import verified_summary
from hil.analysis.film.skeleton import Floats, Poses, Skeleton, foot_of
from hil.analysis.recording_checks import impact_time, ticks_between
from hil.config import Config, ConfigError, parse_config
from hil.config.model_parameters import obstacle_stand
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.recording import OpenRecord, RecordError, open_trial
from hil.recording.content import packed
from models.kernels.compiled import FloatArray

# A vehicle without wheels has none of these.
_OF_WHEELS = ("wheel_speed_radps", "normal_force_N", "sinkage_m")
ANGLES = "joint_angle_rad"  # not recorded of a rover none of whose joints turns
HITTING = 2  # the first wheels of a rover hit the obstacle
_FIELDS = (
    "t_ns", "state", "cut", "impact", "pose", ANGLES, "wheel_speed_radps", "gap_m", "way_m", "speed_mps",
    "normal_force_N", "effective_kinetic_energy_J", "force_sum_N", "load_point_m", "sinkage_m",
)  # fmt: skip


class FilmedPlate(NamedTuple):
    """The obstacle: angle to the ground [rad], foot in the world [m], and how the sensors' centroid lies on it."""

    angle: float  # to the ground [rad]
    foot: float  # world x [m], or along the ground that `stand` says
    centroid: tuple[float, float]  # of the sensors, across and up from the contact point of a smooth wheel [m]
    # (wheels, 4, 3) where it stands on ground that is not level, models.terrain.surface; None: it is level.
    stand: FloatArray | None = None

    def axes(self, wheel: int) -> tuple[FloatArray, FloatArray]:
        """Origin [m], and axes (rows: ahead, left, up), of the ground under the plate before one of the wheels."""
        return (np.zeros(3), np.eye(3)) if self.stand is None else (self.stand[wheel, 0], self.stand[wheel, 1:])


class Moment(NamedTuple):
    """One tick."""

    t_s: float  # from the start of the run
    row: np.void  # of `/tick`
    placed: Poses  # the rover


@dataclass(frozen=True)
class FilmedWindow:
    """A part of a run, ready to be drawn."""

    name: str  # of the run's folder, and why it is not to be trusted, if it is not
    config: Config  # of the run
    skeleton: Skeleton  # of its rover
    radius_m: float  # of the front wheels, grousers included
    rows: NDArray[np.void]  # its ticks, `_FIELDS` of `/tick`
    turned_rad: Floats  # (ticks, wheels) by each wheel
    plate: FilmedPlate | None  # the obstacle; None: there is none
    impact_s: float | None  # when the impact was; None: there was none
    states: Mapping[int, str]  # names by number

    def at(self, t_s: float) -> Moment:
        """The tick at that time, or the last before it."""
        times = self.rows["t_ns"]
        place = int(np.clip(np.searchsorted(times, round(t_s * 1e9), "right") - 1, 0, len(times) - 1))
        row = self.rows[place]
        placed = self.skeleton.place(row["pose"], row["joint_angle_rad"], self.turned_rad[place])
        return Moment(float(row["t_ns"]) * 1e-9, row, placed)


def filmed(
    run: Path, from_s: float | None, to_s: float | None, *, around_impact: bool = False, unverified: bool = False
) -> FilmedWindow:
    """Read a run.

    Args:
        run: its folder.
        from_s: first time [s]; None: the start, or shortly before the impact.
        to_s: last time [s]; None: the end, or shortly after the impact.
        around_impact: without times, only the impact and what is around it.
        unverified: also one that does not match its digests; it is told in every picture.

    Raises:
        UnverifiedRunError: record and summary do not match their digests.
        RecordError: there is none, it has no tick of that time, or is of a version that did not record the motion.
        FolderError: no such folder.
    """
    summary, wrong = verified_summary(run, unverified=unverified)
    with open_trial(run) as record:
        config = config_of(record)
        hit_s = impact_time(record, summary)
        if around_impact and hit_s is not None:
            from_s = hit_s - BEFORE_S if from_s is None else from_s
            to_s = hit_s + AFTER_S if to_s is None else to_s
        rows = _rows_of(record, from_s, to_s)
        states = dict(one.split("=", 1) for one in str(record.meta["states"]).split(","))
    rig = Rig(config)
    tree = tree_on_rig(rig.nominal.rover)
    skeleton = Skeleton(tree, config.layout.turning)
    radius_m = config.wheel_radius_m
    plate = plate_of(rig, skeleton, radius_m, rows)
    doubt = f" NOT VERIFIED: {wrong}" if wrong else ""
    names = {int(number): name.replace("_", " ") for number, name in states.items()}
    return FilmedWindow(
        run.resolve().name + doubt, config, skeleton, radius_m, rows, turned_rad(rows), plate, hit_s, names
    )


# Of a slow film, without times: so much before the impact, and after it.
BEFORE_S, AFTER_S = 0.02, 0.08


def config_of(record: OpenRecord) -> Config:
    """Config of a record that says how the rover moved. Raises RecordError: it does not, or is of another version."""
    names = record.tick.dtype.names or ()
    if "pose" not in names:
        raise RecordError(
            f"the record has no motion of the rover (pose, joint angles): version {record.meta.get('version')} did not "
            "record it; a run made again with the config of /meta has it"
        )
    try:
        return parse_config(str(record.meta.get("config", "")), "/meta/config")
    except ConfigError as error:
        raise RecordError(f"its config is not one of this version: {error.problems[0]}") from None


def turned_rad(rows: NDArray[np.void]) -> Floats:
    """Angle (ticks, wheels) by which each wheel has turned since the first of these ticks."""
    if "wheel_speed_radps" not in (rows.dtype.names or ()):
        return np.zeros((len(rows), 0))  # of a vehicle without wheels
    step_s = np.diff(rows["t_ns"], prepend=rows["t_ns"][:1])[:, None] * 1e-9
    turned: Floats = np.cumsum(np.nan_to_num(rows["wheel_speed_radps"]) * step_s, axis=0)
    return turned


def _rows_of(record: OpenRecord, from_s: float | None, to_s: float | None) -> NDArray[np.void]:
    if not len(record.tick):
        raise RecordError("no tick was recorded")
    first, end = ticks_between(record, from_s, to_s)
    if first >= end:
        last_s = record.tick["t_ns"][-1] * 1e-9
        raise RecordError(
            f"no tick from {from_s or 0.0:g} to {last_s if to_s is None else to_s:g} s: it has 0 to {last_s:g} s"
        )
    rows = record.tick[first:end]
    rows = packed(rows, list(_FIELDS), (ANGLES, *_OF_WHEELS))
    if not np.isfinite(rows["pose"]).all():
        raise RecordError("the rover's motion is not known: something that nobody measures pulled it")
    return rows


def plate_of(rig: Rig, skeleton: Skeleton, radius_m: float, rows: NDArray[np.void]) -> FilmedPlate | None:
    """The obstacle stands still: where the impact has shown it to be, or where the twin took it to be until then.

    The radius is that of the wheels that hit it, grousers included. None: there is none.
    """
    known = np.flatnonzero(np.isfinite(rows["gap_m"]))
    if not known.size or not rig.section.obstacle:
        return None
    angle = math.radians(rig.config.trial.angle_deg)
    row = rows[known[-1]]
    placed = skeleton.place(row["pose"], row["joint_angle_rad"], (0.0,) * len(skeleton.wheels))
    centres = np.array([placed.origin[wheel] for wheel in skeleton.wheels[:HITTING]])
    stand, triangle = obstacle_stand(rig.nominal), rig.config.triangle
    foot = foot_of(float(row["gap_m"]), centres, radius_m, angle, stand)
    places = [(c.across_m or 0.0, c.up_m or 0.0) for c in (triangle.channels if triangle else ())]
    across, up = np.mean(places, axis=0).tolist() if places else (0.0, 0.0)
    return FilmedPlate(angle, foot, (across, up), stand)
