"""What all experiments have in common: their states, arming, what the operator asks, and the results of a run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.equipment import RecordConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.control.wheel_speed import Controller, DirectSetPoints
from hil.experiments.figure_form import FigureForm
from hil.experiments.source_check import SourceCheck, source_check
from hil.experiments.summary_table import EVERY_RUN, Claim, SummaryKey, result_rows, summary_table, verdict_rows
from hil.messages.fault import Check, Fault
from hil.messages.link_messages import recorded_detail
from hil.messages.operator_input import Arm, ClearFault, ConsoleLost, Start, Stop, asks
from hil.messages.stages import IDLE_STATE, Estimate, Goal, Prediction, Samples
from hil.processes.disturbances import disturbances_near
from hil.safety.equilibrium_checks import equilibrium_checks, validity_checks
from hil.simulator.ground_truth import GroundTruth

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from rich.table import Table

    from hil.recording import OpenRecord
    from hil.recording.content import Recorded
    from hil.runtime.loop import Clock, Cycle
    from hil.safety.monitor import SafetyMonitor

__all__ = ["Experiment", "FinishedRun", "State", "Summary"]

# How long the rig stands armed before it moves by itself [ns].
ARMED_NS = 50_000_000
# What the devices get to confirm that they are safe: before arming is tried, where there are no sensors that have to be
# zeroed meanwhile, and after an operator's stop [ns].
CONFIRM_NS = 200_000_000
# Time recorded after the last motion, drives cut [ns].
AFTER_NS = 500_000_000
_NEVER = math.inf
# Marks of a run that is therefore not accepted.
_NOT_ACCEPTED = Fault.MEASURED_NEAR_LIMIT, Fault.SPEED_NOT_FOLLOWING, Fault.DEVICE_FAULT

SampleRows = tuple["Recorded", "Recorded"]
ArmingChecks = Callable[[Samples, Estimate], Sequence[Check]]
Summary = dict[str, Any]


class State(IntEnum):
    """States that every experiment has; what it does while it runs lies between ARMED and DONE."""

    IDLE = IDLE_STATE
    ARMED = 1
    DONE = 5
    ABORTED = 6


# In Python 3.11 State.ARMED is a function call of 0.2 us, and a tick compares states ten times.
IDLE, ARMED, DONE, ABORTED = State


class Experiment(ABC):
    """One kind of experiment; an instance is that of one run, and decides what the rig does, tick by tick.

    A kind has at least a `name` and `decide`; the rest has a default.

    Unattended, it is armed as soon as the sensors are zeroed and every check passes, and starts ARMED_NS later.
    Attended, it waits for the operator's arm and start, and a refused arming can be tried again. An arm that comes
    before the sensors are zeroed is tried once they are, and one before a fault is cleared does not count after it. A
    start counts from the moment it is armed.

    Args:
        rig: of the run, with the experiment's section.
        checks: makes the arming checks that every experiment has.
        attended: whether an operator arms and starts it.

    Attributes:
        name: as the config names it.
        section: class of its section of the config, which says what it needs of the rig.
        states: all of its states.
        figure: name of the file that its figure goes to; None: it has no figure.
        plotter: `module:function` that draws it, with the arguments of `plot`; or `plot` is its own.
        set_points: that an operator may change while it runs: unit by name.
        results: of its summary but those of every run, in the order of the terminal.
        steady: it needs a steady drive at these speeds; others measure traction at its limit, or end before.
        rig: as given.
        config: of it.
        state: the one it is in.
        checks: of arming, once that was tried.
        stopped: the operator ended it, or was lost before the start.
        console_lost: what was found of that loss; empty: there was none.
    """

    name: ClassVar[str]
    section: ClassVar[type[ExperimentSection]] = ExperimentSection
    states: ClassVar[type[IntEnum]] = State
    figure: ClassVar[str | None] = None
    plotter: ClassVar[str] = ""
    set_points: ClassVar[Mapping[str, str]] = MappingProxyType({})
    results: ClassVar[Sequence[SummaryKey]] = ()
    steady: ClassVar[bool] = False

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        self.rig, self.config = rig, rig.config
        self._arming_checks, self._attended = checks, attended
        # a cut that is not confirmed by then is late, whatever the delay is set to: arming shows it
        self._late_ns = round(2.0 * rig.config.links.drives_delay_ms * 1e6)
        self._ready_ns = max(0 if rig.layout.channels else CONFIRM_NS, rig.readings_ns)
        self._since_ns = 0
        self._arm_asked = self._start_asked = not attended
        self.state = self.states(IDLE)
        self.checks: Sequence[Check] = ()
        self.stopped = self._stopping = False
        self.console_lost = ""

    def headline(self) -> str:
        """What will be done, in a few words for people; by default the name."""
        return self.name.replace("_", " ")

    @classmethod
    def label(cls, config: Config) -> str:  # noqa: ARG003
        """What tells its runs apart, for the name of the run folder; by default the name."""
        return cls.name

    @classmethod
    def table(cls, summary: Summary) -> Table:
        """The summary for the terminal; by default the verdict, its results, and how the loop ran."""
        title = cls.name.replace("_", " ").capitalize()
        return summary_table(title, [*verdict_rows(summary), *result_rows((*cls.results, *EVERY_RUN), summary)])

    @classmethod
    def main_numbers(cls) -> list[tuple[str, str, str, int]]:
        """What a verdict and a list of runs show of the summary: key, name, unit, digits after the point."""
        return [one.main_number for one in cls.results if one.main]

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:
        """The figure of a run, with its title as label (`Figure.set_label`); needed where `figure` names a file.

        Args:
            record: of the run.
            summary: as in `summary.json`.
            run: name of the run's folder.
            form: width of the figure.
        """
        if not cls.plotter:
            raise NotImplementedError(f"{cls.__name__} has figure {cls.figure} and no plot")
        figure: Figure = resolve_name(cls.plotter)(record, summary, run, form)  # matplotlib is slow to import
        return figure

    @classmethod
    def draw(cls, record: OpenRecord, summary: Summary, path: Path, form: FigureForm) -> None:
        """Write the figure in the format that the path ends with, and `form.notice` across it (`figure_file`)."""
        from hil.experiments.drawing import facts_of, save_figure

        figure = cls.plot(record, summary, path.absolute().parent.name, form)
        save_figure(figure, path, str(figure.get_label()), facts_of(record, summary), form)

    @property
    def over(self) -> bool:
        """Nothing more will happen: if it moved when an operator stopped it, once the cut is confirmed."""
        return self.state in (DONE, ABORTED) and not self._stopping

    @property
    def done(self) -> bool:
        """It went through to its end."""
        return self.state == DONE

    @property
    def refused(self) -> bool:
        """Arming was tried last and refused."""
        return any(not check.ok for check in self.checks)

    def controller(self) -> Controller:
        """What turns its goals into set-points; by default they are set-points already."""
        return DirectSetPoints()

    @abstractmethod
    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """What is wanted in this tick; a cut wherever nothing is."""

    def summarise(self, run: FinishedRun) -> Summary:
        """Its part of summary.json, with `accepted` and `reasons`; by default these two."""
        return self.verdict(run)

    def verdict(self, run: FinishedRun, more: Sequence[str] = ()) -> Summary:
        """Keys `accepted` and `reasons`; `more` reasons count of a run that went through to its end."""
        reasons = [*self.reasons(run.cycle.safety, run.disturbance), *(more if self.done else ())]
        return {"accepted": self.done and not reasons, "reasons": reasons}

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim] | None:  # noqa: ARG002
        """What its summary says that a simulated rig, or an instrument, may know better; None: the motion."""
        return None

    def reasons(self, safety: SafetyMonitor, disturbance: Callable[[int], str] = lambda _: "") -> list[str]:
        """Why its run would not count: not armed, faults, ended by the operator; empty if nothing speaks against it."""
        reasons = [f"not armed: {check}" for check in self.checks if not check.ok]
        reasons += [
            f"fault {alarm.fault.value}: {recorded_detail(alarm.detail)}{disturbance(t_ns)}"
            for alarm, _, t_ns in safety.events
        ]
        reasons += [alarm.detail for alarm, _, _ in safety.warnings if alarm.fault in _NOT_ACCEPTED]
        if self.console_lost:
            reasons.append(f"ended before the start: {self.console_lost}")
        elif self.stopped:
            reasons.append("ended by the operator")
        return reasons

    @cached_property
    def fixed_checks(self) -> Sequence[Check]:
        """Arming checks that follow from the config alone; `hil check` shows them too.

        They are made before the run, because they may take longer than a tick.
        """
        predicted = equilibrium_checks(self.rig, self.drive_speeds_mps(), steady=self.steady)
        return (*validity_checks(self.rig), *predicted, *self.own_checks())

    def drive_speeds_mps(self) -> Sequence[float]:
        """Speeds of the rims in a steady, straight drive, for which arming predicts the wheels' loads."""
        return ()

    def own_checks(self) -> Sequence[Check]:
        """Those of this kind of experiment."""
        return ()

    @cached_property
    def _unfit(self) -> bool:
        """The config alone forbids it: no need to wait for sensors, which a rover that sinks or tips over disturbs."""
        return any(not check.ok for check in self.fixed_checks)

    def _pass_through(self, lasts_ns: Mapping[IntEnum, int]) -> None:
        """Set the states between ARMED and DONE, in their order, with the time that each lasts [ns], for `_advance`."""
        self._lasts_ns = lasts_ns
        self._following = dict(pairwise((self.states(ARMED), *lasts_ns, self.states(DONE))))

    def _advance(self, samples: Samples, estimate: Estimate, safe: bool) -> None:
        """Enter the next of these states where this one is over; the first, once the armed rig may start."""
        if self._begin_or_end(samples, estimate, safe):
            return
        if self.state == ARMED:
            over = self._may_start(samples)
        else:
            over = samples.t_ns - self._since_ns >= self._lasts_ns.get(self.state, _NEVER)
        if over:
            self._enter(self._following[self.state], samples.t_ns)

    def _begin_or_end(self, samples: Samples, estimate: Estimate, safe: bool) -> bool:
        """Whether this tick was decided by a fault, by the operator's stop, or by arming."""
        t_ns = samples.t_ns
        if self.over:
            return False
        if self._stopping:
            self._stopping = samples.drives.stopped_ns < 0 and t_ns - self._since_ns < CONFIRM_NS
            return True
        for command in samples.operator:  # in most ticks none
            if isinstance(command, Arm):
                self._arm_asked = True
            elif isinstance(command, ClearFault):  # an arm from before does not count any more
                self._arm_asked = not self._attended
        if safe and not (self._attended and self.state == IDLE):  # there a fault can still be cleared
            self._enter(ABORTED, t_ns)
        elif samples.operator and (asks(samples.operator, Stop) or asks(samples.operator, ConsoleLost)):
            lost = (one.found for one in samples.operator if isinstance(one, ConsoleLost))
            self.console_lost = next(lost, "")
            self.stopped, self._stopping = True, self.state > ARMED and samples.drives.stopped_ns < 0
            self._enter(ABORTED, t_ns)
        elif self.state == IDLE and self._arm_asked and (self._unfit or self._can_be_armed(samples, estimate)):
            self._arm_asked = not self._attended
            self.checks = self.fixed_checks
            if not self._unfit:
                self.checks = (*self._arming_checks(samples, estimate), *self.fixed_checks)
            if not self.refused:
                self._enter(ARMED, t_ns)
            elif not self._attended:
                self._enter(ABORTED, t_ns)
        else:
            return False
        return True

    def _can_be_armed(self, samples: Samples, estimate: Estimate) -> bool:
        """Whether the sensors are zeroed, and the drives have confirmed their cut or had all the time they get."""
        confirmed = samples.drives.acknowledged_ns >= 0 or samples.t_ns >= self._late_ns
        return estimate.zeroed and confirmed and samples.t_ns >= self._ready_ns

    def _may_start(self, samples: Samples) -> bool:
        """Whether the armed rig may move from this tick on."""
        if samples.operator and asks(samples.operator, Start):
            self._start_asked = True
        return self._start_asked and samples.t_ns - self._since_ns >= ARMED_NS

    def _enter(self, state: IntEnum, t_ns: int) -> None:
        self.state, self._since_ns = self.states(state), t_ns


