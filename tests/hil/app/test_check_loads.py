"""Checks by `hil check` of load channels whose readings are set by the test."""

import numpy as np
import pytest

from drivers.interfaces import DeviceError, Health
from drivers.messages import DaqBlock
from hil.app.check.device_checks import check_loads
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.rig_setup import normal_force_rows, offsets

CONFIG = load_config("sim_drawbar", ["loads.leg_sensors={}"])
assert CONFIG.loads is not None
BLOCK, CHANNELS = CONFIG.loads.block_samples, len(CONFIG.layout.loads)
MS = 1_000_000


class Loads:
    """The Access and its load channels, at a rate and with readings set by the test."""

    def __init__(self):
        self.rate_hz, self.silent = float(CONFIG.loads.rate_hz), False
        self.volts = offsets(CONFIG).copy()
        self.t_ns, self.taken, self.closed = 0, 0, 0

    def device(self, role):
        return self

    def go_on(self):
        self.t_ns += 2 * MS
        return self.t_ns

    def open(self):
        pass

    def close(self):
        self.closed += 1

    def health(self):
        return Health("load amplifier", True, 0, "six legs and a load cell")

    def read(self, t_ns):
        arrives_ns = round((self.taken + 1) * BLOCK * 1e9 / self.rate_hz)
        if self.silent or arrives_ns > t_ns:
            return None
        self.taken += 1
        times = arrives_ns - np.arange(BLOCK, dtype=np.int64)[::-1] * round(1e9 / self.rate_hz)
        return DaqBlock(self.taken, times, np.tile(self.volts, (BLOCK, 1)), (False,) * CHANNELS, arrives_ns)


@pytest.fixture
def loads():
    return Loads()


def failed(checks):
    return [check.item for check in checks if not check.ok]


def test_channels_in_order_pass_and_are_closed_again(loads):
    checks = check_loads(Rig(CONFIG), loads)
    assert failed(checks) == []
    assert {f"load channel {name}" for name in CONFIG.layout.loads} < {check.item for check in checks}
    assert loads.closed == 1


@pytest.mark.parametrize(("share", "ok"), [(1.0, True), (0.99, True), (0.9, False), (2.0, False)])
def test_a_rate_that_is_not_the_config_s_is_found(loads, share, ok):
    loads.rate_hz *= share
    (check,) = [check for check in check_loads(Rig(CONFIG), loads) if check.item == "load sample rate"]
    assert check.ok is ok
    assert float(check.found.split()[0]) == pytest.approx(loads.rate_hz, rel=0.005)
    assert "loads.rate_hz" in check.allowed


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_a_broken_wire_is_found_at_its_channel(loads, end):
    loads.volts[-1] = end * CONFIG.loads.range_V
    assert failed(check_loads(Rig(CONFIG), loads)) == [f"load channel {CONFIG.layout.loads[-1]}"]


def test_the_load_of_each_wheel_is_shown_in_newtons(loads):
    wanted = 100.0 + 10.0 * np.arange(len(normal_force_rows(CONFIG)))
    loads.volts = offsets(CONFIG) + np.linalg.pinv(normal_force_rows(CONFIG)) @ wanted
    (check,) = [check for check in check_loads(Rig(CONFIG), loads) if check.item == "loads"]
    assert check.found.startswith(f"{CONFIG.layout.wheels[0]} 100 N, {CONFIG.layout.wheels[1]} 110 N")


def test_channels_that_send_nothing_are_an_error_with_their_name(loads):
    loads.silent = True
    with pytest.raises(DeviceError, match=r"load amplifier: 0 blocks in .* s; is it connected\?"):
        check_loads(Rig(CONFIG), loads)
    assert loads.closed == 1
