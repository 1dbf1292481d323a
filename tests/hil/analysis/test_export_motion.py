"""MCAP and RRD show the rover as a film does: its frames, what is drawn in them, every number, and the events."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.spatial.transform import Rotation

from hil.analysis.dataset import MissingPackageError
from hil.analysis.export.run import export
from hil.analysis.film.moments import filmed
from hil.analysis.film.solids import Box, Cylinder, Lines, RigSolids, WheelAngles
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.layout import Layout
from hil.messages.stages import UPRIGHT
from hil.recording import read_trial
from hil.recording.content import packed

MOTION = ("way_m", "gap_m", "pose", "joint_angle_rad")
WHEEL = "front_right_wheel"


def decoder(schema: Any) -> Callable[[bytes], Any]:
    """Reads the messages of a channel by the schema that the file itself has."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(schema.data).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(schema.name)).FromString


@pytest.fixture(scope="module")
def mcap(recorded, tmp_path_factory):
    """Messages by topic: time [s] and content."""
    path = tmp_path_factory.mktemp("mcap") / "made.mcap"
    export(recorded("burst"), "mcap", path)
    return read_mcap(path)


def read_mcap(path: Path) -> dict[str, list[tuple[float, Any]]]:
    reader = pytest.importorskip("mcap.reader")
    found: dict[str, list[tuple[float, Any]]] = {}
    readers: dict[int, Callable[[bytes], Any]] = {}
    with path.open("rb") as file:
        made = reader.make_reader(file)
        found = {channel.topic: [] for channel in made.get_summary().channels.values()}
        for schema, channel, message in made.iter_messages():
            if schema.id not in readers:
                readers[schema.id] = json.loads if schema.encoding == "jsonschema" else decoder(schema)
            found[channel.topic].append((message.log_time * 1e-9, readers[schema.id](message.data)))
    return found


@pytest.fixture(scope="module")
def film(recorded):
    return filmed(recorded("burst"), None, None)


@pytest.mark.slow
def test_every_frame_of_the_file_is_where_the_film_has_that_body(mcap, film):
    assert len(mcap["/tf"]) > 100
    bodies = {body.name for body in film.skeleton.tree.bodies}
    for t_s, message in mcap["/tf"][::20]:
        placed = film.at(t_s).placed
        assert {one.child_frame_id for one in message.transforms} == bodies | {"ground", "obstacle"}
        for one in message.transforms:
            assert one.parent_frame_id == "world"
            assert one.timestamp.seconds + one.timestamp.nanos * 1e-9 == pytest.approx(t_s, abs=1e-9)
            if one.child_frame_id in bodies:
                origin = [one.translation.x, one.translation.y, one.translation.z]
                turn = [one.rotation.x, one.rotation.y, one.rotation.z, one.rotation.w]
                np.testing.assert_allclose(origin, placed.origin[one.child_frame_id], atol=1e-9)
                axes = Rotation.from_quat(turn).as_matrix()
                np.testing.assert_allclose(axes, placed.axes[one.child_frame_id], atol=1e-6)


@pytest.mark.slow
def test_every_tick_around_the_impact_is_shown_and_a_hundred_a_second_else(mcap, film):
    times = np.array([t_s for t_s, _ in mcap["/tf"]])
    steps = np.diff(times)
    near = (times[1:] > film.impact_s - 0.015) & (times[1:] < film.impact_s + 0.075)
    assert near.sum() >= 89
    np.testing.assert_allclose(steps[near], 1e-3, atol=1e-6)
    assert steps.max() < 0.0105
    assert times[-1] == pytest.approx(film.rows["t_ns"][-1] * 1e-9)


@pytest.mark.slow
def test_the_front_wheels_touch_the_plate_of_the_scene_at_the_impact(mcap, film):
    _, message = next(one for one in mcap["/tf"] if one[0] >= film.impact_s)
    frames = {one.child_frame_id: one for one in message.transforms}
    plate, wheel = frames["obstacle"], frames[WHEEL].translation
    turn = Rotation.from_quat([plate.rotation.x, plate.rotation.y, plate.rotation.z, plate.rotation.w])
    out_of_it = turn.apply([0.0, 0.0, 1.0])
    distance = out_of_it @ [wheel.x - plate.translation.x, 0.0, wheel.z]
    assert distance == pytest.approx(film.radius_m, abs=2e-3)


