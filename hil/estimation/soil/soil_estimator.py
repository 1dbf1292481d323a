"""Estimates the soil in addition to the rover twin, from what a tick knows: slips, loads, pull and motor currents."""

from __future__ import annotations

import math

import numpy as np

from hil.config.rig import Rig
from hil.estimation.soil.soil_filter import (
    LOAD_GAIN,
    PULL_GAIN,
    PULL_ZERO,
    SOIL,
    STATES,
    TORQUE_GAIN,
    begin,
    make_filter,
    make_wheels,
    update,
)
from hil.messages.layout import INSTRUMENTS
from hil.messages.stages import SOIL_STATES, SOURCE_STATES, Estimate, Prediction, Samples, SoilEstimate
from models.kernels.bound import BoundArguments
from models.kernels.compiled import compile_for

NONE, USED, REJECTED, STANDING, UNSTEADY, UNMEASURED, IMPACT = range(len(SOIL_STATES))
# Half-width of a 95 % interval over its standard deviation.
_NORMAL = 1.959964
# A parameter is observable once its standard deviation is below this share of that before the drive.
_OBSERVABLE = 0.5
# The drive counts as steady after this time [s] without a change of the rims' speed by more than this share from one
# measurement to the next, and of the heading by more than this [rad] in this time: what noise of a prism amounts to.
_STEADY_S, _CHANGE, _TURN = 0.5, 0.02, 0.03
# Time [s] over which the observer's error of the slip is the same; a slip that is known worse is not used.
_SLIP_S, _MOST_SLIP_SD = 1.0, 0.05
# No rig knows a pull that nothing measures, or the zero of one, better [N].
_ZERO_N = 1.0
# The forms that slip takes end here; beyond it the rover hardly moves.
_MOST_SLIP = 0.98
# The source is used by the observer; a rejected reading leaves the others.
_MEASURED = (SOURCE_STATES.index("used"), SOURCE_STATES.index("rejected"))


