"""The picture of docs/explanation/architecture.md, drawn from the code: stages of a tick, processes, shared memory.

Stages, in their order, and the values between them are read from `Cycle.run`; what is in the shared memory from the
class that makes it; who writes and who reads it from the syntax trees of the modules that run in each process.

Run: python docs/figures/architecture.py    (seconds; writes docs/images/architecture.png and the table of the page)
"""

from __future__ import annotations

from textwrap import fill

from code_reading import PROCESSES, boxes, memory_table, stages, uses
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from outputs import outputs

from hil.config.error_messages import resolved, whole_schema
from hil.messages.layout import COMMANDED, INSTRUMENTS
from hil.runtime.loop import Cycle

# From top to bottom; what is not named here follows.
ORDER = ("sampled", "newest", "device_commands", "healths", "fault_mailboxes", "ticks", "timings", "events",
         "watchdog_events", "commands", "lease", "status", "ground_truth", "late")  # fmt: skip
NOT_DRAWN = ("start",)  # every process reads it
COLOURS = {"daq": "tab:blue", "drives": "tab:green", "motion": "tab:olive", "recorder": "tab:purple",
           "watchdog": "tab:red", "command_server": "tab:brown", "simulated_rig": "teal", "loop": "black"}  # fmt: skip
# Of each process but the loop: the height of its box, its title, and whether it reads or writes what is left of it.
PLACES = {
    "daq": (51.2, "daq worker", "-|>"),
    "drives": (42.0, "drives, valves, servos workers", "<|-|>"),
    "motion": (32.0, "motion, imu, joints workers", "-|>"),
    "recorder": (21.7, "recorder", "<|-"),
    "watchdog": (15.8, "watchdog", "<|-"),
    "command_server": (9.9, "command server", "<|-|>"),
    "simulated_rig": (4.0, "simulated rig", ""),
}
BOX = (17, 5.2)
MOST_LINES = 5  # in the box of a stage
LONGEST, BROADEST = 21, 34  # characters of a line in the box of a stage, and in that of a device


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
        calls = [call if len(call) <= LONGEST else call.replace(".", "\n.") for call in stage.calls.split("\n")]
        if len(calls) > MOST_LINES:
            calls = [fill(", ".join(calls), LONGEST)]
        box(axes, x, 1, (width, 9), (stage.name, "\n".join(calls)), "tab:blue")
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
    for process, (y, title, style) in PLACES.items():
        modules = "\n".join(dict.fromkeys(module for module, _ in PROCESSES[process]))
        box(axes, 33, y, BOX, (title, modules), COLOURS[process])
        if style:
            arrow(axes, (16, y), (24.5, y), COLOURS[process], style)
            box(axes, 8, y, (16, BOX[1]), _outside(process), "0.5")
    axes.text(8, PLACES["simulated_rig"][0], "with rig: simulated,\nin the place of the workers",
              ha="center", va="center", fontsize=8, style="italic", color=COLOURS["simulated_rig"])  # fmt: skip
    box(axes, 92, 27, (15, 54), ("loop", "\n".join(module for module, _ in PROCESSES["loop"])), COLOURS["loop"])
    for process, found in used.items():
        for name in sorted((found.writes | found.reads) & set(at)):
            y = PLACES[process][0] + 2.4 * (at[name] - 28) / 28 if process in PLACES else at[name]
            start, end = ((41.5, y), (52.5, at[name])) if process in PLACES else ((84.5, y), (71.5, y))
            arrow(axes, *((start, end) if name in found.writes else (end, start)), COLOURS[process])
    axes.text(92, 59.6, "signals: Ctrl-C, hang-up, terminate", ha="center", fontsize=8, weight="bold", color="0.5")
    arrow(axes, (92, 59), (92, 54), "0.5")


def _outside(process: str) -> tuple[str, str]:
    """What a process reaches, and how; devices by the drivers that a config may name."""
    match process:
        case "recorder":
            return "trial.h5, viewers", "HDF5, ZeroMQ"
        case "watchdog":
            return "serial ports", "stop frames, if a worker is silent"
        case "command_server":
            return "operators' clients", "arm, start, set-points, stop, clear"
    roles = {"drives": COMMANDED, "motion": INSTRUMENTS}.get(process, (process,))
    drivers = fill(f"drivers: {', '.join(name for role in roles for name in _drivers(role))}", BROADEST)
    titles = {
        "daq": ("force sensors", f"E-stop read back\n{drivers}"),
        "drives": ("wheel drives, valves, servos", drivers),
        "motion": ("instruments of motion", drivers),
    }
    return titles.get(process, (process, drivers))


def _drivers(role: str) -> list[str]:
    """Names of those that a config may name."""
    device = resolved(resolved(whole_schema()["properties"]["devices"])["properties"][role])
    return [*(device.get("discriminator", {}).get("mapping", {}) or [device["properties"]["driver"]["const"]])]


def main() -> None:
    """Write the table into the page, and draw the picture."""
    out = outputs(__doc__)
    out.put("docs/explanation/architecture.md", "memory", memory_table())
    figure = Figure(figsize=(14, 10.5), layout="constrained")
    tick, processes = figure.subplots(2, 1, height_ratios=(20, 62))
    for axes in (tick, processes):
        axes.set_axis_off()
    draw_tick(tick)
    draw_processes(processes)
    out.picture(figure, "architecture.png")


if __name__ == "__main__":
    main()