@pytest.mark.slow
def test_the_scene_has_a_part_in_every_frame_that_the_transforms_place(mcap, film):
    ((_, message),) = mcap["/scene"]
    placed = {one.child_frame_id for one in mcap["/tf"][0][1].transforms}
    entities = {one.frame_id: one for one in message.entities}
    assert set(entities) <= placed
    assert {"ground", "obstacle", *film.skeleton.wheels} <= set(entities)
    (wheel,) = entities[WHEEL].cylinders
    assert wheel.size.x == pytest.approx(
        2.0 * (film.radius_m - film.config.wheel.grouser_height_m * bool(film.config.wheel.grousers))
    )
    assert wheel.size.z == pytest.approx(film.skeleton.tree.wheels[0].width)
    assert len(entities["obstacle"].cubes) == 2
    assert all(one.frame_locked for one in message.entities)


@pytest.mark.slow
def test_events_are_lines_of_the_log_with_their_words(mcap, recorded):
    events = read_trial(recorded("burst"), trusted=True).events
    lines = [message.message for _, message in mcap["/log"]]
    assert len(lines) == len(events)
    assert any(line.startswith("impact") for line in lines)
    peak = next(event for event in events if event["name"] == b"truth: contact force peak")
    assert f"truth: contact force peak: value {peak['value']:.6g}, {peak['detail'].decode()}" in lines


@pytest.mark.slow
def test_numbers_of_ticks_and_summary_are_those_of_the_record(mcap, recorded):
    record = read_trial(recorded("burst"), trusted=True)
    forces = [message["normal_force_N"]["rear_right"] for _, message in mcap["tick"]]
    assert forces == record.tick["normal_force_N"][:, 5].tolist()
    summary = json.loads((recorded("burst") / "summary.json").read_text())
    ((t_s, trial),) = mcap["trial"]
    assert t_s == pytest.approx(record.tick["t_ns"][-1] * 1e-9)
    assert trial["peak_force_N"] == summary["peak_force_N"]


@pytest.mark.slow
def test_a_fault_is_an_error_of_the_log(recorded, tmp_path):
    export(recorded("silent"), "mcap", tmp_path / "made.mcap")
    lines = [message for _, message in read_mcap(tmp_path / "made.mcap")["/log"]]
    (fault,) = [line for line in lines if line.level == 4]
    assert fault.message.startswith("fault ")


@pytest.mark.slow
def test_a_record_without_motion_is_exported_without_a_scene(edited, tmp_path):
    def without(edit):
        rows = edit["tick"][()]
        del edit.file["tick"]
        kept = [name for name in rows.dtype.names if name not in MOTION]
        edit.file.create_dataset("tick", data=packed(rows, kept), maxshape=(None,), chunks=True)
        layout = Layout.from_json(edit["meta/layout"][()].decode())
        edit.meta("layout", replace(layout, turning=(), motion=False).to_json())

    folder = edited("burst", without)
    export(folder, "mcap", tmp_path / "made.mcap")
    found = read_mcap(tmp_path / "made.mcap")
    assert len(found["tick"]) > 1000
    assert found["/tf"] == found["/scene"] == []


@pytest.fixture(scope="module")
def rrd(recorded, tmp_path_factory):
    """Chunks by entity, those with times and those without."""
    pytest.importorskip("rerun")
    from rerun.chunk import RrdReader

    path = tmp_path_factory.mktemp("rrd") / "made.rrd"
    export(recorded("burst"), "rrd", path)
    moving: dict[str, list[Any]] = {}
    fixed: dict[str, list[Any]] = {}
    for chunk in RrdReader(path).stream():
        (fixed if chunk.is_static else moving).setdefault(str(chunk.entity_path), []).append(chunk.to_record_batch())
    return moving, fixed


def column_of(batch: Any, name: str) -> Any:
    return np.array([row[0] for row in batch.column(name).to_pylist()])


@pytest.mark.slow
def test_rerun_has_every_number_with_its_unit_and_time(rrd, recorded):
    moving, fixed = rrd
    tick = read_trial(recorded("burst"), trusted=True).tick
    (batch,) = moving["/tick/normal_force_N/rear_right"]
    np.testing.assert_array_equal(column_of(batch, "Scalars:scalars"), tick["normal_force_N"][:, 5])
    np.testing.assert_array_equal(batch.column("time").cast("int64").to_numpy(), tick["t_ns"])
    about = {
        name: value[0] for one in fixed["/tick/normal_force_N/rear_right"] for name, value in one.to_pydict().items()
    }
    assert about["SeriesLines:names"] == ["normal_force_N.rear_right [N]"]
    assert about["unit"] == ["N"]


