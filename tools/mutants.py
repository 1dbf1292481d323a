"""Breaks the code that keeps a rig safe, one place at a time, and says which test notices.

    python tools/mutants.py sample --mutants 200 --seed 1 --processes 2
    python tools/mutants.py limits --write

`sample`, `make mutants`: draws mutations of whole packages (tools/mutations.py), runs the quick tests near each, and
prints the changes that no test noticed and the score of each package.
`limits`, `make limits`: breaks every limit of tools/broken_limits.yaml on each side, and writes which test notices into
docs/reference/limits-tested.md. Exit status 1: one was not noticed.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from check_tree import ROOT, tree_files
from mutation_runs import Change, Outcome, run_all, tests_naming, tests_near
from mutations import mutations_of

PACKAGES = ("hil/safety", "hil/control", "hil/operator")
LIMITS, EQUIVALENT = ROOT / "tools" / "broken_limits.yaml", ROOT / "tools" / "equivalent_mutants.yaml"
PAGE = ROOT / "docs" / "reference" / "limits-tested.md"
_MARK = "<!-- generated -->\n"


class Mutant(NamedTuple):
    """A mutation of a file.

    Attributes:
        package: that the file is in.
        change: of the file.
        place: FILE:LINE.
        what: the line, and old and new code in it.
        equivalent: why it changes nothing that a test can see; "": a test should notice it.
    """

    package: str
    change: Change
    place: str
    what: str
    equivalent: str


class BrokenLimit(NamedTuple):
    """A limit, broken in one way.

    Attributes:
        file: with its code.
        limit: in words.
        how: what was changed.
        change: of the file.
        equivalent: see `Mutant`.
    """

    file: str
    limit: str
    how: str
    change: Change
    equivalent: str


def mutants_of(package: str) -> list[Mutant]:
    """All mutants of a package's files."""
    reasons = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8"))
    found = []
    for file in (path.as_posix() for path in tree_files(ROOT) if path.as_posix().startswith(package + "/")):
        if file.endswith(".py"):
            source = (ROOT / file).read_text(encoding="utf-8")
            for one in mutations_of(source):
                what = f"{source.splitlines()[one.line - 1].strip()} ({one.old} -> {one.new})"
                reason = reasons.get(file, {}).get(what, "")
                change = Change(file, one.source, tests_near(file))
                found.append(Mutant(package, change, f"{file}:{one.line}", what, reason))
    return found


def broken_limits() -> list[BrokenLimit]:
    """All limits of the table, broken in each of their ways.

    Raises:
        ValueError: the code of a limit is not in its file, or more than once.
    """
    found = []
    for file, given in yaml.safe_load(LIMITS.read_text(encoding="utf-8")).items():
        tests = tuple(given.get("tests", ())) or tests_naming(file)
        source = (ROOT / file).read_text(encoding="utf-8")
        for entry in given["limits"]:
            after, code = entry.get("after", ""), entry["code"]
            begin, times = source.find(after), source.count(after or code)
            if times != 1 or code not in source[begin:]:
                raise ValueError(
                    f"{file}: {entry['limit']}: not there, or {times} times instead of once: {after or code}"
                )
            for how, new in entry["broken"].items():
                change = Change(file, source[:begin] + source[begin:].replace(code, new, 1), tests)
                found.append(BrokenLimit(file, entry["limit"], how, change, entry.get("equivalent", {}).get(how, "")))
    return found


