"""What motor controllers of several makers have in common: driver types, commands, and measurements of their power."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec
from typing_extensions import override

from drivers.checks import load_problems, timeout_problems
from drivers.device_sections import DeviceSection
from drivers.driver_type import MotorsType, RigSetup
from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand, DriveSample, JointCommand, JointSample, PowerSample
from drivers.section import Problem

S = TypeVar("S", bound=DeviceSection)
T = TypeVar("T")
Command = TypeVar("Command", DriveCommand, JointCommand)
Sample = TypeVar("Sample", DriveSample, JointSample)
# A wheel or joint slower than this counts as standing still [rad/s].
STANDING_RADPS = 0.05


def for_each(things: Iterable[T], action: Callable[[T], None]) -> None:
    """Act on one after the other; an error at one does not prevent the others. Raises DeviceError that names all."""
    troubles: list[DeviceError] = []
    for thing in things:
        try:
            action(thing)
        except DeviceError as error:
            troubles.append(error)
    raise_all(troubles)


def raise_all(troubles: Sequence[DeviceError]) -> None:
    """Raise one error, if there are any: of the kind of the first, with the words of all."""
    if troubles:
        raise type(troubles[0])("; ".join(dict.fromkeys(map(str, troubles)))) from troubles[0]


def rate_hz(taken_ns: Sequence[int]) -> float:
    """Rate of samples by when they were taken [ns], oldest first; NaN: fewer than two."""
    spans = len(taken_ns) - 1
    return spans * 1e9 / max(taken_ns[-1] - taken_ns[0], 1) if spans > 0 else math.nan


class CutFirstMotors(ABC, Generic[Command, Sample]):
    """Motors that run only after a cut and then a running command; writing and reading touch memory only."""

    def __init__(self) -> None:
        self._sample: Sample | None = None
        self._command: Command | None = None
        self._cut_received = False

    @abstractmethod
    def _check_command(self, command: Command) -> None:
        """Raises DeviceError: see `write`."""

    @abstractmethod
    def _act(self) -> None:
        """Make a step. Raises DeviceError."""

    def _disarm(self) -> None:
        """Stop, and ignore running commands until a cut is commanded."""
        self._cut_received, self._command = False, None

    def write(self, command: Command) -> None:
        """Accept a command; a running one only after a cut.

        Raises:
            DeviceError: something beyond the controllers' range, or not what the controllers are set up for.
        """
        if not command.cut:
            if not self._cut_received:
                return
            self._check_command(command)
        self._cut_received = True
        self._command = command

    def read(self, t_ns: int) -> Sample | None:  # noqa: ARG002
        """The newest sample, once."""
        sample, self._sample = self._sample, None
        return sample

    def step(self) -> None:
        """Do what is most urgent; a stop comes before all others.

        Raises:
            DeviceError: from then on the motors are to be stopped until a new command.
        """
        try:
            self._act()
        except DeviceError:
            self._disarm()
            raise


class MotorControllersType(MotorsType[S]):
    """Wheel drives or servos on dual controllers, which stop by themselves without a command.

    Attributes:
        motor_layout: module and class of their motors by index, like `package.module:Class`.
        timeout_key: key of the time after which a controller stops by itself [ms].
        line_keys: keys that the load of a line depends on, below the device.
        endpoint: name of a line in a simulated rig.
    """

    motor_layout: ClassVar[str]
    timeout_key: ClassVar[str]
    line_keys: ClassVar[tuple[str, ...]]
    endpoint: ClassVar[str]

    def motors(self, section: S, rig: RigSetup) -> Any:
        """The wheels or joints that are connected: an instance of `motor_layout`."""
        return resolve_name(self.motor_layout)(section, rig)

    @override
    def busy(self, section: S, rig: RigSetup) -> float:
        return float(self.motors(section, rig).budget)

    @override
    def timeout(self, section: S) -> tuple[str, float]:
        return self.timeout_key, getattr(section, self.timeout_key)

    @override
    def stop_times_s(self, section: S, rig: RigSetup) -> tuple[float, float]:
        motors = self.motors(section, rig)
        return motors.in_flight_s, motors.cut_s

    def supplies(self, section: S) -> tuple[str, ...]:
        """Returns the name of each controller's supply voltage."""
        return tuple(f"controller_{number}" for number, _ in enumerate(section.controllers, start=1))  # type: ignore[attr-defined]

    def load_problems(self, section: Any, rig: RigSetup) -> Iterator[Problem]:
        """Lines that are too busy, and set-points that come too seldom."""
        depends_on = tuple(f"devices.{self.role}.{key}" for key in self.line_keys)
        yield from load_problems(self.role, section.baud, self.line_loads(section, rig), depends_on)
        yield from timeout_problems(*self.timeout(section), section.rate_hz, self.role)


class ControllerPower(NamedTuple):
    """Newest readings of one controller.

    Attributes:
        t_ns: when the oldest was taken [ns]; -1 before all have been.
        readings: by field of `PowerSample`: of its motors by wheel, or one number of the controller.
    """

    t_ns: int
    readings: Mapping[str, float | Mapping[int, float]]


def power_sample(controllers: Iterable[ControllerPower]) -> PowerSample:
    """The readings of all controllers, which are of one kind and together have every wheel."""
    each = tuple(controllers)
    fields: dict[str, Any] = {}
    for field in each[0].readings:
        values = [state.readings[field] for state in each]
        by_wheel = {wheel: value for item in values if isinstance(item, Mapping) for wheel, value in item.items()}
        fields[field] = tuple(by_wheel[wheel] for wheel in sorted(by_wheel)) if by_wheel else tuple(values)
    unread = PowerSample.unread(len(fields["current_A"]), len(each))
    return msgspec.structs.replace(unread, t_ns=min(state.t_ns for state in each), **fields)
