"""From the config to the load channels of the simulated rig."""

from __future__ import annotations

from itertools import product

import numpy as np

from hil.config.load_channels import full_loads, leg_matrix, nominal_gain, normal_force_rows, offsets_V
from hil.config.model import UncheckedConfig
from hil.config.schema.loads import AXES, LegSensorsConfig
from models.sensors.load_sensors import DRAWBAR, LoadSensors


def load_sensors(config: UncheckedConfig) -> LoadSensors | None:
    """The channels as the config describes them; None: there are none."""
    layout, loads = config.layout, config.loads
    if loads is None:
        return None
    legs, cell = loads.leg_sensors, loads.load_cell
    axes = legs.axes if legs else ()
    places = [(number, AXES.index(axis)) for number, axis in product(range(len(layout.wheels)), axes)]
    noise_V, gain = [legs.noise_V if legs else 0.0] * len(places), np.zeros((len(layout.loads), 6))
    if legs is not None:
        used = [AXES.index(axis) for axis in axes]
        for number, wheel in enumerate(layout.wheels):
            block = nominal_gain(loads, legs)[used]
            block[:, used] = np.linalg.inv(leg_matrix(loads, legs, wheel))
            gain[number * len(used) : (number + 1) * len(used)] = block
    if cell is not None:
        places.append((DRAWBAR, 0))
        noise_V.append(cell.noise_V)
        gain[-1, 0] = 1.0 / normal_force_rows(config)[-1, -1]
    return LoadSensors(
        wheel=np.array([wheel for wheel, _ in places]),
        axis=np.array([axis for _, axis in places]),
        full=full_loads(legs or LegSensorsConfig()),
        gain=gain,
        bias=offsets_V(config),
        drift=np.zeros(len(places)),
        noise=np.array(noise_V),
        range=loads.range_V,
        step=2.0 * loads.range_V / 2**loads.bits,
        height=legs.height_m if legs else 0.0,
        lifted=loads.lifted_s,
        rate_hz=loads.rate_hz,
    )
