"""Results of a run with controlled wheel loads, segment by segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.config.rig import Rig, best_state, steady_drive
from hil.config.schema.normal_force import NormalForceConfig
from hil.control.load_state import doubt_names
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.drive import DRIVE
from hil.experiments.summary import finite
from hil.experiments.summary_table import WHEELS, SummaryKey, inner
from hil.messages.loads import LoadGoal, LoadMode, binding_names, load_goal, load_modes
from hil.messages.operator_input import SetLoads, command_of, is_command
from hil.recording.content import Recorded
from models.statics import spread_of, unevenness

Rows = NDArray[np.void]
FloatArray = NDArray[np.floating[Any]]


class Segment(NamedTuple):
    """A part of a run with one wanted distribution."""

    begin_s: float  #: time of the run [s]
    end_s: float  #: likewise
    goal: LoadGoal  #: wanted in it

    @property
    def half_s(self) -> float:
        """From here on its loads are averaged."""
        return 0.5 * (self.begin_s + self.end_s)


class Loads(NamedTuple):
    """Wheel loads over time, and where they are from."""

    source: str  #: ground_truth, sensors or twin
    t_s: FloatArray  #: (n,) end of what each row is the mean of, or its time [s]
    load_N: FloatArray  #: (n, wheels)
    torque_Nm: FloatArray  #: (n, cylinders)


def goal_of(command: SetLoads, wheels: Sequence[str], ground: str) -> LoadGoal:
    """The goal that an operator sets on a ground of that kind.

    Raises ValueError: it is none for this rover, or not on this ground: it changes nothing.
    """
    if LoadMode[command.mode.upper()] not in load_modes(ground):
        raise ValueError(
            f"mode: {command.mode} on {ground} ground, allowed: on soil, where the pull of a wheel is known"
        )
    return load_goal(command.mode, command.share, command.wheel, wheels)


def segments(
    section: NormalForceConfig, wheels: Sequence[str], ground: str, ticks: Recorded, events: Rows
) -> list[Segment]:
    """The steps of the config, cut where an operator changed the wanted loads; none of a run that never drove."""
    moving = ticks["t_ns"][ticks["state"] == DRIVE] * 1e-9
    if not moving.size:
        return []
    begin_s = float(moving[0])
    changes: list[tuple[float, LoadGoal]] = []
    for step in section.steps:
        changes.append((begin_s, load_goal(step.mode, step.share, step.wheel, wheels)))
        begin_s += step.for_s
    for event in events[[is_command(event) for event in events]]:
        command, t_s = command_of(event), float(event["t_ns"]) * 1e-9
        if isinstance(command, SetLoads) and moving[0] <= t_s <= moving[-1]:
            try:
                changes.append((t_s, goal_of(command, wheels, ground)))
            except ValueError:  # it changed nothing
                continue
    changes = sorted((change for change in changes if change[0] <= moving[-1]), key=lambda change: change[0])
    ends_s = [*(t_s for t_s, _ in changes[1:]), float(moving[-1])]
    return [Segment(t_s, end_s, goal) for (t_s, goal), end_s in zip(changes, ends_s, strict=True) if end_s > t_s]


def switched_on(parts: list[Segment]) -> int | None:
    """Number of the first part that is not passive; None: there is none."""
    return next((number for number, part in enumerate(parts) if part.goal.mode != LoadMode.PASSIVE), None)


def loads_of(ticks: Recorded, ground_truth: FloatArray | None) -> list[Loads]:
    """Wheel loads by all who know them, the best source first.

    Args:
        ticks: of the record.
        ground_truth: rows of `models.plant.load_history.LoadHistory`; None: of a real rig.
    """
    found, t_s, names = [], ticks["t_ns"] * 1e-9, ticks.dtype.names or ()
    wheels = ticks["normal_force_N"].shape[1]
    if ground_truth is not None and len(ground_truth):
        rows = ground_truth
        found.append(Loads("ground_truth", rows[:, 0], rows[:, 1 : 1 + wheels], rows[:, 1 + wheels :]))
    torque_Nm = ticks["cylinder_torque_Nm"]
    if "wheel_load_N" in names:
        found.append(Loads("sensors", t_s, ticks["wheel_load_N"], torque_Nm))
    return [*found, Loads("twin", t_s, ticks["normal_force_N"], torque_Nm)]


# Spread and step response are those of loads averaged over this time [s].
WINDOW_S = 0.5
# A spread so close to its best has settled.
BAND = 0.03
# A share has settled within this part of its step.
SHARE_BAND = 0.1

# In the order of the terminal.
RESULTS = (
    SummaryKey("normal_force", "`spread_before`, `spread_after`: standard deviation of the wheels' mean loads over "
        "their mean, over the second half of the last step before and of the first step with control. `spread_best`: "
        "the static optimum with the true loads, within the limits of the cylinders; null on a real rig. `settle_s`: "
        "from the start of that step until the spread over 0.5 s stays within 0.03 of the best (of `spread_after` on a "
        "real rig); null: it did not. `switchings_per_s`: of the valve that is switched on most often. `limits_met`: "
        "loads and torques were inside `normal_force`'s limits, and nothing made the controller let go",
        rows=inner(SummaryKey("spread_before, spread_after", "", "spread before, after", 3),
        SummaryKey("spread_best", "", "best spread these cylinders allow", 3),
        SummaryKey("settle_s", "", "settled after", 2, "s"),
        SummaryKey("switchings_per_s", "", "switchings of the busiest valve", 2, "1/s"),
        SummaryKey("limits_met", "", "limits met"))),
    SummaryKey("load_steps", "one a step of the config, and one more for each `SetLoads`: `mode`, `begin_s`, `end_s`; "
        "means over its second half of `load_N` and `torque_Nm`; `load_wanted_N`, the nearest possible distribution; "
        "`spread`, `spread_best`, and `spread_by` source; `settle_s` and `overshoot`, with mode uniform of the spread, "
        "else of the wheel whose load changes most (within 10 % of its change), both of means over 0.5 s; `limits` "
        "that kept it from its goal", rows=inner(SummaryKey("mode", "", "mode"),
        SummaryKey("load_N", "", "loads", 0, "N"),
        SummaryKey("load_wanted_N", "", "wanted", 0, "N", when="load_wanted_N"),
        SummaryKey("torque_Nm", "", "torques", 1, "N m"), SummaryKey("limits", "", "kept from its goal by"))),
    SummaryKey("load_error_N", "by source: how far its loads are from the true ones, rms over the steps by wheel; "
        "empty on a real rig", "error of the loads, rms", 1, "N"),
    SummaryKey("loads_from", "whose loads the other keys have: `ground_truth` of a simulated rig, `sensors`, or `twin`",
        "loads from"),
    SummaryKey("switchings", "how often each valve was switched on under control"),
    SummaryKey("doubts", "why the controller let go ([how "
        "to](../how-to/control-wheel-loads.md#failures))"),
    WHEELS,
    SummaryKey("cylinders", "names of the cylinders"),
)  # fmt: skip


def mean_between(t_s: FloatArray, values: FloatArray, begin_s: float, end_s: float) -> FloatArray | None:
    """Mean over time of values (n, k) in (begin, end]; None: there are none."""
    inside = values[(t_s > begin_s) & (t_s <= end_s)]
    return inside.mean(axis=0) if len(inside) else None


def running_mean(t_s: FloatArray, values: FloatArray, window_s: float = WINDOW_S) -> FloatArray:
    """At each time the mean of values (n, k) over the window that ends there, as far as there are values.

    Args:
        t_s: (n,) [s], rising.
        values: (n, k).
        window_s: length of the window [s].
    """
    first = np.searchsorted(t_s, t_s - window_s, side="right")
    sums = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    last = np.arange(1, len(t_s) + 1)
    return np.asarray((sums[last] - sums[first]) / (last - first)[:, None])


def settling_time(t_s: FloatArray, values: FloatArray, wanted: float, band: float) -> float | None:
    """When values (n,) came within the band of the wanted one for good: their first time [s] there; None: never."""
    outside = np.flatnonzero(~(np.abs(values - wanted) <= band))
    after = outside[-1] + 1 if outside.size else 0
    return float(t_s[after]) if after < len(t_s) else None


class _StepResponse(NamedTuple):
    """Answer of a quantity to a step."""

    #: from the step until it stays within SHARE_BAND of the step from its final value; None: never
    settle_s: float | None
    overshoot: float  #: how far it went beyond its final value, over the step


def step_response(t_s: FloatArray, values: FloatArray, before: float, final: float) -> _StepResponse | None:
    """How values (n,) from a step on at time 0 [s] went from `before` to `final`; None: there is no step."""
    step = final - before
    if step == 0.0 or not len(values):
        return None
    settle_s = settling_time(t_s, values, final, SHARE_BAND * abs(step))
    return _StepResponse(settle_s, max(float(((values - final) / step).max()), 0.0))


# A part's loads are means of its second half, so the best is that in the middle of this: at this share of the part.
_MIDDLE = 0.75


def best_spreads(rig: Rig, parts: Sequence[Segment], torque_Nm: Sequence[FloatArray | None]) -> list[float | None]:
    """The least spread that the cylinders of the simulated rig allow in each part of a run, within their limits.

    It is that of the steady states of the rig with its own masses, soil, slope and drawbar, tractions and slip solved
    for with the loads. On a slope a rover that is pulled on one side drifts off its heading: by the turning speed of
    its steady states so far.

    Args:
        rig: simulated.
        parts: of the run.
        torque_Nm: (cylinders,) true, mean of each part; None: the run has none, and no best is known from there on.

    Returns:
        None where the rig has no steady state, and on rigid ground.
    """
    heading, found = rig.simulated.veer.heading, list[float | None]()
    try:
        for part, torque in zip(parts, torque_Nm, strict=True):
            if torque is None:
                break
            drive = steady_drive(rig, rig.simulated, heading)
            by_joint = dict(zip(rig.layout.joints, torque.tolist(), strict=True))
            turning = drive.at([by_joint.get(joint, 0.0) for joint in drive.joint_names]).turning
            way = turning * (part.end_s - part.begin_s)
            best = best_state(rig, steady_drive(rig, rig.simulated, heading + _MIDDLE * way), unevenness)
            found.append(float(spread_of(best.load)))
            heading += way
    except (ValueError, RuntimeError):  # no ground with traction laws; no steady state
        pass
    return found + [None] * (len(parts) - len(found))


def normal_force_summary(run: FinishedRun) -> Summary:
    """Keys as docs/reference/summary.md lists them."""
    config = run.config
    parts = segments(config.normal_force, config.layout.wheels, config.ground.kind, run.ticks, run.events)
    known = loads_of(run.ticks, run.ground_truth.loads)
    best = _best(run, parts, known[0])
    steps = [_step(run, number, parts, known, best[number]) for number in range(len(parts))]
    driving = run.ticks[run.ticks["state"] == DRIVE]
    active = driving[driving["load_mode"] != LoadMode.PASSIVE]
    switched = _switchings(active, config.layout.chambers)
    doubts = sorted({name for bits in np.unique(driving["load_limits"]).tolist() for name in doubt_names(bits)})
    on = switched_on(parts)
    before = steps[on - 1]["spread"] if on else None
    after = steps[on] if on is not None else {}
    active_s = len(active) / config.loop.rate_hz
    per_s = max(switched.values(), default=0) / active_s if active_s else None
    limits_met = not doubts and _limits_met(run, parts, known[0], active)
    reasons = run.experiment.reasons(run.cycle.safety, run.disturbance)
    reasons += [f"the load control let go: {name.replace('_', ' ')}" for name in doubts]
    if not limits_met and not doubts:
        reasons.append("a wheel's load or a torque was outside its limits (normal_force)")
    return {
        "wheels": list(config.layout.wheels),
        "cylinders": list(config.layout.cylinders),
        "loads_from": known[0].source,
        "normal_force": {
            "spread_before": before,
            "spread_after": after.get("spread"),
            "spread_best": after.get("spread_best"),
            "settle_s": after.get("settle_s"),
            "switchings_per_s": per_s,
            "limits_met": limits_met,
        },
        "load_steps": steps,
        "load_error_N": _errors(parts, known),
        "switchings": switched,
        "doubts": doubts,
        "accepted": run.experiment.done and not reasons,
        "reasons": reasons,
    }


def _best(run: FinishedRun, parts: Sequence[Segment], loads: Loads) -> list[float | None]:
    """The best spread of each part; it is known of a simulated rig."""
    if loads.source != "ground_truth":
        return [None] * len(parts)
    return best_spreads(
        run.rig, parts, [mean_between(loads.t_s, loads.torque_Nm, part.begin_s, part.end_s) for part in parts]
    )


def _step(
    run: FinishedRun, number: int, parts: Sequence[Segment], known: Sequence[Loads], best: float | None
) -> dict[str, Any]:
    """Of one part: wanted and mean loads over its second half, spreads, and how soon they were reached."""
    part, best_source = parts[number], known[0]
    means = {one.source: mean_between(one.t_s, one.load_N, part.half_s, part.end_s) for one in known}
    torque_Nm = mean_between(best_source.t_s, best_source.torque_Nm, part.half_s, part.end_s)
    at_end = run.ticks[run.ticks["t_ns"] * 1e-9 < part.end_s][-1]
    load_N = means[best_source.source]
    settle_s, overshoot = _reached(part, parts[:number], best_source, best)
    return {
        "mode": LoadMode(part.goal.mode).name.lower(),
        "begin_s": part.begin_s,
        "end_s": part.end_s,
        "load_N": _listed(load_N),
        "load_wanted_N": _listed(at_end["load_wanted_N"]) if part.goal.mode else None,
        "torque_Nm": _listed(torque_Nm),
        "spread": None if load_N is None else finite(float(spread_of(load_N))),
        "spread_best": best,
        "spread_by": {name: None if one is None else finite(float(spread_of(one))) for name, one in means.items()},
        "settle_s": settle_s,
        "overshoot": overshoot,
        "limits": list(binding_names(int(at_end["load_limits"]))),
    }


def _reached(
    part: Segment, earlier: Sequence[Segment], loads: Loads, best: float | None
) -> tuple[float | None, float | None]:
    """When the wanted loads were reached [s], and by how much a share overshot: of the wheel that changes most."""
    inside = (loads.t_s > part.begin_s) & (loads.t_s <= part.end_s)
    t_s = loads.t_s[inside] - part.begin_s
    final = mean_between(loads.t_s, loads.load_N, part.half_s, part.end_s)
    if part.goal.mode == LoadMode.PASSIVE or final is None:
        return None, None
    if part.goal.mode == LoadMode.UNIFORM:
        spreads = spread_of(running_mean(t_s, loads.load_N[inside]))
        return settling_time(t_s, spreads, float(spread_of(final)) if best is None else best, BAND), None
    before = mean_between(loads.t_s, loads.load_N, earlier[-1].half_s, earlier[-1].end_s) if earlier else None
    if before is None:
        return None, None
    wheel = int(np.abs(final - before).argmax())
    found = step_response(
        t_s, running_mean(t_s, loads.load_N[inside])[:, wheel], float(before[wheel]), float(final[wheel])
    )
    return (found.settle_s, found.overshoot) if found else (None, None)


def _switchings(active: Rows, chambers: Sequence[str]) -> dict[str, int]:
    """How many times each valve was switched on while loads were controlled."""
    on = active["valves"].reshape(len(active), len(chambers)).astype(int)
    counts = (np.diff(on, axis=0, prepend=0) > 0).sum(axis=0) if len(active) else np.zeros(len(chambers), int)
    return dict(zip(chambers, counts.tolist(), strict=True))


def _limits_met(run: FinishedRun, parts: Sequence[Segment], loads: Loads, active: Rows) -> bool:
    """Whether loads and torques were inside their limits while loads were controlled."""
    wanted, on = run.config.normal_force, switched_on(list(parts))
    if on is None:
        return True
    inside = loads.load_N[(loads.t_s > parts[on].begin_s) & (loads.t_s <= parts[-1].end_s)]
    most_N = np.inf if wanted.most_load_N is None else wanted.most_load_N
    loads_met = not inside.size or bool(inside.min() >= wanted.least_load_N and inside.max() <= most_N)
    # a rounding error is no excess
    return loads_met and bool((np.abs(active["torque_wanted_Nm"]) <= wanted.torque_limit_Nm * (1.0 + 1e-9)).all())


def _errors(parts: Sequence[Segment], known: Sequence[Loads]) -> dict[str, Any]:
    """How far estimated and measured loads are from the truth: means over each part's second half; rms by wheel."""
    if known[0].source != "ground_truth" or not parts:
        return {}
    means = {
        one.source: [mean_between(one.t_s, one.load_N, part.half_s, part.end_s) for part in parts] for one in known
    }
    errors = {}
    for name, values in means.items():
        pairs = zip(values, means["ground_truth"], strict=True)
        apart = [found - true for found, true in pairs if found is not None and true is not None]
        if name != "ground_truth" and apart:
            errors[name] = _listed(np.sqrt(np.mean(np.square(apart), axis=0)))
    return errors


def _listed(values: FloatArray | None) -> list[float | None] | None:
    return None if values is None else [finite(float(value)) for value in values]
