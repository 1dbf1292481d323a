"""False triggers and misses of the impact detector over its threshold, on noise, ring and vibration of the run-up.

Run: python docs/figures/detector_rates.py    (about two minutes; writes docs/images/detector_rates.png, prints the
table)

The detector is the kernel of the loop itself (hil.estimation.channels), fed with made-up samples of three sensors:
noise alone, noise with the vibration of a run-up on soft and on hard ground, and half-sine impacts of several peaks
that set off the shield's ring.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.signal import lfilter

from hil.config import load_config
from hil.estimation.channels import IMPACT_NS, NEVER, Channels, digest, make_channel_state
from hil.estimation.estimator import channel_parameters
from models.kernels.bound import BoundArguments

THRESHOLDS_N = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0)
TRIALS, RUN_UP_S, IMPACT_S, START_S = 60, 4.0, 0.1, 0.21
NOISE_N = 0.0445  # of each sensor
# Vibration of a run-up: rms of each sensor [N], centre [Hz] and quality of its band.
RUN_UPS = {"noise alone": 0.0, "run-up, 0.3 N rms a sensor": 0.3, "run-up, 1 N rms a sensor": 1.0}
VIBRATION_HZ, VIBRATION_QUALITY = 30.0, 3.0
PEAKS_N = (5.0, 15.0, 40.0)
OUT = Path(__file__).parent.parent / "images" / "detector_rates.png"
Floats = NDArray[np.float64]
CONFIG = load_config("sim_impact")


def detected(forces: Floats, threshold_N: float) -> bool:
    """Whether the detector of sim_impact triggers on forces (n, 3) [N], after it was zeroed on their first 0.2 s."""
    assert CONFIG.daq is not None
    parameters = channel_parameters(CONFIG)._replace(threshold=threshold_N)
    state = make_channel_state(3)
    bound = BoundArguments(Channels(parameters, state, np.full(2, np.nan)))
    t_ns = np.arange(len(forces), dtype=np.int64) * 1_000_000_000 // CONFIG.daq.rate_hz
    digest(bound, t_ns, forces / parameters.newton_per_volt)
    return bool(state.whole[IMPACT_NS] != NEVER)


def samples(random: np.random.Generator, seconds: float, vibration_N: float, peak_N: float = 0.0) -> Floats:
    """Forces of three sensors: noise, the vibration of a run-up, and at its end an impact with the shield's ring."""
    assert CONFIG.daq is not None
    rate = CONFIG.daq.rate_hz
    count = round(seconds * rate)
    forces = NOISE_N * random.standard_normal((count, 3))
    if vibration_N:
        pole = np.exp((-0.5 / VIBRATION_QUALITY + 1j) * 2.0 * np.pi * VIBRATION_HZ / rate)
        band = lfilter([1.0], np.poly([pole, pole.conjugate()]).real, random.standard_normal((count, 3)), axis=0)
        standing = round(START_S * rate)
        band *= vibration_N / band[standing:].std()
        band[:standing] = 0.0
        forces += band
    if peak_N:
        width = round(IMPACT_S * rate)
        pulse = np.zeros(count)
        pulse[-2 * width : -width] = peak_N * np.sin(np.pi * np.arange(width) / width)
        w = 2.0 * np.pi * CONFIG.daq.ring_hz / rate
        shield = lfilter(
            [w * w],
            [1.0, 2.0 * CONFIG.daq.ring_damping * w - 2.0, 1.0 - 2.0 * CONFIG.daq.ring_damping * w + w * w],
            pulse,
        )
        forces += np.outer(pulse + CONFIG.daq.ring_share * (shield - pulse), (0.5, 0.25, 0.25))
    return forces


def rates() -> tuple[dict[str, Floats], dict[str, Floats]]:
    """False triggers a trial by run-up, and misses by peak of the impact, over the thresholds."""
    random = np.random.default_rng(12)
    false: dict[str, Floats] = {}
    for name, vibration in RUN_UPS.items():
        made = [samples(random, RUN_UP_S, vibration) for _ in range(TRIALS)]
        false[name] = np.array([np.mean([detected(one, level) for one in made]) for level in THRESHOLDS_N])
    missed: dict[str, Floats] = {}
    for peak in PEAKS_N:
        made = [samples(random, START_S + 3.0 * IMPACT_S, 0.0, peak) for _ in range(TRIALS // 3)]
        missed[f"impact of {peak:g} N"] = np.array(
            [1.0 - np.mean([detected(one, level) for one in made]) for level in THRESHOLDS_N]
        )
    return false, missed


def main() -> None:
    """Count, print the table, draw the figure."""
    false, missed = rates()
    columns = {
        **{f"false: {name}": one for name, one in false.items()},
        **{f"missed: {k}": v for k, v in missed.items()},
    }
    print("| threshold [N] | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for place, level in enumerate(THRESHOLDS_N):
        print(f"| {level:g} | " + " | ".join(f"{one[place]:.2f}" for one in columns.values()) + " |")
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for marker, (name, one) in zip("osd", false.items(), strict=True):
        axes.plot(THRESHOLDS_N, one, f"{marker}-", label=f"false trigger in {RUN_UP_S:g} s: {name}")
    for marker, (name, one) in zip("^v<", missed.items(), strict=True):
        axes.plot(THRESHOLDS_N, one, f"{marker}--", label=f"missed: {name}")
    axes.axvline(CONFIG.detector.threshold_N, color="0.5", lw=1.0, ls=":", label="detector.threshold_N of sim_impact")
    axes.set(xscale="log", xlabel="threshold on the sum of the sensors [N]", ylabel="share of the trials")
    axes.set_xticks(THRESHOLDS_N, [f"{level:g}" for level in THRESHOLDS_N])
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
