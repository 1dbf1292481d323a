"""The three experiments of Petersen 2012, 7.2, on simulated rigs: what of the soil each rung tells.

Run: python docs/reproduce/soil_ladder.py [--check]    (a minute)

Writes docs/reproduce/soil_ladder.md. With --check it writes nothing, and says where the page differs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from written_page import write_or_compare

import hil
from hil.analysis.identification.fit import Identification, identify
from hil.analysis.identification.forward import USUAL, Window
from hil.analysis.identification.recorded import windows_of

PAGE = Path(__file__).with_suffix(".md")
# The soil of sim_wheel_bed, under all three; the simulated rigs have just this one, so that the truth is known.
SOIL = {"soil.rebound": 0.025, "soil.slip_speed_mps": 0.0005}
TRUTH = dict(zip(USUAL, (1.783e6, 0.75, 0.025, 0.185), strict=True))
START = {"stiffness": 8e5, "exponent": 0.9, "rebound": 0.15, "slip_modulus": 0.4}
EXACT = {"plant.spread": {"soil": 0.0, "mass": 0.0}, "telemetry.endpoint": ""}
PRESSED, ROLLED, DRIVEN = (
    (0.0, 10.0, 40.0),
    ((0.0, 0.1), (0.0, 0.3), (0.0, 0.7), (15.0, 0.1), (15.0, 0.4)),
    (0.1, 0.3, 0.6),
)
Rung = tuple[str, Sequence[Window]]


def sinkage_test(folder: Path, payloads: Sequence[float] = PRESSED) -> list[Window]:
    """The wheel of the bed pressed in under loads."""
    settings = [{"rover.payload.mass_kg": mass} for mass in payloads]
    return _windows(folder / "sinkage", "sim_sinkage", EXACT, settings)


def single_wheel(folder: Path, points: Sequence[tuple[float, float]] = ROLLED) -> list[Window]:
    """The same wheel on its carriage, by payload and slip."""
    settings = [{"rover.payload.mass_kg": mass, "drawbar.slip": slip} for mass, slip in points]
    return _windows(folder / "bed", "sim_wheel_bed", EXACT, settings)


def whole_rover(folder: Path, slips: Sequence[float] = DRIVEN) -> list[Window]:
    """The RCP on that soil, held back at slips."""
    base = {**EXACT, **SOIL, "limits.motor_current_A": {"warn_above": 1000.0}}
    return _windows(folder / "rover", "sim_drawbar", base, [{"drawbar.slip": slip} for slip in slips])


def _windows(folder: Path, config: str, base: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> list[Window]:
    runs = []
    for number, one in enumerate(settings):
        runs.append(folder / str(number))
        hil.run(hil.load(config, {**base, **one})).save(runs[-1])
    return list(windows_of(runs).windows)


def found_of(windows: Sequence[Window]) -> Identification:
    """The soil identified; friction angle and cohesion are taken as known."""
    return identify(windows, {**START, "friction_angle_deg": 30.0, "cohesion_Pa": 0.0}, starts=())


def row(name: str, windows: Sequence[Window]) -> str:
    """A row of the table."""
    found = found_of(windows)
    cells = [name, str(len(found.residuals)), f"{sum(one.determined for one in found.directions)} of 4"]
    for one, variance in zip(found.parameters, np.diag(found.covariance), strict=True):
        if not one.determined:
            cells.append("not determined")
            continue
        inside = "" if one.low <= TRUTH[one.name] <= one.high else ", not inside"
        cells.append(f"{one.value / TRUTH[one.name]:.3f} (factor {np.exp(1.96 * np.sqrt(variance)):.2f}{inside})")
    return f"| {' | '.join(cells)} |"


def page(folder: Path) -> str:
    """Text of the page."""
    pressed, rolled, driven = sinkage_test(folder), single_wheel(folder), whole_rover(folder)
    rows = [
        row("1: sinkage test", pressed),
        row("2: single-wheel bed", rolled),
        row("1 and 2", [*pressed, *rolled]),
        row("3: whole rover", driven),
        row("1 and 3", [*pressed, *driven]),
        row("1, 2 and 3", [*pressed, *rolled, *driven]),
    ]
    return "\n".join([_HEAD, *rows, _TAIL])


RUNGS = (
    (
        "1",
        "`sim_sinkage`: the wheel of the bed of DLR, pressed in",
        "70 N, and with 10 and 40 kg more",
    ),
    (
        "2",
        "`sim_wheel_bed`: the same wheel on its carriage; pull, torque, sinkage",
        "70 N at slips of 0.1, 0.3, 0.7; with 15 kg more at 0.1, 0.4",
    ),
    ("3", "`sim_drawbar`: the RCP, held back; pull, torque", "slips of 0.1, 0.3, 0.6"),
)
QUOTED = (
    (
        "7.2", 'three separate experiments, "to fully understand the impact of all geometry and material parameters"',
        "rungs 1 and 2 together tell all four; no rung alone does", "the third rung is a check, not a need",
        "a rover measures pull and torque of all its wheels, and no sinkage",
    ),
    (
        "4.2, 5.4",
        "the bed: 125 mm, 100 mm, 70 N, 10 mm/s, slip 5 to 95 %, dry quartz sand, rebound 2.5 %, slip modulus 0.185",
        "`sim_wheel_bed` has these; the rim runs at 20 mm/s, the carriage at 1 - slip of it",
        "stiffness, exponent and friction angle are those of `sim_impact`",
        "the thesis prints none of them for this bed",
    ),
)  # fmt: skip


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


_HEAD = f"""# Petersen 2012, 7.2: the ladder of three experiments

Written by `python docs/reproduce/soil_ladder.py`. Petersen wants a pressure-sinkage test, a traction test of one
wheel, and a whole vehicle, on one soil. Here each is a simulated rig whose records go through
[`hil identify`](../how-to/identify-a-soil.md), with its own uncertainties.

| rung | config | runs |
|---|---|---|
{_table(RUNGS)}

The soil is the same in all, and known: stiffness {TRUTH["stiffness"]:.4g}, exponent {TRUTH["exponent"]:g}, rebound
{TRUTH["rebound"]:g}, slip modulus {TRUTH["slip_modulus"]:g}. The search starts elsewhere. By rung: measured values;
combinations of the parameters that are known within a factor of two; of each parameter the value found over the true
one, and the factor of its 95 % interval, either way.

| rung | values | determined | stiffness | exponent | rebound | slip modulus |
|---|---|---|---|---|---|---|"""
_TAIL = f"""
What each rung adds:

- **The sinkage test** determines the exponent, and hardly the stiffness.
- **The single wheel** determines the slip modulus by its torque; with the sinkage test also rebound and stiffness.
- **The whole rover** says whether wheel and rover agree.

| where | quoted | ours | difference | why |
|---|---|---|---|---|
{_table(QUOTED)}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        text = page(Path(folder))
    return write_or_compare(PAGE, text, check=options.check)


if __name__ == "__main__":
    raise SystemExit(main())
