"""Figures of the operator's page in headless Chromium: `python tests/soak/page_figures.py --stops 50 --minutes 10`.

The rig is simulated at the protocol level and drives in real time, one viewer looks on with 20 series:

stops     from the press (`pointerdown`) to the last stop byte at the simulated motor controllers
paint     first paint of the page
load      share of a processor and memory of page server and browser, over some minutes of driving
viewers   work_us p50 of the loop, in runs with no viewer and with three, one after the other
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from hil.bench.conditions import seconds_used
from hil.messages.operator_input import Arm, Start
from hil.operator.client import CommandError
from hil.realtime.rights import memory_of
from hil.simulator.control_socket import ControlClient

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.chromium import CHROMIUM, FLAGS  # noqa: E402
from tests.hil.operator.page.browser.conftest import enter  # noqa: E402
from tests.hil.operator.page.browser.operated_rig import OperatedRig  # noqa: E402

SETTINGS = (
    "experiment=drive", f"drive.steps=[{3 * '{for_s: 600, speed_mps: 0.03},'}]", "operator.console_lost=finish",
    "realtime.measure_s=0",
)  # fmt: skip
SERIES, PAINTS, RUN_S, LOOK_S = 20, 5, 20.0, 15.0
# How long arming may take, with a rig that is opened again, and starting [s].
STARTS_S = 30.0
SERVER, BROWSER = "page server", "browser"


class Bench:
    """A rig at the protocol level, and a browser."""

    def __init__(self, stack):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="page_")))
        endpoints = folder / "endpoints.json"
        hil = [sys.executable, "-P", "-m", "hil.cli"]
        simulated = subprocess.Popen(
            [*hil, "sim", "sim_wire", "--endpoints", str(endpoints)], stdout=subprocess.DEVNULL
        )
        stack.callback(simulated.wait)
        stack.callback(simulated.terminate)
        while not endpoints.exists():
            time.sleep(0.1)
        self._control = stack.enter_context(ControlClient(json.loads(endpoints.read_text())["control"]))
        self.rig = OperatedRig(folder, "sim_wire", SETTINGS, ("--endpoints", str(endpoints)))
        stack.callback(self.rig.close)
        playwright = stack.enter_context(sync_playwright())
        self._browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        stack.callback(self._browser.close)
        self._session = None

    def viewer(self):
        """Open the page, as somebody who has logged in, and choose the series."""
        page = self._browser.new_context(storage_state=self._session).new_page()
        enter(page, self.rig.url if self._session is None else self.rig.url.partition("#")[0])
        page.locator("#series input").nth(SERIES).wait_for()
        page.evaluate(
            "(most) => { const boxes = [...document.querySelectorAll('#series input')];"
            "for (const box of boxes) { if (boxes.filter((one) => one.checked).length < most) box.click(); } }",
            SERIES,
        )
        self._session = self._session or page.context.storage_state()
        return page

    def drive(self):
        """Arm and start, until the rover moves; again, where a simulated device that was late has ended that."""
        client = self.rig.client
        while not _is_in("drive", client.status()):
            self.rig.rest()
            with suppress(CommandError):  # not armed or started in time, or not possible any more
                client.take_lease()
                for command, state in ((Arm(), "armed"), (Start(), "drive")):
                    client.ask(command)
                    client.wait_until(partial(_is_in, state), within_s=STARTS_S)

    def stop_ms(self, page):
        """From a press of the stop button to the last stop byte at the controllers [ms]; None: the run had a fault."""
        self.drive()
        time.sleep(0.5)
        page.evaluate(
            "document.getElementById('stop').addEventListener("
            "'pointerdown', (event) => { window.pressed = event.timeStamp; }, { capture: true, once: true })"
        )
        zero_ns = _zero_of_page_ns(page)
        page.click("#stop")
        over = self.rig.over()
        if over["faults"] or over["state"] == "closed":
            return None
        pressed_ns = zero_ns + page.evaluate("window.pressed") * 1e6
        first = {}
        for address, at_ns in self._control.ask("stops", device="roboclaw")["stops"]:
            if at_ns >= pressed_ns:
                first.setdefault(address, at_ns)
        assert len(first) == 3, first
        return (max(first.values()) - pressed_ns) * 1e-6

    def paint_ms(self):
        """First paint of a page that is opened now [ms]."""
        page = self.viewer()
        (ms,) = page.evaluate("performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)")
        page.context.close()
        return ms

    def work_us(self, viewers):
        """Median of the loop's work in a run with so many viewers [us]."""
        pages = [self.viewer() for _ in range(viewers)]
        self.drive()
        time.sleep(RUN_S)
        self.rig.client.stop()
        summary = self.rig.over()["run"]
        for page in pages:
            page.context.close()
        return json.loads((Path(summary) / "summary.json").read_text())["loop"]["work_us"]["p50"]

    def load(self, minutes):
        """Shares of a processor, and memory at the beginning and later [MB], of page server and browser, in runs.

        Only what is used while the rover drives counts: a run that a late simulated device has ended is followed by
        another one.
        """
        page = self.viewer()
        used, passed, memory, runs = dict.fromkeys((SERVER, BROWSER), 0.0), 0.0, [], set()
        while passed < 60.0 * minutes:
            self.drive()
            run, before, began = self.rig.client.status()["run"], _used(), time.monotonic()
            time.sleep(LOOK_S)
            after, lasted, status = _used(), time.monotonic() - began, self.rig.client.status()
            if not _is_in("drive", status) or status["run"] != run:
                continue
            runs.add(run)
            memory.append(_memory())
            passed += lasted
            for name in used:
                used[name] += after[name] - before[name]
        self.rig.rest()
        page.context.close()
        return {"minutes": passed / 60.0, "runs": len(runs)} | {
            name: {"share": used[name] / passed, "memory_MB": [one[name] for one in memory]} for name in used
        }


