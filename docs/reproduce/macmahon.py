"""What MacMahon 2016 found, and what this program gives: docs/reproduce/macmahon.md and its pictures.

Run: python docs/reproduce/macmahon.py [--check | --quick] [--out FOLDER]    (ten minutes or more)

Writes the page, docs/images/reproduce_*.png, and macmahon.json: the page's lines, and what each simulated impact and
trial came to. All numbers that it uses are in docs/reproduce/parameters.yaml.

--check writes nothing and compares: the page with macmahon.json, and both with what comes out now. With --quick only
points of the figures are computed, and what they come to is compared with macmahon.json.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import campaigns
import chapter_5
import chapter_6
import sensors
import strain
import two_body
from matplotlib.backends.backend_agg import FigureCanvasAgg
from trials import HERE, STUDY, Section
from written_page import write_page

SECTIONS: tuple[Callable[[], Section], ...] = (
    two_body.two_body_impact,
    chapter_5.over_angle, chapter_5.over_height, chapter_5.over_law, chapter_5.on_rigid_ground,
    chapter_5.on_firm_ground, chapter_5.rigid_contact,
    chapter_6.reduced_contact, chapter_6.over_friction, chapter_6.over_hit_height, chapter_6.grouser_offsets,
    chapter_6.bumper_rig,
    sensors.ideal_sensors, sensors.peaks_over_offset,
    campaigns.laboratory, strain.strain_gauges, campaigns.push, campaigns.releases,
)  # fmt: skip
ROOT = HERE.parent.parent
PAGE, DATA = Path("docs/reproduce/macmahon.md"), Path("docs/reproduce/macmahon.json")
# Of a number in a text, in its last digit; and of what one impact or trial came to, relative: processors differ.
LAST_DIGITS, RELATIVE = 1.5, 1e-4
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_HEAD = """# MacMahon 2016, reproduced

Written by `python docs/reproduce/macmahon.py`; every number it uses is in [parameters.yaml](parameters.yaml), one set
for all figures. Masses were chosen near a peak, and the stiffness by the force of 6.2.2: these two agree by choice.
The thesis's text was at hand, its curves were not: what is quoted is
its prose. It prints no masses, so sizes of forces and places of peaks depend on assumptions; trends do not.

| figure | quoted | ours | difference | why |
|---|---|---|---|---|
"""
_EXPLANATIONS = """## Fig. 6-11: why our forces are larger, and do not follow T_c

The nominal rig with the weights and grousers of the trials: sum of the sensors' peaks on one wheel, by the time from
the impact to the release.

{push}

One thing changed at a time, at 60 degrees: the sum of the sensors' peaks, and the peak of their sum.

{causes}

- **The size is that of the push.** Cut by the sensors, the force is below the 150 to 200 N of the thesis. Until an
  operator lets go, the drives press the legs further. Drives of 10 N m press with half the force; the RCP's torque is
  not published. The rest is smaller.
- So the thesis's rover pushed for a shorter time, or less hard.
- **T_c's trend is that of the blow** ([which T_c](../explanation/contact.md#which-t_c-belongs-to-which-ground)).
  Before a later release the push grows with the angle. That the thesis's averages follow T_c is not confirmed by our
  trials; no rank correlation over six angles below 0.83 is significant at 5 %, one-sided.

## Release of the drives

Peak force of both wheels on soil, at 60 degrees. Placing to 5 mm and a reaction of 0.25 +- 0.05 s are assumptions.
Timed power ends at the given margin after the impact of the nominal rig.

{releases}

