"""A simulated rig: commands in, time forward, samples out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from models.actuators.pneumatic import NO_CYLINDERS
from models.contact.constraints import effective_kinetic_energy_on_ground
from models.impact import effective_kinetic_energy
from models.kernels.bound import BoundApart, BoundArguments
from models.kernels.compiled import FloatArray, compile_for
from models.plant.advance import (
    HIT,
    HIT_NS,
    HIT_SPEED,
    PEAK,
    RING,
    PlantParts,
    Sensing,
    StepLengths,
    advance,
    make_log,
)
from models.plant.drive_commands import DriveCommands
from models.plant.grapple import CaptureTruth
from models.plant.instruments import InstrumentOnRig
from models.plant.load_history import LoadHistory, torque_with_friction
from models.plant.load_sampling import LoadSampling
from models.plant.motion_history import MotionHistory
from models.plant.parameters import RigParameters
from models.plant.plate_truth import PlateTruth, plate_truth
from models.plant.reading_noise import read_with
from models.plant.sensing import make_sensing, sensed_face
from models.plant.towing import ROUND_NS, Traction, make_tow
from models.plant.validity_watch import RangeExit, ValidityWatch
from models.plant.veer import Veer
from models.rover.locks import held_rover
from models.terrain import GivenContacts, ground_from_outside
from models.terrain.surface import level_configuration
from models.validity import TILT, VALIDITIES
from models.vehicle import Scene, address_of_run
from models.vehicle.energy import Energies, EnergyMeter

# Numbers of the sensors' noise are drawn for so many samples, or more, at once.
RENEWED_AT_ONCE = 256


class Plant:
    """The rig as one steppable model with its own clock, which starts at 0.

    Args:
        parameters: of this rig (perturb them first: the plant is not the twin).
        random: source of the sensor noise.
        accounts: whether the energies are noted in each step, for `energies`.
        notes_loads: whether the true wheel loads are noted, for `loads`.
        tilt_deg: largest tilt of the main body within what the models hold for [deg].
        contacts: what the wheels touch from the start on, given from outside; None: the ground of the parameters, on
            which the rover stands at the start in either case.

    Attributes:
        channels: of the sensors; 0: there are none.
        rate_hz: of their samples [1/s]; 0 without sensors.
        full_scale: of the channels, either sign [V]; infinity without sensors.
        load_sampling: the slow load channels; None: there are none.
        instruments: of motion, by role.
        scene: what it steps, in the form of kernels.
        samples: number of samples taken.
        cut_ns: when all drives were first cut after a wheel had touched the obstacle [ns], or None.
    """

    def __init__(
        self,
        parameters: RigParameters,
        random: np.random.Generator,
        *,
        accounts: bool = False,
        notes_loads: bool = False,
        tilt_deg: float = VALIDITIES[TILT].limit,
        contacts: GivenContacts | None = None,
    ) -> None:
        self.parameters = parameters
        self.t_ns = self.samples = self._renewed = 0
        self.cut_ns: int | None = None
        self._random = random
        piezo = parameters.piezo
        self.channels = 0 if piezo is None else len(piezo.sensitivity)
        self.rate_hz = 0 if piezo is None else parameters.sample_rate_hz
        self.full_scale = math.inf if piezo is None else piezo.range
        self.rover, vehicle, self._state = parameters.build()
        if contacts is not None:  # and nothing is known of ground under the main body
            vehicle = vehicle._replace(terrain=ground_from_outside(contacts), body=None)
        factors = parameters.veer.speed_factors(self.rover.wheel_names)
        self._drives = DriveCommands(self._state.drives, parameters.drive.motor, factors)
        self._wheel_speeds = 5 + self.rover.chain.wheel_body
        self._driven = np.zeros(0, np.int64) if vehicle.servos is None else vehicle.servos.speed + 1
        self._powered: tuple[tuple[bool, ...], ...] = ()
        self._sensing = make_sensing(parameters, self.rover, self._state.q, vehicle, random)
        self._log = make_log(self._state, self.channels)
        cylinders = self._state.cylinders.torque.size
        self._mounts = vehicle.cylinders
        self._loads = LoadHistory(len(self.rover.wheel_names), cylinders) if notes_loads else None
        self._tow = make_tow(parameters.towing, parameters.drawbar, self._state.pull)
        self._meter = EnergyMeter(self.rover, vehicle, self._state) if accounts else None
        ledger = self._meter.ledger if self._meter else None
        gas = parameters.make_gas(vehicle, self._state)
        self.scene = BoundApart(Scene(vehicle, self._state, ledger))
        filled = self._mounts if gas else NO_CYLINDERS
        seen, cylinder, chain = self._state._replace(servos=None), parameters.cylinder, self.rover.chain
        lengths = parameters.step_lengths
        if contacts is not None:  # nobody says before how stiff they are
            lengths = StepLengths(parameters.substep_ns, parameters.substep_ns)
        watched = self._sensing, self._log, gas, filled, chain.motor_wheel, lengths
        self._parts = BoundArguments(PlantParts(self.scene, seen, chain.wheel_body, cylinder, *watched))
        self._plate = sensed_face(vehicle)
        self._stand = None if vehicle.obstacle is None else vehicle.obstacle.stand
        self._watch = ValidityWatch(self.rover, vehicle, self._state, tilt_deg)
        self.load_sampling = parameters.loads and LoadSampling(
            self.rover, vehicle, self._state, parameters.loads, random.spawn(1)[0]
        )
        self._reading = random.spawn(1)[0]
        self.instruments = {
            role: InstrumentOnRig(one, self.rover, self._state, random.spawn(1)[0])
            for role, one in parameters.instruments.items()
        }
        self._motion = MotionHistory(self._state)

    def advance(self, t_ns: int) -> None:
        """Advance to time t_ns [ns]; a past time has no effect.

        Raises:
            ValueError: a longer step than the sample ring holds.
        """
        if t_ns <= self.t_ns:
            return
        if self._tow is not None:
            while t_ns - self.t_ns > ROUND_NS:
                self._move(self.t_ns + ROUND_NS)
        self._move(t_ns)

    @cached_property
    def _run(self) -> int:
        return address_of_run(*self.scene.value)

    @cached_property
    def _advance(self) -> Callable[[BoundArguments[PlantParts], int, int, int], None]:
        return compile_for(advance, self._parts, 0, 0, 0, inlined=False)

    def compile(self) -> None:
        """Compile what an advance runs, without the steps of the vehicle and without moving."""
        _ = self._advance

    def _move(self, t_ns: int) -> None:
        span = t_ns - self.t_ns
        if self._tow is not None:
            driven = self._state.v[self._wheel_speeds] * self.rover.chain.wheel_radius
            sunk, cut = float(self._state.ground.sinkage.mean()), all(self._drives.cut)
            self._tow.act(span * 1e-9, float(self._state.v[0]), float(driven.mean()), sunk, cut=cut)
        # all samples whose time n / rate, in whole ns, is at most t_ns
        due = -(-(t_ns + 1) * self.rate_hz // 1_000_000_000) - self.samples
        if due > RING // 2:
            raise ValueError(f"plant asked to leap {span * 1e-9:.3f} s; the sample ring holds half of {RING} samples")
        self._advance(self._parts, self._run, self.t_ns, t_ns)
        self.samples += due
        if self.load_sampling:
            self.load_sampling.take(self.t_ns, t_ns)
        self.t_ns = t_ns
        self._watch.look(t_ns)
        if self._loads is not None:
            self._loads.add(t_ns, span, self._state.ground.vertical, torque_with_friction(self._mounts, self._state))
        for instrument in self.instruments.values():
            instrument.take(t_ns)
        self._motion.add(t_ns)
        if self._sensing and self.samples - self._renewed >= RENEWED_AT_ONCE:
            self._renew_noise(self._sensing)

    def set_drives(self, speed_radps: tuple[float, ...], cut: bool, duty: tuple[float, ...] = ()) -> None:
        """Set the wheels' speeds (wheels,) [rad/s] or duties, or cut all drives."""
        self.set_each_drive(speed_radps, (cut,) * len(self._wheel_speeds), duty)

    def set_each_drive(self, speed_radps: Sequence[float], cut: Sequence[bool], duty: Sequence[float] = ()) -> None:
        """Set the wheels' speeds (wheels,) [rad/s], or cut the drives of some of them (wheels,).

        `duty` (wheels,) is a share of the supply voltage in place of a speed; 0 is a cut; NaN or none: the speed holds.

        Raises:
            ValueError: a duty of a rig whose motors are not described (`Drive.motor`).
        """
        self._drives.set(speed_radps, cut, duty)
        if self.cut_ns is None and self.hit_ns is not None and all(self._drives.cut):
            self.cut_ns = self.t_ns

    def set_servos(self, angle_rad: Sequence[float], cut: bool) -> None:
        """Set the angles (servos,) [rad] that the driven joints turn to, or cut all servos."""
        self.set_each_servo(angle_rad, (cut,) * len(angle_rad))

    def set_each_servo(self, angle_rad: Sequence[float], cut: Sequence[bool]) -> None:
        """The same, but cut the servos of some of them (servos,).

        Raises:
            ValueError: a rig without servos.
        """
        if self._state.servos is None:
            raise ValueError("plant: angles of servos, allowed: none, because no joint is driven")
        self._state.servos.angle[:] = angle_rad
        self._state.servos.cut[:] = cut

    @property
    def servo_angle(self) -> FloatArray:
        """Angles of the driven joints (servos,) [rad]; empty: there are none."""
        angles: FloatArray = self._state.q[self._driven]
        return angles

    @property
    def servo_torque(self) -> FloatArray:
        """Torques of the servos on their joints, gear friction not included (servos,) [N m], in the newest sub-step."""
        return np.zeros(0) if self._state.servos is None else self._state.servos.torque.copy()

    def set_valves(self, powered: Sequence[Sequence[bool]]) -> None:
        """Power valves: (cylinders or more,) by (extend, retract); unpowered ones are open to atmosphere.

        Rows beyond the rover's cylinders belong to valves without a cylinder.
        """
        if powered == self._powered:
            return
        self._powered = tuple(map(tuple, powered))
        for valves, on in zip(self._state.cylinders.valve, powered, strict=False):
            valves[:] = on

    def set_regulators(self, pressure_Pa: Sequence[float]) -> None:
        """Set the regulators' gauge pressures [Pa]: one for all cylinders, or (cylinders,)."""
        self._state.cylinders.supply[:] = pressure_Pa

    @property
    def wheel_speed(self) -> FloatArray:
        """Axle speeds (wheels,) [rad/s]."""
        speeds: FloatArray = self._state.v[self._wheel_speeds]
        return speeds

    def read_wheel_speed(self) -> FloatArray:
        """Axle speeds (wheels,) [rad/s] as the encoders give them, with noise."""
        return read_with(self.parameters.reading_noise.speed, self.wheel_speed, self._reading)

    @property
    def drive_torque(self) -> FloatArray:
        """Torques of the drives on the axles (wheels,) [N m], in the newest sub-step."""
        return self._state.drives.torque.copy()

    @property
    def traction(self) -> Traction | None:
        """Pull, slip, speed and sinkage before the newest cut, or now; None: nothing was towed."""
        return None if self._tow is None else self._tow.traction

    @property
    def pressure(self) -> FloatArray:
        """Gauge pressures (cylinders, 2) [Pa], by (extend, retract)."""
        return self._state.cylinders.pressure.copy()

    def read_pressure(self) -> FloatArray:
        """The same as the pressure sensors give them, with noise."""
        return read_with(self.parameters.reading_noise.pressure, self.pressure, self._reading)

    def copy_samples(self, first: int, volts: FloatArray) -> None:
        """Copy samples first, first + 1, ... [V] into volts (n, channels).

        Raises:
            OverflowError: they have been overwritten.
        """
        if self.samples - first > RING:
            raise OverflowError(f"sample {first} is gone: {self.samples} taken, the last {RING} kept")
        begin = first % RING
        before_the_end = min(len(volts), RING - begin)
        volts[:before_the_end] = self._log.volts[begin : begin + before_the_end]
        if before_the_end < len(volts):
            volts[before_the_end:] = self._log.volts[: len(volts) - before_the_end]

    @property
    def hit_ns(self) -> int | None:
        """When a wheel first touched the obstacle [ns], or None."""
        return int(self._log.counts[HIT_NS]) if self._log.counts[HIT] else None

    @property
    def contact_force_peak(self) -> float:
        """Largest sum so far of both front wheels' normal forces on the obstacle [N]."""
        return float(self._log.ground_truth[PEAK])

    @property
    def hit_speed(self) -> float:
        """Forward speed of the rover when it first touched [m/s]; 0 before."""
        return float(self._log.ground_truth[HIT_SPEED])

    @property
    def loads(self) -> FloatArray | None:
        """True wheel loads so far (`LoadHistory.rows`); None: they are not noted."""
        return None if self._loads is None else self._loads.rows

    @property
    def motion(self) -> FloatArray:
        """True motion so far (`MotionHistory.rows`)."""
        return self._motion.rows

    @property
    def outside(self) -> RangeExit | None:
        """What the models hold for and this rig left first; None: it is within."""
        return self._watch.outside

    @property
    def capture(self) -> CaptureTruth | None:
        """What a grapple has done so far; None: this rig has none."""
        return None

    @property
    def plate(self) -> PlateTruth | None:
        """True load of the sensors over the first contact; None: there was none, or there are no sensors."""
        return plate_truth(self._log.plate)

    @property
    def hit_askew(self) -> tuple[float, float]:
        """Heading at first touch [rad], and the starboard wheel to port of where it hits if all is straight [m].

        NaN before, without sensors, and of a rig that does not veer.
        """
        if self.parameters.veer == Veer() or self._sensing is None or self.hit_ns is None:
            return math.nan, math.nan
        x, y, z, w = self._log.hit_q[3:7].tolist()
        places = self.rover.wheel_positions(self.rover.own_configuration(self._log.hit_q))
        wheel = self.rover.wheel_names.index("front_right")
        left = places[wheel, 1]
        if self._stand is not None:
            left = self._stand[wheel, 2] @ (places[wheel] - self._stand[wheel, 0])
        across = float(left - self._sensing.origin[0])
        return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)), across

    @property
    def slip(self) -> tuple[int | None, float]:
        """When something first slipped off an edge of a plate [ns], or None, and with what force [N]."""
        snap = self._sensing.snap_back if self._sensing else None
        slips = [] if snap is None else [(round(t * 1e9), force) for t, force in snap.first.tolist() if t >= 0.0]
        return min(slips, default=(None, math.nan))

    def effective_kinetic_energy_when_hit(self) -> float:
        """T_c of this rig at first touch [J], MacMahon 2016 (3.27); NaN without an obstacle."""
        return self._effective_kinetic_energy(self._log.hit_q, self._log.hit_v)

    def effective_kinetic_energy_on_ground_when_hit(self) -> float:
        """The same with the active constraints of rigid, even ground (5.4-5.5) [J]; NaN on a height map."""
        return self._on_ground(self._log.hit_q, self._log.hit_v)

    def effective_kinetic_energies_now(self) -> tuple[float, float]:
        """T_c of this rig if it touched now [J], without and with the ground's constraints; NaN without an obstacle."""
        q, v = self._state.q, self._state.v
        return self._effective_kinetic_energy(q, v), self._on_ground(q, v)

    def _on_ground(self, q: FloatArray, v: FloatArray) -> float:
        if self.parameters.obstacle is None:
            return math.nan
        rover, q, v = held_rover(self.rover, q, v, [servo.joint for servo in self.parameters.servos])
        if self._stand is not None:
            if self._stand[:, 0].any():
                return math.nan
            q = level_configuration(self._stand[0], q)
        return effective_kinetic_energy_on_ground(rover, q, v, self.parameters.obstacle.angle)[0]

    def energies(self) -> Energies:
        """Energies of the rig now, and work and losses since it was built [J].

        Raises:
            ValueError: it was built without `accounts`.
        """
        if self._meter is None:
            raise ValueError("plant: energies asked for, allowed: of one built with accounts=True")
        return self._meter.read()

    def _effective_kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        if self.parameters.obstacle is None and self._plate is None:
            return math.nan
        rover, q, v = held_rover(self.rover, q, v, [servo.joint for servo in self.parameters.servos])
        if self._plate is not None:  # it is met by the front axle first
            rows = rover.impact_jacobian(q, self._plate.angle, rover.axles()[0])
            return effective_kinetic_energy(rover.mass_matrix(q), rows, v)
        assert self.parameters.obstacle is not None
        angle = self.parameters.obstacle.angle
        jacobian = rover.impact_jacobian(q, angle)
        if self._stand is not None:  # as seen from the ground under each wheel's plate
            for wheel, stand in enumerate(self._stand):
                jacobian[wheel] = rover.impact_jacobian(level_configuration(stand, q), angle)[wheel]
        return effective_kinetic_energy(rover.mass_matrix(q), jacobian, v)

    def _renew_noise(self, sensing: Sensing) -> None:
        while self._renewed < self.samples:  # in place, up to the ring's end, and from its start
            begin = self._renewed % RING
            end = min(begin + self.samples - self._renewed, RING)
            self._random.standard_normal(out=sensing.noise[begin:end])
            self._renewed += end - begin
