"""Checks by `hil check` of devices whose answers are set by the test."""

import math
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

import hil.app.check.access
from drivers.interfaces import ControllerState, DeviceError, DeviceIdentity, Health, LinkLostError, SamplesLostError
from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.app.check import check_rig
from hil.app.check.device_checks import (
    block_check,
    check_daq,
    check_drives,
    check_valves,
    couplings,
    sample_rate_hz,
    seen_blocks,
)
from hil.config import load_config
from hil.config.rig import Rig

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels


CONFIG = load_config("sim_wire", ["devices.daq.e_stop=cDAQ1Mod4/port0/line0", "telemetry.endpoint=''"])
RIG = Rig(CONFIG)
MS = 1_000_000
BLOCK = 60
WELL = ControllerState("address 0x80 on /dev/ttyUSB0", "USB Roboclaw v4", 12.4, (0.1, 0.0), "")


class Daq:
    """Blocks of noise at a rate set by the test."""

    def __init__(self):
        self.rate_hz, self.bias_V, self.noise_V, self.pressed, self.silent = 30000.0, (0.0,) * 3, 0.0005, False, False
        self.taken, self.opened, self.closed = 0, 0, 0
        self.fades_s = None
        self.chance = np.random.default_rng(1)

    def open(self):
        self.opened += 1

    def close(self):
        self.closed += 1

    def health(self):
        return Health("NI-DAQ", True, 0, "a chassis", e_stop=self.pressed)

    def read(self, t_ns):
        arrives_ns = round((self.taken + 1) * BLOCK * 1e9 / self.rate_hz)
        if self.silent or arrives_ns > t_ns:
            return None
        self.taken += 1
        volts = self.chance.normal(self.bias_V, self.noise_V, (BLOCK, 3))
        times = arrives_ns - np.arange(BLOCK, dtype=np.int64)[::-1] * 33_333
        if self.fades_s is not None:  # one newton stands on the first from 0.5 s on
            passed_s = times * 1e-9 - 0.5
            volts[:, 0] += np.where(passed_s > 0.0, np.exp(-passed_s / self.fades_s), 0.0)
        return DaqBlock(self.taken, times, volts, (False,) * 3, arrives_ns + int(self.chance.integers(0, MS)))


class Drives:
    """Confirms a command in its next sample, if at all."""

    def __init__(self):
        self.confirms, self.speeds, self.command, self.state = True, ZERO_SPEEDS, None, WELL
        self.health_now = Health("wheel drives", True, 0, "", rate_hz=50.0)

    def open(self):
        pass

    def close(self):
        pass

    def health(self):
        return self.health_now

    def write(self, command):
        self.command = command

    def read(self, t_ns):
        assert self.command is None or getattr(self.command, "cut", True)  # nothing must ever move
        said = self.command.t_ns if self.command and self.confirms else -1
        return DriveSample(1, t_ns, self.speeds, said)


class Valves(Drives):
    """The same for valves."""

    pressure = ((math.nan, math.nan), (math.nan, math.nan))

    def health(self):
        return Health("valves", True, 0, "a board")

    def read(self, t_ns):
        assert self.command is None or self.command.powered == ((False, False), (False, False))
        said = self.command.t_ns if self.command and self.confirms else -1
        return ValveSample(1, t_ns, self.pressure, said)


class Devices:
    """An Access to these devices, with its own clock."""

    filter_delay_ms = 0.5

    def __init__(self, config=CONFIG):
        self._daq, self._drives, self._valves = Daq(), Drives(), Valves()
        self.t_ns = 0

    def device(self, role):
        return getattr(self, f"_{role}")

    def go_on(self):
        self.t_ns += 2 * MS
        return self.t_ns

    def states(self):
        return (self._drives.state,)


@pytest.fixture
def devices():
    return Devices()


def failed(checks):
    return [check.item for check in checks if not check.ok]


def one(checks, item):
    (check,) = [check for check in checks if check.item == item]
    return check


def test_devices_in_order_pass_and_are_closed_again(devices):
    checks = [
        *check_daq(RIG, devices),
        *check_drives(RIG, devices),
        *check_valves(RIG, devices),
    ]
    assert failed(checks) == []
    assert devices._daq.opened == devices._daq.closed == 1
    assert "serial number unknown, 11.24 mV/N by its sheet" in one(checks, "sensor top sheet").found
    assert one(checks, "dead-man of the valves").found == "flash-on: the board switches off after 0.5 s"


def test_an_open_or_noisy_sensor_is_named(devices):
    devices._daq.bias_V = (0.0, 4.9, 0.0)
    assert failed(check_daq(RIG, devices)) == ["sensor lower_left bias"]
    noisy = Devices()
    noisy._daq.noise_V = 0.02
    assert failed(check_daq(RIG, noisy)) == [f"sensor {name} noise" for name in ("top", "lower_left", "lower_right")]


