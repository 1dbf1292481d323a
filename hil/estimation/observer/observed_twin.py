"""The rover twin, corrected by measured motion where the rig has instruments."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace
from typing_extensions import override

from drivers.messages import Reading
from hil.config.rig import Rig
from hil.estimation.observer.filter_setup import SINKAGE_BY_LOAD, STEP_NS, load_errors, load_slopes, make_filter
from hil.estimation.soil.soil_estimator import SoilEstimator
from hil.estimation.twin import CaptureTwin, RoverTwin
from hil.messages.layout import INSTRUMENTS
from hil.messages.stages import SOURCE_STATES, Estimate, ObserverOutput, Prediction, Samples
from models.kernels.bound import BoundArguments
from models.kernels.compiled import compile_for
from models.observer.model import DROPPED, FATE, LEFT_OUT, MOTION, NEWEST, USED
from models.observer.output import (
    DEVIATIONS_BY_WHEEL,
    ENERGY,
    GAP,
    GRAVITY_OUT,
    POSE_OUT,
    SPEED_OUT,
    TIME_LEFT,
    VALUES_BY_WHEEL,
    WAY,
    OutputModel,
    make_outputs,
    note_impact,
    observe,
    put_reading,
)
from models.plant import RigParameters
from models.rover.dynamics import make_work

NONE, USED_NOW, REJECTED, OUT, STALE = range(len(SOURCE_STATES))


class ObservedTwin(RoverTwin):
    """A twin whose predictions are corrected by the readings of instruments of motion, each at its own time.

    The model itself runs on as without instruments: nothing is put into its contacts. What is predicted is the model's
    value plus the deviation that the filter has found, and `Prediction.observed` has the standard deviations.
    """

    def __init__(self, rig: Rig, nominal: RigParameters | None = None) -> None:
        nominal = rig.nominal if nominal is None else nominal
        config, layout = rig.config, rig.layout
        super().__init__(
            nominal,
            joints=layout.turning,
            controls_loads=layout.controls_loads,
            pull_unknown=config.pull_unknown,
            longest_step_s=rig.longest_step_s,
            tilt_deg=rig.limits.tilt_deg,
        )
        rover, state, estimation = self._rover, self._state, config.estimation
        neutral = rover.neutral()
        place = rover.wheel_positions(neutral) - neutral[:3]
        sinkage = float(state.ground.sinkage.mean())
        self._filter = make_filter(rig, place, sinkage)
        standing = rover.own_configuration(state.q)
        load_sd, mass_sd = load_errors(nominal, standing, estimation.mass)
        uneven, apart = (float(one[0]) ** 2 for one in (self._filter.process.uneven, self._filter.process.apart))
        sunk = (sinkage * SINKAGE_BY_LOAD) ** 2 * (estimation.soil**2 + estimation.mass**2)
        self._outputs = make_outputs(
            self._filter,
            OutputModel(
                step_ns=STEP_NS,
                angle=math.nan if self._obstacle is None else self._obstacle.angle,
                wheel_place=place,
                slip_speed=config.soil.slip_speed_mps,
                joint_place=np.array(
                    [7 + rover.tree_joint_names.index(name) for name in layout.turning], dtype=np.int64
                ),
                load_slopes=load_slopes(rover, standing, layout.turning, nominal.ground.gravity),
                load_variance=load_sd**2,
                sinkage_share=sunk / apart if apart > 0.0 else 0.0,
                sinkage_variance=sunk * uneven / apart if apart > 0.0 else 0.0,
                energy_error=mass_sd,
                place_variance=config.motion.bias_m**2 if config.motion else 0.0,
                joint_variance=math.radians(config.joints.bias_deg) ** 2 if config.joints else 0.0,
                obstacle_variance=estimation.obstacle_m**2,
            ),
            rover.chain,
            state,
            make_work(rover.chain),
            self._vehicle.servos,
        )
        self._bound_outputs = BoundArguments(self._outputs)
        self._roles = tuple((role, INSTRUMENTS.index(role)) for role in layout.instruments)
        self._stale_ns = tuple(round(config.instruments[role].stale_ms * 1e6) for role in layout.instruments)
        self._cylinders = tuple(layout.turning.index(joint) for joint in layout.joints if joint in layout.turning)
        self._newest_ns = [-1] * len(self._roles)
        count, wheels = len(self._roles), self._wheels
        ends = [VALUES_BY_WHEEL + each * wheels for each in range(4)]
        shift = DEVIATIONS_BY_WHEEL - VALUES_BY_WHEEL
        self._of_values = tuple(slice(a, b) for a, b in zip(ends, [*ends[1:], None], strict=True))
        self._of_deviations = tuple(
            slice(one.start + shift, None if one.stop is None else one.stop + shift) for one in self._of_values
        )
        self._fates, self._innovation = [NONE] * count, (math.nan,) * count
        self._deviations: tuple[float, ...] = ()
        self._motion_used = False
        self._soil = SoilEstimator(rig) if config.soil_estimation else None

    @property
    def dropped(self) -> int:
        """Readings that came too late to be used, later than the filter remembers."""
        return int(self._filter.ring.mark[DROPPED])

    @override
    def compile(self) -> None:
        super().compile()
        compile_for(put_reading, self._bound_outputs, 0, 0, inlined=False)
        compile_for(observe, self._bound_outputs, 0, inlined=False)
        compile_for(note_impact, self._bound_outputs, 0, inlined=False)
        if self._soil is not None:
            self._soil.compile()

    @override
    def warm_up(self) -> None:
        super().warm_up()
        self.compile()

    def predict(self, samples: Samples, estimate: Estimate) -> Prediction:
        """Advance the twin to the time of these samples, and correct it by the readings among them."""
        touched = self._hit
        predicted = super().predict(samples, estimate)
        self._take_readings(samples)
        changed = observe(self._bound_outputs, samples.t_ns)
        values = tuple(self._outputs.values.tolist())
        if changed:
            self._look_at_filter()
        observed = self._observe(samples.t_ns, values)
        if self._hit and not touched:
            assert estimate.impact_ns is not None
            self.energy_at_impact_J, self.energy_at_impact_sd_J = values[ENERGY], observed.energy_sd_J
            self._q_at_impact[:], self._v_at_impact[:] = self._outputs.q, self._outputs.v
            note_impact(self._bound_outputs, estimate.impact_ns)
        corrected = self._corrected(predicted, values, observed)
        if self._soil is None:
            return corrected
        return replace(corrected, soil=self._soil.estimate(samples, estimate, corrected))

    def _take_readings(self, samples: Samples) -> None:
        """Hand new readings to the filter."""
        for which, (role, place) in enumerate(self._roles):
            reading: Reading | None = getattr(samples, role)
            if reading is None or not reading.live or reading.t_ns == self._newest_ns[which] or reading.t_ns < 0:
                continue
            self._newest_ns[which] = max(reading.t_ns, self._newest_ns[which])
            if place < 2 and not math.isfinite(sum(reading.value)):  # of these all values are needed
                continue
            into = self._outputs.reading
            for i, value in enumerate(reading.value):
                into[place, i] = value
            put_reading(self._bound_outputs, min(reading.t_ns, samples.t_ns), place)

    def _look_at_filter(self) -> None:
        """What changes with readings and steps only: standard deviations, and the fate of each source."""
        self._deviations = tuple(self._outputs.deviations.tolist())
        sources = self._filter.now.source.tolist()
        self._innovation = tuple([sources[place][NEWEST] for _, place in self._roles])
        self._fates = [OUT if sources[place][LEFT_OUT] else int(sources[place][FATE]) for _, place in self._roles]
        self._motion_used = sources[MOTION][USED] > 0.0

    def _observe(self, t_ns: int, values: tuple[float, ...]) -> ObserverOutput:
        source = tuple(
            [
                STALE if fate in (USED_NOW, REJECTED) and t_ns - newest > stale else fate
                for fate, newest, stale in zip(self._fates, self._newest_ns, self._stale_ns, strict=True)
            ]
        )
        sd, (slip, sinkage, load, joint) = self._deviations, self._of_deviations
        known = sd if not self._pull_unknown else self._nothing_known
        return ObserverOutput(
            speed_sd_mps=sd[SPEED_OUT],
            slip_sd=sd[slip],
            sinkage_sd_m=known[sinkage],
            normal_force_sd_N=known[load],
            pose_sd=sd[POSE_OUT : POSE_OUT + 6],
            joint_angle_sd_rad=sd[joint],
            gravity=values[GRAVITY_OUT : GRAVITY_OUT + 3],
            energy_sd_J=sd[ENERGY],
            time_to_impact_sd_s=sd[TIME_LEFT],
            innovation=self._innovation,
            source=source,
        )

    @property
    def _nothing_known(self) -> tuple[float, ...]:
        return (math.nan,) * len(self._deviations)

    def _corrected(self, predicted: Prediction, values: tuple[float, ...], observed: ObserverOutput) -> Prediction:
        slip, sinkage, load, joint = self._of_values
        angles = values[joint]
        gravity = values[GRAVITY_OUT : GRAVITY_OUT + 3] if predicted.gravity else ()
        moved = {
            "slip": values[slip],
            "speed_mps": values[SPEED_OUT],
            "pose": values[POSE_OUT : POSE_OUT + 7],
            "way_m": values[WAY],
            "joint_angle_rad": angles,
        }
        if self._pull_unknown:
            # where nothing has measured the motion yet, the model's means nothing
            return replace(predicted, **(moved if self._motion_used else {}), gravity=gravity, observed=observed)
        return replace(
            predicted,
            **moved,
            normal_force_N=values[load],
            sinkage_m=values[sinkage],
            effective_kinetic_energy_J=values[ENERGY],
            time_to_impact_s=values[TIME_LEFT],
            # at the impact the twin's obstacle was put before the twin's wheels
            gap_m=predicted.gap_m if self._hit else values[GAP],
            cylinder_angle_rad=tuple([angles[place] for place in self._cylinders])
            if predicted.cylinder_angle_rad
            else (),
            gravity=gravity,
            observed=observed,
        )


def make_twin(rig: Rig, nominal: RigParameters | None = None) -> RoverTwin:
    """The twin of a rig; `nominal` are other parameters than the rig's, as of one that has not settled."""
    if rig.layout.instruments:
        return ObservedTwin(rig, nominal)
    parameters = rig.nominal if nominal is None else nominal
    kind = RoverTwin if parameters.capture is None else CaptureTwin
    return kind(
        parameters,
        joints=rig.layout.turning,
        controls_loads=rig.layout.controls_loads,
        pull_unknown=rig.config.pull_unknown,
        longest_step_s=rig.longest_step_s,
        tilt_deg=rig.limits.tilt_deg,
    )
