"""Injects impacts as sensor steps at random times.

It is a separate process, so that its waiting does not delay the loop. It begins at the first line on its standard
input, when the wheels turn for the first time: a step before would keep the rig from arming. Its imports are done by
then: they would take the processor from the kernel's threads that move the bytes of the simulated serial lines.
"""

from __future__ import annotations

import random
import sys
import time

from drivers.interfaces import DeviceError
from hil.simulator.control_socket import ControlClient

# The step ends during the pause after a cut; in the rest of it the channels are zeroed and the rig runs again.
STEP_S = 0.08
REST_S = 0.55
SPREAD_S = 0.1
AFTER = 300  # samples, 10 ms of them at 30 kHz


def inject_impacts(path: str, channel: str, volts: str, seed: str) -> None:
    """Inject steps of so many volts until killed; the path is that of the control socket."""
    chance = random.Random(int(seed))
    sys.stdin.readline()
    try:
        with ControlClient(path) as control:
            while True:
                time.sleep(REST_S + SPREAD_S * chance.random())
                # at any position in a block: the simulated rig sends its samples in groups of a millisecond
                control.ask("step", channel=channel, volts=float(volts), after=chance.randrange(AFTER))
                time.sleep(STEP_S)
                control.ask("clear_steps")
    except DeviceError:  # the rig has been stopped
        return
