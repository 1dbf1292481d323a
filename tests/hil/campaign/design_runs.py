"""Runs of a closed form in place of simulated ones, and what is asked of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hil.campaign.evaluations import StudyExecution
from hil.config import Config

from .conftest import Lines, NeverStop, summary_of_job

SPEED, MASS, ANGLE, STIFFNESS = "trial.speed_mps", "rover.added_mass_kg", "trial.angle_deg", "soil.stiffness"


def closed_form(job, noise: float = 0.0) -> dict[str, Any]:
    """A mass m on a spring k = 1e5 N/m meets a wall at the speed v: F = v sqrt(k m), m = 100 kg + the added mass.

    As energy stands Ishigami's function of seven times the speed, of which Sobol' indices are known; as impulse a bowl
    with its bottom at 0.09 m/s and 75 degrees.
    """
    config = Config.model_validate_json(job.config)
    v, m = config.trial.speed_mps, 100.0 + config.rover.added_mass_kg
    seeded = float(np.random.default_rng(config.seed).standard_normal()) * noise
    bowl = ((v - 0.09) / 0.1) ** 2 + ((config.trial.angle_deg - 75.0) / 40.0) ** 2
    angle = math.pi * (2.0 * (config.trial.angle_deg - 40.0) / 50.0 - 1.0)
    return summary_of_job(
        job,
        contact_force_peak_N=v * math.sqrt(1e5 * m) + seeded,
        effective_kinetic_energy_J=0.5 * m * v * v,
        impulse_Ns=1.0 + bowl,
        peak_force_N=math.sin(angle) + 7.0 * math.sin(math.pi * (2.0 * (v - 0.05) / 0.1 - 1.0)) ** 2,
    )


def execution(folder, place, *, stop=None, resume=False) -> StudyExecution:
    folder.mkdir(exist_ok=True)
    return StudyExecution(folder, place, Lines(), (stop or NeverStop()).now, resume)
