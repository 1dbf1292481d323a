"""The camera of a config, as far as it can be asked without a run, and its trigger line."""

from __future__ import annotations

import math

from drivers.messages import CAMERA_TRIGGER
from hil.app.camera.v4l2 import CameraError, Grant, granted, present
from hil.config.schema.camera import CameraConfig
from hil.config.schema.devices import DevicesConfig
from hil.messages.check import Check

# A camera may differ so much from the rate that is asked for, as a share of it.
_RATE_OFF = 0.05
_GOES_ON = "a run goes on without it"


def check_camera(camera: CameraConfig | None, devices: DevicesConfig | None, rig: str) -> list[Check]:
    """Whether the camera is there and gives what is asked for, and which output triggers it; no check: there is none.

    Args:
        camera: section of the config; None: there is none.
        devices: section of the config; None: the rig is simulated.
        rig: the same, simulated or not.
    """
    if camera is None:
        return []
    checks = [_device(camera)]
    if camera.trigger is not None:
        valves = devices.valves if devices and rig != "simulated" else None
        place = getattr(valves, CAMERA_TRIGGER, None)
        where = "only in the record (rig: simulated)" if valves is None else f"{valves.driver} output {place}"
        since = "from arming" if camera.trigger.when == "armed" else "from the impact"
        allowed = f"the output that the camera is wired to (devices.valves.{CAMERA_TRIGGER}), off in Safe"
        checks.append(Check("camera trigger", True, f"{where}, on {since} to the end of the run", allowed))
    return checks


def _device(camera: CameraConfig) -> Check:
    asked = f"{camera.width_px} x {camera.height_px} at {camera.rate_hz:g} Hz"
    if not camera.device:
        return Check("camera", True, f"simulated, {asked}, drawn after the run", asked)
    if not camera.v4l2:
        return Check("camera", True, "no frames are taken here (camera.device: none)", "its own recorder has them")
    try:
        found = granted(camera.device, camera.rate_hz, (camera.width_px, camera.height_px))
    except CameraError as error:
        there = ", ".join(present()) or "none"
        to_do = f"video devices of this computer: {there}; {_GOES_ON}"
        return Check("camera", False, f"{camera.device}: {error}", f"a V4L2 device with JPEG frames, {asked}", to_do)
    to_do = f"set camera to what it gives (v4l2-ctl --list-formats-ext shows all); {_GOES_ON}"
    return Check("camera", _as_asked(camera, found), f"{camera.device}: {_in_words(found)}", asked, to_do)


def _as_asked(camera: CameraConfig, found: Grant) -> bool:
    size = (found.width_px, found.height_px) == (camera.width_px, camera.height_px)
    return size and (math.isnan(found.rate_hz) or abs(found.rate_hz / camera.rate_hz - 1.0) <= _RATE_OFF)


def _in_words(found: Grant) -> str:
    rate = "no rate of its own" if math.isnan(found.rate_hz) else f"{found.rate_hz:.4g} Hz"
    return f"{found.name}, {found.pixel_format} {found.width_px} x {found.height_px}, {rate}"
