"""Faults of a bus, its adapter or a drive end in stopped wheels, and no wheel runs again by itself."""

import pytest

from drivers.can.slcan import CanFrame
from drivers.can.status import ADAPTER
from drivers.cia402 import protocol, status
from drivers.interfaces import DamagedError, DeviceError, LinkLostError
from drivers.messages import DriveCommand
from drivers.reported import Reaction

from .conftest import NODES

SLOWLY = (0.1, 0.2, 0.3, -0.4, 0.5, -0.6)


def all_cut(rig):
    return all(commanded and commanded[-1] is None for commanded in rig.wheels.commanded)


def say(rig, place, identifier, data=b""):
    """A node of the bus sends a frame by itself."""
    rig.node(place)._outbox.append(CanFrame(identifier, data))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["intermittent", "garbage", "slow", "duplicate", "delayed", "noise", "truncated"])
@pytest.mark.parametrize("cut", [True, False])
def test_one_spoiled_round_changes_nothing_but_the_count(rig, until, running, kind, cut):
    drives = rig.drives()
    running(drives)
    rig.inject_fault(kind, ms=5.0)
    drives.write(DriveCommand(3, cut, SLOWLY))
    until(drives, lambda sample: sample.acknowledged_ns == 3)
    assert all_cut(rig) is cut
    assert drives.health().retries <= 1


def test_rounds_that_stay_spoiled_are_damage(rig, running, step_until_error):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("garbage", count=20, every=2)
    error = step_until_error(drives)
    assert isinstance(error, DamagedError)
    assert "3 of the last" in str(error)
    assert "is no line of an SLCAN adapter" in str(error)


def test_a_silent_bus_is_a_lost_link_that_names_every_drive_and_all_stop_by_themselves(rig, running, step_until_error):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("off")
    error = step_until_error(drives)
    assert isinstance(error, LinkLostError)
    assert all(f"node {node} (" in str(error) for node in NODES)
    rig.time.sleep(0.1)
    assert all_cut(rig)


@pytest.mark.slow
def test_a_drive_without_power_is_named_alone_and_the_others_are_cut(rig, running, step_until_error, step_for):
    drives = rig.drives()
    running(drives)
    rig.node(2).take = lambda *_: iter(())
    error = step_until_error(drives)
    assert str(error).startswith(f"node {NODES[2]} (wheel_2)")
    assert "node 3 (" not in str(error)
    with pytest.raises(LinkLostError):
        step_for(drives, 0.1)
    assert {node for node, _ in rig.bus.stops} == set(NODES) - {NODES[2]}


def test_a_drive_that_starts_anew_is_an_error_and_runs_no_more(rig, running, step_until_error, step_for):
    drives = rig.drives()
    running(drives)
    rig.bus.inject_fault("restart", {"node": NODES[4]})
    assert f"node {NODES[4]} (wheel_4)" in str(step_until_error(drives))
    drives.step()
    rig.time.sleep(0.001)
    assert all_cut(rig)
    rig.wheels.forget()
    drives.write(DriveCommand(3, False, SLOWLY))
    with pytest.raises(LinkLostError):
        step_for(drives, 0.1)
    assert not rig.wheels.ever_ran()


def test_an_unplugged_adapter_is_a_lost_link_and_after_opening_again_nothing_runs_by_itself(
    rig, running, step_until_error, step_for
):
    drives = rig.drives()
    running(drives)
    rig.inject_fault("disconnect")
    assert "is gone" in str(step_until_error(drives))
    assert not drives.health().open
    with pytest.raises(LinkLostError, match="no such port"):
        drives.open()
    rig.inject_fault("reconnect")
    drives.open()
    rig.wheels.forget()
    drives.write(DriveCommand(3, False, SLOWLY))
    step_for(drives, 0.1)
    assert not rig.wheels.ever_ran()


