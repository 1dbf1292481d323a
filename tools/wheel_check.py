"""Builds wheel and sdist, tries the wheel in an empty environment: `python tools/wheel_check.py [PYTHON...]`.

Run by `make wheel-check` and, for the Python of the environment, by tests/tools/test_wheel.py. The environment has the
packages of requirements.lock and the wheel; the commands run in a separate folder, and no source is on their path.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HTTP_OK = 200
PACKAGES = ("hil", "drivers", "models", "rig_configs")
# Names of modules of this tree that must not come from it.
WHERE = "import hil, drivers, models, rig_configs as r; print([m.__path__[0] for m in (hil, drivers, models, r)])"


class CheckError(RuntimeError):
    """The wheel does not do what it should."""


def _installer() -> ModuleType:
    """tools/install.py, for this is a script and no package."""
    spec = importlib.util.spec_from_file_location("install", ROOT / "tools" / "install.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, from it the wheel, and have twine check both.

    Args:
        folder: where they go; emptied.

    Returns:
        Wheel and sdist.

    Raises:
        CheckError: one of the programs failed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    _run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    return wheel, sdist


def make_environment(folder: Path, python: str, wheel: Path) -> None:
    """An environment of a Python with the packages of requirements.lock and the wheel, and nothing else."""
    _run([python, "-m", "venv", "--without-pip", str(folder)])
    install = _installer()
    installer = install.Installer(folder)
    installer.install(install.INSTALLATIONS[""][1])
    installer.install_wheel(wheel)


def share_kernels(environment: Path, cache: Path) -> int:
    """Copy the kernels that this tree has compiled to where the installed packages look for theirs.

    They are the same where text, Python and numba are, which the name of their folder says. Inside, those of `models`
    are for every clone, and numba names the folders of others by the path of the source. A check of the package then
    takes a minute less.

    Args:
        environment: with the same Python as this one.
        cache: empty folder, for ROVER_HIL_CACHE.

    Returns:
        The number of folders copied; 0 where there were none.
    """
    from models.kernels.compiled import CACHE_FOLDER  # of this tree

    (site,) = environment.glob("lib/python*/site-packages")
    of_models = list(CACHE_FOLDER.glob("models*"))
    for compiled in of_models:
        shutil.copytree(compiled, cache / CACHE_FOLDER.name / compiled.name)
    count = len(of_models)
    for name in PACKAGES:
        for source in [ROOT / name, *(path for path in (ROOT / name).rglob("*") if path.is_dir())]:
            installed = site / source.relative_to(ROOT)
            compiled = CACHE_FOLDER / _numba_folder(source)
            if compiled.is_dir():
                shutil.copytree(compiled, cache / CACHE_FOLDER.name / _numba_folder(installed))
                count += 1
    return count


def _numba_folder(source: Path) -> str:
    return f"{source.name}_{hashlib.sha1(str(source).encode(), usedforsecurity=False).hexdigest()}"


class Wheel:
    """An installed wheel, used from a folder that has nothing of ours.

    Args:
        environment: where it is installed.
        folder: empty; where commands run.
        cache: of the kernels.
    """

    def __init__(self, environment: Path, folder: Path, cache: Path) -> None:
        self._bin, self._folder = environment / "bin", folder
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HIL_", "VIRTUAL_"))
        }
        self._environment = {**kept, "PATH": f"{self._bin}:/usr/bin:/bin", "ROVER_HIL_CACHE": str(cache)}

    def hil(self, *words: str) -> str:
        """Returns what a command prints. Raises CheckError: its exit status is not 0."""
        return _run([str(self._bin / "hil"), *words], cwd=self._folder, env=self._environment)

    def check(self, version: str) -> dict[str, Any]:
        """Run what a user runs first: version, a copy of a config, a trial, the page.

        Args:
            version: of the wheel.

        Returns:
            The summary of the trial.

        Raises:
            CheckError: something is not as it should be.
        """
        places = _run([str(self._bin / "python"), "-c", WHERE], cwd=self._folder, env=self._environment)
        if str(ROOT) in places.replace(str(self._bin.parent), ""):
            raise CheckError(f"packages come from the source: {places}")
        if (said := self.hil("--version")) != f"hil {version}\n":
            raise CheckError(f"hil --version says {said!r}, the wheel is {version}")
        self.hil("configs", "--copy", "sim_impact")
        summary: dict[str, Any] = json.loads(self.hil("trial", "sim_impact.yaml", "--out", "run", "--json"))
        if summary["version"] != version or not (self._folder / "run" / "trial.png").is_file():
            raise CheckError(f"the trial has version {summary['version']}, or no figure")
        self.check_page()
        return summary

    def check_page(self) -> None:
        """Log in to the operator's page over HTTP, and end it. Raises CheckError."""
        command = [str(self._bin / "hil"), "operate", "sim_impact.yaml", "--page", "--json", "--out", "operate"]
        with subprocess.Popen(
            command, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout
                status, text = _page(json.loads(process.stdout.readline())["url"])
                process.send_signal(signal.SIGINT)
            except BaseException:
                process.kill()
                raise
        if status != HTTP_OK or "/static/page/main.js" not in text:
            raise CheckError(f"the page answers {status}: {text[:200]}")
        if process.returncode != 0:
            raise CheckError(f"hil operate ended with status {process.returncode}")


def _page(url: str) -> tuple[int, str]:
    """Status and text of the page, after a log-in with the token of its address."""
    address, _, fragment = url.partition("#")
    form = urllib.parse.urlencode({"token": fragment.rpartition("=")[2], "name": "wheel"}).encode()
    login = urllib.request.Request(f"{address}login", form, {"Origin": address.rstrip("/")})
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # a session is a cookie
    with browser.open(login, timeout=60) as answer:  # which leads to the page
        return answer.status, answer.read().decode()


def version_of(wheel: Path) -> str:
    """The version in the name of a wheel."""
    return wheel.name.split("-")[1].replace("_", "+")


def try_wheel(wheel: Path, python: str, *, shared: bool) -> dict[str, Any]:
    """Install a wheel into an empty environment, and check it there.

    Args:
        wheel: to install.
        python: that makes the environment.
        shared: take the kernels that this tree has compiled; the Python must be the one that runs this.

    Returns:
        The summary of the trial.

    Raises:
        CheckError: something is not as it should be.
    """
    with tempfile.TemporaryDirectory(prefix="hil-wheel-") as temporary:
        environment, folder, cache = (Path(temporary, name) for name in ("environment", "folder", "cache"))
        folder.mkdir()
        make_environment(environment, python, wheel)
        if shared:
            share_kernels(environment, cache)
        return Wheel(environment, folder, cache).check(version_of(wheel))


def _run(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise CheckError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def main(pythons: list[str]) -> int:
    """Try the wheel in each Python; 1 if one of them failed."""
    failed = 0
    try:
        wheel, sdist = build(ROOT / "build" / "dist")
        print(f"built {wheel.name} and {sdist.name}; twine has no objection", flush=True)
        for python in pythons or [sys.executable]:
            began = time.monotonic()
            name = _run([python, "--version"]).strip()
            try:
                summary = try_wheel(wheel, python, shared=False)
            except (CheckError, subprocess.CalledProcessError) as error:
                failed = 1
                print(f"{name}: {error}", flush=True)
            else:
                force = summary["peak_force_N"]
                print(f"{name}: trial ({force} N), page and configs work, {time.monotonic() - began:.0f} s", flush=True)
    except CheckError as error:
        print(error, file=sys.stderr)
        return 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
