"""The picture of docs/explanation/architecture.md, drawn from the code: stages of a tick, processes, shared memory.

Stages, in their order, and the values between them are read from `Cycle.run`; what is in the shared memory from the
class that makes it; who writes and who reads it from the syntax trees of the modules that run in each process.

Run: python docs/figures/architecture.py    (seconds; writes docs/images/architecture.png and the table of the page)
"""

from __future__ import annotations

import re
from pathlib import Path

from code_reading import PROCESSES, boxes, memory_table, stages, uses
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from hil.config.error_messages import resolved, whole_schema
from hil.ipc.run_memory import LINKS
from hil.runtime.cycle import Cycle

DOCS = Path(__file__).parent.parent
OUT = DOCS / "images" / "architecture.png"
PAGE = DOCS / "explanation" / "architecture.md"
TABLE = re.compile(r"(<!-- memory -->\n)(.*?)(<!-- end -->)", re.DOTALL)
# From top to bottom; what is not named here follows. Every process uses those that are not drawn.
ORDER = ("blocks", "drives", "drive_command", "valves", "valve_command", "healths", "troubles", "ticks", "timings",
         "events", "watchdog_events")  # fmt: skip
NOT_DRAWN = ("start", "heartbeat", "truth", "late")  # truth and late: of a simulated rig
COLOURS = dict(zip(PROCESSES, ("tab:blue", "tab:green", "tab:orange", "tab:purple", "tab:red", "black"), strict=True))


def box(axes: Axes, x: float, y: float, size: tuple[float, float], words: tuple[str, str], colour: str) -> None:
    """A box with a bold first line and smaller lines below it, its centre at (x, y)."""
    width, height = size
    style = "round,pad=0,rounding_size=0.6"
    axes.add_patch(FancyBboxPatch((x - width / 2, y - height / 2), width, height, style, fc="white", ec=colour, lw=1.6))
    title, rest = words
    lines = rest.count("\n") + 1 if rest else 0
    top = y + 0.75 * lines
    axes.text(x, top, title, ha="center", va="center", weight="bold", fontsize=10, color=colour)
    axes.text(x, top - 1.3, rest, ha="center", va="top", fontsize=7.5, color="0.25", linespacing=1.3)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, style: str = "-|>") -> None:
    """An arrow."""
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle=style, mutation_scale=11, color=colour, lw=1.3,
                                   shrinkA=0, shrinkB=0))  # fmt: skip


def draw_tick(axes: Axes) -> None:
    """The stages from left to right, with the values between them."""
    found = stages()
    step, width = 100.0 / len(found), 8.6
    axes.set(xlim=(0, 100), ylim=(-8, 12))
    axes.text(
        0, 10.5, "One tick: the stages of " + f"{Cycle.__module__}.{Cycle.__name__}.run", fontsize=12, weight="bold"
    )
    for place, stage in enumerate(found):
        x = step * (place + 0.5)
        box(axes, x, 1, (width, 9), (stage.name, stage.calls), "tab:blue")
        axes.text(x, -5.2, stage.module.replace(".", ".\n", 1), ha="center", va="center", fontsize=7, color="0.4")
        if place + 1 < len(found):
            arrow(axes, (x + width / 2, 1), (x + step - width / 2, 1), "0.3")
        if stage.value:
            axes.text(x + step / 2, 7.2, stage.value, ha="center", fontsize=8, style="italic", color="tab:blue")


def draw_processes(axes: Axes) -> None:
    """Devices, processes, shared memory and the loop, from left to right; an arrow for each use of the memory."""
    names = boxes()
    used = {process: uses(process, names) for process in PROCESSES}
    axes.set(xlim=(-0.5, 100.5), ylim=(-1, 64))
    axes.text(
        -0.5, 61.8, "Processes with the realtime clock, and the memory that they share", fontsize=12, weight="bold"
    )
    for x, words in (
        (8, "devices, files"),
        (33, "processes"),
        (62, "shared memory"),
    ):
        axes.text(x, 57.2, words, ha="center", fontsize=9, color="0.4")
    shown = [name for name in ORDER if name in names]
    shown += sorted(set(names) - {*shown, *NOT_DRAWN})
    height = 54.0 / len(shown)
    at = {name: 54.0 - height * (place + 0.5) for place, name in enumerate(shown)}
    for name, y in at.items():
        box(axes, 62, y, (19, height - 1.0), (f"{name}  ({names[name]})", ""), "0.35")
    places = {"daq": 50.0, "drives": 41.5, "valves": 32.0, "watchdog": 9.0, "recorder": 20.0}
    for process, y in places.items():
        title = f"{process} worker" if process in LINKS else process
        modules = "\n".join(dict.fromkeys(module for module, _ in PROCESSES[process]))
        box(axes, 33, y, (17, 6.6), (title, modules), COLOURS[process])
    box(axes, 92, 27, (15, 54), ("loop", "\n".join(module for module, _ in PROCESSES["loop"])), COLOURS["loop"])
    for process, found in used.items():
        for name in (*found.writes, *found.reads):
            if name not in at:
                continue
            start, end = ((84.5, at[name]), (71.5, at[name])) if process == "loop" else (
                (41.5, places[process] + 2.4 * (at[name] - 28) / 28), (52.5, at[name]))  # fmt: skip
            arrow(axes, *((start, end) if name in found.writes else (end, start)), COLOURS[process])
    for x, y, words in _outside():
        box(axes, x, y, (16, 6.6), words, "0.5")
    for process in ("daq", "drives", "valves", "recorder"):
        style = {"daq": "-|>", "recorder": "<|-"}.get(process, "<|-|>")
        arrow(axes, (16, places[process]), (24.5, places[process]), COLOURS[process], style)
    arrow(axes, (24.5, places["watchdog"]), (16, places["watchdog"]), COLOURS["watchdog"])
    axes.text(92, 59.6, "operator's commands", ha="center", fontsize=9, weight="bold", color="0.5")
    arrow(axes, (92, 59), (92, 54), "0.5")


def _outside() -> list[tuple[float, float, tuple[str, str]]]:
    """What the processes reach: devices by their drivers, as the config names them."""
    devices = resolved(whole_schema()["properties"]["devices"])["properties"]
    drivers = {}
    for name, schema in devices.items():
        kinds = resolved(schema)
        drivers[name] = (
            ", ".join(kinds.get("discriminator", {}).get("mapping", {})) or kinds["properties"]["driver"]["const"]
        )
    return [
        (8, 50.0, ("force sensors", f"E-stop read back\ndriver: {drivers['daq']}")),
        (8, 41.5, ("wheel drives", f"drivers: {drivers['drives']}")),
        (8, 32.0, ("valves", f"drivers: {drivers['valves']}")),
        (8, 20.0, ("trial.h5, viewers", "HDF5, ZeroMQ")),
        (8, 9.0, ("serial ports", "stop frames, if a worker is silent")),
    ]


def main() -> None:
    """Write the table into the page, and draw the picture."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda match: f"{match[1]}{memory_table()}\n{match[3]}", page), encoding="utf-8")
    figure = Figure(figsize=(14, 10.5), layout="constrained")
    FigureCanvasAgg(figure)
    tick, processes = figure.subplots(2, 1, height_ratios=(20, 62))
    for axes in (tick, processes):
        axes.set_axis_off()
    draw_tick(tick)
    draw_processes(processes)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
