"""`hil render`: a film, a strip of pictures or one picture of a run, from the side, from above or in 3-D."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray
from PIL import Image

from hil.analysis.film.files import CameraFrames, FilmError, Picture, ffmpeg, write_gif, write_mp4
from hil.analysis.film.moments import FilmedWindow, filmed
from hil.analysis.film.solid_view import SolidView
from hil.analysis.film.view import View, Which, caption, headline, make_figure
from hil.config.files import replacing
from hil.experiments.figure_file import write_figure

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
