"""`hil selftest`: what of this installation works here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hil.cli.exits import FAULT, complain
from hil.cli.options import AsJson, progress

if TYPE_CHECKING:
    from hil.app.selftest import SelfTestReport


def selftest(as_json: AsJson = False) -> None:
    """Try in about a minute what of this installation works on this computer, to put into a report of a fault.

    Nothing moves: no device is opened.
    """
    from hil.app.selftest import selftest as try_all

    report = try_all(progress)
    if as_json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        _show(report)
    if not report.works:
        broken = [part.part for part in report.parts if part.needed and not part.works]
        complain(f"does not work, and every use needs it: {', '.join(broken)}")
        raise typer.Exit(FAULT)


def _show(report: SelfTestReport) -> None:
    """A line for each part, which is still one after it was pasted elsewhere."""
    print(f"hil selftest, version {report.version}")
    for part in report.parts:
        verdict = "yes" if part.works else "NO" if part.needed else "no"
        print(f"{verdict:<4} {part.part:<13} {part.found}{f' -> {part.to_do}' if part.to_do else ''}")
    print("yes: works. NO: every use needs it. no: only real time, real devices or an extra need it.")
