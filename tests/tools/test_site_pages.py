"""Links of the repository lead to pages of the site, and every example has a page in it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("name", "link", "mended"),
    [
        ("docs/how-to/operate.md", "../reference/words.md#safe", "../reference/words.md#safe"),
        ("docs/index.md", "../CONTRIBUTING.md#add-an-experiment", "project/contributing.md#add-an-experiment"),
        ("docs/index.md", "../examples", "gallery/index.md"),
        ("docs/how-to/operate.md", "../../examples/own_rover.py", "../gallery/own_rover.md"),
        ("docs/how-to/operate.md", "../../rig_configs/sim_wire.yaml", "../files/rig_configs/sim_wire.yaml.md"),
        ("docs/index.md", "decisions", "decisions/index.md"),
        ("README.md", "docs/images/trial.png", "../images/trial.png"),
        ("README.md", "LICENSE", "../files/LICENSE.md"),
        ("README.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("README.md", "#start", "#start"),
    ],
)
def test_a_link_of_the_repository_leads_to_a_page_of_the_site(site_pages, name, link, mended):
    linked = set()
    text = site_pages.relinked(f"[a]({link})\n", name, site_pages.page_of(name), linked)
    assert text == f"[a]({mended})\n"
    assert bool(linked) == ("files/" in mended)


def test_a_block_of_code_is_left_as_it_is(site_pages):
    text = "```\n[a](../examples)\n```\n````\n```\n[a](../examples)\n```\n````\n"
    assert site_pages.relinked(text, "docs/index.md", "index.md", set()) == text


def test_every_page_and_example_is_staged_and_hangs_somewhere(site_pages, root, tmp_path):
    (tmp_path / "pictures").mkdir()
    pages = tmp_path / "pages"
    site_pages.stage(pages, tmp_path / "pictures")
    staged = {path.relative_to(pages).with_suffix("").as_posix() for path in pages.rglob("*.md")}
    docs = {path.relative_to(root / "docs").with_suffix("").as_posix() for path in (root / "docs").rglob("*.md")}
    assert staged >= docs | {f"gallery/{path.stem}" for path in (root / "examples").glob("*.py")}
    assert staged >= {"project/readme", "project/changelog", "project/contributing", "files/LICENSE"}
    assert staged >= {f"api/{module.name}" for module in site_pages.MODULES}
    assert ".. autofunction:: hil.run\n" in (pages / "api" / "hil.md").read_text(encoding="utf-8")
    assert "own_rover.md" in (pages / "gallery" / "index.md").read_text(encoding="utf-8")


def test_an_example_shows_what_it_prints(site_pages, root, tmp_path):
    page = site_pages.gallery_page(root / "examples" / "own_experiment.py", tmp_path)
    assert page.startswith("# An experiment of your own on the simulated rig")
    assert "```text\nstates: IDLE 0.201 s" in page
    assert "[how-to/add-a-driver.md](../how-to/add-a-driver.md)" in page
    assert "class " in page.partition("```python")[2]
