"""Peak, impulse and onset recovered from noisy samples against the simulated rig's true load, on soft and stiff plates.

Run: python docs/figures/sensing_accuracy.py [--trials 80] [--first-seed 370000] [--only NAME] [--set KEY=VALUE ...]
(about 10 minutes; prints the tables of docs/explanation/sensing.md)

Each trial has another seed: masses, soil, legs, sensitivities (0.5 %), start and noise differ, and so does each
channel's time constant of the AC coupling (1 %), which the analysis does not know. Angles 40 to 90 degrees, soil and
firm ground in turn; every other six with grousers, set at random. Where the ring is unknown, that of the shield is
drawn for each trial and the analysis is told the default. Bumpers have no part in it. Whoever changes the analysis or a
rule after a look at the trials takes other seeds for the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from outputs import Outputs, parsed, parser_of
from scipy.signal import filtfilt, iirnotch

from hil.app.run import run
from hil.config import load_config
from hil.experiments.impact.sensing import sensor_channels
from hil.signals.impact import MeasuredImpact, UncertainValue, measure_impact
from hil.signals.traces import half_width
from hil.simulator.ground_truth import GroundTruth

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
PEAK, PEAK_LEFT_IN = "`peak_force_N` [N]", "`corrected_peak_force_N` [N]"


class Plate(NamedTuple):
    """What the front wheels hit.

    Attributes:
        settings: of the config. A stiff plate gets a slow impact, so that no sensor comes to the end of its range.
        ring_known: the analysis is told how the shield rings.
    """

    settings: tuple[str, ...]
    ring_known: bool


UNCHECKED = "limits.sensor_force_N=null"
PLATES = {
    "soft": Plate((), ring_known=True),
    "soft, ring unknown": Plate((), ring_known=False),
    "stiff, ring unknown": Plate(("obstacle.leg_stiffness_Npm=1e6", "trial.speed_mps=0.04", UNCHECKED), False),
    "hard, ring unknown": Plate(("obstacle.leg_stiffness_Npm=3e7", "trial.speed_mps=0.01", UNCHECKED), False),
}


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


def trial(number: int, first_seed: int, settings: Sequence[str] = (), *, ring_known: bool = True) -> Trial:
    """Run and measure one of the trials."""
    random = np.random.default_rng([first_seed, number])
    ground = "soil" if number % 2 else "firm"
    given = [*QUICK, f"trial.angle_deg={40 + 10 * (number % 6)}", f"ground.kind={ground}"]
    if number // 6 % 2:
        given += ["wheel.grousers=22", f"wheel.grouser_offset_deg={random.uniform(-8.0, 8.0):.3f}"]
    stated = sensor_channels(load_config("sim_impact")).ring
    if not ring_known:
        hz, damping, share = (random.uniform(*limits) for limits in ((12.0, 35.0), (0.02, 0.1), (0.0, 0.2)))
        given += [f"daq.ring_hz={hz:.4f}", f"daq.ring_damping={damping:.4f}", f"daq.ring_share={share:.4f}"]
    config = load_config("sim_impact", [*given, *settings], seed=first_seed + number)
    result = run(config)
    summary, truth = result.summary, GroundTruth.recorded(result.events).plate
    assert result.samples is not None
    assert truth is not None
    impact_ns = round(summary["impact_time_s"] * 1e9)
    found = measure_impact(*result.samples, impact_ns, sensor_channels(config)._replace(ring=stated))
    assert found is not None

    def of(quantity: UncertainValue | None, true: float, reported: float | None = None) -> Error:
        if quantity is None:
            return Error(np.nan, np.nan, true)
        value = quantity.value if reported is None else reported
        return Error(value - true, half_width(quantity.standard, value - quantity.value), true)

    sums = found.sum_of_peaks_N, truth.sum_of_peaks_N
    errors = {
        "onset [s]": of(found.onset_s, truth.onset_s),
        PEAK: of(found.peak_N, truth.peak_N),
        PEAK_LEFT_IN: of(found.peak_N, truth.peak_N, summary["corrected_peak_force_N"]),
        "`sum_of_peaks_N` [N]": of(*sums),
        "`corrected_sum_of_peaks_N` [N]": of(*sums, summary["corrected_sum_of_peaks_N"]),
        "`impulse_Ns` [N s]": of(found.impulse_Ns, truth.impulse_Ns),
        "`force_duration_s` [s]": of(found.duration_s, truth.end_s - truth.onset_s),
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
    parser.add_argument("--trials", type=int, default=80)
    parser.add_argument("--first-seed", type=int, default=370000)
    parser.add_argument("--only", choices=list(PLATES), help="one of the plates")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    asked, out = parsed(parser)
    numbers = range(2 if out.quick else asked.trials)
    peaks = []
    for name, plate in PLATES.items():
        if asked.only in (None, name):
            settings = [*plate.settings, *asked.settings]
            trials = [trial(number, asked.first_seed, settings, ring_known=plate.ring_known) for number in numbers]
            print(f"\n{name}")
            write_accuracy(out, name, trials)
            if plate.ring_known:
                write_rules(out, trials)
            peaks.append(peaks_row(name, trials))
    of_each = ("mean", "rms", "range", "within its interval")
    errors = [f"{of}: {one}" for of in ("readings", "without vibration") for one in of_each]
    out.table(PAGE, "leading peak", ("legs and plate [N/m]", "contact, median", "trials", *errors), peaks)


def peaks_row(plate: str, trials: Sequence[Trial]) -> list[str]:
    """Errors of both peaks as shares of the truth."""
    stiffness = next((one.partition("=")[2] for one in PLATES[plate].settings if "stiffness" in one), "5.5e4")
    contact_ms = 1e3 * np.median([one.errors["`force_duration_s` [s]"].ground_truth for one in trials])
    _, comma, ring = plate.partition(",")
    cells = [f"{stiffness}{comma}{ring}", f"{contact_ms:.0f} ms", f"{len(trials)}"]
    for name in (PEAK_LEFT_IN, PEAK):
        errors = [one.errors[name] for one in trials]
        found = np.array([share(one) for one in errors])
        rms, covered = float(np.sqrt(np.mean(found**2))), row(errors)[-1]
        cells += [f"{found.mean():+.2%}", f"{rms:.2%}", f"{found.min():+.1%} to {found.max():+.1%}", f"{covered:.0%}"]
    return cells


def write_accuracy(out: Outputs, plate: str, trials: Sequence[Trial]) -> None:
    """Errors of each quantity, and of the peak as a share of the truth."""
    lines = []
    for name in trials[0].errors:
        count, *found, covered = row([one.errors[name] for one in trials])
        unit, scale = ("ms", 1e3) if name.endswith("[s]") else (name.partition("[")[2].rstrip("]"), 1.0)
        bias, spread, u95 = (scale * one for one in found)
        quantity = name.partition(" [")[0]
        cells = (f"{bias:+.2g} {unit}", f"{spread:.2g} {unit}", f"{u95:.2g} {unit}", f"{100 * covered:.1f} %")
        lines.append([quantity, f"{count}", *cells])
    head = ("quantity", "trials", "bias", "spread", "stated half-width, median", "within it")
    if plate == "soft":
        out.table(PAGE, "sensing accuracy", head, lines)
    else:  # the page has its peaks only
        print("\n".join(" | ".join(cells) for cells in (head, *lines)))
    found = [one.notch for one in trials]
    print(f"peak, notches at 20 and 50 Hz: {np.mean(found):+.2%}, {np.min(found):+.1%} to {np.max(found):+.1%}")
    nearer = np.mean([abs(one.errors[PEAK].error) < abs(one.errors[PEAK_LEFT_IN].error) for one in trials])
    print(f"ring inverted is the nearer one in {nearer:.0%}")
    for name in (PEAK, "`impulse_Ns` [N s]", "`force_duration_s` [s]"):
        print(f"true {name}, median: {np.median([one.errors[name].ground_truth for one in trials]):.3g}")


def write_rules(out: Outputs, trials: Sequence[Trial]) -> None:
    """What each rule found."""
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
