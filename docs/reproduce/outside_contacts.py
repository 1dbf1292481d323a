"""Contacts of MuJoCo, of Bullet and of a triangle mesh in place of our ground, by the step service.

Run: python docs/reproduce/outside_contacts.py [--check]

Writes docs/reproduce/outside_contacts.md. With --check it writes nothing, and prints the lines that differ.
Without pybullet (no part of this project: python -m pip install pybullet) the rows of Bullet stay as they are.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from collision_detectors import DETECTORS, OF_SPHERES, Ground, Wheels
from written_page import page_script

from hil.api.stepping import Contact, Moved, StepClient
from hil.config import load_config
from hil.config.rig import Rig
from hil.simulator.stepping.service import StepService, StepSocket

FloatArray = npt.NDArray[np.float64]
PAGE = Path(__file__).with_suffix(".md")
STEP_NS = 10_000_000
# What the engines test in place of a wheel: share of the radius by which the cylinder is smaller, and of the width.
SHAPES = {"": (0.0, 1.0), ", smaller": (0.5, 1.0), ", smaller and thin": (0.5, 0.01)}


class Scene(NamedTuple):
    """A config, and how long the rover drives.

    Attributes:
        config: name of a shipped one.
        overrides: of it.
        speed_mps: of the rims.
        for_s: [s].
    """

    config: str
    overrides: tuple[str, ...]
    speed_mps: float
    for_s: float


SCENES = {
    "slope of 10 degrees": Scene("sim_juno", ("ground.pitch_deg=10",), 0.2, 1.0),
    "mound from a scan": Scene("sim_scan", (), 0.2, 8.0),
}


def ways() -> list[tuple[str, Callable[[Ground, Wheels], Any] | None, tuple[float, float]]]:
    """What a row is named, what detects its contacts, and the shape of what it tests."""
    of_cylinders = [
        (f"{name}{of}", make, shape) for (name, make), (of, shape) in product(DETECTORS.items(), SHAPES.items())
    ]
    return [*of_cylinders, *((name, make, SHAPES[""]) for name, make in OF_SPHERES.items())]


class End(NamedTuple):
    """A drive, and what its contacts were.

    Attributes:
        moved: at the end.
        work_J: of the drives.
        depth_m: largest difference of a penetration from the one of our ground, over the drive.
        normal_deg: the same of a normal.
        detect_us: of one collision detection of all wheels, median.
    """

    moved: Moved
    work_J: float
    depth_m: float
    normal_deg: float
    detect_us: float


class _Running:
    ending = False


@contextmanager
def served(rig: Rig, *, outside: bool) -> Iterator[StepClient]:
    """A step service on a thread, and its client."""
    stop, service = _Running(), StepService(rig, outside=outside)
    with StepSocket(service, "tcp://127.0.0.1:*") as socket:
        thread = Thread(target=socket.serve, args=(stop,))
        thread.start()
        try:
            with StepClient(socket.endpoint) as client:
                yield client
        finally:
            stop.ending = True
            thread.join()


def drive(client: StepClient, scene: Scene, detect: Callable[[Moved], Sequence[Contact]] | None) -> Iterator[Moved]:
    """The rover after each step, at constant speed of its rims."""
    now = client.reset()
    radii = [wheel["radius_m"] for wheel in client.description["wheels"]]
    client.command([scene.speed_mps / radius for radius in radii])
    for _ in range(round(scene.for_s * 1e9 / STEP_NS)):
        now = client.step(STEP_NS, None if detect is None else detect(now))
        yield now


def with_detector(rig: Rig, scene: Scene, make: Callable[[Ground, Wheels], Any], shape: tuple[float, float]) -> End:
    """A drive on the contacts of an engine, whose cylinders have that shape (`SHAPES`)."""
    with served(rig, outside=True) as client:
        radii, widths = ([wheel[key] for wheel in client.description["wheels"]] for key in ("radius_m", "width_m"))
        wheels = Wheels(radii, [shape[1] * width for width in widths], shape[0] * min(radii))
        ground = Ground(rig.nominal.ground.terrain, rig.nominal.ground.relief)
        engine, depths, angles, times = make(ground, wheels), [0.0], [0.0], [0.0]

        def detect(now: Moved) -> list[Contact]:
            began = time.perf_counter()
            found: list[Contact] = engine.contacts(now.centre, now.axle)
            times.append((time.perf_counter() - began) * 1e6)
            for one in found:
                over, normal = ground.under(now.centre[one.wheel])
                depths.append(abs(one.penetration - (wheels.radius[one.wheel] - over)))
                angles.append(math.degrees(math.acos(min(1.0, float(np.dot(normal, one.normal))))))
            return found

        *_, moved = drive(client, scene, detect)
        return End(moved, client.energy()["drives"], max(depths), max(angles), float(np.median(times[1:])))


def built_in(rig: Rig, scene: Scene) -> End:
    """The same on our ground."""
    with served(rig, outside=False) as client:
        *_, moved = drive(client, scene, None)
        return End(moved, client.energy()["drives"], 0.0, 0.0, 0.0)


def _small(value: float) -> str:
    """Two digits; below 1e-5 rounding of the engines, which other processors round otherwise."""
    return "below 1e-5" if value < 1e-5 else f"{value:.2g}"


def rows(scenes: Sequence[str] = tuple(SCENES)) -> Iterator[str]:
    """The table, a line for each scene, engine and shape; without pybullet those of Bullet as the page has them."""
    kept = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    for name in scenes:
        scene = SCENES[name]
        rig = Rig(load_config(scene.config, list(scene.overrides)))
        ours = built_in(rig, scene)
        print(f"{name}", file=sys.stderr)
        yield f"| {name} | ours | {_place(ours)} | {ours.work_J:.1f} | | | | |"
        for way, make, shape in ways():
            row = f"| {name} | {way} |"
            if make is None:
                yield next((line for line in kept if line.startswith(row)), f"{row} | | | | | |")
                continue
            end = with_detector(rig, scene, make, shape)
            apart = float(np.linalg.norm(end.moved.q[:3] - ours.moved.q[:3]))
            work = f"{end.work_J:.1f} | {round(100.0 * (end.work_J / ours.work_J - 1.0), 2) + 0.0:.2f}"
            yield (
                f"{row} {_place(end)} | {work} | {_small(1e3 * apart)} | {_small(1e3 * end.depth_m)} | "
                f"{_small(end.normal_deg)} |"
            )


def _place(end: End) -> str:
    return ", ".join(f"{number:.3f}" for number in end.moved.q[:3].tolist())


def page() -> str:
    """The page."""
    return PAGE.with_suffix(".txt").read_text(encoding="utf-8").replace("{rows}", "\n".join(rows()))


if __name__ == "__main__":
    sys.exit(page_script(__doc__, PAGE, page, None))
