"""Commands of the README and the docs are ones that the program takes: options, configs and plans are there and fit."""

from __future__ import annotations

import re

import pytest

from .page_commands import closed_doors, commands, complete, options_refused, problem, refusal

# Scripts that take minutes, and whose options the pages quote.
SCRIPT = re.compile(r"(benchmarks|tests/soak)/\w+\.py$")


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    with closed_doors(tmp_path_factory.mktemp("reader")):
        yield


@pytest.fixture(scope="module")
def found(pages):
    """Each command with the pages that have it."""
    each: dict[tuple[str, ...], list[str]] = {}
    for page, text in pages.items():
        for words in commands(text):
            each.setdefault(tuple(words), []).append(page)
    return each


def test_every_command_of_the_pages_is_one_that_the_program_takes(found):
    assert len(found) > 180
    wrong = [f"{places}: {' '.join(one)}: {why}" for one, places in found.items() if (why := problem(list(one)))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_command_of_the_pages_that_needs_no_reader_comes_to_its_work(doors, found):
    whole = [words for words in found if words[0] == "hil" and complete(list(words))]
    assert len(whole) > 80
    wrong = [f"{found[one]}: {' '.join(one)}: {why}" for one in whole if (why := refusal(list(one)))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_option_that_the_pages_give_a_script_of_benchmarks_or_soak_is_one_of_its_own(found):
    given = [words for words in found if words[0] == "python" and SCRIPT.match(words[1]) and complete(list(words))]
    assert len(given) > 10
    wrong = [f"{found[one]}: {' '.join(one)}: {why}" for one in given if (why := options_refused(list(one)))]
    assert not wrong, "\n".join(wrong)


def test_an_option_that_a_script_does_not_have_is_noticed():
    assert "unrecognized arguments: --sead" in options_refused(["python", "tests/soak/load_runs.py", "--sead", "3"])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("hil tryal sim_impact", "no such command"),
        ("hil trial sim_impact --sped 3", "No such option"),
        ("hil bench loops", "no such command"),
        ("make trail", "make has no trail"),
        ("python docs/figures/cut_delays.py", "not in the tree"),
        ("rover-hil trial", "no program"),
    ],
)
def test_a_command_that_the_program_does_not_have_is_noticed(command, why):
    assert why in problem(command.split())


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("hil trial sim_impakt", "sim_impakt"),
        ("hil trial sim_impact --set trial.spede_mps=0.03", "spede_mps"),
        ("hil trial sim_impact --seed one", "--seed"),
        ("hil run sim_impact --set trial.speed_mps=70", "speed_mps"),
        ("hil campaign sim_impact --plan theses", "theses"),
        # the tutorial's first command, once: so far the rover drives for longer than trial.timeout_s
        ("hil operate sim_impact --page --set trial.start_distance_m=5", "allowed: above 71.68"),
        ("hil operate sim_impact --plan thesis --set trial.start_distance_m=5", "allowed: above 71.68"),
        ("hil sweep sim_impact --over trial.speed_mps=70", "speed_mps"),
        ("hil explain 99", "99"),
    ],
)
def test_a_command_that_the_program_refuses_is_noticed(doors, command, why):
    assert why in refusal(command.split())


def test_commands_are_found_in_blocks_tables_and_sentences_and_go_over_several_lines():
    block = "```\nhil trial sim_impact \\\n  --seed 3 # three\nmake test\n```\n"
    text = f"Try `hil check`\n{block}| `hil export R --to csv\\|mat` |\n"
    assert commands(text) == [
        ["hil", "check"], ["hil", "export", "R", "--to", "csv|mat"], ["hil", "trial", "sim_impact", "--seed", "3"],
        ["make", "test"],
    ]  # fmt: skip
    assert commands("```\nImpact trial\n  accepted yes\n```\n") == []
