"""A ROS 2 bag has the record's numbers in standard messages, read back by a reader that is not ours."""

from __future__ import annotations

from collections import defaultdict
from xml.etree import ElementTree

import numpy as np
import pytest

from hil.analysis.dataset import layout_of
from hil.analysis.export.run import export
from hil.analysis.film.moments import filmed
from hil.recording import read_trial

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bag(recorded, tmp_path_factory):
    """Messages by topic: time [ns] and content."""
    highlevel = pytest.importorskip("rosbags.highlevel", reason="rosbags, which reads the bag, is not installed")
    folder = tmp_path_factory.mktemp("bag") / "made"
    export(recorded("burst"), "rosbag2", folder)
    assert sorted(path.name for path in folder.iterdir()) == ["metadata.yaml", "trial.mcap"]
    found = defaultdict(list)
    with highlevel.AnyReader([folder]) as reader:
        for connection, t_ns, raw in reader.messages():
            found[connection.topic].append((t_ns, reader.deserialize(raw, connection.msgtype)))
    return dict(found)


@pytest.fixture(scope="module")
def record(recorded):
    return read_trial(recorded("burst"), trusted=True)


def test_every_tick_has_its_joints_odometry_loads_and_forces(bag, record):
    tick, layout = record.tick, layout_of(record)
    began_ns = bag["/joint_states"][0][0] - int(tick["t_ns"][0])
    for topic in ("/joint_states", "/odom", "/wheels/rear_right/load", "/force_sensors/top"):
        np.testing.assert_array_equal([t_ns - began_ns for t_ns, _ in bag[topic]], tick["t_ns"])
    states = [message for _, message in bag["/joint_states"]]
    assert states[0].name[: len(layout.turning)] == list(layout.turning)
    wheels = slice(len(layout.turning), None)
    np.testing.assert_array_equal([one.velocity[wheels] for one in states], tick["wheel_speed_radps"])
    np.testing.assert_array_equal(
        [one.position[: len(layout.turning)] for one in states], tick["joint_angle_rad"]
    )  # and those of the wheels are their speeds, summed
    turned = np.cumsum(tick["wheel_speed_radps"][1:] * np.diff(tick["t_ns"])[:, None] * 1e-9, axis=0)
    np.testing.assert_allclose([one.position[wheels] for one in states[1:]], turned, atol=1e-12)
    odometry = bag["/odom"][-1][1]
    assert (odometry.twist.twist.linear.x, odometry.pose.pose.position.x) == (
        tick["speed_mps"][-1],
        tick["pose"][-1, 0],
    )
    loads = [message.wrench.force.z for _, message in bag["/wheels/rear_right/load"]]
    np.testing.assert_array_equal(loads, tick["normal_force_N"][:, layout.wheels.index("rear_right")])
    forces = [-message.wrench.force.z for _, message in bag["/force_sensors/top"]]
    np.testing.assert_array_equal(forces, tick["force_N"][:, layout.channels.index("top")])


def test_frames_are_where_the_film_has_them_and_are_the_links_of_the_robots_description(bag, record, recorded):
    ((described_ns, description),) = bag["/robot_description"]
    robot = ElementTree.fromstring(description.data)
    began_ns = described_ns
    film = filmed(recorded("burst"), None, None)
    for t_ns, message in bag["/tf"][::40]:
        frames = {one.child_frame_id: one.transform.translation for one in message.transforms}
        place = film.at((t_ns - began_ns) * 1e-9).placed.origin["front_right_wheel"]
        found = frames["front_right_wheel"]
        np.testing.assert_allclose((found.x, found.y, found.z), place, atol=1e-9)
        assert frames["front_right_load"] == found
        assert all(one.header.frame_id == "world" for one in message.transforms)
    assert {link.get("name") for link in robot.iter("link")} <= frames.keys()
    joints = {joint.get("name") for joint in robot.iter("joint")}
    assert set(bag["/joint_states"][0][1].name) <= joints


def test_events_are_lines_of_the_log_and_a_fault_is_an_error(bag, record):
    lines = [message for _, message in bag["/rosout"]]
    assert len(lines) == len(record.events)
    assert {line.level for line, event in zip(lines, sorted(record.events, key=lambda one: one["t_ns"]), strict=True)
            if event["id"]} <= {40}  # fmt: skip
    assert any(line.msg.startswith("impact") and line.level == 20 for line in lines)
