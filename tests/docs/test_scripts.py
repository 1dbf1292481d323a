"""Each script of docs/figures runs, and makes the pictures and tables of the pages; small parts of them only here."""

from __future__ import annotations

import re
import runpy
import sys

import matplotlib.image
import pytest

# Pictures that no script of docs makes: trial.png is that of `make trial`, page_*.png come from a browser
# (tests/hil/operator/page/browser/pictures.py).
OF_RUNS = {"trial", "page_after", "page_campaign", "page_ready", "page_run_up"}
IMPORTED = {"outputs", "page_data", "code_reading"}  # by scripts
PICTURES = {
    "architecture": ("architecture",),
    "contact_ground": ("contact_ground",),
    "contact_restitution": ("contact_restitution",),
    "cut_delay": ("cut_delay",),
    "design_study": (),
    "detector_rates": ("detector_rates",),
    "energy_balance": ("energy_balance",),
    "impact_scaling": ("impact_scaling",),
    "integration_steps": (),
    "normal_force": (),
    "predicted_force": (),
    "rover_drift": (),
    "sensing_accuracy": (),
    "shear_law": (),
    "soil_estimate": ("soil_estimate",),
    "strain_gauges": (),
    "traction_gain": (),
    "wheel_figures": ("wheel_closed_form", "wheel_drawbar_pull", "wheel_normal_force", "wheel_rebound"),
    "wheel_loads": ("normal_force",),
    "whole_trials": (),
}
TABLES = {
    "architecture": {"docs/explanation/architecture.md": ("memory",)},
    "contact_ground": {"docs/explanation/contact.md": ("T_c on grounds",)},
    "contact_restitution": {"docs/explanation/contact.md": ("restitution",)},
    "cut_delay": {"docs/benchmarks/cut.md": ("latency", "cut delay")},
    "design_study": {"docs/how-to/sensitivity-and-design.md": ("derivatives", "best", "force")},
    "detector_rates": {"docs/explanation/sensing.md": ("detector rates",)},
    "energy_balance": {"docs/explanation/contact.md": ("energy balance",)},
    "integration_steps": {
        "docs/explanation/limits.md": ("integration steps", "integration steps at an impact"),
    },
    "impact_scaling": {"docs/explanation/contact.md": ("impact scaling", "peak over restitution")},
    "normal_force": {
        "docs/explanation/normal-force.md": ("moved loads", "shares in ruts", "best of the rover", "slip of the sled"),
    },
    "predicted_force": {"docs/explanation/limits.md": ("predicted force", "predicted over simulated")},
    "rover_drift": {"docs/explanation/rover.md": ("drifts",)},
    "sensing_accuracy": {"docs/explanation/sensing.md": ("leading peak", "sensing accuracy", "rules on good trials")},
    "shear_law": {"docs/explanation/wheel.md": ("shear law",)},
    "soil_estimate": {"docs/explanation/soil-estimate.md": ("estimates", "rigs", "gains")},
    "strain_gauges": {"docs/explanation/sensing.md": ("strain",)},
    "traction_gain": {"docs/how-to/measure-traction.md": ("traction gain",)},
    "wheel_figures": {"docs/explanation/wheel.md": ("hypervolume errors", "rebound errors", "xu errors", "readings")},
    "wheel_loads": {"docs/how-to/control-wheel-loads.md": ("spreads", "chambers")},
    "whole_trials": {
        "docs/explanation/contact.md": ("peaks over T_c", "humps"),
        "docs/explanation/trials-that-go-wrong.md": ("rules",),
    },
}
PLACE = re.compile(r"<!-- (?!generated|end)([\w ]+) -->\n(.*?)<!-- end -->", re.DOTALL)


def run(root, monkeypatch, name, *options):
    """Run a script in this process, as `python docs/figures/NAME.py` would."""
    monkeypatch.syspath_prepend(root / "docs" / "figures")
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *options])
    try:
        runpy.run_path(str(root / "docs" / "figures" / f"{name}.py"), run_name="__main__")
    finally:
        for imported in IMPORTED:
            sys.modules.pop(imported, None)


def table(text):
    """Cells of each row of the only table in a text; None: it has none."""
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return rows or None


@pytest.mark.ci_cases(
    "architecture", "cut_delay", "detector_rates", "energy_balance", "impact_scaling", "normal_force", "wheel_figures"
)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PICTURES))
def test_script_makes_its_pictures_and_writes_its_tables_into_their_places(root, pages, monkeypatch, tmp_path, name):
    run(root, monkeypatch, name, "--quick", "--out", str(tmp_path))
    made = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.[mp]*")}
    pictures = {f"docs/images/{one}.png" for one in PICTURES[name]}
    assert made.keys() == pictures | TABLES[name].keys()
    for picture in pictures:
        pixels = matplotlib.image.imread(made[picture])
        assert min(pixels.shape[:2]) > 200
        assert pixels[..., :3].std() > 0.01, f"{picture} is empty"
    for page, tables in TABLES[name].items():
        text = made[page].read_text(encoding="utf-8")
        assert PLACE.sub("", text) == PLACE.sub("", pages[page]), "it changes its own places only"
        before, after = dict(PLACE.findall(pages[page])), dict(PLACE.findall(text))
        assert {one for one in before if before[one] != after[one]} <= set(tables)
        for one in tables:
            new, old = table(after[one]), table(before[one])
            assert (new is None) == (old is None)
            if new and old:
                assert new[0][0] == old[0][0]
                assert len({len(row) for row in [new[0], *new[2:]]}) == 1, f"{one}: rows of several lengths"


def test_no_script_writes_a_small_part_of_its_figures_into_the_tree(root, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(root, monkeypatch, "contact_ground", "--quick")
    assert "--out" in capsys.readouterr().err


def test_every_script_is_run_and_makes_every_picture_and_table_of_the_pages(root, pages):
    scripts = {path.stem for path in (root / "docs" / "figures").glob("*.py")}
    assert scripts == PICTURES.keys() | IMPORTED
    shown = set(re.findall(r"images/(\w+)\.png", "\n".join(pages.values())))
    reproduced = {one for one in shown if one.startswith("reproduce_")}  # tests/docs/test_reproduction.py
    assert shown - reproduced == {one for made in PICTURES.values() for one in made} | OF_RUNS
    there = {path.stem for path in (root / "docs" / "images").glob("*.png")}
    assert there == shown
    # tables of docs/reproduce are of the scripts beside them: tests/docs/test_reproduction.py and those of single pages
    written = {page: text for page, text in pages.items() if not page.startswith("docs/reproduce/")}
    places = {(page, name) for page, text in written.items() for name, _ in PLACE.findall(text)}
    assert places == {(page, one) for tables in TABLES.values() for page, found in tables.items() for one in found}
