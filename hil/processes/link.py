"""One hardware link in its own process, whatever its device is: `hil.app.driver_factory` opens it."""

from __future__ import annotations

import gc
import math
from contextlib import suppress

import numpy as np

from drivers.host import COMPUTER, SLICE_S, Host
from drivers.interfaces import DamagedError, DeviceError, Health, LinkLostError, PolledDevice, SamplesLostError
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import NO_FAULT, START, fault_message
from hil.messages.fault import HEALTH_EVERY_NS, Fault
from hil.messages.layout import INSTRUMENTS
from hil.messages.link_messages import health_row, reported
from hil.processes.lifecycle import Reporter
from hil.processes.link_bridge import LinkBridge

# A device that has not confirmed its stop by then is left to its time-out [ns]: further requests would prevent the
# time-outs of the other controllers on its line.
GIVE_UP_NS = 1_000_000_000
# Pause between two tries to reopen a lost device [s]: it grows from the first value to the second.
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
# Opening a device may take so long without a heartbeat [ns].
LEAVE_NS = 5_000_000_000
# Number of steps to wait for the confirmation of the stop when the worker ends.
STEPS_TO_STOP = 50


class LinkWorker:
    """Polls one device, passes its samples and commands on, and keeps stopping it whatever happens.

    After a failure the worker reports once to the loop why it has to go Safe. It reopens the device with growing
    pauses, to stop it; the device gets no more commands in this run. Polling ends once the device has confirmed its
    stop, or has not confirmed it for GIVE_UP_NS. An emergency stop is reported in addition to that, not in its place.

    An instrument of motion has nothing to stop. After a failure it is opened again, with growing pauses, to go on
    measuring in the same run; then the report is withdrawn.

    Between two runs the worker keeps the device stopped (decision 0023): it continues polling, is watched by the
    watchdog, and accepts no commands. There it withdraws the report of a failure once the cause is gone.

    Args:
        lifecycle: tells when to end, and reports once the device is held.
    """

    def __init__(
        self,
        name: str,
        shared: RunMemory,
        device: PolledDevice,
        bridge: LinkBridge,
        lifecycle: Reporter,
        host: Host = COMPUTER,
    ) -> None:
        bridge.start_ns, self._host = None, host
        self._name, self._shared, self._device, self._bridge, self._lifecycle = name, shared, device, bridge, lifecycle
        self._start = np.zeros(1, START)
        self._reported: set[Fault] = set()
        self._seen = self._due_ns = 0
        self._watched = self._lost = False
        self._goes_on = name in INSTRUMENTS  # it only measures: after a failure it is used again
        self._opened_ns = 0
        self._held: bool | None = None  # None: in a run, or before the first; False: the stop is not confirmed yet
        self._pause_s, self._again_ns = FIRST_PAUSE_S, 0

    def run(self) -> None:
        """Serve until this process is asked to end, then stop the device."""
        while not self._lifecycle.ending:
            self.round(self._host.now_ns())
        self._bridge.stop(self._host.now_ns())
        for _ in range(STEPS_TO_STOP):
            if self._bridge.stopped or self._lost:
                break
            self.round(self._host.now_ns())

    def round(self, now_ns: int) -> None:
        """Apply commands, poll the device, publish samples."""
        bridge = self._bridge
        if (version := self._shared.start.read(self._start)) > self._seen:
            self._seen = version
            self._begin_or_hold(now_ns)
        if self._watched:  # before the first run nothing moves, and workers may start slowly
            self._shared.heartbeat.beat(self._name, now_ns)
        bridge.apply_commands(now_ns, now_ns)
        if self._lost:
            self._take_hold(now_ns)
        elif self._held is None and (bridge.stopped or bridge.stopping_ns(now_ns) > GIVE_UP_NS):
            # if polled further, the device would not notice that its host has failed
            self._host.rest(SLICE_S)
        else:
            try:
                self._device.step()
            except DeviceError as error:
                self._lose(error, now_ns)
        bridge.publish_samples(now_ns)
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + HEALTH_EVERY_NS
            self._report(self._device.health(), now_ns)
        if self._held is not None:
            self._hold_on(now_ns)

    def take_commands(self) -> None:
        """Pass the newest command on to the device, which rests or awaits an answer."""
        now_ns = self._host.now_ns()
        self._bridge.apply_commands(now_ns, now_ns)

    def _begin_or_hold(self, now_ns: int) -> None:
        """Called when a run begins or is over."""
        if not self._start["over"][0]:
            self._watched, self._held = True, None
            self._bridge.begin(int(self._start["start_ns"][0]))
            if self._lost and not self._goes_on:
                self._bridge.stop(now_ns)
        elif self._held is None:
            self._held = False
            self._bridge.hold(now_ns)

    def _hold_on(self, now_ns: int) -> None:
        """Between two runs: report once that the stop is confirmed; a device that does not confirm it is lost."""
        if not self._lost and not self._bridge.stopped and self._bridge.stopping_ns(now_ns) > GIVE_UP_NS:
            silent_ms = GIVE_UP_NS * 1e-6
            self._lose(LinkLostError(f"{self._name}: the stop is not confirmed within {silent_ms:g} ms"), now_ns)
        if not self._held and (self._lost or self._bridge.stopped):
            self._held = True
            self._lifecycle.report(held=self._seen)
        if self._bridge.stopped and not self._lost:
            self._withdraw(Fault.LINK_LOST)

    def _lose(self, error: DeviceError, now_ns: int) -> None:
        self._report_fault(fault_of(error), str(error))
        self._lost, self._again_ns = True, now_ns
        if self._goes_on:
            if now_ns - self._opened_ns > LONGEST_PAUSE_S * 1e9:  # it has worked for a while
                self._pause_s = FIRST_PAUSE_S
            self._wait_to_open(now_ns)
            return
        self._bridge.stop(now_ns)
        with suppress(DeviceError):  # one controller is lost, but the others on the line may still receive a stop
            self._device.step()

    def _take_hold(self, now_ns: int) -> None:
        """Try to open the device again when its pause is over."""
        if now_ns < self._again_ns:
            self._host.rest(SLICE_S)
            return
        if self._watched:
            self._shared.heartbeat.beat(self._name, now_ns + LEAVE_NS)
        try:
            self._device.close()
            # A lost connection may be held by reference cycles (nidaqmx: 6400 objects, 0.7 MB), and in a worker no
            # automatic collection removes them. It takes some 4 ms, which no device waits for now.
            if not gc.isenabled():
                gc.collect()
            self._device.open()
        except DeviceError:
            self._wait_to_open(self._host.now_ns())
            return
        self._lost = False
        if self._goes_on:
            self._opened_ns = now_ns
            self._withdraw(Fault.LINK_LOST)
        else:
            self._pause_s = FIRST_PAUSE_S
            self._bridge.stop(now_ns)

    def _wait_to_open(self, now_ns: int) -> None:
        """Begin the pause before the device is opened again; the next one is longer."""
        self._again_ns = now_ns + round(self._pause_s * 1e9)
        self._pause_s = min(2.0 * self._pause_s, LONGEST_PAUSE_S)

    def _report(self, health: Health, now_ns: int) -> None:
        if health.e_stop:
            self._report_fault(Fault.STOP_BY_OPERATOR, f"{health.device}: the emergency stop is pressed")
        elif not self._lost:  # nothing is known of a device that does not answer
            self._withdraw(Fault.STOP_BY_OPERATOR)
        if wrong := next((report for report in health.reports if report.safe), None):
            self._report_fault(Fault.DEVICE_FAULT, reported(health, wrong))
        elif not self._lost:
            self._withdraw(Fault.DEVICE_FAULT)
        self._shared.healths[self._name].write(health_row(health, now_ns))  # last: what is latched is seen before

    def _report_fault(self, fault: Fault, detail: str) -> None:
        """Only the first failure of a link is reported: later ones are its consequences."""
        boxes = self._shared.fault_mailboxes[self._name]
        cause = fault if fault in boxes else Fault.LINK_LOST
        if cause not in self._reported:
            self._reported.add(cause)
            boxes[cause].write(fault_message(fault, detail, math.nan, math.nan))

    def _withdraw(self, cause: Fault) -> None:
        """Withdraw a report, if its cause has been reported and is gone: a fault that is cleared now stays cleared."""
        if cause in self._reported:
            self._reported.remove(cause)
            self._shared.fault_mailboxes[self._name][cause].write(fault_message(NO_FAULT, ""))


def fault_of(error: DeviceError) -> Fault:
    """The row of the fault table that an error of a device belongs to."""
    kinds = {LinkLostError: Fault.LINK_LOST, DamagedError: Fault.FRAMES_DAMAGED, SamplesLostError: Fault.SAMPLES_LOST}
    return kinds.get(type(error), Fault.LINK_LOST)
