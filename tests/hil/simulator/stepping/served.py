"""A step service of Juno on a thread, a caller that detects contacts with level ground, and the same drive without."""

import threading

import numpy as np

from hil.api.stepping import Contact, StepClient
from hil.config import load_config
from hil.config.rig import Rig
from hil.simulator.simulated_rig import build_plant
from hil.simulator.stepping.service import StepService, StepSocket

STEP_NS = 2_000_000


class ServedProcess:
    """A step service of a config on a thread, and a client of it."""

    def __init__(self, *overrides, outside=True):
        self.rig = Rig(load_config("sim_juno", list(overrides)))
        self.service = StepService(self.rig, outside=outside)
        self.ending = False
        self._socket = StepSocket(self.service, "tcp://127.0.0.1:*")
        self.endpoint = self._socket.endpoint
        self._thread = threading.Thread(target=self._socket.serve, args=(self,))
        self._thread.start()
        self.client = StepClient(self.endpoint)

    def close(self):
        self.client.close()
        self.ending = True
        self._thread.join()
        self._socket.close()


def level_ground(client, now):
    """The caller's collision detection: circles against the plane z = 0."""
    radii = [wheel["radius_m"] for wheel in client.description["wheels"]]
    places = zip(now.centre.tolist(), radii, strict=True)
    return [Contact(i, (x, y, z - r), (0.0, 0.0, 1.0), r - z) for i, ((x, y, z), r) in enumerate(places)]


def drive(client, steps, speed=0.5):
    now = client.reset()
    client.command([speed] * len(client.wheels))
    for _ in range(steps):
        now = client.step(STEP_NS, level_ground(client, now))
    return now


def built_in(rig, steps, speed=0.5):
    plant = build_plant(rig)
    plant.set_drives((speed,) * len(plant.rover.wheel_names), cut=False)
    for k in range(steps):
        plant.advance((k + 1) * STEP_NS)
    return plant.scene.value.state


def same(now, state):
    return np.array_equal(now.q, state.q) and np.array_equal(now.v, state.v)
