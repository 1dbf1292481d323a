"""`hil check`: would the rig arm? Every device is queried, and nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from drivers.interfaces import DeviceError, LinkLostError, SamplesLostError
from hil.app.check.access import Access, open_access
from hil.app.check.device_checks import check_daq, check_drives, check_loads, check_valves
from hil.app.check.host import actuation, bus_loads, check_host, cut_latency
from hil.app.check.instrument_checks import check_camera, check_instrument, check_servos
from hil.app.pace_check import check_pace
from hil.app.warm_up import report_compiling
from hil.config.rig import Rig
from hil.experiments.registry import experiment_named
from hil.messages.fault import Check
from hil.messages.layout import INSTRUMENTS, ROLES
from hil.safety.arming import LOOK_AT_IT, calibration_checks, cylinder_checks, today

Progress = Callable[[str], None]
_CHECKS: dict[str, Callable[[Rig, Access], list[Check]]] = {  # by the link
    "daq": check_daq,
    "drives": check_drives,
    "valves": check_valves,
    "loads": check_loads,
    "servos": check_servos,
    **{role: partial(check_instrument, role) for role in INSTRUMENTS},
}


class _CheckResults(NamedTuple):
    """Results of all checks, and the errors of devices that could not be checked."""

    checks: list[Check]
    missing: list[str]


def check_rig(
    rig: Rig, progress: Progress = lambda _: None, endpoints: Path | None = None, *, quick: bool = False
) -> _CheckResults:
    """Query the state of every device, and make the arming checks.

    `endpoints`: of a running simulated rig at the protocol level (`hil sim --endpoints`).

    Raises:
        DeviceError: there is no such simulated rig, or another process uses it. A missing device raises nothing: it is
            part of the result.
    """
    report_compiling(progress)
    experiment = experiment_named(rig.config.experiment)(rig, lambda *_: [])
    # every run starts with an empty fault latch
    checks = [Check("fault latch", True, "none", "none"), *cylinder_checks(rig), *experiment.fixed_checks]
    missing = []
    with ExitStack() as stack:
        access, rig = open_access(rig, progress, endpoints, stack)
        config, devices = rig.config, rig.config.devices
        for link in rig.layout.links:
            name = ROLES[link].title
            progress(f"checking the {name}")
            try:
                checks += _asked(name, partial(_CHECKS[link], rig, access), progress)
            except DeviceError as error:
                missing.append(str(error))
                checks.append(Check(name, False, str(error), "a device that answers as in the config", LOOK_AT_IT))
        checks += check_camera(config.camera, devices, rig.kind)
        checks += calibration_checks(rig, today())
        if rig.kind != "simulated":
            checks += [*bus_loads(devices, rig.setup), *actuation(devices.valves if devices else None, rig.setup)]
            checks += cut_latency(rig, access.filter_delay_ms)
    pace = [] if quick else check_pace(rig, progress)
    return _CheckResults([*checks, *check_host(config), *pace], missing)


def _asked(name: str, look: Callable[[], list[Check]], progress: Progress) -> list[Check]:
    """The checks of a device, asked a second time if its link is lost at the first; raises DeviceError of the second.

    A machine that stalls for longer than a driver waits loses a link that is in order.
    """
    try:
        return look()
    except (LinkLostError, SamplesLostError) as error:
        lost = str(error)
    progress(f"{lost}; checking the {name} a second time")
    return [
        Check(f"{name}, first attempt", True, f"lost: {lost}", "lost once, and not again at the second attempt"),
        *look(),
    ]
