"""A simulated camera: after the run the rover is drawn from the side, as it was at the time of each frame."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from hil.analysis.film.moments import ANGLES, FilmedPlate, config_of, plate_of, turned_rad
from hil.analysis.film.skeleton import Floats, Poses, Skeleton, body_outline, rim_outline, spoke_lines
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.config.schema.sensors import CameraConfig
from hil.recording import OpenRecord, RecordError
from hil.recording.content import packed
from hil.recording.run_folder import FOLDER, RunFrame, frame_name, write_frames

_SIDE = (0, 2)
# Outside the path of the rover's base the camera sees so much at each end, for the rest of the rover [m].
_BESIDE_M = 0.9
_GROUND = 0.8  # of the frame's height
_GREY, _DARK, _RED = (235, 235, 235), (40, 40, 40), (187, 85, 102)
_BROWN, _ORANGE = (150, 120, 90), (210, 140, 60)
_PLATE_M = 0.5  # length of the obstacle, from its foot on the ground
_FIELDS = ("t_ns", "pose", ANGLES, "wheel_speed_radps", "gap_m")


def film(record: OpenRecord, run: Path, config: CameraConfig) -> list[RunFrame]:
    """Draw the frames of a run, and write them with their table.

    `config`: section `camera`.

    Raises:
        OSError: they cannot be written.
        RecordError: the record does not say how the rover moved.
    """
    whole = Rig(config_of(record))
    rows = packed(record.tick[: len(record.tick)], list(_FIELDS), (ANGLES,))
    if not len(rows) or not np.isfinite(rows["pose"]).all():
        raise RecordError("the record does not say how the rover moved")
    tree = tree_on_rig(whole.nominal.rover)
    skeleton = Skeleton(tree, whole.layout.turning)
    turned = turned_rad(rows)
    plate = plate_of(whole, skeleton, whole.config.wheel_radius_m, rows)
    end_ns, period_ns = int(rows["t_ns"][-1]), 1e9 / config.rate_hz
    (run / FOLDER).mkdir(exist_ok=True)
    ways = rows["pose"][:, 0]
    seen_m = float(ways.min()) - _BESIDE_M, float(ways.max()) + _BESIDE_M
    frames = []
    for number in range(math.floor(end_ns / period_ns) + 1):
        t_ns = round(number * period_ns)
        place = max(int(np.searchsorted(rows["t_ns"], t_ns, "right")) - 1, 0)
        row = rows[place]
        placed = skeleton.place(row["pose"], row["joint_angle_rad"], turned[place])
        name = frame_name(number)
        (run / FOLDER / name).write_bytes(_drawn(skeleton, placed, plate, config, seen_m, f"{t_ns * 1e-9:.3f} s"))
        frames.append(RunFrame(t_ns, number, name, "simulated"))
    write_frames(run, frames)
    return frames


def _drawn(
    skeleton: Skeleton,
    placed: Poses,
    plate: FilmedPlate | None,
    config: CameraConfig,
    seen_m: tuple[float, float],
    caption: str,
) -> bytes:
    """One frame as JPEG."""
    width, height = config.width_px, config.height_px
    scale = width / (seen_m[1] - seen_m[0])
    image = Image.new("RGB", (width, height), _GREY)
    pen = ImageDraw.Draw(image)

    def on_frame(points: Floats) -> list[tuple[float, float]]:
        return [(scale * (float(x) - seen_m[0]), _GROUND * height - scale * float(z)) for x, z in points]

    pen.rectangle((0, _GROUND * height, width, height), fill=_BROWN)
    if plate is not None:
        top = (plate.foot + _PLATE_M * math.cos(plate.angle), _PLATE_M * math.sin(plate.angle))
        pen.line(on_frame(np.array([(plate.foot, 0.0), top])), fill=_RED, width=max(width // 100, 2))
    for body in skeleton.tree.bodies:
        if body.name not in skeleton.wheels:
            pen.polygon(on_frame(body_outline(body, placed, _SIDE)), fill=_ORANGE, outline=_DARK)
    for wheel in skeleton.tree.wheels:
        pen.polygon(on_frame(rim_outline(wheel, wheel.radius, placed, side=True)), fill=_GREY, outline=_DARK)
        for line in spoke_lines(wheel, wheel.radius, placed, _SIDE, side=True):
            pen.line(on_frame(line), fill=_DARK)
    pen.text((8, 8), caption, fill=_DARK)
    content = io.BytesIO()
    image.save(content, "JPEG", quality=80)
    return content.getvalue()
