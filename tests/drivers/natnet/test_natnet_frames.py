"""Layout of NatNet's messages: against a client that is not ours, written out byte by byte, and damaged."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from natnet import DataFrame
from natnet.packet_buffer import PacketBuffer
from natnet.server_info import ServerInfo as PeerServerInfo
from natnet.version import Version as PeerVersion

from drivers.interfaces import BadFrameError
from drivers.natnet import frame
from drivers.natnet.frame import VERSIONS, Frame, MessageKind, RigidBody, ServerInfo, read_frame
from drivers.natnet.simulated.server import FrameContent, frame_message

IDENTITY = (0.0, 0.0, 0.0, 1.0)
BODIES = {
    3: RigidBody((1.5, -2.25, 0.75), (0.5, -0.5, 0.5, 0.5), 2.0**-12, True),
    4: RigidBody((0.0, 0.0, 0.0), IDENTITY, 0.0, False),
}
MARKER = (65537, (0.5, 1.0, 1.5), 0.0125, 2, 0.0005)
FULL = FrameContent(
    marker_sets=[("rover", [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]), ("all", []), ("mät", [(0.0, 0.0, 0.0)])],
    markers=[(7.0, 8.0, 9.0)],
    skeletons=[(1, BODIES), (2, {})],
    assets=[(5, BODIES, [MARKER, MARKER]), (6, {}, [])],
    labelled=[MARKER],
    force_plates=[(1, [[1.0, 2.0], [], [3.0]])],
    devices=[(1, [[0.5]]), (2, [])],
)
FRAME = Frame(4711, BODIES, 987_654_321_000, 987_654_400_000)
# As its layout is written in the maker's samples: number, marker sets, markers, bodies, then nothing, and times.
BY_HAND_3_0 = bytes.fromhex(
    "67120000"  # frame 4711
    "01000000 6162 00 01000000 0000803f 00000040 00004040"  # one marker set, ab, with a marker at 1, 2, 3
    "00000000"  # no other markers
    "01000000 03000000 0000c03f 000010c0 0000403f 0000003f 000000bf 0000003f 0000003f 0ad7233c 0100"  # a body
    "00000000 00000000 00000000 00000000"  # skeletons, labelled markers, force plates, devices
    "00000000 00000000 0000000000000000 e803000000000000 0000000000000000 d007000000000000 0000".replace(" ", "")
)


@pytest.mark.parametrize("scene", [FrameContent(), FULL], ids=["bodies only", "everything"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_frame_that_the_server_sends_is_read_alike_by_a_client_that_is_not_ours(version, scene):
    _, content = frame.unpack(frame_message(FRAME, version, scene))
    peer = DataFrame.read_from_buffer(PacketBuffer(content), PeerVersion(*version))
    ours = read_frame(content, version)
    assert ours == FRAME
    assert peer.prefix.frame_number == ours.number
    assert {body.id_num: (body.pos, body.rot, body.tracking_valid) for body in peer.rigid_bodies} == {
        number: (body.position, body.orientation, body.tracked) for number, body in ours.bodies.items()
    }
    assert (peer.suffix.stamp_camera_mid_exposure, peer.suffix.stamp_transmit) == (ours.exposed, ours.transmitted)
    assert [(found.model_name, list(found.marker_pos_list)) for found in peer.marker_sets] == list(scene.marker_sets)
    assert [len(skeleton.rigid_bodies) for skeleton in peer.skeletons] == [len(of) for _, of in scene.skeletons]
    assert [marker.id_num for marker in peer.labeled_markers] == [marker[0] for marker in scene.labelled]
    assert [len(device.channel_arrays) for device in peer.devices] == [len(of) for _, of in scene.devices]
    if version >= (4, 1):
        assert [len(asset.markers) for asset in peer.assets] == [len(of) for _, _, of in scene.assets]


def test_a_frame_written_out_byte_by_byte_is_read():
    frame = read_frame(BY_HAND_3_0, (3, 0))
    assert (frame.number, frame.exposed, frame.transmitted) == (4711, 1000, 2000)
    assert frame.bodies[3].position == (1.5, -2.25, 0.75)
    assert frame.bodies[3].orientation == (0.5, -0.5, 0.5, 0.5)
    assert frame.bodies[3].error == pytest.approx(0.01)
    assert frame.bodies[3].tracked


def test_what_follows_the_state_is_not_looked_at():
    assert read_frame(BY_HAND_3_0 + bytes(12), (3, 0)).number == 4711


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("state", "live"), [(0x00, True), (0x03, True), (0x04, False), (0x07, False)])
def test_bit_2_of_the_state_says_that_a_recording_is_played_back(version, state, live):
    _, content = frame.unpack(frame_message(FRAME, version, FULL))
    assert read_frame(content[:-2] + struct.pack("<H", state), version).live is live


def test_a_number_that_two_bodies_have_is_named():
    _, content = frame.unpack(frame_message(FRAME._replace(repeated=frozenset({min(FRAME.bodies)})), (4, 1)))
    assert read_frame(content, (4, 1)).repeated == {min(FRAME.bodies)}


def test_a_server_description_is_read_alike_by_a_client_that_is_not_ours():
    info = ServerInfo("Motive", "3.1.0.1", (4, 1), 10_000_000, multicast=False)
    kind, content = frame.unpack(frame.server_info(info))
    peer = PeerServerInfo.read_from_buffer(PacketBuffer(content), None)
    assert kind == MessageKind.SERVER_INFO
    assert frame.read_server_info(content) == info
    assert (peer.application_name, str(peer.server_version)) == ("Motive", "3.1.0.1")
    assert peer.nat_net_protocol_version.truncate(2) == PeerVersion(4, 1)


def test_a_connecting_client_says_who_it_is_and_which_version_it_wants_where_the_maker_s_sample_does():
    data = frame.connect((4, 1))
    assert data[:8] == struct.pack("<HH", 0, 270) + b"Ping"
    assert data[4 + 265 : 4 + 269] == bytes((4, 1, 0, 0))
    assert frame.wanted_version(frame.unpack(data)[1]) == (4, 1)
    assert frame.wanted_version(b"Ping\0") is None


@pytest.mark.parametrize(
    ("said", "version"),
    [("Bitstream,4.1", (4, 1)), ("Bitstream,3.1.0.0", (3, 1)), ("Bitstream", None), ("Bitstream,4", None), ("", None)],
)
def test_the_version_of_the_stream_is_read_from_a_response(said, version):
    assert frame.chosen_version(frame.unpack(frame.response(said))[1]) == version


def test_a_response_that_is_a_number_is_none_of_the_version():
    assert frame.chosen_version(bytes(4)) is None


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:3], "3 bytes, a message has at least 4"),
        (lambda data: data[:-1], "it says"),
    ],
)
def test_a_message_that_is_too_short_is_damaged(damage, words):
    with pytest.raises(BadFrameError, match=words):
        frame.unpack(damage(frame.response("Bitstream,4.1")))


@pytest.mark.parametrize(
    "body",
    [
        RigidBody((1.0, float("nan"), 0.0), IDENTITY, 0.0, True),
        RigidBody((1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 0.0, True),
        RigidBody((1.0, 0.0, 0.0), (0.0, 0.0, 0.0, float("inf")), 0.0, True),
    ],
)
def test_a_tracked_body_without_a_place_or_a_unit_quaternion_is_damaged(body):
    _, content = frame.unpack(frame_message(FRAME._replace(bodies={1: body}), (4, 1)))
    with pytest.raises(BadFrameError, match="rigid body 1 is tracked at"):
        read_frame(content, (4, 1))


def test_every_frame_that_is_cut_off_before_its_state_ends_is_damaged():
    for version in VERSIONS:
        _, content = frame.unpack(frame_message(FRAME, version, FULL))
        for length in range(len(content)):
            with pytest.raises(BadFrameError):
                read_frame(content[:length], version)


@given(
    version=st.sampled_from(VERSIONS),
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 255)), min_size=1, max_size=8),
    cut=st.integers(0, 600),
)
def test_a_damaged_frame_is_read_or_damaged_and_nothing_else(version, flips, cut):
    data = bytearray(frame.unpack(frame_message(FRAME, version, FULL))[1][: -cut or None])
    for place, bits in flips:
        if data:
            data[place % len(data)] ^= bits
    with suppress(BadFrameError):
        read_frame(bytes(data), version)


@given(data=st.binary(max_size=400), version=st.sampled_from(VERSIONS))
def test_any_datagram_is_a_message_or_damaged_and_nothing_else(data, version):
    with suppress(BadFrameError):
        kind, content = frame.unpack(data)
        frame.wanted_version(content)
        frame.chosen_version(content)
        if kind % 2:
            frame.read_server_info(content)
        else:
            read_frame(content, version)