@pytest.mark.slow
def test_rerun_has_the_wheels_where_the_film_has_them(rrd, film):
    moving, fixed = rrd
    (batch,) = moving[f"/world/{WHEEL}"]
    times_s = batch.column("time").cast("int64").to_numpy() * 1e-9
    places = column_of(batch, "Transform3D:translation")
    for t_s, place in list(zip(times_s, places, strict=True))[::20]:
        np.testing.assert_allclose(place, film.at(t_s).placed.origin[WHEEL], atol=1e-6)  # float32
    assert any(name.startswith(f"/world/{WHEEL}/cylinder") for name in fixed)


@pytest.mark.slow
def test_rerun_has_the_events_as_a_log(rrd, recorded):
    moving, _ = rrd
    events = read_trial(recorded("burst"), trusted=True).events
    lines = [text for batch in moving["/log"] for text in column_of(batch, "TextLog:text")]
    assert len(lines) == len(events)
    assert any(line.startswith("impact") for line in lines)


@pytest.mark.slow
def test_an_export_for_rerun_connects_to_nobody_and_leaves_nothing_in_the_home_folder(recorded, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from hil.analysis.export.run import export\n"
        "export(Path(sys.argv[1]), 'rrd', Path(sys.argv[2]))\n"
        "own = Path('/proc/self/fd')\n"
        "files = [os.readlink(own / one) for one in os.listdir(own) if os.path.lexists(own / one)]\n"
        "net = ' '.join(Path(f'/proc/self/net/{kind}').read_text() for kind in ('tcp', 'tcp6', 'udp', 'udp6'))\n"
        "print([one for one in files if one.startswith('socket:') and f' {one[8:-1]} ' in net])\n"
    )
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code, str(recorded("burst")), str(tmp_path / "made.rrd")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert not [path for path in home.rglob("*") if "rerun" in path.name or "analytics" in path.name]


@pytest.mark.parametrize(
    ("to", "package", "extra"), [("mcap", "foxglove-sdk", "export"), ("rrd", "rerun-sdk", "rerun")]
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(to, package, extra, tmp_path, monkeypatch):
    find = __import__("importlib.util").util.find_spec
    gone = {"foxglove", "rerun"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name in gone else find(name, *more))
    with pytest.raises(MissingPackageError, match=rf"{package}.*\[{extra}\]"):
        export(tmp_path, to, tmp_path / "made")


@pytest.mark.parametrize("name", ["sim_impact", "sim_juno"])
def test_any_rover_is_drawn_with_a_part_for_each_body_and_a_cylinder_for_each_wheel(name):
    rig = RigSolids(Rig(load_config(name)))
    solids = rig.solids()
    wheels = [solid.frame for solid in solids if isinstance(solid, Cylinder)]
    assert tuple(wheels) == rig.skeleton.wheels
    boxes = {solid.frame for solid in solids if isinstance(solid, Box)}
    assert {body.name for body in rig.skeleton.tree.bodies} - set(wheels) <= boxes
    assert all(len(solid.points) % 2 == 0 for solid in solids if isinstance(solid, Lines))


def test_the_ground_of_a_slope_rises_ahead_as_its_config_says():
    config = load_config("sim_impact", ["experiment=drive", "ground.pitch_deg=10"])
    rig = RigSolids(Rig(config))
    still = (0.0,) * len(rig.skeleton.wheels)
    frames = rig.frames(UPRIGHT, (0.0,) * len(config.layout.turning), still, 0.0)
    turn = Rotation.from_quat(frames.quaternions[frames.names.index("ground")])
    ahead = turn.apply([1.0, 0.0, 0.0])
    assert np.degrees(np.arctan2(ahead[2], ahead[0])) == pytest.approx(10.0)
    assert "obstacle" not in frames.names


def test_wheels_turn_by_their_speed_and_begin_anew_with_another_run():
    turning = WheelAngles(2)
    turning.add(0, [9.0, 9.0])
    turning.add(500_000_000, [1.0, float("nan")])
    np.testing.assert_allclose(turning.add(1_000_000_000, [1.0, 2.0]), [1.0, 1.0])
    np.testing.assert_allclose(turning.add(10, [1.0, 2.0]), [0.0, 0.0])
