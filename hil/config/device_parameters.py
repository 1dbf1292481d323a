"""From the config to the force sensors, load channels and instruments of motion of the simulated rig."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config.rig_setup import (
    full_loads,
    full_scales,
    leg_matrix,
    links_gain,
    noises,
    nominal_gain,
    normal_force_rows,
    offsets,
)
from hil.config.schema.equipment import PlantConfig
from hil.config.schema.instruments import ImuConfig, InstrumentErrors, JointEncoder, JointsConfig, MotionConfig
from hil.config.schema.loads import AXES, PULL, LegSensorsConfig
from hil.config.schema.sensors import DaqConfig
from hil.config.unchecked_config import UncheckedConfig
from models.plant.instruments import InstrumentParameters
from models.rover.ties import Vector
from models.sensors.disturbance import SensorDisturbances, make_disturbance
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


def instrument_parameters(
    instruments: Mapping[str, MotionConfig | ImuConfig | JointsConfig], encoders: Sequence[JointEncoder]
) -> dict[str, InstrumentParameters]:
    """The instruments in the models' units, by role.

    Args:
        instruments: their sections, by role.
        encoders: of the joints, in the order of the values of a reading.
    """
    return {role: _parameters(section, encoders) for role, section in instruments.items()}


def _parameters(
    section: MotionConfig | ImuConfig | JointsConfig, encoders: Sequence[JointEncoder]
) -> InstrumentParameters:
    if isinstance(section, MotionConfig):
        turn = math.radians(section.noise_deg)
        noise = {"distance": 1, "position": 3, "pose": 3}[section.measures] * (section.noise_m,)
        length = math.hypot(*section.direction)
        return InstrumentParameters(
            measures=section.measures,
            rate_hz=section.rate_hz,
            noise=noise + (3 * (turn,) if section.measures == "pose" else ()),
            bias=(section.bias_m,) * len(noise) + (3 * (0.0,) if section.measures == "pose" else ()),
            point=vector(section.point_m),
            body_turn=vector(map(math.radians, section.body_turn_deg)),
            origin=vector(section.origin_m),
            turn=_turned(section.turn_deg, section.errors.mounting_deg),
            direction=vector(part / length for part in section.direction),
            **_errors(section.errors),
        )
    if isinstance(section, ImuConfig):
        return InstrumentParameters(
            measures="imu",
            rate_hz=section.rate_hz,
            noise=3 * (section.noise_mps2,) + 3 * (section.noise_radps,),
            bias=3 * (section.bias_mps2,) + 3 * (section.bias_radps,),
            point=vector(section.point_m),
            body_turn=_turned(section.turn_deg, section.errors.mounting_deg),
            **_errors(section.errors),
        )
    return InstrumentParameters(
        measures="joints",
        rate_hz=section.rate_hz,
        noise=len(encoders) * (math.radians(section.noise_deg),),
        bias=len(encoders) * (math.radians(section.bias_deg),),
        joints=tuple(encoder.joint for encoder in encoders),
        zero=tuple(math.radians(encoder.zero_deg + encoder.error_deg) for encoder in encoders),
        sign=tuple(-1.0 if encoder.reversed else 1.0 for encoder in encoders),
        **_errors(section.errors),
    )


def vector(parts: Iterable[float]) -> Vector:
    """Three numbers."""
    x, y, z = parts
    return x, y, z


def _turned(turns_deg: Iterable[float], further_deg: Iterable[float]) -> Vector:
    """Roll, pitch, yaw [rad] of axes that are turned further, about their own axes."""
    if not any(further_deg):
        return vector(map(math.radians, turns_deg))
    axes, further = (Rotation.from_euler("xyz", tuple(turns), degrees=True) for turns in (turns_deg, further_deg))
    return vector((axes * further).as_euler("xyz"))


def _errors(errors: InstrumentErrors) -> dict[str, Any]:
    return {
        "drop_outs": errors.drop_outs,
        "fault": errors.fault,
        "fault_at": errors.fault_at_s,
        "fault_size": errors.fault_size,
        "late_ns": round(errors.late_ms * 1e6),
    }


# Gain of a sensor by its fault; with a gain of 1000 about 0.5 N drive it to the end of its range.
GAINS = {"none": 1.0, "dead": 0.0, "offset": 1.0, "saturated": 1000.0}
# Zero shift of a channel with the fault offset [V]: 18 N of a PCB 208C02.
ZERO_SHIFT_V = 0.2


def fault_gains(daq: DaqConfig) -> NDArray[np.float64]:
    """Factor on each channel's sensitivity (channels,)."""
    return np.array([GAINS[channel.fault] for channel in daq.channels])


def disturbance_of(daq: DaqConfig | None, plant: PlantConfig, wheel_radps: float) -> SensorDisturbances | None:
    """Disturbances of the force sensors, wheels at a speed; None without any, or without sensors."""
    given = plant.vibration
    if daq is None:
        return None
    shifts = np.array([ZERO_SHIFT_V if channel.fault == "offset" else 0.0 for channel in daq.channels])
    if given.none and not shifts.any():
        return None
    return make_disturbance(
        len(daq.channels),
        hum=given.mains_V,
        hum_frequency=given.mains_hz,
        structure_share=given.structure_share,
        structure_frequency=given.structure_hz,
        structure_damping=given.structure_damping,
        run_up_force=given.run_up_N,
        run_up_frequency=given.run_up_hz,
        run_up_speed=wheel_radps,
        footstep_force=given.footsteps_N,
        footstep_frequency=given.footstep_hz,
        footsteps=given.footsteps_per_s,
        zero_shift=shifts,
    )
