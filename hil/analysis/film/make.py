"""Makes pictures and films of a recorded run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial.transform import Rotation

from hil.analysis.film.files import CameraFrames, FilmError, Picture, ffmpeg, write_gif, write_mp4
from hil.analysis.film.moments import FilmedWindow, Moment, filmed
from hil.analysis.film.skeleton import Floats
from hil.analysis.film.solids import GROUND, Box, Colour, Cylinder, Lines, RigSolids
from hil.analysis.film.view import View, Which, caption, headline, make_figure
from hil.config.files import replacing
from hil.config.rig import Rig
from hil.experiments.drawing import write_figure

# From where the rover is seen: from ahead, starboard and above [deg].
_AZIMUTH_DEG, _ELEVATION_DEG = -50.0, 22.0
_LIGHT = np.array([0.3, -0.5, 0.8])
_DARKEST = 0.55  # of a colour, where no light falls
_AROUND_M, _BELOW_M = 0.2, 0.1  # of the picture, beyond the rover
_SIDES, _STRIPE = 24, (0.36, 0.52, 0.68, 1.0)  # of a wheel
_CUBE = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_CUBE_FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))


class SolidView:
    """Draws moments of a run into axes of the projection 3d, without perspective."""

    def __init__(self, axes: Any, run: FilmedWindow) -> None:
        self._axes, rig, first = axes, RigSolids(Rig(run.config)), run.at(0.0)
        self._base = run.skeleton.tree.bodies[0].name
        foot_m = run.plate.foot if run.plate else 0.0
        still = (0.0,) * len(run.skeleton.wheels)
        frames = rig.frames(first.row["pose"], first.row["joint_angle_rad"], still, foot_m)
        turned = Rotation.from_quat(frames.quaternions).as_matrix()
        self._still = dict(zip(frames.names, zip(frames.origins, turned, strict=True), strict=True))
        axes.view_init(elev=_ELEVATION_DEG, azim=_AZIMUTH_DEG)
        axes.set_proj_type("ortho")
        axes.computed_zorder = False
        axes.set_axis_off()
        self._faces, self._lines = list[tuple[str, Floats, Colour]](), list[tuple[str, Floats, Colour]]()
        for solid in rig.solids():
            if not isinstance(solid, Lines):
                self._faces += [(solid.frame, *one) for one in _faces(solid)]
            elif solid.frame not in run.skeleton.wheels:  # marks on a wheel would show through all before it
                self._lines.append((solid.frame, solid.points, solid.colour))
        self._add_ground(first)
        self._polygons = axes.add_collection3d(Poly3DCollection([np.zeros((4, 3))], zorder=3.0, zsort="average"))
        self._edges = axes.add_collection3d(Line3DCollection([np.zeros((2, 3))], colors="#333333", zorder=4.0))
        moving = [self._placed(first, frame, face) for frame, face, _ in self._faces if frame != GROUND]
        points = np.concatenate([*moving, *first.placed.origin.values()], axis=None).reshape(-1, 3)
        points -= first.placed.origin[self._base]
        reach = np.abs(points).max(axis=0) + _AROUND_M
        self._low, self._high = -reach, reach
        self._low[2] = points[:, 2].min() - _BELOW_M
        axes.set_box_aspect(self._high - self._low, zoom=1.0)

    def draw(self, moment: Moment) -> None:
        """Show that tick."""
        base = moment.placed.origin[self._base]
        for low, high, limits in zip(
            base + self._low, base + self._high, (self._axes.set_xlim, self._axes.set_ylim, self._axes.set_zlim),
            strict=True,
        ):  # fmt: skip
            limits(low, high)
        faces = [(self._placed(moment, frame, face), colour) for frame, face, colour in self._faces if frame != GROUND]
        self._polygons.set_verts([face for face, _ in faces])
        self._polygons.set_facecolor([_lit(face, colour) for face, colour in faces])
        moving = [one for one in self._lines if one[0] != GROUND]
        self._edges.set_segments([line for frame, own, _ in moving for line in self._segments(moment, frame, own)])

    def _placed(self, moment: Moment, frame: str, points: Floats) -> Floats:
        """Points (n, 3) of a frame, in the world [m]."""
        poses = moment.placed
        origin, axes = (poses.origin[frame], poses.axes[frame]) if frame in poses.origin else self._still[frame]
        return np.asarray(origin + points @ axes.T)

    def _segments(self, moment: Moment, frame: str, points: Floats) -> Floats:
        """Lines (n, 2, 3) of pairs of points (2 n, 3)."""
        return self._placed(moment, frame, points).reshape(-1, 2, 3)

    def _add_ground(self, moment: Moment) -> None:
        """What does not move lies under all that does."""
        for _, face, colour in (one for one in self._faces if one[0] == GROUND):
            plane = Poly3DCollection([self._placed(moment, GROUND, face)], facecolor=colour, zorder=0.0)
            self._axes.add_collection3d(plane)
        for _, each, colour in (one for one in self._lines if one[0] == GROUND):
            segments = self._segments(moment, GROUND, each)
            self._axes.add_collection3d(Line3DCollection(segments, colors=[colour], linewidths=0.6, zorder=1.0))


def _faces(solid: Box | Cylinder) -> list[tuple[Floats, Colour]]:
    """Its faces, each (4, 3) [m] in its frame; the rim of a wheel is striped, so that it is seen to turn."""
    if isinstance(solid, Box):
        corners = np.array(solid.centre) + _CUBE * np.array(solid.sides)
        return [(corners[list(face)], solid.colour) for face in _CUBE_FACES]
    angle = np.linspace(0.0, 2.0 * math.pi, _SIDES, endpoint=False)
    x, z, half = solid.radius * np.sin(angle), solid.radius * np.cos(angle), np.full(_SIDES, 0.5 * solid.width)
    left, right = np.column_stack([x, half, z]), np.column_stack([x, -half, z])
    rim = np.stack([left, right, np.roll(right, -1, axis=0), np.roll(left, -1, axis=0)], axis=1)
    found = [(face, (solid.colour, _STRIPE)[place % 2]) for place, face in enumerate(rim)]
    for side in (left, right):
        hub, ring = side.mean(axis=0), np.concatenate([side, side[:1]])
        found += [(np.stack([hub, *ring[place : place + 3]]), solid.colour) for place in range(0, _SIDES, 2)]
    return found


def _lit(face: Floats, colour: Colour) -> Colour:
    """The colour of a face, darker where it is turned from the light."""
    normal = np.cross(face[1] - face[0], face[2] - face[1])
    share = abs(float(normal @ _LIGHT)) / (float(np.linalg.norm(normal) * np.linalg.norm(_LIGHT)) or 1.0)
    red, green, blue = ((_DARKEST + (1.0 - _DARKEST) * share) * part for part in colour[:3])
    return red, green, blue, colour[3]


Progress = Callable[[int, int], None]
STRIP = 6  # pictures of a strip
MOST_PICTURES = 3000  # of a film: five minutes of computing
SLOW = 0.2  # a film slower than this shows the impact alone, unless times are given
_DPI = 100


class FilmRequest(NamedTuple):
    """What is to be made."""

    view: Which  # side, top or 3d
    to: str  # png, gif or mp4
    speed: float = 1.0  # of the film, as a part of that of the run
    fps: float = 20.0  # pictures a second
    from_s: float | None = None  # first time of the run; None: its start, of a slow film shortly before the impact
    to_s: float | None = None  # last time of the run; None: its end, of a slow film shortly after the impact
    at_s: float | None = None  # one picture, of that time; None: a film, or as PNG a strip of pictures
    unverified: bool = False  # also of a run that does not match its digests
    camera: bool = False  # the frames of the run's camera are to the right of the drawn rover


def render(run: Path, wanted: FilmRequest, out: Path | None, progress: Progress = lambda *_: None) -> tuple[Path, int]:
    """Make a film or a picture.

    Without `out` the file is VIEW.TO in the folder of the run. `progress` gets how many pictures are made, and of how
    many. Returns the file, and the number of its pictures.

    Raises:
        FilmError: no ffmpeg, too many pictures, or no frames of a camera.
        UnverifiedRunError: record and summary do not match their digests.
        RecordError: the record lacks what is to be shown.
        FolderError: no such folder.
        OSError: the file cannot be written.
    """
    if wanted.to == "mp4":
        ffmpeg()  # before the work
    path = run / f"{wanted.view}.{wanted.to}" if out is None else out
    camera = CameraFrames(run) if wanted.camera else None
    if wanted.at_s is not None:
        shown = filmed(run, wanted.at_s - 0.001, wanted.at_s, unverified=wanted.unverified)
        return path, _write_strip(path, shown, np.array([wanted.at_s]), wanted, camera)
    slow = wanted.speed < SLOW
    shown = filmed(run, wanted.from_s, wanted.to_s, around_impact=slow, unverified=wanted.unverified)
    times = shown.rows["t_ns"][[0, -1]] * 1e-9
    if wanted.to == "png":
        moments = _strip_times(times[0], times[1], shown.impact_s)
        return path, _write_strip(path, shown, moments, wanted, camera)
    count = int((times[1] - times[0]) / wanted.speed * wanted.fps) + 1
    if count > MOST_PICTURES:
        raise FilmError(
            f"{times[1] - times[0]:.3g} s at speed {wanted.speed:g} and {wanted.fps:g} pictures a second are {count} "
            f"pictures, allowed: {MOST_PICTURES}; --from and --to-time choose a part, a larger --speed or a smaller "
            "--fps makes fewer"
        )
    moments = times[0] + np.arange(count) * wanted.speed / wanted.fps
    pictures = _pictures(shown, moments, progress, wanted.view)
    if camera is not None:
        pictures = camera.with_frames(pictures, moments)
    with replacing(path) as unfinished:
        return path, (write_gif if wanted.to == "gif" else write_mp4)(unfinished, pictures, wanted.fps)


def trials_in(campaign: Path) -> list[Path]:
    """Folders of a campaign's trials that have a record, in order."""
    return sorted(path.parent for path in campaign.glob("*/trial.h5") if not path.parent.is_symlink())