@dataclass(frozen=True)
class FinishedRun:
    """A run that is over, and all that its summary is made of."""

    rig: Rig  #: that ran
    cycle: Cycle  #: that ran, its experiment included
    clock: Clock  #: that paced it
    ground_truth: GroundTruth  #: of a simulated rig
    ticks: Recorded  #: its ticks, rows of the record
    timing: Recorded  #: what each of them took, rows of `TIMING`
    events: NDArray[Any]  #: of the record, rows of `EVENT`
    plant_loop: dict[str, Any] | None  #: how a simulated rig in its own process kept up; None where there is none
    links: dict[str, Any] | None  #: health of each link to real devices; None where there is none
    wall_s: float  #: how long the loop ran [s]
    #: of the force sensors, times (n,) [ns] and readings (n, channels) [V]; None: not all were kept
    samples: SampleRows | None = None
    load_samples: SampleRows | None = None  #: the same of the load channels, which are always kept

    @property
    def config(self) -> Config:
        """Of the run."""
        return self.rig.config

    @property
    def experiment(self) -> Experiment:
        """The one that ran."""
        experiment = self.cycle.experiment
        assert isinstance(experiment, Experiment)
        return experiment

    @cached_property
    def source(self) -> SourceCheck:
        """What the run says of its instrument outside; the record is read once for it."""
        return source_check(self.rig, self.ticks)

    def disturbance(self, t_ns: int) -> str:
        """What disturbed the run when a fault was noticed [ns], in words to follow the fault's own."""
        return disturbances_near(self.events, t_ns)


def samples_of(record: OpenRecord, section: RecordConfig) -> tuple[SampleRows | None, SampleRows]:
    """The samples of a record, as `FinishedRun` has them: of the force sensors, and of the load channels."""
    kept = (record.daq_t_ns, record.raw) if section.sensors == "all" else None
    return kept, (record.loads.t_ns, record.loads.raw)
