"""`hil render`: pictures and films of a run, in which the plate stands still and is touched at the impact."""

from __future__ import annotations

import dataclasses
import math
import stat
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from hil.analysis.dataset import UnverifiedRunError
from hil.analysis.film.files import FilmError
from hil.analysis.film.make import FilmRequest, render
from hil.analysis.film.moments import HITTING, filmed
from hil.analysis.film.skeleton import Poses, Skeleton, foot_of, rim_outline
from hil.analysis.film.view import View, make_figure
from hil.app.run import run_experiment
from hil.config import load_config
from hil.messages.stages import UPRIGHT
from hil.recording import RecordError
from models.rover import RcpParameters
from models.rover.registry import ROVERS
from models.terrain import make_height_map, uneven_ground


@pytest.mark.parametrize("name", sorted(ROVERS))
def test_a_skeleton_has_its_wheels_where_the_model_has_them(name):
    parameters = ROVERS[name]()
    locks = dict.fromkeys(parameters.rig_locks(), 0.0)
    rover = parameters.build(locks=locks)
    wheels = {wheel.body for wheel in rover.tree.wheels}
    of_wheels = [joint.name for joint in rover.tree.joints if joint.child in wheels]
    turning = [joint for joint in rover.tree_joint_names if joint not in of_wheels]
    random = np.random.default_rng(1)
    q = rover.neutral()
    q[:3] = random.normal(size=3)
    q[3:7] = (turn := random.normal(size=4)) / np.linalg.norm(turn)
    q[7:] = random.uniform(-0.5, 0.5, len(q) - 7)
    angle = dict(zip(rover.tree_joint_names, rover.tree_configuration(q)[7:], strict=True))
    turned = [angle.get(joint, 0.0) for joint in of_wheels]
    skeleton = Skeleton(rover.tree, turning)
    placed = skeleton.place(q[:7], [angle[joint] for joint in turning], turned)
    found = np.array([placed.origin[wheel] for wheel in skeleton.wheels])
    np.testing.assert_allclose(found, rover.wheel_positions(q), atol=1e-12)


@pytest.mark.parametrize("angle_deg", [10, 40, 60, 90])
def test_at_gap_zero_the_wheels_circle_touches_the_inclined_plate(angle_deg):
    angle, centre, radius = math.radians(angle_deg), np.array([[1.3, 0.5, 0.17]]), 0.175
    foot = foot_of(0.0, centre, radius, angle)
    along = np.linspace(-2.0, 2.0, 400_001)
    plate = np.column_stack([foot + along * math.cos(angle), along * math.sin(angle)])
    assert np.hypot(*(plate - centre[0, [0, 2]]).T).min() == pytest.approx(radius, abs=1e-6)
    assert foot_of(0.01, centre, radius, angle) - foot == pytest.approx(0.01 / math.sin(angle))


@pytest.mark.slow
def test_the_plate_of_a_trial_stands_still_until_the_impact_and_then_at_the_wheels(recorded):
    run = filmed(recorded("good"), None, None)
    assert run.plate is not None
    hit = int(np.flatnonzero(run.rows["impact"])[0])
    feet = []
    for row, turned in zip(run.rows, run.turned_rad, strict=True):
        placed = run.skeleton.place(row["pose"], row["joint_angle_rad"], turned)
        centres = np.array([placed.origin[wheel] for wheel in run.skeleton.wheels[:HITTING]])
        feet.append(foot_of(float(row["gap_m"]), centres, run.radius_m, run.plate.angle))
    before, after = np.array(feet[2 : hit - 1]), np.array(feet[hit + 2 :])
    assert np.ptp(before) < 2e-4
    assert np.ptp(after) < 2e-4
    assert abs(run.rows["gap_m"][hit + 1]) < 1e-3


def test_the_wheels_of_a_film_turn_by_the_way_that_they_roll(recorded):
    run = filmed(recorded("good"), None, None)
    way = run.rows["way_m"][-1] - run.rows["way_m"][0]
    assert run.turned_rad[-1] * run.radius_m == pytest.approx([way] * 6, rel=0.2)


