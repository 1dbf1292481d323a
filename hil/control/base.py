"""Controllers: they turn the goal of an experiment into set-points, which the limiter checks."""

from __future__ import annotations

from typing import Protocol

from hil.messages.stages import Goal, Prediction, Samples, SetPoints


class Controller(Protocol):
    """Turns the goal of each tick into set-points."""

    def control(self, goal: Goal, samples: Samples, prediction: Prediction) -> SetPoints:
        """The set-points of this tick."""


class DirectSetPoints:
    """Passes the wheel speeds of the goal on unchanged."""

    def control(self, goal: Goal, samples: Samples, prediction: Prediction) -> SetPoints:  # noqa: ARG002
        """The set-points of this tick."""
        return SetPoints(goal.state, goal.cut, goal.speed_radps, goal.valves)
