"""`hil sim DEVICE`: one simulated device for programs in any language, with commands on standard input."""

from __future__ import annotations

import inspect
import json
import os
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hil.testing
from drivers.extensions import install_command
from hil.config.files import write_whole
from hil.processes.lifecycle import StopFlag
from hil.simulator.control_socket import dispatch

# Devices that `hil sim` serves, by the name of the function that makes them.
DEVICES = (
    "roboclaw", "roboclaw_servos", "roboteq", "relay_board", "regulators", "amplifier", "encoders", "ni_chassis",
    "distance_sensor", "imu", "motion_capture", "total_station",
)  # fmt: skip
# Between two looks whether to end [s].
_LOOK_S = 0.1


class SettingError(ValueError):
    """A device was given a setting that it does not have, or not this value."""


def make(name: str, settings: Mapping[str, Any]) -> Any:
    """A device by its name. The settings are those of the function of that name in `hil.testing`.

    Raises SettingError: it has no such setting, or not this value.
    """
    try:
        function = getattr(hil.testing, name)
    except ModuleNotFoundError as error:
        raise SettingError(
            f"{name}: the package {error.name} is missing; install the extra ni: {install_command('ni')}"
        ) from None
    known = [one for one, how in inspect.signature(function).parameters.items() if how.kind is not how.VAR_KEYWORD]
    if name in ("roboclaw", "roboteq"):
        from hil.testing.wheels import WHEEL_SETTINGS

        known += WHEEL_SETTINGS
    known.remove("bench")
    for key in settings:
        if key not in known:
            raise SettingError(f"{name}: setting {key!r} found; allowed: {', '.join(known)}")
    try:
        return function(**settings)
    except (ValueError, TypeError) as error:
        raise SettingError(str(error)) from None


def serve(
    device: Any,
    endpoints: Path | None,
    stop_flag: StopFlag,
    announce: Callable[[dict[str, Any]], None],
    answer: Callable[[Mapping[str, Any]], None],
) -> None:
    """Serve a device until `stop_flag` is set; obey commands, one JSON object a line on standard input.

    The file `endpoints` is written once it listens, and removed at the end. `announce` is called once with its name and
    where it is.
    """
    handlers = {
        "inject_fault": lambda command: _nothing(device.inject_fault(**command)),
        "end_faults": lambda command: _nothing(device.end_faults(**command)),
        "press_e_stop": lambda command: _nothing(device.press_e_stop(**command)),
        "get": lambda command: {"value": _plain(_found(device, command["key"]))},
        "set": lambda command: _set(device, command["key"], command["value"]),
    }
    with ExitStack() as stack:
        stack.callback(device.close)
        where = {"address": device.address} if device.name == "ni_chassis" else {"path": device.path}
        if endpoints is not None:
            write_whole(endpoints, json.dumps({device.name: next(iter(where.values()))}, indent=2) + "\n")
            stack.callback(lambda: endpoints.unlink(missing_ok=True))
        baud = {} if device.name in ("ni_chassis", "motion_capture") else {"baud": device.baud}
        announce({"device": device.name, **where, **baud})
        _obey(handlers, stop_flag, answer)


def _obey(
    handlers: Mapping[str, Callable[[dict[str, Any]], Mapping[str, Any]]],
    stop_flag: StopFlag,
    answer: Callable[[Mapping[str, Any]], None],
) -> None:
    rest, inputs = b"", [sys.stdin.fileno()]
    while not stop_flag.ending:
        if not select.select(inputs, [], [], _LOOK_S)[0]:
            continue
        data = os.read(inputs[0], 65536)
        if not data:  # nobody sends commands any more; it is served until it is stopped
            inputs = []
        *lines, rest = (rest + data).split(b"\n")
        for line in filter(bytes.strip, lines):
            answer(_answer(line, handlers))


def _answer(line: bytes, handlers: Mapping[str, Callable[[dict[str, Any]], Mapping[str, Any]]]) -> Mapping[str, Any]:
    try:
        return dispatch(line, handlers)
    except (AttributeError, IndexError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


def _nothing(_done: object) -> dict[str, Any]:
    return {}


def _steps(key: str) -> list[str]:
    """Parts of a key such as `wheels.0.speed_radps`. Raises ValueError."""
    steps = str(key).split(".")
    if any(not step or step.startswith("_") for step in steps):
        raise ValueError(f"key {key!r} found; allowed: names and numbers with dots between, as wheels.0.speed_radps")
    return steps


def _step(value: Any, step: str) -> Any:
    if hasattr(value, "__getitem__") and (step.removeprefix("-").isdigit() or isinstance(value, Mapping)):
        return value[step] if step in value else value[int(step, 0)]
    found = getattr(value, step)
    if callable(found) or inspect.ismodule(found):
        raise ValueError(f"{step} is no value that can be read or set")
    return found


def _found(device: Any, key: str) -> Any:
    value = device
    for step in _steps(key):
        value = _step(value, step)
    return value


def _set(device: Any, key: str, value: Any) -> dict[str, Any]:
    *path, last = _steps(key)
    holder = _found(device, ".".join(path)) if path else device
    if hasattr(holder, "__setitem__"):
        holder[last if isinstance(holder, Mapping) and last in holder else int(last, 0)] = value
    elif last in vars(holder) or isinstance(getattr(type(holder), last, None), property):
        setattr(holder, last, value)
    else:
        raise ValueError(f"{key} cannot be set")
    return {}


def _plain(value: Any) -> Any:
    """As JSON has it. Raises ValueError: it is an object with parts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{type(value).__name__} has parts; name one of them")
