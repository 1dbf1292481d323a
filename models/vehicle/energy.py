"""Energy balance of a vehicle: where it is, where it came from, where it went."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from models.contact.contact_points import ARM, STRETCH
from models.contact.ground import wheel_of
from models.contact.laws import Law
from models.contact.profile_contact import ProfileContact
from models.contact.rim import rim_contact
from models.kernels.compiled import FloatArray
from models.rover.dynamics import make_work, place_bodies
from models.rover.points import axle, body_position
from models.rover.rover import Rover
from models.terrain.profile import GAP, MOST_TOUCHED, touched
from models.terrain.surface import axes, contact_plane, height_over
from models.vehicle.ledger import (
    CONTACT_LOSS,
    CONTACT_STORED,
    CYLINDER,
    DRAG,
    DRAWBAR,
    FRICTION,
    GEAR,
    LYING,
    MOTOR,
    SERVO,
    SOIL,
    SPRING,
    STOP,
    TORQUE,
    Ledger,
    make_ledger,
    motion_energy,
)
from models.vehicle.model import VehicleModel, VehicleState
from models.wheel.kernels import resultant

# Sinkages at which the soil's force is taken, in radii: the spline between them is within 1e-9 of quadrature.
_SINKAGES = 0.6 * np.linspace(0.0, 1.0, 1201) ** 2


class Energies(NamedTuple):
    """Energies of a vehicle at one moment [J].

    Attributes:
        kinetic: of all bodies.
        potential: of the weight.
        contact: stored in plate and legs, and in friction on the plate that holds.
        stops: stored in the stops of the suspension joints.
        body: stored in the ground under the main body, where the rover lies on it.
        ground: stored in the ground under the wheels: soil's normal force is a function of sinkage while it has no
            memory of ruts, and firm ground is a spring. 0 for others.
        drives: work of the powered drives so far, speed controllers included.
        cylinders: work of the air cylinders.
        drawbar: work of the drawbar, and of torques set from outside.
        gear: lost so far in the friction of the gears, those of servos included.
        cut_drives: lost in the motors of cut drives and servos.
        contact_loss: lost in the plate's contact law and in leg damping.
        plate_friction: lost in friction on the plate.
        stop_loss: lost in those stops.
        body_loss: lost in the ground under the body, friction included.
        ground_loss: lost in the ground: compaction, shear and damping of soil, damping and friction of firm ground,
            impacts on rigid ground.
        servos: work of the powered servos so far.
        springs: stored in the springs of joints.
        spring_loss: lost in the damping of those.
    """

    kinetic: float
    potential: float
    contact: float
    stops: float
    body: float
    ground: float
    drives: float
    cylinders: float
    drawbar: float
    gear: float
    cut_drives: float
    contact_loss: float
    plate_friction: float
    stop_loss: float
    body_loss: float
    ground_loss: float
    servos: float = 0.0
    springs: float = 0.0
    spring_loss: float = 0.0

    @property
    def stored(self) -> float:
        """Sum of what the vehicle and its contacts hold."""
        return self.kinetic + self.potential + self.contact + self.stops + self.body + self.ground + self.springs

    @property
    def supplied(self) -> float:
        """Sum of the work that was put in."""
        return self.drives + self.cylinders + self.drawbar + self.servos

    @property
    def lost(self) -> float:
        """Sum of the losses."""
        contacts = self.contact_loss + self.plate_friction + self.stop_loss + self.body_loss + self.ground_loss
        return self.gear + self.cut_drives + contacts + self.spring_loss

    def residue(self, start: Energies) -> float:
        """What the balance since `start` leaves unexplained: energy that the time steps made (or, negative, lost)."""
        return (self.stored - start.stored) - (self.supplied - start.supplied) + (self.lost - start.lost)


class EnergyMeter:
    """Reads the energies of a vehicle whose steps are noted in `ledger` (models.vehicle.step.accounted_step).

    Args:
        rover: of the vehicle.
        vehicle: its constant part.
        state: its state; nothing in it is changed.
    """

    def __init__(self, rover: Rover, vehicle: VehicleModel, state: VehicleState) -> None:
        self._vehicle, self._state = vehicle, state
        self._rover = rover
        self._soil = None if vehicle.ground is None or vehicle.ground.ruts else _soil_springs(vehicle)
        self.ledger: Ledger = make_ledger(make_work(rover.chain), state.obstacle.force.size, state.v.size)
        self._first_ground, self._first_stops, self._first_body = self._ground(), self._stops(), self._body()
        self._first_springs = self._springs()

    def read(self) -> Energies:
        """The energies now."""
        joule, state = self.ledger.joule, self._state
        kinetic, potential = motion_energy(self._rover.chain, self._vehicle.gravity, state.q, state.v, self.ledger.work)
        ground, stops, body, springs = self._ground(), self._stops(), self._body(), self._springs()
        held = self._held_on_plate()
        return Energies(
            kinetic=kinetic,
            potential=potential,
            contact=float(joule[CONTACT_STORED]) + held,
            stops=stops,
            body=body,
            ground=ground,
            drives=float(joule[MOTOR]),
            cylinders=float(joule[CYLINDER]),
            drawbar=float(joule[DRAWBAR] + joule[TORQUE]),
            gear=-float(joule[GEAR]),
            cut_drives=-float(joule[DRAG]),
            contact_loss=float(joule[CONTACT_LOSS]),
            plate_friction=-float(joule[FRICTION]) - held,
            stop_loss=-float(joule[STOP]) - (stops - self._first_stops),
            body_loss=-float(joule[LYING]) - (body - self._first_body),
            ground_loss=-float(joule[SOIL]) - (ground - self._first_ground),
            servos=float(joule[SERVO]),
            springs=springs,
            spring_loss=-float(joule[SPRING]) - (springs - self._first_springs),
        )

    def _ground(self) -> float:
        """Energy stored in the ground [J], from the depths of the wheels."""
        compliant, stored = self._vehicle.compliant, 0.0
        if self._soil is not None:
            stored += float(sum(spring(depth) for spring, depth in zip(self._soil, self._depths(), strict=True)))
        if compliant is None:
            return stored
        if (hard := compliant.profile) is None:
            stored += float(_spring_energy(compliant.law, self._depths()).sum())
            k = 0.0 if compliant.bristles is None else compliant.bristles.stiffness
            return stored + 0.5 * k * float((self._state.ground.shear[:, :2] ** 2).sum())
        held = 0.5 * hard.bristles.stiffness * float((hard.stretch**2).sum())
        return stored + float(_spring_energy(compliant.law, self._depths_on(hard)).sum()) + held

    def _held_on_plate(self) -> float:
        """Energy stored in friction on the plate that holds [J]."""
        obstacle = self._vehicle.obstacle
        if obstacle is None or obstacle.bristles is None:
            return 0.0
        stretch = self._state.obstacle.contact_points[:, :, STRETCH:ARM]
        return 0.5 * obstacle.bristles.stiffness * float((stretch**2).sum())

    def _stops(self) -> float:
        """Energy stored in the stops of the joints [J]."""
        stops = self._vehicle.stops
        angle = self._state.q[stops.speed + 1]
        over = np.maximum(angle - stops.high, 0.0) + np.minimum(angle - stops.low, 0.0)
        return float(0.5 * (stops.stiffness * over**2).sum())

    def _springs(self) -> float:
        """Energy stored in the springs of joints [J]."""
        springs = self._vehicle.springs
        if springs is None:
            return 0.0
        return float(0.5 * (springs.stiffness * self._state.q[springs.speed + 1] ** 2).sum())

    def _body(self) -> float:
        """Energy stored in the ground under the main body [J]."""
        body, q = self._vehicle.body, self._state.q
        if body is None:
            return 0.0
        places = q[:3] + Rotation.from_quat(q[3:7]).apply(body.corner)
        depth = np.maximum([-height_over(self._vehicle.terrain, tuple(place)) for place in places.tolist()], 0.0)
        return float(_spring_energy(body.ground.law, depth).sum())

    def _depths(self) -> FloatArray:
        """Depth of each wheel in soil or firm ground [m], 0 above it: (wheels,)."""
        terrain, chain, work = self._vehicle.terrain, self._rover.chain, self.ledger.work
        place_bodies(chain, self._state.q, work)
        depths = np.zeros(chain.wheel_radius.size)
        for wheel, body in enumerate(chain.wheel_body):
            over, normal = contact_plane(terrain, body_position(self._state.q, work, body), wheel)
            upright = axes(terrain, normal)[2]
            reach, _ = rim_contact(chain.crown, wheel, chain.wheel_radius[wheel], upright, axle(work, body))
            depths[wheel] = max(reach - over, 0.0)
        return depths

    def _depths_on(self, hard: ProfileContact) -> FloatArray:
        """Depth of each contact on a profile [m]: (wheels, most)."""
        chain, found = self._rover.chain, np.zeros_like(hard.place)
        place_bodies(chain, self._state.q, self.ledger.work)
        depths = np.zeros((chain.wheel_radius.size, MOST_TOUCHED))
        for wheel, (body, radius) in enumerate(zip(chain.wheel_body, chain.wheel_radius.tolist(), strict=True)):
            x, _, z = body_position(self._state.q, self.ledger.work, body)
            count = touched(hard.profile, x, z, radius, 0.0, found)
            depths[wheel, :count] = -found[:count, GAP]
        return depths


def _spring_energy(law: Law, depth: FloatArray) -> FloatArray:
    energy: FloatArray = law.stiffness * depth ** (law.exponent + 1.0) / (law.exponent + 1.0)
    return energy


def _soil_springs(vehicle: VehicleModel) -> list[CubicSpline]:
    """Energy [J] over sinkage [m] of each wheel: the integral of its vertical force at rest."""
    ground, springs = vehicle.ground, list[CubicSpline]()
    assert ground is not None
    for wheel, radius in enumerate(vehicle.chain.wheel_radius.tolist()):
        if ground.each is None and springs:  # all wheels are alike
            springs.append(springs[0])
            continue
        own, depths = wheel_of(ground, wheel), _SINKAGES * radius
        forces = [resultant(own, depth) for depth in depths]
        springs.append(CubicSpline(depths, [normal * cosine for normal, cosine, *_ in forces]).antiderivative())
    return springs
