"""Plans and campaigns that are short, and a stand-in for a trial where only what is made of it matters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hil.campaign import workers
from hil.campaign.plan import campaign_seed, expand, load_plan
from hil.campaign.run import CampaignOrder
from hil.campaign.trial import Job, TrialResult
from hil.config import Config, load_config

QUIET = ("telemetry.endpoint=''", "experiment=impact")
QUICK = "set: {trial.start_distance_m: 0.03, trial.ramp_s: 0.1, trial.settle_s: 0.5, record.after_s: 0.5}\n"


class Lines:
    """Keeps what a campaign reports."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.counts: list[tuple[int, int]] = []

    def text(self, line: str) -> None:
        self.lines.append(line)

    def done(self, count: int, total: int) -> None:
        self.counts.append((count, total))


class NeverStop:
    wanted = False

    def now(self) -> bool:
        return self.wanted


@pytest.fixture
def plan_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def wanted(plan_file: Callable[[str], Path]) -> Callable[..., CampaignOrder]:
    def make(text: str, seed: int | None = None, **others: Any) -> CampaignOrder:
        plan = load_plan(plan_file(text))
        base = load_config("sim_impact", QUIET, seed)
        trials = expand(plan, "sim_impact", QUIET, seed)
        return CampaignOrder(plan, base, trials, campaign_seed(plan, base.seed, seed), **others)

    return make


@pytest.fixture
def here() -> Callable[[], Any]:
    return lambda: workers.this_process((), lambda _: None)


def summary_of_job(job: Job, **changes: Any) -> dict[str, Any]:
    config = Config.model_validate_json(job.config)
    return {
        "angle_deg": config.trial.angle_deg,
        "peak_force_N": float(config.seed % 1000),
        "load_point_m": [0.1, None],
        "seed": config.seed,
        "accepted": True,
        "aborted": False,
        "reasons": [],
        "loop": {"ticks": 1},
        "config_sha256": config.sha256(),
        **changes,
    }


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Job], dict[str, Any]]], list[Job]]:
    """Trials take no time: a function makes their summary; what was asked for is kept."""

    def use(make: Callable[[Job], dict[str, Any]]) -> list[Job]:
        jobs: list[Job] = []

        def run_trial(job: Job) -> TrialResult:
            jobs.append(job)
            return TrialResult(make(job), "a processor")

        monkeypatch.setattr(workers, "run_trial", run_trial)
        return jobs

    return use
