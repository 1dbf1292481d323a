"""What MacMahon 2016 found, and what this program gives: docs/reproduce/macmahon.md and its pictures.

Run: python docs/reproduce/macmahon.py    (ten minutes; writes the page and docs/images/reproduce_*.png)

All numbers that it uses are in docs/reproduce/parameters.yaml.
"""

from __future__ import annotations

import campaigns
import chapter_5
import chapter_6
import two_body
from trials import HERE, Row

_HEAD = """# MacMahon 2016, reproduced

Written by `python docs/reproduce/macmahon.py`; every number it uses is in [parameters.yaml](parameters.yaml), one set
for all figures, nothing tuned for one of them. The thesis's text was at hand, its curves were not: what is quoted is
its prose. It prints no masses, so sizes of forces and places of peaks depend on assumptions; trends do not.

| figure | quoted | ours | difference | why |
|---|---|---|---|---|
"""
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
    ("laboratory", "Fig. 6-11: the thesis's plan of 51 trials, with what went wrong in the laboratory."),
    (
        "releases",
        "Beyond the thesis: peak force of 100 trials with each way to end the drive; whiskers hold 90 % of them.",
    ),
)


def main() -> None:
    """Work out every section, write the page."""
    rows: list[Row] = []
    for section in (two_body, chapter_5, chapter_6, campaigns):
        rows += section.rows()
        print(f"{section.__name__}: {len(rows)} lines so far")
    table = "\n".join(row.line() for row in rows)
    pictures = "\n\n".join(f"![{text}](../images/reproduce_{name}.png)\n\n{text}" for name, text in _PICTURES)
    (HERE / "macmahon.md").write_text(f"{_HEAD}{table}\n\n{pictures}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
