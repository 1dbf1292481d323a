"""`hil verify` works every number of a summary out again, also where somebody has made the digests anew."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from matplotlib.image import imread

from hil.analysis.recompute import disagreements, recompute
from hil.analysis.verify import verify
from hil.cli import run as hil
from hil.config import parse_config
from hil.config.files import replacing
from hil.config.rig import Rig
from hil.recording import read_trial

pytestmark = pytest.mark.slow


def checks_of(folder):
    """Checks by item."""
    return {check.item: check for check in verify(folder)}


def set_in(summary, key, value):
    *sections, name = key.split(".")
    for section in sections:
        summary = summary[section]
    summary[name] = value


@pytest.mark.parametrize("name", ["good", "delayed", "stopped", "silent", "skipping", "late", "refused"])
def test_every_number_of_a_summary_in_virtual_time_but_the_wall_clock_is_worked_out_again(recorded, name):
    check = checks_of(recorded(name))["summary"]
    assert check.ok
    assert check.found.endswith(" values the same; no record holds real_time_factor")
    assert int(check.found.split()[0]) > 60


def test_of_a_burst_what_the_cycle_alone_knows_is_listed(recorded):
    found = checks_of(recorded("burst"))["summary"]
    assert found.ok
    assert "peak_force_N" in found.found
    assert "record.sensors is burst" in found.found
    assert "impact_speed_mps" not in found.found


VOLTS = {
    "doubled": lambda raw: 2.0 * raw,
    "NaN over some": lambda raw: np.where(np.arange(len(raw))[:, None] // 50 == 420, np.nan, raw),
    "another sign": lambda raw: -raw,
}


@pytest.mark.parametrize("kind", VOLTS)
@pytest.mark.parametrize("sealed", [False, True], ids=["as it stands", "digests made anew"])
def test_changed_volts_do_not_pass(edited, kind, sealed):
    folder = edited("good", lambda edit: edit.rows("daq/raw", VOLTS[kind](edit["daq/raw"][()])), sealed=sealed)
    found = checks_of(folder)
    assert not found["summary"].ok
    assert found["content digest"].ok is found["file digest"].ok is sealed
    if sealed:
        assert "the record gives" in found["summary"].found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("peak_force_N", 999.0), ("accepted", False), ("reasons", ["none"]), ("loop.late", 3), ("seed", 4),
        ("contact_force_peak_N", 1.0), ("effective_kinetic_energy_J", None), ("cut_effective_ms", 0.1),
        ("loop.work_us.p50", 1.0), ("remark", "good"), ("load_point_m", [0.0, 0.0]), ("version", "9"),
    ],
)  # fmt: skip
def test_a_summary_changed_and_sealed_again_does_not_pass(edited, sealing, key, value):
    folder = edited("good")
    summary = json.loads((folder / "summary.json").read_text())
    set_in(summary, key, value)
    sealing(folder, summary)
    found = checks_of(folder)
    assert [item for item, check in found.items() if not check.ok] == ["summary"]
    assert found["summary"].found.startswith(f"{key} is {value!r}, " if not isinstance(value, list) else key)


@pytest.mark.parametrize("which", ["trial.h5", "summary.json"])
def test_a_file_of_another_run_does_not_pass(recorded, edited, which):
    folder = edited("good")
    shutil.copy(recorded("delayed") / which, folder / which)
    assert not checks_of(folder)["file digest"].ok


def test_a_number_that_differs_in_its_last_bits_is_the_same(recorded):
    record, said = (
        read_trial(recorded("good"), trusted=True),
        json.loads((recorded("good") / "summary.json").read_text()),
    )
    found = recompute(record, Rig(parse_config(record.meta["config"], "meta")), said)
    near = said | {"peak_force_N": said["peak_force_N"] * (1.0 + 1e-11)}
    assert disagreements(near, found)[0] == []
    assert disagreements(near | {"peak_force_N": said["peak_force_N"] * (1.0 + 1e-6)}, found)[0]


def report(folder, *options):
    return hil(["report", str(folder), *options])


def test_report_refuses_what_does_not_match_and_leaves_the_figure(edited, capsys):
    folder = edited("good", lambda edit: edit.rows("daq/raw", 2.0 * edit["daq/raw"][()]), sealed=False)
    (folder / "trial.png").write_bytes(b"good")
    assert report(folder) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "trial.h5 does not match its digest" in said.err
    assert [path.name for path in sorted(folder.iterdir())] == ["summary.json", "trial.h5", "trial.png"]
    assert (folder / "trial.png").read_bytes() == b"good"


def test_report_refuses_a_summary_without_digests(edited, capsys):
    folder = edited("good")
    summary = json.loads((folder / "summary.json").read_text())
    del summary["digests"]
    (folder / "summary.json").write_text(json.dumps(summary))
    assert report(folder) == 2
    assert "holds no digests" in capsys.readouterr().err


def test_an_unverified_figure_is_stamped_and_has_a_name_of_its_own(edited, capsys):
    folder = edited("good", lambda edit: edit.rows("daq/raw", 2.0 * edit["daq/raw"][()]), sealed=False)
    (folder / "trial.png").write_bytes(b"good")
    assert report(folder, "--unverified") == 0
    assert "not verified: trial.h5 does not match its digest" in capsys.readouterr().out
    assert (folder / "trial.png").read_bytes() == b"good"
    image = imread(folder / "trial.unverified.png")
    red = (abs(image[..., :3] - np.array([0xCC, 0x33, 0x11]) / 255.0) < 0.02).all(axis=2)
    assert image.shape[:2] == (1000, 1400)
    assert red[150:350].sum() > 1000
    assert red[650:850].sum() > 1000


def test_replay_refuses_what_does_not_match_unless_told_to(edited, capsys):
    folder = edited("good", lambda edit: edit.rows("daq/raw", 2.0 * edit["daq/raw"][()]), sealed=False)
    assert hil(["replay", str(folder)]) == 2
    assert "trial.h5 does not match its digest" in capsys.readouterr().err
    assert hil(["replay", str(folder), "--unverified"]) == 1
    assert "note: trial.h5 does not match its digest" in capsys.readouterr().out


def test_a_figure_that_could_not_be_drawn_leaves_the_one_before(tmp_path):
    figure = tmp_path / "trial.png"
    figure.write_bytes(b"good")

    def draw():
        with replacing(figure) as unfinished:
            unfinished.write_bytes(b"half")
            raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        draw()
    assert figure.read_bytes() == b"good"
    assert list(tmp_path.iterdir()) == [figure]
