"""Calibration of the force sensors from running sensors and from records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.channel_calibration import ChannelCalibration, Shunt, Teds
from drivers.interfaces import DeviceError
from drivers.registry import daq_driver, loads_driver
from hil.app.check.access import open_access, read_blocks
from hil.config import Config, ConfigError, parse_config
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.experiments.impact.sensing import KEYS
from hil.messages.layout import SAMPLED
from hil.recording import RecordError, TrialRecord, read_trial
from hil.recording.run_folder import FolderError, finished_run, summary_of
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import IMPLAUSIBLE, thresholds
from hil.residuals.table import measured
from hil.signals.calibration_fits import CalibrationError, fit_steps, joint_torques_Nm, pressure_steps
from models.rover import Parameters

# Nothing may touch the sensors for so long from the beginning on [ns].
UNTOUCHED_NS = 1_000_000_000


def live_samples(
    rig: Rig,
    seconds: float,
    what_to_do: str,
    progress: Callable[[str], None] = lambda _: None,
    endpoints: Path | None = None,
) -> NDArray[np.float64]:
    """Readings (n, channels) [V] of a rig's force sensors from now on, without a gap.

    Args:
        rig: with force sensors.
        seconds: how long.
        what_to_do: with the sensors, once `UNTOUCHED_NS` is over; "" for nothing.
        progress: receives progress lines.
        endpoints: of a running simulated rig at the protocol level (`hil sim --endpoints`).

    Raises:
        DeviceError: the device is missing, in use, silent or lost samples.
    """
    asked = not what_to_do

    def ask(passed_ns: int) -> None:
        nonlocal asked
        if not asked and passed_ns >= UNTOUCHED_NS:
            progress(what_to_do)
            asked = True

    with ExitStack() as stack:
        access, _ = open_access(rig, progress, endpoints, stack)
        daq = stack.enter_context(closing(access.device("daq")))
        daq.open()
        progress(f"recording the sensors for {seconds:g} s: nothing may touch them yet")
        blocks = [block for _, block in read_blocks(access, daq, seconds * 1e9, ask)[0]]
        device = daq.health().device
    sequences = np.array([block.sequence for block in blocks])
    lost = int((np.diff(sequences) - 1).sum()) if len(blocks) > 1 else 0
    if not blocks or lost:
        found = f"{lost} blocks of samples lost" if lost else f"no samples in {seconds:g} s"
        raise DeviceError(f"{device}: {found}; all are needed: is it connected, and the computer idle?")
    return np.concatenate([block.values for block in blocks])


def shunt_gains(
    rig: Rig,
    group: str,
    channels: tuple[str, ...],
    shunt: Shunt,
    progress: Callable[[str], None] = lambda _: None,
    endpoints: Path | None = None,
) -> dict[str, float]:
    """Gain of each channel by its shunt calibration.

    Args:
        rig: with these channels.
        group: of `hil.messages.layout.SAMPLED`.
        channels: names of channels of this group.
        shunt: of the device.
        progress: receives progress lines.
        endpoints: of a running simulated rig at the protocol level.

    Raises:
        DeviceError: the driver does not offer it, or the device did not do it.
    """
    with ExitStack() as stack:
        rig = _opened(rig, progress, endpoints, stack)
        driver, section = _driver(rig.config.devices, group)
        progress(f"shunt calibration of {', '.join(channels)}: nothing may touch the sensors")
        with _reported(group):
            gains = driver.shunt_gains(section, rig.setup, channels, shunt)
    return gains


def read_teds(
    rig: Rig, progress: Callable[[str], None] = lambda _: None, endpoints: Path | None = None
) -> dict[str, dict[str, Teds | None]]:
    """Data sheet in the sensor of each channel, by group; None: the sensor has none. Raises DeviceError."""
    found: dict[str, dict[str, Teds | None]] = {}
    with ExitStack() as stack:
        rig = _opened(rig, progress, endpoints, stack)
        for group in (group for group in SAMPLED if rig.layout.parts(group)):
            driver, section = _driver(rig.config.devices, group)
            with _reported(group):
                found[group] = driver.teds(section, rig.setup)
    return found


def _opened(rig: Rig, progress: Callable[[str], None], endpoints: Path | None, stack: ExitStack) -> Rig:
    if rig.kind == "simulated":
        raise DeviceError(
            "rig: simulated has no devices that could be calibrated; use a config of a real rig, or of a simulated one "
            "at the protocol level (rig: simulated_wire)"
        )
    return open_access(rig, progress, endpoints, stack)[1]


def _driver(devices: DevicesConfig | None, group: str) -> tuple[ChannelCalibration, Any]:
    """The driver type of a group's channels, and its section."""
    assert devices is not None  # else the config of such a rig would have been refused
    if group == "daq":
        assert devices.daq is not None
        return daq_driver(devices.daq), devices.daq
    assert devices.loads is not None
    return loads_driver(devices.loads), devices.loads