class SoilEstimator:
    """A filter that takes a measurement at a low rate, and lets what it cannot judge alone.

    It changes nothing about the twin. It takes no measurement while the rover stands, reverses, turns or changes its
    speed, while its slip or loads are not measured, and from an impact on.
    """

    def __init__(self, rig: Rig) -> None:
        config, nominal = rig.config, rig.nominal
        section = config.soil_estimation
        assert section is not None
        rover, _, _ = nominal.held.assemble()
        soil, wheels = config.soil, len(rig.layout.wheels)
        cell = config.loads.load_cell if config.loads else None
        values = np.array([soil.stiffness, soil.rebound, soil.slip_modulus])
        spread = np.zeros(STATES)
        spread[:SOIL] = section.stiffness, section.rebound, section.slip_modulus
        spread[TORQUE_GAIN] = section.torque_u95 / _NORMAL
        spread[PULL_GAIN] = cell.sensitivity_u95 / _NORMAL if cell else 0.0
        spread[PULL_ZERO] = max(cell.zero_u95 * cell.force_N / _NORMAL if cell else 0.0, _ZERO_N)
        spread[LOAD_GAIN] = section.loads_u95 / _NORMAL if rig.layout.leg_sensors else config.estimation.mass
        wheel = nominal.ground.wheel_of(rover.tree.wheels[0])
        self._filter = make_filter(
            make_wheels(np.asarray(wheel.parameters), wheels, soil.slip_speed_mps),
            np.concatenate([np.log(values), np.zeros(STATES - SOIL)]),
            spread,
            config.wheel_radius_m,
            section.memory_m,
            section.correlation_m,
            section.model,
        )
        self._bound = BoundArguments(self._filter)
        self._along_N = rig.weight_N * math.sin(math.radians(config.ground.pitch_deg))
        self._pull_N, self._cell, self._sensors = config.rover.drawbar.pull_N, cell is not None, rig.layout.leg_sensors
        per_A = section.torque_per_A_Nm
        if per_A is None and config.rig != "real":
            per_A = config.drives.power.torque_per_A_Nm
        self._per_A, self._friction_Nm = per_A, wheels * config.drives.gear_friction_Nm
        self._period_ns = round(1e9 / section.rate_hz)
        self._steady_ns = round(_STEADY_S * 1e9)
        self._slip_share = max(_SLIP_S * section.rate_hz, 1.0)
        # so slow the model's own compaction resistance fades, and rims count as standing
        self._least_radps = 1.5 * soil.slip_speed_mps / config.wheel_radius_m
        self._source = rig.layout.instruments.index(INSTRUMENTS[0])
        self._observable_sd = [_OBSERVABLE * one for one in spread[:SOIL].tolist()]
        self._next_ns = self._since_ns = self._heading_ns = 0
        self._rims = self._way_m = self._heading = self._used_m = 0.0
        self._latest = self._look(NONE)

    def compile(self) -> None:
        """Compile what a measurement runs."""
        compile_for(update, self._bound, 0.0, 0.0, 0.0, inlined=False)
        compile_for(begin, self._bound, inlined=False)

    def estimate(self, samples: Samples, estimate: Estimate, prediction: Prediction) -> SoilEstimate:
        """The soil as it is known in this tick."""
        if samples.t_ns >= self._next_ns:
            self._next_ns = samples.t_ns + self._period_ns
            state = self._measure(samples, estimate, prediction)
            if state in (USED, REJECTED) or state != self._latest.state:
                self._latest = self._look(state)
        return self._latest

    def _measure(self, samples: Samples, estimate: Estimate, prediction: Prediction) -> int:
        """Take a measurement, where it can be judged. Returns the place of what became of it in `SOIL_STATES`."""
        speeds = estimate.wheel_speed_radps
        rims, way_m, heading = sum(speeds) / max(len(speeds), 1), prediction.way_m, _heading(prediction.pose)
        moved_m = way_m - self._way_m
        changed = not abs(rims - self._rims) <= _CHANGE * abs(rims)
        self._rims, self._way_m = rims, way_m
        turns = not abs(math.remainder(heading - self._heading, math.tau)) <= _TURN
        if changed or turns:
            self._since_ns = samples.t_ns
        if turns or samples.t_ns - self._heading_ns >= self._steady_ns:
            self._heading, self._heading_ns = heading, samples.t_ns
        if estimate.impact_ns is not None:
            return IMPACT
        if not speeds or not min(speeds) > self._least_radps or not moved_m > 0.0:
            return STANDING
        if samples.t_ns - self._since_ns < self._steady_ns:
            return UNSTEADY
        if not self._take(samples, estimate, prediction):
            return UNMEASURED
        since_m, self._used_m = way_m - self._used_m, way_m
        used = update(self._bound, max(since_m, moved_m), moved_m, self._slip_share)
        if not math.isfinite(sum(self._filter.x.tolist()) + sum(self._filter.covariance.diagonal().tolist())):
            begin(self._bound)
            return REJECTED
        return USED if used else REJECTED

    def _take(self, samples: Samples, estimate: Estimate, prediction: Prediction) -> bool:
        """Hand slips, loads, pull and torque to the filter; whether they are measured."""
        observed = prediction.observed
        if observed is None or observed.source[self._source] not in _MEASURED:
            return False
        slip_sd = max(observed.slip_sd)
        loads = estimate.wheel_load_N if self._sensors else prediction.normal_force_N
        pull_N = estimate.pull_N[0] if self._cell else self._pull_N
        if not slip_sd <= _MOST_SLIP_SD or not math.isfinite(sum(loads) + sum(prediction.slip)):
            return False
        if max(prediction.slip) > _MOST_SLIP:
            return False
        filter_, power = self._filter, samples.drives.power
        torque_Nm = math.nan
        if power is not None and self._per_A is not None:
            torque_Nm = self._per_A * sum(power.current_A) - self._friction_Nm
        if not (math.isfinite(pull_N) or math.isfinite(torque_Nm)):
            return False
        filter_.wheels.load[:], filter_.wheels.slip[:] = loads, prediction.slip
        filter_.measured[:] = prediction.speed_mps, pull_N, self._along_N, torque_Nm, slip_sd
        return True

    def _look(self, state: int) -> SoilEstimate:
        found = self._filter.covariance.tolist()
        sd = [math.sqrt(found[i][i]) for i in range(SOIL)]
        pairs = ((0, 1), (0, 2), (1, 2))
        return SoilEstimate(
            value=tuple([math.exp(x) for x in self._filter.x[:SOIL].tolist()]),
            sd=tuple(sd),
            correlation=tuple([found[i][j] / (sd[i] * sd[j]) if sd[i] * sd[j] else 0.0 for i, j in pairs]),
            innovation=float(self._filter.innovation[0]),
            state=state,
            observable=any(one < limit for one, limit in zip(sd, self._observable_sd, strict=True)),
        )


def _heading(pose: tuple[float, ...]) -> float:
    x, y, z, w = pose[3:]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
