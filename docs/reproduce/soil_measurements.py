"""Single wheels on soil, measured by others, beside the wheel models: `hil validate soil`, and Bekker-Wong integrals.

Writes docs/reproduce/soil_measurements.json, the tables of soil-measurements.md and its picture, in a minute or two;
with --check it compares the tables with the numbers of the file, and computes nothing.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from written_page import page_script

from hil.analysis.identification.forward import Window
from hil.analysis.soil_tests import (
    Predicted,
    SoilTests,
    draw,
    measured_of,
    read_corpus,
    slip_of,
    validate,
    validate_plates,
)
from hil.experiments.drawing import TESTS, save_figure, set_frame, source_line
from hil.experiments.figure_form import FigureForm
from references.bekker_wong import BekkerWong

HERE = Path(__file__).parent
NUMBERS, PAGE, PICTURE = (
    HERE / "soil_measurements.json",
    HERE / "soil-measurements.md",
    HERE.parent / "images" / "reproduce_soil_measurements.png",
)
_KEYS = {"stiffness": "stiffness", "exponent": "exponent", "cohesion_Pa": "cohesion"}
# States that Chrono's soil contact model gave; its first lines say how.
_CHRONO = HERE / "chrono_scm.csv"
# So many wheels, the first, ran on soil whose pressure and shear come from the same bed.
_OWN = 4
# Rows of the file that the page leaves out: bulldozing is shown where nothing and where all is fitted.
_IN_FILE = tuple(f"{kind}, slip sinkage and bulldozing" for kind in ("half fitted", "from the smooth wheel"))
_BEGIN, _END = "<!-- {} -->", "<!-- end -->"


def bekker_wong(tests: SoilTests) -> Predicted:
    """What the classic integrals give for tests, with the printed soil and nothing fitted."""
    values = list[float]()
    for window in tests.windows:
        pull, torque, sinkage = _wheel(tests, window).under(window.load_N[0], slip_of(window))
        given = {"pull_N": pull, "torque_Nm": torque, "sinkage_m": sinkage}
        values += [given[name] for _, name, _ in measured_of([window])]
    return Predicted("Bekker-Wong integrals, printed soil", "", tests.soil, tuple(values), tests.windows)


def _wheel(tests: SoilTests, window: Window) -> BekkerWong:
    wheel, soil = window.wheel, {ours: tests.soil[key] for key, ours in _KEYS.items()}
    radius = wheel.radius_m + wheel.grouser_height_m
    friction = math.radians(tests.soil["friction_angle_deg"])
    return BekkerWong(
        radius, wheel.width_m, friction_angle=friction, shear_displacement=tests.shear_displacement_m, **soil
    )


def chrono_scm(tests: SoilTests) -> Iterator[Predicted]:
    """What Chrono's soil contact model gave for driving wheels, with the printed soil and nothing fitted."""
    lines = [line for line in _CHRONO.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if row["wheel"] == tests.name]
    for words in dict.fromkeys(row["model"] for row in rows):
        states = {(float(row["load_N"]), float(row["slip"])): row for row in rows if row["model"] == words}
        windows = [one for one in tests.windows if (one.load_N[0], slip_of(one)) in states]
        values = [float(states[one.load_N[0], slip_of(one)][name]) for one, name, _ in measured_of(windows)]
        yield Predicted(f"Chrono SCM{words}, printed soil", "", tests.soil, tuple(values), tuple(windows))


def computed() -> dict[str, list[Predicted]]:
    """All predictions of all tests."""
    corpus = read_corpus()
    return {name: [*chrono_scm(corpus[name]), bekker_wong(corpus[name]), *each] for name, each in validate().items()}


def numbers_of(found: Mapping[str, Sequence[Predicted]]) -> dict[str, Any]:
    """What the file holds: errors by tests and model, in the region of rovers' slips and elsewhere."""
    return {
        name: {
            one.variant: {
                "used": {key: round(value, 4) for key, value in one.errors().items()},
                "others": {key: round(value, 4) for key, value in one.errors(others=True).items()},
                "slip_sinkage": float(f"{one.soil['slip_sinkage']:.3g}"),
            }
            for one in each
        }
        for name, each in found.items()
    }


def tables(numbers: Mapping[str, Any]) -> dict[str, str]:
    """The page's tables by name."""
    variants = list(dict.fromkeys(variant for each in numbers.values() for variant in each if variant not in _IN_FILE))
    short = {name: name.replace("_", " ") for name in numbers}
    rows = [f"| model | {' | '.join(short.values())} | mean | first four |", "|---" * (len(numbers) + 3) + "|"]
    found = {quantity: [*rows, *_rows(numbers, variants, quantity)] for quantity in ("pull_N", "sinkage_m")}
    plates = validate_plates()
    sizes = next(iter(plates.values()))
    found["plates"] = [
        f"| pressure | {' | '.join(f'{1e3 * size:.0f} mm' for size in sizes)} |",
        "|---" * (len(sizes) + 1) + "|",
        *(f"| {law} | {' | '.join(f'{100.0 * one:.0f}' for one in each.values())} |" for law, each in plates.items()),
    ]
    return {name: "\n".join(lines) for name, lines in found.items()}


def _rows(numbers: Mapping[str, Any], variants: Sequence[str], quantity: str) -> Iterator[str]:
    for variant in variants:
        errors = [each.get(variant, {}).get("used", {}).get(quantity) for each in numbers.values()]
        given, own = ([error for error in part if error is not None] for part in (errors, errors[:_OWN]))
        if given:
            cells = ["-" if error is None else f"{100.0 * error:.0f}" for error in errors]
            yield f"| {variant} | {' | '.join(cells)} | {100.0 * np.mean(given):.1f} | {100.0 * np.mean(own):.1f} |"


def page(numbers: Mapping[str, Any]) -> str:
    """The page with its tables."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(numbers).items():
        begin = _BEGIN.format(name)
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(_END)
        text = f"{before}{begin}\n{table}\n{_END}{after}"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare."""

    def make() -> str:
        found = computed()
        NUMBERS.write_text(json.dumps(numbers_of(found), indent=1) + "\n", encoding="utf-8")
        form, facts = FigureForm(), {"tests": ", ".join(found), "rig": TESTS}
        figure = draw(found, form)
        set_frame(figure, form, "Wheels on soil: measured and computed", source_line(facts, "of the documentation"))
        save_figure(figure, PICTURE, "Wheels on soil", facts, form)
        return written()

    def written() -> str:
        return page(json.loads(NUMBERS.read_text(encoding="utf-8")))

    given = sys.argv[1:] if arguments is None else arguments
    return page_script(__doc__, PAGE, written if "--check" in given else make, given)


if __name__ == "__main__":
    raise SystemExit(main())
