"""The state machine of a drive: its states by the statusword, and the controlwords that lead from one to another.

Source: CiA 402-2 V4.0, power drive system finite state automaton; tables of states, commands and statuswords.
"""

from __future__ import annotations

from enum import IntEnum


class Cia402State(IntEnum):
    """The states, numbered as they are reached; UNKNOWN: the bits are those of none, so it may run."""

    NOT_READY = 1
    SWITCH_ON_DISABLED = 2
    READY = 3
    SWITCHED_ON = 4
    ENABLED = 5
    QUICK_STOP = 6
    FAULT_REACTION = 7
    FAULT = 8
    UNKNOWN = 9

    @property
    def off(self) -> bool:
        """Its power stage is off."""
        return self in _OFF

    @property
    def statusword(self) -> int:
        """The bits of the statusword that show it."""
        return next(value for (_, value), state in _BY_BITS.items() if state is self)


_OFF = (Cia402State.NOT_READY, Cia402State.SWITCH_ON_DISABLED, Cia402State.READY, Cia402State.FAULT)
# Bits of the statusword that count, and their value; the first stands for all that no state has.
_BY_BITS = {
    (0x6F, 0x01): Cia402State.UNKNOWN,
    (0x4F, 0x00): Cia402State.NOT_READY,
    (0x4F, 0x40): Cia402State.SWITCH_ON_DISABLED,
    (0x6F, 0x21): Cia402State.READY,
    (0x6F, 0x23): Cia402State.SWITCHED_ON,
    (0x6F, 0x27): Cia402State.ENABLED,
    (0x6F, 0x07): Cia402State.QUICK_STOP,
    (0x4F, 0x0F): Cia402State.FAULT_REACTION,
    (0x4F, 0x08): Cia402State.FAULT,
}
# Bits of the statusword that show the state.
STATE_BITS = 0x6F
# Controlwords.
DISABLE_VOLTAGE, QUICK_STOP, SHUT_DOWN, SWITCH_ON, ENABLE, RESET_FAULT = 0x00, 0x02, 0x06, 0x07, 0x0F, 0x80
_TO_ENABLE = {
    Cia402State.SWITCH_ON_DISABLED: SHUT_DOWN,
    Cia402State.READY: SWITCH_ON,
    Cia402State.SWITCHED_ON: ENABLE,
    Cia402State.ENABLED: ENABLE,
}


def state_of(statusword: int) -> Cia402State:
    """The state that a statusword shows.

    Example:
        >>> state_of(0x0637).name, state_of(0x0218).name, state_of(0x0001).name
        ('ENABLED', 'FAULT', 'UNKNOWN')
    """
    found = (state for (bits, value), state in _BY_BITS.items() if statusword & bits == value)
    return next(found, Cia402State.UNKNOWN)


def to_enable(state: Cia402State) -> int:
    """Returns the controlword that leads a step nearer to an enabled operation; a fault is not reset by it."""
    return _TO_ENABLE.get(state, DISABLE_VOLTAGE)
