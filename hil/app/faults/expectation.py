"""What must come of a fault of a device of a rig in lockstep, by its kind and the limits of the config."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.sim.rig import DRIVES_TIMEOUT_NS
from hil.app.faults.case import Expected
from hil.app.faults.faulty_device import DeviceFault
from hil.config import Config
from hil.config.good_runs import unlike
from hil.messages.fault import Fault
from hil.messages.fault_bounds import GAP_ALLOWED
from hil.messages.layout import SAMPLED
from hil.safety.fault_table import FAULT_TABLE
from hil.safety.fault_table.row import period_ms

# A gain with which noise alone reaches the end of any converter's range.
CLIPPING = 1e6
# With it a speed is finite, and the state of the twin that follows from it is not.
OVERFLOWING = 1e300
_STALE = frozenset({Fault.SENSOR_STALE})
# What a plausible wrong reading, or one that is lost now and then, may lead to; it may also lead to nothing.
_SAMPLES = frozenset({Fault.SENSOR_DROPOUT, Fault.SENSOR_STALE, Fault.ADC_SATURATED, Fault.SEQUENCE_GAP})
_SPEEDS = frozenset({Fault.SENSOR_STALE, Fault.MODEL_NOT_FINITE, Fault.COMMAND_OUT_OF_LIMIT, Fault.OUTSIDE_MODEL})
_SUSPECT = {"daq": _SAMPLES, "loads": _SAMPLES, "drives": _SPEEDS, "valves": _SPEEDS | {Fault.VALVE_STUCK}}


def expected_of(config: Config, device: str, fault: DeviceFault) -> Expected:
    """What must come of a fault.

    Args:
        config: of the rig, in lockstep.
        device: name of its link.
        fault: injected while the devices work.
    """
    found = _noticed(config, device, fault)
    if found.detect_ms is None or found.react_ms is not None:
        return found
    return Expected(found.rows, found.detect_ms, _stopped_ms(config, device, fault, found.detect_ms), found.optional)


def expected_mark(config: Config, device: str, fault: DeviceFault, state: str) -> Expected:
    """What must come of a plausible wrong value: a mark at the end of the run, where its true value is not 0.

    Args:
        config: of the rig, in lockstep.
        device: name of its link.
        fault: injected.
        state: of the experiment at that time.
    """
    judged = config.residuals.calibration is not None and not unlike(config)
    moves = device in ("daq", "drives") and state in ("idle", "armed", "run_up")
    seen = judged and config.experiment == "impact" and (fault.kind == "garbage" or moves)
    return Expected(_SUSPECT[device] | {Fault.IMPLAUSIBLE_VALUE}, optional=not seen, marked=True)


def of_the_table(config: Config, row: int, noticed: int | None = None, own_ms: float = 0.0) -> Expected:
    """Noticed within the bound of a row of the fault table, and stopped by the cut that follows.

    Args:
        config: of the rig, in lockstep.
        row: of the fault table.
        noticed: the row as which it is noticed, if that is another one.
        own_ms: time-out of a device that takes no command any more [ms].
    """
    bound_ms = FAULT_TABLE[row].bound_for(config) or 0.0
    react_ms = max(bound_ms + config.links.drives_delay_ms, own_ms)
    return Expected(frozenset({row if noticed is None else noticed}), bound_ms, react_ms)


def table_faults(config: Config, device: str) -> Sequence[tuple[int, DeviceFault]]:
    """For the printed table: a fault of each kind, beyond the limits of the config, and the row that it is.

    Args:
        config: of the rig.
        device: name of its link.
    """
    limit_ms, block_ms = age_limit_ms(config, device), _block_ms(config, device)
    silence = Fault.SENSOR_DROPOUT if device in SAMPLED else Fault.SENSOR_STALE
    lost = max(round(2.0 * limit_ms / block_ms), 2)
    faults: list[tuple[int, DeviceFault]] = [
        (silence, DeviceFault("off")),
        (silence, DeviceFault("intermittent", ms=1.5 * limit_ms + 2.0 * block_ms)),
        (silence, DeviceFault("delayed", ms=1.5 * limit_ms + 2.0 * block_ms)),
        (silence, DeviceFault("slow", every=lost)),
        (Fault.SENSOR_STALE, DeviceFault("stuck")),
    ]
    if device in SAMPLED:
        faults += [
            (Fault.SAMPLE_NOT_FINITE, DeviceFault("garbage")),
            (Fault.ADC_SATURATED, DeviceFault("wrong", factor=CLIPPING)),
            (Fault.SEQUENCE_GAP, DeviceFault("slow", every=GAP_ALLOWED + 2)),
        ]
    else:
        faults.append(
            (Fault.SAMPLE_NOT_FINITE if device == "drives" else Fault.IMPLAUSIBLE_VALUE, DeviceFault("garbage"))
        )
    if device == "drives":
        faults.append((Fault.MODEL_NOT_FINITE, DeviceFault("wrong", factor=OVERFLOWING)))
    return [*faults, (Fault.IMPLAUSIBLE_VALUE, DeviceFault("wrong", factor=1.5))]


def age_limit_ms(config: Config, device: str) -> float:
    """Largest age of the newest sample of a device [ms]."""
    return float(getattr(config.limits, f"{device}_age_ms"))


def _noticed(config: Config, device: str, fault: DeviceFault) -> Expected:
    tick_ms, limit_ms = period_ms(config), age_limit_ms(config, device)
    suspect = Expected(_SUSPECT[device], optional=True)
    if fault.kind == "wrong":
        clips = device in SAMPLED and abs(fault.factor) >= CLIPPING
        return Expected(frozenset({Fault.ADC_SATURATED}), optional=True) if clips else suspect
    if fault.kind == "garbage":
        return _not_finite(config, device) or suspect
    if fault.kind == "stuck" and device in SAMPLED:
        bound_ms = FAULT_TABLE[Fault.SENSOR_STALE].bound_for(config, device)
        return Expected(_STALE, bound_ms) if _looks_for_equal(config, device) else suspect
    if fault.kind == "stuck" and device == "valves":
        return suspect  # its answers keep coming, under new times
    # off and stuck drives are silent for ever; the others at times
    block_ms = _block_ms(config, device)
    silent_ms = {"slow": fault.every * block_ms, "delayed": fault.ms, "intermittent": fault.ms}.get(fault.kind)
    if silent_ms is None or silent_ms > limit_ms + 2.0 * (block_ms + tick_ms):
        row = Fault.SENSOR_DROPOUT if device in SAMPLED else Fault.SENSOR_STALE
        return Expected(frozenset({row}), limit_ms + tick_ms)
    if fault.kind != "delayed" and device in SAMPLED and silent_ms >= (GAP_ALLOWED + 2) * block_ms:
        rows = {Fault.SEQUENCE_GAP, Fault.SENSOR_DROPOUT}
        gap_ms = FAULT_TABLE[Fault.SEQUENCE_GAP].bound_for(config) or 0.0
        return Expected(frozenset(rows), max(gap_ms, limit_ms + tick_ms))
    return suspect


def _not_finite(config: Config, device: str) -> Expected | None:
    """Of readings that are not finite; None: they are no fault."""
    if device == "valves":  # a pressure that is no number is one that is not measured
        return None
    row = Fault.SAMPLE_NOT_FINITE
    return Expected(frozenset({row}), FAULT_TABLE[row].bound_for(config, device))


def _looks_for_equal(config: Config, device: str) -> bool:
    """Whether equal samples in a row are a fault; the noise of these sensors changes every sample."""
    daq, limits = config.daq, config.limits
    if device == "daq":
        return daq is not None and limits.frozen_samples > 0 and all(one.noise_V > 0.0 for one in daq.channels)
    return limits.loads_frozen_samples > 0


def _block_ms(config: Config, device: str) -> float:
    """Period of the samples of a device [ms]."""
    section = {"daq": config.daq, "loads": config.loads}.get(device)
    return section.block_ms if section is not None else period_ms(config)


def _stopped_ms(config: Config, device: str, fault: DeviceFault, detect_ms: float) -> float:
    """Longest time until the drives are cut [ms]: the detection, the link's own delay, and what the fault adds.

    Drives that take no command stop by their own time-out. A command that is under way on a delayed link cannot be
    called back: the cut arrives behind it.
    """
    late_ms = fault.ms if device == "drives" and fault.kind == "delayed" else 0.0
    timeout_ms = DRIVES_TIMEOUT_NS * 1e-6 if device == "drives" else 0.0
    return max(detect_ms + config.links.drives_delay_ms + late_ms, timeout_ms)
