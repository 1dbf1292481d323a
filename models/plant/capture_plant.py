"""A simulated space arm that captures a payload: a plant with a grapple."""

from __future__ import annotations

from typing import Any

from models.plant.grapple import CaptureTruth, Grapple
from models.plant.plant import Plant
from models.rover.arm_names import GRAPPLE

# The grapple acts at least so often [ns].
GRAPPLE_NS = 1_000_000


class CapturePlant(Plant):
    """The plant of a rig with a grapple; it acts between steps of at most 1 ms.

    Args: as `Plant`.

    Attributes:
        grapple: contact, latch and hold.

    Raises:
        ValueError: parameters without `capture`.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if self.parameters.capture is None:
            raise ValueError("CapturePlant: parameters have no capture, needed: one")
        vehicle = self.scene.value.vehicle
        self.grapple = Grapple(self.rover, vehicle, self._state, self.parameters.capture)
        self._drive = 7 + self.rover.tree_joint_names.index(GRAPPLE)

    @property
    def capture(self) -> CaptureTruth:
        """What the grapple has done so far."""
        return self.grapple.outcome

    def advance(self, t_ns: int) -> None:
        """Advance to time t_ns [ns]; a past time has no effect."""
        while self.t_ns < t_ns:
            self._move(min(self.t_ns + GRAPPLE_NS, t_ns))
            self.grapple.update(self.t_ns, float(self._state.q[self._drive]))
