"""Writes the tables of docs that follow from the code: fields of a record, keys of a config, faults, valid ranges.

Run: python tools/reference.py --write | --check    (`make docs` writes, `make lint` checks)

A pair of comments marks the place of a table in a page; the text between them is replaced.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from drivers.registry import BUILT_IN
from drivers.reported import StatusTable
from hil.config import load_config
from hil.config.error_messages import KINDS, allowed, resolved, whole_schema
from hil.config.operator_settings import default_of, keys_of, kinds_of
from hil.experiments.base import Experiment
from hil.experiments.registry import BUILT_IN as EXPERIMENTS
from hil.experiments.summary_table import EVERY_RUN, SummaryKey
from hil.messages.layout import Layout, Signal
from hil.messages.signals import PLAIN, ROWS
from hil.safety.fault_table import FAULT_TABLE, FaultRow, ReactionTimes
from hil.safety.fault_table.times import BY_OPERATOR
from models.validity import VALIDITIES

# The config whose times stand in the fault table, and its rows.
BOUNDS_OF = "sim_wire"
_ROWS = tuple(FAULT_TABLE.values())
ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# A layout with all that a rig may have, and a different number for every count, so that a shape identifies its count.
_LAYOUT = Layout(
    tuple("123456789AB"), tuple("12345"), tuple("123"), regulators=tuple("1234"), loads=tuple("123456789"),
    leg_sensors=True, load_cell=True, controls_loads=True, open_loop=True, supplies=tuple("12345678"),
    turning=tuple("1234567890"), motion=True, trigger=True, servos=tuple("123456789ABC"),
    triggers=tuple("123456789ABCD"),
)  # fmt: skip
_COUNTS = {
    11: "wheels",
    10: "turning joints",
    12: "servos",
    13: "trigger lines",
    5: "cylinders",
    3: "channels",
    4: "regulators",
    9: "loads",
    8: "supplies",
}


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# ---- fields of a record ----
def record_tables() -> str:
    """Every dataset of `trial.h5` but `/meta`: its fields with type, unit and meaning."""
    parts = []
    for path, (description, signals) in ROWS.items():
        rows = _together([_field_row(signal) for signal in signals if signal.present(_LAYOUT)])
        head = ("field", "type", "unit", "shape", "what it is")
        parts.append(f"### /{path}\n\n{_sentence(description)}\n\n{table(head, rows)}")
    plain = ((f"`/{path}`", field.unit, field.elements, field.description) for path, field in PLAIN.items())
    parts.append(f"### Plain numbers\n\n{table(('dataset', 'unit', 'columns', 'what it is'), plain)}")
    return "\n".join(parts)


def _field_row(signal: Signal) -> Sequence[str]:
    dtype = np.dtype(signal.kind)
    kind = f"text of {dtype.itemsize} bytes" if dtype.kind == "S" else dtype.name
    shape = " x ".join(_COUNTS.get(count, str(count)) for count in signal.shape(_LAYOUT))
    names = f" ({signal.elements.replace(',', ', ')})" if "," in signal.elements else ""
    words = re.sub(r"in the stage \w+$", "in that stage", signal.description)
    return f"`{signal.name}`", kind, signal.unit, f"{shape}{names}", words


def _together(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The rows; those that follow each other and say the same of their names are one."""
    for same, group in groupby(rows, key=lambda row: row[1:]):
        yield ", ".join(row[0] for row in group), *same


# ---- keys of a config ----
def config_tables() -> str:
    """Every key of a config: default, what is allowed, and what it is; units are in its name, or in brackets."""
    return "\n".join(_sections("", whole_schema(), {}))


def _sections(
    path: str, schema: Mapping[str, Any], said: dict[Sequence[str], str], when: str = "", note: str = ""
) -> Iterator[str]:
    """A table of a section's keys, then one for each kind of section inside it.

    Args:
        path: of the section, dotted; alike sections with commas between.
        schema: of the section.
        said: rows so far, with the section that has them; another one that has the same row names that section.
        when: the driver that it belongs to.
        note: text of its key, where it may be null.
    """
    given = keys_of(schema)
    properties = {key: resolved(value) for key, value in given.items()}
    described = {key: value | given[key] for key, value in properties.items()}
    named = given.keys() - schema["properties"].keys() if schema.get("needed", True) else ()
    needed = (*schema.get("required", ()), *named)
    rows = [
        _key_row(key, described[key], key in needed)
        for key in properties
        if not {"properties", "discriminator"} & set(properties[key])
    ]
    title = ", ".join(f"`{name}`" for name in path.split(", ")) if path else "At the top"
    words = " ".join(dict.fromkeys((_sentence(schema["description"]), *([_sentence(note)] if note else []))))
    head = ("key", "default; allowed", "what it is")
    rows = _once(rows, said, f"{title.partition(', ')[0]}{when}")
    yield f"### {title}{when}\n\n{words}\n" + (f"\n{table(head, iter(rows))}" if rows else "")
    inner: dict[str, tuple[dict[str, Any], str, str]] = {}
    alike: dict[str, list[str]] = {}
    for key, value in properties.items():
        note = str(given[key].get("description", "")) if value.get("nullable") else ""
        for suffix, driver, kind in kinds_of(value):
            alike.setdefault(kind["title"], []).append(f"{path}.{key}{suffix}".lstrip("."))
            inner[kind["title"]] = (kind, driver or when, "" if driver or suffix else note)
    for name, (kind, driver, text) in inner.items():
        yield from _sections(", ".join(alike[name]), kind, said, driver, text if len(alike[name]) == 1 else "")


