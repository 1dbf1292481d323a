"""Valves and cameras' triggers on digital lines of NI-DAQmx with its watchdog; regulators, pressure sensors."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import DeviceError, Health, LinkLostError, StopFrames, ValvesDevice
from drivers.messages import ValveCommand, ValveSample
from drivers.ni.section import MOST_V, NiValvesSection, chassis_of
from drivers.ni.session import NiSession

DEVICE = "NI valves"
# How long a device may take to answer [s].
TIMEOUT_S = 0.05
# The watchdog is fed so many times within its time.
FEEDS = 4
LINES_TASK, WATCHDOG_TASK = "rover_hil_valves", "rover_hil_watchdog"
OUTPUTS_TASK, PRESSURE_TASK = "rover_hil_regulators", "rover_hil_pressure"


class _ValveChannels:
    """The channels of a rig's valves, regulators and pressure sensors.

    Args:
        section: of the config.
        rig: with the valves, the regulators and the cameras' trigger lines.

    Attributes:
        valves: which valves and moved regulators there are, and which trigger lines of cameras.
        lines: digital lines such as cDAQ1Mod2/port0/line0, in the order of `valves.outputs`.
        watchdog_device: device whose watchdog switches the lines off when it is not fed; "" for none.
        watchdog_s: its time-out [s].
        outputs: analog outputs of regulators: of those that are moved, in the order of `valves.regulators`; or, where
            none is moved, one that is set to the pressure of the supply while open; () for none.
        pressures: analog inputs of the pressures of the chambers with a valve, in the order of the lines; () for none.
        pressure_VpkPa: their sensitivity [V/kPa].
    """

    def __init__(self, section: NiValvesSection, rig: RigSetup) -> None:
        inputs, fixed, moved = section.pressure_channels, section.regulator, section.regulators
        self.valves, self.lines = rig.valves, section.lines.in_order(rig.valves.valves)
        if rig.valves.trigger:
            self.lines += (section.camera_trigger or "",)
        if section.camera_triggers is not None:
            self.lines += section.camera_triggers.in_order(rig.valves.triggers)
        self.watchdog_device = chassis_of(self.lines[0]) if section.watchdog_ms else ""
        self.watchdog_s = (section.watchdog_ms or 0) * 1e-3
        self.outputs = moved.in_order(rig.valves.regulators) if moved else (fixed.channel,) if fixed else ()
        outputs = moved or fixed
        self._VpkPa, self._zero_V = 1.0 / outputs.kPa_per_V if outputs else 1.0, moved.zero_V if moved else 0.0
        self._supply_kPa = rig.supply_kPa
        self.pressures = inputs.in_order(rig.valves.valves) if inputs else ()
        self.pressure_VpkPa = 1.0 / inputs.kPa_per_V if inputs else 1.0

    def volts(self, command: ValveCommand) -> tuple[float, ...]:
        """Set-points of the outputs under a command [V]."""
        if not self.valves.regulators:
            return (self._zero_V + self._supply_kPa * self._VpkPa,) * len(self.outputs)
        pressures_Pa = self.valves.pressures(command)
        return tuple([min(self._zero_V + pressure_Pa * 1e-3 * self._VpkPa, MOST_V) for pressure_Pa in pressures_Pa])


class NiValves(ValvesDevice):
    """Valves, all lines of them written at once, and regulators, likewise.

    After opening, valves stay off and moved regulators closed until the safe command has been written; only then is
    another one obeyed.
    The watchdog is fed only by `step`.

    Args:
        section: of the config.
        rig: with the valves, the regulators and the cameras' trigger lines.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: NiValvesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._channels, self._host, self._alive = _ValveChannels(section, rig), host, alive
        self._session, self._period_ns = NiSession(DEVICE, section.server, alive, host), round(1e9 / section.rate_hz)
        valves = rig.valves
        self._tasks: list[Any] = []
        self._lines: Any = None  # writers and readers of nidaqmx
        self._outputs: Any = None
        self._inputs: Any = None
        self._watchdog: Any = None
        self._command: ValveCommand | None = None  # not yet confirmed
        self._off = ValveCommand(0, valves.valves_off)
        self._all_off = valves.switched(self._off)
        self._on, self._volts = self._all_off, self._channels.volts(self._off)  # as last confirmed
        self._may_power = False
        self._pressure_V = np.full(len(valves.valves), math.nan)
        self._feed_due_ns = self._sample_due_ns = self._outputs_due_ns = self._measured_ns = 0
        self._sample: ValveSample | None = None
        self._sequence = self._errors = 0
        self._acknowledged_ns = -1
        self._answered_ns = 0

    def open(self) -> None:
        """Reserve the lines, switch all off, set the regulators and start the watchdog. Raises DeviceError."""
        self.close()
        self._command, self._may_power, self._sample, self._acknowledged_ns = None, False, None, -1
        try:
            self._session.open()
            with self._session.translated_errors("setting up the lines"):
                self._set_up()
            self._session.deadline_s = 2 * TIMEOUT_S
        except DeviceError:
            self._errors += 1
            self.close()
            raise
        self._answered_ns = self._measured_ns = self._host.now_ns()

    def close(self) -> None:
        """Valves off, regulators to zero, and release the lines; never raises."""
        with suppress(Exception):  # the link may be lost, and nidaqmx passes on any exception of gRPC
            if self._lines is not None:
                self._power(self._all_off)
        with suppress(Exception):
            if self._outputs is not None:
                self._regulate((0.0,) * len(self._channels.outputs))
        for task in reversed(self._tasks):
            with suppress(Exception):
                task.close()
        self._tasks.clear()
        self._lines = self._outputs = self._inputs = self._watchdog = None
        self._session.close()

    def health(self) -> Health:
        """Returns the state of the link."""
        wanted = self._channels
        fed = f"watchdog of {wanted.watchdog_device}, {wanted.watchdog_s * 1e3:g} ms"
        age_ms = (self._host.now_ns() - self._answered_ns) * 1e-6 if self._answered_ns else math.nan
        detail = fed if wanted.watchdog_device else "no watchdog"
        return Health(DEVICE, self._lines is not None, self._errors, detail, age_ms=age_ms)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """None: NI's watchdog stops these valves when their worker dies."""
        return ()

    def write(self, command: ValveCommand) -> None:
        """Accept a command for the next step."""
        if self._channels.valves.is_safe(command):
            self._may_power = True
        elif not self._may_power:
            return
        self._command = command

    def step(self) -> None:
        """Switch valves off or close regulators, else feed the watchdog, else obey, else read the pressures, else wait.

        Raises:
            DeviceError: its class decides the reaction; the lines are released, and off where they can be reached.
        """
        if self._lines is None:
            raise LinkLostError(f"{self._session.where}: not open")
        try:
            self._urgent(self._host.now_ns())
        except DeviceError:
            self._errors += 1
            self.close()
            raise

    def read(self, t_ns: int) -> ValveSample | None:  # noqa: ARG002
        """The newest sample not yet read, or None; pressures are NaN without a sensor."""
        sample, self._sample = self._sample, None
        return sample

    def _urgent(self, now_ns: int) -> None:
        wanted, command = self._channels, self._command
        if command is not None and self._follows(command):
            self._confirm(command)  # a repeated command needs no transaction and delays nothing
            command = None
        period_ns = round(wanted.watchdog_s / FEEDS * 1e9)
        feed = self._watchdog is not None and now_ns >= self._feed_due_ns
        starves = feed and now_ns >= self._feed_due_ns + period_ns
        on = self._on if command is None else wanted.valves.switched(command)
        if command is not None and on != self._on and (not feed or self._goes_before_feed(on, starves=starves)):
            with self._session.translated_errors("writing the lines"):
                self._power(on)
            self._confirm(command)
        elif command is not None and wanted.valves.is_safe(command):
            self._move(command, now_ns)
        elif feed:
            self._feed_due_ns = now_ns + period_ns
            with self._session.translated_errors("feeding the watchdog"):
                self._watchdog.reset_timer()
        elif command is not None and now_ns >= self._outputs_due_ns:  # else set-points would starve the pressures
            self._move(command, now_ns)
        elif now_ns >= self._sample_due_ns:
            self._sample_due_ns = now_ns + self._period_ns
            if self._inputs is not None:
                with self._session.translated_errors("reading the pressures"):
                    self._inputs.read_one_sample(self._pressure_V, TIMEOUT_S)
            self._measured_ns = now_ns
            self._publish()
        else:
            self._alive()
            dues_ns = [self._sample_due_ns]
            if self._watchdog is not None:
                dues_ns.append(self._feed_due_ns)
            if command is not None:
                dues_ns.append(self._outputs_due_ns)
            self._host.rest(min(max(min(dues_ns) - now_ns, 0) * 1e-9, SLICE_S))
            return
        self._answered_ns = self._host.now_ns()

    def _goes_before_feed(self, on: tuple[bool, ...], *, starves: bool) -> bool:
        """Whether switching precedes the watchdog's feed: all off always, one line off unless the feed is overdue."""
        if on == self._all_off:
            return True
        return not starves and any(now and not then for now, then in zip(self._on, on, strict=True))

    def _power(self, on: tuple[bool, ...]) -> None:
        self._lines.write_one_sample_one_line(np.array(on, dtype=bool), TIMEOUT_S)
        self._on = on

    def _move(self, command: ValveCommand, now_ns: int) -> None:
        self._outputs_due_ns = now_ns + self._period_ns
        with self._session.translated_errors("writing the regulators"):
            self._regulate(self._channels.volts(command))
        self._confirm(command)

    def _regulate(self, volts: tuple[float, ...]) -> None:
        self._outputs.write_one_sample(np.array(volts), TIMEOUT_S)
        self._volts = volts

    def _follows(self, command: ValveCommand) -> bool:
        return self._channels.valves.switched(command) == self._on and self._channels.volts(command) == self._volts

    def _confirm(self, command: ValveCommand) -> None:
        if self._follows(command):
            self._acknowledged_ns, self._command = command.t_ns, None
            self._publish()

    def _publish(self) -> None:
        """Make a sample of the present state; its time is that of the pressures."""
        wanted = self._channels
        pressures_Pa = (self._pressure_V / wanted.pressure_VpkPa * 1e3).tolist()
        # a chamber without a valve is open to atmosphere
        by_cylinder = wanted.valves.by_cylinder(pressures_Pa, 0.0 if wanted.pressures else math.nan)
        self._sequence += 1
        self._sample = ValveSample(self._sequence, self._measured_ns, by_cylinder, self._acknowledged_ns)

    def _set_up(self) -> None:
        from nidaqmx.constants import LineGrouping
        from nidaqmx.stream_readers import AnalogMultiChannelReader
        from nidaqmx.stream_writers import AnalogMultiChannelWriter, DigitalMultiChannelWriter

        wanted = self._channels
        if wanted.watchdog_device:  # before the lines are reserved, as NI-DAQmx demands
            self._arm_watchdog()
        task = self._new_task(LINES_TASK)
        task.do_channels.add_do_chan(", ".join(wanted.lines), line_grouping=LineGrouping.CHAN_PER_LINE)
        self._lines = DigitalMultiChannelWriter(task.out_stream, auto_start=True)
        self._lines.verify_array_shape = False
        self._power(self._all_off)
        if wanted.outputs:
            task = self._new_task(OUTPUTS_TASK)
            task.ao_channels.add_ao_voltage_chan(", ".join(wanted.outputs), min_val=0.0, max_val=MOST_V)
            self._outputs = AnalogMultiChannelWriter(task.out_stream, auto_start=True)
            self._outputs.verify_array_shape = False
            self._regulate(wanted.volts(self._off))
        if wanted.pressures:
            task = self._new_task(PRESSURE_TASK)
            task.ai_channels.add_ai_voltage_chan(", ".join(wanted.pressures), min_val=-10.0, max_val=10.0)
            self._inputs = AnalogMultiChannelReader(task.in_stream)
            self._inputs.verify_array_shape = False
            self._inputs.read_one_sample(self._pressure_V, TIMEOUT_S)

    def _arm_watchdog(self) -> None:
        from nidaqmx.constants import Level, WatchdogAOExpirState
        from nidaqmx.errors import DaqError
        from nidaqmx.system.watchdog import AOExpirationState, DOExpirationState

        wanted = self._channels
        task = self._watchdog = self._session.watchdog(wanted.watchdog_device, WATCHDOG_TASK, wanted.watchdog_s)
        self._tasks.append(task)
        with suppress(DaqError):  # it had not expired
            task.clear_expiration()
        task.cfg_watchdog_do_expir_states([DOExpirationState(line, Level.LOW) for line in wanted.lines])
        if wanted.outputs:
            closed = [AOExpirationState(output, 0.0, WatchdogAOExpirState.VOLTAGE) for output in wanted.outputs]
            task.cfg_watchdog_ao_expir_states(closed)
        task.start()

    def _new_task(self, name: str) -> Any:
        task = self._session.task(name)
        self._tasks.append(task)
        return task
