"""When the camera's trigger line is on: while the rig is armed and runs, or from the detected impact on."""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from hil.control.wheel_speed import Controller
from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints


class CameraTrigger:
    """Adds the trigger line to the set-points of a controller; it is a level, so that a lost command loses no edge.

    Args:
        controller: of the drives and the valves.
        states: of the experiment in which the line is on; None: it is on once the impact is detected.
    """

    def __init__(self, controller: Controller, states: Container[int] | None) -> None:
        self._controller, self._states = controller, states

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""
        set_points = self._controller.control(goal, samples, estimate, prediction)
        on = estimate.impact_ns is not None if self._states is None else goal.state in self._states
        return replace(set_points, trigger=True) if on else set_points
