"""Answers the messages of a caller that moves a simulated rover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import msgspec
import numpy as np

from hil.config.needs import WHEELS, ground_of, refuse_unfit
from hil.config.rig import Rig
from hil.simulator.build import build_plant
from hil.simulator.stepping import layout
from hil.simulator.stepping.contacts import ContactDoor
from hil.simulator.stepping.layout import BadMessage, Sizes, StepMessage
from models.plant import Plant
from models.rover.dynamics import make_work
from models.terrain.given import make_given_contacts
from models.vehicle.energy import Energies
from models.vehicle.poses import fill_wheel_poses

MOST_STEP_NS = 100_000_000
_BASE_Q = ("x", "y", "z", "qx", "qy", "qz", "qw")
_BASE_V = ("vx", "vy", "vz", "wx", "wy", "wz")


class StepService:
    """A simulated rover that moves when its caller says so.

    Args:
        rig: whose simulated plant it is, perturbed by the config's seed as in a run.
        outside: the caller gives the contacts of the wheels, before each step; if not, the ground is the config's.
        progress: receives a line when the rover leaves what its models hold for.

    Attributes:
        sizes: of the messages.
        text: the description, JSON.
        number: of the rig, in every message.

    Raises:
        ConfigError: a rover without wheels, or contacts from outside on ground that takes none.
    """

    def __init__(self, rig: Rig, *, outside: bool, progress: Callable[[str], None] = lambda _: None) -> None:
        refuse_unfit(rig.config, "step service", WHEELS)
        if outside:
            refuse_unfit(rig.config, "contacts from outside", ground_of("soil", "scan", "firm"))
        self._rig, self._outside, self._progress = rig, outside, progress
        self._answers: dict[int, Callable[[StepMessage], bytes]] = {
            layout.DESCRIBE: self._describe,
            layout.RESET: self._reset,
            layout.CONTACTS: self._contacts,
            layout.COMMAND: self._command,
            layout.STEP: self._step,
            layout.STATE: self._state_now,
            layout.ENERGY: self._energy,
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
        return self._answers[message.kind](message)

    def _describe(self, message: StepMessage) -> bytes:
        layout.empty(message)
        return layout.SIZES.pack(*self.sizes, len(self.text)) + self.text

    def _reset(self, message: StepMessage) -> bytes:
        layout.empty(message)
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

    def _state_now(self, message: StepMessage) -> bytes:
        layout.empty(message)
        return self._record.tobytes()

    def _energy(self, message: StepMessage) -> bytes:
        layout.empty(message)
        return np.array(self._plant.energies(), "<f8").tobytes()

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
        joints = tuple(rover.tree_joint_names)
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
            "q": [*_BASE_Q, *joints],
            "v": [*_BASE_V, *joints],
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
