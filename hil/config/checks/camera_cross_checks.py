"""Cross-checks of the camera of a config and of its trigger line."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.messages import CAMERA_TRIGGER
from hil.config.model import UncheckedConfig
from hil.config.problems import Problem


def camera_cross_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """All of them, each naming the key to change."""
    if (camera := config.camera) is None:
        return
    if camera.v4l2 and config.clock == "lockstep":
        allowed = '"", a simulated camera: a real one has no virtual time (clock: lockstep)'
        yield Problem("camera.device", camera.device, allowed, ("clock",))
    if not camera.device and config.rig == "real":
        allowed = "a V4L2 device, as /dev/v4l/by-id/..., or none: a real rig has no simulated camera (rig: real)"
        yield Problem("camera.device", '""', allowed, ("rig",))
    if camera.trigger is None:
        if camera.device == "none":
            allowed = "a section: without frames and without a trigger line there is nothing to do"
            yield Problem("camera.trigger", "nothing (null)", allowed, ("camera.device",))
        return
    if camera.trigger.when == "impact" and config.daq is None:
        allowed = "armed: with daq: null the rig has no force sensors, which detect the impact"
        yield Problem("camera.trigger.when", "impact", allowed, ("daq",))
    valves = config.devices.valves if config.devices else None
    if valves is not None and not valves.can_trigger and config.rig != "simulated":
        key = f"devices.valves.{CAMERA_TRIGGER}"
        if hasattr(valves, CAMERA_TRIGGER):
            allowed = "a coil of the relay board, or a digital line of the NI device, that nothing else uses"
            yield Problem(key, "nothing (null)", allowed, ("camera.trigger",))
        else:
            found, allowed = valves.driver, "one that switches a trigger line: modbus or ni; or camera.trigger: null"
            yield Problem("devices.valves.driver", found, allowed, ("camera.trigger",))
