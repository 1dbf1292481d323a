"""Short trials at the wire with each kind of device, which its record verifies and replays."""

import pytest

from hil.proof.replay import replay
from hil.proof.verify import verify

WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
PAIRS = zip(WHEELS[::2], WHEELS[1::2], strict=True)
CONTROLLERS = ", ".join(f"{{port: '', channel_1: {one}, channel_2: {two}}}" for one, two in PAIRS)
# as they are served beside what the rig's own config has
ROBOTEQ = f"devices.drives={{driver: roboteq, max_rpm: 3000, gear_ratio: 100, controllers: [{CONTROLLERS}]}}"
VALVES = ("left_extend", "left_retract", "right_extend", "right_retract")
LINES = ", ".join(f"{valve}: cDAQ1Mod2/port0/line{i}" for i, valve in enumerate(VALVES))
NI_VALVES = f"devices.valves={{driver: ni, lines: {{{LINES}}}, watchdog_ms: 100}}"
NOT_PROMISED = ("ticks missing",)  # and what the clock skipped would be in a summary, which is not written here


def made_its_trial(run):
    assert run.faults == []
    assert run.stopped_ns is not None
    assert [check for check in verify(run.folder) if not check.ok and check.item not in NOT_PROMISED] == []
    assert replay(run.folder).differences == []


@pytest.mark.soak
def test_roboteqs_and_ni_valves_make_a_trial(trial):
    made_its_trial(trial(None, ROBOTEQ, NI_VALVES))


@pytest.mark.soak
def test_roboclaws_and_a_relay_board_make_a_trial(trial):
    made_its_trial(trial(None))
