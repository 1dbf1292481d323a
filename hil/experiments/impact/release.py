"""When the drives of an impact trial are cut: by the detector, by an operator's hand, or after a set time."""

from __future__ import annotations

import math

import numpy as np

from hil.config.schema.trial import TrialConfig

# Which random numbers of a seed: the simulated rig has 0 and 1 (hil.simulator.build).
_STREAM = 2


def operator_delay_s(trial: TrialConfig, seed: int) -> float:
    """How late the operator of this run releases the joystick [s], by the seed of the run.

    Lognormal with mean `trial.release_delay_s` and standard deviation `trial.release_spread_s`: a reaction is never
    early, and now and then it is very late.
    """
    mean, spread = trial.release_delay_s, trial.release_spread_s
    variance = math.log1p((spread / mean) ** 2)
    drawn = np.random.default_rng([seed, _STREAM]).standard_normal()
    return mean * math.exp(math.sqrt(variance) * float(drawn) - 0.5 * variance)


class Release:
    """The release of one run: a pure function of section, seed and what the sensors recorded.

    automatic: in the tick in which the impact is known. operator: MacMahon 2016, 6.2.4, who releases a joystick upon
    impact. timed: MacMahon 2016, D.2, where the wheels are powered for the same time in every trial.
    """

    def __init__(self, trial: TrialConfig, seed: int) -> None:
        self.kind = trial.release
        self._delay_ns = round(operator_delay_s(trial, seed) * 1e9) if self.kind == "operator" else 0
        self._drive_ns = round(trial.drive_time_s * 1e9)

    def due_ns(self, began_ns: int, impact_ns: int | None) -> int | None:
        """When the drives are to be cut [ns]; None: not known yet."""
        if self.kind == "timed":
            return began_ns + self._drive_ns
        return None if impact_ns is None else impact_ns + self._delay_ns
