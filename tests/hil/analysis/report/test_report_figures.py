"""What the figures of a report hold: one scale for grounds, no legend over data, one meaning a colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.analysis.report import drawing, force_figures, trial_figures
from hil.analysis.report.groups import FORCE, WITH, WITHOUT, Group, Trial
from hil.analysis.report.trial_figures import Trace
from hil.experiments.drawing import ENERGY_COLOUR

ANGLES = (40.0, 60.0, 80.0)


def group(label, kind, force_N, dropped_N=(), offset=0.0):
    random = np.random.default_rng(int(force_N))
    rows = [
        {
            "number": number, "attempt": 1, "status": "kept", "angle_deg": angle,
            FORCE: force_N * random.uniform(0.9, 1.1), WITH: angle / 300.0, WITHOUT: (angle + offset) / 400.0,
            "load_point_m.0": random.uniform(-0.03, 0.03),
            "load_point_m.1": random.uniform(-0.03, 0.03), "grouser_offset_deg": random.uniform(-8.0, 8.0),
            "grouser_pitch_deg": 360.0 / 22.0,
        }
        for number, angle in enumerate(ANGLES * 4, 1)
    ]  # fmt: skip
    rows += [rows[0] | {"number": 50 + place, "status": "dropped", FORCE: F} for place, F in enumerate(dropped_N)]
    return Group(label, kind, tuple(Trial(row, None, {}, "") for row in rows))


@pytest.fixture(scope="module")
def groups():
    return [group("hard ground", "firm", 500.0, (4000.0, 300.0)), group("soft ground", "soil", 100.0, offset=60.0)]


@pytest.fixture(scope="module")
def figures(groups):
    with drawing.styled():
        return {
            "angle": [force_figures.force_over_angle(groups)],
            "energy": force_figures.force_over_energy(groups),
            "height": force_figures.force_over_hit_height(groups, None),
            "offset": force_figures.force_over_offset(groups),
            "points": trial_figures.load_points(groups, None, None, 0.13),
            "timing": [trial_figures.timing([Trial({}, None, {"cut_latency_ms": 2.0}, "")], np.arange(1.0, 50.0))],
        }


def test_grounds_have_one_scale_of_forces_and_one_of_energies(figures):
    hard, soft, *energies = figures["angle"][0].axes
    assert hard.get_ylim() == soft.get_ylim()
    assert len({axes.get_ylim() for axes in energies}) == 1
    first, second = figures["energy"]
    for one, other in zip(first.axes, second.axes, strict=True):
        assert (one.get_xlim(), one.get_ylim()) == (other.get_xlim(), other.get_ylim())


def test_the_common_scale_holds_the_trials_of_every_ground(figures, groups):
    forces = [row[FORCE] for one in groups for row in one.kept]
    for figure in (figures["angle"][0], *figures["energy"]):
        low, high = figure.axes[0].get_ylim()
        assert low <= min(forces)
        assert max(forces) <= high


def test_a_dropped_trial_does_not_set_the_scale_and_is_there_all_the_same(figures):
    hard = figures["angle"][0].axes[0]
    (dropped,) = [line for line in hard.lines if "dropped" in str(line.get_label())]
    assert hard.get_ylim()[1] < 1000.0
    assert len(dropped.get_ydata()) == 2
    assert max(dropped.get_ydata()) < hard.get_ylim()[1]
    assert "beyond the scale" in dropped.get_label()


@pytest.mark.slow
def test_no_legend_lies_over_data_and_the_line_that_says_what_it_is_of_over_nothing(figures):
    for figure in (one for drawn in figures.values() for one in drawn):
        drawing.settle(figure, "campaign thesis   seed 1   2026-11-29, 01:18 UTC   SIMULATED rig")
        words = figure.texts[-1].get_window_extent()
        legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
        assert not any(words.overlaps(legend.get_window_extent()) for legend in legends)
        for box in (*(legend.get_window_extent() for legend in legends), words):
            for axes in figure.axes:
                panel = axes.get_window_extent()
                assert box.y1 <= panel.y0 + 1 or box.y0 >= panel.y1 - 1 or box.x1 <= panel.x0 or box.x0 >= panel.x1
        below = [words, *(legend.get_window_extent() for legend in figure.legends)]
        written = [axes.get_tightbbox().padded(-1.0) for axes in figure.axes if axes.axison and axes.get_visible()]
        assert [(box, other) for box in below for other in written if box.overlaps(other)] == []


def test_a_figure_without_any_number_is_not_made():
    assert [*force_figures.force_over_offset([]), *force_figures.force_over_hit_height([], None)] == []
    assert trial_figures.load_points([], None, None, 0.13) == []


def test_dropped_trials_are_in_the_legend_only_where_there_are_some(groups):
    kept = [replace(one, trials=tuple(trial for trial in one.trials if trial.kept)) for one in groups]
    for some in (groups, kept):
        (figure,) = trial_figures.load_points(some, None, None, 0.13)
        words = [text.get_text() for text in figure.legends[0].get_texts()]
        assert ("dropped trial, any angle" in words) == any(not trial.kept for one in some for trial in one.trials)


def test_each_angle_has_one_colour_in_all_figures_and_no_two_share_it(figures):
    colours = {angle: drawing.colour_of_angle(angle) for angle in (40.0, 50.0, 60.0, 70.0, 80.0, 90.0)}
    assert len(set(colours.values())) == len(colours)
    for name in ("energy", "height", "points"):
        used = {
            str(line.get_color())
            for figure in figures[name]
            for axes in figure.axes
            for line in axes.lines
            if line.get_linestyle() == "None" and line.get_marker() not in ("x", "+")
        }
        assert used == {colours[angle] for angle in ANGLES}, name
    assert ENERGY_COLOUR not in colours.values()


def test_the_force_over_the_angle_is_black_or_grey_and_only_the_energy_has_a_colour(figures):
    for axes in figures["angle"][0].axes:
        for line in axes.lines:
            is_energy = "T_c" in str(line.get_label())
            colour = drawing.mpl.colors.to_rgb(line.get_color())
            assert (line.get_color() == ENERGY_COLOUR) == is_energy
            assert is_energy or len(set(colour)) == 1


def test_a_group_is_told_by_its_marker(figures):
    legend = {text.get_text() for text in figures["height"][0].legends[0].get_texts()}
    assert legend == {"hard ground", "soft ground", "40°", "60°", "80°"}
    markers = {line.get_marker() for line in figures["height"][0].axes[0].lines} - {"None"}
    assert markers == {drawing.marker_of(0), drawing.marker_of(1)}


def test_small_multiples_are_broken_over_figures_and_each_has_its_scale_in_a_cell_of_its_own():
    trace = Trace(-0.1, 0.001, ("top", "sum"), np.ones((2, 700), np.float32), "N")
    trials = [Trial({"number": number, "status": "kept"}, None, {}, "") for number in range(1, 41)]
    with drawing.styled():
        figures = trial_figures.small_multiples(trials, {trial.label: trace for trial in trials})
    assert len(figures) == 3
    words = [[text.get_text().strip() for text in figure.axes[0].texts] for figure in figures]
    assert all(found[:3].count("0.2 s") == 1 and "scale of all" in found[:3] for found in words)
    assert [word for found in words for word in found[3:]] == [trial.label for trial in trials]
    assert all(figure.get_figheight() < 2.8 for figure in figures)  # several on a page, without a half empty one


def test_without_trials_that_count_the_figures_say_so():
    nothing = [
        Group("hard ground", "firm", (Trial({"number": 1, "status": "dropped", "angle_deg": 40.0}, None, {}, ""),))
    ]
    with drawing.styled():
        for figure in (force_figures.force_over_angle(nothing), *force_figures.force_over_energy(nothing)):
            assert figure.axes[0].texts[0].get_text() == "no trial counts"
        whole = (
            force_figures.force_over_hit_height(nothing, None),
            force_figures.force_over_offset(nothing),
            trial_figures.load_points(nothing, None, None, 0.13),
        )
    assert whole == ([], [], [])  # no figure, in whose place the report says why
