"""Numbers of the tutorial and the README are those that their commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console

from hil.app.run import run
from hil.config import load_config, shipped_configs
from hil.experiments.impact.experiment import ImpactExperiment

pytestmark = pytest.mark.slow
NO_WEIGHTS = "rover.added_mass_kg=0"


def summary(*overrides, seed=None):
    return run(load_config("sim_impact", ["telemetry.endpoint=''", *overrides], seed)).summary


def printed(of):
    """Lines of the table of a trial, as a terminal shows it."""
    console = Console(width=80)
    with console.capture() as said:
        console.print(ImpactExperiment.table(of))
    return said.get().splitlines()


def test_masses_of_the_shipped_config_are_those_that_its_comment_says():
    text = shipped_configs()["sim_impact"]
    rover, bare = (load_config("sim_impact", change).rover.parameters().build() for change in ([], [NO_WEIGHTS]))
    masses = [one.mass_matrix(one.neutral())[0, 0] for one in (bare, rover)]
    found = re.search(r"# (\d+) kg in total, and ([\d.]+) kg with the added weights", text)
    assert found
    assert [float(number) for number in found.groups()] == pytest.approx(masses)


def test_numbers_of_the_tutorial_are_those_of_its_commands(pages):
    page = pages["docs/tutorial/first-trial.md"]
    first, upright = summary(), summary("trial.angle_deg=90")
    late = summary("links.drives_delay_ms=200")
    lines = [" ".join(line.split()) for line in printed(first)]
    assert [
        row
        for row in re.findall("^│.*│$", page.partition("```\n\nYou get")[0], re.M)
        if " ".join(row.split()) not in lines
    ] == []
    assert f"Its peak is {first['corrected_peak_force_N']:.1f} N: vibration" in page
    assert f"hit the obstacle after {first['impact_time_s']:.2f} s" in page
    assert f"after {first['contact_duration_s']:.2f} s" in page
    assert f"`identical: {first['loop']['ticks']}\nticks, bit for bit`" in page
    assert f"At 90 degrees the peak force is smaller: {upright['peak_force_N']:.1f} N." in page
    assert f"is smaller too: {upright['effective_kinetic_energy_J']:.2f} J." in page
    assert f"is now {late['peak_force_N']:.1f} N." in page
    assert f"hits: {first['peak_force_N']:.1f} N, `peak_force_N`" in page
    assert f"about twice as large: {first['contact_force_peak_N']:.1f} N, the row" in page
    for row in ("cut latency", "drives cut, simulated rig"):
        (line,) = (" ".join(line.split()) for line in printed(late) if row in line)  # as wide as its other rows
        assert line in " ".join(page.split())
    assert f"only {late['cut_effective_ms']:.2f} ms after that sample" in page
    one, both = (round(first[key]) for key in ("peak_force_N", "contact_force_peak_N"))
    said = f"{one} N (`peak_force_N`). The simulated rig also knows the force on both front wheels, {both} N"
    assert said in pages["README.md"].replace("\n", " ")
    assert f"front wheel measure {one} N." in pages["docs/index.md"].replace("\n", " ")
    with Image.open(Path(__file__).parents[2] / "docs" / "images" / "trial.png") as picture:
        assert picture.info["Title"].endswith(f"peak {first['peak_force_N']:.1f} N")  # else copy that of `make trial`


@pytest.mark.soak
def test_peak_forces_of_the_page_are_those_of_the_first_five_seeds(pages):
    words = r"seeds 1-5: contact force of both wheels; of the instrumented .* \| (\d+)-(\d+); (\d+)-(\d+) N"
    found = re.search(words, pages["docs/benchmarks/physics.md"])
    assert found
    runs = [summary(seed=seed) for seed in range(1, 6)]
    both, one = ([round(run[key]) for run in runs] for key in ("contact_force_peak_N", "peak_force_N"))
    assert [int(number) for number in found.groups()] == [min(both), max(both), min(one), max(one)]


def test_the_run_of_the_page_tutorial_takes_as_long_as_it_says(pages):
    page = pages["docs/tutorial/first-run-from-the-page.md"]
    found = re.search(r"`trial\.start_distance_m=1\.5`\s+gives the rover 1\.5 m to\s+drive, (\d+) s", page)
    assert found
    assert round(summary("trial.start_distance_m=1.5")["impact_time_s"]) == int(found[1])


@pytest.mark.soak
def test_peaks_on_each_ground_are_those_of_the_page(pages):
    words = r"At 60 degrees, seed 1, both wheels: (\d+) N on soil, (\d+) firm, (\d+) rigid, (\d+) none\."
    found = re.search(words, pages["docs/explanation/contact.md"])
    assert found
    peaks = [summary(f"ground.kind={kind}", seed=1) for kind in ("soil", "firm", "rigid", "none")]
    assert [round(one["contact_force_peak_N"]) for one in peaks] == [int(number) for number in found.groups()]
