"""Sensor samples for the tests of the record, and their arrival."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.messages import DaqBlock
from hil.messages.link_messages import event_row

RATE = 30_000
S = 1_000_000_000


class Daq:
    """Blocks of three channels at 30 kHz."""

    @staticmethod
    def block(t_ns, volts, sequence=1):
        return DaqBlock(sequence, t_ns, volts, (False, True, False))

    @staticmethod
    def impact(record, t_ns):
        record.event(event_row(0, "impact", 1, t_ns))

    @staticmethod
    def samples(seconds, seed=0):
        n = int(seconds * RATE)
        t_ns = np.round(np.arange(n) * (S / RATE)).astype(np.int64)
        return t_ns, np.random.default_rng(seed).normal(size=(n, 3))

    def feed(self, record, t_ns, volts, *, size=30, trigger_ns=None, trigger_delay_ns=2_000_000):
        """Blocks in order; the trigger comes a short time after its sample, as from a detector."""
        triggered = trigger_ns is None
        for k in range(0, len(t_ns), size):
            record.block(self.block(t_ns[k : k + size], volts[k : k + size], k // size + 1))
            if not triggered and t_ns[min(k + size, len(t_ns)) - 1] >= trigger_ns + trigger_delay_ns:
                self.impact(record, trigger_ns)
                triggered = True


@pytest.fixture
def daq() -> Daq:
    return Daq()
