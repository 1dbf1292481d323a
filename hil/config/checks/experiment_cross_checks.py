"""Cross-checks of the section of the experiment that the config names."""

from __future__ import annotations

import math

from hil.config.checks.traction_cross_checks import SLIP_MARGIN, traction_checks
from hil.config.model import UncheckedConfig
from hil.config.problems import Problem


def experiment_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    checks = {
        "impact": _trial_checks,
        "jog": _jog_checks,
        "drive": _drive_checks,
        "drawbar": traction_checks,
        "slope": traction_checks,
    }
    return checks[config.experiment](config) if config.experiment in checks else []


def _jog_checks(config: UncheckedConfig) -> list[Problem]:
    jog, wheels, valves = config.jog, config.layout.wheels, config.layout.valves
    limit_mps = config.limits.wheel_speed_radps * config.rover.wheel_radius_m
    problems = []
    if jog.valve:
        if jog.wheels:
            problems.append(Problem("jog.wheels", ", ".join(jog.wheels), "none with jog.valve: the wheels are cut"))
        if jog.valve not in valves:
            problems.append(Problem("jog.valve", jog.valve, f"one of {', '.join(valves) or 'none: it has no valves'}"))
        return problems
    names = ", ".join((*wheels, "all"))
    unknown = [wheel for wheel in jog.wheels if wheel not in (*wheels, "all")]
    problems += [Problem("jog.wheels", wheel, f"one of {names}") for wheel in unknown]
    if not jog.wheels:
        allowed = f"one or more of {names}, or a valve as jog.valve"
        problems.append(Problem("jog.wheels", "none", allowed, ("jog.valve",)))
    if not 0.0 < abs(jog.speed_mps) <= limit_mps:
        allowed = f"up to {limit_mps:.3g} m/s either way (limits.wheel_speed_radps at the rim), and not 0"
        problems.append(Problem("jog.speed_mps", f"{jog.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",)))
    return problems


def _drive_checks(config: UncheckedConfig) -> list[Problem]:
    limit_mps = config.limits.wheel_speed_radps * config.wheel_radius_m
    problems = [] if config.drive.steps else [Problem("drive.steps", "none", "one or more")]
    for number, step in enumerate(config.drive.steps):
        fastest = abs(step.speed_mps) + abs(step.turn_mps)
        if fastest > limit_mps:
            allowed = f"with turn_mps at most {limit_mps:.3g} m/s (limits.wheel_speed_radps at the rim)"
            found = f"{step.speed_mps:g} and {step.turn_mps:g} m/s"
            problems.append(Problem(f"drive.steps.{number}.speed_mps", found, allowed, ("limits.wheel_speed_radps",)))
    return problems


def _release_checks(config: UncheckedConfig) -> list[Problem]:
    trial, problems = config.trial, []
    if trial.release == "operator" and config.rig == "real":
        allowed = "automatic or timed with rig: real; a reaction time is drawn only for a simulated rig"
        problems.append(Problem("trial.release", "operator", allowed, ("rig",)))
    if trial.release == "timed" and trial.drive_time_s <= trial.ramp_s:
        allowed = f"above {trial.ramp_s:g}, trial.ramp_s, with trial.release timed"
        problems.append(
            Problem("trial.drive_time_s", f"{trial.drive_time_s:g}", allowed, ("trial.ramp_s", "trial.release"))
        )
    if trial.destress_m > 0.0:
        # amplitude of the speed's sine over its period (hil.experiments.impact.experiment.destress_s)
        fastest = 0.5 * (0.5 * math.pi * trial.speed_mps) ** 2 / (trial.destress_m * config.wheel_radius_m)
        if fastest > config.limits.wheel_acceleration_radps2:
            least_m = trial.destress_m * fastest / config.limits.wheel_acceleration_radps2
            depends_on = ("trial.speed_mps", "limits.wheel_acceleration_radps2")
            problems.append(
                Problem(
                    "trial.destress_m",
                    f"{trial.destress_m:g}",
                    f"0, or at least {least_m:.3g} by limits.wheel_acceleration_radps2",
                    depends_on,
                )
            )
    return problems


def _trial_checks(config: UncheckedConfig) -> list[Problem]:
    """Values of the trial that are each allowed but not together."""
    trial, limits, radius = config.trial, config.limits, config.wheel_radius_m
    needed_s = trial.start_distance_m / trial.speed_mps + 0.5 * trial.ramp_s
    ramp_m = 0.5 * trial.speed_mps * trial.ramp_s
    wheel_speed = trial.speed_mps / radius
    problems = []
    if config.daq is None:
        problems.append(Problem("daq", "null", "a section: force sensors detect the impact", ("experiment",)))
    problems += _release_checks(config)
    if trial.timeout_s <= needed_s:
        problems.append(
            Problem(
                "trial.timeout_s",
                f"{trial.timeout_s:g}",
                f"above {needed_s:.4g}, the time trial.start_distance_m takes at trial.speed_mps",
                ("trial.start_distance_m", "trial.speed_mps", "trial.ramp_s"),
            )
        )
    if ramp_m >= trial.start_distance_m:
        problems.append(
            Problem(
                "trial.ramp_s",
                f"{trial.ramp_s:g}",
                f"below {2 * trial.start_distance_m / trial.speed_mps:.4g}, or the rover hits before its full speed",
                ("trial.start_distance_m", "trial.speed_mps"),
            )
        )
    if wheel_speed > SLIP_MARGIN * limits.wheel_speed_radps:
        problems.append(
            Problem(
                "trial.speed_mps",
                f"{trial.speed_mps:g}",
                f"at most {SLIP_MARGIN * limits.wheel_speed_radps * radius:.4g}, {SLIP_MARGIN:g} of "
                f"limits.wheel_speed_radps times {radius:g} m, because wheels turn faster than they roll",
                ("limits.wheel_speed_radps",),
            )
        )
    shortest_s = wheel_speed / (SLIP_MARGIN * limits.wheel_acceleration_radps2)
    if trial.ramp_s < shortest_s:
        problems.append(
            Problem(
                "trial.ramp_s",
                f"{trial.ramp_s:g}",
                f"at least {shortest_s:.4g}, by {SLIP_MARGIN:g} of limits.wheel_acceleration_radps2",
                ("trial.speed_mps", "limits.wheel_acceleration_radps2"),
            )
        )
    if trial.settle_s < config.record.after_s:
        problems.append(
            Problem(
                "trial.settle_s",
                f"{trial.settle_s:g}",
                f"at least {config.record.after_s:g}, record.after_s",
                ("record.after_s",),
            )
        )
    return problems
