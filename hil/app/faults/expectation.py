"""What must come of a fault of a device of a rig in lockstep, by its kind and the limits of the config."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.sim.rig import DRIVES_TIMEOUT_NS, SERVOS_TIMEOUT_NS
from hil.app.faults.case import Expected
from hil.app.faults.faulty_device import DeviceFault
from hil.config import Config
from hil.config.good_runs import unlike
from hil.messages.fault import Fault
from hil.messages.fault_bounds import GAP_ALLOWED
from hil.messages.layout import SAMPLED
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

# A gain with which noise alone reaches the end of any converter's range.
CLIPPING = 1e6
# With it a speed is finite, and the state of the twin that follows from it is not.
OVERFLOWING = 1e300
# Devices that stop by themselves once they get no command.
_DEAD_MAN_NS = {"drives": DRIVES_TIMEOUT_NS, "servos": SERVOS_TIMEOUT_NS}
_STALE = frozenset({Fault.SENSOR_STALE})
# What a plausible wrong reading, or one that is lost now and then, may lead to; it may also lead to nothing.
_SAMPLES = frozenset({Fault.SENSOR_DROPOUT, Fault.SENSOR_STALE, Fault.ADC_SATURATED, Fault.SEQUENCE_GAP})
_SPEEDS = frozenset({Fault.SENSOR_STALE, Fault.MODEL_NOT_FINITE, Fault.COMMAND_OUT_OF_LIMIT, Fault.OUTSIDE_MODEL})
_ANGLES = _SPEEDS | {Fault.JOINT_NOT_FOLLOWING, Fault.JOINT_OUT_OF_RANGE}
_SUSPECT = {
    "daq": _SAMPLES, "loads": _SAMPLES, "drives": _SPEEDS, "valves": _SPEEDS | {Fault.VALVE_STUCK}, "servos": _ANGLES,
}  # fmt: skip


class Expectations:
    """Of one rig in lockstep.

    Args:
        config: of the rig.
    """

    def __init__(self, config: Config) -> None:
        self._times, self._delay_ms = ReactionTimes(config), config.links.drives_delay_ms
        # a plausible wrong value is judged after an impact, against thresholds of runs like this one
        self._judged = config.experiment == "impact" and config.residuals.calibration is not None and not unlike(config)
        daq, limits = config.daq, config.limits
        noisy = daq is not None and all(one.noise_V > 0.0 for one in daq.channels)
        self._equal = {"daq": noisy and limits.frozen_samples > 0, "loads": limits.loads_frozen_samples > 0}

    def of(self, device: str, fault: DeviceFault) -> Expected:
        """What must come of a fault.

        Args:
            device: name of its link.
            fault: injected while the devices work.
        """
        expected = self._noticed(device, fault)
        if expected.detect_ms is None or expected.react_ms is not None:
            return expected
        stopped_ms = self._stopped_ms(device, fault, expected.detect_ms)
        return Expected(expected.rows, expected.detect_ms, stopped_ms, expected.optional)

    def mark(self, device: str, fault: DeviceFault, state: str) -> Expected:
        """What must come of a plausible wrong value: a mark at the end of the run, where its true value is not 0.

        Args:
            device: name of its link.
            fault: injected.
            state: of the experiment at that time.
        """
        moves = device in ("daq", "drives") and state in ("idle", "armed", "run_up")
        seen = self._judged and (fault.kind == "garbage" or moves)
        return Expected(_SUSPECT[device] | {Fault.IMPLAUSIBLE_VALUE}, optional=not seen, marked=True)

    def of_the_table(self, row: int, noticed: int | None = None, own_ms: float = 0.0) -> Expected:
        """Noticed within the bound of a row of the fault table, and stopped by the cut that follows.

        Args:
            row: of the fault table.
            noticed: the row as which it is noticed, if that is another one.
            own_ms: time-out of a device that takes no command any more [ms].
        """
        bound_ms = self.bound_ms(row)
        react_ms = max(bound_ms + self._delay_ms, own_ms)
        return Expected(frozenset({row if noticed is None else noticed}), bound_ms, react_ms)

    def bound_ms(self, row: int) -> float:
        """Bound of a row of the fault table; 0: it has none."""
        return FAULT_TABLE[row].bound_for(self._times) or 0.0

    def faults(self, device: str) -> Sequence[tuple[int, DeviceFault]]:
        """For the printed table: a fault of each kind, beyond the limits of the config, and the row that it is.

        Args:
            device: name of its link.
        """
        limit_ms, block_ms = self._times.age(device), self._times.samples(device)
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
                (Fault.IMPLAUSIBLE_VALUE if device == "valves" else Fault.SAMPLE_NOT_FINITE, DeviceFault("garbage"))
            )
        if device == "drives":
            faults.append((Fault.MODEL_NOT_FINITE, DeviceFault("wrong", factor=OVERFLOWING)))
        return [*faults, (Fault.IMPLAUSIBLE_VALUE, DeviceFault("wrong", factor=1.5))]

    def _noticed(self, device: str, fault: DeviceFault) -> Expected:
        tick_ms, limit_ms, block_ms = self._times.tick_ms, self._times.age(device), self._times.samples(device)
        suspect = Expected(_SUSPECT[device], optional=True)
        if fault.kind == "wrong":
            clips = device in SAMPLED and abs(fault.factor) >= CLIPPING
            return Expected(frozenset({Fault.ADC_SATURATED}), optional=True) if clips else suspect
        if fault.kind == "garbage":
            if device == "valves":  # a pressure that is no number is one that is not measured
                return suspect
            row = Fault.SAMPLE_NOT_FINITE
            return Expected(frozenset({row}), FAULT_TABLE[row].bound_for(self._times, device))
        if fault.kind == "stuck" and device in SAMPLED:
            bound_ms = FAULT_TABLE[Fault.SENSOR_STALE].bound_for(self._times, device)
            # equal samples in a row are a fault only where the noise of the sensors changes every sample
            return Expected(_STALE, bound_ms) if self._equal[device] else suspect
        if fault.kind == "stuck" and device == "valves":
            return suspect  # its answers keep coming, under new times
        # off and stuck drives are silent for ever; the others at times
        silent_ms = {"slow": fault.every * block_ms, "delayed": fault.ms, "intermittent": fault.ms}.get(fault.kind)
        if silent_ms is None or silent_ms > limit_ms + 2.0 * (block_ms + tick_ms):
            row = Fault.SENSOR_DROPOUT if device in SAMPLED else Fault.SENSOR_STALE
            return Expected(frozenset({row}), limit_ms + tick_ms)
        if fault.kind != "delayed" and device in SAMPLED and silent_ms >= (GAP_ALLOWED + 2) * block_ms:
            rows = {Fault.SEQUENCE_GAP, Fault.SENSOR_DROPOUT}
            return Expected(frozenset(rows), max(self.bound_ms(Fault.SEQUENCE_GAP), limit_ms + tick_ms))
        return suspect

    def _stopped_ms(self, device: str, fault: DeviceFault, detect_ms: float) -> float:
        """Longest time until the drives are cut [ms]: the detection, the link's own delay, and what the fault adds.

        Drives and servos that take no command stop by their own time-out. A command that is under way on a delayed link
        cannot be called back: the cut arrives behind it.
        """
        late_ms = fault.ms if device in _DEAD_MAN_NS and fault.kind == "delayed" else 0.0
        timeout_ms = _DEAD_MAN_NS.get(device, 0) * 1e-6
        return max(detect_ms + self._delay_ms + late_ms, timeout_ms)
