"""A simulated cDAQ chassis: tasks, their reservations, the sample clock and its buffer, lines, and the watchdog.

It is independent of the transport of requests; `service` serves it. The modules, as `hil devices` shows them:

cDAQ1       chassis, with the watchdog          cDAQ1Mod2   digital outputs: valves from port0/line0 on
cDAQ1Mod1   IEPE inputs: the sampled channels   cDAQ1Mod3   analog outputs: regulators from ao0 on
cDAQ1Mod5   inputs of the valves' pressures     cDAQ1Mod4   digital inputs: E-stop on port0/line0, high while whole
cDAQ1Mod6   slow inputs with a clock of their own: the load channels
"""

from __future__ import annotations

import math
import threading

import numpy as np
import numpy.typing as npt

from drivers.host import COMPUTER, Host
from drivers.ni.simulated.calibration import Sensors
from drivers.ni.simulated.parts import (
    CHASSIS,
    LOADS_MODULE,
    ChassisWatchdog,
    DaqmxError,
    Task,
    TaskKind,
    VirtualChannel,
    converted,
    modules,
    resources,
    unsupported,
    watchdog_of,
)
from drivers.sim.protocol.plant_ports import Analog, Cylinders, TakesTimes

# Once the plant's next samples are due, a reader that waits for them looks at this period [s].
LOOK_S = 0.0002
# A plant's rounds differ by so much: later than due by it, the samples are there at the first look [ns].
_LATE_NS = 50_000


