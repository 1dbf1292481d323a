"""Abandoned names, replaced by the field's terms, must not come back as identifiers; run by `make lint`."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("hil", "drivers", "models", "references", "tests", "tools", "benchmarks", "examples")
# Abandoned names and their replacements. Words that are good names elsewhere are limited to folders.
GIVEN_UP = {
    "Laps": "StageTimer",
    "Six": "SpatialVector",
    "STILL": "ZERO_SPEEDS",
    "heed": "record_command",
    "trip": "latch",
    "ONLY_MARKED": "WARNINGS",
    "NOT_IN_VALUES": "EXTERNAL_FAULTS",
    "far_end": "simulated_rig",
    "FarEnd": "SimulatedRig",
    "truth": "ground_truth",
    "Scribe": "TickLogger",
    "scribe": "tick_logger",
    "Journal": "RecordSink",
    "journal": "record_sink",
    "JournalFull": "RecordBufferFull",
    "Keeper": "FileAndTelemetrySink",
    "keeper": "file_sink",
    "Drain": "RingConsumer",
    "Burst": "TriggeredCapture",
    "claims_samples": "triggers_capture",
    "Crew": "WorkerSupervisor",
    "crew": "supervisor",
    "Life": "WorkerLifecycle",
    "Told": "StopFlag",
    "told": "commanded, reported, received",
    "heard": "received",
    "hear": "receive",
    "deaf": "skips",
    "Pump": "LinkBridge",
    "pump": "bridge",
    "Say": "Progress",
    "Shared": "RunMemory",
    "TROUBLE": "FAULT_MESSAGE",
    "Witness": "GroundTruthPublisher",
    "witness": "truth_publisher",
    "Making": "type[Experiment]",
    "LockstepRig": "LockstepBackend",
    "RealtimeRig": "RealtimeBackend",
    "open_rig": "open_backend",
    "unwatch": "stop_watchdog",
    "surroundings": "host",
    "orders": "commands",
    "carry_out": "dispatch",
    "Tape": "RecordedInputs",
    "tape": "recorded_inputs",
    "turn_to": "seek",
    "strange_rows": "schema_mismatch",
    "own_rig": "spawn_simulator",
    "wording": "error_messages",
    "MisfitError": "CrossCheckError",
    "carry": "add_body",
    "catalogue": "registry",
    "impossible": "geometry_errors",
    "crowded": "geometry_errors",
    "Firm": "CompliantGround",
    "Held": "RigidGround",
    "Bound": "BoundArguments",
    "HALFWAY": "SWITCHING_PRESSURE_RATIO",
    "PATIENCE": "TIMEOUT_FACTOR",
    "LEAD_NS": "START_DELAY_NS",
}
# The same, by pattern.
PATTERNS = {r"\w*misfits?\w*": "..._cross_checks", r"\w+Assumptions": "...Config"}
# Good names elsewhere: (folder, name) -> instead.
GIVEN_UP_IN = {
    ("hil", "room"): "stage",
    ("hil", "say"): "progress, send",
    ("hil", "tell"): "report, log_event",
    ("hil", "misbehave"): "inject_fault",
    ("hil/runtime", "laps"): "timer",
    ("hil/processes", "give"): "publish_samples",
    ("hil/safety", "watch"): "check",
    ("hil/safety", "marks"): "warnings",
    ("hil/config", "own"): "variant_section",
}
# (file, name): why it stays.
EXCEPTIONS = {
    # carries a request over a line, and no body of a tree
    ("tests/drivers/modbus/test_modbus_master.py", "carry"),
}


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that the code defines or uses, with its line: functions, classes, arguments, attributes, imports."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 1)
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield line, name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield line, name
            case ast.ImportFrom(module=str(module), names=aliases):
                yield from ((line, name) for alias in aliases for name in (alias.name, alias.asname) if name)
                if not module.startswith("drivers"):  # which names its modules itself
                    yield from ((line, name) for name in module.split("."))
            case ast.Import(names=aliases):
                yield from ((line, name) for alias in aliases for name in alias.name.split("."))


def instead(file: str, name: str) -> str | None:
    """Returns the replacement of a name in a file; None: the name is allowed there."""
    name = name.lstrip("_")
    if (file, name) in EXCEPTIONS:
        return None
    for (folder, given_up), better in GIVEN_UP_IN.items():
        if name == given_up and file.startswith(f"{folder}/"):
            return better
    for pattern, better in PATTERNS.items():
        if re.fullmatch(pattern, name):
            return better
    return GIVEN_UP.get(name)


def problems(root: Path, files: list[Path]) -> list[str]:
    """Identifiers and files with an abandoned name."""
    found = []
    for file in files:
        path = file.relative_to(root).as_posix()
        names = [(1, file.stem), *identifiers(ast.parse(file.read_text(encoding="utf-8")))]
        for line, name in dict.fromkeys(names):
            if better := instead(path, name):
                found.append(f"{path}:{line}: {name}: write {better}")
    return found


def main() -> int:
    """Print every such name; 1 if there is one."""
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    found = problems(ROOT, files)
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print(f"names: {len(files)} files, none of the names given up")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
