"""A drive at one speed, with a wanted distribution of the wheels' loads for each of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.capture import DriveStepConfig
from hil.config.schema.normal_force import NormalForceConfig
from hil.control.normal_force import load_controller
from hil.control.wheel_speed import Controller
from hil.experiments.base import AFTER_NS, ArmingChecks, FinishedRun, Summary
from hil.experiments.drive.experiment import DRIVE, DriveExperiment
from hil.experiments.motion_claims import motion_claims
from hil.experiments.normal_force.summary import RESULTS, goal_of, normal_force_summary
from hil.experiments.summary_table import Claim
from hil.messages.loads import LoadGoal, load_goal
from hil.messages.operator_input import OperatorCommand, SetLoads
from hil.messages.stages import Estimate, Goal, Prediction, Samples


class NormalForceExperiment(DriveExperiment):
    """A drive whose steps differ in the wanted loads; an operator's `SetLoads` replaces those of the running step.

    After the last step the drives are cut, and the cylinders have the time to let go without a step.
    """

    name = "normal_force"
    section = NormalForceConfig
    figure = "normal_force.png"
    plotter = "hil.experiments.normal_force.figure:plot_normal_force"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        wanted = rig.config.normal_force
        steps = [DriveStepConfig(for_s=step.for_s, speed_mps=wanted.speed_mps) for step in wanted.steps]
        release_ns = round(wanted.torque_limit_Nm / wanted.torque_slew_Nmps * 1e9)
        super().__init__(rig, checks, attended=attended, steps=steps, after_ns=AFTER_NS + release_ns)
        wheels = rig.layout.wheels
        self._goals = [load_goal(step.mode, step.share, step.wheel, wheels) for step in wanted.steps]
        self._loads: LoadGoal | None = None

    def headline(self) -> str:
        """Its steps."""
        steps = ", ".join(
            f"{step.mode.replace('_', ' ')} for {step.for_s:g} s" for step in self.config.normal_force.steps
        )
        return f"wheel loads at {self.config.normal_force.speed_mps:g} m/s: {steps}"

    @classmethod
    def label(cls, config: Config) -> str:
        """The modes in order."""
        return "_".join(dict.fromkeys(step.mode for step in config.normal_force.steps))

    def controller(self) -> Controller:
        """Wheel speeds as set, and the load controller."""
        return load_controller(self.rig, super().controller())

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""
        step = self.step
        goal = super().decide(samples, estimate, prediction, safe)
        if self.state != DRIVE:
            return goal
        if self.step != step:
            self._loads = self._goals[self.step]
        self._take(samples.operator)
        return msgspec.structs.replace(goal, loads=self._loads)

    def _take(self, commands: Sequence[OperatorCommand]) -> None:
        for command in commands:
            if isinstance(command, SetLoads):
                with suppress(ValueError):  # an impossible wish changes nothing
                    self._loads = goal_of(command, self.rig.layout.wheels, self.config.ground.kind)

    def summarise(self, run: FinishedRun) -> Summary:
        """Spreads, loads and torques."""
        return normal_force_summary(run)

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:  # noqa: ARG002
        """The motion; its loads are those of the best source already."""
        return motion_claims(run, loads=False)
