"""What a command needs of a config beyond what loading asks of every one: checked in one way, refused in one form."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from hil.config.checked_config import Config
from hil.config.problems import ConfigError, Problem
from models.vehicle import HITTING_WHEELS


class _Requirement(NamedTuple):
    """Something that a config may have or not."""

    key: str  #: of the config, that decides it; its value is a text
    allowed: str
    met: Callable[[Config], bool]


_TO_DO = "set it, or choose another config (hil configs)"
WHEELS = _Requirement("rover.type", "a rover with wheels", lambda config: bool(config.layout.wheels))
FRONT_PAIR = _Requirement(
    "rover.type",
    "a rover with two front wheels, which hit an obstacle",
    lambda config: len(config.layout.wheels) >= HITTING_WHEELS,
)
NO_RAILS = _Requirement(
    "rover.type",
    "a rover that stands on its wheels alone: rails are level",
    lambda config: not config.rover.kind.guided(),
)
OPEN_GROUND = _Requirement(
    "experiment", "one without an obstacle, as drive", lambda config: not config.section.obstacle
)
TRACTION = _Requirement(
    "ground.kind",
    "soil, scan, firm or nonsmooth with ground.friction above 0, or rigid with ground.rolling",
    lambda config: not config.ground.glides,
)
NO_BRISTLES = _Requirement(
    "ground.friction_holds", "false: no contact keeps its place", lambda config: not config.ground.friction_holds
)
SIMULATED = _Requirement("rig", "simulated or simulated_wire", lambda config: config.rig != "real")


def ground_of(*kinds: str) -> _Requirement:
    """Ground of one of these kinds."""
    return _Requirement("ground.kind", " or ".join(kinds), lambda config: config.ground.kind in kinds)


def refuse_unfit(config: Config, command: str, *needs: _Requirement) -> None:
    """Refuse a config that a command has no use for.

    Raises ConfigError: with all needs that are not met, and what to do.

    Example:
        >>> from hil.config import load_config
        >>> refuse_unfit(load_config("sim_juno"), "energy", FRONT_PAIR)
    """
    problems = [
        Problem(need.key, attrgetter(need.key)(config), f"{need.allowed}; {_TO_DO}")
        for need in needs
        if not need.met(config)
    ]
    if problems:
        raise ConfigError(config.name, problems, f"{command} of config")