@contextmanager
def _reported(group: str) -> Iterator[None]:
    """Turn the refusal of a driver into a DeviceError that names its key."""
    try:
        yield
    except ValueError as error:
        raise DeviceError(f"devices.{group}.driver: {error}") from error


_ANGLE = 1e-5  # of a joint, for the difference that gives how wheels rise [rad]


def calibrate_cylinder(record: TrialRecord, rig: Rig, name: str, forces_N: Sequence[float]) -> dict[str, float]:
    """Numbers of a cylinder's sheet (`hil.config.calibration_sheets.CylinderSheet`).

    Args:
        record: of a run in which its pressure stood at several steps, the rover at rest.
        rig: of the run.
        name: of the cylinder.
        forces_N: known force in each step [N]; empty: the torque on the joint comes from the leg sensors.

    Raises:
        CalibrationError: the record lacks what is needed.
    """
    layout, ground = rig.layout, rig.config.ground
    place = layout.cylinders.index(name)
    extend, retract = record.tick["pressure_Pa"][:, place].T
    difference = extend - retract
    if not np.isfinite(difference).all():
        raise CalibrationError(f"the pressures of the cylinder {name} were not measured")
    steps = pressure_steps(difference, rig.rate_hz)
    if forces_N:
        if len(forces_N) != len(steps):
            pressures = ", ".join(f"{step.pressure_Pa * 1e-3:.1f}" for step in steps) or "none"
            raise CalibrationError(f"{len(forces_N)} forces for {len(steps)} steps, of {pressures} kPa: one each")
        fit = fit_steps(steps, forces_N)
        numbers = {"force_NpkPa": fit.slope.value * 1e3, "offset_N": fit.offset}
    else:
        if not layout.leg_sensors:
            raise CalibrationError("the rig has no leg sensors: give the force in each step with --force")
        if ground.pitch_deg or ground.roll_deg or ground.scan is not None:
            raise CalibrationError("the rover stood on a slope or a scan, allowed: level ground")
        loads = record.tick["wheel_load_N"]
        fit = fit_steps(steps, joint_torques_Nm(steps, loads, rise_of_wheels(rig.nominal.rover, place)))
        if any(not record.tick["cut"][step.first : step.end].all() for step in steps):
            raise CalibrationError("the drives were not cut: wheels that hold take a part of the torque lengthwise")
        torque = fit.slope.value * 1e3
        numbers = {"torque_NmpkPa": torque, "offset_Nm": fit.offset}
    return {**numbers, "u95": fit.slope.u95 / abs(fit.slope.value)}


def rise_of_wheels(parameters: Parameters, cylinder: int) -> NDArray[np.float64]:
    """How far each wheel of the nominal rover rises if the joint of a cylinder turns (wheels,) [m/rad]."""
    rover, joint = parameters.build(), parameters.cylinder_joints[cylinder]
    q = rover.neutral()
    turned = q.copy()
    turned[7 + rover.joint_names.index(joint)] += _ANGLE
    rise: NDArray[np.float64] = (rover.wheel_positions(turned) - rover.wheel_positions(q))[:, 2] / _ANGLE
    return rise


def calibrate_residuals(runs: Sequence[Path]) -> dict[str, Any]:
    """The content of a calibration file, from good runs.

    Args:
        runs: their folders. One that was not accepted only because of residuals is a good run: its thresholds were of
            other runs.

    Raises:
        CalibrationError: a run that cannot be read or is not good, too few runs, or runs that are not alike.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise CalibrationError("found a run twice, allowed: each once")
    measurements = [_measured(run) for run in runs]
    return thresholds([config for config, _ in measurements], [values for _, values in measurements])


def _measured(run: Path) -> tuple[Config, Mapping[str, Mapping[str, float]]]:
    try:
        summary = summary_of(finished_run(run))
        record = read_trial(run)
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    except (FolderError, RecordError, ConfigError) as error:
        raise CalibrationError(f"{run}: {error}") from None
    reasons = [reason for reason in (summary or {}).get("reasons") or () if not str(reason).startswith(IMPLAUSIBLE)]
    if summary is None or summary.get("aborted") or reasons:
        why = "; ".join(map(str, reasons)) or "it did not come to its end"
        raise CalibrationError(f"{run}: {why}; allowed: runs that are good but for residuals")
    if config.section.impact and config.daq and not set(KEYS) <= summary.keys():
        raise CalibrationError(f"{run}: its summary was made by another version: make it again with hil recover")
    return config, measured(RunEvidence(config, record.tick, summary))
