"""The rig that a config describes, built once for a run; its steady drive, and its kind of kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from drivers.driver_type import RigSetup
from hil.config.checked_config import Config
from hil.config.cylinder_parameters import cylinder_forces
from hil.config.integration import contacts_of, longest_step_s
from hil.config.model_parameters import nominal_rig, spread, veer
from hil.config.rig_setup import rig_setup
from hil.config.scan_checks import resting_loads_N
from hil.config.schema.instruments import READINGS_TO_ARM
from models.actuators.linkage import reachable
from models.plant import RigParameters
from models.statics import Cost, SteadyRover, SteadyState, best_torques


class Rig:
    """A loaded config, and what follows from it for the models; each part is worked out once, when it is asked for.

    Example:
        >>> from hil.config import load_config
        >>> rig = Rig(load_config("sim_impact"))
        >>> rig.layout.cylinders, rig.rate_hz, round(rig.nominal.start_distance, 2)
        (('left', 'right'), 1000, 0.3)
    """

    def __init__(self, config: Config) -> None:
        self.config, self.layout, self.limits, self.section = config, config.layout, config.limits, config.section
        self.kind, self.rate_hz = config.rig, config.loop.rate_hz

    @cached_property
    def setup(self) -> RigSetup:
        """What the drivers have to know of the rig."""
        return rig_setup(self.config)

    @cached_property
    def nominal(self) -> RigParameters:
        """The rig in the models' units: that of the rover twin."""
        return nominal_rig(self.config)

    @cached_property
    def simulated(self) -> RigParameters:
        """The rig that a simulated one is: the nominal one, perturbed by the config's seed."""
        config = self.config
        plant, ground = config.plant, self.nominal.ground
        pitch, roll = math.radians(plant.ground_pitch_deg), math.radians(plant.ground_roll_deg)
        ground = replace(ground, pitch=ground.pitch + pitch, roll=ground.roll + roll)
        askew = replace(self.nominal, veer=veer(plant, self.layout), ground=ground)
        return askew.perturbed(spread(config.plant, config.loads), np.random.default_rng([config.seed, 0]))

    @cached_property
    def longest_step_s(self) -> float:
        """Longest step of all contacts of the rover [s]; infinity: it has none to integrate."""
        return longest_step_s(contacts_of(self.config))

    @cached_property
    def readings_ns(self) -> int:
        """When READINGS_TO_ARM readings of each instrument of motion are due since the start [ns]; 0: there is none."""
        times_s = (READINGS_TO_ARM / one.rate_hz + 1e-3 * one.delay_ms for one in self.config.instruments.values())
        return round(1e9 * max(times_s, default=0.0))

    @cached_property
    def steady_speed_mps(self) -> float:
        """Speed of the rims in a straight drive; by duty that of motors without load; 0: it has none."""
        if (duty := self.section.throttle_duty) is not None:
            return duty * self.config.drives.axle_motor.no_load_radps * self.config.least_wheel_radius_m
        return self.section.rim_speed_mps or 0.0

    @cached_property
    def weight_N(self) -> float:
        """Weight of the nominal rover with its payload, in the gravity of its ground [N]."""
        return self.nominal.make_rover().mass * self.nominal.ground.gravity

    @cached_property
    def resting_loads_N(self) -> tuple[float, ...]:
        """Wheel loads of the nominal rover at rest [N] (`hil.config.scan_checks.resting_loads_N`)."""
        return resting_loads_N(self.nominal)


def kernel_kind(config: Config) -> str:
    """A text that is equal for configs that need the same kernels."""
    return repr(_shape(config.model_dump(exclude={"seed", "name", "telemetry", "record"})))


def one_of_each_kind(configs: Sequence[Config]) -> list[Rig]:
    """Rigs of configs, one for each set of kernels that they may need."""
    kinds: dict[str, Config] = {}
    for config in configs:
        kinds.setdefault(kernel_kind(config), config)
    return [Rig(config) for config in kinds.values()]


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shape(item) for item in value]
    return bool(value) if isinstance(value, float) else value


def steady_drive(
    rig: Rig, parameters: RigParameters | None = None, heading: float = 0.0, *, held: bool = False
) -> SteadyRover:
    """A rig that drives steadily as its experiment sets it.

    Args:
        rig: of an experiment that drives over open ground.
        parameters: of the simulated rig; None: those of the nominal one.
        heading: [rad].
        held: whether it is held at the slip of its section's `held_at_slip`; where there is a winch, it always is.

    Raises:
        ValueError: the rig stands, or there is neither soil nor firm ground under it: on rigid ground slip, and with it
            the shares of the tractions, are not determined.
    """
    parameters = (parameters or rig.nominal).held
    rover, vehicle, _ = parameters.assemble()
    if not vehicle.yields or not rig.steady_speed_mps:
        raise ValueError("steady drive: found rigid ground, or speed 0; allowed: soil or firm ground, and a speed")
    speed_mps, pull, backwards = rig.steady_speed_mps, parameters.drawbar.wrench(), parameters.drawbar.backwards()
    winch = rig.section.winch
    slip = winch.slip if winch else rig.section.held_at_slip if held else None
    if slip is None:
        return SteadyRover(rover, vehicle, speed_mps, pull, heading=heading)
    return SteadyRover(rover, vehicle, speed_mps, pull, held=backwards, slip=slip, heading=heading)


def best_state(rig: Rig, drive: SteadyRover, cost: Cost) -> SteadyState:
    """The state with the least cost that the rig's cylinders can give, within the limits of torques and loads.

    Raises:
        NoSteadyStateError: there is no steady state without torques.
        RuntimeError: no optimum was found.
    """
    limits, layout = rig.config.normal_force.load_limits, rig.layout
    forces, most_Nm = cylinder_forces(rig.config.cylinders, layout), limits.torque_Nm
    low, high = np.transpose([reachable(forces, which, 0.0) for which in range(len(layout.cylinders))])
    # so little that the solver has a range where a cylinder pushes one way only
    low, high = np.maximum(low, -most_Nm) - 1e-9, np.minimum(high, most_Nm) + 1e-9
    return best_torques(cost, drive, layout.joints, low, high, (limits.least_load_N, limits.most_load_N))[1]
