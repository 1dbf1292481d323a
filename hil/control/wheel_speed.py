"""Controllers: they turn the goal of an experiment into set-points, which the limiter checks."""

from __future__ import annotations

from collections.abc import Sequence
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


# Slip is smoothed over this time [s]; it is capped, because at slip 1 no wheel speed moves the rover.
SMOOTHING_S = 0.1
LARGEST_SLIP = 0.6


class WheelSpeed:
    """Turns a forward speed into wheel speeds, omega = v / (R (1 - s)), with the slip that the rover twin predicts.

    All rims move at the same speed: the rover drives straight.
    """

    def __init__(self, radii_m: Sequence[float], period_s: float) -> None:
        self._radii_m = tuple(radii_m)
        self._share = min(period_s / SMOOTHING_S, 1.0)
        self._slip = 0.0

    def control(
        self,
        goal: Goal,
        samples: Samples,  # noqa: ARG002
        estimate: Estimate,  # noqa: ARG002
        prediction: Prediction,
    ) -> SetPoints:
        """The set-points of this tick. While the drives are cut, or push, the slip estimate is not updated.

        Speeds of the wheels that the goal has already pass unchanged: those of legs that swing differ.
        """
        if goal.cut:
            return SetPoints(goal.state, True, (), goal.valves, joint_angle_rad=goal.joint_angle_rad)
        if not goal.pushing:
            mean = sum(prediction.slip) / len(prediction.slip)
            self._slip += (min(max(mean, 0.0), LARGEST_SLIP) - self._slip) * self._share
        rolling, forward_mps = 1.0 - self._slip, goal.forward_mps
        speeds = goal.speed_radps or tuple([forward_mps / (radius_m * rolling) for radius_m in self._radii_m])
        return SetPoints(goal.state, False, speeds, goal.valves, joint_angle_rad=goal.joint_angle_rad)
