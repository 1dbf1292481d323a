"""The controller of a rover test rig: a fixed-step loop between measured samples and gated commands.

From Python: `hil.load` a config, `hil.run` it, `hil.sweep` over its keys, see its `hil.sensitivity` to them,
`hil.optimise` them, `hil.open` what was recorded, `hil.identify` the soil, `hil.operate` a rig
(docs/how-to/use-from-python.md). These names are imported when they are used, so that
`import hil` takes no time.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hil.placement import require_placed

__version__: str  # of hil.version, which asks git in a checkout: when it is first wanted

if TYPE_CHECKING:
    from hil.api.design import DesignStudy, optimise, sensitivity
    from hil.api.operated import OperatedRig, operate
    from hil.api.result import IdentifiedSoil, Result, Runs, identify, open, runs
    from hil.api.running import Sweep, load, run, sweep
    from hil.config.checked_config import Config
    from hil.config.problems import ConfigError

__all__ = [
    "Config",
    "ConfigError",
    "DesignStudy",
    "IdentifiedSoil",
    "OperatedRig",
    "Result",
    "Runs",
    "Sweep",
    "__version__",
    "identify",
    "load",
    "open",
    "operate",
    "optimise",
    "run",
    "runs",
    "sensitivity",
    "sweep",
]
# Module of each of these names.
_PLACES = {
    "Config": "hil.config.checked_config",
    "ConfigError": "hil.config.problems",
    "DesignStudy": "hil.api.design",
    "IdentifiedSoil": "hil.api.result",
    "OperatedRig": "hil.api.operated",
    "Result": "hil.api.result",
    "Runs": "hil.api.result",
    "Sweep": "hil.api.running",
    "identify": "hil.api.result",
    "load": "hil.api.running",
    "open": "hil.api.result",
    "operate": "hil.api.operated",
    "optimise": "hil.api.design",
    "run": "hil.api.running",
    "runs": "hil.api.result",
    "sensitivity": "hil.api.design",
    "sweep": "hil.api.running",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from hil.version import running_version

        return running_version()
    if name not in _PLACES:
        raise AttributeError(f"module 'hil' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = globals()[name] = getattr(importlib.import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__


require_placed()
