"""Disturbances of the force sensors in a lab: mains hum, vibration of structure and rover, footsteps, zero shift.

MacMahon 2016, 6.2.5 and 6.2.7: next to the shield's 20 Hz the records held vibration of about 50 Hz, from the obstacle
and the rover, and noise of the apparatus. He gives no amplitudes.

A shield that snaps back when what bent it slips off an edge, and rings on the sensors (MacMahon 2016, 6.2.6).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, finite_array, problem, refuse
from models.kernels.compiled import FloatArray, kernel

# Of the vibration while the wheels turn, and of a footstep: ratio of critical.
RUN_UP_DAMPING = 0.1
FOOTSTEP_DAMPING = 0.1


class SensorDisturbances(NamedTuple):
    """Disturbances of all channels, and their state.

    Attributes:
        hum: amplitude of the mains hum that each channel picks up [V].
        hum_frequency: [Hz].
        hum_phase: (channels,) [rad].
        structure_share: part of the load that acts through the vibrating structure of the obstacle.
        structure_frequency: its natural frequency [Hz].
        structure_damping: ratio of critical.
        run_up_force: root mean square of the force on each sensor while the wheels turn at `run_up_speed` [N].
        run_up_frequency: [Hz].
        run_up_speed: axle speed [rad/s]; the force is in proportion to the mean axle speed.
        footstep_force: amplitude on each sensor of one footstep near the rig [N].
        footstep_frequency: [Hz], of the decaying vibration that it causes.
        footsteps: a second.
        first_footstep: [s].
        zero_shift: (channels,) offset that each channel has from the first touch of the obstacle on [V].
        structure: (shields, 2) deflection and rate of the structure, as a force [N, N/s].
        run_up: (channels, 2) vibration of each channel for a mean square of 1 N^2, and its rate.
        force: (channels,) force on each sensor in addition to its load [N], of the newest sample.
        volts: (channels,) voltage of each channel in addition to its signal [V], of the newest sample.
    """

    hum: float
    hum_frequency: float
    hum_phase: FloatArray
    structure_share: float
    structure_frequency: float
    structure_damping: float
    run_up_force: float
    run_up_frequency: float
    run_up_speed: float
    footstep_force: float
    footstep_frequency: float
    footsteps: float
    first_footstep: float
    zero_shift: FloatArray
    structure: FloatArray
    run_up: FloatArray
    force: FloatArray
    volts: FloatArray

    def fresh(self) -> SensorDisturbances:
        """The same at rest, with its own state."""
        return self._replace(
            structure=np.zeros_like(self.structure),
            run_up=np.zeros_like(self.run_up),
            force=np.zeros_like(self.force),
            volts=np.zeros_like(self.volts),
        )

    def drawn(self, random: np.random.Generator) -> SensorDisturbances:
        """The same with phases of hum and footsteps drawn at random."""
        phase = 2.0 * np.pi * random.random(self.hum_phase.size)
        return self._replace(hum_phase=phase, first_footstep=float(random.random()) / self.footsteps)


def make_disturbance(
    channels: int,
    *,
    hum: float = 0.0,
    hum_frequency: float = 50.0,
    structure_share: float = 0.0,
    structure_frequency: float = 50.0,
    structure_damping: float = 0.03,
    run_up_force: float = 0.0,
    run_up_frequency: float = 30.0,
    run_up_speed: float = 0.4,
    footstep_force: float = 0.0,
    footstep_frequency: float = 15.0,
    footsteps: float = 2.0,
    zero_shift: FloatArray | None = None,
) -> SensorDisturbances:
    """Disturbances at rest, phases at zero; arguments as the attributes of `SensorDisturbances`.

    Raises:
        ValueError: everything that is out of range.
    """
    positive, not_negative = Range(0.0, math.inf, "", open_low=True), Range(0.0, math.inf, "")
    given = {
        "hum": hum, "structure_damping": structure_damping, "run_up_force": run_up_force,
        "footstep_force": footstep_force,
    }  # fmt: skip
    above = {
        "hum_frequency": hum_frequency, "structure_frequency": structure_frequency,
        "run_up_frequency": run_up_frequency, "run_up_speed": run_up_speed,
        "footstep_frequency": footstep_frequency, "footsteps": footsteps,
    }  # fmt: skip
    shift = np.zeros(channels) if zero_shift is None else zero_shift
    shift = finite_array("disturbance", "zero_shift", shift, Range(-math.inf, math.inf, "V"))
    refuse(
        "disturbance",
        [
            *(problem(name, value, not_negative) for name, value in given.items()),
            *(problem(name, value, positive) for name, value in above.items()),
            problem("structure_share", structure_share, Range(0.0, 1.0, "")),
            None if shift.shape == (channels,) else f"zero_shift has shape {shift.shape}, allowed: ({channels},)",
        ],
    )
    shields = 1 if channels == 3 else channels
    return SensorDisturbances(
        hum, hum_frequency, np.zeros(channels), structure_share, structure_frequency, structure_damping, run_up_force,
        run_up_frequency, run_up_speed, footstep_force, footstep_frequency, footsteps, 0.0, shift,
        np.zeros((shields, 2)), np.zeros((channels, 2)), np.zeros(channels), np.zeros(channels),
    )  # fmt: skip


@kernel
def disturb(
    disturbance: SensorDisturbances, t: float, dt: float, axle_speed: float, touched: bool, noise: FloatArray
) -> None:
    """Force and voltage of this sample in `force` and `volts`.

    The vibration of the run-up is a damped oscillator driven by white noise. Its variance under noise of standard
    deviation s a sample is s^2 omega dt / (4 damping), so s is chosen for a variance of 1.

    Args:
        disturbance: state advanced by dt.
        t: time of the sample [s].
        dt: since the sample before [s].
        axle_speed: mean over the wheels, either sign [rad/s].
        touched: whether the obstacle has been touched.
        noise: (channels,) standard normal numbers.
    """
    d = disturbance
    step = _footstep(d, t)
    omega = 2.0 * np.pi * d.run_up_frequency
    strength = np.sqrt(4.0 * RUN_UP_DAMPING / (omega * dt))
    rides = d.run_up_force * abs(axle_speed) / d.run_up_speed
    for i in range(d.force.size):
        swing = d.run_up[i]
        swing[1] += dt * (omega * omega * (strength * noise[i] - swing[0]) - 2.0 * RUN_UP_DAMPING * omega * swing[1])
        swing[0] += dt * swing[1]
        d.force[i] = rides * swing[0] + step
        d.volts[i] = d.hum * np.sin(2.0 * np.pi * d.hum_frequency * t + d.hum_phase[i])
        if touched:
            d.volts[i] += d.zero_shift[i]


@kernel
def _footstep(d: SensorDisturbances, t: float) -> float:
    """Force of the newest footstep [N]: a decaying vibration."""
    if d.footstep_force == 0.0 or t < d.first_footstep:
        return 0.0
    since = (t - d.first_footstep) % (1.0 / d.footsteps)
    omega = 2.0 * np.pi * d.footstep_frequency
    decayed: float = d.footstep_force * np.exp(-FOOTSTEP_DAMPING * omega * since) * np.sin(omega * since)
    return decayed


@kernel
def through_structure(disturbance: SensorDisturbances | None, shield: int, force: float, dt: float) -> float:
    """Force [N] that reaches the sensors behind a shield: part of it through the vibrating structure."""
    if disturbance is None:
        return force
    swing = disturbance.structure[shield]
    omega = 2.0 * np.pi * disturbance.structure_frequency
    pull_back = omega * omega * (force - swing[0]) - 2.0 * disturbance.structure_damping * omega * swing[1]
    swing[1] += dt * pull_back
    swing[0] += dt * swing[1]
    return force + disturbance.structure_share * (swing[0] - force)


@kernel
def disturbed(disturbance: SensorDisturbances | None, channel: int, volts: float, sensitivity: float) -> float:
    """A sensor's output [V] with the forces that disturb it; `sensitivity` [V/N]."""
    if disturbance is None:
        return volts
    return volts + sensitivity * disturbance.force[channel]


