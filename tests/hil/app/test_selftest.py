"""`hil selftest`: each part says whether it works, and a part that does not is a finding, not an error."""

import json
import os
from pathlib import Path

import pytest

import hil
from hil.app import selftest as of
from hil.app.selftest import PARTS, Part, SelfTestReport, selftest
from hil.app.selftest.finding import Bench, Outcome
from hil.cli import run

# Those that take no second and start no process.
QUICK = ("version", "Python", "packages", "machine", "disk", "clock", "rights", "serial lines", "serial ports")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _parts(monkeypatch: pytest.MonkeyPatch, **tests: Outcome | Exception) -> None:
    """Only these parts, needed if their name says so."""

    def test(found: Outcome | Exception) -> Outcome:
        if isinstance(found, Exception):
            raise found
        return found

    parts = tuple(
        (name, name.startswith("needed"), lambda _, found=found: test(found)) for name, found in tests.items()
    )
    monkeypatch.setattr(of, "PARTS", parts)


def test_what_is_needed_works_here_and_leaves_nothing_behind(tmp_path: Path) -> None:
    report = selftest(parts=QUICK)
    by_name = {part.part: part for part in report.parts}
    assert tuple(by_name) == QUICK
    assert report.version == hil.__version__
    assert hil.__version__ in by_name["version"].found
    assert "numba " in by_name["packages"].found
    assert by_name["serial lines"].works
    assert all(part.works for part in report.parts if part.needed and part.part != "clock"), report
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_trial_figure_exports_and_page_of_this_installation_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from hil.analysis.export import run as of_export

    monkeypatch.setattr(of_export, "FORMATS", {"mat": of_export.FORMATS["mat"]})  # the others take 20 s, and have tests
    report = selftest(parts=("trial", "figure", "exports", "page"))
    assert [part.part for part in report.parts if not part.works] == []


def test_an_error_is_a_finding_and_a_missing_extra_does_not_fail_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _parts(monkeypatch, needed_one=Outcome(True, "there"), other=Outcome(False, "not installed", "install it"))
    assert run(["selftest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == ["yes  needed_one    there", "no   other         not installed -> install it"]
    _parts(monkeypatch, needed_one=OSError("no room"), other=Outcome(True, "there"))
    assert run(["selftest"]) == 1
    printed = capsys.readouterr()
    assert "NO   needed_one    OSError: no room" in printed.out
    assert "needed_one" in printed.err


def test_json_holds_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _parts(monkeypatch, other=Outcome(False, "not installed", "install it"))
    assert run(["selftest", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report.keys() == set(SelfTestReport.__struct_fields__)
    (part,) = report["parts"]
    assert part.keys() == set(Part.__struct_fields__)
    assert (report["works"], part["works"], part["to_do"]) == (True, False, "install it")


def test_a_port_that_this_user_may_not_open_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from drivers.serial import ports

    port = ports.SerialPortInfo("/dev/ttyUSB7", "", "", "", "", "")
    monkeypatch.setattr(ports, "serial_ports", lambda: (port,))
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = {name: test for name, _, test in PARTS}["serial ports"](Bench(tmp_path, tmp_path, print))
    assert not found.works
    assert "/dev/ttyUSB7 (no right)" in found.found
    assert "dialout" in found.to_do
