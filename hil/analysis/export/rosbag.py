"""A record as a ROS 2 bag: standard messages, so that RViz, PlotJuggler and a lab's own nodes read it as a rover's."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.analysis.export.channels import RecordedMotion, began_utc, event_words, rows_in_time
from hil.analysis.export.tables import Table
from hil.analysis.film.solids import GROUND, OBSTACLE, WORLD, WheelAngles
from hil.config.schema.instruments import INERTIAL
from models.rover.urdf import to_urdf

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

    from models.rover.tree import Tree

_NODE, _NAME = "rover_hil", "trial"  # the latter of the bag's files
DESCRIPTION = "/robot_description"
_SECOND_NS = 1_000_000_000
# Of a message of an inertial unit: no orientation is measured.
_UNKNOWN, _UNMEASURED = np.zeros(9), np.array([-1.0, *[0.0] * 8])
# Times [ns], topics and messages.
_Timed = Iterator[tuple[int, str, Any]]


def write_rosbag2(
    tables: Sequence[Table], facts: Mapping[str, str | float], path: Path, motion: RecordedMotion | None
) -> None:
    """Write one folder with an MCAP file; times are Unix times, those of the record after its beginning.

    Topics, each where the record has what it takes:

    - `/robot_description` (std_msgs/String): the rover as a URDF, whose links are the frames of `/tf`;
    - `/tf` (tf2_msgs/TFMessage): every body, from frame `world`, and `NAME_load`, at a wheel's centre with the ground's
      axes;
    - `/joint_states` (sensor_msgs/JointState): suspension's joints by the twin, wheels as measured;
    - `/odom` (nav_msgs/Odometry): pose and forward speed of the main body, by the twin;
    - `/wheels/NAME/load` (geometry_msgs/WrenchStamped): normal force by the twin, along z of `NAME_load`;
    - `/force_sensors/NAME` (the same): force on the plate, against z of `obstacle`;
    - `/imu/data_raw` (sensor_msgs/Imu): each new reading, in the instrument's axes;
    - `/rosout` (rcl_interfaces/Log): events; a fault is an error.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)  # these messages have not changed since Humble
    make, ticks = _Messages(store), next(table for table in tables if table.name == "tick")
    events = next(table for table in tables if table.name == "events")
    streams = [_of_ticks(ticks, make, motion), _of_events(events, make)]
    if motion is not None:
        streams += [_of_motion(motion, make), iter([(0, DESCRIPTION, make.text(_urdf(motion.tree)))])]
    began = began_utc(str(facts.get("wall_time", ""))).replace(tzinfo=UTC)
    began_ns, inside = round(began.timestamp() * 1e6) * 1000, path / _NAME
    path.mkdir()
    with Writer(inside, version=Writer.VERSION_LATEST, storage_plugin=StoragePlugin.MCAP) as bag:
        connections: dict[str, Any] = {}
        for t_ns, topic, message in heapq.merge(*streams, key=lambda one: one[0]):
            kind, at_ns = message.__msgtype__, began_ns + t_ns
            _stamp(message, at_ns, make)
            if topic not in connections:
                quality = [_kept()] if topic == DESCRIPTION else []
                connections[topic] = bag.add_connection(topic, kind, typestore=store, offered_qos_profiles=quality)
            bag.write(connections[topic], at_ns, store.serialize_cdr(message, kind))
    for file in inside.iterdir():  # the bag has the name of its files from its folder, which has another while it grows
        file.rename(path / file.name)
    inside.rmdir()