@kernel
def hummed(disturbance: SensorDisturbances | None, channel: int, volts: float) -> float:
    """A channel's voltage with what its cable and amplifier add [V]."""
    if disturbance is None:
        return volts
    return volts + disturbance.volts[channel]


class SnapBack(NamedTuple):
    """The shields of both front wheels.

    Attributes:
        share: part of the force at the slip with which the shield comes back; 1: a spring let go.
        frequency: of the shields [Hz].
        damping: ratio of critical.
        slipped: (wheels,) of models.contact.plate.Plate, taken and set back to 0.
        swing: (wheels, 2) force of each shield that rings [N], and its rate [N/s].
        first: (wheels, 2) time of the first slip [s], -1 before, and its force [N].
    """

    share: float
    frequency: float
    damping: float
    slipped: FloatArray
    swing: FloatArray
    first: FloatArray


def make_snap_back(slipped: FloatArray, share: float, frequency: float, damping: float) -> SnapBack:
    """Shields at rest."""
    first = np.zeros((len(slipped), 2))
    first[:, 0] = -1.0
    return SnapBack(share, frequency, damping, slipped, np.zeros((len(slipped), 2)), first)


@kernel
def snapped(snap: SnapBack | None, wheel: int, force: float, t: float, dt: float) -> float:
    """Force on the sensors [N] of a load `force`; a shield that rings cannot pull on them.

    Args:
        snap: or None.
        wheel: index.
        force: of the wheel on the shield [N].
        t: time of the sample [s].
        dt: since the last one [s].
    """
    if snap is None:
        return force
    swing = snap.swing[wheel]
    if snap.slipped[wheel] > 0.0:
        if snap.first[wheel, 0] < 0.0:
            snap.first[wheel, 0], snap.first[wheel, 1] = t, snap.slipped[wheel]
        swing[0] += snap.share * snap.slipped[wheel]
        snap.slipped[wheel] = 0.0
    omega = 2.0 * np.pi * snap.frequency
    swing[1] -= dt * (omega * omega * swing[0] + 2.0 * snap.damping * omega * swing[1])
    swing[0] += dt * swing[1]
    return max(force + swing[0], 0.0)
