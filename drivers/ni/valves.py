"""Valves on digital lines of NI-DAQmx with its watchdog; optionally a regulator and pressure sensors."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np

from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, Health, LinkLostError, StopFrames
from drivers.messages import VALVES_OFF, ValveCommand, ValveSample, ValveSet
from drivers.ni.session import NiSession

# The watchdog is fed so many times within its time.
FEEDS = 4
# Wait of a step when nothing is due [s].
IDLE_S = 0.0005
LINES_TASK, WATCHDOG_TASK = "rover_hil_valves", "rover_hil_watchdog"
REGULATOR_TASK, PRESSURE_TASK = "rover_hil_regulator", "rover_hil_pressure"


class NiValveSettings(msgspec.Struct, frozen=True):
    """Settings of the valves: lines, watchdog, regulator, pressure sensors.

    Attributes:
        lines: digital lines of left extend, left retract, right extend, right retract, such as cDAQ1Mod2/port0/line0.
        server: host:port of an NI gRPC Device Server; "" for the driver of this computer.
        watchdog_device: device whose watchdog switches the lines off when it is not fed; "" for none.
        watchdog_s: its timeout [s].
        regulator: analog output of a proportional regulator; "" for none.
        regulator_VpkPa: its set-point [V/kPa].
        supply_kPa: pressure that the regulator is set to while open [kPa].
        pressures: analog inputs of the chambers' pressures in the order of the lines; () for none.
        pressure_VpkPa: their sensitivity [V/kPa].
        pressure_zero_V: their output at zero gauge pressure [V].
        rate_hz: samples a second.
        timeout_s: how long a device may take to answer [s].
        device: name for people.
    """

    lines: tuple[str, str, str, str]
    server: str = ""
    watchdog_device: str = ""
    watchdog_s: float = 0.1
    regulator: str = ""
    regulator_VpkPa: float = 0.01
    supply_kPa: float = 600.0
    pressures: tuple[str, ...] = ()
    pressure_VpkPa: float = 0.01
    pressure_zero_V: float = 0.0
    rate_hz: float = 100.0
    timeout_s: float = 0.05
    device: str = "NI valves"


class NiValves:
    """Four valves, all lines of them written at once.

    After opening, valves stay off until a command with all off has been written; only then is another one obeyed.
    The watchdog is fed only by `step`.

    Args:
        settings: of the valves.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(self, settings: NiValveSettings, host: Host = COMPUTER, alive: Alive = lambda: None) -> None:
        self._settings, self._host, self._alive = settings, host, alive
        self._session = NiSession(settings.device, settings.server, alive, host)
        self._tasks: list[Any] = []
        self._lines: Any = None  # writers and readers of nidaqmx
        self._regulator: Any = None
        self._inputs: Any = None
        self._watchdog: Any = None
        self._command: ValveCommand | None = None  # not yet confirmed
        self._powered = VALVES_OFF  # as last confirmed
        self._may_power = False
        self._pressure_V = np.full(4, math.nan)
        self._feed_due_ns = self._sample_due_ns = self._measured_ns = 0
        self._sample: ValveSample | None = None
        self._sequence = self._errors = 0
        self._acknowledged_ns = -1
        self._answered_ns = 0

    def open(self) -> None:
        """Reserve the lines, switch all off, set the regulator and start the watchdog. Raises DeviceError."""
        self.close()
        _check(self._settings)
        self._command, self._may_power, self._sample, self._acknowledged_ns = None, False, None, -1
        try:
            self._session.open()
            with self._session.translated_errors("setting up the lines"):
                self._set_up()
            self._session.deadline_s = 2 * self._settings.timeout_s
        except DeviceError:
            self._errors += 1
            self.close()
            raise
        self._answered_ns = self._measured_ns = self._host.now_ns()

    def close(self) -> None:
        """Valves off, regulator to zero, and release the lines; never raises."""
        with suppress(Exception):  # the link may be lost, and nidaqmx passes on any exception of gRPC
            if self._lines is not None:
                self._power(VALVES_OFF)
        with suppress(Exception):
            if self._regulator is not None:
                self._regulator.write_one_sample(0.0, self._settings.timeout_s)
        for task in reversed(self._tasks):
            with suppress(Exception):
                task.close()
        self._tasks.clear()
        self._lines = self._regulator = self._inputs = self._watchdog = None
        self._session.close()

    def health(self) -> Health:
        """State of the link."""
        wanted = self._settings
        fed = f"watchdog of {wanted.watchdog_device}, {wanted.watchdog_s * 1e3:g} ms"
        age_ms = (self._host.now_ns() - self._answered_ns) * 1e-6 if self._answered_ns else math.nan
        detail = fed if wanted.watchdog_device else "no watchdog"
        return Health(wanted.device, self._lines is not None, self._errors, detail, age_ms=age_ms)

    def stop_frames(self) -> tuple[StopFrames, ...]:
        """None: NI's watchdog stops these valves when their worker dies."""
        return ()

    def write(self, command: ValveCommand) -> None:
        """Accept a command for the next step."""
        if command.powered == VALVES_OFF:
            self._may_power = True
        elif not self._may_power:
            return
        self._command = command

    def step(self) -> None:
        """Switch valves off, else feed the watchdog, else obey, else read the pressures, else wait.

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
        wanted, command = self._settings, self._command
        if command is not None and command.powered == self._powered:
            self._confirm(command)  # a repeated command needs no transaction and delays nothing
            command = None
        period_ns = round(wanted.watchdog_s / FEEDS * 1e9)
        feed = self._watchdog is not None and now_ns >= self._feed_due_ns
        starves = feed and now_ns >= self._feed_due_ns + period_ns
        if command is not None and (not feed or _goes_before_feed(self._powered, command.powered, starves=starves)):
            with self._session.translated_errors("writing the lines"):
                self._power(command.powered)
            self._confirm(command)
        elif feed:
            self._feed_due_ns = now_ns + period_ns
            with self._session.translated_errors("feeding the watchdog"):
                self._watchdog.reset_timer()
        elif now_ns >= self._sample_due_ns:
            self._sample_due_ns = now_ns + round(1e9 / wanted.rate_hz)
            if self._inputs is not None:
                with self._session.translated_errors("reading the pressures"):
                    self._inputs.read_one_sample(self._pressure_V, wanted.timeout_s)
            self._measured_ns = now_ns
            self._publish()
        else:
            self._alive()
            self._host.sleep(IDLE_S)
            return
        self._answered_ns = self._host.now_ns()

    def _power(self, powered: ValveSet) -> None:
        self._lines.write_one_sample_one_line(np.array(powered, dtype=bool).ravel(), self._settings.timeout_s)
        self._powered = powered

    def _confirm(self, command: ValveCommand) -> None:
        self._acknowledged_ns, self._command = command.t_ns, None
        self._publish()

    def _publish(self) -> None:
        """Make a sample of the present state; its time is that of the pressures."""
        a, b, c, d = (
            (self._pressure_V - self._settings.pressure_zero_V) / self._settings.pressure_VpkPa * 1e3
        ).tolist()
        self._sequence += 1
        self._sample = ValveSample(self._sequence, self._measured_ns, ((a, b), (c, d)), self._acknowledged_ns)

    def _set_up(self) -> None:
        from nidaqmx.constants import LineGrouping
        from nidaqmx.stream_readers import AnalogMultiChannelReader
        from nidaqmx.stream_writers import AnalogSingleChannelWriter, DigitalMultiChannelWriter

        wanted = self._settings
        if wanted.watchdog_device:  # before the lines are reserved, as NI-DAQmx demands
            self._arm_watchdog()
        task = self._new_task(LINES_TASK)
        task.do_channels.add_do_chan(", ".join(wanted.lines), line_grouping=LineGrouping.CHAN_PER_LINE)
        self._lines = DigitalMultiChannelWriter(task.out_stream, auto_start=True)
        self._lines.verify_array_shape = False
        self._power(VALVES_OFF)
        if wanted.regulator:
            task = self._new_task(REGULATOR_TASK)
            task.ao_channels.add_ao_voltage_chan(wanted.regulator, min_val=0.0, max_val=10.0)
            self._regulator = AnalogSingleChannelWriter(task.out_stream, auto_start=True)
            self._regulator.write_one_sample(wanted.supply_kPa * wanted.regulator_VpkPa, wanted.timeout_s)
        if wanted.pressures:
            task = self._new_task(PRESSURE_TASK)
            task.ai_channels.add_ai_voltage_chan(", ".join(wanted.pressures), min_val=-10.0, max_val=10.0)
            self._inputs = AnalogMultiChannelReader(task.in_stream)
            self._inputs.verify_array_shape = False
            self._inputs.read_one_sample(self._pressure_V, wanted.timeout_s)

    def _arm_watchdog(self) -> None:
        from nidaqmx.constants import Level, WatchdogAOExpirState
        from nidaqmx.errors import DaqError
        from nidaqmx.system.watchdog import AOExpirationState, DOExpirationState

        wanted = self._settings
        task = self._watchdog = self._session.watchdog(wanted.watchdog_device, WATCHDOG_TASK, wanted.watchdog_s)
        self._tasks.append(task)
        with suppress(DaqError):  # it had not expired
            task.clear_expiration()
        task.cfg_watchdog_do_expir_states([DOExpirationState(line, Level.LOW) for line in wanted.lines])
        if wanted.regulator:
            task.cfg_watchdog_ao_expir_states([AOExpirationState(wanted.regulator, 0.0, WatchdogAOExpirState.VOLTAGE)])
        task.start()

    def _new_task(self, name: str) -> Any:
        task = self._session.task(name)
        self._tasks.append(task)
        return task


def _goes_before_feed(powered: ValveSet, wanted: ValveSet, *, starves: bool) -> bool:
    """Whether a command precedes the watchdog's feed: all off always, one valve off unless the feed is overdue."""
    if wanted == VALVES_OFF:
        return True
    return not starves and any(
        now and not then for side in zip(powered, wanted, strict=True) for now, then in zip(*side, strict=True)
    )


