"""Controllers: they turn the goal of an experiment into set-points, which the limiter checks."""

from __future__ import annotations

from typing import Protocol

from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints


class Controller(Protocol):
    """Turns the goal of each tick into set-points."""

    def control(self, goal: Goal, samples: Samples, estimate: Estimate, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""


class DirectSetPoints:
    """Passes the wheel speeds or duties of the goal on unchanged."""

    def control(
        self,
        goal: Goal,
        samples: Samples,  # noqa: ARG002
        estimate: Estimate,  # noqa: ARG002
        prediction: Prediction,  # noqa: ARG002
    ) -> SetPoints:
        """The set-points of this tick."""
        return SetPoints(
            goal.state, goal.cut, goal.speed_radps, goal.valves, duty=goal.duty, joint_angle_rad=goal.joint_angle_rad
        )
