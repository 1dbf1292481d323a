"""The calibration file: its numbers are used, and a record contains them."""

from pathlib import Path

import pytest

from hil.app.run_loop import record_meta
from hil.config import ConfigError, load_config, parse_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.config.text_io import read_yaml, write_yaml
from hil.estimation.estimator import channel_parameters

SHEET = "{{serial: SN{0}, sensitivity_mVpN: {0}, range_N: 445, date: 2026-02-01}}"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """mars_dome in a separate folder, with sensors of 10, 11 and 12 mV/N."""
    text = "".join(f"{name}: {SHEET.format(n)}\n" for name, n in (("top", 10), ("lower_left", 11), ("lower_right", 12)))
    (tmp_path / "sheets").mkdir()
    (tmp_path / "sheets" / "mine.yaml").write_text(text, encoding="utf-8")
    file = tmp_path / "mine.yaml"
    shipped = load_config(
        "mars_dome", ["devices.daq.calibration=null", *(f"daq.channels.{i}.sensitivity_mVpN=9" for i in range(3))]
    )
    content, _ = read_yaml(shipped.to_yaml(), "shipped")
    content["devices"]["daq"]["calibration"] = "sheets/mine.yaml"
    file.write_text(write_yaml(content), encoding="utf-8")
    return file


def refused(config: Path | str, *overrides: str) -> dict[str, tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        load_config(config, overrides)
    return {problem.key: (problem.found, problem.allowed) for problem in caught.value.problems}


def edit(config: Path, old: str, new: str) -> None:
    file = config.parent / "sheets" / "mine.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_the_files_numbers_win_over_those_of_the_channels_in_all_that_compute_with_them(
    config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))  # the path is relative to the config's folder
    loaded = load_config(config)
    assert loaded.daq.channels[0].sensitivity_mVpN == 9.0
    assert loaded.sensitivities_mVpN == (10.0, 11.0, 12.0)
    assert channel_parameters(Rig(loaded)).newton_per_volt.tolist() == pytest.approx(
        [100.0, 1000.0 / 11.0, 1000.0 / 12.0]
    )
    assert nominal_rig(loaded).piezo.sensitivity.tolist() == pytest.approx([0.010, 0.011, 0.012])
    assert record_meta(Rig(loaded))["sensitivity_VpN"] == "0.01,0.011,0.012"


def test_the_record_keeps_what_is_in_the_file(config: Path) -> None:
    in_file, _ = read_yaml((config.parent / "sheets" / "mine.yaml").read_text(encoding="utf-8"), "file")
    in_record, problems = read_yaml(str(record_meta(Rig(load_config(config)))["calibration"]), "record")
    assert not problems
    assert in_record == in_file
    assert "calibration" not in record_meta(Rig(load_config("sim_impact")))


def test_the_effective_config_needs_no_file_beside_it(config: Path, tmp_path: Path) -> None:
    loaded = load_config(config)
    assert parse_config(loaded.to_yaml(), "record") == loaded
    (tmp_path / "sheets" / "mine.yaml").unlink()
    assert parse_config(loaded.to_yaml(), "record").sha256() == loaded.sha256()


def test_the_fingerprint_changes_with_a_sensor(config: Path) -> None:
    before = load_config(config).sha256()
    edit(config, "SN11", "SN99")
    assert load_config(config).sha256() != before


def test_values_of_the_file_can_be_overridden_only_in_the_file(config: Path) -> None:
    assert list(refused(config, "devices.daq.calibration.top.serial=SN1")) == [
        "--set devices.daq.calibration.top.serial"
    ]


@pytest.mark.parametrize(
    ("old", "new", "key", "found"),
    [
        ("sensitivity_mVpN: 11, ", "", "devices.daq.calibration.lower_left.sensitivity_mVpN", "nothing"),
        ("lower_left: ", "front_left: ", "devices.daq.calibration.lower_left", "nothing"),
        ("lower_left: ", "middle: ", "devices.daq.calibration.middle", "unknown key"),
        ("serial: SN11, ", "", "devices.daq.calibration.lower_left.serial", "nothing"),
        ("SN11", "11", "devices.daq.calibration.lower_left.serial", "11"),
        (
            "sensitivity_mVpN: 11",
            "sensitivity_mVpN: .nan",
            "devices.daq.calibration.lower_left.sensitivity_mVpN",
            "nan",
        ),
        ("date: 2026-02-01", "date: yesterday", "devices.daq.calibration.top.date", "yesterday"),
        ("range_N: 445", "range_N: 9", "detector.threshold_N", "10"),
        ("top: {", "top: {serial: a, ", "devices.daq.calibration", "a second time"),
        ("top: {", "top: [", "devices.daq.calibration", "mine.yaml"),
    ],
)
def test_what_is_wrong_in_the_file_is_refused_and_named(config: Path, old: str, new: str, key: str, found: str) -> None:
    edit(config, old, new)
    problems = refused(config)
    assert key in problems
    assert found in problems[key][0]


@pytest.mark.parametrize(
    ("content", "found"),
    [(None, "No such file"), (b"\xff\xfe\x00", "UTF-8"), (b"", "no sections"), (b"3", "no sections")],
)
def test_a_file_that_is_none_is_refused_with_its_path(config: Path, content: bytes | None, found: str) -> None:
    file = config.parent / "sheets" / "mine.yaml"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    said, _ = refused(config)["devices.daq.calibration"]
    assert said.startswith("sheets/mine.yaml: ")
    assert found in said


@pytest.mark.parametrize("path", ["''", "'.'", '"a\\0b"', "/"])
def test_a_path_that_is_no_file_is_refused(config: Path, path: str) -> None:
    assert list(refused(config, f"devices.daq.calibration={path}")) == ["devices.daq.calibration"]


def test_on_a_real_rig_no_default_stands_in_for_a_sensitivity() -> None:
    problems = refused("mars_dome", "devices.daq.calibration=null")
    assert list(problems) == ["daq.channels"]
    stated = [f"daq.channels.{i}.sensitivity_mVpN=11" for i in range(3)]
    loaded = load_config("mars_dome", ["devices.daq.calibration=null", *stated])
    assert loaded.sensitivities_mVpN == (11.0, 11.0, 11.0)
    assert parse_config(loaded.to_yaml(), "record") == loaded


@pytest.mark.parametrize(
    ("kind", "key", "value", "expected"),
    [
        ("bridge", "sensitivity_mVpVpN", 0.004, 0.02),  # at 5 V of excitation
        ("charge", "sensitivity_pCpN", 4.0, 4.0),  # recorded as 1 mV a pC
        ("voltage", "sensitivity_mVpN", 22.0, 22.0),
    ],
)
def test_each_kind_of_conditioning_has_a_sensitivity_of_its_own(
    config: Path, kind: str, key: str, value: float, expected: float
) -> None:
    edit(config, "sensitivity_mVpN: 10", f"{key}: {value}")
    if key != "sensitivity_mVpN":
        assert "devices.daq.calibration.top.sensitivity_mVpN" in refused(config)
    loaded = load_config(config, [f"devices.daq.inputs.0.kind={kind}", "devices.daq.excitation_V=5"])
    assert loaded.sensitivities_mVpN == pytest.approx((expected, 11.0, 12.0))
