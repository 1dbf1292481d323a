"""Figures of what is made with a config: of what they are stands below them, and nothing lies over anything else."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from hil.analysis.energy import draw_energy
from hil.analysis.energy_variants import draw_parts
from hil.campaign.activity import draw as draw_activity
from hil.campaign.sensitivity import draw_sensitivity
from hil.campaign.traction.series import SlopeSearch, draw_drawbar, draw_slopes
from hil.config import load_config
from hil.experiments.drawing import MODELS, TESTS, new_panels, save_study, set_frame, source_line, study_facts
from hil.experiments.figure_form import FigureForm

ANGLES = [30.0, 50.0, 70.0, 90.0]
CURVE = {"angles_deg": ANGLES, "energy_J": [0.1, 0.2, 0.15, 0.1], "peak_angle_deg": 52.0}
MODES = ("passive", "uniform", "front_heavy", "rear_heavy", "max_traction")
WHEELS = [f"{place}_{side}" for place in ("front", "middle", "rear") for side in ("left", "right")]
PARTS = {
    "compliance": {
        "rigid_energy_J": CURVE["energy_J"],
        "energy_J": [0.01, 0.02, 0.02, 0.02],
        "leg_stiffness_Npm": 5e4,
        "over_plate": {"stiffness_Npm": [1e3, 1e6], "energy_J": [0.2, 0.01]},
    },
    "sensitivity": {"coordinates": ["base_pitch", *WHEELS], "gradient_Jprad": np.arange(28.0).reshape(7, 4).tolist()},
    "standing": {
        "friction_needed": [0.1, 0.2, 0.4, None],
        "load_share": {name: [0.1 + 0.01 * place, 0.2, 0.1, None] for place, name in enumerate(WHEELS)},
    },
}
STEPS = [("warm_up", 0.0, 3600.0), ("drive", 3600.0, 3650.0), ("night", 3650.0, 40_000.0)]


def study_figures(form):
    curves = [
        {"mode": mode, "weight": weight, "slip": [0.1, 0.3], "pull_N": [200.0, 400.0], "spread": [0.2, 0.4]}
        for mode in MODES
        for weight in ("none", "front", "middle", "rear")
    ]
    searches = [
        SlopeSearch(mode, 20.0, 21.0, [{"slope_deg": s, "slip": s / 30.0} for s in (25.0, 5.0)]) for mode in MODES
    ]
    rows = np.array(
        [[0.0, 0.0, 0.0, 0.9], [3600.0, 60.0, 0.0, 0.8], [3650.0, 700.0, 100.0, 0.7], [40e3, 30.0, 0.0, 0.4]]
    )
    phases = [SimpleNamespace(name=name, from_s=begin, to_s=end) for name, begin, end in STEPS]
    derivatives = [
        {"result": name, "key": key, "low": 1.0, "high": 2.0, "at_low": 90.0, "at_high": 120.0, "at_config": 100.0,
         "told_from_0": beyond}
        for name in ("contact_force_peak_N", "effective_kinetic_energy_J")
        for key, beyond in (("trial.speed_mps", True), ("soil.stiffness_kN_per_m_to_the_2_plus_n", False))
    ]  # fmt: skip
    return {
        "energy": draw_energy(CURVE, form),
        **draw_parts(PARTS, CURVE, 60.0, form),
        "drawbar": draw_drawbar(curves, form),
        "slope": draw_slopes(searches, 20.5, 0.8, form),
        "activity": draw_activity(
            SimpleNamespace(battery=SimpleNamespace(least_share=0.3)), SimpleNamespace(rows=rows, phases=phases), form
        ),
        "derivatives": draw_sensitivity({"config": "sim_impact", "seed": 1, "sensitivities": derivatives}, form),
    }


@pytest.mark.slow
@pytest.mark.parametrize("width", ["screen", "single", "double"])
def test_no_legend_title_or_source_of_a_study_lies_over_anything(width):
    form = FigureForm(width)
    for name, figure in study_figures(form).items():
        if not figure.texts:  # that of sensitivities has its frame already
            set_frame(figure, form, f"sim_impact: {name}", source_line(study_facts(load_config("sim_impact")), "run_8"))
        figure.canvas.draw()
        words, *boxes = figure.texts[-1].get_window_extent(), *(one.get_window_extent() for one in figure.legends)
        panels = [axes.get_tightbbox() for axes in figure.axes if axes.axison]
        for number, box in enumerate([words, *boxes, *panels]):
            assert box.x0 + 1.0 >= 0.0, (name, width)
            assert box.x1 <= figure.bbox.x1 + 1.0, (name, width)
            assert not any(box.overlaps(other) for other in [words, *boxes, *panels][number + 1 :]), (name, width)
        assert not any(axes.get_legend() for axes in figure.axes), name


@pytest.mark.slow
@pytest.mark.parametrize("width", ["screen", "single", "double"])
def test_a_title_with_long_reasons_lies_within_the_figure(width):
    form = FigureForm(width)
    why = "not armed: wheel speed before the start is 0.2124 rad/s, allowed: at most 0.01 rad/s (standing still); "
    why += "wait until all wheels stand still, and keep the rover from rolling"
    figure, _ = new_panels(form, 2, 3.6)
    set_frame(figure, form, f"Drive, 0.000 m: not accepted: {why}", "run a")
    figure.canvas.draw()
    (title,) = figure.findobj(lambda one: isinstance(one, Text) and one.get_text() == figure.get_suptitle())
    assert title.get_window_extent().x1 <= figure.bbox.x1


def test_a_sketch_of_a_rover_names_no_run_for_it_is_of_none():
    assert source_line({"config": "mine", "rig": MODELS}, None).split("   ")[1:] == ["config mine", MODELS]


def test_every_figure_of_a_study_says_whether_anything_real_moved():
    config = load_config("sim_impact")
    assert "SIMULATED rig" in source_line(study_facts(config), "a")
    assert MODELS in source_line(study_facts(config, MODELS), "a")
    assert "real rig" in source_line(study_facts(config, "real"), "a")
    assert TESTS in source_line({"tests": "bed.csv", "rig": TESTS}, "a")
    assert "rig unknown" in source_line({}, "a")
    for words in ("run a", "seed 1", "config sim_impact", "   20"):
        assert words in source_line(study_facts(config), "a")


@pytest.mark.slow
def test_a_study_figure_has_the_width_and_the_format_that_were_asked_for(tmp_path):
    form = FigureForm("single", to="svg")
    path = form.path(tmp_path, "energy")
    save_study(draw_energy(CURVE, form), form, path, "energy", study_facts(load_config("sim_impact"), MODELS))
    assert path.name == "energy.single.svg"
    assert 'width="240.9' in path.read_text()[:2000]  # 85 mm
    form = FigureForm()
    save_study(draw_energy(CURVE, form), form, form.path(tmp_path, "energy"), "energy", {"seed": "3", "rig": MODELS})
    assert Image.open(tmp_path / "energy.png").text["rig"] == MODELS
