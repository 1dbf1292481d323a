"""A campaign of four trials, made once, and copies of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hil.analysis.campaign import compared, own_digest, row_of, table_text
from hil.analysis.report import drawing
from hil.app import run as app
from hil.config import load_config

QUICK = (
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.6",
    "record.after_s=0.6",
    "telemetry.endpoint=''",
)
# Of a campaign: a trial each, the last one dropped.
TRIALS = (
    ("trial.angle_deg=50", "seed=1"),
    ("trial.angle_deg=50", "seed=2"),
    ("trial.angle_deg=70", "seed=1"),
    ("trial.angle_deg=70", "seed=1", "quality.contact_s=0.05"),
)


@pytest.fixture(scope="session")
def campaign_trials(tmp_path_factory) -> Path:
    """Four trials, each in its folder."""
    folder = tmp_path_factory.mktemp("campaign")
    for number, sets in enumerate(TRIALS, start=1):
        place = folder / f"trial_{number:04d}"
        place.mkdir()
        app.run_experiment(load_config("sim_impact", [*QUICK, *sets]), place, lambda _: None, figure=False)
    return folder


@pytest.fixture(scope="session")
def campaign_folder(campaign_trials) -> Callable[..., Path]:
    """Makes a campaign of the four trials in a folder; further words are what a person typed."""

    def make(parent: Path, name: str = "four trials", **words: str) -> Path:
        place = parent / "campaign"
        shutil.copytree(campaign_trials, place)
        trials = []
        for number in range(1, len(TRIALS) + 1):
            run = f"trial_{number:04d}"
            summary = json.loads((place / run / "summary.json").read_text())
            status = "kept" if summary["accepted"] else "dropped"
            settings = {"angle_deg": summary["angle_deg"], "ground": "sand", "variant": words.get("variant", "rcp")}
            operator = {"name": "N", "verdict": "keep", "word": words.get("operator_word", "")}
            trials.append(
                {"number": number, "attempt": 1, "status": status, "folder": run, "settings": settings}
                | {"operator": operator, "summary": compared(summary)}
            )
        config = load_config("sim_impact", QUICK)
        plan = {"soils": {"sand": {"set": {"ground.kind": "soil"}}}}
        meta = {"name": name, "plan": plan, "config": config.to_yaml(), "config_sha256": config.sha256(), "seed": 1}
        meta |= {"kept": "folders", "planned": len(TRIALS)}
        write_campaign(place, meta, trials)
        return place

    return make


@pytest.fixture
def page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has the pictures of its page only: PNG and PDF take more than half of the time."""
    monkeypatch.setattr(drawing, "FORMATS", ("svg",))


def write_campaign(folder: Path, meta: dict[str, Any], trials: list[dict[str, Any]]) -> None:
    (folder / "campaign.csv").write_text(table_text(map(row_of, trials)), encoding="utf-8", newline="")
    content = {**meta, "trials": trials}
    table = hashlib.sha256((folder / "campaign.csv").read_bytes()).hexdigest()
    digests = {"csv": table, "campaign": own_digest(content)}
    (folder / "campaign.json").write_text(json.dumps({**content, "digests": digests}), encoding="utf-8")


@pytest.fixture(scope="session")
def campaign_of() -> Callable[..., Path]:
    """Makes a campaign that kept no folders: forces by angle, and at each angle a trial that was dropped."""

    def make(folder: Path, values: dict[float, Sequence[float]], ground: str = "soil", name: str = "") -> Path:
        folder.mkdir()
        forces = [(angle, force, True) for angle, forces in values.items() for force in forces]
        forces += [(angle, 1e6, False) for angle in values]
        trials = [
            {"number": number, "attempt": 1, "status": "kept" if accepted else "dropped", "folder": ""}
            | {"settings": {"angle_deg": angle, "ground": ground}}
            | {"summary": {"accepted": accepted, "sum_of_peaks_N": force}}
            for number, (angle, force, accepted) in enumerate(forces, start=1)
        ]
        write_campaign(folder, {"name": name or folder.name}, trials)
        return folder

    return make


@pytest.fixture(scope="session")
def change_campaign() -> Callable[..., None]:
    """Changes the trials of a campaign as its own program would: with the digests."""

    def change(folder: Path, of_trials: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
        meta = json.loads((folder / "campaign.json").read_text())
        del meta["digests"]
        write_campaign(folder, meta, of_trials(meta.pop("trials")))

    return change
