"""Rovers by the method of MacMahon 2016 (4.1, 5.3): free bodies with six speeds each, joined by constraints.

Written from the description (`Tree`) alone, without a kernel and without Pinocchio: places by composing rotations,
speeds (centre of mass and angular velocity of every body, world axes), five rows a revolute joint, one more where it is
locked, one a coupling, three a ball that closes a loop. These rows are independent; MacMahon's own Gamma has more rows
than columns. With loops the dependent angles are a root of the balls' distances, and the orthogonal complement is the
null space of the rows by singular values: nothing is solved for the joints one by one.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, null_space
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from models.rover import exomars, exomars_like, juno, juno_exact, parametric, rcp, rocker_bogie
from models.rover.rover import Rover

ROVERS = {
    "rcp": lambda: rcp(added_mass=22.7),
    "rcp walking and steering": lambda: rcp(locks={"walking": None, "steering": None}),
    "parametric": lambda: parametric(walking_angle=0.3),
    "exomars_like": exomars_like,
    "exomars": exomars,
    "rocker_bogie": rocker_bogie,
    "juno": lambda: juno(tilt_angle=0.2),
    "juno of the thesis": lambda: juno(chains=False, locks={"spin": None}),
    "juno_exact": lambda: juno_exact(tilt_angle=0.2),
    "juno_exact of the thesis": lambda: juno_exact(chains=False, locks={"spin": None}),
    "juno_exact tilting": lambda: juno_exact(locks={"tilt": None}),
}


def cross(vector):
    """Matrix of the product vector x."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


