"""Parts of `hil selftest` that are the computer's: machine, disk, clock, wake-ups, rights, serial lines, NI."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from hil.app.selftest.finding import Bench, Outcome

CONFIG = "sim_impact"
# How much is written to measure a disk, in blocks [bytes], and what a record needs at most, several times over [MB/s].
DISK_BLOCKS, BLOCK, DISK_MBPS = 32, 1 << 20, 10.0
# How long wake-ups are measured [s], the steps of the clock that are looked at, and the longest that is allowed [ns].
WAKE_UPS_S, CLOCK_STEPS, CLOCK_STEP_NS = 5.0, 1000, 10_000
CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def machine(_: Bench) -> Outcome:
    """Processor, memory and kernel."""
    from hil.realtime.processor import cpuinfo, processor_name

    memory_GB = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    virtual = ", virtual" if "hypervisor" in cpuinfo("flags") else ""
    cores = f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} processors"
    load = f"load {os.getloadavg()[0]:.1f}"
    return Outcome(
        True, f"{processor_name()}, {cores}{virtual}, {memory_GB:.1f} GB, Linux {platform.release()}, {load}"
    )


def disk(bench: Bench) -> Outcome:
    """Space and speed of the disk where runs are recorded."""
    from hil.safety.arming import disk_check

    space = disk_check(bench.runs)
    block = os.urandom(BLOCK)
    with tempfile.TemporaryFile(dir=bench.runs) as file:
        began = time.monotonic()
        for _ in range(DISK_BLOCKS):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        speed_MBps = DISK_BLOCKS * BLOCK / 1e6 / (time.monotonic() - began)
    fast = speed_MBps >= DISK_MBPS
    found = f"{space.found}, writes {speed_MBps:.0f} MB/s, in {bench.runs}"
    return Outcome(space.ok and fast, found, space.to_do or f"take a disk that writes {DISK_MBPS:g} MB/s for the runs")


def clock(_: Bench) -> Outcome:
    """Source and step of the monotonic clock."""
    source = CLOCK_SOURCE.read_text(encoding="utf-8").strip() if CLOCK_SOURCE.is_file() else "unknown"
    times = [time.monotonic_ns() for _ in range(CLOCK_STEPS)]
    steps_ns = sorted(after - before for before, after in pairwise(times))
    median_ns = steps_ns[len(steps_ns) // 2]
    found = f"source {source}, {median_ns} ns from reading to reading, {steps_ns[0]} ns at least"
    return Outcome(median_ns <= CLOCK_STEP_NS, found, "choose another clock source of the kernel, for example tsc")


def wake_ups(bench: Bench) -> Outcome:
    """Whether the computer holds the rate of the loop, with the rights that it gives."""
    from hil.app.pace_check import check_pace
    from hil.config import load_config

    checks = check_pace(load_config(CONFIG, ["clock=realtime"]), bench.progress, WAKE_UPS_S)
    found = "; ".join(f"{check.item}: {check.found}" for check in checks)
    to_do = "; ".join(dict.fromkeys(check.to_do for check in checks if not check.ok))
    return Outcome(all(check.ok for check in checks), found, to_do)


def rights_here(_: Bench) -> Outcome:
    """The real-time rights that a run would ask for."""
    from hil.app.build import rights_wanted
    from hil.config import load_config
    from hil.realtime import rights

    with rights(rights_wanted(load_config(CONFIG, ["clock=realtime"]))) as granted:
        refused = [item for item in granted if not item.granted]
        found = ", ".join(f"{item.name} {'granted' if item.granted else 'refused'}" for item in granted)
    return Outcome(not refused, found, "; ".join(item.detail for item in refused))


def serial_line(_: Bench) -> Outcome:
    """Bytes through a pseudo terminal, as simulated devices use them."""
    import serial

    master, slave = os.openpty()
    try:
        with serial.Serial(os.ttyname(slave), 115200, timeout=5.0) as line:
            line.write(b"there\n")
            there = os.read(master, 100)
            os.write(master, b"back\n")
            back = line.read(5)
    finally:
        os.close(master)
        os.close(slave)
    arrived = there.endswith(b"there\n") and back == b"back\n"
    return Outcome(arrived, f"a pseudo terminal carried {there!r} and {back!r}", "mount /dev/pts in this container")


def ports(_: Bench) -> Outcome:
    """Serial ports of the kernel, and whether this user may open them."""
    from drivers.serial.ports import serial_ports

    found = serial_ports()
    closed = [item.port for item in found if not os.access(item.port, os.R_OK | os.W_OK)]
    names = ", ".join(f"{item.port}{' (no right)' if item.port in closed else ''}" for item in found)
    to_do = "give this user the group of the ports, on Debian with `adduser USER dialout`, and log in again"
    return Outcome(not closed, names or "none connected", to_do)


def ni_devices(_: Bench) -> Outcome:
    """Devices of NI's driver on this computer."""
    from hil.app.discovery import find_devices

    servers = [server for each in find_devices().servers.values() for server in each]
    names = ", ".join(device.name for server in servers for device in server.devices)
    problems = "; ".join(server.problem for server in servers if server.problem)
    return Outcome(not problems, problems or names or "no device", "needed for NI hardware on this computer only")
