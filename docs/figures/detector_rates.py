"""False triggers and misses of the impact detector over its threshold, on noise, hum, ring and vibration.

Run: python docs/figures/detector_rates.py    (about a minute; writes docs/images/detector_rates.png, prints the table)

The detector is the kernel of the loop itself (hil.estimation.channels). It is fed with samples of the simulated rig's
own three sensors (models.sensors) with `plant.vibration` set: no load while the wheels turn, and half-sine impacts of
several peaks on the middle of the plate.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from outputs import outputs

from hil.config import Config, load_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.estimation.channels import IMPACT_NS, NEVER, Channels, digest, make_channel_state
from hil.estimation.estimator import channel_parameters
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray, kernel
from models.sensors.disturbance import SensorDisturbances, disturb
from models.sensors.piezo import TRIANGLE, Piezo, PiezoState, make_piezo_state, sample

THRESHOLDS_N = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
TRIALS, RUN_UP_S, IMPACT_S, START_S = 60, 4.0, 0.1, 0.21
# Without a load: plant.vibration.
RUN_UPS = {
    "noise alone": (),
    "run-up, 0.3 N rms a sensor": ("run_up_N=0.3",),
    "run-up, 1 N rms a sensor": ("run_up_N=1",),
    "footsteps, 1 N a sensor": ("footsteps_N=1",),
    "mains, 5 mV a channel": ("mains_V=0.005",),
}
PEAKS_N = (5.0, 15.0, 40.0)
Floats = NDArray[np.float64]
CONFIG = load_config("sim_impact")


def detected(volts: Floats, threshold_N: float) -> bool:
    """Whether the detector of sim_impact triggers on readings (n, 3) [V], after it was zeroed on their first 0.2 s."""
    assert CONFIG.daq is not None
    parameters = channel_parameters(Rig(CONFIG))._replace(threshold=threshold_N)
    state = make_channel_state(3)
    bound = BoundArguments(Channels(parameters, state, np.full(2, np.nan)))
    t_ns = np.arange(len(volts), dtype=np.int64) * 1_000_000_000 // CONFIG.daq.rate_hz
    digest(bound, t_ns, volts)
    return bool(state.whole[IMPACT_NS] != NEVER)


@kernel
def take(
    piezo: Piezo,
    state: PiezoState,
    disturbance: SensorDisturbances,
    force: FloatArray,
    axle: FloatArray,
    noise: FloatArray,
    dt: float,
    out: FloatArray,
) -> None:
    """Samples (n, 3) of a force (n,) [N] on the middle of the plate and a mean axle speed (n,) [rad/s]."""
    across, up = piezo.place[:, 0].mean(), piezo.place[:, 1].mean()
    for i in range(force.size):
        disturb(disturbance, i * dt, dt, axle[i], False, noise[i, 3:])
        sample(piezo, state, force[i], across, up, dt, noise[i], out[i], disturbance)


def samples(random: np.random.Generator, config: Config, seconds: float, peak_N: float = 0.0) -> Floats:
    """Readings of three sensors: at rest, then wheels that turn at the speed of the trial, at the end an impact."""
    assert config.daq is not None
    rate = config.daq.rate_hz
    count, width = round(seconds * rate), round(IMPACT_S * rate)
    plant = nominal_rig(config)
    assert plant.piezo is not None
    assert plant.disturbance is not None
    axle = np.full(count, config.trial.speed_mps / config.wheel_radius_m)
    axle[: round(START_S * rate)] = 0.0
    force = np.zeros(count)
    if peak_N:
        force[-2 * width : -width] = peak_N * np.sin(np.pi * np.arange(width) / width)
    out = np.zeros((count, TRIANGLE))
    noise = random.standard_normal((count, 2 * TRIANGLE))
    take(plant.piezo, make_piezo_state(), plant.disturbance.drawn(random), force, axle, noise, 1.0 / rate, out)
    return out


def vibrating(*keys: str) -> Config:
    """sim_impact with keys of plant.vibration; with none, a hum that is far below the noise."""
    return load_config("sim_impact", [f"plant.vibration.{key}" for key in keys or ("mains_V=1e-9",)])


def rates(trials: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """False triggers a trial by run-up, and misses by peak of the impact, over the thresholds."""
    random = np.random.default_rng(12)
    false: dict[str, Floats] = {}
    for name, keys in RUN_UPS.items():
        config = vibrating(*keys)
        made = [samples(random, config, RUN_UP_S) for _ in range(trials)]
        false[name] = np.array([np.mean([detected(one, level) for one in made]) for level in THRESHOLDS_N])
    missed: dict[str, Floats] = {}
    for peak in PEAKS_N:
        made = [samples(random, vibrating(), START_S + 3.0 * IMPACT_S, peak) for _ in range(trials // 3)]
        missed[f"impact of {peak:g} N"] = np.array(
            [1.0 - np.mean([detected(one, level) for one in made]) for level in THRESHOLDS_N]
        )
    return false, missed


def main() -> None:
    """Count, print the table, draw the figure."""
    out = outputs(__doc__)
    false, missed = rates(3 if out.quick else TRIALS)
    columns = {
        **{f"false: {name}": one for name, one in false.items()},
        **{f"missed: {k}": v for k, v in missed.items()},
    }
    rows = [
        [f"{level:g}", *(f"{one[place]:.2f}" for one in columns.values())] for place, level in enumerate(THRESHOLDS_N)
    ]
    out.table("docs/explanation/sensing.md", "detector rates", ["threshold [N]", *columns], rows)
    figure = Figure(figsize=(8, 5.2), layout="constrained")
    axes = figure.subplots()
    for marker, (name, one) in zip("osdPX", false.items(), strict=True):
        axes.plot(THRESHOLDS_N, one, f"{marker}-", label=f"false trigger in {RUN_UP_S:g} s: {name}")
    for marker, (name, one) in zip("^v<", missed.items(), strict=True):
        axes.plot(THRESHOLDS_N, one, f"{marker}--", label=f"missed: {name}")
    axes.axvline(CONFIG.detector.threshold_N, color="0.5", lw=1.0, ls=":", label="detector.threshold_N of sim_impact")
    axes.set(xscale="log", xlabel="threshold on the sum of the sensors [N]", ylabel="share of the trials")
    axes.set_xticks(THRESHOLDS_N, [f"{level:g}" for level in THRESHOLDS_N])
    axes.grid(visible=True, alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)
    out.picture(figure, "detector_rates.png")


if __name__ == "__main__":
    main()
