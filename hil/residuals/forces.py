"""Residuals of the force sensors of an impact."""

from __future__ import annotations

import math

import numpy as np

from hil.config.model_parameters import nominal_rig
from hil.config.schema.sensors import DaqConfig
from hil.messages.layout import Layout
from hil.residuals.evidence import Floats, RunEvidence
from models.contact.obstacle import Obstacle
from models.sensors.piezo import shares_of

# The force at rest is a mean over this time before the impact, without the last of it [s].
REST_S, GUARD_S = 0.5, 0.1


def share(evidence: RunEvidence) -> Floats:
    """(channels,) share of the impulse, less the one at the middle of the plate."""
    parts = _impulses(evidence)
    deviation: Floats = parts / parts.sum() - _nominal_shares(evidence.config.triangle, evidence.config.layout)
    return deviation


def middle_ms(evidence: RunEvidence) -> Floats:
    """(channels,) time of half of the impulse, less the mean of the others' [ms]."""
    times = 1e3 * evidence.numbers("impulse_middle_by_sensor_s", len(evidence.config.layout.channels))
    offsets_ms: Floats = (times - times.mean()) * len(times) / max(len(times) - 1, 1)
    return offsets_ms


def peak(evidence: RunEvidence) -> Floats:
    """(1,) largest force over that of a spring that takes up T_c."""
    obstacle = nominal_rig(evidence.config).obstacle
    energy_J = evidence.number("effective_kinetic_energy_J") * _borne(evidence.config.plate)
    if obstacle is None or not energy_J > 0.0:
        return np.full(1, np.nan)
    return np.array([evidence.number("peak_force_N") / spring_peak_N(obstacle, energy_J)])


def impulse(evidence: RunEvidence) -> Floats:
    """(1,) impulse over the momentum 2 T_c / v_n of the effective mass; both normal to the plate.

    The time in contact and the stiffness do not matter to it.
    """
    normal_mps = evidence.number("impact_speed_measured_mps") * math.sin(math.radians(evidence.config.trial.angle_deg))
    momentum_Ns = 2.0 * evidence.number("effective_kinetic_energy_J") * _borne(evidence.config.plate) / normal_mps
    return np.array([evidence.number("impulse_Ns") / momentum_Ns])


def at_rest_N(evidence: RunEvidence) -> Floats:
    """(channels,) mean force just before the impact [N]."""
    onset_s, t_s = evidence.number("onset_s"), evidence.t_s
    rows = (t_s > onset_s - REST_S - GUARD_S) & (t_s < onset_s - GUARD_S)
    if not rows.any():
        return np.full(len(evidence.config.layout.channels), np.nan)
    means_N: Floats = evidence.ticks["force_N"][rows].mean(axis=0)
    return means_N


def way_mm(evidence: RunEvidence) -> Floats:
    """(1,) way of the rover twin until the force begins, less the start distance [mm]."""
    onset_s, t_s = evidence.number("onset_s"), evidence.t_s
    if math.isnan(onset_s) or evidence.config.trial.destress_m:  # after it the rover does not stand where it was put
        return np.full(1, np.nan)
    before = t_s <= onset_s
    way_m = float(np.trapezoid(evidence.ticks["speed_mps"][before], t_s[before]))
    return np.array([1e3 * (way_m - evidence.config.trial.start_distance_m)])


def strain_peak(evidence: RunEvidence) -> Floats:
    """(1,) peak by the strain gauges less that by the force sensors, over the half-width of both intervals together."""
    together_N = math.hypot(evidence.number("strain_peak_u95_N"), evidence.number("peak_force_u95_N"))
    return np.array([(evidence.number("strain_peak_N") - evidence.number("peak_force_N")) / together_N])


def spring_peak_N(obstacle: Obstacle, energy_J: float) -> float:
    """Peak of F = k x^p that takes up an energy [N]; with a leg's own spring in front of the plate, of that spring."""
    compliance = float(obstacle.leg_compliance.max())
    stiffness, exponent = (1.0 / compliance, 1.0) if compliance else (obstacle.stiffness, obstacle.exponent)
    deepest = ((exponent + 1.0) * energy_J / stiffness) ** (1.0 / (exponent + 1.0))
    return float(stiffness * deepest**exponent)


def _impulses(evidence: RunEvidence) -> Floats:
    return evidence.numbers("impulse_by_sensor_Ns", len(evidence.config.layout.channels))


def _borne(plate: DaqConfig | None) -> float:
    """Part of both wheels' blow that the sensors bear: one wheel hits the instrumented plate, both have bumpers."""
    return 1.0 if plate is None else 0.5


def _nominal_shares(triangle: DaqConfig | None, layout: Layout) -> Floats:
    count = len(layout.channels)
    if triangle is None:
        return np.full(count, 1.0 / count)
    shares: Floats = shares_of(np.array(triangle.places_m), 0.0, 0.0)
    return shares
