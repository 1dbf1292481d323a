"""Sections of experiments: jog, traction, crossing, followed speed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from operator import not_
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config.problems import Problem
from hil.config.schema.base import Listed, Section, bounded, checked_below, key, positive, section
from hil.config.schema.capture import CaptureConfig, DriveConfig, JogConfig
from hil.config.schema.experiment_section import SLIP_MARGIN, ExperimentSection, WholeConfig, Winch
from hil.config.schema.normal_force import NormalForceConfig
from hil.config.schema.stimulus import StimulusConfig
from hil.config.schema.traction import DrawbarConfig, SlopeConfig
from hil.config.schema.trial import QualityConfig, TrialConfig
from hil.config.schema.walk import WalkConfig
from models.rover.fittings import BALLAST


class CrossingConfig(ExperimentSection):
    """A drive over a step, a ledge or a slope; the drives are not cut when a wheel meets it."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    speed_mps: float = positive(0.05, 10, "speed of the rims, constant until the rover is across")
    past_m: float = bounded(0.1, 0, 100, "the rover is across when all its axles are this far behind the shape")
    timeout_s: float = bounded(30.0, 1, 3600, "then the drive ends, and the shape was not crossed")
    settle_s: float = bounded(0.5, 0.1, 600, "recorded after the drive, drives cut")
    most_load_N: float | None = positive(
        None, 1e6, "largest upward force on one wheel, by the twin, in an accepted run; null: any"
    )
    left_share: float = bounded(
        0.03, 0, 1, "largest force left on an empty ground.profile.plate, of the largest, in an accepted run"
    )
    moves_ballast: bool = key(
        False,
        "rover.ballast goes where the wheels bear in proportion to the traction that the terrain before them allows",
        exclude_if=not_,
    )

    @property
    def rim_speed_mps(self) -> float | None:
        """Of the whole drive."""
        return self.speed_mps

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """A shape to cross, a speed that the limits allow, and a servo for a ballast that moves."""
        if self.moves_ballast and BALLAST not in config.layout.servos:
            allowed = "with rover.ballast, and servos.slides.ballast that drives it"
            yield Problem("crossing.moves_ballast", "true", allowed, ("rover.ballast", "servos.slides"))
        if config.ground.profile is None:
            yield Problem("ground.profile", "null", "a shape with experiment crossing, which drives over it", ())
        limit_mps = SLIP_MARGIN * config.limits.wheel_speed_radps * config.least_wheel_radius_m
        if self.speed_mps > limit_mps:
            allowed = f"at most {limit_mps:.3g} m/s ({SLIP_MARGIN:g} of limits.wheel_speed_radps at the rim)"
            yield Problem("crossing.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))


class SinkageConfig(ExperimentSection):
    """Sinkage under a load, without turning the wheels (Petersen 2012, 7.2)."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    settle_s: float = bounded(1.0, 0.1, 600, "from the start until the measurement")
    measure_s: float = bounded(1.0, 0.1, 600, "length of the measurement")

    @property
    def measured_s(self) -> float | None:
        """Length of the measurement."""
        return self.measure_s

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Level soil."""
        if not config.ground.on_soil or config.ground.pitch_deg or config.ground.roll_deg:
            found = f"{config.ground.kind}, pitch {config.ground.pitch_deg:g}, roll {config.ground.roll_deg:g}"
            yield Problem("ground.kind", found, "level soil: experiment sinkage measures how deep wheels sink", ())


# A distance is measured along the path if its direction is within 45 degrees of it.
_ALONG = math.cos(math.pi / 4.0)


def along_way_problems(config: WholeConfig, why: str, depends_on: tuple[str, ...] = ()) -> list[Problem]:
    """Why the forward speed is not measured; none: it is.

    Args:
        config: of the rig.
        why: it is needed, in words.
        depends_on: keys that ask for it.
    """
    motion = config.motion
    if motion is None:
        allowed = (
            "an instrument that measures the rover's distance, like motion={measures: distance}: nothing else measures "
            "its forward speed"
        )
        return [Problem("motion", f"none, with {why}", allowed, depends_on)]
    if motion.measures == "distance" and abs(motion.direction[0]) < _ALONG * math.hypot(*motion.direction):
        found = f"{list(motion.direction)}, with {why}"
        return [Problem("motion.direction", found, "within 45 degrees of the path, x", depends_on)]
    return []


Seconds = Annotated[float, Field(ge=0, le=3600)]
Speed = Annotated[float, Field(ge=0, le=10)]
Point = Annotated[tuple[Seconds, Speed], Field(strict=False)]
# By duty the throttle is never quite 0 while the rover drives: a duty of 0 is a cut.
LEAST_DUTY = 1e-3


class _LoopGains(Section):
    """The outer loop: a controller with proportional and integral part on the measured quantity."""

    gain: float = bounded(0.3, 0, 0.9, "proportional part: change of the wheels' speed over the error, both at the rim")
    integral_per_s: float = bounded(3.0, 0.01, 100, "integral part: of that change in a second [1/s]")
    lag_s: float = bounded(
        0.1, 0, 5, "assumed lag of drives and observer together, for the margins that arming asks for"
    )


class TorqueLoop(Section):
    """A loop on the torque of the motors, with proportional, integral and derivative part; all values at the axle.

    It is closed on the speed of each motor's wheel, or, with quantity forward_speed, for all motors together on the
    speed of the rover over the radius of the wheels.
    """

    begin_Nm: float = bounded(0.0, -1e4, 1e4, "torque of each motor with which the loop begins")
    gain: float = bounded(40.0, 0, 1e6, "proportional part [N m s/rad]")
    integral_gain: float = bounded(40.0, 0, 1e6, "integral part [N m/rad]")
    derivative_gain: float = bounded(0.0, 0, 1e5, "derivative part, of the measured speed alone [N m s^2/rad]")
    filter_s: float = bounded(0.02, 0.001, 10, "time constant of the filter before the derivative part")
    limit_Nm: float = bounded(400.0, 0.1, 1e4, "largest torque of a motor, either way")


class _FollowWinch(Section):
    """What holds the simulated rover back; on a real rig somebody pulls."""

    cable_mps: float | None = bounded(
        None, 0.001, 10, "speed at which it pays out its cable; null: that of follow.slip"
    )
    growth_Nps: float = bounded(500.0, 1, 1e6, "fastest growth of its pull [N/s]")
    largest_N: float = bounded(5000.0, 1, 1e6, "largest pull")


class FollowConfig(ExperimentSection):
    """A speed of the rims or of the rover over time that is followed, or a slip that is held, by what is measured."""

    between_runs: ClassVar[tuple[str, ...]] = (
        "quantity", "slip", "window_from_s", "window_s", "error_limit_mps", "slip_tolerance", "most_saturated",
    )  # fmt: skip

    quantity: Literal["wheel_speed", "forward_speed", "slip", "throttle"] = key(
        "forward_speed",
        "what follows: the speed of the rims, the measured forward speed of the rover, or the measured "
        "slip, which is held; throttle: nothing, the duty is the profile over full_duty_mps",
    )
    profile: Listed[Point] = key(
        ((0.0, 0.0), (1.0, 0.05), (20.0, 0.05)),
        "time [s] and speed [m/s], straight between two points: of the rims, or of the rover; where a slip "
        "is held, the forward speed that is expected",
        max_length=10000,
        note="points, or the path of a CSV file of two columns, seen from the config's folder",
    )
    slip: float = bounded(0.2, 0, 0.95, "that is held with quantity slip; of the simulated winch with the others")
    most_slip: float = bounded(0.8, 0.01, 0.95, "largest slip that the loop makes up for: it sets no faster wheels")
    loop: _LoopGains = section(_LoopGains, "the outer loop, closed on what is measured; all values at the rim")
    full_duty_mps: float | None = bounded(
        None,
        0.01,
        10,
        "rims' speed at the full supply without load: the wheels are then driven by duty, and the loop "
        "closed here; null: driven by speed",
    )
    torque: TorqueLoop | None = key(
        None, "the loop is on the motors' torque, which is a duty by drives.motor; null: on the wheels' speed"
    )
    window_from_s: float = bounded(10.0, 0, 3600, "begin of the window that is judged")
    window_s: float = bounded(10.0, 0.5, 600, "its length")
    error_limit_mps: float = positive(
        0.005, 1, "largest root mean square of the error of an accepted run, in the window"
    )
    slip_tolerance: float = positive(0.03, 1, "with quantity slip: largest deviation of its mean")
    most_saturated: float = bounded(0.05, 0, 1, "largest share of the window in which the wheels' speed is at a limit")
    held_back: _FollowWinch | None = key(None, "what holds the rover back; null: nothing")

    @field_validator("profile")
    @classmethod
    def _in_order(cls, profile: tuple[Point, ...]) -> tuple[Point, ...]:
        times = [time for time, _ in profile]
        if len(times) < 2 or times[0] != 0.0 or any(later <= one for one, later in pairwise(times)):
            raise ValueError("two points or more, the first at 0 s, each later than the one before")
        return profile

    @property
    def measures_motion(self) -> bool:
        """It follows what only an instrument of motion measures."""
        return self.quantity in ("forward_speed", "slip")

    @property
    def closes_loop(self) -> bool:
        """There is an outer loop: drives follow a wheel speed themselves, and a throttle follows nothing."""
        if self.quantity == "throttle":
            return False
        if self.torque is not None:  # without gains it is a constant torque
            return max(self.torque.gain, self.torque.integral_gain, self.torque.derivative_gain) > 0.0
        return self.measures_motion or self.full_duty_mps is not None

    def needs_instruments(self, rig: str) -> tuple[str, ...]:  # noqa: ARG002
        """The one that measures the rover's way, on every rig."""
        return ("motion",) if self.measures_motion else ()

    @property
    def most_mps(self) -> float:
        """Largest speed of the profile."""
        return max(speed for _, speed in self.profile)

    @property
    def throttle_duty(self) -> float | None:
        """Feed-forward of the largest speed; None: driven by speed."""
        if self.full_duty_mps is None:
            return None
        return min(max(self.most_mps / self.full_duty_mps, LEAST_DUTY), 1.0)

    @property
    def rim_speed_mps(self) -> float | None:
        """The largest speed of the profile, by speed or torque."""
        return self.most_mps if self.full_duty_mps is None else None

    @property
    def by_duty(self) -> bool:
        """By torque, too: torque is a duty that depends on the speed."""
        return self.full_duty_mps is not None or self.torque is not None

    @property
    def planned_way_m(self) -> tuple[float, ...]:
        """The way under the profile; with quantity slip the rims are faster, and a throttle does not say how fast."""
        if self.quantity == "throttle":
            return ()
        return (sum(0.5 * (v0 + v1) * (t1 - t0) for (t0, v0), (t1, v1) in pairwise(self.profile)),)

    @property
    def measured_s(self) -> float | None:
        """Length of the window."""
        return self.window_s

    @property
    def winch(self) -> Winch | None:
        """What holds the rover back."""
        one = self.held_back
        return None if one is None else Winch(self.slip, one.growth_Nps, one.largest_N, one.cable_mps)

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Soil, an instrument for what is followed, and a profile that the limits allow."""
        if not config.ground.on_soil:
            yield Problem("ground.kind", config.ground.kind, "soil: experiment follow measures slip on it")
        if self.measures_motion:
            yield from along_way_problems(config, f"follow.quantity {self.quantity}", ("follow.quantity",))
        if self.held_back is not None and not config.layout.load_cell:
            knows = "or follow.held_back null: the twin knows a pull from the cell only"
            allowed, depends_on = f"a load cell (loads.load_cell={{}}), {knows}", ("follow.held_back", "loads")
            yield Problem("loads.load_cell", "none, with follow.held_back", allowed, depends_on)
        radius_m, limits = config.least_wheel_radius_m, config.limits
        most_mps = SLIP_MARGIN * limits.wheel_speed_radps * radius_m
        if self.most_mps > most_mps:
            allowed = f"at most {most_mps:.3g} m/s, {SLIP_MARGIN:g} of limits.wheel_speed_radps at the rim"
            yield Problem("follow.profile", f"{self.most_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))
        most_mps2 = 0.5 * limits.wheel_acceleration_radps2 * radius_m
        steepest = max(abs(v1 - v0) / (t1 - t0) for (t0, v0), (t1, v1) in pairwise(self.profile))
        if steepest > most_mps2:
            allowed = f"at most {most_mps2:.3g} m/s in a second, half of limits.wheel_acceleration_radps2 at the rim"
            found = f"{steepest:.3g} m/s in a second"
            yield Problem("follow.profile", found, allowed, ("limits.wheel_acceleration_radps2",))
        length_s, end_s = self.profile[-1][0], self.window_from_s + self.window_s
        if end_s > length_s:
            allowed = f"an end by {length_s:g} s, the profile's"
            yield Problem("follow.window_s", f"an end at {end_s:g} s", allowed, ("follow.profile",))
        yield from self._duty_problems()
        if self.quantity == "slip" and self.slip >= self.most_slip:
            allowed = f"below follow.most_slip, {self.most_slip:g}"
            yield Problem("follow.slip", f"{self.slip:g}", allowed, ("follow.most_slip",))

    def _duty_problems(self) -> Iterator[Problem]:
        """A throttle needs the full duty, a torque has its own."""
        if self.quantity == "throttle" and self.full_duty_mps is None:
            allowed = "the rims' speed at the full supply without load, with follow.quantity throttle"
            yield Problem("follow.full_duty_mps", "null", allowed, ("follow.quantity",))
        if self.torque is None:
            return
        if self.full_duty_mps is not None:
            allowed = "null with follow.torque, or follow.torque null"
            yield Problem("follow.full_duty_mps", f"{self.full_duty_mps:g}", allowed, ("follow.torque",))
        if self.quantity == "slip":
            allowed = "wheel_speed or forward_speed with follow.torque"
            yield Problem("follow.quantity", self.quantity, allowed, ("follow.torque",))
        if abs(self.torque.begin_Nm) > self.torque.limit_Nm:
            allowed = f"at most follow.torque.limit_Nm, {self.torque.limit_Nm:g}"
            yield Problem("follow.torque.begin_Nm", f"{self.torque.begin_Nm:g}", allowed)


class SoilEstimationConfig(Section):
    """Stiffness, rebound and slip modulus of the soil, estimated while the rover drives; max_traction uses them."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    rate_hz: float = bounded(20.0, 1, 100, "measurements a second")
    stiffness: float = bounded(
        0.3, 0, 1.5, "standard deviation of the log of soil.stiffness before the drive; 0: known"
    )
    rebound: float = bounded(0.3, 0, 1.5, "the same of soil.rebound")
    slip_modulus: float = bounded(0.3, 0, 1.5, "the same of soil.slip_modulus")
    memory_m: float = bounded(
        20.0, 0.1, 1e4, "distance over which the soil may become another: what was found fades to a third"
    )
    model: float = bounded(
        0.01,
        1e-4,
        0.5,
        "standard deviation of what the wheel model leaves of the pull, and of the torque over the radius, "
        "over the wheels' load",
    )
    correlation_m: float = bounded(0.1, 1e-3, 100, "distance along which that error is the same")
    loads_u95: float = bounded(
        0.02, 0, 1, "95 % half-width of the sum of the loads by leg sensors; without them estimation.mass is used"
    )
    torque_u95: float = bounded(0.05, 0, 1, "95 % half-width of the torque for a motor's current, relative")
    torque_per_A_Nm: float | None = positive(
        None,
        1e4,
        "torque at the axle for each ampere of a motor [N m/A]; null: drives.power.torque_per_A_Nm of a "
        "simulated rig, and no torques on a real one",
    )


def extension_section(name: str, values: Any) -> Section:
    """The checked section of an installed experiment.

    Raises:
        ValueError: see `section_class`.
        ValidationError: the values are not valid for the section.
    """
    return checked_below(name, section_class(name), values)


def installed_section(name: str) -> ExperimentSection:
    """Section of an installed experiment with its default values; if there is none of that name, that of any other."""
    with suppress(ValueError, ExtensionError):
        return section_class(name)()
    return ExperimentSection()


def section_class(name: str) -> type[ExperimentSection]:
    """Class of the section of an installed experiment.

    Raises ValueError: no installed package has an experiment of that name, or it cannot be imported, or is none.
    """
    for kind, package in load_installed(EXPERIMENTS, name):
        section = getattr(kind, "section", None)  # of somebody else's: it may be anything
        if not (isinstance(section, type) and issubclass(section, ExperimentSection)):
            raise ValueError(f"an experiment with an ExperimentSection; {package} brings {kind!r}")
        return section
    installed = ", ".join(installed_names(EXPERIMENTS)) or "none is installed"
    raise ValueError(f"the name of an experiment of an installed package: {installed}")


# Key of an experiment's section where that is not its name.
_KEYS = {"impact": "trial"}


class ExperimentSections(Section):
    """A section for each experiment; a config has the values of those that its own experiment uses."""

    trial: TrialConfig = Field(default_factory=TrialConfig)
    quality: QualityConfig = Field(default_factory=QualityConfig)
    jog: JogConfig = Field(default_factory=JogConfig)
    drive: DriveConfig = Field(default_factory=DriveConfig)
    follow: FollowConfig = Field(default_factory=FollowConfig)
    stimulus: StimulusConfig = Field(default_factory=StimulusConfig)
    normal_force: NormalForceConfig = Field(default_factory=NormalForceConfig)
    drawbar: DrawbarConfig = Field(default_factory=DrawbarConfig)
    slope: SlopeConfig = Field(default_factory=SlopeConfig)
    walk: WalkConfig = Field(default_factory=WalkConfig)
    sinkage: SinkageConfig = Field(default_factory=SinkageConfig)
    crossing: CrossingConfig = Field(default_factory=CrossingConfig)
    capture: CaptureConfig = Field(default_factory=CaptureConfig)


def section_key(experiment: str) -> str:
    """Key of an experiment's own section in a config."""
    return _KEYS.get(experiment, experiment)


def unused_sections(experiment: Any) -> frozenset[str]:
    """Keys of the sections of experiments that an experiment does not use; none if there is no such experiment."""
    key = section_key(str(experiment))
    kind: Any = None
    if key in ExperimentSections.model_fields:
        kind = ExperimentSections.model_fields[key].annotation
    else:
        with suppress(ValueError, ExtensionError):
            kind = section_class(key)
    if not (isinstance(kind, type) and issubclass(kind, ExperimentSection)):
        return frozenset()
    return frozenset(ExperimentSections.model_fields) - {key, *kind.used_sections()}


def users_of(section: str) -> tuple[str, ...]:
    """Names of the experiments that use a section."""
    names = [*_KEYS, *(name for name in ExperimentSections.model_fields if name not in _KEYS.values())]
    return tuple(name for name in names if (unused := unused_sections(name)) and section not in unused)
