"""Steps a sensor of a simulated rig at odd moments: `python -m hil.bench.impact_injector CONTROL CHANNEL VOLTS SEED`.

A process of its own, so that what it waits for does not hold up the loop.
"""

from __future__ import annotations

import random
import sys
import time

from drivers.interfaces import DeviceError
from hil.simulator.control_socket import ControlClient

# Within the pause after a cut the step is over; within the rest the channels are zeroed and the rig runs again.
STEP_S = 0.08
REST_S = 0.55
SPREAD_S = 0.1
AFTER = 300  # samples, 10 ms of them at 30 kHz


def main(path: str, channel: str, volts: float, seed: int) -> None:
    """Step until killed."""
    chance = random.Random(seed)
    try:
        with ControlClient(path) as control:
            while True:
                time.sleep(REST_S + SPREAD_S * chance.random())
                # anywhere in a block: the simulated rig hands its samples out in lumps of a millisecond
                control.ask("step", channel=channel, volts=volts, after=chance.randrange(AFTER))
                time.sleep(STEP_S)
                control.ask("clear_steps")
    except DeviceError:  # the rig has been stopped
        return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
