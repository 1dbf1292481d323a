"""Shared by the physics tests: Pinocchio's view of a rover, read from its URDF alone."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from models.rover import Rover


class Peer:
    """A rover in Pinocchio."""

    def __init__(self, rover: Rover) -> None:
        self.names = rover.joint_names
        self.model = pinocchio.buildModelFromXML(rover.urdf(), pinocchio.JointModelFreeFlyer())
        self.data = self.model.createData()

    def q(self, q):
        """Pinocchio stores an endless (URDF 'continuous') joint as cosine and sine; ours keeps the angle."""
        out = pinocchio.neutral(self.model)
        out[:3] = q[:3]
        out[3:7] = q[3:7] / np.linalg.norm(q[3:7])
        for name, angle in zip(self.names, q[7:], strict=True):
            at = self.model.joints[self.model.getJointId(name)].idx_q
            out[at : at + 2] = np.cos(angle), np.sin(angle)
        return out

    def mass_matrix(self, q):
        upper = np.triu(pinocchio.crba(self.model, self.data, self.q(q)))
        return upper + np.triu(upper, 1).T

    def energy(self, q, v, gravity=(0.0, 0.0, 0.0)) -> float:
        """Kinetic and potential energy [J]."""
        self.model.gravity.linear = np.array(gravity)
        kinetic = pinocchio.computeKineticEnergy(self.model, self.data, self.q(q), v)
        return kinetic + pinocchio.computePotentialEnergy(self.model, self.data, self.q(q))

    def momentum(self, q, v):
        """Linear momentum [kg m/s] and angular momentum about the world's origin [kg m^2/s], world axes."""
        about_com = pinocchio.computeCentroidalMomentum(self.model, self.data, self.q(q), v)
        com = pinocchio.centerOfMass(self.model, self.data, self.q(q))
        return np.concatenate([about_com.linear, about_com.angular + np.cross(com, about_com.linear)])


@pytest.fixture(scope="session")
def as_peer():
    return Peer
