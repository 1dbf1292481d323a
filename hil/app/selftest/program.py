"""Parts of `hil selftest` that are the program's: version, packages, kernels, trial, figure, exports, page."""

from __future__ import annotations

import platform
import re
import sys
import time
import urllib.error
import urllib.request
from importlib import metadata, util
from pathlib import Path

from hil.app.selftest.finding import Bench, Outcome
from hil.version import running_version

CONFIG = "sim_impact"
# As the page answers who has no session: with the form to log in.
LOG_IN = 401


def version(_: Bench) -> Outcome:
    """Version, and the folder that the program comes from."""
    root = Path(__file__).resolve().parents[3]
    kind = "a clone" if (root / ".git").exists() else "installed"
    known = not running_version().endswith("+unknown")
    return Outcome(known, f"{running_version()}, {kind} in {root}", "install git, so that records name their commit")


def python(_: Bench) -> Outcome:
    """Which Python runs it."""
    return Outcome(True, f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}")


def packages(_: Bench) -> Outcome:
    """Versions of the packages that every use needs."""
    try:
        required = metadata.requires("rover-hil") or []
    except metadata.PackageNotFoundError:
        return Outcome(False, "rover-hil is not installed; it runs from its source", "install it: make install")
    names = [re.split(r"[^\w.-]", item)[0] for item in required if "extra ==" not in item]
    found, missing = [], []
    for name in sorted(names, key=str.lower):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    words = ", ".join(found) + (f"; not there: {', '.join(missing)}" if missing else "")
    return Outcome(not missing, words, f"install {', '.join(missing)}")


def kernels(bench: Bench) -> Outcome:
    """Compile the kernels of a trial, or load them."""
    from hil.app.warm_up import warm_up
    from hil.config import load_config
    from hil.config.rig import Rig
    from models.kernels.compiled import CACHE_FOLDER

    before = next(CACHE_FOLDER.rglob("*.nbi"), None) is not None
    began = time.monotonic()
    warm_up(Rig(load_config(CONFIG)), bench.progress)
    took = f"ready after {time.monotonic() - began:.1f} s"
    return Outcome(True, f"{took}, {'from the cache' if before else 'compiled'}, cache in {CACHE_FOLDER}")


def trial(bench: Bench) -> Outcome:
    """One impact trial in virtual time, with its record and figure."""
    from hil.app.run import run_in_virtual_time
    from hil.config import load_config

    bench.run.mkdir()
    outcome = run_in_virtual_time(load_config(CONFIG), bench.run, figure=True)
    summary = outcome.summary
    verdict = "accepted" if summary["accepted"] else f"not accepted: {'; '.join(summary['reasons'])}"
    found = f"exit status {outcome.exit_code}, peak force of the sensors {summary['peak_force_N']:.1f} N, {verdict}"
    return Outcome(outcome.exit_code == 0 and summary["accepted"], found, f"run it: hil trial {CONFIG}")


def figure(bench: Bench) -> Outcome:
    """The figure of the trial."""
    file = bench.run / "trial.png"
    there = file.is_file()
    found = f"{file.stat().st_size / 1e3:.0f} kB, PNG" if there else "the trial left none"
    return Outcome(there, found, "look at what the part trial says")


def exports(bench: Bench) -> Outcome:
    """The record in each format whose package is installed."""
    from hil.analysis.export.run import FORMATS, export

    made, missing = [], []
    for name, kind in FORMATS.items():
        if lacking := [package for package in kind.packages if util.find_spec(package) is None]:
            missing += lacking
            continue
        export(bench.run, name, bench.folder / f"export_{name}")
        made.append(name)
    without = f"; not installed: {', '.join(missing)}" if missing else ""
    return Outcome(not missing, f"{', '.join(made)}{without}", f"for the others install {', '.join(missing)}")


def page(bench: Bench) -> Outcome:
    """The operator's page, served by its processes and asked over HTTP."""
    from hil.app.command_server import CommandServer
    from hil.app.page.server import PageServer, missing_parts
    from hil.config import load_config

    if problem := missing_parts():
        return Outcome(False, "not installed", problem)
    config = load_config(CONFIG)
    with CommandServer(config) as server, PageServer(config, server.endpoint, server.token_file, bench.folder) as page:
        address = page.url.partition("#")[0]
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
    return Outcome(status == LOG_IN, f"{address} answers {status}", f"it should answer {LOG_IN}, and ask for the token")
