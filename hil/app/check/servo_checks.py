"""Compares the state of the servos with the config: a cut is confirmed, and the joints are where they may be."""

from __future__ import annotations

from contextlib import closing

from drivers.interfaces import DeviceError
from drivers.messages import JointCommand, JointSample
from drivers.registry import servos_driver
from hil.app.check.access import Access
from hil.app.check.device_checks import (
    ANSWER_NS,
    RATE_NS,
    RELEASE,
    confirmed_check,
    controller_check,
    identity_checks,
    link_rate,
    opened,
    work_for,
)
from hil.config.rig import Rig
from hil.messages.check import Check


def check_servos(rig: Rig, access: Access) -> list[Check]:
    """Every controller, with a cut commanded. Raises DeviceError."""
    sample: JointSample | None = None
    config = rig.config
    with closing(access.device("servos")) as servos:
        servos.open()
        began_ns = t_ns = access.go_on()
        servos.write(JointCommand(began_ns, True, (0.0,) * len(rig.layout.servos)))
        while t_ns < began_ns + ANSWER_NS and not (
            sample and sample.acknowledged_ns >= began_ns and all(state.known for state in access.states())
        ):
            t_ns = access.go_on()
            sample = servos.read(t_ns) or sample
        if config.rig != "simulated":
            work_for(access, RATE_NS)
        health, states = servos.health(), access.states()
    if sample is None:
        raise DeviceError(f"{health.device}: no angles within {ANSWER_NS * 1e-9:g} s")
    checks = [
        opened(health, f"{len(states)} controllers" if states else health.detail),
        confirmed_check("servos cut", sample.acknowledged_ns >= began_ns, "confirmed", "confirmed by all of them"),
        *_angles(rig, sample),
        *map(controller_check, states),
        *identity_checks(health),
    ]
    if config.rig != "simulated" and config.devices and (given := config.devices.servos) and config.servos:
        _, timeout_ms = servos_driver(given).timeout(given)
        checks += link_rate(rig, "servos", health)
        words = "what is set in the controllers (servos.on_cut)"
        checks.append(Check("servos at the cut", True, config.servos.on_cut, words))
        checks.append(Check("dead-man of the servos", True, f"{timeout_ms:g} ms", "the controllers' own time-out"))
        if getattr(given, "start", ""):
            words = "devices.servos.start left out, once the joints were put at their start and confirmed"
            checks.append(Check("start of the joints", True, "confirmed: a lost counter is loaded", words))
    if health.e_stop:
        checks.append(Check("emergency stop of the servos", False, "pressed", "released", RELEASE))
    return checks


def _angles(rig: Rig, sample: JointSample) -> list[Check]:
    """Whether each joint is where it may be: otherwise its zero is wrong, or it was moved by hand."""
    checks = []
    to_do = "compare with a protractor; correct zero, gear or reversed in devices.servos, or move the joint"
    for joint, angle in zip(rig.config.driven_joints, sample.angle_rad, strict=True):
        ok = joint.low_rad - joint.outside_rad <= angle <= joint.high_rad + joint.outside_rad
        low, high, what = joint.shown(joint.low_rad), joint.shown(joint.high_rad), "way" if joint.slides else "angle"
        allowed = f"{low:g} to {high:g} {joint.unit}, where the joint really is"
        checks.append(Check(f"{what} of {joint.name}", ok, joint.words(angle), allowed, to_do))
    return checks
