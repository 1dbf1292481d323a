"""For which configs the thresholds of residuals hold: those of the good runs in which they were measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from hil.config.unchecked_config import UncheckedConfig, fingerprint

# Of no influence on a good run: who and where, what is recorded and published, what ends it, and how it is judged.
_IGNORED = (
    "name", "seed", "realtime", "quality", "limits", "record", "telemetry", "operator", "devices",
    "residuals",
)  # fmt: skip
# How a simulated rig differs from its model: a real rig does so too, and nobody knows how.
_UNKNOWN = ("plant.spread", "plant.substep_us")
# A fault of a simulated sensor is what the residuals are to show.
_INJECTED = re.compile(r"daq\.channels\.\d+\.fault")
_SINGLE = "run"  # section of the keys that are in none
_DIGITS = 16


class NotAlikeError(ValueError):
    """Runs of different rigs or experiments: their thresholds cannot be measured together."""


def conditions(configs: Sequence[UncheckedConfig]) -> tuple[dict[str, str], dict[str, tuple[float, float]]]:
    """What good runs had in common, and between which values they differed.

    Args:
        configs: of the runs, one at least.

    Returns:
        The fingerprint of each section without the keys that differ; smallest and largest value of those.

    Raises:
        NotAlikeError: they differ in a key that is no number.
    """
    settings = [_settings(config) for config in configs]
    keys = {key for one in settings for key in one}
    between: dict[str, tuple[float, float]] = {}
    for key in sorted(keys):
        values = [one.get(key, _defaults().get(key)) for one in settings]
        if all(type(value) is type(values[0]) and value == values[0] for value in values):
            continue
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if len(numbers) < len(values):
            raise NotAlikeError(
                f"{key}: found {', '.join(sorted({str(value) for value in values}))}; allowed: one value"
            )
        between[key] = float(min(numbers)), float(max(numbers))
    return _fingerprints(settings[0], between), between


def unlike(config: UncheckedConfig) -> str:
    """Why the thresholds of a config do not hold for it, in words; empty: they do, or there are none."""
    sheet = config.residuals.calibration
    if sheet is None:
        return ""
    settings = _settings(config)
    for key, (low, high) in sheet.between.items():
        value = settings.get(key, _defaults().get(key))
        if not isinstance(value, int | float) or not low <= value <= high:
            return f"{key} is {value}, and {low:g} to {high:g} in the good runs"
    fingerprints = _fingerprints(settings, sheet.between)
    other = sorted(
        name for name in {*fingerprints, *sheet.sections} if fingerprints.get(name) != sheet.sections.get(name)
    )
    return f"{', '.join(other)}: not as in the good runs" if other else ""


def _settings(config: UncheckedConfig) -> dict[str, Any]:
    """Every key that a good run depends on, dotted, with its value, if that is not its default.

    A key that comes with a later version, and stays at its default, makes no difference.
    """
    raw = config.model_dump(mode="json", exclude_defaults=True, exclude=set(_IGNORED))
    values = {
        key: value
        for key, value in _leaves(raw)
        if not (value == {} and isinstance(_defaults().get(key), Mapping))  # a section with nothing in it but defaults
    }
    return {key: values[key] for key in values if not (key.startswith(_UNKNOWN) or _INJECTED.fullmatch(key))}


@cache
def _defaults() -> Mapping[str, Any]:
    """Every key of a config that says nothing, dotted, with its value; a section is one, too."""
    return dict(_leaves(UncheckedConfig(name="default", rig="simulated").model_dump(mode="json"), sections=True))


def _leaves(value: Any, path: str = "", *, sections: bool = False) -> Iterator[tuple[str, Any]]:
    """Every value by its key; an empty section or list is one, and with `sections` the others are, too."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    below = [
        pair for key, item in items for pair in _leaves(item, f"{path}.{key}" if path else str(key), sections=sections)
    ]
    yield from below
    if sections or not below:
        yield path, value


def _fingerprints(settings: Mapping[str, Any], without: Mapping[str, Any]) -> dict[str, str]:
    sections: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        if key not in without:
            section = key.partition(".")[0] if "." in key else _SINGLE
            sections.setdefault(section, {})[key] = value
    return {name: fingerprint(values)[:_DIGITS] for name, values in sections.items()}