def sample(packages: Sequence[str], count: int, seed: int, processes: int) -> int:
    """Print what the tests say of some mutants of each package."""
    chance = random.Random(seed)
    drawn = []
    for package in packages:
        mutants = mutants_of(package)
        drawn += chance.sample(mutants, min(count // len(packages), len(mutants)))
    judged = [mutant for mutant in drawn if not mutant.equivalent]

    def ended(number: int, outcome: Outcome) -> None:
        noticed = outcome.noticed_by or "NOT NOTICED"
        print(f"{judged[number].place}: {judged[number].what}: {noticed} ({outcome.took_s:.0f} s)", flush=True)

    outcomes = run_all([mutant.change for mutant in judged], processes, ended)
    print("\nNot noticed:")
    for mutant, outcome in zip(judged, outcomes, strict=True):
        if not outcome.noticed_by:
            print(f"  {mutant.place}: {mutant.what}")
    print(f"\nScore, seed {seed}:")
    drawn_in, noticed_in = Counter(one.package for one in drawn), Counter[str]()
    judged_in = Counter(one.package for one in judged)
    noticed_in.update(one.package for one, said in zip(judged, outcomes, strict=True) if said.noticed_by)
    for package in packages:
        noticed, of = noticed_in[package], judged_in[package]
        equal = drawn_in[package] - of
        print(f"  {package}: {noticed} of {of} noticed, {noticed / max(of, 1):.1%}; {equal} more change nothing")
    return 0


def limits(processes: int, texts: Sequence[str], *, write: bool) -> int:
    """Print, and write into the page, which test notices each broken limit; 1 if one is not noticed."""
    broken = [one for one in broken_limits() if any(text in f"{one.file}: {one.limit}" for text in texts)]
    found: dict[int, str] = {}

    def ended(number: int, outcome: Outcome) -> None:
        one, found[number] = broken[number], outcome.noticed_by
        noticed = outcome.noticed_by or one.equivalent or "NOT NOTICED"
        print(f"{one.file}: {one.limit}, {one.how}: {noticed} ({outcome.took_s:.0f} s)", flush=True)

    try:
        run_all([one.change for one in broken], processes, ended)
    finally:
        if write:
            write_page([(broken[number], noticed_by) for number, noticed_by in found.items()])
    wrong = [one for number, one in enumerate(broken) if bool(found[number]) == bool(one.equivalent)]
    print(f"\n{len(broken)} broken limits, {len(wrong)} not as they should be:")
    for one in wrong:
        why = "called equivalent, and a test notices it" if one.equivalent else "no test notices it"
        print(f"  {one.file}: {one.limit}, {one.how}: {why}")
    return 1 if wrong else 0


def write_page(found: Sequence[tuple[BrokenLimit, str]]) -> None:
    """Write the lists of the page, one for each file; limits that were not broken now keep what noticed them."""
    head, _, old = PAGE.read_text(encoding="utf-8").partition(_MARK)
    noticed = _noticed(old)
    for one, noticed_by in found:
        path, _, test = noticed_by.partition("[")[0].partition("::")
        said = f"`{Path(path).name}::{test}`" if test else noticed_by
        noticed[one.limit, one.how] = said or one.equivalent or "**nothing**"
    parts, file, limit = [head + _MARK], "", ""
    by: dict[str, list[str]] = {}
    for one in broken_limits():
        if (one.file, one.limit) != (file, limit):
            parts += [*_lines(limit, by), "" if one.file == file else f"\n## {one.file}\n\n"]
            by = {}
        file, limit = one.file, one.limit
        by.setdefault(noticed.get((one.limit, one.how), "not run yet"), []).append(one.how)
    parts += _lines(limit, by)
    PAGE.write_text("".join(parts), encoding="utf-8")


def _lines(limit: str, by: dict[str, list[str]]) -> list[str]:
    """Lines of one limit: a single one where all its breaks have the same answer."""
    if len(by) == 1:
        return [f"- {limit}: {said}\n" for said in by]
    return [f"- {limit}\n" if by else "", *(f"  - {', '.join(hows)}: {said}\n" for said, hows in by.items())]


def _noticed(page: str) -> dict[tuple[str, str], str]:
    """Returns what noticed each break of a limit, as the page has it."""
    found: dict[tuple[str, str], str] = {}
    hows_of: dict[str, list[str]] = {}
    for one in broken_limits():
        hows_of.setdefault(one.limit, []).append(one.how)
    limit = ""
    for line in page.splitlines():
        if line.startswith("- "):
            limit = max((name for name in hows_of if line[2:].startswith(name)), key=len, default=line[2:])
            said = line[2 + len(limit) :].removeprefix(": ")
            found |= {(limit, how): said for how in hows_of.get(limit, ()) if said}
        elif line.startswith("  - "):
            hows, _, said = line[4:].partition(": ")
            found |= {(limit, how): said for how in hows.split(", ")}
    return found


def main(words: Sequence[str]) -> int:
    """Break the code, and print what the tests say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("sample", "limits"))
    parser.add_argument(
        "--mutants", type=int, default=200, help="how many, the same number of each package (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice (%(default)s)")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, help="folders of the tree (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="that run tests at the same time (%(default)s)")
    parser.add_argument("--only", nargs="+", default=[""], help="limits whose file and name have one of these texts")
    parser.add_argument("--write", action="store_true", help=f"the page {PAGE.relative_to(ROOT)}")
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was begun here ends, too
    if given.part == "limits":
        return limits(given.processes, given.only, write=given.write)
    return sample(given.packages, given.mutants, given.seed, given.processes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
