"""Cross-checks of a vehicle without wheels: it can only capture, and carries nothing that is a rover's."""

from __future__ import annotations

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from models.rover.registry import WITHOUT_WHEELS

# Sections that ask for wheels, ground, or a twin that is corrected.
_OF_ROVERS = ("loads", "motion", "imu", "joints", "camera", "soil_estimation")


def without_wheels_problems(config: UncheckedConfig) -> list[Problem]:
    """All of them; none of a rover with wheels. The other checks have nothing to ask if there are any."""
    name = config.rover.type
    if name not in WITHOUT_WHEELS:
        return []
    of_type = ("rover.type",)
    if not config.section.captures:
        allowed = f"capture with rover.type {name}, which has no wheels"
        return [Problem("experiment", config.experiment, allowed, of_type)]
    problems = [
        Problem(key, "a section", f"null with rover.type {name}, which has no wheels", of_type)
        for key in _OF_ROVERS
        if getattr(config, key) is not None
    ]
    rover = config.rover
    for key, value in (("payload.mass_kg", rover.payload.mass_kg), ("drawbar.pull_N", rover.drawbar.pull_N)):
        if value != 0.0:
            problems.append(Problem(f"rover.{key}", f"{value:g}", f"0 with rover.type {name}", of_type))
    if rover.locks:
        problems.append(Problem("rover.locks", ", ".join(rover.locks), f"none with rover.type {name}", of_type))
    return problems
