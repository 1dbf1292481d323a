"""Makes or updates the environment from a lock file: `python tools/install.py .venv [--test|--dev]`, run by make.

uv installs the lock in a tenth of pip's time. One that is on PATH is used if it is new enough; otherwise pip installs
the pinned one into the environment. Where uv is not available or fails, pip installs the lock. uv does not read pip's
settings (index, certificate, proxy), so they are passed to it. Standard library only: nothing else is installed yet.

Stamps in the environment mark a complete installation: `.installed` (requirements.lock, for users), `.installed-test`
(requirements-test.lock, also for the quick tests) and `.installed-dev` (requirements-dev.lock, for all tests, lint and
benchmarks). Each contains those before it.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A stamp and its lock, the smallest first; the flag --test or --dev chooses one.
INSTALLATIONS = {
    "": (".installed", "requirements.lock"),
    "--test": (".installed-test", "requirements-test.lock"),
    "--dev": (".installed-dev", "requirements-dev.lock"),
}
UV_LOCK = "requirements-uv.lock"
# the oldest that this has been tried with
UV_OLDEST = (0, 13, 8)
# What a trial imports; first what its kernels do not need, because another process compiles them during the imports.
IMPORTED = (
    "matplotlib.backends.backend_agg",
    "hil.cli",
    "hil.experiments.impact.figure",
    "hil.app.warm_up",
    "hil.app.run",
)
OWN = ("hil", "models", "drivers")
# Its kernels are compiled with the packages.
CONFIG = "rig_configs/sim_impact.yaml"
# pip's setting, uv's variable, and what separates several values
SETTINGS = (
    ("index-url", "UV_INDEX_URL", " "),
    ("extra-index-url", "UV_EXTRA_INDEX_URL", " "),
    ("find-links", "UV_FIND_LINKS", ","),
    ("no-index", "UV_NO_INDEX", " "),
    ("trusted-host", "UV_INSECURE_HOST", " "),
    ("timeout", "UV_HTTP_TIMEOUT", " "),
    ("cert", "SSL_CERT_FILE", " "),
    ("proxy", "ALL_PROXY", " "),
)
PIP_FLAGS = ("--quiet", "--quiet", "--disable-pip-version-check", "--no-input")


def progress(text: str) -> None:
    """Print a line without buffering, also into a pipe."""
    print(text, flush=True)


def pip_settings(listing: str) -> dict[str, str]:
    """Output of `pip config list`, by setting; the environment before `install` before `global`, as in pip."""
    found: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        for line in listing.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(f"{section}."):
                found[name.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    return found


def uv_environment(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for uv: this one, and pip's settings where the user has not set those of uv."""
    passed = dict(environment)
    own_index = any(name.startswith(("UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX")) for name in environment)
    for setting, variable, separator in SETTINGS:
        value = settings.get(setting, settings.get(f"default-{setting}", "")).split()
        if value and variable not in environment and not (own_index and "index" in setting):
            passed[variable] = separator.join(value)
    # as pip: any of the indexes may have the pinned version; its hash is checked
    passed.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    return passed