@pytest.mark.slow
@pytest.mark.parametrize("table", status.STATUSES[1:], ids=lambda table: table.name)
def test_every_bit_and_code_is_reported_as_its_row_says(rig, running, step_for, table):
    drives = rig.drives()
    running(drives)
    for row in table.rows:
        rig.bus.inject_fault("status", {"status": table.name, "node": NODES[1], "value": row.value})
        step_for(drives, 0.09)
        found = [one.safe for one in drives.health().reports if one.words.startswith(f"{row.words} (")]
        assert found == [row.reaction is Reaction.SAFE] * (row.reaction is not Reaction.IGNORED), row.words


@pytest.mark.slow
@pytest.mark.parametrize("row", status.STATE.rows, ids=lambda row: row.words)
def test_every_state_that_nobody_has_ordered_is_reported_and_cuts_all(rig, running, step_for, row):
    drives = rig.drives()
    running(drives)
    rig.bus.inject_fault("status", {"status": "state", "node": NODES[1], "value": row.value})
    step_for(drives, 0.09)
    reports = [one for one in drives.health().reports if "state" in one.words]
    assert all_cut(rig) is (row.reaction is Reaction.SAFE)
    assert [one.safe for one in reports] == [True] * (row.reaction is Reaction.SAFE)


def test_every_bit_of_statusword_register_and_adapter_has_a_row():
    for table, bits in ((status.STATUSWORD, 0xFFFF & ~0x6F), (status.REGISTER, 0xFF), (ADAPTER, 0xFF)):
        assert sum(row.value for row in table.rows) == bits


def test_an_emergency_message_is_reported_until_the_drive_takes_it_back(rig, running, step_for):
    drives = rig.drives()
    running(drives)
    rig.node(0).report_error(0x2310, 0x02)
    step_for(drives, 0.1)
    words = [one.words for one in drives.health().reports]
    assert any("current at the output (error code 8960), code 0x2310" in one for one in words)
    rig.node(0).report_error(0, 0)
    step_for(drives, 0.1)
    assert drives.health().reports == ()


@pytest.mark.slow
def test_frames_of_other_nodes_and_of_kinds_that_nobody_uses_are_none_of_ours(rig, running, step_for):
    drives = rig.drives()
    running(drives)
    for identifier, data in ((0x1B2, b"\1\2\3"), (0x0CD, bytes(8)), (0x77F, b"\5"), (0x7E4, b""), (0x100, bytes(6))):
        say(rig, 0, identifier, data)
    rig.line._terminal.write(b"T18DAF1102AABB\rr1230\r")  # 29 bits, and a remote request
    step_for(drives, 0.2)
    assert drives.health().errors == 0
    assert drives.health().reports == ()
    assert not all_cut(rig)


@pytest.mark.parametrize(
    ("identifier", "data", "found"),
    [
        (protocol.TPDO1 + NODES[0], bytes(7), "TPDO1 0x183 has 7 bytes, expected: 8"),
        (protocol.EMERGENCY + NODES[0], bytes(3), "an emergency message of 3 bytes"),
    ],
)
def test_a_frame_of_another_length_than_it_has_by_its_mapping_is_damage(
    rig, running, step_for, identifier, data, found
):
    drives = rig.drives()
    running(drives)
    for _ in range(2):
        say(rig, 0, identifier, data)
        step_for(drives, 0.02)
    say(rig, 0, identifier, data)
    with pytest.raises(DamagedError, match=found):
        step_for(drives, 0.02)


def test_frames_that_the_adapter_refuses_are_damage(rig, running, step_for):
    drives = rig.drives()
    running(drives)
    rig.bus.is_open = False  # it has lost its supply, and is closed now
    with pytest.raises(DeviceError, match="refuses"):
        step_for(drives, 1.0)
    rig.time.sleep(0.1)
    assert all_cut(rig)


