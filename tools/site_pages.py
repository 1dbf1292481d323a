"""The pages of the site, from the files of the repository: links that leave docs/ lead to a page of the site.

`stage` leaves a folder that Sphinx reads: the pages of docs, README, CHANGELOG and CONTRIBUTING, a page of each
example, of each module of the stable surface, and of each other file that a page links to. What it writes there is in
nobody's way: the pages of docs/ stay plain Markdown, whose links work in the repository.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from check_tree import ROOT, tree_files
from site_api import MODULES, api_index, api_page
from site_gallery import gallery_index, gallery_page

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
# Pages that stand outside docs/, or are folders there, by their path in the repository.
ELSEWHERE = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "docs": "index.md",
    "docs/decisions": "decisions/index.md",
    "examples": "gallery/index.md",
}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".md": "markdown", ".csv": "text"}


class Section(NamedTuple):
    """A folder of docs with its first page: what stands there, and which pages come first."""

    folder: str
    title: str
    words: str
    first: tuple[str, ...] = ()


SECTIONS = (
    Section("tutorial", "Tutorials", "Learn by doing, on the simulated rig. No hardware is needed.", ("first-trial",)),
    Section("how-to", "How-to", "Each page does one thing.", ("bring-up", "operate", "run-a-campaign")),
    Section("explanation", "Explanation", "How it works, and why.", ("architecture", "rover", "wheel", "contact")),
    Section("reference", "Reference", "Look something up.", ("words", "command-line", "config", "record", "summary")),
    Section(
        "reproduce", "Reproduced", "Results of the sources, and ours: quoted, ours, difference, why.", ("macmahon",)
    ),
    Section("notebooks", "Notebooks", "Python, step by step. The build of this site has run each of them."),
    Section("decisions", "Decisions", "What was decided, why, and what was not taken. A number is never used again."),
    Section("project", "Developers", "For those who work on the program.", ("contributing", "readme", "changelog")),
)
DEVELOPERS = ("reference/claims", "reference/limits-tested", "decisions/index", "benchmarks")  # hang below their page
# What hangs below the first page, in this order: six in the head of each page, the others in a menu there.
FIRST_PAGES = (
    "tutorial/index", "how-to/index", "explanation/index", "reference/index", "api/index", "gallery/index",
    "notebooks/index", "reproduce/index", "project/index",
)  # fmt: skip


def stage(target: Path, pictures: Path) -> None:
    """Write the pages that Sphinx reads into a folder, which is emptied first.

    Args:
        target: the folder.
        pictures: those that the examples have drawn, as `EXAMPLE.png`.
    """
    shutil.rmtree(target, ignore_errors=True)
    linked: set[str] = set()
    files = [file.as_posix() for file in tree_files(ROOT) if file.parts[0] == "docs" and file.suffix != ".pyc"]
    for name in [*files, *(name for name in ELSEWHERE if name.endswith(".md"))]:
        there = target / page_of(name)
        there.parent.mkdir(parents=True, exist_ok=True)
        if there.suffix == ".md":
            text = (ROOT / name).read_text(encoding="utf-8")
            there.write_text(relinked(text, name, page_of(name), linked), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / name, there)
    shutil.copytree(pictures, target / "gallery" / "pictures")
    _write(target, "gallery/index.md", gallery_index(pictures))
    for program in sorted((ROOT / "examples").glob("*.py")):
        name = f"gallery/{program.stem}.md"
        _write(target, name, relinked(gallery_page(program, pictures), f"docs/{name}", name, linked))
    _write(target, "api/index.md", api_index())
    for module in MODULES:
        _write(target, f"api/{module.name}.md", api_page(module))
    _write_files(target, linked)
    _write_lists(target)


def page_of(name: str) -> str:
    """Returns where a file or folder of the repository is in the site's sources, by its path."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    path = Path(name)
    if path.parts[0] == "docs":
        return path.relative_to("docs").as_posix()
    if path.parts[0] == "examples":
        return f"gallery/{path.stem}.md"
    return f"files/{name}.md"


def relinked(text: str, name: str, page: str, linked: set[str]) -> str:
    """A page whose links fit its place in the site; files that need their own page are added to `linked`.

    Args:
        text: Markdown.
        name: path of the page in the repository, to which its links are relative.
        page: its path in the sources of the site.
        linked: paths in the repository.
    """

    def corrected(link: re.Match[str]) -> str:
        to, _, heading = link[2].partition("#")
        if not to or "://" in to or to.startswith("mailto:"):
            return link[0]
        path = os.path.normpath(os.path.join(os.path.dirname(name), to))
        there = page_of(path)
        if there.startswith("files/"):
            linked.add(path)
        relative = os.path.relpath(there, os.path.dirname(page) or ".")
        return f"{link[1]}{relative}{'#' + heading if heading else ''}{link[3]}"

    lines, fence = [], ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        lines.append(line if fence else LINK.sub(corrected, line))
    return "".join(lines)


def _write(target: Path, name: str, text: str) -> None:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_files(target: Path, linked: set[str]) -> None:
    """A page of each file, and of each folder with all its files, that a page links to and that is none itself."""
    tracked = [file.as_posix() for file in tree_files(ROOT)]
    folders = {path for path in linked if (ROOT / path).is_dir()}
    inside = {file for file in tracked if any(file.startswith(f"{folder}/") for folder in folders)}
    for path in sorted((linked - folders) | inside):
        text = (ROOT / path).read_text(encoding="utf-8")
        fence = "`" * (1 + max((len(run) for run in re.findall("`{3,}", text)), default=2))
        language = LANGUAGES.get(Path(path).suffix, "text")
        page = f"---\norphan: true\n---\n# `{path}`\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
        _write(target, f"files/{path}.md", page)
    for folder in folders:
        parent = Path(folder).parent
        lines = [
            f"- [{file}]({os.path.relpath(file, parent)}.md)"
            for file in sorted(inside)
            if file.startswith(f"{folder}/")
        ]
        _write(target, f"files/{folder}.md", f"---\norphan: true\n---\n# `{folder}`\n\n" + "\n".join(lines) + "\n")


def _write_lists(target: Path) -> None:
    """The first page of each section, and what hangs below the first page of all."""
    for folder, title, words, first in SECTIONS:
        names = sorted(path.stem for path in (target / folder).glob("*.md") if path.stem != "index")
        ordered = [*first, *(name for name in names if name not in first and f"{folder}/{name}" not in DEVELOPERS)]
        if folder == "project":
            ordered += [f"/{page}" for page in DEVELOPERS]
        page = target / folder / "index.md"
        head = page.read_text(encoding="utf-8") if page.is_file() else f"# {title}\n\n{words}\n"
        page.write_text(f"{head}\n{toctree(ordered, hidden=page.is_file() and '](' in head)}", encoding="utf-8")
    figures = target / "benchmarks.md"
    names = sorted(f"benchmarks/{path.stem}" for path in (target / "benchmarks").glob("*.md"))
    figures.write_text(figures.read_text(encoding="utf-8") + "\n" + toctree(names, hidden=True), encoding="utf-8")
    index = target / "index.md"
    index.write_text(index.read_text(encoding="utf-8") + "\n" + toctree(FIRST_PAGES, hidden=True), encoding="utf-8")


def toctree(names: Sequence[str], *, hidden: bool) -> str:
    """A list of pages, as Sphinx wants it."""
    options = ":hidden:\n" if hidden else ":maxdepth: 1\n"
    return f"```{{toctree}}\n{options}\n" + "".join(f"{name}\n" for name in names) + "```\n"
