"""Films as GIF by Pillow, or MP4 by ffmpeg if that is on the PATH; and the frames of a run's camera as pictures."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, UnidentifiedImageError

from hil.recording.run_folder import FOLDER, FolderError, RunFrame, file_in, frames_of

Picture = NDArray[np.uint8]  # (height, width, 3)


class FilmError(ValueError):
    """A film cannot be made: what is missing, and what can be made instead."""


def ffmpeg() -> str:
    """Path of ffmpeg. Raises FilmError: there is none."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise FilmError("no program ffmpeg on the PATH, which writes MP4: install it (apt install ffmpeg), or --to gif")
    return found


def write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> int:
    """Write an animated GIF that repeats. Returns the number of its pictures.

    All pictures have one size. A GIF counts in hundredths of a second.
    """
    first = _with_palette(next(pictures))
    count = 1

    def others() -> Iterator[Any]:
        nonlocal count
        for picture in pictures:
            count += 1
            yield _with_palette(picture)

    first.save(
        path,
        "GIF",
        save_all=True,
        append_images=others(),
        duration=max(20, 10 * round(100.0 / fps)),
        loop=0,
        optimize=False,
    )
    return count


def write_mp4(path: Path, pictures: Iterator[Picture], fps: float) -> int:
    """Write an MP4 (H.264, for any browser). Returns the number of its pictures.

    All pictures have one size, which is even.

    Raises FilmError: no ffmpeg, or it has failed; its last line says why.
    """
    first = next(pictures)
    height, width, _ = first.shape
    command = [
        ffmpeg(), "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", f"{fps:g}", "-i", "-", "-an",
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path),
    ]  # fmt: skip
    count = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            for picture in chain([first], pictures):
                process.stdin.write(np.ascontiguousarray(picture).tobytes())
                count += 1
            process.stdin.close()
        except BrokenPipeError:
            count = 0
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode or not count:
        raise FilmError(f"ffmpeg failed: {said.rpartition(chr(10))[2] or f'exit status {process.returncode}'}")
    return count


def _with_palette(picture: Picture) -> Any:
    """64 colours: areas and lines need no more, and a third of the bytes goes."""
    return Image.fromarray(picture).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


_NAME = re.compile(r"[0-9]{6,9}\.jpg")
_GREY, _DARK = (225, 225, 225), (40, 40, 40)
_CAPTION_PX = 22  # above a frame
# Larger frames are not read: 64 million points, twice those of an 8K camera.
_MOST_POINTS = 2**26


class CameraFrames:
    """The frames of a run. Raises FilmError: it has none; FolderError: their table cannot be read.

    Attributes:
        frames: in order of time, at least one.
    """

    def __init__(self, run: Path) -> None:
        self._run, self.frames = run, sorted(frames_of(run))
        if not self.frames:
            raise FilmError(f"{run.name} has no frames of a camera: run it with a section camera in its config")
        self._times_ns = np.array([frame.t_ns for frame in self.frames])
        self._picture = lru_cache(maxsize=2)(self._read)  # a slow film shows one frame many times

    def newest(self, t_s: float) -> RunFrame | None:
        """The newest frame at a time of the run [s]; None: there was none yet."""
        place = int(np.searchsorted(self._times_ns, round(t_s * 1e9), "right")) - 1
        return self.frames[place] if place >= 0 else None

    def around(self, t_s: float, before_s: float, after_s: float, most: int) -> list[RunFrame]:
        """So many frames about a time [s] at most, evenly taken and in order, the newest at that time with them."""
        newest = self.newest(t_s)
        near = [one for one in self.frames if -before_s <= one.t_ns * 1e-9 - t_s <= after_s or one is newest]
        if len(near) <= most:
            return near
        kept = np.unique(np.linspace(0, len(near) - 1, most).round().astype(int))
        if newest is not None:
            at = near.index(newest)
            kept[np.argmin(abs(kept - at))] = at
        return [near[place] for place in kept]

    def picture(self, frame: RunFrame) -> Picture:
        """A frame as it is; grey if its file cannot be read."""
        found: Picture = self._picture(frame.file)
        return found

    def panel(self, t_s: float, height_px: int) -> Picture:
        """The newest frame at a time of the run [s], with its own time above it.

        All panels of a run are equally wide.
        """
        frame, inner = self.newest(t_s), height_px - _CAPTION_PX
        first = self.picture(self.frames[0]).shape
        width = max(2 * round(0.5 * inner * first[1] / first[0]), 2)
        panel = Image.new("RGB", (width, height_px), "white")
        if frame is None:
            words = "camera: no frame yet"
            panel.paste(_GREY, (0, _CAPTION_PX, width, height_px))
        else:
            words = f"camera, t = {frame.t_ns * 1e-9:.4f} s"
            panel.paste(Image.fromarray(self.picture(frame)).resize((width, inner)), (0, _CAPTION_PX))
        ImageDraw.Draw(panel).text((6, 5), words, fill=_DARK)
        return np.asarray(panel)

    def with_frames(self, pictures: Iterable[Picture], times_s: NDArray[np.float64]) -> Iterator[Picture]:
        """Each picture with the newest frame of its time at its right."""
        for picture, t_s in zip(pictures, times_s, strict=True):
            yield np.concatenate([picture, self.panel(float(t_s), picture.shape[0])], axis=1)

    def _read(self, name: str) -> Picture:
        try:
            if not _NAME.fullmatch(name):
                raise FolderError(name)
            with Image.open(file_in(file_in(self._run, FOLDER), name), formats=("JPEG",)) as image:
                if image.width * image.height > _MOST_POINTS:
                    raise OSError(name)
                picture: Picture = np.asarray(image.convert("RGB"))
                return picture
        except (OSError, FolderError, UnidentifiedImageError):
            grey: Picture = np.full((480, 640, 3), _GREY, np.uint8)
            return grey