@pytest.mark.slow
def test_every_wrong_setting_of_every_drive_is_named_at_once(rig):
    for place, index, sub, value in (
        (0, 0x1000, 0, 401),  # an I/O module
        (1, 0x6502, 0, 1),  # profile position only
        (2, 0x608F, 1, 2000),
        (3, 0x1016, 1, None),
        (4, 0x6007, 0, None),
        (5, 0x1403, 1, None),
    ):
        rig.bus.inject_fault("object", {"node": NODES[place], "index": index, "sub": sub, "value": value})
    with pytest.raises(DeviceError) as refused:
        rig.drives().open()
    words = str(refused.value)
    for node, found in zip(
        NODES,
        (
            "device type (0x1000:00): found profile 401, needed: 402",
            "supported drive modes (0x6502:00): no profile velocity mode",
            "position encoder resolution (0x608F:01): found 2000, needed 4096",
            "consumer heartbeat time (0x1016:01) cannot be set to 8323172: no such sub-index (0x06090011)",
            "abort connection option code (0x6007:00) cannot be set to 2: no such object (0x06020000)",
            "identifier of RPDO4 (0x1403:01) cannot be set",
        ),
        strict=True,
    ):
        assert any(f"node {node} (" in part and found in part for part in words.split("; ")), found
    assert not rig.wheels.ever_ran()


def test_a_dead_man_that_is_not_kept_is_refused(rig):
    drive = rig.node(0)
    kept = drive._set
    drive._set = lambda entry, value, t_ns: kept(entry, 0 if entry.index == 0x1016 else value, t_ns)
    with pytest.raises(DeviceError, match=r"consumer heartbeat time \(0x1016:01\): found 0, needed 0x7F0064"):
        rig.drives().open()


def test_drives_in_swapped_places_are_refused_before_anything_is_set(rig):
    rig.bus.inject_fault("identity", {"node": NODES[0], "value": 77})
    with pytest.raises(DeviceError, match=r"its identity is 1-402-1-77, needed: 1-402-1-3"):
        rig.drives(identities={NODES[0]: f"1-402-1-{NODES[0]}"}).open()
    assert rig.node(0).objects[0x1016, 1] == 0


def test_two_drives_of_one_number_are_refused(rig):
    rig.bus.inject_fault("twin", {"node": NODES[3]})
    with pytest.raises(DeviceError, match=r"node 6 \(wheel_3\).*: 2 drives have this node-ID"):
        rig.drives().open()


def test_a_drive_that_is_not_there_is_refused_and_named_and_the_others_are_stopped(rig):
    rig.node(5).take = lambda *_: iter(())
    with pytest.raises(LinkLostError, match=r"node 4 \(wheel_5\).*no answer within 100 ms, twice"):
        rig.drives().open()


def test_a_bus_of_another_bit_rate_is_refused(rig):
    with pytest.raises(LinkLostError, match=r"check cable, termination, power, node-ID and bit rate \(500000 bit/s\)"):
        rig.drives(bit_rate=500_000).open()


def test_an_adapter_that_refuses_to_open_is_refused(rig):
    obey = rig.bus._obey
    rig.bus._obey = lambda line, t_ns: b"\a" if line == b"O" else obey(line, t_ns)
    with pytest.raises(DeviceError, match="the adapter refuses to open; unplug it"):
        rig.drives().open()


def test_an_adapter_that_confirms_nothing_and_knows_no_status_is_as_good(rig, running, step_for):
    send, obey = rig.bus._send, rig.bus._obey
    rig.bus._obey = lambda line, t_ns: b"" if line[:1] in (b"C", b"S", b"O", b"Z", b"F") else obey(line, t_ns)
    rig.bus._send = lambda line, t_ns: send(line, t_ns).replace(b"z\r", b"")
    rig.bus.is_open, rig.bus._set_rate = True, 1_000_000
    drives = rig.drives()
    running(drives)
    step_for(drives, 0.1)
    assert drives.health().errors == 0


def test_a_wheel_that_turns_after_its_stop_is_refused(rig, monkeypatch):
    monkeypatch.setattr(rig.wheels, "speed_radps", lambda wheel: 0.3 if wheel == 4 else 0.0)
    with pytest.raises(DeviceError, match=r"node 5 \(wheel_4\).*turns at 0.300 rad/s"):
        rig.drives().open()