class LooseBodies:
    """One rover in one state of its reduced coordinates."""

    def __init__(self, rover: Rover, q, v) -> None:
        self.tree, self.rover = rover.tree, rover
        self.bodies = {body.name: body for body in self.tree.bodies}
        self.slot = {body.name: 6 * k for k, body in enumerate(self.tree.bodies)}
        self.order = self._from_the_base()
        angles = self._joint_values(dict(zip(rover.joint_names, q[7:], strict=True)), angles=True)
        self._place(q, self._closed(q, angles))
        self.size = 6 * len(self.bodies)
        # Jacobian of all bodies' speeds over reduced speeds, column by column
        self.N = self._through_the_null_space() if self.tree.closures else self._joint_by_joint()
        self.speeds = self.N @ v
        self.M = block_diag(*(self._inertia(body) for body in self.bodies.values()))
        self._gather_constraints()

    def _joint_by_joint(self):
        return np.column_stack([self._spread(column) for column in np.eye(self.rover.nv)])

    def _through_the_null_space(self):
        """All motions that the rows allow, in the basis whose reduced speeds are the unit vectors."""
        self.speeds = np.zeros(self.size)
        self._gather_constraints()
        free = null_space(self.constraints)
        return free @ np.linalg.inv(np.column_stack([self._reduce(column, np.zeros(3)) for column in free.T]))

    def _closed(self, q, angles):
        """The angles of all joints, those found that close the loops."""
        names = [name for closure in self.tree.closures for name in closure.dependent]

        def apart(found):
            self._place(q, angles | dict(zip(names, found, strict=True)))
            gaps = [a - b for a, b in map(self._ends, self.tree.closures)]
            return np.concatenate(gaps) if gaps else found

        found = fsolve(apart, np.zeros(len(names)), xtol=1e-13) if names else []
        assert np.abs(apart(found)).max(initial=0.0) < 1e-12
        return angles | dict(zip(names, found, strict=True))

    def _ends(self, closure):
        """The two places of a ball [m], world axes."""
        ends = (closure.body, closure.place), (closure.other, closure.other_place)
        return [self.origin[name] + self.turn[name] @ np.array(place) for name, place in ends]

    def _from_the_base(self):
        """Joints, each after the one that carries its parent."""
        order, reached = [], {self.tree.bodies[0].name}
        while len(order) < len(self.tree.joints):
            ready = [j for j in self.tree.joints if j.parent in reached and j.child not in reached]
            order += ready
            reached |= {joint.child for joint in ready}
        return order

    def _joint_values(self, independent, angles: bool):
        """Angle or speed of every joint: independent, locked or coupled."""
        values = {joint.name: (joint.locked_at or 0.0) if angles else 0.0 for joint in self.tree.joints}
        values |= independent
        for coupling in self.tree.couplings:
            start = coupling.offset if angles else 0.0
            values[coupling.joint] = start + sum(ratio * values[name] for name, ratio in coupling.sources)
        return values

    def _place(self, q, angles) -> None:
        base = self.tree.bodies[0].name
        self.turn = {base: Rotation.from_quat(q[3:7]).as_matrix()}
        self.origin = {base: q[:3]}
        for joint in self.order:
            turn = self.turn[joint.parent]
            self.origin[joint.child] = self.origin[joint.parent] + turn @ np.array(joint.origin)
            rotation = Rotation.from_rotvec(angles[joint.name] * np.array(joint.axis))
            self.turn[joint.child] = turn @ rotation.as_matrix()
        self.com = {name: self.origin[name] + self.turn[name] @ np.array(b.com) for name, b in self.bodies.items()}

    def axis(self, joint):
        return self.turn[joint.parent] @ np.array(joint.axis)

    def _spread(self, v):
        rates = self._joint_values(dict(zip(self.rover.joint_names, v[6:], strict=True)), angles=False)
        base = self.tree.bodies[0].name
        turning = {base: self.turn[base] @ v[3:6]}
        going = {base: self.turn[base] @ v[:3]}  # of the origins
        for joint in self.order:
            arm = self.origin[joint.child] - self.origin[joint.parent]
            going[joint.child] = going[joint.parent] + np.cross(turning[joint.parent], arm)
            turning[joint.child] = turning[joint.parent] + self.axis(joint) * rates[joint.name]
        parts = [
            np.concatenate([going[k] + np.cross(turning[k], self.com[k] - self.origin[k]), turning[k]])
            for k in self.bodies
        ]
        return np.concatenate(parts)

    def _inertia(self, body):
        turn = self.turn[body.name]
        return block_diag(body.mass * np.eye(3), turn @ np.diag(body.inertia) @ turn.T)

    def turning(self, body: str):
        return self.speeds[self.slot[body] + 3 : self.slot[body] + 6]

    def _gather_constraints(self) -> None:
        """Gamma, and the right side of Gamma a = -(dGamma/dt) speeds."""
        rows, right = [], []
        for joint in self.order:
            p, c = joint.parent, joint.child
            wp, wc = self.turning(p), self.turning(c)
            rp, rc = self.origin[c] - self.com[p], self.origin[c] - self.com[c]
            point = np.zeros((3, self.size))
            point[:, self.slot[p] : self.slot[p] + 6] = np.hstack([-np.eye(3), cross(rp)])
            point[:, self.slot[c] : self.slot[c] + 6] = np.hstack([np.eye(3), -cross(rc)])
            rows.append(point)
            right.append(np.cross(wp, np.cross(wp, rp)) - np.cross(wc, np.cross(wc, rc)))
            # two directions across the axis, and along it for a lock: fixed in the parent
            across = np.linalg.svd(self.axis(joint)[None, :])[2][1:]
            fixed = across if joint.locked_at is None else np.vstack([across, self.axis(joint)])
            for direction in fixed:
                rows.append(self.relative(joint, direction)[None, :])
                right.append([-np.cross(wp, direction) @ (wc - wp)])
        for closure in self.tree.closures:
            point, value = np.zeros((3, self.size)), np.zeros(3)
            for sign, name, place in zip((1.0, -1.0), (closure.body, closure.other), self._ends(closure), strict=True):
                arm, spin = place - self.com[name], self.turning(name)
                point[:, self.slot[name] : self.slot[name] + 6] = sign * np.hstack([np.eye(3), -cross(arm)])
                value -= sign * np.cross(spin, np.cross(spin, arm))
            rows.append(point)
            right.append(value)
        joints = {joint.name: joint for joint in self.tree.joints}
        for coupling in self.tree.couplings:
            row, value = np.zeros(self.size), 0.0
            for name, factor in ((coupling.joint, 1.0), *((name, -ratio) for name, ratio in coupling.sources)):
                joint = joints[name]
                row += factor * self.relative(joint, self.axis(joint))
                wp, wc = self.turning(joint.parent), self.turning(joint.child)
                value -= factor * np.cross(wp, self.axis(joint)) @ (wc - wp)
            rows.append(row[None, :])
            right.append([value])
        self.constraints, self.right = np.vstack(rows), np.concatenate(right)

    def relative(self, joint, direction):
        """Row of the relative angular velocity of a joint along a direction."""
        row = np.zeros(self.size)
        row[self.slot[joint.parent] + 3 : self.slot[joint.parent] + 6] = -direction
        row[self.slot[joint.child] + 3 : self.slot[joint.child] + 6] = direction
        return row

    def approach(self, angle: float):
        """Rows of both front wheels' approach to a plane at an angle [rad] (5.20)."""
        rows = np.zeros((2, self.size))
        for row, name in zip(rows, ("front_left_wheel", "front_right_wheel"), strict=True):
            row[self.slot[name] : self.slot[name] + 3] = np.sin(angle), 0.0, -np.cos(angle)
        return rows

    def least(self, target, rows, right):
        """The x nearest to `target` in the metric M with rows x = right; redundant rows are allowed."""
        half = np.linalg.cholesky(self.M)
        scaled = np.linalg.solve(half, rows.T).T  # rows half^-T
        step = np.linalg.lstsq(scaled, right - rows @ target, rcond=1e-13)[0]
        return target + np.linalg.solve(half.T, step)

    def accelerations(self, tau, wrenches, gravity):
        """Of all bodies: Gauss' principle of least constraint, M a = forces + Gamma^T lambda."""
        force = np.zeros(self.size)
        for name, body in self.bodies.items():
            spin = self.turning(name)
            turning_inertia = self.M[
                self.slot[name] + 3 : self.slot[name] + 6, self.slot[name] + 3 : self.slot[name] + 6
            ]
            force[self.slot[name] : self.slot[name] + 3] = body.mass * np.asarray(gravity)
            force[self.slot[name] + 3 : self.slot[name] + 6] = -np.cross(spin, turning_inertia @ spin)
        for wheel, wrench in zip(self.tree.wheels, wrenches, strict=True):
            force[self.slot[wheel.body] : self.slot[wheel.body] + 6] += wrench
        # forces on the base at its origin, torques in the joints
        base, turn = self.tree.bodies[0].name, self.turn[self.tree.bodies[0].name]
        push = turn @ tau[:3]
        force[:3] += push
        force[3:6] += turn @ tau[3:6] + np.cross(self.origin[base] - self.com[base], push)
        joints = {joint.name: joint for joint in self.tree.joints}
        for name, torque in zip(self.rover.joint_names, tau[6:], strict=True):
            force += torque * self.relative(joints[name], self.axis(joints[name]))
        return self.least(np.linalg.solve(self.M, force), self.constraints, self.right)

    def reduced_speeds(self, speeds):
        """Independent speeds (nv,) of all bodies' speeds."""
        return self._reduce(speeds, np.zeros(3))

    def reduced_accelerations(self, rates):
        """Rates of the independent speeds; the base's linear speed is in base axes, which turn."""
        spin = self.turning(self.tree.bodies[0].name)
        arm = self.origin[self.tree.bodies[0].name] - self.com[self.tree.bodies[0].name]
        going = self.speeds[:3] + np.cross(spin, arm)
        return self._reduce(rates, np.cross(spin, np.cross(spin, arm)) - np.cross(spin, going))

    def _reduce(self, x, extra):
        base = self.tree.bodies[0].name
        back = self.turn[base].T
        joints = {joint.name: joint for joint in self.tree.joints}
        linear = x[:3] + np.cross(x[3:6], self.origin[base] - self.com[base]) + extra
        own = [self.relative(joints[name], self.axis(joints[name])) @ x for name in self.rover.joint_names]
        return np.concatenate([back @ linear, back @ x[3:6], own])


@pytest.fixture(scope="session", params=list(ROVERS))
def any_rover(request) -> Rover:
    return ROVERS[request.param]()


@pytest.fixture(scope="session")
def loose():
    """Loose bodies in a random state, with that state: (bodies, q, v, a random generator)."""

    def make(rover: Rover, seed: int):
        random = np.random.default_rng(seed)
        q, v = random.normal(size=rover.nq), random.normal(size=rover.nv)
        q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
        if rover.tree.closures:
            q[7:] *= 0.2  # rods reach so far
        return LooseBodies(rover, q, v), q, v, random

    return make
