"""Three RoboClaws on a bus each: one that is lost takes none of the others with it."""

import pytest

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def wire(serve, settings):
    buses = [f"devices.drives.controllers.{bus}.bus={bus}" for bus in range(3)]
    return serve("sim_wire", *settings, "devices.drives.ports=['', '', '']", *buses)


def test_three_buses_make_a_trial(trial):
    run = trial(None)
    assert run.faults == []
    assert run.stopped_ns is not None


def test_when_one_of_three_buses_is_unplugged_the_others_are_stopped(wire, trial):
    """Each by a stop on its own bus; the one that is gone by its time-out."""
    run = trial(lambda _: wire.misbehave("roboclaw_2", "hang_up"))
    assert run.faults
    for bus, address, what in (
        ("roboclaw", 0x80, "stops"),
        ("roboclaw_2", 0x81, "timeouts"),
        ("roboclaw_3", 0x82, "stops"),
    ):
        assert set(wire.seen(what, run.acted_ns, bus)) == {address}
