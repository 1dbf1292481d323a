"""A note and tags stand beside the record: written at any time, and the record does not change."""

from __future__ import annotations

import os

import pytest

from hil.recording.run_folder import FILE_NAME, MOST_TAGS, Annotation, FolderError, annotate, annotation_of


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "trial.h5").write_bytes(b"record")
    (tmp_path / "summary.json").write_text("{}")
    return tmp_path


def test_a_run_without_one_has_no_note_and_no_tags(folder):
    assert annotation_of(folder) == Annotation("", ())


def test_what_is_written_is_read_and_nothing_else_in_the_folder_is_touched(folder):
    before = [(folder / name).stat().st_mtime_ns for name in ("trial.h5", "summary.json")]
    written = annotate(folder, "wheel slipped\nat 3 s", add=["good", "soft sand", " good "])
    assert written == annotation_of(folder) == Annotation("wheel slipped\nat 3 s", ("good", "soft sand"))
    assert [(folder / name).stat().st_mtime_ns for name in ("trial.h5", "summary.json")] == before
    assert sorted(os.listdir(folder)) == [FILE_NAME, "summary.json", "trial.h5"]


def test_tags_and_note_are_changed_one_without_the_other(folder):
    annotate(folder, "first", add=["a", "b"])
    assert annotate(folder, add=["c"], remove=["a", "never there"]) == Annotation("first", ("b", "c"))
    assert annotate(folder, note="") == Annotation("", ("b", "c"))


@pytest.mark.parametrize(
    ("note", "tags"),
    [("x" * 2001, []), ("\x1b[2J", []), (None, ["a,b"]), (None, [""]), (None, ["x" * 41]), (None, ["a\nb"]),
     (None, [str(i) for i in range(MOST_TAGS + 1)])],
)  # fmt: skip
def test_what_is_not_allowed_is_refused_and_changes_nothing(folder, note, tags):
    annotate(folder, "kept", add=["kept"])
    with pytest.raises(ValueError, match="allowed"):
        annotate(folder, note, add=tags)
    assert annotation_of(folder) == Annotation("kept", ("kept",))


@pytest.mark.parametrize("content", ["", "[]", '{"note": 1}', '{"tags": "good"}', '{"tags": [1]}', '{"other": ""}'])
def test_a_file_that_holds_something_else_is_named_and_not_written_over(folder, content):
    (folder / FILE_NAME).write_text(content)
    for ask in (lambda: annotation_of(folder), lambda: annotate(folder, add=["good"])):
        with pytest.raises(FolderError, match=FILE_NAME):
            ask()
    assert (folder / FILE_NAME).read_text() == content


def test_a_link_in_its_place_is_neither_followed_nor_replaced(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "secret"
    other.write_text("{}")
    (folder / FILE_NAME).symlink_to(other)
    with pytest.raises(FolderError, match="is a link"):
        annotate(folder, "x")
    assert other.read_text() == "{}"


def test_a_folder_without_a_run_takes_none(tmp_path):
    with pytest.raises(FolderError, match="holds no run"):
        annotate(tmp_path, "x")
    assert not list(tmp_path.iterdir())
