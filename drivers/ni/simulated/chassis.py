"""A simulated cDAQ chassis: tasks, their reservations, the sample clock and its buffer, lines, and the watchdog.

It is independent of the transport of requests; `service` serves it. Its channels have the names that the config of a
rig gives them; without a config, the modules are, as `hil devices` shows them:

cDAQ1       chassis, with the watchdog          cDAQ1Mod2   digital outputs: valves from port0/line0 on
cDAQ1Mod1   IEPE inputs: the sampled channels   cDAQ1Mod3   analog outputs: regulators from ao0 on
cDAQ1Mod5   inputs of the valves' pressures     cDAQ1Mod4   digital inputs: E-stop on port0/line0, high while whole
cDAQ1Mod6   slow inputs with a separate clock: the load channels

Counters are there only where a config names them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from drivers.host import COMPUTER, Host
from drivers.ni.simulated.counters import Counters
from drivers.ni.simulated.parts import (
    ChannelNames,
    ChassisWatchdog,
    DaqmxError,
    Sensors,
    Task,
    TaskKind,
    VirtualChannel,
    converted,
    line_number,
    modules,
    resources,
    unsupported,
    usual_names,
    watchdog_of,
)
from drivers.sim.protocol.plant_ports import Analog, CylinderPorts, PacedChannels, TakesTimes

# Once the plant's next samples are due, a reader that waits for them looks at this period [s].
LOOK_S = 0.0002
# Between two looks whether a task is done [s].
WAIT_S = 0.001
# A plant's rounds differ by so much: later than due by it, the samples are there at the first look [ns].
_LATE_NS = 50_000


class Chassis:
    """The chassis that all clients share.

    Args:
        analog: the sampled channels.
        cylinders: the valves and pressures; None for none.
        range_V: converters' full scale, either sign [V].
        max_rate_hz: their reported limit; those of an `analog` that is not `PacedChannels` support no other rate.
        filter_delay_s: of the converters' filters, as reported [s]; not in the samples' times.
        pressure_VpkPa: sensitivity of pressure sensors, and of regulators [V/kPa].
        delivered: called with the due time of requested samples and the time of their delivery.
        host: whose clock is used.
        loads: the slow load channels, converted with loads_range_V [V]; None for none.
        rename: from the usual names of the channels to those of this chassis.
        counters: encoders at its counters.

    Attributes:
        counters: as passed.
        e_stop: whether the emergency stop is pressed.
        overloaded: virtual channels that were overloaded at the last query.
        goes_on: when cleared, all calls that wait for samples end.
        outputs: volts of the analog outputs.
        lines: states of the digital outputs, which stay when the task that set them is cleared.
        sensors: behind the channels, for shunt calibration and TEDS.
        watched: set while the watchdog's time runs.
    """

    def __init__(
        self,
        analog: Analog,
        cylinders: CylinderPorts | None = None,
        *,
        range_V: float = 5.0,
        max_rate_hz: float = 51_200.0,
        filter_delay_s: float = 0.0,
        pressure_VpkPa: float = 0.01,
        delivered: TakesTimes = lambda _due_ns, _done_ns: None,
        host: Host = COMPUTER,
        loads: Analog | None = None,
        loads_range_V: float = 10.0,
        rename: Callable[[ChannelNames], ChannelNames] = lambda usual: usual,
        counters: Counters | None = None,
    ) -> None:
        self._loads, self.counters = loads, counters or Counters({})
        self.analog, self.max_rate_hz, self.filter_delay_s = analog, max_rate_hz, filter_delay_s
        self._cylinders, self._pressure_VpkPa, self._host, self._delivered = cylinders, pressure_VpkPa, host, delivered
        valves, regulators = (cylinders.valves, cylinders.regulators) if cylinders else (0, 0)
        self._names = names = rename(usual_names(analog.channels, valves, regulators, loads.channels if loads else 0))
        self.modules = modules(names)
        self._range_V = dict.fromkeys(names.sampled, range_V) | dict.fromkeys(names.loads, loads_range_V)
        self._columns = {
            name: column for group in (names.sampled, names.pressures, names.loads) for column, name in enumerate(group)
        }
        self.e_stop, self.sensors = False, Sensors()
        self.lines = dict.fromkeys(names.lines, False)
        self.outputs = dict.fromkeys(names.outputs, 0.0)
        self.watchdog: ChassisWatchdog | None = None
        self.watched = threading.Event()
        self._tasks: list[Task] = []
        self._steps: dict[int, tuple[int, float]] = {}
        self._overloaded, self.overloaded = set[str](), list[str]()
        self._lock = threading.RLock()
        self.goes_on = True

    def step(self, channel: int, volts: float, after: int = 0) -> tuple[int, int]:
        """Add volts to a channel from the next sample on, or from a later one; that sample and its time [ns]."""
        with self._lock:
            sample = self.analog.taken() + after
            self._steps[channel] = (sample, volts)
        return sample, self.analog.at_ns(sample)

    def clear_steps(self) -> None:
        """Remove all steps."""
        with self._lock:
            self._steps.clear()

    def wake(self, now_ns: int) -> None:
        """Advance to now_ns: outputs with a clock change, and the watchdog may expire."""
        with self._lock:
            self._generate(now_ns)
            dog = self.watchdog
            if dog is None or dog.due_ns is None or now_ns < dog.due_ns:
                return
            dog.expired = True
            self._rest(dog)
            for name, state in dog.states.items():
                self._set(name, state)

    def reset(self) -> None:
        """The device server has died: its tasks are gone; lines stay, and the watchdog runs."""
        with self._lock:
            self._tasks.clear()

    def new_task(self, name: str) -> Task:
        """An empty task."""
        task = Task(name)
        with self._lock:
            self._tasks.append(task)
        return task

    def clear(self, task: Task) -> None:
        """End a task."""
        with self._lock:
            if task in self._tasks:
                self._tasks.remove(task)
            if task.kind == "watchdog" and self.watchdog is not None:
                self._rest(self.watchdog)  # an expired watchdog stays expired

    def add(self, task: Task, kind: TaskKind, channels: list[VirtualChannel]) -> None:
        """Add channels to a task. Raises DaqmxError."""
        for channel in channels:
            for line in channel.lines:
                self._known(line, kind)
            full = channel.limits
            if any(set(channel.lines) & set(other.lines) for other in task.channels):
                raise DaqmxError(-200489, f"Specified channel cannot be added to the task. Channel: {channel.physical}")
            if task.kind not in ("", kind):
                raise DaqmxError(-200559, "Task cannot contain a channel of the specified type.")
            reach = self._range_V.get(channel.physical, math.inf) * channel.per_volt * (1 + 1e-9)
            if kind == "ai" and max(map(abs, full)) > reach:
                raise unsupported("DAQmx_AI_Max", full[1], reach)
            task.kind = kind
            task.channels = [*task.channels, channel]

    def time(self, task: Task, rate_hz: float, samples: int, *, continuous: bool) -> None:
        """Set the sample clock of a task. Raises DaqmxError."""
        if not 0 < rate_hz <= self.max_rate_hz:
            raise unsupported("DAQmx_SampClk_Rate", rate_hz, self.max_rate_hz)
        if task.running and not task.automatic:
            raise DaqmxError(-200479, "Specified operation cannot be performed while the task is running.")
        self.stop(task)
        task.rate_hz, task.buffer, task.continuous, task.timed = rate_hz, samples, continuous, True

    def rate_hz(self, task: Task) -> float:
        """Of the sample clock of a task [Hz]: as asked for, where that can be."""
        if task.kind == "ao":
            return task.rate_hz
        if isinstance(self.sampled(task), PacedChannels):
            return float(max(round(task.rate_hz), 1))
        return float(self.sampled(task).rate_hz)

    def start(self, task: Task, *, automatic: bool = False) -> None:
        """Reserve what the task needs and run it; `automatic`: for a read or a write. Raises DaqmxError."""
        with self._lock:
            if task.running:
                return
            mine = resources(task)
            for other in self._tasks:
                if other is not task and other.running and mine & resources(other):
                    raise DaqmxError(-50103, f"The specified resource is reserved. Task: {other.name}")
            if task.kind == "watchdog":
                if any(other.running and other.kind in ("do", "ao") for other in self._tasks):
                    raise DaqmxError(-201477, "Watchdog task cannot be reserved while other tasks are reserved.")
                self.feed()
            task.running, task.automatic, task.began_ns = True, automatic, self._host.now_ns()
            analog = self.sampled(task)
            if task.timed and task.kind == "ai" and isinstance(analog, PacedChannels):
                analog.pace(task.rate_hz)
            task.first = analog.taken()
            task.position = 0
            if task.kind == "ci":
                task.first = self.counters.counts(task.channels[0], self._host.now_ns())

    def stop(self, task: Task) -> None:
        """Stop a task."""
        with self._lock:
            self._generate(self._host.now_ns())
            task.running = False
            if task.kind == "watchdog" and self.watchdog is not None:
                self._rest(self.watchdog)

    def available(self, task: Task) -> int:
        """Returns the number of unread samples."""
        return self.acquired(task) - task.position if task.running else 0

    def acquired(self, task: Task) -> int:
        """Returns the samples of each channel since the start."""
        if not task.running:
            return 0
        taken = self.sampled(task).taken() - task.first
        return taken if task.continuous else min(taken, task.buffer)

    def generated(self, task: Task) -> int:
        """Returns the samples of each output since the start."""
        if task.wave is None or not task.running:
            return 0
        done = round((self._host.now_ns() - task.began_ns) * 1e-9 * task.rate_hz)
        return done if task.continuous else min(done, task.wave.shape[1])

    def is_done(self, task: Task) -> bool:
        """It does not run, or has taken or generated all its samples; on demand there is nothing to wait for."""
        if not task.running or not task.timed:
            return True
        if task.continuous:
            return False
        if task.kind == "ao":
            return task.wave is None or self.generated(task) >= task.wave.shape[1]
        return self.acquired(task) >= task.buffer

    def wait_until_done(self, task: Task, timeout_s: float) -> None:
        """Wait for all samples. Raises DaqmxError: not within that time; negative: wait for ever."""
        until_ns = self._host.now_ns() + round(timeout_s * 1e9)
        while not self.is_done(task):
            if (timeout_s >= 0 and self._host.now_ns() >= until_ns) or not self.goes_on:
                raise DaqmxError(-200560, "Wait Until Done did not indicate that the task was done within the timeout.")
            self._host.sleep(WAIT_S)

    def sampled(self, task: Task) -> Analog:
        """The sampled channels whose clock a task uses."""
        slow = task.channels and task.channels[0].physical in self._names.loads
        return self._loads if slow and self._loads is not None else self.analog

    def read(self, task: Task, count: int, timeout_s: float) -> npt.NDArray[np.float64]:
        """The next samples of all channels in their units, (channels, count); waits for them. Raises DaqmxError."""
        self.start(task, automatic=True)
        if not task.timed:
            values = self._on_demand(task, count)
            self._end_automatic(task)
            return values
        if not task.continuous and task.position + count > task.buffer:
            raise DaqmxError(-200278, "Attempted to read a sample beyond the final sample acquired.", 0)
        analog, begin, asked_ns = self.sampled(task), task.first + task.position, self._host.now_ns()
        analog.read_in_blocks(begin, count)
        self._wait(analog, begin + count, timeout_s)
        self._delivered(max(analog.at_ns(begin + count - 1), asked_ns), self._host.now_ns())
        with self._lock:
            volts = np.empty((count, analog.channels))
            try:
                if self.available(task) > task.buffer:
                    raise OverflowError
                analog.copy(begin, volts)
            except OverflowError:
                raise DaqmxError(
                    -200279,
                    "The application is not able to keep up with the hardware acquisition: attempted to read samples "
                    "that are no longer available.",
                    0,
                ) from None
            task.position += count
            for channel, (sample, added) in self._steps.items() if analog is self.analog else ():
                volts[max(sample - begin, 0) :, channel] += added
        if not task.continuous and task.position >= task.buffer:
            self._end_automatic(task)
        return self._converted(task, volts)

    def _converted(self, task: Task, volts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        for one in task.channels:
            if one.bridge:
                gain = self.sensors.wires.get(one.physical, 1.0) * task.gains.get(one.name, 1.0)
                volts[:, self._columns[one.physical]] *= gain
        columns, range_V = (
            [self._columns[one.physical] for one in task.channels],
            self._range_V[task.channels[0].physical],
        )
        values, overloaded = converted(volts, task.channels, columns, range_V)
        self._overloaded |= overloaded
        return values

    def overload_exists(self, task: Task) -> bool:
        """Returns whether a channel of a task was at full scale since the last query; `overloaded` lists which."""
        with self._lock:
            self.overloaded = sorted(self._overloaded.intersection(channel.name for channel in task.channels))
            self._overloaded.difference_update(self.overloaded)
        return bool(self.overloaded)

    def write(self, task: Task, values: npt.NDArray[np.float64], *, start: bool = True) -> None:
        """Set the lines or outputs of a task, or what it generates with its clock. Raises DaqmxError.

        Args:
            task: of lines or outputs.
            values: (channels, samples); of a channel of several lines, a number with a bit for each line of its port.
            start: start the task if it does not run.
        """
        self.wake(self._host.now_ns())
        with self._lock:
            if self.watchdog is not None and self.watchdog.expired:
                raise DaqmxError(-200678, "Write failed, because the watchdog timer has expired.")
            for channel, samples in zip(task.channels, values, strict=True):
                if task.kind == "ao" and not channel.limits[0] <= samples.min() <= samples.max() <= channel.limits[1]:
                    raise DaqmxError(-200561, f"Value is outside the limits of the channel. Channel: {channel.name}")
            if task.timed and task.kind == "ao":
                task.wave = values
                if start:
                    self.start(task, automatic=True)
                return
            if not start and not task.running:
                raise DaqmxError(-200846, "Write cannot be performed when the task is not started and not buffered.")
            self.start(task, automatic=True)
            for channel, samples in zip(task.channels, values, strict=True):
                value = float(samples[-1])
                if not channel.more:
                    self._set(channel.physical, value)
                for line in channel.lines if channel.more else ():
                    self._set(line, float(int(value) >> line_number(line) & 1))

    def read_lines(self, task: Task) -> list[tuple[bool, ...]]:
        """Returns the states of the lines of each channel of a task; the E-stop's is the first of its module."""
        self.start(task, automatic=True)
        states = {**self.lines, self._names.inputs[0]: not self.e_stop}
        if task.kind == "di":
            self._end_automatic(task)
        return [tuple(states.get(line, False) for line in channel.lines) for channel in task.channels]

    def watch(self, task: Task, device: str, timeout_s: float) -> None:
        """Make a task that of the watchdog. Raises DaqmxError."""
        if device not in self.modules:
            raise DaqmxError(-200220, f"Device identifier is invalid. Device Specified: {device}")
        expired = self.watchdog is not None and self.watchdog.expired
        task.kind, self.watchdog = "watchdog", watchdog_of(device, timeout_s, self.lines, expired=expired)

    def expire_to(self, states: dict[str, float]) -> None:
        """Safe states of lines and outputs. Raises DaqmxError."""
        for name in states:
            self._known(name, "do" if "line" in name else "ao")
        dog = self._dog()
        dog.states = {**dog.states, **states}

    def feed(self) -> None:
        """Restart the watchdog's time. Raises DaqmxError: it has expired."""
        self.wake(self._host.now_ns())
        dog = self._dog()
        if dog.expired:
            raise DaqmxError(-200644, "Watchdog timer cannot be reset, because it has expired.")
        dog.due_ns = self._host.now_ns() + round(dog.timeout_s * 1e9)
        self.watched.set()

    def clear_expiration(self) -> None:
        """Unlock what has expired."""
        self._dog().expired = False

    def _rest(self, dog: ChassisWatchdog) -> None:
        """Its time runs no more."""
        dog.due_ns = None
        self.watched.clear()

    def _dog(self) -> ChassisWatchdog:
        if self.watchdog is None:
            raise DaqmxError(-200635, "Requested action is not supported: the task is not a watchdog task.")
        return self.watchdog

    def _known(self, physical: str, kind: TaskKind) -> None:
        device, _, rest = physical.partition("/")
        if device not in self.modules or not rest:
            raise DaqmxError(-200220, f"Device identifier is invalid. Device Specified: {device}")
        if physical not in getattr(self.modules[device], kind):
            raise DaqmxError(-200170, f"Physical channel specified does not exist on this device. Channel: {physical}")

    def _wait(self, analog: Analog, until: int, timeout_s: float) -> None:
        """Wait until the rig has made a sample. Raises DaqmxError."""
        until_ns = self._host.now_ns() + round(timeout_s * 1e9)
        while analog.taken() < until:
            now_ns = self._host.now_ns()
            if now_ns >= until_ns or not self.goes_on:
                raise DaqmxError(-200284, "Some or all of the samples requested have not yet been acquired.", 0)
            due_ns = analog.due_ns(until) + _LATE_NS - now_ns
            self._host.sleep(min(max(due_ns * 1e-9, LOOK_S), (until_ns - now_ns) * 1e-9))

    def _end_automatic(self, task: Task) -> None:
        """End a task that a read has started; others may have its resources then."""
        if task.automatic:
            self.stop(task)

    def _on_demand(self, task: Task, count: int) -> npt.NDArray[np.float64]:
        """The present values of all channels, (channels, count)."""
        if task.channels[0].physical in self._names.pressures:
            assert self._cylinders is not None  # otherwise the channel does not exist
            valves = [self._columns[channel.physical] for channel in task.channels]
            now = [self._cylinders.pressure_Pa(valve) * 1e-3 * self._pressure_VpkPa for valve in valves]
            return np.repeat(np.array(now)[:, None], count, axis=1)
        analog = self.sampled(task)
        self._wait(analog, 1, 1.0)
        volts = np.empty((1, analog.channels))
        analog.copy(max(analog.taken() - 1, 0), volts)
        return np.repeat(self._converted(task, volts), count, axis=1)

    def _generate(self, now_ns: int) -> None:
        """The outputs of tasks that generate samples with their clock."""
        for task in self._tasks:
            if task.running and task.kind == "ao" and task.wave is not None and now_ns >= task.began_ns:
                number, samples = self.generated(task), task.wave.shape[1]
                place = number % samples if task.continuous else min(number, samples - 1)
                for channel, values in zip(task.channels, task.wave, strict=True):
                    self._set(channel.physical, float(values[place]))

    def _set(self, physical: str, value: float) -> None:
        cylinders = self._cylinders
        if physical in self.outputs:
            self.outputs[physical] = value
            if cylinders is not None and (number := list(self.outputs).index(physical)) < cylinders.regulators:
                cylinders.regulate(number, value / self._pressure_VpkPa * 1e3)
        elif self.lines[physical] != bool(value):
            self.lines[physical] = bool(value)
            valve = list(self.lines).index(physical)
            if cylinders is not None and valve < cylinders.valves:
                cylinders.power(valve, bool(value))
