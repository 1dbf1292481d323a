"""A simulated rig: commands in, time forward, samples out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from models.contact.constraints import effective_kinetic_energy_on_ground
from models.contact.obstacle import Obstacle
from models.impact import effective_kinetic_energy
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.plant.advance import (
    HIT,
    HIT_NS,
    HIT_SPEED,
    PEAK,
    RING,
    SAMPLES,
    Parts,
    Sensing,
    advance,
    make_log,
)
from models.plant.parameters import RigParameters
from models.plant.plate_truth import PlateTruth, plate_truth
from models.plant.veer import Veer
from models.sensors.piezo import Piezo, make_piezo_state
from models.sensors.snap_back import SnapBack, make_snap_back
from models.vehicle.energy import Energies, EnergyMeter


class Plant:
    """The rig as one steppable model with its own clock, which starts at 0.

    Args:
        parameters: of this rig (perturb them first: the plant is not the twin).
        random: source of the sensor noise.
        accounts: whether the energies are noted in each step, for `energies`.

    Attributes:
        channels: of the sensors; 0: there are none.
        cut_ns: when all drives were first cut after a wheel had touched the obstacle [ns], or None.
    """

    def __init__(self, parameters: RigParameters, random: np.random.Generator, *, accounts: bool = False) -> None:
        self.parameters = parameters
        self.t_ns = 0
        self.cut_ns: int | None = None
        self._random = random
        self.channels = 0 if parameters.piezo is None else len(parameters.piezo.sensitivity)
        self.rover, vehicle, self._state = parameters.build()
        self._factors = parameters.veer.speed_factors(self.rover.wheel_names)
        self._wheel_speeds = 5 + self.rover.chain.wheel_body
        self._speed_radps: tuple[float, ...] = ()
        self._cut: tuple[bool, ...] = ()
        self._powered: tuple[tuple[bool, ...], ...] = ()
        self._sensing = self._make_sensing(vehicle.obstacle)
        self._log = make_log(self._state, self.channels)
        self._meter = EnergyMeter(self.rover, vehicle, self._state) if accounts else None
        ledger = self._meter.ledger if self._meter else None
        self._parts = BoundArguments(Parts(vehicle, self._state, parameters.cylinder, self._sensing, self._log, ledger))

    def advance(self, t_ns: int) -> None:
        """Advance to time t_ns [ns]; a past time has no effect.

        Raises:
            ValueError: a longer step than the sample ring holds.
        """
        span = t_ns - self.t_ns
        if span <= 0:
            return
        # all samples whose time n / rate, in whole ns, is at most t_ns
        rate_hz = self.parameters.sample_rate_hz if self._sensing else 0
        due = -(-(t_ns + 1) * rate_hz // 1_000_000_000) - self.samples
        if due > RING // 2:
            raise ValueError(f"plant asked to leap {span * 1e-9:.3f} s; the sample ring holds half of {RING} samples")
        advance(self._parts, self.t_ns, t_ns, -(-span // self.parameters.substep_ns))
        self.t_ns = t_ns
        if self._sensing:
            self._renew_noise(self._sensing, due)

    def set_drives(self, speed_radps: tuple[float, ...], cut: bool) -> None:
        """Set the wheels' speeds (wheels,) [rad/s], or cut all drives."""
        self.set_each_drive(speed_radps, (cut,) * len(speed_radps))

    def set_each_drive(self, speed_radps: Sequence[float], cut: Sequence[bool]) -> None:
        """Set the wheels' speeds (wheels,) [rad/s], or cut the drives of some of them (wheels,)."""
        # most commands repeat the last: the same tuple of speeds (0.0 and -0.0 would compare equal), equal switches
        if speed_radps is not self._speed_radps:
            self._speed_radps = tuple(speed_radps)
            self._state.drives.set_speed[:] = speed_radps if self._factors is None else self._factors * speed_radps
        if cut != self._cut:
            self._cut = tuple(cut)
            self._state.drives.cut[:] = cut
        if self.cut_ns is None and self.hit_ns is not None and all(cut):
            self.cut_ns = self.t_ns

    def set_valves(self, powered: Sequence[Sequence[bool]]) -> None:
        """Power valves: (cylinders or more,) by (extend, retract); unpowered ones are open to atmosphere.

        Rows beyond the rover's cylinders belong to valves without a cylinder.
        """
        if powered == self._powered:
            return
        self._powered = tuple(map(tuple, powered))
        for valves, on in zip(self._state.cylinders.valve, powered, strict=False):
            valves[:] = on

    @property
    def wheel_speed(self) -> FloatArray:
        """Axle speeds (wheels,) [rad/s]."""
        speeds: FloatArray = self._state.v[self._wheel_speeds]
        return speeds

    @property
    def pressure(self) -> FloatArray:
        """Gauge pressures (cylinders, 2) [Pa], by (extend, retract)."""
        return self._state.cylinders.pressure.copy()

    @property
    def samples(self) -> int:
        """Number of samples taken."""
        return int(self._log.counts[SAMPLES])

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
        across = float(places[self.rover.wheel_names.index("front_right"), 1] - self._sensing.origin[0])
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
        """The same with the active constraints of rigid, level ground (5.4-5.5) [J], whatever this rig stands on."""
        return self._on_ground(self._log.hit_q, self._log.hit_v)

    def effective_kinetic_energies_now(self) -> tuple[float, float]:
        """T_c of this rig if it touched now [J], without and with the ground's constraints; NaN without an obstacle."""
        q, v = self._state.q, self._state.v
        return self._effective_kinetic_energy(q, v), self._on_ground(q, v)

    def _on_ground(self, q: FloatArray, v: FloatArray) -> float:
        if self.parameters.obstacle is None:
            return math.nan
        q, v = self.rover.own_configuration(q), self.rover.own_speeds(v)
        return effective_kinetic_energy_on_ground(self.rover, q, v, self.parameters.obstacle.angle)[0]

    def energies(self) -> Energies:
        """Energies of the rig now, and work and losses since it was built [J].

        Raises:
            ValueError: it was built without `accounts`.
        """
        if self._meter is None:
            raise ValueError("plant: energies asked for, allowed: of one built with accounts=True")
        return self._meter.read()

    def _effective_kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        if self.parameters.obstacle is None:
            return math.nan
        q, v = self.rover.own_configuration(q), self.rover.own_speeds(v)
        jacobian = self.rover.impact_jacobian(q, self.parameters.obstacle.angle)
        return effective_kinetic_energy(self.rover.mass_matrix(q), jacobian, v)

    def _make_sensing(self, obstacle: Obstacle | None) -> Sensing | None:
        parameters = self.parameters
        if parameters.piezo is None:
            return None
        disturbance = parameters.disturbance
        columns = self.channels if disturbance is None else 2 * self.channels
        return Sensing(
            parameters.piezo,
            make_piezo_state(self.channels),
            self._triangle_origin(),
            parameters.sample_rate_hz,
            self._random.standard_normal((RING, columns)),
            None if disturbance is None else disturbance.fresh(),
            self._make_snap_back(parameters.piezo, obstacle),
        )

    def _make_snap_back(self, piezo: Piezo, obstacle: Obstacle | None) -> SnapBack | None:
        if obstacle is None or obstacle.plate is None:
            return None
        share = self.parameters.snap_share
        return make_snap_back(obstacle.plate.slipped, share, piezo.ring_frequency, piezo.ring_damping)

    def _triangle_origin(self) -> FloatArray:
        """Where a smooth wheel of this rover will hit; the lab puts the triangle there (6.2.4)."""
        if self.parameters.obstacle is None:
            return np.zeros(2)
        beta = self.parameters.obstacle.angle
        q, veer = self._state.q.copy(), self.parameters.veer
        if veer.heading != 0.0:  # it would hit there if it stood straight
            veer.turn(q, -veer.heading)
        places = self.rover.wheel_positions(self.rover.own_configuration(q))
        centre = places[self.rover.wheel_names.index("front_right")]
        radius = self.rover.tree.wheels[0].radius
        up = (centre[2] - radius * np.cos(beta)) / np.sin(beta)
        nominal_across = centre[1] - self.parameters.start_across - veer.across
        return np.array([nominal_across + self.parameters.alignment[0], up + self.parameters.alignment[1]])

    def _renew_noise(self, sensing: Sensing, used: int) -> None:
        first = self.samples - used
        rows = np.arange(first, self.samples) % RING
        sensing.noise[rows] = self._random.standard_normal((used, sensing.noise.shape[1]))
