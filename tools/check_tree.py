"""Rules of the tree that other linters do not check; run by `make lint`."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 400
LOCKS = ("requirements.lock", "requirements-test.lock", "requirements-dev.lock", "requirements-uv.lock")
# Not portable: local addresses, index settings, and absolute paths (POSIX or Windows).
NOT_PORTABLE = re.compile(
    r"file:|://|^\s*(?:-i|-f|--(?:extra-)?index-url|--find-links|--trusted-host)\b"
    r"|(?:^|[\s='\"@(])(?:/|~/|[A-Za-z]:[\\/])"
)
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""\]\(([^)\n]+?)(?: "[^"]*")?\)""")  # an address with a space in it is none, and is noticed
NAMES_PAGES = (".py", ".yaml", ".toml", ".ll")
PAGE = re.compile(r"\bdocs/[\w./-]+\.md\b")


def tree_files(root: Path) -> list[Path]:
    """Returns the files of the tree, relative to `root`: tracked ones, and new ones that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(Path(name) for name in set(names) if name and (root / name).is_file())


def long_files(root: Path, files: list[Path]) -> list[str]:
    """Python files over MAX_LINES lines."""
    problems = []
    for file in files:
        if file.suffix == ".py":
            lines = len((root / file).read_text(encoding="utf-8").splitlines())
            if lines > MAX_LINES:
                problems.append(f"warning: {file}: {lines} lines, over {MAX_LINES}: is it two things in one?")
    return problems


def utils_folders(files: list[Path]) -> list[str]:
    """Folders named utils."""
    folders = {parent for file in files for parent in file.parents if parent.name == "utils"}
    return [f"{folder}/: name the folder after what is in it, not utils" for folder in sorted(folders)]


def lock_problems(root: Path) -> list[str]:
    """Lines of the lock files that are valid on one machine only, and user pins that differ from the tests' pins."""
    lines = {name: (root / name).read_text(encoding="utf-8").splitlines() for name in LOCKS}
    problems = [
        f"{name}:{number}: an address or a machine's own path: {line.strip()!r}; write it again with make lock"
        for name in LOCKS
        for number, line in enumerate(lines[name], start=1)
        if NOT_PORTABLE.search(line)
    ]
    *parts, dev, _ = LOCKS
    pins = {line.split()[0] for line in lines[dev] if "==" in line}  # the markers behind a pin may be wider there
    return problems + [
        f"{part}: {line.split()[0]} is not what {dev} pins, so no test runs with it; write both again with make lock"
        for part in parts
        for line in lines[part]
        if "==" in line and line.split()[0] not in pins
    ]


def broken_links(root: Path, files: list[Path]) -> list[str]:
    """Links in Markdown to missing files or headings."""
    problems = []
    for file in (file for file in files if file.suffix == ".md"):
        text = CODE_BLOCK.sub("", (root / file).read_text(encoding="utf-8"))
        for target in LINK.findall(text):
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, heading = target.partition("#")
            there = (root / file.parent / path).resolve() if path else root / file
            if not there.exists():
                problems.append(f"{file}: link to {target}, which is not there: correct the path")
            elif heading and heading not in headings(there.read_text(encoding="utf-8")):
                problems.append(f"{file}: link to {target}: the page has no such heading")
    return problems


def headings(text: str) -> set[str]:
    """Returns the anchors of a page: its headings, in small letters with hyphens for spaces."""
    found = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def lost_pages(root: Path, files: list[Path]) -> list[str]:
    """Returns the missing pages of docs that code, configs or settings name."""
    problems = []
    for file in (file for file in files if file.suffix in NAMES_PAGES and file.parts[0] != "tests"):
        for name in PAGE.findall((root / file).read_text(encoding="utf-8")):
            if not (root / name).is_file():
                problems.append(f"{file}: names {name}, which is not there: correct the path")
    return problems


def main() -> int:
    """Print every broken rule, and what is worth a look; 1 if a rule is broken."""
    files = tree_files(ROOT)
    problems = [*utils_folders(files), *lock_problems(ROOT), *broken_links(ROOT, files), *lost_pages(ROOT, files)]
    for problem in [*long_files(ROOT, files), *problems]:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"tree: {len(files)} files, no rule broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