def version_of(uv: str | Path) -> tuple[int, ...]:
    """Returns the version of a uv; () if it cannot be run."""
    try:
        printed = subprocess.run([uv, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    found = re.match(r"uv (\d+)\.(\d+)\.(\d+)", printed)
    return tuple(int(number) for number in found.groups()) if found else ()


class Installer:
    """Installs into one environment.

    Args:
        folder: of the environment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._python = folder, folder / "bin" / "python"
        self._environment = {name: value for name, value in os.environ.items() if name != "UV_REQUIRE_HASHES"}
        self._pip: list[str] | None = None
        self._uv: str | None = None

    def prepare(self) -> None:
        """Make the environment, or keep a complete one; stamps are removed first and written last."""
        stamps = [self._folder / name for name, _ in INSTALLATIONS.values()]
        if any(stamp.exists() for stamp in stamps):
            progress(f"bringing {self._folder} up to date")
        else:
            progress(f"making {self._folder} with {sys.executable} (Python {sys.version.split()[0]})")
            subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", self._folder], check=True)
        for stamp in stamps:
            stamp.unlink(missing_ok=True)

    def pip(self) -> list[str]:
        """The command of a pip for the environment: this Python's, or one installed into it."""
        if self._pip is None:
            flag = ["-m", "pip", "--python", str(self._python)]  # pip 22.3 or newer
            if not _runs([sys.executable, *flag, "--version"]):
                flag = ["-m", "pip"]
                if not _runs([self._python, *flag, "--version"]):
                    progress("putting pip into the environment")
                    subprocess.run([self._python, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
            self._pip = [sys.executable if "--python" in flag else str(self._python), *flag]
        return self._pip

    def uv(self) -> str | None:
        """A uv: of PATH, of the environment, or newly installed there. None: not available."""
        for found in (shutil.which("uv"), str(self._folder / "bin" / "uv")):
            if found and version_of(found) >= UV_OLDEST:
                return found
        progress("installing uv, which installs the rest, with pip")
        command = [*self.pip(), "install", *PIP_FLAGS, "--require-hashes", "--no-deps", "-r", str(ROOT / UV_LOCK)]
        done = subprocess.run(command, check=False)
        return str(self._folder / "bin" / "uv") if done.returncode == 0 else None

    def install(self, lock: str) -> None:
        """Install a lock file. Raises CalledProcessError: neither uv nor pip could."""
        packages = len(re.findall(r"^\S+==", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))
        self._uv = self.uv()
        self._install(["--require-hashes", "-r", str(ROOT / lock)], f"at most {packages} packages of {lock}")

    def install_project(self) -> None:
        """Install this project, editable. Raises as `install`, which comes first."""
        self._install(["--no-deps", "--no-build-isolation", "--editable", str(ROOT)], "rover-hil itself, editable,")

    def install_wheel(self, wheel: Path) -> None:
        """Install a wheel of this project. Raises as `install`, which comes first."""
        self._install(["--no-deps", str(wheel)], wheel.name)

    def _install(self, what: list[str], words: str) -> None:
        if self._uv:
            progress(f"installing {words} with {self._uv}")
            if self._run_uv([self._uv, "pip", "install", "--python", str(self._python), "--strict", *what]):
                return
        progress(f"uv {'failed' if self._uv else 'is not available'}: installing {words} with pip, up to two minutes")
        subprocess.run([*self.pip(), "install", *PIP_FLAGS, *what], check=True)

    def compile_bytecode(self) -> None:
        """Import what a trial needs: Python then writes its bytecode, a tenth of what `uv --compile-bytecode` would."""
        progress("compiling the bytecode of what a trial imports, and its kernels")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run([self._python, "-c", f"import {', '.join(IMPORTED)}"], check=True, env=environment, cwd=ROOT)

    def kernels(self) -> list[str | Path]:
        """The command that compiles the kernels of a trial."""
        return [self._python, "-m", "hil.processes", "warm_up", CONFIG]

    def _run_uv(self, command: list[str]) -> bool:
        """Run uv and show its output, except its list of packages."""
        if "UV_INDEX_STRATEGY" not in self._environment:
            listing = subprocess.run([*self.pip(), "config", "list"], capture_output=True, text=True, check=False)
            self._environment = uv_environment(pip_settings(listing.stdout), self._environment)
        with subprocess.Popen(command, env=self._environment, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr or ():
                if not line.startswith((" + ", " - ", " ~ ")):
                    progress(f"  {line.rstrip()}")
        return process.returncode == 0

    def stamp(self, name: str) -> None:
        """The installation is complete."""
        (self._folder / name).touch()


@contextmanager
def in_background(command: list[str | Path]) -> Iterator[None]:
    """Run a command in the background and wait for it at the end. What it makes is for speed, so it may fail."""
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        except BaseException:
            process.terminate()
            raise


def _runs(command: list[str | Path]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main(arguments: list[str]) -> int:
    """Install; 1 if that failed."""
    began = time.monotonic()
    folder, flag = Path(arguments[0]), "".join(arguments[1:2])
    for name in ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV"):
        os.environ.pop(name, None)  # pip's settings must not change the target of the install
    installer = Installer(folder)
    try:
        installer.prepare()
        with in_background([sys.executable, "-m", "compileall", "-q", *OWN]):
            installer.install(INSTALLATIONS[flag][1])
        with in_background(installer.kernels()):
            installer.install_project()
            installer.compile_bytecode()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{folder} could not be made: {error}", file=sys.stderr)
        return 1
    for name, (stamp, _) in INSTALLATIONS.items():
        installer.stamp(stamp)
        if name == flag:
            break
    progress(f"{folder} is ready after {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
