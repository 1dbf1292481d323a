"""What `hil campaign` and `hil operate --plan` make of a plan."""

from __future__ import annotations

from hil.campaign.plan import load_plan
from hil.cli.campaign import campaign_of


def test_trials_that_an_operator_leads_are_published_and_those_of_many_at_once_are_not():
    plan = load_plan("thesis")
    led, many = (campaign_of(plan, "sim_impact", [], None, many_at_once=many) for many in (False, True))
    assert {trial.config.telemetry.endpoint for trial in many.trials} == {""} == {many.base.telemetry.endpoint}
    assert {trial.config.telemetry.endpoint for trial in led.trials} == {led.base.telemetry.endpoint}
    assert led.base.telemetry.endpoint
