"""What stands in the tables of the pages, as data: docs/figures/data has a JSON file for each page with such numbers.

Whatever writes a table into a page writes it into that file too, by `write`; `wrong` says where a page and its file
differ. The place of a table in a page is that between the comments `<!-- NAME -->` and `<!-- end -->`; without them its
name is the heading above it. A number in a sentence, or in a table that quotes another, has `<!--value:NAME-->`
after it: its text is in the file under `values`, and under `quotes` the page, table and row that it is taken from.

Of benchmarks and reproductions `sentences` has the numbers of the text by heading. A table has: `by`, the script that
makes it, with its options; `apart`, why `make figures-check` leaves it out; `from`, when; `seconds` of a processor that
it takes, where the tests make it again; `tolerance`, relative, to which its numbers come again; `timings`, columns that
are compared as ratios to their first row, for they are of one `machine`; `rows`, lists of cells, or lines that are no
row.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("docs/figures/data")
# Of these pages the numbers of all sentences are held too, in their order under each heading.
HELD = re.compile(r"docs/(benchmarks|reproduce)/[\w-]+\.md")
MARK = re.compile(r"<!-- (?!end)([\w ]+) -->")
GENERATED = re.compile(r"<!-- generated.*?(<!-- end -->|\Z)", re.DOTALL)
VALUE = re.compile(r"<!--value:([\w-]+)-->")
# a minus is one where no range ends: 3-4 are two numbers
NUMBER = re.compile(r"(?<![\w.])(?:(?<![\d\w])-)?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
Row: TypeAlias = "list[str] | str"


def data_of(page: str, root: Path = ROOT) -> dict[str, Any]:
    """What the file of a page says; empty if it has none."""
    path = file_of(page, root)
    if not path.exists():
        path = file_of(page)
    empty: dict[str, Any] = {"tables": {}, "values": {}}
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else empty


def file_of(page: str, root: Path = ROOT) -> Path:
    """The file of a page, by the page's path from the root of the tree."""
    return (root / FOLDER / page.removeprefix("docs/")).with_suffix(".json")


def tables_of(text: str) -> dict[str, list[Row]]:
    """Tables of a page with a digit in them, by name, row by row; without those that `make docs` writes."""
    found: dict[str, list[str]] = {}
    heading, name = "", ""
    marked = fenced = False
    for line in GENERATED.sub("", text).splitlines():
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            continue
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if mark := MARK.fullmatch(line):
            name, marked = mark[1], True
            found[name] = []
        elif line == "<!-- end -->":
            name, marked = "", False
        elif marked or line.startswith("|"):
            name = name or _free(heading, found)
            found.setdefault(name, []).append(line)
        else:
            name = ""
    return {name: [_row(line) for line in lines] for name, lines in found.items() if re.search(r"\d", "".join(lines))}


def sentences_of(page: str, text: str) -> dict[str, str]:
    """Numbers outside of tables and blocks of code, by heading."""
    found: dict[str, str] = {}
    if HELD.fullmatch(page):
        bare = re.sub(r"```.*?```|\]\([^)]*\)|<!--.*?-->|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
        for part in re.split(r"^#+ ", bare, flags=re.MULTILINE)[1:]:
            heading, _, rest = part.partition("\n")
            if given := NUMBER.findall(rest):
                found[heading] = " ".join([*found.get(heading, "").split(), *given])
    return found


def _free(heading: str, taken: Mapping[str, object]) -> str:
    return next(name for name in (heading, *(f"{heading} ({n})" for n in range(2, 99))) if name not in taken)


def _row(line: str) -> Row:
    cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
    return cells if line == f"| {' | '.join(cells)} |" else line


def write(page: str, text: str, root: Path = ROOT, about: Mapping[str, str] | None = None) -> None:
    """Write a page, and its tables into its file.

    Args:
        page: its path from the root of the tree.
        text: of the page.
        root: of the tree that is written to.
        about: of the tables that are new or have other rows than before; none: as `about_this_run`.
    """
    data = data_of(page, root)
    data["tables"] = {
        name: {**then, **((about or about_this_run()) if then.get("rows") != rows else {}), "rows": rows}
        for name, rows in tables_of(text).items()
        for then in [data["tables"].get(name, {})]
    }
    if HELD.fullmatch(page):
        data["sentences"] = sentences_of(page, text)
    (root / page).parent.mkdir(parents=True, exist_ok=True)
    (root / page).write_text(text, encoding="utf-8")
    save(page, data, root)


def about_this_run() -> dict[str, str]:
    """What a table says of the script that runs: which, and on which day."""
    scripts = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob(f"*/{Path(sys.argv[0]).name}")]
    return {"by": "".join(scripts), "from": f"run of {datetime.now(UTC):%Y-%m-%d}"}


