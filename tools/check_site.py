"""Looks at every page of a built site: links and anchors lead somewhere, pictures are there, nothing is fetched.

Run: python tools/check_site.py build/site [--external]    (`make site` does)
"""

from __future__ import annotations

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# Attributes that a browser follows by itself when it shows a page, by tag; the others are followed by a reader.
FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("video", "src")}
FOLLOWED = {("a", "href"), ("option", "value")}
OF_A_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """What one page refers to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.fetched: list[str] = []
        self.followed: list[str] = []
        self.anchors: set[str] = set()
        self.nameless: int = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the references and anchors of a tag."""
        values = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))
        if tag == "link" and values.get("rel") in ("next", "prev", "search", "index", "canonical"):
            self.followed.append(values.get("href") or "")
            return
        if tag == "img" and not values.get("alt"):
            self.nameless += 1
        for name, value in attrs:
            if (tag, name) in FETCHED and value:
                self.fetched.append(value)
            elif (tag, name) in FOLLOWED and value is not None and tag == "a":
                self.followed.append(value)


class Found(NamedTuple):
    """What is wrong with a site, and how much was looked at."""

    problems: list[str]
    external: set[str]
    pages: int
    links: int


def crawl(site: Path) -> Found:
    """Look at every page and style of a site, whether or not a link leads to it."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems: list[str] = [] if pages else [f"{site}: no page in it"]
    external: set[str] = set()
    links = 0
    for path, page in pages.items():
        where = path.relative_to(site)
        problems += [f"{where}: {page.nameless} pictures without a text in their place"] if page.nameless else []
        for target in page.fetched + page.followed:
            links += 1
            if urlsplit(target).scheme or target.startswith("//"):
                external.add(target)
                if target in page.fetched and not target.startswith("data:"):
                    problems.append(f"{where}: fetches {target}: a page of the site needs no network")
            elif (missing := _missing(site, path, target, pages)) is not None:
                problems.append(f"{where}: {target}: {missing}")
    for path in sorted(site.rglob("*.css")):
        for first, second in OF_A_STYLE.findall(path.read_text(encoding="utf-8")):
            target = first or second
            if target.startswith(("data:", "#")):
                continue
            links += 1
            if urlsplit(target).scheme or target.startswith("//"):
                problems.append(f"{path.relative_to(site)}: fetches {target}: a page of the site needs no network")
            elif not (path.parent / unquote(urlsplit(target).path)).is_file():
                problems.append(f"{path.relative_to(site)}: {target}: no such file")
    return Found(problems, external, len(pages), links)


def _missing(site: Path, path: Path, target: str, pages: dict[Path, Page]) -> str | None:
    """Why a reference inside the site leads nowhere; None: it leads somewhere."""
    parts = urlsplit(target)
    if parts.path.startswith("/"):
        return "absolute: it leads elsewhere when the site stands under a path"
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_relative_to(site):
        return "outside of the site"
    if there.is_dir():
        return "a folder: opened from a disk it shows no page"
    if not there.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and there in pages and anchor not in pages[there].anchors:
        return "the page has no such anchor"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Print what is broken; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--external", action="store_true", help="list the links that lead out of the site")
    options = parser.parse_args(arguments)
    found = crawl(options.site.resolve())
    for problem in found.problems:
        print(problem, file=sys.stderr)
    if options.external:
        print(*sorted(found.external), sep="\n")
    print(
        f"site: {found.pages} pages, {found.links} links and pictures, {len(found.problems)} broken; "
        f"{len(found.external)} lead out of it and were not followed"
    )
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
