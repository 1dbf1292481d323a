"""What one device switches: valves, and cameras' trigger lines; with the pressure regulators, by name and in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, compress
from typing import TypeVar

import msgspec

from drivers.messages import CAMERA_TRIGGER, ValveCommand, ValveSet

T = TypeVar("T")
# The two chambers of each cylinder, in this order.
WAYS = ("extend", "retract")


class ValveLayout(msgspec.Struct, frozen=True, dict=True):
    """The cylinders' valves, the regulators of their supply, and what else their device switches.

    Attributes:
        cylinders: names, in the order of a `ValveSet`.
        ways: that have a valve; the chamber of another way is open to atmosphere.
        regulators: names of the pressure regulators that are moved during a run.
        trigger: a camera's trigger line is switched, too.
        triggers: names of the trigger lines that have one.

    Example:
        >>> valves = ValveLayout(cylinders=("left", "right"), ways=("extend",))
        >>> valves.valves, valves.valves_off
        (('left_extend', 'right_extend'), ((False, False), (False, False)))
        >>> triggering = ValveLayout(cylinders=("left",), ways=("extend",), trigger=True)
        >>> triggering.outputs, triggering.switched(ValveCommand(0, ((True, False),), trigger=True))
        (('left_extend', 'camera_trigger'), (True, True))
        >>> ValveLayout(cylinders=(), triggers=("overview", "close_up")).outputs
        ('camera_triggers.overview', 'camera_triggers.close_up')
    """

    cylinders: tuple[str, ...] = ("left", "right")
    ways: tuple[str, ...] = WAYS
    regulators: tuple[str, ...] = ()
    trigger: bool = False
    triggers: tuple[str, ...] = ()

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of all that is switched: the valves, then the trigger lines."""
        return self.valves + self.trigger_lines

    @cached_property
    def trigger_lines(self) -> tuple[str, ...]:
        """Names of the trigger lines among the outputs, which are their keys in a section of `devices.valves`."""
        return (CAMERA_TRIGGER,) * self.trigger + tuple(f"{CAMERA_TRIGGER}s.{name}" for name in self.triggers)

    @cached_property
    def triggers_off(self) -> tuple[bool, ...]:
        """No trigger line with a name on."""
        return (False,) * len(self.triggers)

    def switched(self, command: ValveCommand) -> tuple[bool, ...]:
        """(outputs,) which a command has on."""
        lines = (command.trigger,) * self.trigger + (command.triggers or self.triggers_off)
        return self.by_valve(command.powered) + lines

    @cached_property
    def valves(self) -> tuple[str, ...]:
        """Names of all valves; those of a cylinder are adjacent."""
        return tuple(f"{cylinder}_{way}" for cylinder in self.cylinders for way in self.ways)

    @cached_property
    def valves_off(self) -> ValveSet:
        """No valve powered."""
        return tuple((False, False) for _ in self.cylinders)

    @cached_property
    def regulators_closed(self) -> tuple[float, ...]:
        """(regulators,) no pressure [Pa]."""
        return (0.0,) * len(self.regulators)

    @cached_property
    def _has_valve(self) -> tuple[bool, ...]:
        return tuple(way in self.ways for _ in self.cylinders for way in WAYS)

    def by_valve(self, pairs: Sequence[tuple[T, T]]) -> tuple[T, ...]:
        """Of (extend, retract) pairs by cylinder, the values of the chambers with a valve, in the order of `valves`."""
        return tuple(compress(chain.from_iterable(pairs), self._has_valve))

    def by_cylinder(self, values: Sequence[T], without: T) -> tuple[tuple[T, T], ...]:
        """Pairs (extend, retract) by cylinder, from a value for each valve.

        Args:
            values: in the order of `valves`.
            without: value of a chamber that has no valve.
        """
        left = iter(values)
        every = [next(left) if has else without for has in self._has_valve]
        return tuple(zip(every[::2], every[1::2], strict=True))

    def pressures(self, command: ValveCommand) -> tuple[float, ...]:
        """(regulators,) commanded gauge pressures [Pa]; a command without any closes all."""
        return command.regulators_Pa or self.regulators_closed

    def is_safe(self, command: ValveCommand) -> bool:
        """Returns whether it switches nothing on and closes every regulator."""
        lit = command.trigger or any(command.triggers)
        return command.powered == self.valves_off and not lit and not any(command.regulators_Pa)
