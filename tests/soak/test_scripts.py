"""Scripts started by `make soak` and benchmarks, which the suite does not run."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOAK = [
    ROOT / "tests/soak" / name
    for name in (
        "cluster_runs.py",
        "damage_records.py",
        "fault_runs.py",
        "endurance.py",
        "load_runs.py",
        "loaded.py",
        "page_figures.py",
        "page_tasks.py",
        "random_configs.py",
        "stop_run.py",
    )
]
SCRIPTS = [*sorted((ROOT / "benchmarks").glob("*.py")), *SOAK]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_finds_all_that_it_imports(script: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(script.parent)  # as Python does for a script
    assert callable(runpy.run_path(str(script), run_name="imported")["main"])