# Rows of fewer words in all are repeated rather than looked for in another section.
_SHORT = 8


def _once(rows: Sequence[Sequence[str]], said: dict[Sequence[str], str], title: str) -> list[Sequence[str]]:
    """The rows that no section before has; then, in one row, the keys of those that each such section has."""
    by_section = defaultdict[str, list[Sequence[str]]](list)
    for row in rows:
        by_section[said.setdefault(row, title)].append(row)
    long = {section: len(" ".join(map(" ".join, same)).split()) >= _SHORT for section, same in by_section.items()}
    new = [row for row in rows if said[row] == title or not long[said[row]]]
    elsewhere = ((section, same) for section, same in by_section.items() if section != title and long[section])
    return new + [(", ".join(row[0] for row in same), "", f"as in {section}") for section, same in elsewhere]


def _key_row(key: str, schema: dict[str, Any], needed: bool) -> Sequence[str]:
    kind, default = str(schema.get("type", "")), default_of(schema, needed)
    takes = allowed(schema)
    if kind in ("number", "integer"):
        takes = ("whole, " if kind == "integer" else "") + takes.removeprefix(KINDS[kind]).strip()
    elif kind == "object":
        takes = str(schema.get("note", "sections by the name of the experiment"))
    elif kind == "boolean" and not needed:
        takes = ""
    return f"`{key}`", f"{default}; {takes}".rstrip("; "), str(schema["description"])


def _sentence(text: str) -> str:
    first = " ".join(text.partition("\n\n")[0].split())
    return first[:1].upper() + first[1:].rstrip(".") + "."


# ---- the fault table ----
def fault_tables() -> str:
    """Every row of the fault table: what is watched, how soon and with which reaction; then what a person does."""
    times = ReactionTimes(load_config(BOUNDS_OF))
    head = ("id", "fault", "what is watched", "noticed within", f"`{BOUNDS_OF}` [ms]", "reaction")
    noticed = ((*_number_and_name(row), row.watched, row.bound, _time(row, times), row.reaction) for row in _ROWS)
    who, _, how = BY_OPERATOR.partition(": ")
    cleared = {BY_OPERATOR: who}
    done = ((*_number_and_name(row), cleared.get(row.clears, row.clears), row.operator) for row in _ROWS)
    words = "The times with a number are from the cause to the reaction.\n\n"
    also = f"What is cleared {who} needs `{how}`.\n\n"
    return f"{words}{table(head, noticed)}\n{also}{table(('id', 'fault', 'cleared', 'what to do'), done)}"


def _number_and_name(row: FaultRow) -> tuple[str, str]:
    return str(row.number), row.name


def _time(row: FaultRow, times: ReactionTimes) -> str:
    found = row.bounds(times)
    if isinstance(found, dict):
        return ", ".join(f"{name} {bound_ms:g}" for name, bound_ms in found.items())
    return "-" if found is None else f"{found:g}"


# ---- where the models hold ----
def validity_tables() -> str:
    """Every range that each tick asks for."""
    head = ("what", "allowed", "for at most [s]", "why", "keys")
    rows = (
        (one.name, one.allowed(), f"{one.for_s:g}", one.why, ", ".join(f"`{key}`" for key in one.keys))
        for one in VALIDITIES.values()
    )
    return table(head, rows)


# ---- calls of the simulated NI device server ----
def ni_call_tables() -> str:
    """Each call, and of those that read an attribute which ones."""
    from drivers.ni.simulated.attributes import ATTRIBUTES
    from drivers.ni.simulated.chassis import Chassis
    from drivers.ni.simulated.service import NiService
    from hil.testing.wheels import Voltages

    served = NiService(Chassis(Voltages(lambda: 0, 1))).handlers()
    plain = sorted(set(served) - set(ATTRIBUTES))
    rows = (
        (f"`{call}`", ", ".join(f"`{one.name}`" for one in known.values()))
        for call, known in sorted(ATTRIBUTES.items())
    )
    calls = ", ".join(f"`{call}`" for call in plain)
    return f"{calls}.\n\n{table(('call', 'properties of nidaqmx that it reads'), rows)}"