Without a margin many trials end before or in the impact. With 0.25 s or more the rover pushes until its wheels slip,
and that force hardly varies. Timed power is more consistent than the operator (D.2), but it is a push and does not
follow T_c."""
_PICTURES = (
    (
        "over_angle",
        "Figs. 5-8 a, b: peak force and effective kinetic energy over the angle, no ground, steel on steel.",
    ),
    ("over_height", "Figs. 5-8 c, d: over the height of the main body's centre of mass."),
    ("over_law", "Fig. 5-9: other contact laws (restitution 0.5), and other restitutions."),
    ("rigid_ground", "Fig. 5-10: no ground, and ground as unilateral constraints."),
    ("firm_ground", "Fig. 5-12: visco-elastic ground, linear and nonlinear, between both limits."),
    ("friction", "Fig. 6-10: friction on the plate, wheels kept turning."),
    ("hit_height", "Fig. 6-13, left: the force of a smooth wheel, applied above or below its contact point C."),
    ("grousers", "Fig. 6-15: two grouser offsets at 90 degrees."),
    ("ideal_sensors", "Fig. 6-8: three sensors behind the plate, a smooth wheel, no noise, droop and ring."),
    ("laboratory", "Fig. 6-11: the thesis's plan of 51 trials, with what went wrong in the laboratory."),
    (
        "strain_gauges",
        "Beyond 6.2.2: peaks by strain gauges on the links of the frame over those by the force sensors, kept trials.",
    ),
    ("push", "Fig. 6-11 without what went wrong: the force grows with the time from the impact to the release."),
    (
        "releases",
        "Beyond the thesis: peak force of the trials with each way to end the drive; whiskers hold 90 % of them.",
    ),
)


# A text of so many words is repeated in the table.
_SHORT = 8


def page_of(data: Mapping[str, Any]) -> str:
    """The page, from the data file; a long text that an earlier row has in that column is named by that row."""
    said: dict[tuple[int, str], str] = {}
    lines = []
    for row in data["rows"]:
        first = [said.setdefault((place, text), row[0]) for place, text in enumerate(row)]
        long = [row[0] != one and len(text.split()) > _SHORT for one, text in zip(first, row, strict=True)]
        cells = [f"as {one}" if again else text for one, again, text in zip(first, long, row, strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines)
    pictures = (f"![{text}](../images/reproduce_{name}.png)" for name, text in _PICTURES)
    return _HEAD + "\n\n".join([table, _EXPLANATIONS.format_map(data["tables"]), *pictures]) + "\n"


def computed(out: Path | None) -> dict[str, Any]:
    """Work out every section, and write its pictures to the tree `out`; None: none."""
    rows: list[list[str]] = []
    tables: dict[str, str] = {}
    for section in SECTIONS:
        found = section()
        rows += [list(row) for row in found.rows]
        tables |= found.tables
        for name, figure in found.pictures.items():
            if out is not None:
                folder = out / "docs" / "images"
                folder.mkdir(parents=True, exist_ok=True)
                FigureCanvasAgg(figure)
                figure.savefig(folder / f"reproduce_{name}.png", dpi=110, metadata={"Software": None})
        print(f"{section.__name__}: {len(rows)} lines so far", flush=True)
    numbers = {name: [None if one is None else float(f"{one:.9g}") for one in values]
               for name, values in STUDY.numbers.items()}  # fmt: skip
    return {"rows": rows, "tables": tables, "numbers": numbers}


def differences(now: Mapping[str, Any], then: Mapping[str, Any], *, texts: bool) -> list[str]:
    """What the data file says otherwise than a computation; `texts`: of the page's text too, not of numbers only."""
    found = []
    for name, values in now["numbers"].items():
        former = then["numbers"].get(name)
        if former is None or not all(_near(a, b) for a, b in zip(values, former, strict=True)):
            found.append(f"{name}: now {values}, in {DATA.name} {former}")
    if not texts:
        return found
    pairs = [(" | ".join(a), " | ".join(b)) for a, b in zip(now["rows"], then["rows"], strict=False)]
    pairs += [(table, then["tables"].get(name, "")) for name, table in now["tables"].items()]
    found += [f"now:  {a}\nthen: {b}" for a, b in pairs if not same_text(a, b)]
    if any(len(now[key]) != len(then[key]) for key in ("rows", "tables", "numbers")):
        found.append("other lines, tables or simulations")
    return found


def same_text(now: str, then: str) -> bool:
    """Whether two texts are the same but for the last digit of their numbers."""
    if _NUMBER.sub("", now) != _NUMBER.sub("", then):
        return False
    pairs = zip(_NUMBER.findall(now), _NUMBER.findall(then), strict=True)
    return all(abs(float(a) - float(b)) <= LAST_DIGITS * _last_digit(b) for a, b in pairs)


def _last_digit(number: str) -> float:
    mantissa, _, exponent = number.partition("e")
    digits = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - digits))


def _near(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=RELATIVE))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--quick", action="store_true", help="compute points only, and compare them")
    parser.add_argument("--out", type=Path, default=ROOT, metavar="FOLDER", help="write there, not into this tree")
    given = parser.parse_args(arguments)
    if given.quick and not given.check and given.out == ROOT:
        parser.error("--quick: give --out FOLDER too: the page is not written from points of its figures")
    STUDY.begin(quick=given.quick)
    now = computed(None if given.check else given.out)
    if given.check or given.quick:
        then = json.loads((ROOT / DATA).read_text(encoding="utf-8"))
        wrong = differences(now, then, texts=not given.quick)
        if page_of(then) != (ROOT / PAGE).read_text(encoding="utf-8"):
            wrong.append(f"{PAGE} is not written from {DATA}")
        print("\n".join(wrong) or f"{len(now['numbers'])} simulations are as in {DATA}")
        return 1 if wrong else 0
    write_page(PAGE, page_of(now), given.out)
    (given.out / DATA).write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
