"""`hil rover merge`: parts of a CAD programme to bodies, against closed forms and a cloud of points."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hil.analysis.own_rover.parts import COLUMNS, axes_in, merge_parts
from hil.analysis.own_rover.read import RoverFileError
from hil.cli import run

HEAD = ",".join(COLUMNS)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "parts.csv"
    path.write_text("\n".join((HEAD, *lines)) + "\n", encoding="utf-8")
    return path


def line_of(body: str, part: str, points: np.ndarray, sign: float = 1.0) -> str:
    """A part that is a cloud of points of 0.1 kg."""
    mass, com = 0.1 * len(points), points.mean(axis=0)
    off = points - com
    tensor = 0.1 * sum(one @ one * np.eye(3) - np.outer(one, one) for one in off)
    products = (sign * tensor[0, 1], sign * tensor[0, 2], sign * tensor[1, 2])
    return ",".join([body, part, *map(repr, map(float, (mass, *com, *np.diag(tensor), *products)))])


@pytest.mark.parametrize("axes", ["x,y,z", "z,x,y", "-x,-y,z", "y,-x,z"])
@pytest.mark.parametrize("integrals", [False, True])
def test_merged_parts_have_the_inertia_of_all_their_points(tmp_path, axes, integrals):
    random, origin = np.random.default_rng(3), (0.2, -0.1, 0.4)
    clouds = [random.normal(size=(8, 3)) * (0.3, 0.1, 0.2) + random.normal(size=3) for _ in range(3)]
    sign = -1.0 if integrals else 1.0
    path = written(tmp_path, *(line_of("leg", f"part {k}", cloud, sign) for k, cloud in enumerate(clouds)))
    (leg,) = merge_parts(path, axes_in(axes), origin, integrals=integrals)
    points = (np.concatenate(clouds) - origin) @ axes_in(axes).T
    off = points - points.mean(axis=0)
    tensor = 0.1 * sum(one @ one * np.eye(3) - np.outer(one, one) for one in off)
    assert leg.mass == pytest.approx(2.4)
    assert leg.com == pytest.approx(points.mean(axis=0))
    assert leg.inertia_matrix == pytest.approx(tensor, rel=1e-9, abs=1e-12)


def test_the_command_prints_the_element_of_a_urdf_that_has_the_same_numbers(tmp_path, capsys):
    # two balls of 2 kg on a light rod: Steiner's m d^2
    path = written(
        tmp_path, "rod,left,2,0,0.5,0,0.01,0.01,0.01,0,0,0", "rod,right,2,0,-0.5,0,0.01,0.01,0.01,0,0,0",
        "plate,only,1,0.1,0,0,0.02,0.02,0.03,0,0,0",
    )  # fmt: skip
    assert run(["rover", "merge", str(path), "--json"]) == 0
    rod, plate = json.loads(capsys.readouterr().out)
    assert rod["inertia_kgm2"] == pytest.approx([1.02, 0.02, 1.02])
    assert (plate["body"], plate["com_m"]) == ("plate", [0.1, 0.0, 0.0])
    assert run(["rover", "merge", str(path)]) == 0
    printed = capsys.readouterr().out
    element = ElementTree.fromstring(printed[printed.index("<inertial>") : printed.index("</inertial>") + 11])
    assert float(element.find("inertia").get("izz")) == pytest.approx(1.02)


def test_everything_that_is_wrong_is_told_at_once_with_its_line(tmp_path, capsys):
    path = written(
        tmp_path, "a,good,1,0,0,0,1,1,1,0,0,0", "a,no mass,0,0,0,0,1,1,1,0,0,0", "a,short,1,0,0",
        "a,flat,1,0,0,0,1,1,9,0,0,0", "a,words,1,left,0,0,1,1,1,0,0,0",
    )  # fmt: skip
    with pytest.raises(RoverFileError) as caught:
        merge_parts(path, axes_in("x,y,z"), (0.0, 0.0, 0.0), integrals=False)
    _, *lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["line 3", "line 4", "line 5", "line 6"]
    assert "mass_kg '0'" in lines[0]
    assert "triangle inequality" in lines[2]
    assert "x_m 'left'" in lines[3]
    assert run(["rover", "merge", str(path), "--axes", "x,z,y"]) == 2
    assert "right-handed" in capsys.readouterr().err
    path.write_text("part,mass\n", encoding="utf-8")
    assert run(["rover", "merge", str(path)]) == 2
    assert "allowed: body,part,mass_kg" in " ".join(capsys.readouterr().err.split())
