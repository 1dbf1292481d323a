"""Parts of a CAD programme, merged to the bodies of a rover (MacMahon 2016 (4.4)-(4.9))."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hil.analysis.own_rover.read import RoverFileError
from hil.config.files import read_text
from hil.config.text_io import MOST_BYTES, number_in, numbered_rows
from models.kernels.compiled import FloatArray
from models.rover.from_links import make_body
from models.rover.links import join_masses
from models.rover.tree import Body

#: of the file's first line, in any order
COLUMNS = (
    "body", "part", "mass_kg", "x_m", "y_m", "z_m",
    "ixx_kgm2", "iyy_kgm2", "izz_kgm2", "ixy_kgm2", "ixz_kgm2", "iyz_kgm2",
)  # fmt: skip
_NUMBERS = COLUMNS[2:]
_AXIS = re.compile(r"([+-]?)([xyz])")


def axes_in(text: str) -> FloatArray:
    """The rotation (3, 3) to our axes from those of the CAD programme, given as its axes forward, to port and up.

    Raises:
        ValueError: not three of its axes, or not right-handed.

    Example:
        >>> axes_in("z,x,y").tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    found = [_AXIS.fullmatch(one.strip()) for one in text.split(",")]
    rows = np.array([(-1.0 if one[1] == "-" else 1.0) * np.eye(3)["xyz".index(one[2])] for one in found if one])
    if rows.shape != (3, 3) or not np.isclose(np.linalg.det(rows), 1.0):
        raise ValueError(
            f"axes {text!r}; allowed: the programme's axes that point forward, to port and up, right-handed, as z,x,y"
        )
    return rows


def merge_parts(path: Path, axes: FloatArray, origin: Sequence[float], *, integrals: bool) -> list[Body]:
    """The bodies of a file of parts, in its order.

    Args:
        path: CSV of `COLUMNS`: centre of mass of each part in the programme's frame, and inertia about that centre
            along the programme's axes.
        axes: to ours, as of `axes_in`.
        origin: of our frame, in the programme's [m].
        integrals: ixy is the integral of x y, as some programmes print it, and not the entry of the tensor, which is
            its negative.

    Raises:
        RoverFileError: with everything that is wrong.
    """
    try:
        lines = numbered_rows(read_text(path, MOST_BYTES))
    except (OSError, ValueError, csv.Error) as error:
        raise RoverFileError(f"{path}: {error}") from error
    head = lines[0][1] if lines else []
    if sorted(head) != sorted(COLUMNS):
        raise RoverFileError(f"{path}: first line is {','.join(head)[:200]!r}; allowed: {','.join(COLUMNS)}")
    problems, parts, sign = [], dict[str, list[tuple[float, FloatArray, FloatArray]]](), -1.0 if integrals else 1.0
    for number, cells in lines[1:]:
        row = dict(zip(head, cells, strict=False))
        values = {name: number_in(row.get(name, "")) for name in _NUMBERS}
        if len(cells) != len(head) or _wrong_numbers(values):
            found = (
                ", ".join(f"{name} {row.get(name, '')!r}" for name in _wrong_numbers(values)) or f"{len(cells)} cells"
            )
            problems.append(f"line {number}: {found}; allowed: {len(head)} cells, finite numbers, mass_kg above 0")
            continue
        xx, yy, zz, *products = (values[name] for name in _NUMBERS[4:])
        xy, xz, yz = (sign * product for product in products)
        inertia = axes @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ axes.T
        com = axes @ (np.array([values["x_m"], values["y_m"], values["z_m"]]) - origin)
        try:
            make_body(row["part"], values["mass_kg"], com, inertia, None)
        except ValueError as error:
            problems.append(f"line {number}: {str(error).replace('body', 'part', 1)}")
            continue
        parts.setdefault(row["body"], []).append((values["mass_kg"], com, inertia))
    if problems or not parts:
        raise RoverFileError("\n".join([f"{path}: {len(problems)} problems, {len(lines)} lines", *problems]))
    return [make_body(name, *join_masses(own), None) for name, own in parts.items()]


def _wrong_numbers(values: dict[str, float]) -> list[str]:
    """Names of those that are no finite numbers, and of a mass that is none."""
    return [name for name, value in values.items() if np.isnan(value) or (name == "mass_kg" and value <= 0.0)]