@pytest.mark.parametrize(("true_s", "said_s"), [(a, b) for a in (0.5, 1e9) for b in (0.5, 1e12)])
def test_a_force_that_is_put_on_during_the_check_shows_the_coupling_of_its_sensor(devices, true_s, said_s):
    devices._daq.fades_s = true_s
    blocks, *_ = seen_blocks(devices, devices._daq)
    config = SimpleNamespace(daq=CONFIG.daq, droops_s=(said_s,) * 3)
    top, *others = couplings(SimpleNamespace(config=config, layout=RIG.layout), blocks)
    assert top.ok is ((true_s < 1e3) == (said_s < 1e3))
    assert top.found.startswith("a held load fades by")
    assert all(check.ok and check.found.startswith("not seen") for check in others)


@pytest.mark.parametrize(("rate_hz", "ok"), [(30000.0, True), (29700.0, True), (25600.0, False), (51200.0, False)])
def test_a_rate_that_is_not_the_config_s_is_found_however_blocks_come(devices, rate_hz, ok):
    devices._daq.rate_hz = rate_hz
    check = one(check_daq(RIG, devices), "sample rate")
    assert check.ok is ok
    assert float(check.found.split()[0]) == pytest.approx(rate_hz, rel=0.005)


def test_the_rate_is_not_known_where_nobody_looked_when_blocks_came():
    block = DaqBlock(1, np.arange(3), np.zeros((3, 3)), (False,) * 3)
    assert sample_rate_hz([block] * 9) is None
    assert sample_rate_hz([]) is None


def test_a_pressed_emergency_stop_is_read_back(devices):
    devices._daq.pressed = True
    assert failed(check_daq(RIG, devices)) == ["emergency stop"]
    unread = load_config("sim_wire")
    assert one(check_daq(Rig(unread), Devices()), "emergency stop").found == "not read back"


def test_sensors_that_say_nothing_are_a_missing_device(devices):
    devices._daq.silent = True
    with pytest.raises(DeviceError, match="too few to zero the sensors"):
        check_daq(RIG, devices)
    assert devices._daq.closed == 1


@pytest.mark.parametrize(
    ("change", "item"),
    [
        ({"confirms": False}, "drives cut"),
        ({"speeds": (0.0, 0.0, 0.5, 0.0, 0.0, 0.0)}, "wheel speed before the start"),
        ({"speeds": (0.0, 0.0, math.nan, 0.0, 0.0, 0.0)}, "wheel speed before the start"),
        ({"state": msgspec.structs.replace(WELL, trouble="status 0x0100")}, WELL.where),
        ({"state": msgspec.structs.replace(WELL, supply_V=math.nan)}, WELL.where),
        ({"health_now": Health("wheel drives", True, 0, "", rate_hz=19.0)}, "rate of the drives"),
        ({"health_now": Health("wheel drives", True, 0, "")}, "rate of the drives"),
        (
            {"health_now": Health("wheel drives", True, 0, "", rate_hz=50.0, e_stop=True)},
            "emergency stop of the drives",
        ),
    ],
)
def test_drives_that_are_not_in_order_are_named(devices, change, item):
    for name, value in change.items():
        setattr(devices._drives, name, value)
    assert failed(check_drives(RIG, devices)) == [item]


def test_valves_that_do_not_confirm_are_named_and_pressures_are_told(devices):
    devices._valves.confirms = False
    devices._valves.pressure = ((1000.0, 2000.0), (3000.0, 207_000.0))
    checks = check_valves(RIG, devices)
    assert failed(checks) == ["valves"]
    assert (
        one(checks, "pressures").found == "left extend and retract 1 and 2 kPa, right extend and retract 3 and 207 kPa"
    )


def test_valves_without_a_dead_man_say_so(devices):
    config = load_config("sim_wire", ["devices.valves.flash_on=false", "devices.valves.no_dead_man=accepted"])
    assert (
        "valves stay powered when this program dies"
        in one(check_valves(Rig(config), devices), "dead-man of the valves").found
    )


@pytest.mark.parametrize(
    ("which", "found", "allowed"),
    [
        (DeviceIdentity("here", "17", "17"), "identity 17; proven by it", "as it is"),
        (
            DeviceIdentity("here", "17", ""),
            "identity 17; not proven",
            "identity: 17 in its section, once a motion by hand",
        ),
        (DeviceIdentity("here", "", ""), "no identity; not proven", "a mark stored in it, or a port by its path, once"),
        (DeviceIdentity("here", "", "", "its address"), "no identity; proven by its address", "as it is"),
    ],
)
def test_what_proves_which_controller_it_is_is_said_so_that_it_can_be_copied_and_refuses_nothing(
    devices, which, found, allowed
):
    devices._drives.health_now = msgspec.structs.replace(devices._drives.health_now, identities=(which,))
    checks = check_drives(RIG, devices)
    row = one(checks, "which device: here")
    assert row.found == found
    assert row.allowed.startswith(allowed)
    assert failed(checks) == []


