"""The force of a drop on a plate with sensors below a ledge, from the config alone: what arming compares.

Force scales with speed, and a fall is fast: 1.4 m/s after 0.1 m, twenty times the speed of an impact trial.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.config.rig import Rig
from hil.experiments.impact.predicted_force import MARGIN, on_sensors
from hil.messages.check import Check
from models.statics import NoSteadyStateError

_TO_DO = "lower ground.profile.height_m, or take the sensors off (daq: null) and the plate out of the way"


class _DropForce(NamedTuple):
    """A drop that has not happened yet."""

    speed_mps: float  #: of the front wheels against the plate, along its normal
    energy_J: float  #: T_c of both front wheels
    wheel_N: float  #: peak on one wheel, along the normal
    sensor_N: tuple[float, ...]  #: (channels,) largest force on each sensor


def drop_force(rig: Rig) -> _DropForce | None:
    """The largest force of the front wheels' fall on each sensor; None: no ledge, or no sensors.

    The wheels fall freely, and roll ahead. They hit with T_c of both (MacMahon 2016 (3.27), with the row of a plate at
    beta, (sin beta, -cos beta) for each), or of one that hits alone. A leg takes it up as a spring, F = k x^p with the
    stiffness of `obstacle`, and then bears its weight too. All other wheels count as free: ground that holds them adds
    to the force.
    """
    config, profile = rig.config, rig.config.ground.profile
    if profile is None or profile.shape != "ledge" or config.daq is None:
        return None
    rover, obstacle = rig.nominal.held.make_rover(), config.obstacle
    beta = math.radians(profile.plate_deg)
    fall_mps = math.sqrt(2.0 * config.ground.gravity_mps2 * profile.height_m)
    speed_mps = fall_mps * math.cos(beta) + config.crossing.speed_mps * math.sin(beta)
    q = rover.neutral()
    rows = rover.impact_jacobian(q, beta)
    mobility = rows @ np.linalg.solve(rover.mass_matrix(q), rows.T)
    pair_J = 0.5 * speed_mps**2 * float(np.linalg.inv(mobility).sum())
    alone_J = 0.5 * speed_mps**2 / float(mobility.diagonal().min())
    stiffness, power = 1.0 / obstacle.leg_compliance_mpN(profile.plate_deg), obstacle.exponent
    deepest_m = ((power + 1.0) * max(0.5 * pair_J, alone_J) / stiffness) ** (1.0 / (power + 1.0))
    wheel_N = MARGIN * (stiffness * deepest_m**power + _resting_N(rig) * math.cos(beta))
    return _DropForce(speed_mps, pair_J, wheel_N, on_sensors(config.daq, config.wheel_radius_m, beta, wheel_N))


def drop_checks(rig: Rig) -> list[Check]:
    """The predicted force on each sensor against `limits.sensor_force_N`; none without sensors."""
    config = rig.config
    if config.daq is None:
        return []
    checks, limit_N = [], rig.limits.sensor_force_N
    force = drop_force(rig)
    for name, load_N in zip(config.layout.channels, force.sensor_N if force else (), strict=False):
        assert force is not None
        found = f"{load_N:.0f} N: {force.speed_mps:.2f} m/s, T_c {force.energy_J:.3g} J, {force.wheel_N:.0f} N a wheel"
        allowed = "not checked (limits.sensor_force_N is null)"
        if limit_N is not None:
            allowed = f"at most {limit_N:g} N (limits.sensor_force_N)"
        ok = limit_N is None or load_N <= limit_N
        checks.append(Check(f"predicted force of the drop on sensor {name}", ok, found, allowed, _TO_DO))
    if config.rig != "real":
        allowed = "daq: null, because the simulated sensors feel no wheel on ground.profile"
        checks.append(Check("force sensors", False, "simulated", allowed, "set daq to null"))
    return checks


def _resting_N(rig: Rig) -> float:
    """Largest load of a wheel at rest."""
    try:
        return max(rig.resting_loads_N)
    except NoSteadyStateError:
        return 0.0
