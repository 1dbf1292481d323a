"""What the force sensors show: fig. 6-8, and the 181, 276 and 310 N of three trials at 90 degrees (6.2.7)."""

from __future__ import annotations

import numpy as np
from campaigns import QUIET, summaries
from trials import STUDY, Row, Section, new_figure, parameters

from hil.app.run import run
from hil.config import load_config

PITCH_DEG = 360.0 / 22.0  # of the thesis's grousers
MEAN_HZ = 3000  # the wheel meets no shorter force than this


def ideal_sensors() -> Section:
    """Fig. 6-8: a smooth wheel, sensors without noise, droop and ring."""
    given = parameters()["ideal_sensors"]
    config = load_config(parameters()["config"], [QUIET, *(f"{key}={value}" for key, value in given["set"].items())])
    result = run(config)
    assert result.samples is not None
    assert config.daq is not None
    t_ns, volts = result.samples
    rate_hz = config.daq.rate_hz
    force = (volts - volts[: rate_hz // 5].mean(axis=0)) * 1e3 / np.array(config.sensitivities_mVpN)
    count = rate_hz // MEAN_HZ
    force = force[: len(force) // count * count].reshape(-1, count, force.shape[1]).mean(axis=1)
    t_ms = 1e-6 * (t_ns[: len(force) * count : count] - 1e9 * result.summary["impact_time_s"])
    tops = np.argmax(force, axis=0)
    peaks = force[tops, range(force.shape[1])]
    STUDY.numbers["ideal sensors"] = peaks.tolist()
    figure, (axes,) = new_figure(1)
    near = (t_ms > -20.0) & (t_ms < 200.0)
    for name, values, style in zip(config.layout.channels, force.T, ("-", "--", ":"), strict=True):
        axes.plot(t_ms[near], values[near], style, label=name.replace("_", " "))
    axes.set(xlabel="time after the impact [ms]", ylabel="force [N]")
    axes.legend()
    shares = ", ".join(f"{share:.2f}" for share in peaks / peaks.sum())
    row = Row(
        "6-8",
        "about 1/2 of the load on the top sensor, 1/4 on each lower one, all peaks at once",
        f"{shares}; peaks within {np.ptp(t_ms[tops]):.1f} ms",
        "none",
        f"a smooth wheel at {config.trial.angle_deg:g} degrees, sensors without noise, droop and ring",
    )
    return Section([row], {"ideal_sensors": figure})


def peaks_over_offset() -> Section:
    """6.2.7: sums of the sensors' peaks at 90 degrees, over a whole pitch of the grousers."""
    given = parameters()["peaks_over_offset"]
    offsets = np.linspace(0.0, PITCH_DEG, given["offsets"], endpoint=False)
    settings = [QUIET, *(f"{key}={value}" for key, value in given["set"].items())]
    trials = {
        f"grouser offset {offset:.1f}": load_config(
            parameters()["config"], [*settings, f"wheel.grouser_offset_deg={offset:.3f}"]
        )
        for offset in offsets
    }
    forces = np.array([one["sum_of_peaks_N"] for one in summaries(trials)], dtype=float)
    printed = np.array(given["quoted_N"], dtype=float)
    row = Row(
        "6.2.7",
        f"sums of peaks of three trials at 90 degrees: {', '.join(f'{one:.0f}' for one in printed)} N, largest over "
        f"least {printed.max() / printed.min():.2f}; offsets 7 and -4 degrees are printed of two of them",
        f"{forces.min():.0f} to {forces.max():.0f} N over a pitch, largest over least "
        f"{forces.max() / forces.min():.2f}",
        f"{forces.mean() / printed.mean():.1f} times as large",
        "the drives are cut by the sensors here: no push. The offset of a trial changes the peak by less than the "
        "thesis's three trials differ; what else differed between them is not printed",
    )
    return Section([row])