def _check(settings: NiValveSettings) -> None:
    """Raises DeviceError: settings that no device can follow."""
    lines, pressures = settings.lines, settings.pressures
    volts = settings.supply_kPa * settings.regulator_VpkPa
    for wrong, what in (
        (len(set(lines)) != 4 or not all(lines), f"lines {', '.join(lines)}; allowed: four, all different"),
        (
            len(pressures) not in (0, 4),
            f"{len(pressures)} pressure channels; allowed: none, or one for each of the 4 valves",
        ),
        (len(set(pressures)) != len(pressures), f"pressures {', '.join(pressures)}; allowed: all different"),
        (not 0 <= volts <= 10, f"the regulator's set-point is {volts:g} V; allowed: 0 to 10 (supply_kPa x V/kPa)"),
        (not settings.pressure_VpkPa > 0, f"pressure_VpkPa {settings.pressure_VpkPa:g}; allowed: above 0"),
        (not settings.rate_hz > 0, f"rate_hz {settings.rate_hz:g}; allowed: above 0"),
        (
            bool(settings.watchdog_device) and not settings.watchdog_s > 0,
            f"watchdog_s {settings.watchdog_s:g}; allowed: above 0",
        ),
    ):
        if wrong:
            raise DeviceError(f"{settings.device}: {what}")
