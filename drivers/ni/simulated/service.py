"""The calls of the nidaqmx package to a device server, carried out on a simulated chassis.

All use of nidaqmx's private stubs is in this file. Errors travel as NI's server sends them: the code in the trailing
metadata of a failed call, but for a read that timed out, whose answer carries it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from enum import Enum
from typing import Any

import grpc
import msgspec
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from nidaqmx._stubs import nidaqmx_pb2 as stubs
from nidaqmx.constants import (
    AcquisitionType,
    AngleUnits,
    BridgeUnits,
    ChargeUnits,
    EncoderType,
    ForceIEPESensorSensitivityUnits,
    ForceUnits,
    LengthUnits,
    Level,
    LineGrouping,
    TaskMode,
    UsageTypeAI,
    VoltageUnits,
)
from nidaqmx.utils import unflatten_channel_string

from drivers.host import COMPUTER, Host
from drivers.ni.section import EDGES
from drivers.ni.simulated.attributes import ATTRIBUTES, transfers, value_of
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.parts import (
    VOLTAGE,
    DaqmxError,
    Module,
    ServerFault,
    Task,
    TaskKind,
    attribute_text,
    digital_channels,
    named_channels,
    per_volt,
    unsupported,
)
from drivers.rpc.channel import CallError
from drivers.rpc.server import Handler

SERVICE = stubs.DESCRIPTOR.services_by_name["NiDAQmx"]
VERSION = {0x1272: 25, 0x1923: 3, 0x2F22: 0}
_NEW, _ATTACH = 1, 2  # how a session may be initialized; 0: either way

Fields = dict[str, Any]


class NiService:
    """The calls of a device server; the transport belongs to its subclasses.

    Args:
        chassis: the chassis that it serves.
        host: whose clock is used.
    """

    def __init__(self, chassis: Chassis, host: Host = COMPUTER) -> None:
        self.chassis, self.host = chassis, host
        self._sessions: dict[str, Task] = {}
        self._lock = threading.Lock()
        self._address = ""
        self._faults: list[ServerFault] = []
        self._dead = True

    def listen(self, host: str, port: int) -> int:
        """Accept calls from now on; the port, chosen if 0. Raises RuntimeError: it is in use."""
        raise NotImplementedError

    def disconnect(self) -> None:
        """Accept no more calls, until `listen`."""
        raise NotImplementedError

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Start serving; the port, chosen if 0. Raises RuntimeError: it is in use."""
        self.chassis.goes_on, self._dead = True, False
        bound = self.listen(host, port)
        self._address = f"{host}:{bound}"
        return bound

    def stop(self) -> None:
        """Stop serving; may be called twice."""
        self.switch_off()

    def inject_fault(self, how: ServerFault) -> None:
        """Start a fault: from now on, or for the next `count` reads."""
        if how.kind == "off":
            self.switch_off()
        elif how.kind.startswith("cable"):
            self.chassis.counters.cable = how.kind
        elif how.kind == "reconnect":
            if self._dead:
                host, _, port = self._address.rpartition(":")
                self.serve(host, int(port))
        else:
            with self._lock:
                self._faults.append(how)

    def clear_faults(self) -> None:
        """End the faults of reads."""
        with self._lock:
            self._faults.clear()

    def switch_off(self) -> None:
        """Stop serving and drop all tasks."""
        self._dead = True
        self.chassis.goes_on = False
        self.disconnect()
        with self._lock:
            self._sessions.clear()
        self.chassis.reset()

    def handlers(self) -> dict[str, Handler]:
        """Returns what each method does, by its name."""
        return {name: self._handler(SERVICE.methods_by_name[name], call) for name, call in self._calls().items()}

    def _handler(self, method: Any, call: Callable[[Any], Fields]) -> Handler:
        """Returns what one method does, from a function of its request that returns the fields of its answer."""
        asked, answered = GetMessageClass(method.input_type), GetMessageClass(method.output_type)

        def handle(request: bytes) -> bytes:
            try:
                answer: bytes = answered(**call(asked.FromString(request))).SerializeToString()
            except DecodeError as error:
                raise CallError(grpc.StatusCode.INTERNAL, f"the request cannot be read: {error}") from None
            except DaqmxError as error:
                trailing = [("ni-error", str(error.code))]
                if error.samples_read is not None:
                    trailing.append(("ni-samps-per-chan-read", str(error.samples_read)))
                raise CallError(grpc.StatusCode.UNKNOWN, str(error), trailing) from None
            return answer

        return handle

    def _calls(self) -> dict[str, Callable[[Any], Fields]]:
        chassis = self.chassis

        def done(call: Callable[[Any], object]) -> Callable[[Any], Fields]:
            def fields(request: Any) -> Fields:
                call(request)
                return {}

            return fields

        def valued(call: Callable[[Any], object]) -> Callable[[Any], Fields]:
            return lambda request: {"value": call(request)}

        def of_device(call: Callable[[Module], object]) -> Callable[[Any], Fields]:
            return valued(lambda request: call(self._module(request.device_name)))

        task = self._task
        return {
            "CreateTask": lambda r: self._session(r.session_name, r.initialization_behavior),
            "CreateWatchdogTimerTaskEx": self._create_watchdog,
            "StartTask": done(lambda r: chassis.start(task(r))),
            "StopTask": done(lambda r: chassis.stop(task(r))),
            "ClearTask": done(self._clear),
            "CreateAIForceIEPEChan": done(self._add_force),
            "CreateAIVoltageChan": done(lambda r: self._add_ai(r, 1.0, VoltageUnits.VOLTS, UsageTypeAI.VOLTAGE)),
            "CreateAIChargeChan": done(lambda r: self._add_ai(r, 1e-9, ChargeUnits.COULOMBS, UsageTypeAI.CHARGE)),
            "CreateAIBridgeChan": done(
                lambda r: self._add_ai(r, per_volt(r.voltage_excit_val), BridgeUnits.VOLTS_PER_VOLT, UsageTypeAI.BRIDGE)
            ),
            "CreateCILinEncoderChan": done(lambda r: self._add_counter(r, r.dist_per_pulse, r.initial_pos)),
            "CreateCIAngEncoderChan": done(
                lambda r: self._add_counter(r, math.tau / max(r.pulses_per_rev, 1), r.initial_angle)
            ),
            "CreateDOChan": done(lambda r: self._add_lines(r, "do")),
            "CreateDIChan": done(lambda r: self._add_lines(r, "di")),
            "CreateAOVoltageChan": done(self._add_ao),
            "CfgSampClkTiming": done(
                lambda r: chassis.time(
                    task(r), r.rate, r.samps_per_chan, continuous=r.sample_mode_raw == AcquisitionType.CONTINUOUS.value
                )
            ),
            "IsTaskDone": lambda r: {"is_task_done": chassis.is_done(task(r))},
            "WaitUntilTaskDone": done(lambda r: chassis.wait_until_done(task(r), r.time_to_wait)),
            "TaskControl": done(self._control),
            "SetBufferAttributeUInt32": done(lambda r: setattr(task(r), "buffer", r.value)),
            "SetTimingAttributeDouble": done(lambda r: self._set_timing(r, rate_hz=r.value)),
            "SetTimingAttributeUInt64": done(lambda r: self._set_timing(r, buffer=r.value)),
            **transfers(self.chassis, self.host, task, self.misbehaviour),
            "CfgWatchdogDOExpirStates": done(self._expire_lines),
            "CfgWatchdogAOExpirStates": done(self._expire_outputs),
            "ControlWatchdogTask": done(lambda r: chassis.clear_expiration() if r.action_raw else chassis.feed()),
            **{call: self._attribute(call) for call in ATTRIBUTES},
            "PerformBridgeShuntCalEx": done(lambda r: chassis.sensors.perform_shunt(task(r), r)),
            **chassis.sensors.calls(),
            "SetChanAttributeInt32": done(task),
            "GetWatchdogAttributeBool": valued(lambda _: chassis.watchdog is not None and chassis.watchdog.expired),
            "GetSystemInfoAttributeUInt32": valued(lambda r: VERSION.get(r.attribute_raw, 0)),
            "GetSystemInfoAttributeString": valued(lambda _: ", ".join(chassis.modules)),
            "GetDeviceAttributeUInt32": of_device(lambda module: module.serial),
            "GetDeviceAttributeBool": of_device(lambda _: True),
            "GetDeviceAttributeString": valued(lambda r: attribute_text(self._module(r.device_name), r.attribute_raw)),
            "GetErrorString": lambda r: {"error_string": f"NI-DAQmx error {r.error_code}"},
        }

    def _attribute(self, call: str) -> Callable[[Any], Fields]:
        """Returns what a call that reads an attribute does. A number is of the type of the answer."""
        field = GetMessageClass(SERVICE.methods_by_name[call].output_type).DESCRIPTOR.fields_by_name
        key = "value_raw" if "value_raw" in field else "value"

        def fields(request: Any) -> Fields:
            named = getattr(request, "channel", "")
            return {key: value_of(call, request.attribute_raw, self.chassis, self._task(request), named)}

        return fields

    def _task(self, request: Any) -> Task:
        try:
            return self._sessions[request.task.name]
        except KeyError:
            raise DaqmxError(-200088, "Task specified is invalid or does not exist.") from None

    def _session(self, name: str, behaviour: int) -> Fields:
        with self._lock:
            name = name or f"_unnamedTask<{len(self._sessions)}>"
            there = name in self._sessions
            if there and behaviour == _NEW:
                raise CallError(grpc.StatusCode.ALREADY_EXISTS, f"Session {name} exists already.")
            if not there and behaviour == _ATTACH:
                raise CallError(grpc.StatusCode.FAILED_PRECONDITION, f"Session {name} does not exist.")
            if not there:
                self._sessions[name] = self.chassis.new_task(name)
        return {"task": {"name": name}, "new_session_initialized": not there}

    def _create_watchdog(self, request: Any) -> Fields:
        answer = self._session(request.session_name, request.initialization_behavior)
        if answer["new_session_initialized"]:
            name = answer["task"]["name"]
            try:
                self.chassis.watch(self._sessions[name], request.device_name, request.timeout)
            except DaqmxError:
                self.chassis.clear(self._sessions.pop(name))
                raise
        return answer

    def _clear(self, request: Any) -> None:
        self.chassis.clear(self._task(request))
        with self._lock:
            self._sessions.pop(request.task.name, None)

    def _add_force(self, request: Any) -> None:
        if request.sensitivity_units_raw != ForceIEPESensorSensitivityUnits.MILLIVOLTS_PER_NEWTON.value:
            raise unsupported("DAQmx_AI_Force_IEPESensor_SensitivityUnits", request.sensitivity_units_raw)
        sensitivity = per_volt(request.sensitivity * 1e-3)
        self._add_ai(request, sensitivity, ForceUnits.NEWTONS, UsageTypeAI.FORCE_IEPE_SENSOR)

    def _add_ai(self, request: Any, units_per_volt: float, units: Enum, measures: UsageTypeAI) -> None:
        if request.units_raw != units.value:  # the only simulated ones
            raise unsupported("DAQmx_AI units", request.units_raw)
        physical, name, limits = request.physical_channel, request.name_to_assign_to_channel, _limits(request)
        channels = named_channels(physical, name, units_per_volt, measures.value, limits)
        self.chassis.add(self._task(request), "ai", channels)

    def _add_ao(self, request: Any) -> None:
        physical, name = request.physical_channel, request.name_to_assign_to_channel
        channels = named_channels(physical, name, 1.0, VOLTAGE, _limits(request))
        self.chassis.add(self._task(request), "ao", channels)

    def _add_counter(self, request: Any, per_pulse: float, initial: float) -> None:
        if request.units_raw not in (LengthUnits.METERS.value, AngleUnits.RADIANS.value) or request.zidx_enable:
            raise unsupported("DAQmx_CI units, or an index", request.units_raw)
        per_count = per_pulse / EDGES[f"x{EncoderType(request.decoding_type_raw).name[-1]}"]
        name, limits = request.name_to_assign_to_channel, (initial, initial)
        self.chassis.add(self._task(request), "ci", named_channels(request.counter, name, per_count, 0, limits))

    def _add_lines(self, request: Any, kind: TaskKind) -> None:
        together = request.line_grouping_raw == LineGrouping.CHAN_FOR_ALL_LINES.value
        channels = digital_channels(request.lines, request.name_to_assign_to_lines, together=together)
        self.chassis.add(self._task(request), kind, channels)

    def _control(self, request: Any) -> None:
        """Verify, reserve and commit need nothing here; start and stop as their own calls."""
        action, task = TaskMode(request.action_raw), self._task(request)
        if action is TaskMode.TASK_START:
            self.chassis.start(task)
        elif action in (TaskMode.TASK_STOP, TaskMode.TASK_ABORT, TaskMode.TASK_UNRESERVE):
            self.chassis.stop(task)

    def _set_timing(self, request: Any, **changes: float) -> None:
        """Set the rate of a task's clock, or its samples."""
        for name, value in changes.items():
            wanted = {"rate_hz": 0x1344, "buffer": 0x1310}[name]
            if request.attribute_raw != wanted:
                raise DaqmxError(-200197, f"Attribute 0x{request.attribute_raw:X} is not supported.")
            setattr(self._task(request), name, value)

    def misbehaviour(self) -> ServerFault | None:
        """The fault of the next read."""
        with self._lock:
            if not self._faults:
                return None
            how = self._faults[0]
            self._faults[:1] = [msgspec.structs.replace(how, count=how.count - 1)] if how.count > 1 else []
            return how

    def _expire_lines(self, request: Any) -> None:
        names = unflatten_channel_string(request.channel_names)
        high = [float(state == Level.HIGH.value) for state in request.expir_state_array]
        self.chassis.expire_to(dict(zip(names, high, strict=True)))

    def _expire_outputs(self, request: Any) -> None:
        names = unflatten_channel_string(request.channel_names)
        self.chassis.expire_to(dict(zip(names, request.expir_state_array, strict=True)))

    def _module(self, device: str) -> Module:
        if device not in self.chassis.modules:
            raise DaqmxError(-200220, f"Device identifier is invalid. Device Specified: {device}")
        return self.chassis.modules[device]


def _limits(request: Any) -> tuple[float, float]:
    return request.min_val, request.max_val
