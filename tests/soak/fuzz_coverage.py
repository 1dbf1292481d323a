"""Coverage-guided fuzzing of what reads data from elsewhere: `python tests/soak/fuzz_coverage.py --seconds 60`.

Each target runs in a process of its own for so long. It ends with an error for an exception that is not a refusal, an
input that takes over a minute, and more than 2 GB of memory; libFuzzer then writes the input to a file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import atheris
except ImportError:  # it is made for Linux on x86-64
    print("not fuzzed by coverage: atheris is not installed on this platform")
    sys.exit(0)

# What is instrumented: our readers, and the part of the YAML library that is Python.
READERS = (
    "yaml",
    "hil.config.text_io",
    "hil.config.files",
    "hil.config.error_messages",
    "hil.simulator.control_socket",
)
READERS += ("hil.operator.command_messages",)
TIMEOUT_S, MEMORY_MB = 60, 2048  # of wall-clock time, for the machine may be busy
Target = Callable[[bytes], Any]


def targets() -> dict[str, Target]:
    """What is given the bytes, by name."""
    with atheris.instrument_imports(include=list(READERS)):
        from hil.config import Config, ConfigError
        from hil.config.files import parse_json
        from hil.config.loading import parse_config
        from hil.config.text_io import read_yaml
        from hil.operator.command_messages import read_request
        from hil.simulator.control_socket import dispatch

    def yaml(data: bytes) -> None:
        read_yaml(data.decode("utf-8", "replace"), "(file)")

    def config(data: bytes) -> None:
        with contextlib.suppress(ConfigError):
            assert isinstance(parse_config(data.decode("utf-8", "replace"), "(file)"), Config)

    def json_file(data: bytes) -> None:
        with contextlib.suppress(ValueError):
            json.dumps(parse_json(data.decode("utf-8", "replace"), 2**16), allow_nan=True)

    def control(data: bytes) -> None:
        handlers = {"truth": lambda _: {}, "place": lambda command: {"angle": float(command["angle_deg"])}}
        for line in data.split(b"\n"):
            json.dumps(dispatch(line, handlers))

    def command(data: bytes) -> None:
        with contextlib.suppress(ValueError):
            read_request(data)

    return {"command": command, "yaml": yaml, "config": config, "json": json_file, "control": control}


SEEDS = {
    "command": [b'{"session": "a", "sequence": 1, "command": {"type": "status"}}'],
    "yaml": [b"a: &a [1, 2]\nb: *a\n", b"? [x]\n: !!int 3\n", b"a: >\n  x\n  y\n---\nb"],
    "config": [b"name: x\nrig: simulated\ntrial: {angle_deg: 60}\n", b"name: x\nrig: simulated\nloads: null\n"],
    "json": [b'{"loop": {"rate_hz": 1000}, "x": [1.5, null, true, "a"]}'],
    "control": [b'{"do": "truth"}\n', b'{"do": "place", "angle_deg": 60, "seed": 1}\n'],
}


def main(arguments: list[str] | None = None) -> int:
    """Fuzz all targets, or one; 1 if one of them has found something."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", choices=SEEDS, help="this one only, in this process")
    parser.add_argument("--corpus", type=Path, default=Path("build/fuzz"), help="folder of the inputs found so far")
    asked = parser.parse_args(arguments)
    if asked.target is None:
        options = ["--seconds", str(asked.seconds), "--corpus", str(asked.corpus)]
        ended = {
            name: subprocess.run([sys.executable, __file__, "--target", name, *options], check=False).returncode
            for name in SEEDS
        }
        print("; ".join(f"{name}: {'nothing found' if code == 0 else 'FOUND'}" for name, code in ended.items()))
        return int(any(ended.values()))
    corpus = asked.corpus / asked.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[asked.target]):
        (corpus / f"seed_{number}").write_bytes(seed)
    limits = [f"-max_total_time={asked.seconds}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={asked.corpus}/", "-print_final_stats=1", str(corpus)],
                  targets()[asked.target])  # fmt: skip
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
