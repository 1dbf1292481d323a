"""What an experiment's section of a config says besides its settings: what the experiment needs of the rig.

The rest of the program asks these, and not for an experiment by its name: the section of an experiment from a package
answers them like one of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NamedTuple, Protocol

from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.equipment import LimitsConfig, RecordConfig
from hil.config.schema.ground_and_obstacle import GroundConfig
from hil.config.schema.instruments import MotionConfig
from hil.config.schema.rover import RoverConfig
from hil.config.schema.sensors import DaqConfig
from hil.config.schema.servos import DrivenJoint
from hil.messages.layout import Layout

# Part of the limits of wheel speed and acceleration that an experiment may take; the rest is for slip.
SLIP_MARGIN = 0.9


class Winch(NamedTuple):
    """What holds the rover back until it slips as wanted; a simulated rig has one, on a real one somebody pulls."""

    slip: float  #: wanted
    growth_Nps: float  #: fastest growth of its pull [N/s]
    largest_N: float  #: largest pull [N]
    #: speed at which it pays out its cable, whatever the wheels do [m/s]; None: that of the wanted slip
    cable_mps: float | None = None


class WholeConfig(Protocol):
    """What the checks of a section read of the rest of its config (`hil.config.unchecked_config.UncheckedConfig`)."""

    @property
    def rig(self) -> str:
        """Simulated, simulated_wire or real."""

    @property
    def clock(self) -> str:
        """Lockstep or realtime."""

    @property
    def layout(self) -> Layout:
        """Wheels, cylinders and channels."""

    @property
    def limits(self) -> LimitsConfig:
        """What the limiter allows."""

    @property
    def ground(self) -> GroundConfig:
        """Kind of ground, and its slope."""

    @property
    def rover(self) -> RoverConfig:
        """Type and sizes."""

    @property
    def daq(self) -> DaqConfig | None:
        """Force sensors."""

    @property
    def record(self) -> RecordConfig:
        """What is recorded."""

    @property
    def wheel_radius_m(self) -> float:
        """Rolling radius of the front wheels."""

    @property
    def least_wheel_radius_m(self) -> float:
        """Rolling radius of the smallest wheel, which turns fastest."""

    @property
    def driven_joints(self) -> tuple[DrivenJoint, ...]:
        """Joints that servos drive."""

    @property
    def motion(self) -> MotionConfig | None:
        """The instrument that measures the rover's place from outside."""

    @property
    def pull_unknown(self) -> bool:
        """Something pulls the rover, and no load cell says how much."""


class ExperimentSection(Section):
    """Section of an experiment. By default it needs nothing: open ground, passive cylinders, speeds for the wheels."""

    #: the obstacle stands in front of the rover (`obstacle`, `trial.angle_deg`, `trial.start_distance_m`). Then the
    #: ground is level
    obstacle: ClassVar[bool] = False
    impact: ClassVar[bool] = False  #: it is an impact trial, whose force sensors and twin measure the hit
    #: keys of the sections of other experiments that it uses, besides those that follow from the two above
    uses: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def used_sections(cls) -> frozenset[str]:
        """Keys of the sections of other experiments that it uses."""
        return frozenset((*cls.uses, *(("trial",) if cls.obstacle else ()), *(("quality",) if cls.impact else ())))

    @property
    def controls_loads(self) -> bool:
        """A controller can distribute the wheels' loads in its runs (`normal_force` has its settings)."""
        return False

    @property
    def moves_loads(self) -> bool:
        """It does so in this very run: of a series that has a controller, some runs are passive."""
        return self.controls_loads

    @property
    def asks_traction(self) -> bool:
        """The load mode max_traction may be asked for: by the section, or by an operator in the middle of a run."""
        return True

    @property
    def captures(self) -> bool:
        """A payload comes, and is captured (`capture` has the settings): then the vehicle is an arm without wheels."""
        return False

    @property
    def throttle_duty(self) -> float | None:
        """Constant duty of the drives, in place of a speed; None: speeds."""
        return None

    @property
    def by_duty(self) -> bool:
        """The drives are driven by duty, in place of speeds."""
        return self.throttle_duty is not None

    @property
    def rim_speed_mps(self) -> float | None:
        """Constant speed of the rims in a straight drive; None: it has none."""
        return None

    @property
    def planned_way_m(self) -> tuple[float, ...]:
        """Farthest ways of the rims from the start in a straight drive, ahead and back [m]; empty: not known."""
        return ()

    @property
    def measured_s(self) -> float | None:
        """Length of a measurement of traction before the cut [s]; None: none."""
        return None

    @property
    def winch(self) -> Winch | None:
        """What pulls the rover in the measurement; None: nothing."""
        return None

    @property
    def held_at_slip(self) -> float | None:
        """Slip at which it may have to be held, because nothing more is climbed; None: it is not held."""
        return None

    def needs_instruments(self, rig: str) -> tuple[str, ...]:  # noqa: ARG002
        """Roles of the instruments of motion that it needs on such a rig: a fault of one of them leads to Safe.

        Those that it does not need are left out with a mark when they fail, and the run goes on.
        """
        return ()

    def problems(self, config: WholeConfig) -> Iterable[Problem]:  # noqa: ARG002
        """Values of the section that are each allowed but not together, or not with the rest of the config."""
        return ()
