"""Nothing in a run folder leads out of it, neither to read nor to write."""

from __future__ import annotations

import pytest

from hil.analysis.campaign import read_campaign
from hil.config.files import replacing
from hil.recording import RecordError, read_trial
from hil.recording.run_folder import FolderError, file_in, finished_run, recorded_run, summary_of, verdict_of


@pytest.mark.parametrize("name", ["..", ".", "", "../x", "a/b", "/etc/passwd", "a\0b"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    with pytest.raises(FolderError, match="no name in this folder"):
        file_in(tmp_path, name)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("trial.h5", recorded_run),
        ("trial.h5", finished_run),
        ("trial.h5", read_trial),
        ("summary.json", summary_of),
        ("campaign.json", read_campaign),
    ],
)
def test_a_link_out_of_the_folder_is_not_read(tmp_path, name, read):
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "secret")
    with pytest.raises((FolderError, RecordError), match="is a link"):
        read(tmp_path / "run")


def test_a_verdict_behind_a_link_is_none(tmp_path):
    (tmp_path / "secret").write_text('{"name": "x", "verdict": "keep", "word": ""}')
    (tmp_path / "verdict.json").symlink_to(tmp_path / "secret")
    assert verdict_of(tmp_path) is None


def test_a_run_folder_itself_may_be_a_link(tmp_path):
    """Runs are often kept on another disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    assert summary_of(tmp_path / "runs") is None


def test_writing_a_file_anew_does_not_follow_a_link(tmp_path):
    other = tmp_path / "other"
    other.write_text("untouched")
    (tmp_path / "summary.json").symlink_to(other)
    with replacing(tmp_path / "summary.json") as unfinished:
        unfinished.write_text("new")
    assert other.read_text() == "untouched"
    assert (tmp_path / "summary.json").read_text() == "new"
