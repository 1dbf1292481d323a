"""What recorded runs tell of their rig for an identification: wheel, bench, soil, and whether they belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.analysis.identification.parameters import RANGES
from hil.analysis.identification.windows import IdentificationError, SharedErrors, WheelSize
from hil.config import Config
from hil.config.schema.ground_and_obstacle import SoilConfig
from hil.config.schema.rover import RoverConfig
from hil.experiments.window_mean import NORMAL

# The experiment whose wheels stand.
PRESSED = "sinkage"


@dataclass(frozen=True)
class Uncertainty:
    """What no record says: half-widths of 95 % intervals, relative.

    Attributes:
        loads: of the load of each wheel.
        torque: of the torque that a motor gives for a current.
    """

    loads: float = 0.02
    torque: float = 0.05


USUAL_UNCERTAINTY = Uncertainty()


def check_alike(runs: Sequence[tuple[Path, Config]]) -> Config:
    """The config that the others are like: that of the first run that drives, or of the first one.

    Raises:
        IdentificationError: the runs do not belong together.
    """
    drives = [one for one in runs if one[1].experiment != PRESSED]
    first_run, first = (drives or runs)[0]
    rovers: dict[str, tuple[Path, dict[str, Any]]] = {}
    for run, config in runs:
        earlier, rover = rovers.setdefault(config.rover.type, (run, _rover_of(config.rover)))
        rolls = config.experiment != PRESSED
        # a pressed wheel of a simulated rig has a wheel model and a rebound of its own
        with_rebound = rolls or not drives
        for what, one, other, than in (
            ("rover", _rover_of(config.rover), rover, earlier),
            ("wheel model", config.wheel if rolls else first.wheel, first.wheel, first_run),
            ("soil of the config", *(_soil_of(each.soil, rebound=with_rebound) for each in (config, first)), first_run),
        ):
            if one != other:
                raise IdentificationError(
                    f"{run} has another {what} than {than}: runs of one identification have the same rover of each "
                    "type, the same wheels and soil; identify each soil and rover apart"
                )
    return first


def _rover_of(rover: RoverConfig) -> dict[str, Any]:
    """Section rover without what may differ: a payload, and the place of the drawbar."""
    return rover.model_dump(exclude={"payload", "drawbar"})


def _soil_of(soil: SoilConfig, *, rebound: bool) -> dict[str, Any]:
    kept = {*RANGES, "shear", "shear_residual"} - (set() if rebound else {"rebound"})
    return soil.model_dump(include=kept)


def soil_section(soil: SoilConfig) -> dict[str, float]:
    """The six parameters of a section soil, by name."""
    return {name: float(getattr(soil, name)) for name in RANGES}


def wheel_of(config: Config) -> WheelSize:
    """The wheels of a config. Raises IdentificationError: they are of several sizes."""
    mounts, soil = config.rover_parameters().tree().wheels, config.soil
    each = zip(mounts, config.wheels.values(), strict=True)
    kinds = {(mount.radius, mount.width, one.tips_m, one.variant) for mount, one in each}
    if len(kinds) > 1:
        raise IdentificationError("the rover has wheels of several sizes or models; allowed: wheels of one kind")
    radius, width, grouser_m, variant = kinds.pop()
    if mounts[0].crown is not None:
        raise IdentificationError("the rover has crowned wheels; allowed: cylinders (wheel.crown_radius_m null)")
    return WheelSize(radius, width, grouser_m, variant, soil.shear, soil.residual)


def bench_of(config: Config, uncertainty: Uncertainty) -> SharedErrors:
    """What measured the runs of a rover; a load cell is in those that were pulled."""
    cell = config.loads.load_cell if config.loads and config.experiment == "drawbar" else None
    return SharedErrors(
        config.rover.type,
        pull_gain=cell.sensitivity_u95 / NORMAL if cell else 0.0,
        pull_zero_N=cell.zero_u95 * cell.force_N / NORMAL if cell else 0.0,
        torque_gain=uncertainty.torque / NORMAL,
        load_gain=uncertainty.loads / NORMAL,
    )
