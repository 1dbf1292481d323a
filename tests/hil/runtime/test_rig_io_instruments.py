"""Readings of the instruments of motion in a tick: the newest of each, kept until the next."""

from __future__ import annotations

import math

from drivers.interfaces import Health
from drivers.messages import Reading
from hil.messages.layout import Layout
from hil.runtime.rig_io import RigIO


class Silent:
    def read(self, t_ns):
        return None

    def write(self, command):
        pass

    def health(self):
        return Health("silent", True, 0, "")


class Sends(Silent):
    def __init__(self):
        self.next = None

    def read(self, t_ns):
        reading, self.next = self.next, None
        return reading


def test_a_reading_stays_until_the_next_one_and_what_the_rig_has_not_is_none():
    imu = Sends()
    layout = Layout(("left", "right"), (), (), imu_channels=("ax_mps2", "ay_mps2"))
    devices = RigIO(layout, {"drives": Silent(), "imu": imu})
    first = devices.sample(1000)
    assert (first.imu.t_ns, first.motion, first.joints) == (-1, None, None)
    assert all(map(math.isnan, first.imu.value))
    imu.next = Reading(1, 1500, (0.1, 0.2))
    assert devices.sample(2000).imu == Reading(1, 1500, (0.1, 0.2))
    assert devices.sample(3000).imu.t_ns == 1500


def test_the_links_of_instruments_are_opened_and_reported_with_the_others():
    layout = Layout(("left", "right"), (), (), joints_channels=("rocker",))
    devices = RigIO(layout, {"drives": Silent(), "joints": Silent()})
    assert len(devices.health()) == 2
    assert layout.links == ("drives", "joints")