@pytest.mark.ci_cases("side")
@pytest.mark.slow
@pytest.mark.parametrize("view", ["side", "top"])
def test_a_strip_of_pictures_is_a_png(recorded, tmp_path, view):
    path, count = render(recorded("good"), FilmRequest(view, "png"), tmp_path / "strip.png")
    assert count == 6
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 50


@pytest.mark.slow
def test_a_slow_film_shows_the_impact_alone_at_its_speed(recorded, tmp_path):
    progress = []
    wanted = FilmRequest("side", "gif", speed=0.1, fps=10.0)
    path, count = render(recorded("good"), wanted, tmp_path / "film.gif", lambda *done: progress.append(done))
    assert count in (10, 11)  # 0.1 s at a tenth: one second
    assert progress[-1] == (count, count)
    with Image.open(path) as film:
        assert film.format == "GIF"
        first = np.asarray(film.convert("RGB")).copy()
        film.seek(film.n_frames - 1)
        assert film.info["duration"] == 100
        assert (np.asarray(film.convert("RGB")) != first).any()


def test_a_film_of_too_many_pictures_is_refused_with_what_to_do(recorded, tmp_path):
    with pytest.raises(FilmError, match=r"allowed: 3000; --from and --to-time"):
        render(recorded("good"), FilmRequest("side", "gif", speed=0.001, from_s=0.0), tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []


def test_without_ffmpeg_an_mp4_is_refused_and_gif_is_named(recorded, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FilmError, match=r"no program ffmpeg .* --to gif"):
        render(recorded("good"), FilmRequest("side", "mp4"), None)
    assert not (recorded("good") / "side.mp4").exists()


FFMPEG = """#!{python}
import sys
size = [int(part) for part in sys.argv[sys.argv.index("-s") + 1].split("x")]
data = sys.stdin.buffer.read()
assert size[0] % 2 == size[1] % 2 == 0, size
open(sys.argv[-1], "w").write(str(len(data) / (size[0] * size[1] * 3)))
"""
FAILING = """#!{python}
import sys
sys.exit("no encoder libx264")
"""


def program(folder, text):
    path = folder / "ffmpeg"
    path.write_text(text.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.slow
def test_an_mp4_is_made_by_ffmpeg_from_whole_pictures(recorded, tmp_path, monkeypatch):
    program(tmp_path, FFMPEG)
    monkeypatch.setenv("PATH", str(tmp_path))
    path, count = render(recorded("good"), FilmRequest("top", "mp4", speed=0.1, fps=5.0), tmp_path / "film.mp4")
    assert float(path.read_text()) == count
    assert count in (5, 6)


def test_what_ffmpeg_complains_of_is_said_and_no_file_is_left(recorded, tmp_path, monkeypatch):
    program(tmp_path, FAILING)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FilmError, match="no encoder libx264"):
        render(recorded("good"), FilmRequest("top", "mp4", speed=0.1, fps=5.0), tmp_path / "film.mp4")
    assert not (tmp_path / "film.mp4").exists()


def test_of_a_record_without_motion_it_is_said_which_version_made_it(edited):
    folder = edited("good", lambda edit: edit.fields("tick", ["tick", "t_ns", "impact", "state"]))
    with pytest.raises(RecordError, match=r"no motion of the rover .* version"):
        filmed(folder, None, None)


def test_a_run_that_was_changed_is_refused_and_unverified_says_so_in_the_picture(edited, tmp_path):
    folder = edited("good", lambda edit: edit.cells("tick", "way_m", slice(10), np.zeros_like), sealed=False)
    with pytest.raises(UnverifiedRunError, match="--unverified"):
        render(folder, FilmRequest("side", "png"), tmp_path / "strip.png")
    assert "NOT VERIFIED" in filmed(folder, None, None, unverified=True).name


def test_a_time_that_the_run_does_not_have_is_refused_with_what_it_has(recorded):
    with pytest.raises(RecordError, match=r"no tick from 100 to .* it has 0 to"):
        filmed(recorded("good"), 100.0, None)


def test_at_rest_the_rcp_stands_on_its_wheels():
    skeleton = Skeleton(RcpParameters().tree(), ())
    placed = skeleton.place(UPRIGHT, (), (0.0,) * 6)
    heights = [placed.origin[wheel][2] for wheel in skeleton.wheels]
    assert heights == pytest.approx([wheel.radius for wheel in skeleton.tree.wheels])


@pytest.mark.slow
def test_on_a_slope_every_wheel_stands_on_the_drawn_ground(tmp_path):
    steps = "drive.steps=[{for_s: 1, speed_mps: 0.05}]"
    config = load_config("sim_juno", ["ground.pitch_deg=10", "ground.roll_deg=5", "telemetry.endpoint=''", steps])
    run_experiment(config, tmp_path, progress=lambda _: None, figure=False)
    run = filmed(tmp_path, None, None)
    pitch, roll = math.radians(10.0), math.radians(5.0)
    normal = [-math.sin(pitch) * math.cos(roll), -math.sin(roll), math.cos(pitch) * math.cos(roll)]
    moment = run.at(0.5)
    over_m = [float(moment.placed.origin[wheel] @ normal) for wheel in run.skeleton.wheels]
    assert over_m == pytest.approx([run.radius_m] * 4, abs=0.03)  # less the sinkage
    figure, (axes,) = make_figure(1, "side")
    view = View(axes, run, "side")
    view.draw(moment)
    assert view._normal == pytest.approx(normal)
    assert figure is axes.figure


def test_a_rover_that_turns_stays_in_the_picture_and_no_label_is_cut_at_its_edge(recorded):
    run = filmed(recorded("good"), None, None)
    rows = run.rows.copy()
    yaw = np.linspace(0.0, math.pi, len(rows))
    rows["pose"] = np.column_stack([np.zeros((len(rows), 5)), np.sin(yaw / 2), np.cos(yaw / 2)])
    turning = dataclasses.replace(run, rows=rows, plate=None)
    times_s = rows["t_ns"] * 1e-9
    for which, up in (("top", 1), ("side", 2)):
        figure, (axes,) = make_figure(1, which)
        view = View(axes, turning, which)
        for t_s in np.linspace(times_s[0], times_s[-1], 5):
            moment = turning.at(t_s)
            view.draw(moment)
            centres = np.array([moment.placed.origin[wheel] for wheel in run.skeleton.wheels])
            for centre, (low, high) in ((centres[:, 0], axes.get_xlim()), (centres[:, up], axes.get_ylim())):
                assert low + 0.9 * run.radius_m < centre.min()
                assert centre.max() < high - 0.9 * run.radius_m
        figure.draw_without_rendering()
        shown = [label.get_window_extent() for label in axes.texts if label.get_text()]
        assert shown
        assert all(axes.bbox.x0 <= one.x0 and one.x1 <= axes.bbox.x1 for one in shown)


@pytest.mark.parametrize(
    ("steer_deg", "wide_m"), [(0.0, 0.35), (90.0, 0.2), (30.0, 0.35 * math.cos(math.pi / 6) + 0.1)]
)
def test_a_steered_wheel_is_drawn_as_a_cylinder_that_points_that_way(steer_deg, wide_m):
    tree = RcpParameters().tree()
    wheel = dataclasses.replace(tree.wheels[0], width=0.2)
    angle = math.radians(steer_deg)
    axes = np.array([[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0], [0, 0, 1]])
    placed = Poses({wheel.body: np.array([1.0, 2.0, 0.175])}, {wheel.body: axes})
    side = rim_outline(wheel, 0.175, placed, side=True)
    assert np.ptp(side, axis=0) == pytest.approx([wide_m, 0.35], abs=1e-9)
    assert 0.5 * (side.min(axis=0) + side.max(axis=0)) == pytest.approx([1.0, 0.175])
    above = rim_outline(wheel, 0.175, placed, side=False)
    across = 0.35 * math.sin(angle) + 0.2 * math.cos(angle)
    assert np.ptp(above, axis=0) == pytest.approx([wide_m, across], abs=1e-9)


def test_loads_stand_along_the_normal_of_uneven_ground():
    relief = make_height_map(0.05 * np.arange(20)[:, None] * np.ones(20), -1.0, -1.0, 0.1)
    view = SimpleNamespace(_uneven=uneven_ground(relief), _normal=np.array([0.0, 0.0, 1.0]))
    along = View._normal_at(view, 0.0, 0.0)
    assert along[0] / along[2] == pytest.approx(-0.5, rel=0.01)
