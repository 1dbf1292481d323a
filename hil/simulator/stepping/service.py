"""The step service: a simulated rover that a caller moves step by step, and its socket."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, Self
from zlib import crc32

import msgspec
import numpy as np
import zmq
from numpy.typing import NDArray

from hil.config.command_requirements import NO_BRISTLES, WHEELS, ground_of, refuse_unfit
from hil.config.rig import Rig
from hil.config.schema.equipment import KeysConfig, is_local
from hil.operator.curve import CurveDoor, KeysError, own_path
from hil.operator.sockets import RequestSocket
from hil.processes.lifecycle import StopFlag
from hil.simulator.simulated_rig import build_plant
from hil.simulator.stepping import layout
from hil.simulator.stepping.layout import MOST_FRAME_BYTES, BadMessage, Sizes, StepMessage
from models.contact.compliant import CompliantGround
from models.contact.laws import SLOWEST_ONSET, gonthier_factor
from models.kernels.compiled import FloatArray
from models.plant import Plant
from models.rover.dynamics import make_work
from models.terrain.given_contacts import DAMPING, FRICTION, NORMAL, OFFSET, GivenContacts, make_given_contacts
from models.terrain.mesh_contacts import MOST_CONTACTS
from models.vehicle.energy import Energies
from models.vehicle.poses import fill_wheel_poses

_UNIT = 1e-6  # by which the length of a normal may differ from 1
_LIKE = math.cos(math.radians(1.0))  # of normals that are one face's
_NEAR = 1.5  # radii, from a wheel's centre to a contact on it
_MOST_FRICTION = 10.0


class ContactDoor:
    """Takes the contacts of a caller for one rover.

    Without `compliant`, the firm ground whose law the contacts take, a wheel is on soil: it has one contact, without
    friction and restitution.
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

        Contacts (n,) of `CONTACT`; centres (wheels, 3) now [m], world, and their velocities over the last step [m/s].

        Raises BadMessage: with the first thing that is wrong; then the old contacts stay.
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


MOST_STEP_NS = 100_000_000
_BASE_Q = ("x", "y", "z", "qx", "qy", "qz", "qw")
_BASE_V = ("vx", "vy", "vz", "wx", "wy", "wz")


