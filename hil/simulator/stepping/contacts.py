"""Contacts of a caller: checked, and made into the planes that the wheels touch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hil.simulator.stepping.layout import BadMessage
from models.contact.compliant import CompliantGround
from models.contact.laws import SLOWEST_ONSET
from models.contact.restitution import gonthier_factor
from models.kernels.compiled import FloatArray
from models.terrain.given import DAMPING, FRICTION, NORMAL, OFFSET, GivenContacts
from models.terrain.mesh_contacts import MOST_CONTACTS

_UNIT = 1e-6  # by which the length of a normal may differ from 1
_LIKE = math.cos(math.radians(1.0))  # of normals that are one face's
_NEAR = 1.5  # radii, from a wheel's centre to a contact on it
_MOST_FRICTION = 10.0


class ContactDoor:
    """Takes the contacts of a caller for one rover.

    Args:
        given: that the rover's steps read.
        wheel_names: of the rover.
        radius: (wheels,) [m].
        compliant: firm ground, whose law the contacts take; None: soil, on which a wheel has one contact without
            numbers of its own.
    """

    def __init__(
        self,
        given: GivenContacts,
        wheel_names: tuple[str, ...],
        radius: FloatArray,
        compliant: CompliantGround | None,
    ) -> None:
        self._given, self._names, self._radius, self._compliant = given, wheel_names, radius, compliant
        self._most = 1 if compliant is None else MOST_CONTACTS
        self._onset = np.zeros((len(wheel_names), MOST_CONTACTS))
        self._touched = np.zeros((len(wheel_names), MOST_CONTACTS), np.bool_)

    def take(self, contacts: NDArray[np.void], centre: FloatArray, velocity: FloatArray) -> None:
        """Replace the contacts of all wheels.

        Args:
            contacts: (n,) of `hil.simulator.stepping.layout.CONTACT`.
            centre: (wheels, 3) of the wheels now [m], world.
            velocity: (wheels, 3) of them [m/s], over the last step.

        Raises:
            BadMessage: with the first thing that is wrong; then the old contacts stay.
        """
        count, rows = np.zeros(len(self._names), np.int64), self._given.plane.copy()
        for number, contact in enumerate(contacts):
            wheel = int(contact["wheel"])
            if wheel >= len(self._names):
                raise BadMessage(f"contact {number}: wheel {wheel}, allowed: 0 to {len(self._names) - 1}")
            if wrong := self._wrong(contact, wheel, centre[wheel]):
                raise BadMessage(f"contact {number}, wheel {self._names[wheel]}: {wrong}")
            which = int(count[wheel])
            normal = contact["normal"]
            if which == self._most:
                of = "on soil" if self._compliant is None else "on firm ground"
                raise BadMessage(f"wheel {self._names[wheel]} has more contacts than {of} allowed: {self._most}")
            if (rows[wheel, :which, NORMAL:OFFSET] @ normal > _LIKE).any():
                raise BadMessage(
                    f"wheel {self._names[wheel]} has two contacts whose normals are within 1 degree, allowed: one for "
                    "each face, the deepest"
                )
            row = rows[wheel, which]
            row[NORMAL:OFFSET] = normal
            row[OFFSET] = normal @ contact["point"] + contact["penetration"]
            row[FRICTION] = contact["friction"]
            row[DAMPING] = self._damping(contact, wheel, which, -float(normal @ velocity[wheel]))
            count[wheel] += 1
        for wheel, its in enumerate(count):
            self._touched[wheel, its:] = False
        self._given.touching[:], self._given.plane[:] = count, rows

    def _wrong(self, contact: np.void, wheel: int, centre: FloatArray) -> str:
        """What is wrong with a contact; "": nothing."""
        point, normal, radius = contact["point"], contact["normal"], float(self._radius[wheel])
        depth, friction, restitution = (float(contact[name]) for name in ("penetration", "friction", "restitution"))
        if not (np.isfinite(point).all() and np.isfinite(normal).all() and math.isfinite(depth)):
            return "point, normal or penetration is not finite"
        if abs((length := math.sqrt(normal @ normal)) - 1.0) > _UNIT:
            return f"normal has length {length:.7g}, allowed: 1"
        if (far := math.dist(point, centre)) > _NEAR * radius:
            return (
                f"point is {far:.4g} m from the wheel's centre, allowed: {_NEAR * radius:.4g} (1.5 radii), world axes"
            )
        if abs(depth) > radius:
            return f"penetration is {depth:.4g} m, allowed: {-radius:g} to {radius:g} (a radius)"
        if self._compliant is None:
            if not (math.isnan(friction) and math.isnan(restitution)):
                return "friction or restitution is a number, allowed on soil: NaN (the soil has its own)"
        elif not (math.isnan(friction) or 0.0 <= friction <= _MOST_FRICTION):
            return f"friction is {friction:g}, allowed: 0 to {_MOST_FRICTION:g}, or NaN (the config's)"
        elif not (math.isnan(restitution) or 0.0 < restitution <= 1.0):
            return f"restitution is {restitution:g}, allowed: above 0 to 1, or NaN (the config's law)"
        return ""

    def _damping(self, contact: np.void, wheel: int, which: int, approach: float) -> float:
        """Damping b of the visco-elastic law that gives a contact its restitution, by Gonthier's factor over the onset.

        The onset is the approach speed when the wheel was last seen before it touched.
        """
        if math.isnan(contact["restitution"]) or self._compliant is None:
            return math.nan
        if not self._touched[wheel, which]:
            self._onset[wheel, which] = max(approach, SLOWEST_ONSET)
        self._touched[wheel, which] = contact["penetration"] > 0.0
        factor = gonthier_factor(float(contact["restitution"])) / self._onset[wheel, which]
        return float(factor * self._compliant.law.stiffness)
