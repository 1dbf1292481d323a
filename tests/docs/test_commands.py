"""Commands of the README and the docs are ones that the program takes: options, configs, plans and keys exist."""

from __future__ import annotations

import re
import shlex

import pytest
import typer.main
from typer.core import TyperGroup

from hil.campaign.plan import load_plan
from hil.cli import app
from hil.config import load_config
from hil.config.load import shipped_configs

INLINE = re.compile(r"`(?:\.venv/bin/)?(hil [^`\n]+)`")
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Words of a reader: CONFIG, RUN, N; KEY=VALUE; [ARGS]; a file of the reader's.
OF_A_READER = "textline"  # the driver that docs/how-to/add-a-driver.md writes; tests/example_package has it
PLACEHOLDER = re.compile(r"^[A-Z]+$|[A-Z]{3,}=|^\[|\]$|\|")


def commands(text):
    """All commands in a text of Markdown, without `hil`."""
    lines = [line.strip() for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    lines = [line.removeprefix("$ ").removeprefix(".venv/bin/") for line in lines]
    found = [*INLINE.findall(BLOCK.sub("", text)), *(line for line in lines if line.startswith("hil "))]
    return [shlex.split(line.replace("\\|", "|").partition(" | ")[0], comments=True)[1:] for line in found]


def problem(words):
    """What the program would not take of a command; None: nothing."""
    words = [word for word in words if word != "&" and not PLACEHOLDER.search(word)]
    command, names = typer.main.get_command(app), ["hil"]
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        names.append(words.pop(0))
        if names[-1] not in command.commands:
            return f"{' '.join(names)}: no such command"
        command = command.commands[names[-1]]
    try:
        given, _, _ = command.make_parser(command.context_class(command)).parse_args(list(words))
    except Exception as error:  # typer's own usage errors have no public name
        # a page may name an option without its value: `--sheet`
        return None if "requires an argument" in str(error) else f"{' '.join(names)}: {error}"
    return None if any(OF_A_READER in word for word in words) else wrong_values(given)


def wrong_values(given):
    """What of the values is not there: config, plan, key."""
    config, plan = given.get("config"), given.get("plan")
    try:
        if isinstance(plan, str):
            load_plan(plan)
        if isinstance(config, str) and config.removesuffix(".yaml") in shipped_configs():
            load_config(config.removesuffix(".yaml"), given.get("overrides") or ())
        elif isinstance(config, str):
            return f"no config {config}"
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.slow
def test_every_command_of_the_pages_is_one_that_the_program_takes(pages):
    found = [(page, words) for page, text in pages.items() for words in commands(text)]
    assert len(found) > 150
    wrong = [f"{page}: hil {' '.join(words)}: {why}" for page, words in found if (why := problem(words))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("tryal sim_impact", "no such command"),
        ("trial sim_impact --sped 3", "No such option"),
        ("trial sim_impakt", "no config sim_impakt"),
        ("trial sim_impact --set trial.spede_mps=0.03", "spede_mps"),
        ("run sim_impact --set trial.speed_mps=70", "speed_mps"),
        ("campaign sim_impact --plan theses", "plan theses"),
        ("bench loops", "no such command"),
    ],
)
def test_a_command_that_the_program_does_not_take_is_noticed(command, why):
    assert why in problem(command.split())