class StepService:
    """A simulated rover that moves when its caller says so.

    The plant is perturbed by the seed of the config as in a run. With `outside` the caller gives the contacts of the
    wheels before each step; if not, the ground is that of the config.

    Raises ConfigError: a rover without wheels, or contacts from outside on ground that takes none.

    Attributes:
        sizes: of the messages.
        text: the description, JSON.
        number: of the rig, in every message.
    """

    def __init__(self, rig: Rig, *, outside: bool, progress: Callable[[str], None] = lambda _: None) -> None:
        refuse_unfit(rig.config, "step service", WHEELS)
        if outside:
            refuse_unfit(rig.config, "contacts from outside", ground_of("soil", "scan", "firm"), NO_BRISTLES)
        self._rig, self._outside, self._progress = rig, outside, progress
        self._answers: dict[int, Callable[[StepMessage], bytes]] = {
            layout.DESCRIBE: self._describe,
            layout.RESET: self._reset,
            layout.CONTACTS: self._contacts,
            layout.COMMAND: self._command,
            layout.STEP: self._step,
            layout.STATE: lambda _: self._record.tobytes(),
            layout.ENERGY: lambda _: np.array(self._plant.energies(), "<f8").tobytes(),
        }
        self._build()
        self._plant.advance(self._plant.parameters.substep_ns)  # compiles the step, so that no caller waits for that
        self._plant.energies()
        self._build()
        state = self._state
        self.sizes = Sizes(
            state.q.size,
            state.v.size,
            len(self._plant.rover.wheel_names),
            self._plant.servo_angle.size,
            state.cylinders.torque.size,
            len(Energies._fields),
            int(outside),
        )
        self._record = np.zeros(1, self.sizes.state())
        self.text = msgspec.json.encode(self._description())
        self.number = crc32(self.text)
        self._look()

    def _build(self) -> None:
        """The rover at its start."""
        wheels = len(self._rig.layout.wheels)
        given = make_given_contacts(wheels) if self._outside else None
        self._plant: Plant = build_plant(self._rig, accounts=True, contacts=given)
        self._vehicle, self._state = self._plant.scene.value[:2]
        rover = self._plant.rover
        self._work = make_work(rover.chain)
        self._centre, self._axle = np.zeros((2, wheels, 3))
        self._velocity = np.zeros((wheels, 3))
        self._door = None
        if given is not None:
            radius = rover.chain.wheel_radius
            self._door = ContactDoor(given, tuple(rover.wheel_names), radius, self._vehicle.compliant)
        self._given_now, self._said = False, False

    def answer(self, frames: Sequence[bytes]) -> list[bytes]:
        """The reply to a request: a frame for each of its messages, in order.

        The first message that is refused is answered by the reason, and those after it are not looked at.
        """
        if not 0 < len(frames) <= layout.MOST_FRAMES:
            return [self._refusal(f"a request has {len(frames)} messages, allowed: 1 to {layout.MOST_FRAMES}")]
        replies: list[bytes] = []
        for frame in frames:
            try:
                message = layout.read(frame)
                replies.append(layout.write(message.kind, self._answered(message), self.number))
            except ValueError as error:
                replies.append(self._refusal(str(error)))
                break
        return replies

    def _refusal(self, why: str) -> bytes:
        return layout.write(layout.REFUSED, f"step service: {why}".encode(), self.number)

    def _answered(self, message: StepMessage) -> bytes:
        """Body of the reply. Raises BadMessage."""
        if message.kind != layout.DESCRIBE and message.rig != self.number:
            raise BadMessage(
                f"a message is for rig {message.rig:08x}, here is {self.number:08x}: the service was started anew with "
                "another config or version; describe first"
            )
        if message.kind not in self._answers:
            raise BadMessage(f"a message has kind {message.kind}, allowed: {layout.DESCRIBE} to {layout.ENERGY}")
        if message.kind in layout.WITHOUT_BODY:
            layout.empty(message)
        return self._answers[message.kind](message)

    def _describe(self, _: StepMessage) -> bytes:
        return layout.SIZES.pack(*self.sizes, len(self.text)) + self.text

    def _reset(self, _: StepMessage) -> bytes:
        self._build()
        self._look()
        return self._record.tobytes()

    def _contacts(self, message: StepMessage) -> bytes:
        contacts = layout.contacts_of(message)
        if self._door is None:
            raise BadMessage("contacts, allowed: none, because the ground is the config's (--contacts outside)")
        self._door.take(contacts, self._centre, self._velocity)
        self._given_now = True
        return b""

    def _command(self, message: StepMessage) -> bytes:
        body = layout.body_of(message, self.sizes.command())
        speed, duty, servo, valve, regulator = (body[name][0] for name in body.dtype.names or ())
        for name, values in (("speed", speed), ("duty", duty), ("servo", servo), ("regulator", regulator)):
            if np.isinf(values).any():
                raise BadMessage(f"{name} is {values}, allowed: finite numbers, or NaN")
        if not np.isin(valve, (0.0, 1.0)).all():
            raise BadMessage(f"valve is {valve.tolist()}, allowed: 0 or 1")
        if (np.abs(duty) > 1.0).any():
            raise BadMessage(f"duty is {duty}, allowed: -1 to 1, or NaN")
        by_speed = bool(np.isnan(duty).all())
        cut = np.isnan(speed) & np.isnan(duty)
        # first what can be refused: a command is taken whole or not at all
        shares = () if by_speed else tuple(duty.tolist())
        self._plant.set_each_drive(tuple(np.nan_to_num(speed).tolist()), cut.tolist(), shares)
        if servo.size:
            held = np.where(np.isnan(servo), self._plant.servo_angle, servo)
            self._plant.set_each_servo(held.tolist(), np.isnan(servo).tolist())
        self._plant.set_valves(valve.astype(np.bool_).tolist())
        kept = np.isnan(regulator)
        self._plant.set_regulators(np.where(kept, self._state.cylinders.supply, regulator).tolist())
        return b""

    def _step(self, message: StepMessage) -> bytes:
        at_ns, dt_ns = layout.step_of(message)
        plant = self._plant
        if at_ns != plant.t_ns:
            raise BadMessage(
                f"step from {at_ns} ns, here it is {plant.t_ns} ns: another caller has stepped, or a reply was lost"
            )
        if not 0 < dt_ns <= MOST_STEP_NS:
            raise BadMessage(f"step of {dt_ns} ns, allowed: 1 to {MOST_STEP_NS}")
        if self._outside and not self._given_now:
            raise BadMessage(
                "step without contacts since the last step, needed: contacts, with count 0 where no wheel touches"
            )
        before = self._centre.copy()
        plant.advance(at_ns + dt_ns)
        self._given_now = False
        self._look()
        self._velocity = (self._centre - before) / (dt_ns * 1e-9)
        if not np.isfinite(self._state.q).all():
            raise BadMessage(f"the state is not finite after the step to {plant.t_ns} ns; reset")
        return self._record.tobytes()

    def _look(self) -> None:
        """Copy the state out."""
        plant, state, record = self._plant, self._state, self._record[0]
        q = state.q.copy()  # placing the bodies corrects the angles of closed loops
        fill_wheel_poses(plant.rover.chain, q, self._work, self._centre, self._axle)
        outside = plant.outside
        if outside is not None and not self._said:
            self._said = True
            self._progress(f"outside what the models hold for since {outside.t_ns * 1e-9:.3f} s: {outside.words}")
        record["t_ns"], record["outside_ns"] = plant.t_ns, -1 if outside is None else outside.t_ns
        record["q"], record["v"] = q, state.v
        record["centre"], record["axle"] = self._centre, self._axle
        record["load"], record["sinkage"] = state.ground.vertical, state.ground.sinkage
        record["slip"], record["torque"] = state.ground.slip, state.drives.torque

    def _description(self) -> dict[str, Any]:
        rig, rover, sizes = self._rig, self._plant.rover, self.sizes
        names = tuple(rover.tree_joint_names)
        return {
            "service": "rover-hil step service",
            "version": layout.VERSION,
            "config": rig.config.name,
            "rover": rover.tree.name,
            "contacts": "outside" if self._outside else "built_in",
            "ground": rig.config.ground.kind,
            "gravity_mps2": self._vehicle.gravity.tolist(),
            "substep_ns": self._plant.parameters.substep_ns,
            "most_step_ns": MOST_STEP_NS,
            "q": [*_BASE_Q, *names],
            "v": [*_BASE_V, *names],
            "wheels": [
                {"name": wheel.name, "radius_m": float(radius), "width_m": wheel.width}
                for wheel, radius in zip(rover.tree.wheels, rover.chain.wheel_radius, strict=True)
            ],
            "servos": [servo.joint for servo in self._plant.parameters.servos],
            "cylinders": list(rig.layout.cylinders)[: sizes.cylinders],
            "energy_J": list(Energies._fields),
            "messages": {
                "contact": layout.places(layout.CONTACT),
                "command": layout.places(sizes.command()),
                "state": layout.places(sizes.state()),
            },
            "urdf": rover.urdf(),
        }


