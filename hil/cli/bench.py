"""`hil bench`: measure the speed and the latency of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.campaign.progress import ProgressBar
from hil.cli.run_options import JsonFile, progress, writable, write
from hil.cli.terminal import show, usage_errors, write_folded


class _Clock(StrEnum):
    """As the key `clock` of a config."""

    realtime = "realtime"
    lockstep = "lockstep"


bench = typer.Typer(help="Measure the speed and the latency of this machine.", no_args_is_help=True)


@bench.callback()
def _benches() -> None:
    """Measure the speed and the latency of this machine."""


@bench.command()
def loop(
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.01, max=3600, help="Length of each of the 16 measurements.")
    ] = 2.0,
    rate: Annotated[
        int | None,
        typer.Option("--rate", min=100, max=4000, help="Only this rate [Hz], idle: does the loop hold it?"),
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Wake-up latency of the loop at 500 Hz, 1 and 2 kHz: idle, loaded, with spin, with the real tick; cyclictest."""
    writable(json_file)
    from hil.bench.bench_loop import bench_loop

    result = bench_loop(seconds, progress=progress, rate_hz=rate)
    write(json_file, result)
    for item in result["machine"]["rights"]:
        write_folded(f"{item['name']} {item['wanted']}: {item['detail']}")
    show(_table(result["rows"], "loop: times in us; ratio: p99 over that of cyclictest"))
    _print_left_out(result)
    if rate is not None:
        write_folded(_verdict(rate, seconds, result))
    if rate is None and result["peers"]["cyclictest"] is None:
        write_folded("cyclictest is not installed (Debian: apt install rt-tests): no comparison")


def _verdict(rate_hz: int, seconds: float, result: Mapping[str, Any]) -> str:
    """Whether the real tick held a rate."""
    skipped = [row["skipped"] for row in result["rows"] if "_work_" in row["name"]]
    if result["left_out"] or not skipped:
        return f"{rate_hz} Hz: not held, the run ended early"
    return f"{rate_hz} Hz: {f'not held, {skipped[0]} periods skipped' if skipped[0] else f'held for {seconds:g} s'}"


@bench.command()
def models(
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=100_000, help="Runs of each candidate.")] = 300,
    starts: Annotated[
        int,
        typer.Option("--starts", min=0, max=1000, help="Processes to start with the cache, after one without."),
    ] = 5,
    json_file: JsonFile = None,
) -> None:
    """Times of a rover step, of a wheel on soil and of a start; also MuJoCo and Pinocchio with the same rover."""
    writable(json_file)
    from hil.bench.bench_models import PEERS, bench_models

    with ProgressBar("rounds") as report:
        result = bench_models(rounds, starts, report)
    write(json_file, result)
    table = Table(title=f"models: times over {rounds} rounds; ratio of medians", padding=0)
    for column in ("name", "p50", "p99", "unit", "ratio", "to", "contacts"):
        table.add_column(column, justify="left" if column in ("name", "unit", "to") else "right")
    for row in result["rows"]:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3f}"
        contacts = ", ".join(str(row[key]) for key in ("contacts", "peer_contacts") if row[key])
        cells = (
            row["name"],
            f"{row['p50']:.3g}",
            f"{row['p99']:.3g}",
            row["unit"],
            ratio,
            row["ratio_to"] or "",
            contacts,
        )
        table.add_row(*map(Text, cells))
    show(table)
    for package, name in PEERS.items():
        if result["peers"][name] is None:
            write_folded(f"{name} is not installed (make install-dev, or pip install {package}): no comparison")


@bench.command()
def rig(
    events: Annotated[int, typer.Option("--events", min=1, max=1000, help="Injected impacts for each variant.")] = 200,
    clock: Annotated[
        _Clock, typer.Option("--clock", help="lockstep: cuts in virtual time, where only bytes and periods take time.")
    ] = _Clock.realtime,
    json_file: JsonFile = None,
) -> None:
    """Time of a cut through real drivers and devices simulated at the protocol level, and resources of a trial."""
    writable(json_file)
    from hil.bench.bench_rig import bench_rig, bench_virtual_cuts

    with usage_errors():
        result = (bench_rig if clock is _Clock.realtime else bench_virtual_cuts)(events, progress=progress)
    write(json_file, result)
    table = Table(title="rig at the protocol level", padding=0)
    for column in ("name", "unit", "p50", "p99", "max", "skipped"):
        table.add_column(column, justify="left" if column in ("name", "unit") else "right")
    for row in result["rows"]:
        figures = ["" if row.get(key) is None else f"{row[key]:.3g}" for key in ("p50", "p99", "max")]
        table.add_row(*(Text(text) for text in (row["name"], row["unit"], *figures, str(row.get("skipped", "")))))
    show(table)
    _print_left_out(result)


def _print_left_out(result: dict[str, Any]) -> None:
    """Print what was not measured, and why."""
    for item in result["left_out"]:
        reasons = "".join(f"\n- {reason}" for reason in item["reasons"])
        write_folded(f"left out: {item['what']}{reasons}")


def _table(rows: list[dict[str, Any]], title: str) -> Table:
    table = Table(title=title, padding=0)
    table.add_column("name")
    for column in ("p50", "p99", "p99.9", "max", "late", "skipped", "stalls", "ratio"):
        table.add_column(column, justify="right")
    for row in rows:
        times = [_short(row[key]) for key in ("p50", "p99", "p99_9", "max")]
        counts = [str(row.get(key, "")) for key in ("late", "skipped", "stalls")]
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        table.add_row(*(Text(text) for text in (row["name"], *times, *counts, ratio)))
    return table


def _short(time_us: float) -> str:
    return f"{time_us:.0f}" if time_us >= 100.0 else f"{time_us:.1f}"
