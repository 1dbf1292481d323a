"""A complete trial runs with every rover, wheel, contact law and ground, in the twin and in the simulated rig."""

from __future__ import annotations

import math
from contextlib import ExitStack

import pytest

from hil.app.run import open_backend
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactState

pytestmark = pytest.mark.slow

SHORT = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.05", "trial.ramp_s=0.2", "trial.settle_s=0.5",
    "record.after_s=0.5",
)  # fmt: skip
CHOICES = {
    "as shipped": (),
    "parametric": ("rover.type=parametric",),
    "exomars_like": ("rover.type=exomars_like",),
    "exomars": ("rover.type=exomars",),
    "rocker_bogie": ("rover.type=rocker_bogie",),
    "lankarani_nikravesh": ("obstacle.law=lankarani_nikravesh",),
    "lee_wang": ("obstacle.law=lee_wang",),
    "gonthier": ("obstacle.law=gonthier",),
    "hertz": ("obstacle.law=hertz",),
    "kelvin_voigt": ("obstacle.law=kelvin_voigt",),
    "legs that give, on steel": ("obstacle.legs=each", "obstacle.exponent=1.5"),
    "grousers": ("wheel.grousers=22", "wheel.grouser_offset_deg=7"),
    "tire_1": ("wheel.variant=tire_1",),
    "tire_2": ("wheel.variant=tire_2",),
    "published": ("wheel.variant=published",),
    "xu": ("wheel.variant=xu",),
    "concrete": ("ground.kind=firm",),
    "nonlinear ground": ("ground.kind=firm", "ground.law=visco_elastic", "ground.exponent=1.5"),
    "rigid ground": ("ground.kind=rigid",),
    "no ground": ("ground.kind=none",),
}


@pytest.mark.ci_cases("as shipped", "legs that give, on steel", "xu", "rigid ground")
@pytest.mark.parametrize("choice", CHOICES)
def test_a_trial_hits_at_its_speed_and_twin_and_rig_agree_on_the_energy(choice, tmp_path):
    config = load_config("sim_impact", [*SHORT, *CHOICES[choice]])
    with ExitStack() as stack:
        rig = open_backend(Rig(config), tmp_path, lambda _: None, stack)
        rig.rig_io.open()
        rig.loop.run()
        rig.rig_io.close()
        trial, twin, ground_truth = rig.cycle.experiment, rig.cycle.twin, rig.ground_truth
        assert rig.cycle.safety.events == []
        assert trial.state is ImpactState.DONE
        assert trial.impact_tick_ns is not None
        assert not trial.hit_standing
        assert ground_truth.hit_ns is not None
        assert 0 < trial.impact_tick_ns - ground_truth.hit_ns < 30_000_000
        assert ground_truth.hit_speed == pytest.approx(0.07, rel=0.03)
        energy = ground_truth.hit_energy
        assert twin.energy_at_impact_J == pytest.approx(energy, rel=0.05)  # masses vary by 2 %
        # the contact stores at most that energy, except for the work of weight and drives, and the springs' spread
        peak = 2.0 * math.sqrt(config.obstacle.leg_stiffness_Npm * energy)
        assert 0.3 * peak < ground_truth.contact_force_peak < 1.4 * peak
        rig.close_record()
