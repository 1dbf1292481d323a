"""Fault 25, fuzzed: any wrong content of a config is refused with its key, never with another exception."""

import json
import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import Config, ConfigError, load_config
from hil.config.error_messages import schema_at
from hil.config.text_io import read_yaml

pytestmark = pytest.mark.slow

# Wrong values of each key, and of each key of a device, whose configs are long; `make fuzz` tries more.
A_KEY, A_DEVICE_KEY = (100, 5) if os.environ.get("HIL_FUZZ") else (4, 3)


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in _leaves(value, (*path, key))]
    if isinstance(node, list):
        return [leaf for index, value in enumerate(node) for leaf in _leaves(value, (*path, index))]
    return [path]


AXLES = ("front", "middle", "rear")
CONTROLLERS = [f"{{bus: 0, address: {0x80 + i}, m1: {axle}_left, m2: {axle}_right}}" for i, axle in enumerate(AXLES)]
PORTS = [f"{{port: '', channel_1: {axle}_left, channel_2: {axle}_right}}" for axle in AXLES]
FOUR = "left_extend: {0}0, left_retract: {0}1, right_extend: {0}2, right_retract: {0}3"
INPUTS = "[{sensor: top, channel: a/ai0}, {sensor: lower_left, channel: a/ai1}, {sensor: lower_right, channel: a/ai2}]"
SHEET = "{serial: LW1, sensitivity_mVpN: 11, range_N: 400, date: 2026-01-31}"
SHORT = "name: short\nrig: simulated\n"
# Every key of every device is in one of these.
DEVICES = {
    "first": f"""
  drives:
    driver: roboclaw
    ports: ['']
    counts_per_rev: 1000
    controllers: [{", ".join(CONTROLLERS)}]
    reversed: [front_right]
  valves:
    driver: modbus
    port: ''
    flash_on: true
    baud: 115200
    pressure_registers: {{{FOUR.format("")}, kPa_per_count: 1}}
    regulator: {{holding_register: 5, kPa_per_count: 1}}
    moves_within_s: 0.5
    coils: {{left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3}}
  daq:
    driver: ni
    inputs: {INPUTS}
    e_stop: a/port0/line0
    calibration: {{top: {SHEET}, lower_left: {SHEET}, lower_right: {SHEET}}}
""",
    "second": f"""
  drives:
    driver: roboteq
    max_rpm: 1000
    gear_ratio: 10
    controllers: [{", ".join(PORTS)}]
  valves:
    driver: ni
    lines: {{{FOUR.format("a/line")}}}
    pressure_channels: {{{FOUR.format("a/ai1")}, kPa_per_V: 100}}
    regulator: {{channel: a/ao0, kPa_per_V: 100}}
    watchdog_ms: 100
  daq: {{driver: ni, inputs: {INPUTS}}}
""",
    "third": """
  valves:
    driver: modbus
    port: ''
    flash_on: true
    baud: 115200
    regulators:
      left: {holding_register: 20, address: 2}
      right: {holding_register: 21}
      full_scale_kPa: 600
      full_scale_counts: 4000
      port: ''
      baud: 19200
      watchdog: {holding_register: 9, timeout_ms: 500}
""",
    "fourth": f"""
  valves:
    driver: ni
    lines: {{{FOUR.format("a/line")}}}
    regulators: {{left: a/ao0, right: a/ao1, kPa_per_V: 60}}
    watchdog_ms: 100
""",
}


def _with_devices(name: str) -> str:
    if name in ("third", "fourth"):  # with regulators, and without the devices that are above
        return f"{SHORT}cylinders: {{regulators: each}}\ndevices:{DEVICES[name]}"
    wire = SHORT.replace("simulated", "simulated_wire")
    return SHORT if name == "short" else f"{wire}clock: realtime\ndevices:{DEVICES[name]}"


def _paths(name: str) -> list[tuple[Any, ...]]:
    leaves = _leaves(read_yaml(_effective(name).to_yaml(), name)[0])
    return [path for path in leaves if (path[0] == "devices") == (name != "short")]


