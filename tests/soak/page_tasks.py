"""How long the page keeps its browser's main thread busy at a time: `python tests/soak/page_tasks.py --seconds 30`.

While a task runs there, a press on the stop button waits. The page of a rig in headless Chromium shows 20 series at
30 Hz, the rover, its devices and 60 runs; no rig runs beside it, a thread sends what its page server would. Chromium's
own trace tells each task. Of other work on the machine, only the time of a task holds any, not its processor time.
"""

import argparse
import json
import math
import os
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from hil.app.page.content import page_content
from hil.bench.conditions import seconds_used
from hil.config import load_config
from hil.config.rig import Rig as ConfiguredRig

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.chromium import CHROMIUM, FLAGS  # noqa: E402
from tests.hil.operator.page.browser.scripted_server import ScriptedServer, until  # noqa: E402

SERIES, HISTORY_S, EVERY_S, RATE_HZ, RUNS = 20, 30.0, 0.1, 30, 60
LONG_MS, SETTLE_MS = 10.0, 3000.0
CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]


class Rig:
    """Sends the page what a rig that drives would."""

    def __init__(self):
        self.server = ScriptedServer()
        self.server.answers["config"] = json.loads(
            json.dumps(page_content(ConfiguredRig(load_config("sim_impact")), None))
        )
        self.server.answers["runs"] = [_run(number) for number in range(RUNS)]
        self._names, self._sent, self._over = [], 0, threading.Event()
        self._thread = threading.Thread(target=self._drive)

    def start(self):
        """Send the last 30 s of what the page has subscribed to, and go on."""
        self._names = self.subscribed()
        self.server.show(state="drive", running=True, run="runs/drive", links={"drives": {"errors": 0, "retries": 0}})
        self._send(int(HISTORY_S * RATE_HZ))
        self._thread.start()

    def subscribed(self):
        """The series that the page wants now."""
        return next((one["series"] for one in reversed(self.server.received) if one["type"] == "subscribe"), [])

    def _drive(self):
        due_s = time.monotonic()
        while not self._over.wait(max(0.0, due_s - time.monotonic())):
            due_s += EVERY_S
            self._send(int(EVERY_S * RATE_HZ))

    def _send(self, count):
        ticks = [self._sent + i for i in range(count)]
        self._sent += count
        values = [[math.sin(0.05 * tick + i) * 10 ** (i % 4) for tick in ticks] for i in range(len(self._names))]
        times = [1e9 + tick / RATE_HZ for tick in ticks]
        self.server.send({"type": "ticks", "names": self._names, "t": times, "values": values})

    def close(self):
        """End."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self.server.close()


def _run(number):
    numbers = {"peak_force_N": 90.0 + number, "impact_speed_mps": 0.1, "cut_latency_ms": 4.0, "contact_duration_s": 0.1}
    return {
        "name": f"run_{number}", "state": "done", "experiment": "impact", "angle_deg": 60.0, "accepted": True,
        "reasons": [], "numbers": numbers, "files": ["summary.json"], "time": "2026-11-22T10:00:00+00:00",
    }  # fmt: skip


def choose(page):
    """Choose series. Returns their names."""
    page.locator("#series input").nth(SERIES).wait_for(state="attached")
    return page.evaluate(
        "(most) => { const labels = [...document.querySelectorAll('#series label')];"
        "const chosen = () => labels.filter((one) => one.firstChild.checked);"
        "for (const label of labels) { if (chosen().length < most) label.firstChild.click(); }"
        "return chosen().map((one) => one.dataset.name); }",
        SERIES,
    )


def tasks_ms(trace):
    """Time and processor time of each task of the main thread of the page's process [ms]."""
    events = json.loads(trace)["traceEvents"]
    main = {(one["pid"], one["tid"]) for one in events if one.get("args", {}).get("name") == "CrRendererMain"}
    found = {}
    for one in sorted((one for one in events if one["ph"] == "X" and one["name"].endswith("RunTask")), key=_began):
        place = (one["pid"], one["tid"])
        if place in main:
            tasks = found.setdefault(place, [])
            if not tasks or one["ts"] >= tasks[-1]["ts"] + tasks[-1]["dur"]:  # else it is a part of the one before
                tasks.append(one)
    return np.array([(one["dur"], one["tdur"]) for one in max(found.values(), key=len)]).T * 1e-3


def _began(event):
    return event["ts"]


def renderer_s():
    """Processor time of the processes that render pages, so far [s]."""
    return sum(
        seconds for pid, seconds in seconds_used(os.getpid()).items()
        if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )  # fmt: skip


def measure(page, seconds):
    """Trace the page for a while, and print the figures."""
    browser, before = page.context.browser, renderer_s()
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.wait_for_timeout(1e3 * seconds)
    used = renderer_s() - before
    for what, ms in zip(("time", "processor time"), tasks_ms(browser.stop_tracing()), strict=True):
        text = f"longest {ms.max():.1f} ms, p99 {np.quantile(ms, 0.99):.1f}, {np.sum(ms > LONG_MS)} over {LONG_MS:g} ms"
        print(f"{what} of {len(ms)} tasks: {text}; all {ms.sum() / seconds / 10:.1f} % of a processor")
    print(f"renderer: {used / seconds * 100:.1f} % of a processor")


def main():
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--slower", type=float, default=1.0, help="Chromium slows the page down by that factor")
    parser.add_argument("--part", default="traces", help="of the page that is in view, by its id")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        rig = Rig()
        stack.callback(rig.close)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        stack.callback(browser.close)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(rig.server.url)
        chosen = choose(page)
        until(lambda: set(chosen) <= set(rig.subscribed()))
        rig.start()
        page.evaluate(f"document.getElementById('{arguments.part}').scrollIntoView()")
        page.wait_for_timeout(SETTLE_MS)
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": arguments.slower})
        measure(page, arguments.seconds)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