class Chassis:
    """The chassis that all clients share.

    Args:
        analog: the sampled channels.
        cylinders: the valves and pressures; None for none.
        range_V: converters' full scale, either sign [V].
        max_rate_hz: reported limit of the converters; they support no rate but that of `analog`.
        filter_delay_s: of the converters' filters, as reported [s]; not in the samples' times.
        pressure_VpkPa: sensitivity of pressure sensors, and of regulators [V/kPa].
        delivered: called with the due time of requested samples and the time of their delivery.
        host: whose clock is used.
        loads: the slow load channels, converted with loads_range_V [V]; None for none.

    Attributes:
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
        cylinders: Cylinders | None = None,
        *,
        range_V: float = 5.0,
        max_rate_hz: float = 51_200.0,
        filter_delay_s: float = 0.0,
        pressure_VpkPa: float = 0.01,
        delivered: TakesTimes = lambda _due_ns, _done_ns: None,
        host: Host = COMPUTER,
        loads: Analog | None = None,
        loads_range_V: float = 10.0,
    ) -> None:
        self._loads, self._range_V = loads, {f"{CHASSIS}Mod1": range_V, LOADS_MODULE: loads_range_V}
        self.analog, self.max_rate_hz, self.filter_delay_s = analog, max_rate_hz, filter_delay_s
        self._cylinders, self._pressure_VpkPa, self._host, self._delivered = cylinders, pressure_VpkPa, host, delivered
        valves, regulators = (cylinders.valves, cylinders.regulators) if cylinders else (0, 0)
        self.modules = modules(analog.channels, valves, regulators, loads.channels if loads else 0)
        self.e_stop, self.sensors = False, Sensors()
        self.lines = dict.fromkeys(self.modules[f"{CHASSIS}Mod2"].do, False)
        self.outputs = dict.fromkeys(self.modules[f"{CHASSIS}Mod3"].ao, 0.0)
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
        """Advance to now_ns: the watchdog may expire."""
        with self._lock:
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

    def add(
        self, task: Task, kind: TaskKind, channels: list[VirtualChannel], full: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        """Add channels to a task; `full` are the limits asked for, in the channels' unit. Raises DaqmxError."""
        for channel in channels:
            self._known(channel.physical, kind)
            if any(channel.physical == other.physical for other in task.channels):
                raise DaqmxError(-200489, f"Specified channel cannot be added to the task. Channel: {channel.physical}")
            if task.kind not in ("", kind):
                raise DaqmxError(-200559, "Task cannot contain a channel of the specified type.")
            reach = self._range_V.get(channel.physical.partition("/")[0], math.inf) * channel.per_volt * (1 + 1e-9)
            if kind == "ai" and max(map(abs, full)) > reach:
                raise unsupported("DAQmx_AI_Max", full[1], reach)
            task.kind = kind
            task.channels = [*task.channels, channel]

    def time(self, task: Task, rate_hz: float, samples: int, *, continuous: bool) -> None:
        """Set the sample clock of a task. Raises DaqmxError."""
        if not 0 < rate_hz <= self.max_rate_hz:
            raise unsupported("DAQmx_SampClk_Rate", rate_hz, self.max_rate_hz)
        task.buffer, task.continuous = samples, continuous

    def start(self, task: Task) -> None:
        """Reserve what the task needs and run it. Raises DaqmxError."""
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
            task.running = True
            task.first = self.sampled(task).taken()
            task.position = 0

    def stop(self, task: Task) -> None:
        """Stop a task."""
        with self._lock:
            task.running = False
            if task.kind == "watchdog" and self.watchdog is not None:
                self._rest(self.watchdog)

    def available(self, task: Task) -> int:
        """Number of unread samples."""
        return self.sampled(task).taken() - task.first - task.position if task.running else 0

    def sampled(self, task: Task) -> Analog:
        """The sampled channels whose clock a task uses."""
        return self._loads if task.module == LOADS_MODULE and self._loads is not None else self.analog

    def read(self, task: Task, count: int, timeout_s: float) -> npt.NDArray[np.float64]:
        """The next samples of all channels in their units, (channels, count); waits for them. Raises DaqmxError."""
        self.start(task)
        if not task.continuous:
            return self._now(task)
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
            for one in task.channels:
                if one.bridge:
                    gain = self.sensors.wires.get(one.physical, 1.0) * task.gains.get(one.name, 1.0)
                    volts[:, int(one.physical.rpartition("/ai")[2])] *= gain
            for channel, (sample, added) in self._steps.items() if analog is self.analog else ():
                volts[max(sample - begin, 0) :, channel] += added
        values, overloaded = converted(volts, task.channels, self._range_V[task.module])
        self._overloaded |= overloaded
        return values

    def overload_exists(self, task: Task) -> bool:
        """Whether a channel of a task was at full scale since the last query; `overloaded` lists which."""
        with self._lock:
            self.overloaded = sorted(self._overloaded.intersection(channel.name for channel in task.channels))
            self._overloaded.difference_update(self.overloaded)
        return bool(self.overloaded)

    def write(self, task: Task, values: list[float]) -> None:
        """Set the lines or outputs of a task. Raises DaqmxError."""
        self.wake(self._host.now_ns())
        with self._lock:
            if self.watchdog is not None and self.watchdog.expired:
                raise DaqmxError(-200678, "Write failed, because the watchdog timer has expired.")
            self.start(task)
            for channel, value in zip(task.channels, values, strict=True):
                self._set(channel.physical, value)

    def read_lines(self, task: Task) -> list[bool]:
        """States of the lines of a task; the E-stop's is the first of its module."""
        self.start(task)
        stop = self.modules[f"{CHASSIS}Mod4"].di[0]
        return [channel.physical == stop and not self.e_stop for channel in task.channels]

    def watch(self, task: Task, device: str, timeout_s: float) -> None:
        """Make a task that of the watchdog. Raises DaqmxError."""
        if device not in self.modules:
            raise DaqmxError(-200220, f"Device identifier is invalid. Device Specified: {device}")
        expired = self.watchdog is not None and self.watchdog.expired
        task.kind, self.watchdog = "watchdog", watchdog_of(device, timeout_s, expired=expired)

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

    def _now(self, task: Task) -> npt.NDArray[np.float64]:
        """One sample on demand: the pressures."""
        assert self._cylinders is not None  # otherwise the channel does not exist
        valves = [int(channel.physical.rpartition("/ai")[2]) for channel in task.channels]
        return np.array([[self._cylinders.pressure_Pa(valve) * 1e-3 * self._pressure_VpkPa] for valve in valves])

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
