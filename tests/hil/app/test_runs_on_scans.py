"""Runs over scans of several kinds: each ends with a summary, and all that is done with a record can be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.cli import run
from tests.hil.config.scan.corpus import SCANS, written

# Juno, and soil and drives of sim_scan, over so short a distance that each run is a moment.
SHORT = ["drive.steps=[{for_s: 0.4, speed_mps: 0.2}]", "telemetry.endpoint=", "operator.endpoint=tcp://127.0.0.1:*"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["decimal commas", "an OBJ that counts back", "an ESRI grid"])
def test_a_run_over_a_scan_is_verified_reported_exported_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scan = {
        "file": str(tmp_path / written(kind, tmp_path)),
        "units": "m",
        "up": "z",
        "start_m": [0, 0],
        "spacing_m": 0.2,
    }
    changes = [f"ground.scan={json.dumps({**scan, **SCANS[kind].settings})}", *SHORT]
    assert run(["run", "sim_scan", "--out", "over", *(part for one in changes for part in ("--set", one))]) == 0
    assert json.loads((tmp_path / "over" / "summary.json").read_text())["accepted"] is True
    (tmp_path / scan["file"]).unlink()  # the record has the ground
    for command in (["verify"], ["replay"], ["report"], ["export", "--to", "mat"], ["render", "--to", "png"]):
        assert run([command[0], "over", *command[1:]]) == 0, command
