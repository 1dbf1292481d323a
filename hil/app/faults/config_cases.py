"""Cases of configs in which every value is wrong (row 25)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from hil.app.faults.case import NO_RUN, Case
from hil.app.faults.command_cases import run_case
from hil.config import Config, ConfigError, parse_config
from hil.config.yaml_io import write_yaml

CONFIG_WRONG = 25
# What no key of a config may be.
NONSENSE = "\N{WARNING SIGN} nonsense"


def config_cases(config: Config) -> Iterator[Case]:
    """Each section of a config wrong, and all at once."""
    sections = [key for key, value in config.model_dump(mode="json").items() if isinstance(value, dict) and value]
    for name, wrong in (*((section, [section]) for section in sections), ("all sections", sections)):
        refused = partial(_refused, wrong, config)
        yield Case(CONFIG_WRONG, "every value wrong", name, "-", NO_RUN, config, run_case, refused)


def _refused(sections: Sequence[str], config: Config) -> tuple[str, str]:
    """Every value of the sections is replaced; each must be named, all at once."""
    raw = config.model_dump(mode="json")
    for section in sections:
        raw[section] = _spoilt(raw[section])
    try:
        parse_config(write_yaml(raw), config.name)
    except ConfigError as error:
        named = {str(problem).partition(".")[0].partition(":")[0] for problem in error.problems}
        missing = [section for section in sections if section not in named]
        wrong = f"nothing is said of {', '.join(missing)}" if missing else ""
        return wrong, f"refused, {len(error.problems)} problems named at once"
    return "it was accepted", ""


def _spoilt(value: Any) -> Any:
    return {key: _spoilt(one) for key, one in value.items()} if isinstance(value, dict) else NONSENSE
