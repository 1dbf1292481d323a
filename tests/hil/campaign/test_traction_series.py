"""Series of traction: the product of modes, weights and slips, and the search for the steepest slope."""

from __future__ import annotations

import json

import pytest

from hil.campaign.traction.series import SlopeSearch, curves, expand_drawbar, expand_slope, run_slopes
from hil.campaign.trial import Job, TrialResult
from hil.campaign.workers import InThisProcess, Workers
from hil.config import Config, ConfigError, load_config
from hil.config.rig import Rig
from hil.experiments.throttle import limit_at_even_loads_deg

from .conftest import Lines, NeverStop

LIMIT_DEG = 17.3


def climbs_up_to(job: Job) -> TrialResult:
    """A trial's stand-in: a rover that climbs LIMIT_DEG, 2 degrees more in mode uniform."""
    config = Config.model_validate_json(job.config)
    limit_deg = LIMIT_DEG + 2.0 * (config.slope.mode == "uniform")
    climbed = config.ground.pitch_deg <= limit_deg
    summary = {"accepted": True, "climbed": climbed, "slip": 0.3, "speed_mps": 0.05, "spread": 0.1, "reasons": []}
    return TrialResult(summary, "a processor")


@pytest.fixture
def run_with(monkeypatch):
    def use(stand_in):
        monkeypatch.setattr("hil.campaign.workers.run_trial", stand_in)

    return use


class Here:
    def __enter__(self):
        return Workers(InThisProcess(), 1, shares_folders=True)

    def __exit__(self, *_):
        pass


def test_a_drawbar_series_is_the_product_of_modes_weights_and_slips():
    runs = expand_drawbar("sim_drawbar", ["drawbar.modes=[passive, uniform]", "drawbar.slips=[0.1, 0.3]"], 4)
    assert len(runs) == 2 * 4 * 2
    assert [tuple(run.values.values()) for run in runs[:3]] == [
        ("passive", "none", 0.1), ("passive", "none", 0.3), ("passive", "front", 0.1),
    ]  # fmt: skip
    front = runs[2].config
    assert (front.rover.payload.mass_kg, front.rover.payload.x_m, front.drawbar.slip, front.seed) == (20.0, 0.4, 0.1, 4)
    assert {run.config.layout for run in runs} == {front.layout}  # passive runs have the same rig


def test_curves_have_accepted_points_only():
    rows = [
        {"mode": "passive", "weight": "", "accepted": True, "slip": 0.1, "pull_N": 200.0, "spread": 0.1},
        {"mode": "passive", "weight": "", "accepted": False, "slip": 0.9, "pull_N": 900.0, "spread": 0.2},
        {"mode": "uniform", "weight": "", "accepted": True, "slip": 0.1, "pull_N": 220.0, "spread": 0.0},
    ]
    passive, uniform = curves(rows)
    assert (passive["slip"], passive["pull_N"], passive["left_out"]) == ([0.1], [200.0], 1)
    assert (uniform["mode"], uniform["pull_N"]) == ("uniform", [220.0])


def test_the_steepest_slope_of_each_mode_is_found_to_the_resolution(run_with):
    run_with(climbs_up_to)
    base = expand_slope("sim_slope", ["slope.modes=[passive, uniform]", "slope.resolution_deg=0.25"], None)
    passive, uniform = run_slopes(base, Here, Lines(), NeverStop().now)
    for search, limit_deg in ((passive, LIMIT_DEG), (uniform, LIMIT_DEG + 2.0)):
        assert search.low_deg <= limit_deg < search.high_deg
        assert search.high_deg - search.low_deg <= 0.25
    assert [one["slope_deg"] for one in passive.tried[:3]] == [5.0, 28.0, 16.5]


@pytest.mark.parametrize("mode", ["passive", "uniform"])
def test_the_series_runs_a_slope_exactly_where_a_single_run_of_it_is_allowed(run_with, mode):
    """At 24 degrees a front wheel bears 49 N at rest: below a limit of 50 N, which counts where loads are moved."""
    run_with(lambda job: TrialResult({"accepted": True, "climbed": True, "slip": 0.3, "reasons": []}, "a processor"))
    given = [f"slope.modes=[{mode}]", "normal_force.least_load_N=50", "slope.from_deg=22", "slope.resolution_deg=0.5"]
    (search,) = run_slopes(expand_slope("sim_slope", given, None), Here, Lines(), NeverStop().now)
    for one in search.tried:
        run = [*given, f"slope.mode={mode}", f"ground.pitch_deg={one['slope_deg']}"]
        if one["accepted"]:
            load_config("sim_slope", run)
            continue
        with pytest.raises(ConfigError, match="least_load_N") as refused:
            load_config("sim_slope", run)
        assert "; ".join(map(str, refused.value.problems)) == one["reasons"]
    assert all(one["accepted"] for one in search.tried) == (mode == "passive")
    assert len(search.tried) == (2 if mode == "passive" else 6)


@pytest.mark.parametrize("slope_deg", [24.0, 25.5])
def test_a_single_run_may_try_the_slopes_that_the_shipped_series_climbs(slope_deg):
    for mode in ("passive", "uniform", "max_traction"):
        load_config("sim_slope", [f"slope.mode={mode}", f"ground.pitch_deg={slope_deg}"])


@pytest.mark.parametrize(("outcome", "low_deg", "high_deg"), [(True, 28.0, None), (False, None, 5.0)])
def test_a_rover_that_climbs_all_or_none_is_asked_no_more_than_it_needs(outcome, low_deg, high_deg):
    search = SlopeSearch("passive")
    while (slope_deg := search.next_deg(5.0, 28.0, 0.5)) is not None:
        search.take(slope_deg, {"accepted": True, "climbed": outcome})
    assert (search.low_deg, search.high_deg, len(search.tried)) == (low_deg, high_deg, 2 if outcome else 1)


def test_a_run_that_is_not_accepted_counts_as_not_climbed_and_says_why():
    search = SlopeSearch("passive")
    search.take(20.0, {"accepted": False, "climbed": True, "reasons": ["not armed: it slides"]})
    assert (search.low_deg, search.high_deg) == (None, 20.0)
    assert search.tried[0]["reasons"] == "not armed: it slides"
    json.dumps(search.tried, allow_nan=False)


def test_the_static_limit_is_where_pull_and_weight_along_the_slope_are_equal():
    base = expand_slope("sim_slope", [], None)
    # traction N tan(30 deg) tanh(0.8/0.185), little less than the friction angle: compaction takes the rest
    assert 24.0 < limit_at_even_loads_deg(Rig(base)) < 30.0
    slipping_less = base.slope.model_copy(update={"slip_limit": 0.01})
    assert limit_at_even_loads_deg(Rig(base.model_copy(update={"slope": slipping_less}))) is None
