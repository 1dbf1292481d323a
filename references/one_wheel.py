"""One wheel on a profile: its carriage does not turn, so that what it does has closed forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from models.actuators.drive import Drive
from models.contact.compliant import make_compliant_ground
from models.contact.friction import Bristles
from models.contact.laws import make_law
from models.contact.legs import make_grousers
from models.contact.profile_contact import make_profile_contact
from models.gravity import GRAVITY_MPS2
from models.kernels.bound import BoundArguments
from models.rover import single_wheel
from models.rover.rover import Rover
from models.terrain.profile import make_profile
from models.terrain.shapes import Corners
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.energy import EnergyMeter
from models.vehicle.step import Scene, run_bound

STEP_S = 1e-4
# Of the ground and of friction [N/m]; how friction is damped [N s/m].
STIFFNESS, BRISTLES = 1e6, Bristles(8e5, 2e3)
_MOTOR = Drive(200.0, 2000.0, 500.0, 0.0, 0.01, 0.0, 0.0, 0.0)


class WheelProperties:
    """A wheel on a line, at rest.

    Args:
        corners: of the line, x and z [m].
        friction: Coulomb's coefficient.
        x_m: where its centre is.
        over_m: how far it is above the line.
        damping: of the ground [N s/m].
        drives: False: the wheel turns freely.
        grousers: how many, and how high [m], of a wheel that stands on tips or rim; None: on a circle.
        flat: True: level firm ground without a profile, in place of the line.
        pitch: of the ground and all on it against gravity [rad], positive where it rises ahead.

    Attributes:
        radius_m: of the wheel.
        mass_kg: of wheel and carriage.
        turning: inertia of the wheel over mass and radius squared: 0.5 were all mass a cylinder.
        state: of it.
    """

    def __init__(
        self,
        corners: Corners,
        friction: float,
        x_m: float,
        *,
        over_m: float = 0.0,
        damping: float = 2e3,
        drives: bool = True,
        grousers: tuple[int, float] | None = None,
        flat: bool = False,
        pitch: float = 0.0,
    ) -> None:
        tree = single_wheel().tree
        self._rover = rover = Rover(
            replace(tree, bodies=(replace(tree.bodies[0], inertia=(1e9, 1e9, 1e9)), *tree.bodies[1:]))
        )
        wheel = next(body for body in tree.bodies if body.name == tree.wheels[0].body)
        self.radius_m = tree.wheels[0].radius
        self.mass_kg = sum(body.mass for body in tree.bodies)
        self.turning = wheel.inertia[1] / (self.mass_kg * self.radius_m**2)
        law = make_law("kelvin_voigt", STIFFNESS, damping=damping)
        tips = make_grousers([grousers], 0.5 * np.pi) if grousers else None
        held = make_profile_contact(rover, make_profile(corners, friction, 0.0), BRISTLES, grousers=tips)
        gravity = -GRAVITY_MPS2 * np.array((np.sin(pitch), 0.0, np.cos(pitch)))
        ground = make_compliant_ground(law, friction)
        ground = ground._replace(bristles=BRISTLES, grousers=tips) if flat else ground._replace(profile=held)
        self.state = make_vehicle_state(rover)
        self._vehicle = VehicleModel(rover.chain, None, _MOTOR, None, gravity, ground)
        self._scene = BoundArguments(Scene(self._vehicle, self.state))
        self.state.q[0], self.state.q[2] = x_m, self._rests(corners, x_m) + over_m
        self.state.drives.cut[:] = 0.0 if drives else 1.0

    def _rests(self, corners: Sequence[tuple[float, float]], x_m: float) -> float:
        line, along = np.array(corners), np.linspace(-self.radius_m, self.radius_m, 4001)
        reach = np.sqrt(self.radius_m**2 - along**2) - self.radius_m
        return float((np.interp(x_m + along, line[:, 0], line[:, 1]) + reach).max())

    @property
    def place(self) -> tuple[float, float]:
        """Of the centre [m]."""
        return float(self.state.q[0]), float(self.state.q[2]) + self.radius_m

    @property
    def speed(self) -> tuple[float, float]:
        """Of the centre [m/s]."""
        return float(self.state.v[0]), float(self.state.v[2])

    @property
    def push(self) -> tuple[float, float]:
        """Of the ground on the wheel, ahead and upwards [N]."""
        return float(self.state.ground.pull[0]), float(self.state.ground.vertical[0])

    def meter(self) -> EnergyMeter:
        """Of its energy from now on."""
        return EnergyMeter(self._rover, self._vehicle, self.state)

    def drive(self, speed_mps: float) -> None:
        """At a speed of the rim."""
        self.state.drives.set_speed[:] = speed_mps / self.radius_m

    def run(self, seconds: float) -> None:
        """Let time pass."""
        run_bound(self._scene, max(round(seconds / STEP_S), 1), STEP_S)
