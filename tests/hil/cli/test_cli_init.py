"""`hil init`: what it writes is whole, loads, and never goes over what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.cli import run
from hil.config import load_config


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", ["driver", "experiment"])
def test_a_package_has_its_own_name_everywhere(kind, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", kind, "two_words"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for command in ("pip install --no-deps -e two_words", "pip install pytest", "python -m pytest two_words"):
        assert command in said
    files = [path for path in Path("two_words").rglob("*") if path.is_file()]
    assert {"pyproject.toml", "test_two_words.py", "__init__.py"} <= {path.name for path in files}
    for path in files:
        text = path.read_text()
        compile(text, str(path), "exec") if path.suffix == ".py" else None
        assert not any(word in text.lower() for word in ("textline", "hil.testing.template"))
    assert f'"rover_hil.{kind}s"]\ntwo_words = "two_words.' in Path("two_words/pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("kind", "rig", "other"), [("rig", "real", "calibration/my-lab.yaml"), ("rover", "simulated", "rovers/my-lab.urdf")]
)
def test_a_config_has_its_own_name_and_loads(kind, rig, other, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", kind, "my-lab"]) == 0
    assert "my-lab.yaml" in capsys.readouterr().out
    assert Path(other).is_file()
    config = load_config("my-lab.yaml")
    assert (config.name, config.rig) == ("my-lab", rig)


@pytest.mark.parametrize("kind", ["driver", "experiment", "rover", "rig"])
def test_what_exists_is_not_changed(kind, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", kind, "mine"]) == 0
    capsys.readouterr()
    assert run(["init", kind, "mine"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "already exists and is not changed" in said


@pytest.mark.parametrize(
    ("name", "why"),
    [("9lives", "small letters"), ("class", "small letters"), ("numpy", "another package"), ("../up", "small letters")],
)
def test_a_name_that_cannot_be_is_refused(name, why, capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    assert run(["init", "driver", name]) == 2
    assert why in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
