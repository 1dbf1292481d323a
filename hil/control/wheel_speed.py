"""Wheel speeds that give the rover the desired forward speed on ground with slip."""

from __future__ import annotations

from hil.messages.stages import Estimate, Goal, Prediction, Samples, SetPoints

# Slip is smoothed over this time [s]; it is capped, because at slip 1 no wheel speed moves the rover.
SMOOTHING_S = 0.1
LARGEST_SLIP = 0.6


class WheelSpeed:
    """Turns a forward speed into wheel speeds, omega = v / (R (1 - s)), with the slip that the rover twin predicts.

    All wheels turn at the same speed: the rover drives straight.

    Args:
        radius_m: wheel radius.
        period_s: time between ticks.
    """

    def __init__(self, radius_m: float, period_s: float) -> None:
        self._radius_m = radius_m
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
        speed = goal.forward_mps / (self._radius_m * (1.0 - self._slip))
        speeds = goal.speed_radps or (speed,) * len(prediction.slip)
        return SetPoints(goal.state, False, speeds, goal.valves, joint_angle_rad=goal.joint_angle_rad)