_LOOK_MS = 200  # how often it looks whether it is to end
_BATCH = 64  # requests that it answers before it looks again


class StepSocket:
    """Serves a step service, one request after the other.

    The endpoint is tcp://ADDRESS:PORT; * as the port: a free one. Without keys, any client on this computer may
    connect.

    Raises ValueError: other computers reach the endpoint and there are no keys, it cannot be bound, or the keys are not
    in order.
    """

    def __init__(self, service: StepService, endpoint: str, keys: KeysConfig | None = None) -> None:
        if keys is None and not is_local(endpoint):
            raise ValueError(f"--endpoint {endpoint}: other computers reach it, needed: operator.keys in the config")
        self._service = service
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._context.setsockopt(zmq.LINGER, 0)
        self._door: CurveDoor | None = None
        try:
            self._bind(endpoint, keys)
        except BaseException:
            self.close()
            raise

    def _bind(self, endpoint: str, keys: KeysConfig | None) -> None:
        if keys is not None:
            try:
                self._door = CurveDoor(self._context, own_path(keys.secret), own_path(keys.clients))
            except KeysError as error:
                raise ValueError(f"operator.keys: {error}") from None
        options = {zmq.MAXMSGSIZE: MOST_FRAME_BYTES}
        self._requests = RequestSocket(self._context, zmq.REP, endpoint, "--endpoint", self._door, options)

    @property
    def endpoint(self) -> str:
        """As bound, with the port's number."""
        return self._requests.endpoint

    def serve(self, stop: StopFlag) -> None:
        """Answer requests until asked to end."""
        while not stop.ending:
            self.serve_for(_LOOK_MS)

    def serve_for(self, most_ms: int) -> None:
        """Wait so long [ms] for a request, and answer what has come."""
        if not self._requests.wait(most_ms):
            return
        socket = self._requests.socket
        with contextlib.suppress(zmq.Again):
            for _ in range(_BATCH):
                socket.send_multipart(self._service.answer(socket.recv_multipart(zmq.NOBLOCK)))

    def close(self) -> None:
        """End all connections; may be called twice."""
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