def _kept() -> Any:
    """Quality of service of a topic whose last message those get who come later."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    never = QosTime(0, 0)
    return Qos(
        QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, never, never,
        QosLiveliness.AUTOMATIC, never, avoid_ros_namespace_conventions=False,
    )  # fmt: skip


class _Messages:
    """Messages of a set of types, without their times."""

    def __init__(self, store: Typestore) -> None:
        self._types = store.types

    def time(self, t_ns: int) -> Any:
        """A time [ns]."""
        return self._types["builtin_interfaces/msg/Time"](*divmod(t_ns, _SECOND_NS))

    def head(self, frame: str) -> Any:
        """A header."""
        return self._types["std_msgs/msg/Header"](self.time(0), frame)

    def text(self, content: str) -> Any:
        """A text."""
        return self._types["std_msgs/msg/String"](content)

    def log(self, level: str, words: str) -> Any:
        """A line of a log, of level ERROR or INFO."""
        kind = self._types["rcl_interfaces/msg/Log"]
        return kind(self.time(0), getattr(kind, level), _NODE, words, "", "", 0)

    def transforms(self, names: Sequence[str], origins: Any, turns: Any) -> Any:
        """Frames (frames, 3) [m] and quaternions (frames, 4), from the world."""
        kind, pose = self._types["geometry_msgs/msg/TransformStamped"], self._types["geometry_msgs/msg/Transform"]
        made = [
            kind(self.head(WORLD), name, pose(self._vector(place), self._turn(turn)))
            for name, place, turn in zip(names, origins.tolist(), turns.tolist(), strict=True)
        ]
        return self._types["tf2_msgs/msg/TFMessage"](made)

    def joints(self, names: Sequence[str], position: Any, velocity: Any) -> Any:
        """Positions and velocities (joints,) [rad or m, per s]; NaN: not known."""
        return self._types["sensor_msgs/msg/JointState"](
            self.head(""), list(names), np.array(position, float), np.array(velocity, float), np.zeros(0)
        )

    def odometry(self, body: str, pose: Sequence[float], speed_mps: float) -> Any:
        """Pose (7,) of a body in the world, and its forward speed; the covariances are unknown."""
        types = self._types
        place = types["geometry_msgs/msg/Pose"](types["geometry_msgs/msg/Point"](*pose[:3]), self._turn(pose[3:]))
        twist = types["geometry_msgs/msg/Twist"](self._vector((speed_mps, 0.0, 0.0)), self._vector((0.0, 0.0, 0.0)))
        unknown = np.zeros(36)
        return types["nav_msgs/msg/Odometry"](
            self.head(WORLD), body, types["geometry_msgs/msg/PoseWithCovariance"](place, unknown),
            types["geometry_msgs/msg/TwistWithCovariance"](twist, unknown),
        )  # fmt: skip

    def wrench(self, frame: str, force_N: Sequence[float]) -> Any:
        """A force (3,) in a frame."""
        wrench = self._types["geometry_msgs/msg/Wrench"](self._vector(force_N), self._vector((0.0, 0.0, 0.0)))
        return self._types["geometry_msgs/msg/WrenchStamped"](self.head(frame), wrench)

    def inertial(self, reading: Sequence[float]) -> Any:
        """Acceleration [m/s^2] and rate of turn [rad/s] (6,) of an inertial unit."""
        acceleration, rate = self._vector(reading[:3]), self._vector(reading[3:])
        return self._types["sensor_msgs/msg/Imu"](
            self.head("imu"), self._turn((0.0, 0.0, 0.0, 1.0)), _UNMEASURED, rate, _UNKNOWN, acceleration, _UNKNOWN
        )

    def _vector(self, values: Sequence[float]) -> Any:
        return self._types["geometry_msgs/msg/Vector3"](*values)

    def _turn(self, quaternion: Sequence[float]) -> Any:
        return self._types["geometry_msgs/msg/Quaternion"](*quaternion)


def _stamp(message: Any, t_ns: int, make: _Messages) -> None:
    """Write the time [ns] into every header of a message."""
    if hasattr(message, "header"):
        message.header.stamp = make.time(t_ns)
    elif hasattr(message, "stamp"):
        message.stamp = make.time(t_ns)
    for one in getattr(message, "transforms", ()):
        one.header.stamp = make.time(t_ns)


def _of_events(events: Table, make: _Messages) -> _Timed:
    names = [column.name for column in events.columns]
    for t_ns, row in rows_in_time(events):
        event = dict(zip(names, row, strict=True))
        yield t_ns, "/rosout", make.log("ERROR" if event["id"] else "INFO", event_words(event))


def _of_motion(motion: RecordedMotion, make: _Messages) -> _Timed:
    names = motion.rig.names
    wheels, ground = [names.index(mount.body) for mount in motion.tree.wheels], names.index(GROUND)
    named = [*names, *(f"{mount.name}_load" for mount in motion.tree.wheels)]
    for t_ns, frames in motion.frames():
        origins = np.concatenate((frames.origins, frames.origins[wheels]))
        turns = np.concatenate((frames.quaternions, frames.quaternions[[ground] * len(wheels)]))
        yield max(t_ns, 0), "/tf", make.transforms(named, origins, turns)


def _urdf(tree: Tree) -> str:
    """With all its shapes; without them where a joint follows two others, which a URDF cannot say so."""
    try:
        return to_urdf(tree, whole=True)
    except ValueError:
        return to_urdf(tree)


def _of_ticks(ticks: Table, make: _Messages, motion: RecordedMotion | None) -> _Timed:
    """What every tick has, and each new reading of the inertial unit."""
    tree = None if motion is None else motion.tree
    bodies = {} if tree is None else {mount.name: mount.body for mount in tree.wheels}
    axles = {} if tree is None else {joint.child: joint.name for joint in tree.joints}
    base = "base_link" if tree is None else tree.bodies[0].name
    names = [column.name for column in ticks.columns]
    place = {name: at for at, name in enumerate(names)}

    def parts(field: str) -> dict[str, int]:
        return {name.partition(".")[2]: at for name, at in place.items() if name.startswith(f"{field}.")}

    joints, wheels, pose = parts("joint_angle_rad"), parts("wheel_speed_radps"), list(parts("pose").values())
    loads, sensors = parts("normal_force_N"), parts("force_N")
    imu = [place[f"imu_reading.{name}"] for name in INERTIAL if f"imu_reading.{name}" in place]
    turning, imu_ns = WheelAngles(len(wheels)), -1
    states = [*joints, *(axles.get(bodies.get(wheel, ""), f"{wheel}_drive") for wheel in wheels)]
    for values in ticks.blocks():
        for row in zip(*(one.tolist() for one in values), strict=True):
            t_ns, speeds = max(int(row[place["t_ns"]]), 0), [row[one] for one in wheels.values()]
            angles = [*(row[one] for one in joints.values()), *turning.add(t_ns, speeds)]
            yield t_ns, "/joint_states", make.joints(states, angles, [*(math.nan for _ in joints), *speeds])
            if pose and all(math.isfinite(row[one]) for one in pose):
                yield t_ns, "/odom", make.odometry(base, [row[one] for one in pose], row[place["speed_mps"]])
            for wheel, one in loads.items():
                yield t_ns, f"/wheels/{wheel}/load", make.wrench(f"{wheel}_load", (0.0, 0.0, row[one]))
            for sensor, one in sensors.items():
                yield t_ns, f"/force_sensors/{sensor}", make.wrench(OBSTACLE, (0.0, 0.0, -row[one]))
            if imu and row[place["imu_t_ns"]] > imu_ns:
                imu_ns = row[place["imu_t_ns"]]
                yield t_ns, "/imu/data_raw", make.inertial([row[one] for one in imu])
