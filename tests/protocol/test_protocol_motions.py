"""The motions of `hil jog` and `hil valve`, with real drivers in virtual time."""

import pytest

from hil.config import load_config
from hil.experiments.jog import what_moved
from hil.recording import read_trial

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
PRESSURES = (
    "devices.valves.baud=38400",
    "devices.valves.pressure_registers={left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, "
    "kPa_per_count: 0.1}",
)


def moved(trial, *settings):
    """Ticks of the motion, and the description of what moved."""
    done = trial(None, "experiment=jog", *settings)
    assert done.error is None
    assert done.faults == []
    tick = read_trial(done.folder, trusted=True).tick
    config = load_config("sim_wire")
    return tick, what_moved(tick, config.layout, config.wheel_radii_m)


@pytest.mark.slow
def test_jog_turns_the_wheel_asked_for_and_no_other(trial):
    tick, summary = moved(trial, "jog={wheels: [middle_right], speed_mps: -0.03, seconds: 0.6}")
    reached = summary["speed_reached_mps"]
    assert reached.pop("middle_right") == pytest.approx(-0.03, abs=0.006)
    assert list(reached.values()) == pytest.approx([0.0] * 5, abs=0.006)
    assert tick["drives_acknowledged_ns"][-1] > 0


@pytest.mark.slow
def test_valve_fills_the_chamber_asked_for_and_lets_it_go(trial):
    tick, summary = moved(trial, "jog={wheels: [], valve: right_retract, seconds: 0.8}", *PRESSURES)
    reached = summary["pressure_reached_kPa"]
    assert reached.pop("right_retract") == pytest.approx(207.0, abs=10.0)
    assert list(reached.values()) == pytest.approx([0.0] * 3, abs=5.0)
    assert tick["pressure_Pa"][-1].max() < 50e3
