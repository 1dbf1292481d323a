"""A campaign of four trials, made once, and copies of it."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

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
        app.run_experiment(load_config("sim_impact", [*QUICK, *sets]), place, lambda _: None)
    return folder


@pytest.fixture(scope="session")
def campaign_folder(campaign_trials) -> Callable[..., Path]:
    """Makes a campaign in a folder from the four trials; further words are values of each row."""

    def make(parent: Path, name: str = "four trials", folder: str = "campaign", **words: str) -> Path:
        place = parent / folder
        shutil.copytree(campaign_trials, place)
        rows = []
        for number in range(1, len(TRIALS) + 1):
            run = f"trial_{number:04d}"
            summary = json.loads((place / run / "summary.json").read_text())
            load_point = dict(zip(("load_point_m.0", "load_point_m.1"), summary.pop("load_point_m"), strict=True))
            numbers = {key: value for key, value in summary.items() if isinstance(value, float) and key[-2:] != "or"}
            of_trial = {
                "number": number, "attempt": 1, "status": "kept" if summary["accepted"] else "dropped", "folder": run,
                "ground": "soil", "variant": "rcp", "seed": summary["seed"],
                "accepted": str(summary["accepted"]).lower(),
                "reasons": "; ".join(summary["reasons"]), "operator_word": "", "content": summary["digests"]["content"],
            }  # fmt: skip
            rows.append({**of_trial, **numbers, **load_point, **words})
        with (place / "campaign.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        config = load_config("sim_impact", QUICK)
        meta = {
            "name": name,
            "plan": "by hand",
            "config": config.to_yaml(),
            "config_sha256": config.sha256(),
            "seed": 1,
        }
        (place / "campaign.json").write_text(json.dumps({**meta, "trials": []}), encoding="utf-8")
        return place

    return make