def _effective(name: str) -> Config:
    return Config.model_validate(read_yaml(_with_devices(name), name)[0])


LEAVES = [(name, path) for name in ("short", *DEVICES) for path in _paths(name)]
SECTIONS = sorted({(name, path[:depth]) for name, path in LEAVES for depth in range(1, len(path))}, key=str)


def _schema(name: str, path: tuple[Any, ...]) -> dict[str, Any]:
    """Schema of a key; the driver is between a device and its keys."""
    if path[0] == "devices" and len(path) > 2 and path[1] in ("drives", "valves", "daq"):
        path = (*path[:2], getattr(_effective(name).devices, path[1]).driver, *path[2:])
    return schema_at(path)[1]


def _yaml(value: Any) -> str:
    """The value in YAML's flow style."""
    if isinstance(value, float):
        return ".nan" if math.isnan(value) else repr(value).replace("inf", ".inf")
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {_yaml(item)}' for key, item in value.items())}}}"
    return json.dumps(value)


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))


def _word(value: Any) -> str:
    return _dotted(value) if isinstance(value, tuple) else str(value)


_TEXT = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)


@cache
def _wrong(name: str, path: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Values that the key at this path must not take."""
    schema = _schema(name, path)
    if "anyOf" in schema:  # a number or a list of them
        return st.sampled_from([None, "text", math.nan, math.inf, 1e9, [], [1e9], ["text"], {"nonsense": 1}])
    # a list may be empty, and a section whose keys all have defaults
    least = int(schema.get("type") == "array" or "properties" in schema)
    wrong: list[st.SearchStrategy[Any]] = [
        st.just({"nonsense": 1}) if schema.get("nullable") else st.none(),
        st.booleans(),
        st.lists(st.integers(), min_size=least, max_size=2),
        st.dictionaries(_TEXT, st.integers(), min_size=least, max_size=2),
        st.sampled_from([math.nan, math.inf, -math.inf]),
    ]
    if schema.get("type") in ("number", "integer"):
        lowest = schema.get("minimum", schema.get("exclusiveMinimum"))
        highest = schema.get("maximum", schema.get("exclusiveMaximum"))
        wrong += [
            _TEXT,
            st.sampled_from(["abc", "1", "1e3", "", "nan"]),
            st.sampled_from([10**250, -(10**250), 10**500]),
        ]
        wrong.append(st.floats(allow_nan=False).filter(lambda x: not lowest <= x <= highest))
        wrong.append(st.integers().filter(lambda x: not lowest <= x <= highest))
        if "exclusiveMinimum" in schema:
            wrong.append(st.just(lowest))
        if schema["type"] == "integer":
            wrong.append(st.floats(-1e4, 1e5).filter(lambda x: x != int(x)))
    elif schema.get("type") == "boolean":
        wrong[1] = st.integers()
    else:
        # a number that names a device may stand without quotes
        wrong += [st.integers(max_value=0) if path[-1] == "identity" else st.integers(), st.floats()]
        if "enum" in schema or "const" in schema:
            allowed = schema.get("enum", [schema.get("const")])
            wrong.append(_TEXT.filter(lambda word: word not in allowed))
        if "pattern" in schema:
            wrong.append(st.sampled_from(["a\nb", "x\n", "\x07"]))
        if path in (("name",), ("telemetry", "endpoint")):
            wrong.append(st.sampled_from(["a b", "../x", "tcp://x", "tcp://:1", "http://a:1"]))
        wrong.append(st.just("x" * 500))
    return st.one_of(wrong)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The shortest configs: fast to read a thousand times."""
    folder = tmp_path_factory.mktemp("short")
    found = {name: folder / f"{name}.yaml" for name in ("short", *DEVICES)}
    for name, file in found.items():
        file.write_text(_with_devices(name), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def short(files: dict[str, Path]) -> Path:
    """The shortest of all."""
    return files["short"]


@pytest.mark.parametrize("path", _paths("short"), ids=_dotted)
@settings(deadline=None, max_examples=A_KEY)
@given(data=st.data())
def test_a_wrong_value_is_refused_and_its_key_named(short: Path, path: tuple[Any, ...], data: st.DataObject) -> None:
    _refuse(short, path, data.draw(_wrong("short", path)))


@pytest.mark.parametrize(("name", "path"), [leaf for leaf in LEAVES if leaf[0] != "short"], ids=_word)
@settings(deadline=None, max_examples=A_DEVICE_KEY)
@given(data=st.data())
def test_a_wrong_value_of_a_device_is_refused_and_its_key_named(
    files: dict[str, Path], name: str, path: tuple[Any, ...], data: st.DataObject
) -> None:
    _refuse(files[name], path, data.draw(_wrong(name, path)))


def _refuse(file: Path, path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(file, [f"{_dotted(path)}={_yaml(value)}"])
    key, wrong = f"{_dotted(path)}.", caught.value.problems
    named = [f"{one.key}.".startswith(key) or any(key.startswith(f"{of}.") for of in one.depends_on) for one in wrong]
    assert any(f"{one.key}.".startswith(key) for one in wrong)
    assert all(named), [one.key for one in wrong]


# Without pairs of numbers: any two are one, and a profile's are checked by themselves.
PAIRS = ("profile", "points")
NO_PAIRS = [(name, path) for name, path in SECTIONS if not (path[-2:-1] and path[-2] in PAIRS)]


@pytest.mark.parametrize(("name", "path"), NO_PAIRS, ids=_word)
def test_a_wrong_section_is_refused_and_its_key_named(files: dict[str, Path], name: str, path: tuple[Any, ...]) -> None:
    nullable = _schema(name, path).get("nullable")
    for value in ([] if nullable else [None]) + [3, "text", True, [1, 2], math.nan, {"nonsense": 1}]:
        with pytest.raises(ConfigError) as caught:
            load_config(files[name], [f"{_dotted(path)}={_yaml(value)}"])
        assert all(problem.key.startswith(_dotted(path)) for problem in caught.value.problems), value


def _value_of_a_name(name: str, path: tuple[Any, ...]) -> str:
    """A good value, where the keys of a section are names of the rig's parts."""
    named = _schema(name, path).get("additionalProperties") if path else None
    if not isinstance(named, dict):
        return "1"
    return {"string": "a/x9", "integer": "1"}.get(named.get("type", ""), "{holding_register: 9}")


@pytest.mark.parametrize(("name", "path"), [("short", ()), *SECTIONS], ids=_word)
def test_an_unknown_key_is_refused_in_every_section(files: dict[str, Path], name: str, path: tuple[Any, ...]) -> None:
    key = _dotted((*path, "no_such_key"))
    with pytest.raises(ConfigError, match="no_such_key") as caught:
        load_config(files[name], [f"{key}={_value_of_a_name(name, path)}"])
    assert any(
        "unknown key" in problem.found or "place in that list" in problem.allowed for problem in caught.value.problems
    )


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "trial", "daq", "x"]), inner),
    max_leaves=12,
)


@settings(deadline=None, max_examples=200)
@given(value=_ANYTHING)
def test_a_file_of_anything_is_refused_as_a_config_error(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    file = tmp_path_factory.mktemp("any") / "any.yaml"
    file.write_text(_yaml(value), encoding="utf-8")
    with pytest.raises(ConfigError):
        load_config(file)


@settings(deadline=None, max_examples=200)
@given(content=st.binary(max_size=60) | st.text("{}[]:,-&*!|>'\"%@`#? \n\tab1.", max_size=40).map(str.encode))
def test_a_file_of_any_bytes_is_refused_as_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.mktemp("bytes") / "bytes.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError):
        load_config(file)


@settings(deadline=None, max_examples=300)
@given(override=st.text(max_size=30) | st.text("abtril.=0:[]{}*&!-_daq.channels", max_size=30))
def test_an_override_of_any_text_never_ends_in_another_exception(short: Path, override: str) -> None:
    with suppress(ConfigError):  # sometimes the override is allowed
        load_config(short, [override])