@pytest.fixture
def rig(monkeypatch):
    """The devices of a rig that `check_rig` looks at."""
    access = Devices()
    monkeypatch.setattr(
        hil.app.check.access, "connect", lambda *_: ({"roboclaw": "/a", "modbus": "/b", "daq": "c:1"}, None)
    )
    monkeypatch.setattr(hil.app.check.access, "DirectAccess", lambda config: access)
    return access


def fails(errors, works):
    """A call that raises these errors in turn, and then works."""
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return works()

    return call


NO_SAMPLES = "NI-DAQ: reading a block: NI -200284: no samples in time"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LinkLostError, SamplesLostError])
def test_a_link_that_is_lost_once_is_opened_again_and_the_result_says_so(rig, kind):
    go_on, said = rig.go_on, []
    rig.go_on = fails([kind(NO_SAMPLES)], go_on)
    checks, missing = check_rig(Rig(CONFIG), said.append, quick=True)
    assert missing == failed(checks) == []
    assert (rig._daq.opened, rig._daq.closed) == (2, 2)
    first = one(checks, "data acquisition, first attempt")
    assert NO_SAMPLES in first.found
    assert f"{NO_SAMPLES}; checking the data acquisition a second time" in said
    assert "emergency stop" in [check.item for check in checks]
    assert not [check for check in checks if check.item.startswith(("wheel drives,", "bogie valves,"))]


@pytest.mark.slow
def test_a_link_that_is_lost_twice_is_a_missing_device(rig):
    again = f"{NO_SAMPLES} again"
    rig.go_on = fails([LinkLostError(NO_SAMPLES), LinkLostError(again)], rig.go_on)
    checks, missing = check_rig(Rig(CONFIG), quick=True)
    assert missing == [again]
    assert failed(checks) == ["data acquisition"]
    assert (rig._daq.opened, rig._daq.closed) == (2, 2)


@pytest.mark.slow
def test_a_device_that_is_there_and_wrong_is_not_asked_again(rig):
    rig._daq.open = fails([DeviceError("NI-DAQ: there is no channel 'cDAQ1Mod9/ai0'")], rig._daq.open)
    checks, missing = check_rig(Rig(CONFIG), quick=True)
    assert missing == ["NI-DAQ: there is no channel 'cDAQ1Mod9/ai0'"]
    assert failed(checks) == ["data acquisition"]


@pytest.mark.slow
def test_a_device_that_is_missing_hides_no_other(rig):
    def gone():
        raise LinkLostError("wheel drives: /dev/ttyUSB0: there is no such port")

    rig._drives.open = gone
    checks, missing = check_rig(Rig(CONFIG), quick=True)
    assert missing == ["wheel drives: /dev/ttyUSB0: there is no such port"]
    assert failed(checks) == ["wheel drives"]
    items = [check.item for check in checks]
    assert {"NI-DAQ", "valves", "bus load of /a", "cut: in all, at worst", "disk space", "Safe on a slope"} <= {*items}
    assert one(checks, "cut: converter's filter").found == "0.50 ms"


def test_a_rig_in_this_process_is_checked_the_same_way():
    checks, missing = check_rig(Rig(load_config("sim_impact", ["telemetry.endpoint=''"])))
    assert missing == []
    assert failed(checks) == []
    assert {"simulated DAQ", "drives cut", "valves", "sensor top noise"} <= {check.item for check in checks}


@pytest.mark.parametrize(
    ("rate_hz", "cost_us", "proposed_ms"),
    [
        (30000, 100, 1),
        (30000, 149, 1),
        (30000, 151, 2),
        (30000, 370, 2.5),
        (30000, 700, 5),
        (30000, 9000, 5),
        (51200, 100, 2.5),
    ],
)
def test_the_shortest_blocks_that_the_driver_can_afford_are_proposed(rate_hz, cost_us, proposed_ms):
    daq, limits = CONFIG.daq.model_copy(update={"rate_hz": rate_hz}), CONFIG.limits
    check = block_check(daq, limits, cost_us)
    assert check.ok
    assert check.allowed.startswith(f"{proposed_ms:g} ms")
    assert f"{cost_us} us" in check.found


def test_no_block_is_proposed_that_is_more_than_half_of_the_age_allowed():
    limits = CONFIG.limits.model_copy(update={"daq_age_ms": 5.0})
    assert block_check(CONFIG.daq, limits, 9000.0).allowed.startswith("2.5 ms")
