"""From a file, overrides and a seed to a checked config, or to the list of all problems."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from hil.config.checked_config import FILES, Config, Overrides, checked_values, require_possible
from hil.config.error_messages import shown
from hil.config.files import is_file, read_text
from hil.config.problems import ConfigError, Problem, suggestion
from hil.config.text_io import MOST_BYTES, read_yaml


def load_config(source: str | Path, overrides: Overrides = (), seed: int | None = None) -> Config:
    """Read, override and check a config.

    Args:
        source: path of a YAML file, or the name of a shipped config, with or without `rig_configs/` and `.yaml`; an
            existing file comes first.
        overrides: applied in order before the check; `a.0.b` reaches into a list. Texts `a.b=VALUE`, VALUE in YAML, as
            the command line takes them; or values by key, of Python or numpy. There a section may be a mapping: the
            keys that it does not name stay as they are.
        seed: replaces the seed of the config.

    Raises:
        ConfigError: with all problems at once.

    Example:
        >>> config = load_config("sim_impact", ["trial.angle_deg=70"], seed=3)
        >>> config.trial.angle_deg, config.seed, config.rover.type
        (70.0, 3, 'rcp')
        >>> load_config("sim_impact", ["trial.angle_deg=steep", "trial.colour=red"])
        Traceback (most recent call last):
            ...
        hil.config.problems.ConfigError: config sim_impact: 2 problems
          trial.angle_deg: ...
          trial.colour: ...
    """
    text, folder = _found(source)
    return require_possible(_checked(text, str(source), overrides, seed, folder), str(source))


def parse_config(text: str, source: str) -> Config:
    """Check the effective config of a run; `source` is its name in errors. Raises ConfigError."""
    return _checked(text, source)


def _checked(
    text: str, source: str, overrides: Overrides = (), seed: int | None = None, folder: Traversable | None = None
) -> Config:
    """Override and check a config; `folder` is the folder of its files; None: the config must contain everything."""
    raw, problems = read_yaml(text, "(file)")
    if raw is None and not problems:
        raw = {}
    if not isinstance(raw, dict):
        found = Problem("(file)", shown(raw), "sections and keys, as in the shipped configs (hil configs)")
        raise ConfigError(source, problems or [found])
    return checked_values(raw, problems, source, overrides, seed, folder)


def shipped_configs() -> dict[str, str]:
    """Text of every shipped config by its name.

    Example:
        >>> "sim_impact" in shipped_configs()
        True
    """
    folder = resources.files("rig_configs")
    files = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {name.removesuffix(".yaml"): file.read_text(encoding="utf-8") for name, file in files}


def shipped_files(name: str) -> dict[str, str]:
    """A shipped config and the files it names, if any: text by path, relative to the config's folder."""
    text = shipped_configs()[name]
    files, raw = {f"{name}.yaml": text}, read_yaml(text, name)[0]
    for path in filter(None, (file.path(raw) for file in FILES)):
        files[path] = (resources.files("rig_configs") / path).read_text(encoding="utf-8")
    return files


def shipped_name(source: str | Path) -> str:
    """The bare name in `rig_configs/NAME.yaml`."""
    return str(source).removeprefix("./").removeprefix("rig_configs/").removesuffix(".yaml")


def _found(source: str | Path) -> tuple[str, Traversable]:
    """Text and folder of a config."""
    try:
        if is_file(Path(source)):
            return read_text(Path(source), MOST_BYTES), Path(source).parent
    except (OSError, ValueError) as error:
        raise ConfigError(str(source), [Problem("(file)", str(error), "a readable YAML file")]) from None
    shipped = {file.name: file for file in resources.files("rig_configs").iterdir()}
    if file := shipped.get(f"{shipped_name(source)}.yaml"):
        return file.read_text(encoding="utf-8"), resources.files("rig_configs")
    allowed = f"a YAML file, or a shipped config{nearest(shipped_name(source), shipped_configs())}"
    raise ConfigError(str(source), [Problem("(file)", _what_is_there(Path(source)), allowed)])


def nearest(name: str, shipped: Iterable[str]) -> str:
    """What follows `a shipped config` or `plan` in a message: the most similar names, or all of them."""
    shipped = [*shipped]
    meant = suggestion(name, shipped, alike=0.6)
    return f" ({meant}); hil configs lists them" if meant else f": {', '.join(shipped)}"


def _what_is_there(path: Path) -> str:
    """Describe what is at a path that should be a file."""
    try:
        if path.is_dir():
            return "a folder"
        return "no file, but a device, pipe or socket" if path.exists() else "no such file"
    except OSError as error:
        return error.strerror or str(error)
    except ValueError:
        return "not a file name"
