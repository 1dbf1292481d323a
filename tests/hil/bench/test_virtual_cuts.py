"""Cuts in virtual time: what they take is the same on any machine."""

import pytest

from hil.bench.bench_rig import CUTS, STEP_V
from hil.bench.virtual_cuts import virtual_cuts
from hil.config import load_config
from hil.config.rig import Rig
from hil.recording.sinks import parts_ms

pytestmark = pytest.mark.slow


def parts(*settings):
    cuts = virtual_cuts(Rig(load_config("sim_wire", [*CUTS, "clock=lockstep", *settings])), 3, STEP_V)
    assert len(cuts) == 3
    return {name: times.tolist() for name, times in parts_ms(cuts).items()}


def test_a_cut_takes_a_block_a_tick_a_request_that_is_being_sent_and_the_stop_frames():
    found = parts("daq.block_ms=1")
    assert max(found["cut_block"]) <= 1.0
    assert max(found["cut_delivery"]) <= 0.1
    assert max(found["cut_tick"]) <= 1.0
    stops, request = 3 * 8, 16  # bytes
    assert max(found["cut_wire"]) <= (stops + request) * 10 / 115.2 + 0.05
    whole_ns = stops * 10 * 1_000_000_000 // 115_200  # as virtual time is counted
    assert round(min(found["cut_wire"]) * 1e6) >= whole_ns


@pytest.mark.soak
def test_the_same_cuts_are_found_again():
    assert parts("devices.drives.baud=460800") == parts("devices.drives.baud=460800")
