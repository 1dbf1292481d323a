"""A client of the step service (`hil serve`): moves a simulated rover from another program, with its own contacts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt
import zmq

from hil.operator.curve import prove, read_key_pair, read_public_key
from hil.simulator.stepping import layout
from hil.simulator.stepping.layout import Sizes

# How long a reply may take [s]: a reset settles the rover, and the first one of a version compiles.
ANSWER_S = 60.0


class StepError(Exception):
    """A request was refused, or there is no answer."""


class Contact(NamedTuple):
    """What a wheel touches, world axes.

    Attributes:
        wheel: its number, in the order of `StepClient.wheels`.
        point: its deepest point [m].
        normal: unit vector from the ground to the wheel.
        penetration: depth of the point under the ground's surface, along the normal [m]; below 0: it does not touch
            yet, and may within the step.
        friction: Coulomb coefficient; NaN: the config's.
        restitution: above 0 to 1; NaN: the config's contact law.
    """

    wheel: int
    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    penetration: float
    friction: float = math.nan
    restitution: float = math.nan


class Moved(NamedTuple):
    """The rover at a moment.

    Attributes:
        t_ns: since the start [ns].
        outside_ns: when the rover left what its models hold for [ns]; -1: it has not.
        q: configuration (nq,), names in `StepClient.description["q"]`.
        v: velocity (nv,), likewise.
        centre: of the wheels (wheels, 3) [m], world.
        axle: of the wheels (wheels, 3), unit vectors to port, world.
        load: force on the wheels along the normal (wheels,) [N].
        sinkage: of the wheels (wheels,) [m].
        slip: of the wheels (wheels,) [-].
        torque: of the drives on their axles (wheels,) [N m].
    """

    t_ns: int
    outside_ns: int
    q: npt.NDArray[np.float64]
    v: npt.NDArray[np.float64]
    centre: npt.NDArray[np.float64]
    axle: npt.NDArray[np.float64]
    load: npt.NDArray[np.float64]
    sinkage: npt.NDArray[np.float64]
    slip: npt.NDArray[np.float64]
    torque: npt.NDArray[np.float64]


class StepClient:
    """A client of one running `hil serve`.

    Args:
        endpoint: tcp://ADDRESS:PORT, as `hil serve` prints it.
        keys: files of this client's secret key and of the service's public key; None: on this computer, without keys.
        answer_s: how long a reply may take [s].

    Attributes:
        description: of the rover and of the messages, with its URDF.
        sizes: of the messages.
        wheels: names, in order.
        t_ns: of the rover [ns], as the last reply has it.

    Raises:
        StepError: there is no answer, or another version.
        KeysError: a key file is not in order.

    Example:
        >>> from hil.api.stepping import Contact, StepClient
        >>> def drive(endpoint):  # level ground of one's own
        ...     with StepClient(endpoint) as rover:
        ...         radius = [wheel["radius_m"] for wheel in rover.description["wheels"]]
        ...         now = rover.reset()
        ...         rover.command([0.5] * len(rover.wheels))
        ...         for _ in range(1000):
        ...             touched = [
        ...                 Contact(i, (x, y, z - radius[i]), (0.0, 0.0, 1.0), radius[i] - z)
        ...                 for i, (x, y, z) in enumerate(now.centre.tolist())
        ...             ]
        ...             now = rover.step(1_000_000, touched)
    """

    def __init__(self, endpoint: str, *, keys: tuple[Path, Path] | None = None, answer_s: float = ANSWER_S) -> None:
        self._endpoint, self._answer_s, self._rig = endpoint, answer_s, 0
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        # a request may follow one that was not answered
        self._socket.setsockopt(zmq.REQ_RELAXED, 1)
        self._socket.setsockopt(zmq.REQ_CORRELATE, 1)
        try:
            if keys is not None:
                prove(self._socket, read_key_pair(keys[0]), read_public_key(keys[1]))
            self._connect(endpoint)
            self._describe()
        except BaseException:
            self.close()
            raise
        self.t_ns = self.state().t_ns

    def _connect(self, endpoint: str) -> None:
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            raise StepError(f"{endpoint}: {error}; allowed: tcp://ADDRESS:PORT") from None

    def _describe(self) -> None:
        [body] = self._exchange([layout.write(layout.DESCRIBE)])
        *sizes, _ = layout.SIZES.unpack_from(body)
        self.sizes = Sizes(*sizes)
        self.description: dict[str, Any] = msgspec.json.decode(body[layout.SIZES.size :])
        self.wheels = tuple(wheel["name"] for wheel in self.description["wheels"])
        self._command, self._state = self.sizes.command(), self.sizes.state()

    def _exchange(self, frames: Sequence[bytes]) -> list[bytes]:
        """Bodies of the replies. Raises StepError."""
        self._socket.send_multipart(frames)
        if not self._socket.poll(round(self._answer_s * 1e3)):
            raise StepError(f"{self._endpoint}: no answer in {self._answer_s:g} s: is `hil serve` running there?")
        bodies: list[bytes] = []
        for frame in self._socket.recv_multipart():
            try:
                message = layout.read(frame)
            except layout.BadMessage as error:
                raise StepError(f"{self._endpoint}: {error}") from None
            if message.kind == layout.REFUSED:
                raise StepError(message.body.decode(errors="replace"))
            self._rig = message.rig
            bodies.append(message.body)
        return bodies

    def _moved(self, body: bytes) -> Moved:
        record = np.frombuffer(body, self._state)[0]
        values = [record[name] for name in Moved._fields]
        self.t_ns = int(values[0])
        return Moved(self.t_ns, int(values[1]), *values[2:])

    def reset(self) -> Moved:
        """Put the rover back to its start, settled, its drives cut. Raises StepError."""
        return self._moved(self._exchange([layout.write(layout.RESET, rig=self._rig)])[0])

    def state(self) -> Moved:
        """The rover now. Raises StepError."""
        return self._moved(self._exchange([layout.write(layout.STATE, rig=self._rig)])[0])

    def energy(self) -> dict[str, float]:
        """Energies now, work and losses since the start [J] (`models.vehicle.energy.Energies`). Raises StepError."""
        [body] = self._exchange([layout.write(layout.ENERGY, rig=self._rig)])
        return dict(zip(self.description["energy_J"], np.frombuffer(body, "<f8").tolist(), strict=True))

    def command(
        self,
        speed: Sequence[float],
        *,
        duty: Sequence[float] | None = None,
        servo: Sequence[float] | None = None,
        valve: Sequence[Sequence[bool]] | None = None,
        regulator: Sequence[float] | None = None,
    ) -> None:
        """Command the actuators; what is not given is cut, off or as it is.

        Args:
            speed: of the wheels (wheels,) [rad/s]; NaN: cut.
            duty: of the wheels (wheels,), -1 to 1, in place of the speed; NaN: the speed holds.
            servo: angles of the driven joints (servos,) [rad]; NaN, or none given: cut.
            valve: power of the valves (cylinders, 2), extend and retract; none given: off.
            regulator: gauge pressures (cylinders,) [Pa]; NaN, or none given: as they are.

        Raises:
            StepError: refused, with what is allowed.
            ValueError: not as many numbers as the rover has.
        """
        body = np.zeros(1, self._command)
        given = {"speed": speed, "duty": duty, "servo": servo, "valve": valve, "regulator": regulator}
        for name, values in given.items():
            field = body[name][0]
            missing = 0.0 if name == "valve" else math.nan
            new = np.full(field.shape, missing) if values is None else np.asarray(values, np.float64)
            if new.shape != field.shape:
                raise ValueError(f"{name} has shape {new.shape}, allowed: {field.shape}")
            field[...] = new
        self._exchange([layout.write(layout.COMMAND, body.tobytes(), self._rig)])

    def step(self, dt_ns: int, contacts: Sequence[Contact] | None = None) -> Moved:
        """Move the rover on by `dt_ns` [ns], on these contacts, or (None) on the config's ground. One round trip.

        Raises:
            StepError: refused, with what is allowed; then the rover has not moved.
        """
        frames = [layout.write(layout.STEP, layout.STEP_BODY.pack(self.t_ns, dt_ns), self._rig)]
        if contacts is not None:
            rows = np.array([(c[0], 0, *c[1:]) for c in contacts], layout.CONTACT)
            frames.insert(0, layout.write_contacts(rows, self._rig))
        return self._moved(self._exchange(frames)[-1])

    def close(self) -> None:
        """Disconnect; may be called twice."""
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
