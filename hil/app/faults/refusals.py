"""Faults that are there before a run: sensors that are open or shorted, and configs that are wrong (rows 5, 25)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from hil.app.faults.injection import LOCKSTEP, NO_RUN, Case, Expected, Injection, Outcome
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.oracle import unsafe
from hil.config import Config, ConfigError, parse_config
from hil.config.yaml_io import write_yaml

SENSOR_OPEN, CONFIG_WRONG = 5, 25
# What no key of a config may be.
NONSENSE = "\N{WARNING SIGN} nonsense"


def refusal_cases(config: Config) -> Iterator[Case]:
    """Each force sensor wrong before arming; each section of the config wrong, and all at once.

    Args:
        config: of the rig, in lockstep.
    """
    for channel in range(len(config.layout.channels)):
        for kind, key in (("offset", "bias_V"), ("noise", "noise_V")):
            name = f"sensor {config.layout.channels[channel]}"
            injection = Injection(SENSOR_OPEN, kind, name, "idle", LOCKSTEP, config.name)
            yield Case(injection, Expected(), partial(_wrong_sensor, config, channel, key))
    raw = config.model_dump(mode="json")
    sections = [key for key, value in raw.items() if isinstance(value, dict) and value]
    for section in sections:
        injection = Injection(CONFIG_WRONG, "every value wrong", section, "-", NO_RUN, config.name)
        yield Case(injection, Expected(), partial(_wrong_config, config, [section]))
    injection = Injection(CONFIG_WRONG, "every value wrong", "all sections", "-", NO_RUN, config.name)
    yield Case(injection, Expected(), partial(_wrong_config, config, sections))


def _wrong_sensor(config: Config, channel: int, key: str, expected: Expected) -> Outcome:  # noqa: ARG001
    """The simulated channel has twice the offset or the noise that is allowed."""
    raw = config.model_dump(mode="json")
    raw["daq"]["channels"][channel][key] = 2.0 * getattr(config.limits, key)
    run = LockstepRun(Config.model_validate(raw)).run()
    wrong = unsafe(run)
    if not run.refused or not (run.ticks["cut"] == 1).all():
        wrong.append("it was armed")
    return Outcome(wrong=tuple(wrong), remark="arming refused")


def _wrong_config(config: Config, sections: list[str], expected: Expected) -> Outcome:  # noqa: ARG001
    """Every value of the sections is replaced; each must be named, all at once."""
    raw = config.model_dump(mode="json")
    for section in sections:
        raw[section] = _spoilt(raw[section])
    try:
        parse_config(write_yaml(raw), config.name)
    except ConfigError as error:
        named = {str(problem).partition(".")[0].partition(":")[0] for problem in error.problems}
        missing = [section for section in sections if section not in named]
        wrong = (f"nothing is said of {', '.join(missing)}",) if missing else ()
        return Outcome(wrong=wrong, remark=f"refused, {len(error.problems)} problems named at once")
    return Outcome(wrong=("it was accepted",))


def _spoilt(value: Any) -> Any:
    return {key: _spoilt(one) for key, one in value.items()} if isinstance(value, dict) else NONSENSE
