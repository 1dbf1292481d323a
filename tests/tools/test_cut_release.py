"""tools/cut_release.py: what is unreleased becomes a release, and a tag without one is noticed."""

import re

import pytest

from .conftest import script

TEXT = "# Changelog\n\n## [Unreleased]\n\n### Added\n- a thing\n"


@pytest.fixture(scope="module")
def cut_release():
    return script("tools/cut_release.py")


def test_what_is_unreleased_is_under_the_release_and_unreleased_is_empty(cut_release):
    once = cut_release.cut(TEXT, "0.1.0", "2026-11-25")
    assert once == "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-25\n\n### Added\n- a thing\n"
    cut_release.check(once, "v0.1.0")
    more = once.replace("## [Unreleased]\n", "## [Unreleased]\n\n### Fixed\n- a fault\n")
    twice = cut_release.cut(more, "0.1.1", "2026-12-01")
    assert re.findall(r"^## \[(.*?)\]", twice, re.MULTILINE) == ["Unreleased", "0.1.1", "0.1.0"]


@pytest.mark.parametrize(
    ("text", "version", "why"),
    [
        (TEXT, "0.1", "three numbers"),
        (TEXT, "v0.1.0", "three numbers"),
        ("# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-25\n- a thing\n", "0.1.1", "nothing under Unreleased"),
        (TEXT + "## [0.1.0] - 2026-11-25\n", "0.1.0", "already"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(cut_release, text, version, why):
    with pytest.raises(cut_release.NotCutError, match=why):
        cut_release.cut(text, version, "2026-12-01")


def test_a_tag_that_the_changelog_does_not_know_is_refused(cut_release):
    with pytest.raises(cut_release.NotCutError, match="cut it before the tag"):
        cut_release.check(TEXT, "v0.1.0")


def test_every_action_of_the_workflows_is_pinned_by_commit_and_says_which_release_that_is(root):
    used = [line for file in (root / ".github/workflows").glob("*.yml") for line in file.read_text().splitlines()]
    used = [line for line in used if "uses:" in line]
    assert used
    assert [line for line in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
