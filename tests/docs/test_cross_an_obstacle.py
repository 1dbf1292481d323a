"""What the page says of a ballast that moves: its own settings, with the ballast standing still and moving."""

from __future__ import annotations

import re

import pytest
import yaml

from hil.app.run import run_experiment
from hil.config import load_config

MOVES = "crossing.moves_ballast"
HEAVY_STROKE = {
    "rover.type": "rcp",
    "rover.ballast": {"mass_kg": 25, "stroke_m": 0.4},
    "servos.slides.ballast": {"range_mm": [-350, 350], "rate_mmps": 200, "follow_mm": 20},
}


@pytest.fixture(scope="module")
def page(root):
    text = (root / "docs" / "how-to" / "cross-an-obstacle.md").read_text(encoding="utf-8")
    return text.partition("## A ballast that moves")[2].partition("\n## ")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "sentence", "result", "names"),
    [
        ({}, r"needs a friction of (\S+) instead of ([\d.]+)", ("friction_needed", "largest"), 3),
        ({"ground.profile.shape": "slope"}, r"to tipping is (\S+) degrees instead of ([\d.]+\d)",
         ("stability_deg", "least"), 1),
        (HEAVY_STROKE, r"25 kg that move by 350 mm needs (\S+) instead of ([\d.]+\d)",
         ("friction_needed", "largest"), 3),
    ],
    ids=["step", "slope", "where it is worse"],
)  # fmt: skip
def test_a_crossing_with_and_without_the_ballast_moving_needs_what_the_page_states(
    page, tmp_path, settings, sentence, result, names
):
    given = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    flat = {f"{section}.{key}": value for section, keys in given.items() for key, value in keys.items()}
    stated = re.search(sentence, " ".join(page.split()))
    assert stated, page
    for moves, number in zip((True, False), stated.groups(), strict=True):
        (folder := tmp_path / str(moves)).mkdir()
        each = {**flat, **settings, MOVES: moves, "telemetry.endpoint": ""}
        overrides = [f"{key}={yaml.safe_dump(value, default_flow_style=True).strip()}" for key, value in each.items()]
        config = load_config("sim_step", [one.removesuffix("\n...") for one in overrides])
        found = run_experiment(config, folder, lambda _: None, figure=False).summary
        assert found["accepted"], found["reasons"]
        group, key = result
        assert found["mobility"][group][key] == pytest.approx(float(number), abs=0.51 * 10.0**-names)
