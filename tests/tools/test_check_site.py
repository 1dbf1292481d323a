"""What is broken in a built site is named: dead links and anchors, missing pictures, whatever a page would fetch."""

from __future__ import annotations

import pytest

GOOD = (
    '<a href="other.html#there">a</a><img src="a.png" alt="a"><a href="https://example.org">out</a><a href="#">top</a>'
)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1><a href="index.html">back</a>')
    (tmp_path / "a.png").write_bytes(b"")
    return tmp_path


def problems(check_site, site, page: str) -> list[str]:
    (site / "index.html").write_text(page)
    return check_site.crawl(site).problems


def test_a_whole_site_passes_and_its_links_out_are_listed(check_site, site, capsys):
    assert problems(check_site, site, GOOD) == []
    assert check_site.main([str(site), "--external"]) == 0
    assert "https://example.org\nsite: 2 pages, 5 links and pictures, 0 broken; 1 lead out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<a href="gone.html">a</a>', "no such file"),
        ('<a href="other.html#gone">a</a>', "no such anchor"),
        ('<a href="#gone">a</a>', "no such anchor"),
        ('<a href="/other.html">a</a>', "absolute"),
        ('<a href="../elsewhere.html">a</a>', "outside"),
        ('<a href="sub/">a</a>', "a folder"),
        ('<img src="gone.png" alt="a">', "no such file"),
        ('<img src="a.png">', "without a text"),
        ('<script src="https://cdn.example/x.js"></script>', "needs no network"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "needs no network"),
    ],
)
def test_what_is_broken_is_named_with_its_page(check_site, site, page, said):
    (found,) = problems(check_site, site, page)
    assert found.startswith("index.html: ")
    assert said in found


def test_a_style_that_fetches_or_misses_a_file_is_named(check_site, site):
    (site / "style.css").write_text("a{b:url(gone.woff2)} c{d:url('data:x')} @import 'https://fonts.example/x.css';")
    found = problems(check_site, site, GOOD)
    assert [one.partition(": ")[2] for one in found] == [
        "gone.woff2: no such file",
        "fetches https://fonts.example/x.css: a page of the site needs no network",
    ]


def test_an_empty_folder_is_no_site(check_site, tmp_path, capsys):
    assert check_site.main([str(tmp_path)]) == 1
    assert "no page" in capsys.readouterr().err