# ---- messages of the step service ----
def step_message_tables() -> str:
    """Contact, command and state, with the counts of a rover as letters."""
    from hil.simulator.stepping import layout

    letters = {"q": "nq", "v": "nv", "servo": "servos", "valve": "2 x cylinders", "regulator": "cylinders"}
    sizes = layout.Sizes(1, 1, 1, 1, 1, 1, 1)
    parts = []
    for name, dtype in (("contact", layout.CONTACT), ("command", sizes.command()), ("state", sizes.state())):
        rows = []
        for field in dtype.names or ():
            kind = dtype[field]
            count = str(int(np.prod(kind.shape)))
            if name != "contact":
                count = letters.get(
                    field, count if field.endswith("_ns") else "wheels" if count == "1" else "wheels x 3"
                )
            rows.append((f"`{field}`", kind.base.name, count, layout.UNITS[field]))
        head = ("number", "type", "count", "what it is")
        size = f", {dtype.itemsize} bytes" if name == "contact" else ""
        parts.append(f"### {name.capitalize()}{size}\n\n{table(head, iter(rows))}")
    return "\n".join(parts)


# ---- what devices report ----
def status_tables() -> str:
    """Every row of every status of the drivers."""
    statuses = {(status.device, status.name): status for kind in BUILT_IN for status in kind.statuses}
    return "\n".join(_status_table(status) for status in statuses.values())


def _status_table(status: StatusTable) -> str:
    """Rows with the same reaction for the same reason share one."""
    form, alike = "d" if status.codes else "#x", dict[tuple[str, str], list[str]]()
    for row in status.rows:
        alike.setdefault((row.reaction.value, _sentence(row.reason)), []).append(f"`{row.value:{form}}` {row.words}")
    rows = (("; ".join(found), done, why) for (done, why), found in alike.items())
    head = (f"{'codes' if status.codes else 'bits'} and what they are", "what is done", "why")
    return f"## {status.device}: {status.name}\n\n{table(head, rows)}"


# ---- results of a run ----
def result_table(results: Sequence[SummaryKey]) -> str:
    """Its keys of `summary.json`: those of a result, and of what is said with it, share a row."""
    rows: list[tuple[list[str], str]] = []
    for one in results:
        if not one.words:
            rows[-1][0].extend(one.keys)
        else:
            rows.append((one.keys, one.words))
    return "".join(f"- {', '.join(f'`{key}`' for key in keys)}: {words}\n" for keys, words in rows)


def own_results(kind: type[Experiment]) -> Sequence[SummaryKey]:
    """Its results but those that it shares with an experiment before it, whose table has them."""
    shared = {one for other in EXPERIMENTS[: EXPERIMENTS.index(kind)] for one in other.results}
    return [one for one in kind.results if one not in shared]


TABLES: dict[str, Callable[[], str]] = {
    "record": record_tables,
    "config": config_tables,
    "faults": fault_tables,
    "validity": validity_tables,
    "ni_calls": ni_call_tables,
    "step_messages": step_message_tables,
    "statuses": status_tables,
    "results_of_every_run": partial(result_table, EVERY_RUN),
    **{f"results_of_{kind.name}": partial(result_table, own) for kind in EXPERIMENTS if (own := own_results(kind))},
}


def pages(root: Path) -> dict[Path, tuple[str, str]]:
    """Each page with marks: present text and required text.

    Args:
        root: of the tree.

    Raises:
        ValueError: a table has no page, or a page has the mark of an unknown table.
    """
    found, placed = {}, set()
    for path in sorted((root / "docs").glob("*/*.md")):
        text = path.read_text(encoding="utf-8")
        names = [match[2] for match in MARKED.finditer(text)]
        if names:
            placed.update(names)
            if unknown := set(names) - set(TABLES):
                raise ValueError(f"{path}: no table {', '.join(unknown)}, there are: {', '.join(TABLES)}")
            found[path] = (text, MARKED.sub(lambda match: f"{match[1]}\n{TABLES[match[2]]()}\n{match[4]}", text))
    if missing := set(TABLES) - placed:
        raise ValueError(f"docs: no page has the mark <!-- generated: {', '.join(sorted(missing))} -->")
    return found


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or print those that are out of date; 1 if one is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="write the tables into their pages")
    what.add_argument("--check", action="store_true", help="fail if a table is not what the code says")
    parser.add_argument("--root", type=Path, default=ROOT, help="of the tree")
    chosen = parser.parse_args(arguments)
    stale = {path: texts for path, texts in pages(chosen.root).items() if texts[0] != texts[1]}
    for path, (old, new) in stale.items():
        name = path.relative_to(chosen.root)
        if chosen.write:
            path.write_text(new, encoding="utf-8")
            print(f"written: {name}")
            continue
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
        changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        print(f"{name} is not what the code says: run `make docs`", *changed[:6], sep="\n  ", file=sys.stderr)
    return 1 if stale and chosen.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
