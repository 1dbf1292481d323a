"""From a file, overrides and a seed to a checked config, or to the list of all problems."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from hil.config.calibration import CALIBRATIONS
from hil.config.checked import Config
from hil.config.error_messages import problems_of, shown, wrong_by_themselves
from hil.config.named_file import NamedFile
from hil.config.other_rovers import leave_out_replaced, other_rovers_problems, rover_type
from hil.config.overrides import SEED_ON_RIG, changes_of, put
from hil.config.problems import ConfigError, Problem
from hil.config.profile_file import PROFILE, TABLE
from hil.config.retired_keys import retired_key_problems
from hil.config.rover_file import URDF
from hil.config.scan.file import ScanFile
from hil.config.text_file import is_file, read_text
from hil.config.unused_sections import leave_out_unused, unused_section_problems
from hil.config.yaml_io import MOST_BYTES, read_yaml

# Whatever a config may name by a path, in the order in which it is read.
FILES: tuple[NamedFile, ...] = (*CALIBRATIONS, PROFILE, TABLE, URDF, ScanFile())
Overrides: TypeAlias = Sequence[str] | Mapping[str, Any]


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
    return possible(_checked(text, str(source), overrides, seed, folder), str(source))


def change_config(config: Config, values: Mapping[str, Any]) -> Config:
    """A config with other values, checked as `load_config` checks them; the config itself stays as it is.

    Args:
        config: as loaded.
        values: by key, as `load_config` takes them; paths of files are relative to the current folder.

    Raises:
        ConfigError: with all problems at once.
    """
    # what was not given is left out: its default may depend on what changes
    raw = config.model_dump(mode="json", exclude_unset=True)
    return possible(_checked_values(raw, [], config.name, values, None, Path()), config.name)


def possible(config: Config, source: str) -> Config:
    """The config, if the models can be made of it. Raises ConfigError."""
    try:
        config.rover.parameters()
    except ValueError as error:
        raise ConfigError(source, [Problem(config.rover.path, "an impossible rover", str(error))]) from None
    try:
        config.rover_parameters()
    except ValueError as error:
        raise ConfigError(source, [Problem("wheel", "impossible wheels", str(error))]) from None
    from hil.config.integration import contacts_of, step_problems  # imports numba, as the rover above

    if problems := step_problems(contacts_of(config), config.plant.substep_us):
        raise ConfigError(source, problems)
    if config.ground.scan is not None:
        from hil.config.scan_checks import scan_problems

        if problems := scan_problems(config):
            raise ConfigError(source, problems)
    if config.layout.controls_loads:
        from hil.config.resting_loads import limit_problems  # imports kernels, which other configs do not need
        from hil.config.rig import Rig

        if problems := limit_problems(Rig(config)):
            raise ConfigError(source, problems)
    return config


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
    return _checked_values(raw, problems, source, overrides, seed, folder)


def _checked_values(
    raw: dict[str, Any],
    problems: list[Problem],
    source: str,
    overrides: Overrides,
    seed: int | None,
    folder: Traversable | None,
) -> Config:
    """The same of the values of a config, which are changed; `problems`: of its text."""
    rover, experiment = rover_type(raw), raw.get("experiment", "impact")
    changes, wrong = changes_of(overrides)
    problems += wrong
    for change in changes:
        problems += put(raw, change)
    if seed is not None:
        raw["seed"] = seed
    chosen = "--seed" if seed is not None else "seed" if isinstance(overrides, Mapping) and "seed" in overrides else ""
    if chosen and raw.get("rig") == "real":
        problems.append(Problem(chosen, str(raw["seed"]), SEED_ON_RIG))
    given = [key for change in changes for key in change.keys_set()]
    problems += retired_key_problems(raw)
    if folder is None or raw.get("experiment", "impact") != experiment:
        leave_out_unused(raw, changes, experiment)
    problems += unused_section_problems(raw)
    if folder is not None:  # the effective config of a run may be older than this check
        leave_out_replaced(raw, given, rover)
        problems += other_rovers_problems(raw)
        for file in FILES:
            problems += file.put(raw, folder)
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        reported = {problem.key for problem in problems} & {URDF.key}  # a file that cannot be read is not missing, too
        problems += [problem for problem in problems_of(error) if problem.key not in reported]
        problems += _cross_checks_of_the_rest(raw, problems)
    if problems:
        raise ConfigError(source, problems)
    return config


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
    shipped = shipped_configs()
    try:
        if is_file(Path(source)):
            return read_text(Path(source), MOST_BYTES), Path(source).parent
    except (OSError, ValueError) as error:
        raise ConfigError(str(source), [Problem("(file)", str(error), "a readable YAML file")]) from None
    if shipped_name(source) in shipped:
        return shipped[shipped_name(source)], resources.files("rig_configs")
    allowed = f"a YAML file, or a shipped config: {', '.join(shipped)}"
    raise ConfigError(str(source), [Problem("(file)", _what_is_there(Path(source)), allowed)])


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


def _cross_checks_of_the_rest(raw: dict[str, Any], problems: Sequence[Problem]) -> list[Problem]:
    """Problems between keys that are valid by themselves.

    pydantic checks these only once every key is valid. So invalid keys are set to their defaults here.
    """
    mended = copy.deepcopy(raw)
    mended |= {key: value for key, value in (("name", "default"), ("rig", "simulated")) if key not in mended}
    wrong = [problem.key for problem in problems]
    for key in wrong:
        _remove(mended, key.split("."))
    mended |= {key: value for key, value in (("name", "default"), ("rig", "simulated")) if key not in mended}
    while True:
        try:
            Config.model_validate(mended)
            return []
        except ValidationError as error:
            more, lacking = problems_of(error), wrong_by_themselves(error)
        # keys without a default: any number is good here, and a device that lacks anything else is left out
        mendable = [key for key in lacking if key.startswith("devices.")]
        if not mendable:
            return [problem for problem in more if not any(_touches(problem, key) for key in wrong)]
        for key in mendable:
            _, device, *rest = key.split(".")
            section = mended["devices"][device]
            if len(rest) == 1 and lacking[key] is not None and rest[0] not in section:
                section[rest[0]] = lacking[key]
            else:
                _remove(mended, ["devices", device])
                break


def _remove(node: Any, keys: list[str]) -> None:
    """Remove a key; for a key in a list, remove the whole list."""
    *way, last = keys
    for key in way:
        if not isinstance(node, dict):
            return
        if isinstance(node.get(key), list):
            last = key
            break
        node = node.get(key)
    if isinstance(node, dict):
        node.pop(last, None)


def _touches(problem: Problem, wrong: str) -> bool:
    """Whether a problem depends on a key that is invalid by itself."""
    return any(
        f"{key}.".startswith(f"{wrong}.") or f"{wrong}.".startswith(f"{key}.")
        for key in (problem.key, *problem.depends_on)
    )
