"""Peak, impulse and onset recovered from noisy samples against the simulated rig's true load, over 200 trials.

Run: python docs/figures/sensing_accuracy.py [--trials 200] [--first-seed 350000] [--set KEY=VALUE ...]
(about 3 minutes; prints the tables of docs/explanation/sensing.md)

Each trial has another seed: masses, soil, legs, sensitivities (0.5 %), start and noise differ, and so does each
channel's time constant of the AC coupling (1 %), which the analysis does not know. Angles 40 to 90 degrees, soil and
firm ground in turn; every other six with grousers, set at random. Bumpers have no part in it. Whoever changes the
analysis or a rule after a look at the trials takes other seeds for the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from outputs import parsed, parser_of
from scipy.signal import filtfilt, iirnotch

from hil.app.run import run
from hil.config import load_config
from hil.experiments.impact.sensing import sensor_channels
from hil.experiments.truth_events import RecordedTruth
from hil.signals.impact import MeasuredImpact, Quantity, measure_impact
from hil.signals.uncertainty import half_width

PAGE = "docs/explanation/sensing.md"
AT_LEAST = ("first_hit", "sensor_dead")  # their limit is a lower one
QUICK = (
    "trial.start_distance_m=0.1",
    "trial.settle_s=1.2",
    "record.after_s=1.0",
    "telemetry.endpoint=''",
    "plant.spread.droop=0.01",
)
NOTCHES_HZ, NOTCH_QUALITY = (20.0, 50.0), 3.0


class Error(NamedTuple):
    """One recovered quantity of one trial: value less truth, stated 95 % half-width, truth."""

    error: float
    u95: float
    ground_truth: float


class Trial(NamedTuple):
    """One trial: errors by name of the quantity, what each rule found, and why the trial does not count."""

    errors: dict[str, Error]
    quality: list[dict[str, Any]]
    reasons: list[str]
    notch: float


def trial(number: int, first_seed: int, settings: Sequence[str] = ()) -> Trial:
    """Run and measure one of the trials."""
    random = np.random.default_rng([first_seed, number])
    ground = "soil" if number % 2 else "firm"
    given = [*QUICK, f"trial.angle_deg={40 + 10 * (number % 6)}", f"ground.kind={ground}"]
    if number // 6 % 2:
        given += ["wheel.grousers=22", f"wheel.grouser_offset_deg={random.uniform(-8.0, 8.0):.3f}"]
    config = load_config("sim_impact", [*given, *settings], seed=first_seed + number)
    result = run(config)
    summary, truth = result.summary, RecordedTruth(result.events).plate
    assert result.samples is not None
    assert truth is not None
    impact_ns = round(summary["impact_time_s"] * 1e9)
    found = measure_impact(*result.samples, impact_ns, sensor_channels(config))
    assert found is not None

    def of(quantity: Quantity | None, true: float, reported: float | None = None) -> Error:
        if quantity is None:
            return Error(np.nan, np.nan, true)
        value = quantity.value if reported is None else reported
        return Error(value - true, half_width(quantity.standard, value - quantity.value), true)

    errors = {
        "onset [s]": of(found.onset_s, truth.onset_s),
        "filtered peak [N]": of(found.peak_N, truth.peak_N),
        "peak, vibration left in [N]": of(found.peak_N, truth.peak_N, summary["peak_force_N"]),
        "sum of peaks, vibration left in [N]": of(
            found.sum_of_peaks_N, truth.sum_of_peaks_N, summary["sum_of_peaks_N"]
        ),
        "impulse [N s]": of(found.impulse_Ns, truth.impulse_Ns),
        "duration [s]": of(found.duration_s, truth.end_s - truth.onset_s),
    }
    return Trial(errors, list(summary["quality"]), list(summary["reasons"]), notched_peak(found) / truth.peak_N - 1.0)


def notched_peak(found: MeasuredImpact) -> float:
    """Peak [N] after band-stops at the two frequencies of the thesis (MacMahon 2016, 6.2.7), forward and backward."""
    force = found.traces.corrected.sum(axis=1)
    for hz in NOTCHES_HZ:
        force = filtfilt(*iirnotch(hz, NOTCH_QUALITY, 1.0 / found.traces.spacing_s), force)
    return float(force.max())


def row(errors: list[Error]) -> tuple[int, float, float, float, float]:
    """How many there are, bias, spread, median half-width, and share of trials within the stated interval."""
    known = np.array([one for one in errors if np.isfinite(one.error)])
    error, u95 = known[:, 0], known[:, 1]
    return len(known), error.mean(), error.std(ddof=1), float(np.median(u95)), float((np.abs(error) <= u95).mean())


def share(one: Error) -> float:
    """An error over the truth."""
    return one.error / one.ground_truth


def main() -> None:
    """Run the trials and print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=350000)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    asked, out = parsed(parser)
    numbers = range(2 if out.quick else asked.trials)
    trials = [trial(number, asked.first_seed, asked.settings) for number in numbers]
    lines = []
    for name in trials[0].errors:
        count, *found, covered = row([one.errors[name] for one in trials])
        unit, scale = ("ms", 1e3) if name.endswith("[s]") else (name.partition("[")[2].rstrip("]"), 1.0)
        bias, spread, u95 = (scale * one for one in found)
        quantity = name.partition(" [")[0]
        cells = (f"{bias:+.2g} {unit}", f"{spread:.2g} {unit}", f"{u95:.2g} {unit}", f"{100 * covered:.1f} %")
        lines.append([quantity, f"{count}", *cells])
    head = ("quantity", "trials", "bias", "spread", "stated half-width, median", "within it")
    out.table(PAGE, "sensing accuracy", head, lines)
    shares = {
        "notches at 20 and 50 Hz": [one.notch for one in trials],
        "ring left in": [share(one.errors["peak, vibration left in [N]"]) for one in trials],
        "ring inverted": [share(one.errors["filtered peak [N]"]) for one in trials],
    }
    for name, found in shares.items():
        mean, deviation = np.mean(found), np.std(found, ddof=1)
        print(f"peak, {name}: {mean:+.2%}, {min(found):+.1%} to {max(found):+.1%}, standard deviation {deviation:.2%}")
    for name in ("filtered peak [N]", "impulse [N s]"):
        print(f"true {name}, mean: {np.mean([one.errors[name].ground_truth for one in trials]):.3g}")
    lines = []
    for name in (verdict["rule"] for verdict in trials[0].quality):
        rows = [verdict for one in trials for verdict in one.quality if verdict["rule"] == name]
        values = [verdict["value"] for verdict in rows if verdict["value"] is not None]
        if not values:  # a rule that these sensors have no value for
            continue
        low, middle, high = np.percentile(values, (0, 50, 100))
        refused = sum(verdict["ok"] is False for verdict in rows)
        limit = f"{'at least ' if name in AT_LEAST else ''}{rows[0]['limit']:g}"
        lines.append([f"`{name}`", limit, f"{low:.2g}", f"{middle:.2g}", f"{high:.2g}", f"{refused}"])
    head = ("rule", "limit", "least", "median", "largest", f"refused of {len(trials)}")
    out.table(PAGE, "rules on good trials", head, lines)
    dropped = [one.reasons for one in trials if one.reasons]
    print(f"{len(dropped)} of {len(trials)} trials not accepted: {dropped}")


if __name__ == "__main__":
    main()
