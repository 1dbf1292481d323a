"""Joints that a config locks: of the rover, and none that has to turn."""

from __future__ import annotations

from hil.config.problems import Problem
from models.rover.locks import locked
from models.rover.parameters import Parameters


def lock_problem(type_: str, rover: type[Parameters], locks: tuple[tuple[str, float], ...]) -> Problem | None:
    """What is wrong with the locks of a config; None: nothing.

    Args:
        type_: of the rover, as the config names it.
        rover: without these locks.
        locks: angle [rad] by name or kind of a joint.
    """
    known = rover.lockable()
    kinds = {name.rsplit("_", 1)[-1] for name in known}
    unknown = [name for name, _ in locks if name not in known and name not in kinds]
    if unknown:
        allowed = f"joints of rover.type {type_} that are not of wheels or coupled: {', '.join(known) or 'none'}"
        return Problem("rover.locks", f"of {', '.join(unknown)}", allowed, ("rover.type",))
    try:
        tree = locked(rover, locks)().tree()  # type: ignore[arg-type]  # a class can be hashed
    except ValueError as error:
        found, _, allowed = str(error).rpartition("allowed: ")
        return Problem("rover.locks", found.rstrip(", "), allowed, ("rover.type",))
    wheels = {wheel.body for wheel in tree.wheels}
    still = [joint.name for joint in tree.joints if joint.child in wheels and joint.locked_at is not None]
    if still:
        allowed = f"names of joints: a kind that wheels have too would lock these; {', '.join(known)}"
        return Problem("rover.locks", f"of the wheels' {', '.join(still)}", allowed, ("rover.type",))
    return None
