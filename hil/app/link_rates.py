"""Whether the links make as many rounds a second as they are set to: for `hil check`, and before a run."""

from __future__ import annotations

import math

from drivers.checks import PERIODS_IN_TIMEOUT
from drivers.host import Host
from drivers.registry import drives_driver, servos_driver
from hil.config import Config
from hil.config.schema.devices import DevicesConfig
from hil.ipc.link_health import healths
from hil.ipc.run_memory import RunMemory
from hil.messages.check import Check
from hil.messages.layout import COMMANDED
from hil.safety.arming import NotArmedError

# Least share of the set rate: beyond this, a link that loses more rounds soon has samples that are too old (fault 2).
LEAST_SHARE = 0.8
# The rate is that of so many seconds at least; a link that has just been opened may take the second time [s].
MEASURED_S, GETS_S, LOOK_S = 0.3, 2.0, 0.02
_FASTER = "raise the baud rate, or lower {key}; end other programs on this machine"
_VIRTUAL = "; or run in virtual time, with --clock lockstep"


def rate_check(devices: DevicesConfig | None, rig: str, name: str, rate_hz: float) -> Check | None:
    """The check of a link's rate; None where the link has none.

    Args:
        devices: section of the config.
        rig: the same, simulated or not.
        name: of the link, one of `COMMANDED`.
        rate_hz: rounds that it makes [1/s]; NaN: none, or it does not count them.
    """
    section = getattr(devices, name, None)
    moves = name in ("drives", "servos")  # without rounds these stop by themselves
    if section is None or (math.isnan(rate_hz) and not moves):
        return None
    key = f"devices.{name}.rate_hz"
    least_hz, why = LEAST_SHARE * section.rate_hz, f"{LEAST_SHARE:.0%} of {key} ({section.rate_hz:g})"
    if moves:
        driver = drives_driver(section) if name == "drives" else servos_driver(section)
        _, timeout_ms = driver.timeout(section)
        if (keeps_hz := 1e3 * PERIODS_IN_TIMEOUT / timeout_ms) > least_hz:
            least_hz, why = keeps_hz, f"for the {name}' time-out of {timeout_ms:g} ms"
    to_do = _FASTER.format(key=key) + (_VIRTUAL if rig == "simulated_wire" else "")
    allowed = f"at least {least_hz:.4g}, {why}"
    found = "not known" if math.isnan(rate_hz) else f"{rate_hz:.1f} rounds a second"
    return Check(f"rate of the {name}", rate_hz >= least_hz, found, allowed, to_do)


def refuse_slow_links(config: Config, shared: RunMemory, host: Host) -> None:
    """Let the links work for a moment, with nothing moving, and refuse the run if one does not make its rounds.

    A driver that does not count them is not refused here: `hil check` says so.

    Args:
        config: of the rig.
        shared: memory of the run, whose workers are ready.
        host: whose clock is used.

    Raises:
        NotArmedError: a link is too slow.
    """
    if config.rig == "simulated":
        return
    until_ns = host.now_ns() + round(GETS_S * 1e9)
    host.sleep(MEASURED_S)
    while True:
        found = healths(shared)
        rates_hz = {name: _rate_hz(found.get(name)) for name in COMMANDED}
        over = host.now_ns() >= until_ns
        checks = [
            rate_check(config.devices, config.rig, name, hz)
            for name, hz in rates_hz.items()
            if not (over and math.isnan(hz))
        ]
        slow = [check for check in checks if check is not None and not check.ok]
        if not slow:
            return
        if over:
            raise NotArmedError(
                "not armed: " + "; ".join(f"{c.item}: found {c.found}, allowed {c.allowed}; {c.to_do}" for c in slow)
            )
        host.sleep(LOOK_S)


def _rate_hz(health: dict[str, object] | None) -> float:
    rate_hz = None if health is None else health.get("rate_hz")
    return float(rate_hz) if isinstance(rate_hz, int | float) else math.nan
