"""Writes pictures one after the other as a film: GIF by Pillow, MP4 by ffmpeg, if that is on the PATH."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

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

    Args:
        path: of the file.
        pictures: at least one, all of one size.
        fps: pictures a second; a GIF counts in hundredths of a second.
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

    Args:
        path: of the file.
        pictures: at least one, all of one size, which is even.
        fps: pictures a second.

    Raises:
        FilmError: no ffmpeg, or it has failed; its last line says why.
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
            for picture in _with_first(first, pictures):
                process.stdin.write(np.ascontiguousarray(picture).tobytes())
                count += 1
            process.stdin.close()
        except BrokenPipeError:
            count = 0
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode or not count:
        raise FilmError(f"ffmpeg failed: {said.rpartition(chr(10))[2] or f'exit status {process.returncode}'}")
    return count


def _with_first(first: Picture, others: Iterator[Picture]) -> Iterator[Picture]:
    yield first
    yield from others


def _with_palette(picture: Picture) -> Any:
    """64 colours: areas and lines need no more, and a third of the bytes goes."""
    return Image.fromarray(picture).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
