"""The twin of a space arm that captures a payload: the arm turns as measured, the payload comes as the config says."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hil.estimation.twin import RoverTwin
from hil.messages.stages import Estimate, Prediction, Samples
from models.plant import RigParameters
from models.plant.grapple import Grapple
from models.rover.arm_names import GRAPPLE

# The energy of a capture is worked out once in so many ticks, and at the contact: it takes longer than the tick.
ENERGY_EVERY = 10


class CaptureTwin(RoverTwin):
    """Predicts where the payload is before the grapple, and the energy that a capture would take now.

    Spacecraft and booms move as the arm and the payload make them. Nothing measures the payload, so its place is that
    of the config until the contact, and the grapple closes where its measured way says so.

    Args: as `RoverTwin`; nominal.capture says how the payload comes.

    Attributes:
        grapple: contact, latch and hold of the twin.
    """

    def __init__(self, nominal: RigParameters, **settings: Any) -> None:
        super().__init__(nominal, **settings)
        if nominal.capture is None:
            raise ValueError("CaptureTwin: parameters have no capture, needed: one")
        self.grapple = Grapple(self._rover, self._vehicle, self._state, nominal.capture)
        self._drive = self._driven.index(GRAPPLE)
        self._ticks, self._gap, self._energy_J = 0, nominal.capture.gap, 0.0

    def warm_up(self) -> None:
        """Compile or load what a prediction runs, at the contact too, without moving the twin."""
        super().warm_up()
        self.grapple.warm_up()

    def predict(self, samples: Samples, estimate: Estimate) -> Prediction:
        """Advance the twin to the time of these samples."""
        prediction, grapple = super().predict(samples, estimate), self.grapple
        way = samples.servos.angle_rad[self._drive] if samples.servos is not None else 0.0
        grapple.update(samples.t_ns, way)  # a way that is not a number closes nothing
        gap, speed = grapple.gap, grapple.closing_speed
        if self._ticks % ENERGY_EVERY == 0 or (gap <= 0.0 < self._gap):
            self._energy_J = 0.0 if grapple.held_ns is not None else grapple.energy_of_capture()
        self._ticks, self._gap = self._ticks + 1, gap
        return replace(
            prediction,
            gap_m=gap,
            time_to_impact_s=max(gap, 0.0) / speed if speed > 1e-6 else float("inf"),
            effective_kinetic_energy_J=self._energy_J,
        )