def save(page: str, data: Mapping[str, Any], root: Path = ROOT) -> None:
    """Write the file of a page, a row of a table on a line."""
    path = file_of(page, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {f"@{i}@": row for i, row in enumerate(row for one in data["tables"].values() for row in one["rows"])}
    names = iter(rows)
    tables = {
        key: {**{k: v for k, v in one.items() if k != "rows"}, "rows": [next(names) for _ in one["rows"]]}
        for key, one in data["tables"].items()
    }
    text = json.dumps({**data, "tables": tables}, indent=1, ensure_ascii=False)
    text = re.sub(r'"(@\d+@)"', lambda match: json.dumps(rows[match[1]], ensure_ascii=False), text)
    path.write_text(text + "\n", encoding="utf-8")


def wrong(page: str, text: str, root: Path = ROOT) -> list[str]:
    """Where a page says something else than its file: rows of tables, and values in sentences."""
    data = data_of(page, root)
    there, held = tables_of(text), {name: one["rows"] for name, one in data["tables"].items()}
    found = [f"{page}: the table {name!r} is on one side only" for name in sorted(there.keys() ^ held.keys())]
    for name in there.keys() & held.keys():
        if there[name] != held[name]:
            found += [f"{page}, {name}: {row}" for row in there[name] if row not in held[name]] or [f"{page}, {name}"]
    says, kept = sentences_of(page, text), data.get("sentences", {})
    found += [
        f"{page}, numbers of sentences under {name!r}: {says.get(name)}, in its file {kept.get(name)}"
        for name in sorted(says.keys() | kept.keys())
        if says.get(name) != kept.get(name)
    ]
    return [*found, *_wrong_values(page, text, data["values"], root)]


def _wrong_values(page: str, text: str, values: Mapping[str, Any], root: Path) -> Iterator[str]:
    parts = VALUE.split(text)
    for before, name in zip(parts[::2], parts[1::2], strict=False):
        said = values.get(name, {}).get("text")
        # what is left of it may be the end of a longer number
        if not said or not re.search(rf"(?<![\d.]){re.escape(said)}$", re.sub(r"\s+", " ", before)):
            yield f"{page}: {before[-40:]!r} is not the value {name!r}, {said!r}"
    yield from (f"{page}: no mark of the value {name!r}" for name in values if name not in parts[1::2])
    for name, value in values.items():
        if "quotes" not in value:
            continue
        of, table, row = value["quotes"]
        rows = data_of(of, root)["tables"].get(table, {"rows": ()})["rows"]
        quoted = numbers(" ".join(map(str, next((one for one in rows if row in one[:1]), ()))))
        if not quoted or not set(numbers(value["text"])) <= set(quoted):
            yield f"{page}: {value['text']!r} of {name!r} is not in {of}, {table!r}, row {row!r}"


def numbers(text: str) -> list[float]:
    """All numbers of a text."""
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]


def different(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """Rows of a table made again that are not those of the file: other words, or numbers beyond its tolerance."""
    mine, theirs = (_cells(one["rows"], then.get("timings", ())) for one in (now, then))
    if [len(row) for row in mine] != [len(row) for row in theirs]:
        return ["other rows or columns"]
    return [
        f"now {a}, then {b}"
        for a, b in zip(mine, theirs, strict=True)
        if not all(_same(x, y, then.get("tolerance", 0.0)) for x, y in zip(a, b, strict=True))
    ]


def _cells(rows: Sequence[Row], timings: Sequence[str]) -> list[list[str]]:
    """Cells of all rows, those of timings as ratios to the first row of their column."""
    made = [[row] if isinstance(row, str) else [*row] for row in rows]
    for column in (made[0].index(name) for name in timings):
        under = [row for row in made[1:] if len(row) == len(made[0])]
        first = numbers(under[0][column])[0]
        for row in under:
            row[column] = ", ".join(f"{one / first:.6g}" for one in numbers(row[column]))
    return made


def _same(now: str, then: str, tolerance: float) -> bool:
    """Same words, and numbers to the tolerance, or to one of their last digit."""
    if NUMBER.sub("", now) != NUMBER.sub("", then):
        return False
    allowed = [max(tolerance * abs(numbers(one)[0]), 1.01 * _digit(one)) for one in NUMBER.findall(then)]
    return all(abs(a - b) <= most for a, b, most in zip(numbers(now), numbers(then), allowed, strict=True))


def _digit(number: str) -> float:
    mantissa, _, exponent = number.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))