def _is_in(state, status):
    return status["state"] == state


def _zero_of_page_ns(page):
    """When the page's own clock was zero, on CLOCK_MONOTONIC: the closest of ten looks [ns]."""
    looks = []
    for _ in range(10):
        before = time.monotonic_ns()
        now_ms = page.evaluate("performance.now()")
        after = time.monotonic_ns()
        looks.append((after - before, (before + after) / 2 - now_ms * 1e6))
    return min(looks)[1]


def _parts():
    """Process ids of page server and browser."""
    found = {SERVER: [], BROWSER: []}
    for pid in seconds_used(os.getpid()):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:  # gone meanwhile
            continue
        if b"hil.processes\0page_server" in line:
            found[SERVER].append(pid)
        elif b"chromium" in line.partition(b"\0")[0]:
            found[BROWSER].append(pid)
    return found


def _used():
    used = seconds_used(os.getpid())
    return {name: sum(used[pid] for pid in pids if pid in used) for name, pids in _parts().items()}


def _memory():
    return {name: sum(memory_of(pid).share_MB for pid in pids) for name, pids in _parts().items()}


def _spread(values):
    p50, p99 = np.quantile(values, (0.5, 0.99), method="higher").tolist()
    return {"p50": p50, "p99": p99, "max": max(values), "values": values}


def main():
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the load and memory")
    parser.add_argument("--pairs", type=int, default=3, help="of runs without and with three viewers")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    figures = {}
    with ExitStack() as stack:
        bench = Bench(stack)
        if arguments.stops:
            page = bench.viewer()
            found = [bench.stop_ms(page) for _ in range(arguments.stops)]
            page.context.close()
            if found.count(None) == len(found):
                sys.exit(
                    f"all {len(found)} runs had a fault of their own: no figures, the machine has too much other work"
                )
            stops = figures["stop_ms"] = _spread([ms for ms in found if ms is not None])
            text = "press to last stop byte: {p50:.1f} ms p50, {p99:.1f} p99, {max:.1f} longest".format(**stops)
            print(f"{text} of {len(stops['values'])}; {found.count(None)} runs more had a fault")
        paints = figures["paint_ms"] = _spread([bench.paint_ms() for _ in range(PAINTS)])
        print(f"first paint: {paints['p50']:.0f} ms p50, {paints['max']:.0f} longest of {PAINTS}")
        if arguments.pairs:
            work = [(bench.work_us(0), bench.work_us(3)) for _ in range(arguments.pairs)]
            alone, watched = np.median(work, axis=0)
            figures["work_us"] = {"alone": alone, "three_viewers": watched, "pairs": work}
            print(f"work_us p50: {alone:.1f} alone, {watched:.1f} with three viewers; pairs {work}")
        if arguments.minutes:
            figures["load"] = bench.load(arguments.minutes)
            print("load over {minutes:.1f} min of driving, in {runs} runs".format(**figures["load"]))
            for name in (SERVER, BROWSER):
                one = figures["load"][name]
                first, last = one["memory_MB"][0], one["memory_MB"][-1]
                print(
                    f"{name}: {100 * one['share']:.1f} % of a processor, {first:.0f} MB at first, {last:.0f} MB at last"
                )
    figures["machine"] = {"processors": os.cpu_count(), "load": os.getloadavg()}
    print(f"{os.cpu_count()} processors, load at the end {os.getloadavg()[2]:.1f} over 15 min")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
