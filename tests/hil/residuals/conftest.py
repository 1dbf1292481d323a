"""Good runs, whose records the tests change."""

import json

import pytest

from hil.app.run import run
from hil.config import load_config
from hil.experiments.impact.sensing import PEAKS, measured_keys, peak_keys, sensor_channels
from hil.messages.link_messages import IMPACT
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import LEAST_RUNS, thresholds
from hil.residuals.table import measured
from hil.signals.impact import measure_impact

WATCHED = ("telemetry.endpoint=''", "limits.motor_current_A={warn_above: 1000}", "residuals.calibration=null")


class Good:
    """A good run, and thresholds at the resolution of each residual about it."""

    def __init__(self, name, *settings):
        self.config = load_config(name, [*WATCHED, *settings])
        self.result = run(self.config)
        values = measured(RunEvidence(self.config, self.result.ticks, self.result.summary))
        self.sheet = thresholds([self.config] * LEAST_RUNS, [values] * LEAST_RUNS)
        self.judged = load_config(name, [*WATCHED, *settings, f"residuals.calibration={json.dumps(self.sheet)}"])

    def evidence(self, volts=None, **fields):
        """What it would have measured with other readings of the force sensors, or other fields of its rows."""
        ticks, summary = self.result.ticks.copy(), self.result.summary
        for field, values in fields.items():
            ticks[field] = values
        if volts is not None:
            events = self.result.events
            impact_ns = int(events["t_ns"][events["name"] == IMPACT.encode()][0])
            impact = measure_impact(self.result.samples[0], volts, impact_ns, sensor_channels(self.config))
            corrected_N = [summary[f"corrected_{name}"] for name in PEAKS]
            summary = {**summary, **peak_keys(impact, corrected_N), **measured_keys(impact)}
        return RunEvidence(self.judged, ticks, summary)

    @property
    def volts(self):
        return self.result.samples[1].copy()

    def field(self, name):
        return self.result.ticks[name].copy()


@pytest.fixture(scope="package")
def impact():
    return Good("sim_impact")


@pytest.fixture(scope="package")
def gauges():
    return Good("sim_impact", "loads={strain_gauges: {}}", "ground.kind=firm")


@pytest.fixture(scope="package")
def loads():
    steps = "normal_force.steps=[{for_s: 2, mode: passive}, {for_s: 2, mode: uniform}]"
    return Good("sim_normal_force", "loads={leg_sensors: {}}", steps, "plant.noise.speed_radps=0")


@pytest.fixture
def make_good():
    """Makes a good run of a shipped config."""
    return Good
