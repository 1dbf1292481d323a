"""Puts the force sensors of a simulated rig together, and where they stand."""

from __future__ import annotations

import numpy as np

from models.contact.obstacle import Obstacle
from models.contact.profile_contact import SensedFace
from models.kernels.compiled import FloatArray
from models.plant.advance import RING, Sensing
from models.plant.parameters import RigParameters
from models.rover.rover import Rover
from models.sensors.disturbance import SnapBack, make_snap_back
from models.sensors.piezo import Piezo, make_piezo_state
from models.terrain.surface import Stand, clearance
from models.vehicle import VehicleModel


def make_sensing(
    parameters: RigParameters, rover: Rover, q: FloatArray, vehicle: VehicleModel, random: np.random.Generator
) -> Sensing | None:
    """The sensors of a rig, or None where there are none.

    Args:
        parameters: of the rig.
        rover: of the rig.
        q: its configuration at the start, as models.vehicle.VehicleState has it.
        vehicle: whose obstacle the rover meets, or whose ground has a plate.
        random: source of the noise.
    """
    if parameters.piezo is None:
        return None
    channels, disturbance = len(parameters.piezo.sensitivity), parameters.disturbance
    obstacle, plate = vehicle.obstacle, sensed_face(vehicle)
    origin = (
        plate.middle + parameters.alignment
        if plate is not None
        else _triangle_origin(parameters, rover, q, None if obstacle is None else obstacle.stand)
    )
    return Sensing(
        parameters.piezo,
        make_piezo_state(channels),
        origin,
        parameters.sample_rate_hz,
        random.standard_normal((RING, channels if disturbance is None else 2 * channels)),
        None if disturbance is None else disturbance.fresh(),
        _make_snap_back(parameters.snap_share, parameters.piezo, obstacle),
    )


def sensed_face(vehicle: VehicleModel) -> SensedFace | None:
    """The plate on force sensors in the ground of a vehicle, or None."""
    profile = None if vehicle.compliant is None else vehicle.compliant.profile
    return None if profile is None else profile.sensed


def _make_snap_back(share: float, piezo: Piezo, obstacle: Obstacle | None) -> SnapBack | None:
    if obstacle is None or obstacle.plate is None:
        return None
    return make_snap_back(obstacle.plate.slipped, share, piezo.ring_frequency, piezo.ring_damping)


def _triangle_origin(parameters: RigParameters, rover: Rover, q: FloatArray, stand: Stand) -> FloatArray:
    """Where a smooth wheel of this rover will hit; the lab puts the triangle there (6.2.4).

    On ground that is not level the wheel reaches the plate as high over its ground as it is at the start.
    """
    if parameters.obstacle is None:
        return np.zeros(2)
    beta = parameters.obstacle.angle
    q, veer = q.copy(), parameters.veer
    if veer.heading != 0.0:  # it would hit there if it stood straight
        veer.turn(q, -veer.heading)
    places = rover.wheel_positions(rover.own_configuration(q))
    wheel = rover.wheel_names.index("front_right")
    centre, radius = places[wheel], rover.tree.wheels[wheel].radius
    high, left = centre[2], centre[1]
    if stand is not None:
        place = (float(centre[0]), float(centre[1]), float(centre[2]))
        high, left = clearance(parameters.ground.terrain, place, wheel), stand[wheel, 2] @ (centre - stand[wheel, 0])
        if stand[:, 0].any():  # on a scan the plate stands on the wheel's track
            left = centre[1] - stand[wheel, 0, 1]
    up = (high - radius * np.cos(beta)) / np.sin(beta)
    nominal_across = left - parameters.start_across - veer.across
    return np.array([nominal_across + parameters.alignment[0], up + parameters.alignment[1]])
