"""From the config to the load channels of the simulated rig."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from hil.config.load_channels import (
    full_loads,
    full_scales,
    leg_matrix,
    links_gain,
    noises,
    nominal_gain,
    normal_force_rows,
    offsets,
)
from hil.config.model import UncheckedConfig
from hil.config.schema.loads import AXES, PULL, LegSensorsConfig
from models.sensors.load_sensors import DRAWBAR, FRAME, LoadSensors
from models.sensors.rear_frame import link_share, rear_link_reach


def load_sensors(config: UncheckedConfig) -> LoadSensors | None:
    """The channels as the config describes them; None: there are none."""
    layout, loads = config.layout, config.loads
    if loads is None:
        return None
    legs, gauges = loads.leg_sensors, loads.strain_gauges
    axes = legs.axes if legs else ()
    places = [(number, AXES.index(axis)) for number, axis in product(range(len(layout.wheels)), axes)]
    gain, reading, scales = np.zeros((len(layout.loads), 6)), config.load_reading, full_scales(config)
    if legs is not None:
        used = [AXES.index(axis) for axis in axes]
        for number, wheel in enumerate(layout.wheels):
            block = nominal_gain(loads, legs, reading)[used]
            block[:, used] = np.linalg.inv(leg_matrix(loads, legs, wheel, reading))
            gain[number * len(used) : (number + 1) * len(used)] = block
    if loads.load_cell is not None:
        gain[len(places), 0] = 1.0 / normal_force_rows(config)[-1, layout.loads.index(PULL)]
        places.append((DRAWBAR, 0))
    if gauges is not None:
        angle = math.radians(config.trial.angle_deg)
        share = link_share(gauges.link, angle)
        gain[-1, :3] = share.at_foot, share.turn / rear_link_reach(angle), share.grip
        gain[-1] /= links_gain(config)
        places.append((FRAME, 0))
    return LoadSensors(
        wheel=np.array([wheel for wheel, _ in places]),
        axis=np.array([axis for _, axis in places]),
        full=full_loads(legs or LegSensorsConfig()),
        gain=gain,
        bias=offsets(config),
        drift=np.zeros(len(places)),
        noise=noises(config),
        range=scales,
        step=2.0 * scales / 2**loads.bits,
        height=legs.height_m if legs else 0.0,
        lifted=loads.lifted_s,
        rate_hz=loads.rate_hz,
        **({"bandwidth": gauges.bandwidth_hz} if gauges else {}),
    )
