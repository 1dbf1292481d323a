"""Injects impacts as sensor steps at random times: `python -m hil.bench.impact_injector CONTROL CHANNEL VOLTS SEED`.

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


def main(path: str, channel: str, volts: float, seed: int) -> None:
    """Inject steps until killed."""
    chance = random.Random(seed)
    sys.stdin.readline()
    try:
        with ControlClient(path) as control:
            while True:
                time.sleep(REST_S + SPREAD_S * chance.random())
                # at any position in a block: the simulated rig sends its samples in groups of a millisecond
                control.ask("step", channel=channel, volts=volts, after=chance.randrange(AFTER))
                time.sleep(STEP_S)
                control.ask("clear_steps")
    except DeviceError:  # the rig has been stopped
        return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