def _pictures(shown: FilmedWindow, times_s: NDArray[np.float64], progress: Progress, which: Which) -> Iterator[Picture]:
    """The run at these times, picture by picture."""
    figure, (axes,) = make_figure(1, which)
    canvas: Any = FigureCanvasAgg(figure)
    view = _view(axes, shown, which)
    figure.text(0.012, 0.985, headline(shown), fontsize=10.0, va="top", fontweight="bold")
    lines = [figure.text(0.012, y, "", fontsize=9.5, va="top") for y in (0.94, 0.9)]
    for number, t_s in enumerate(times_s):
        moment = shown.at(t_s)
        view.draw(moment)
        for line, text in zip(lines, caption(shown, moment), strict=True):
            line.set_text(text)
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
        progress(number + 1, len(times_s))


def _view(axes: Axes, shown: FilmedWindow, which: Which) -> View | SolidView:
    return SolidView(axes, shown) if which == "3d" else View(axes, shown, which)


def _write_strip(
    path: Path, shown: FilmedWindow, times_s: NDArray[np.float64], wanted: FilmRequest, camera: CameraFrames | None
) -> int:
    if camera is not None:
        pictures = list(camera.with_frames(_pictures(shown, times_s, lambda *_: None, wanted.view), times_s))
        with replacing(path) as unfinished:
            Image.fromarray(np.concatenate(pictures)).save(unfinished)
        return len(pictures)
    figure, panels = make_figure(len(times_s), wanted.view)
    figure.text(0.012, 0.985, headline(shown), fontsize=11.0, va="top", fontweight="bold")
    for axes, t_s in zip(panels, times_s, strict=True):
        moment = shown.at(t_s)
        _view(axes, shown, wanted.view).draw(moment)
        axes.set_title("\n".join(caption(shown, moment)), loc="left", fontsize=9.0)
    seen = "in three dimensions" if wanted.view == "3d" else f"from the {wanted.view}"
    write_figure(figure, path, f"{shown.name} {seen}", {"config": shown.config.name}, _DPI)
    return len(times_s)


def _strip_times(first_s: float, last_s: float, impact_s: float | None) -> NDArray[np.float64]:
    """Equal steps, of which the impact, if there is one, takes the place of the nearest."""
    times = np.linspace(first_s, last_s, STRIP)
    if impact_s is not None and first_s <= impact_s <= last_s:
        times[np.argmin(abs(times - impact_s))] = impact_s
    return times
