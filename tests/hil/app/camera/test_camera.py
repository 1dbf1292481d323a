"""A camera beside a run: its frames have the record's clock, and nothing that it does ends or delays the run."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from hil.analysis.verify import verify
from hil.app.camera import capture as capture_module
from hil.app.camera.capture import RAW_TABLE, CameraError, CameraFrame, Capture, capture, frames, granted, silence
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.schema.sensors import CameraConfig
from hil.recording import read_trial
from hil.recording.run_folder import FOLDER, TABLE, FolderError, RunFrame, annotate, frames_of

CONFIG = CameraConfig(device="/dev/video99", rate_hz=10.0)
SHORT = ("experiment=jog", "jog.seconds=0.3", "telemetry.endpoint=''")


class Child:
    """The process of a camera, which said something once, and has written rows."""

    def __init__(self, said, rows=(), ends_well=True):
        self._said, self._rows, self._ends_well = said, rows, ends_well

    def __call__(self, folder, _config):
        (folder / RAW_TABLE).write_text("".join(f"{row}\n" for row in self._rows))
        return self

    def receive(self, _within_s):
        return self._said

    def end(self, _within_s):
        return self._ends_well


class Lifecycle:
    ending = orphaned = False

    def __init__(self):
        self.said = []

    def ready(self):
        self.said.append("ready")

    def report(self, **message):
        self.said.append(message)


def test_frames_and_their_times_are_written_until_it_is_asked_to_end(tmp_path):
    lifecycle = Lifecycle()

    def source(ending, began):
        began()
        for number in range(10):
            if ending():
                return
            yield CameraFrame(100 + number, 7 + number, b"jpeg%d" % number, "camera")
            lifecycle.ending = number == 2

    capture(tmp_path, lifecycle, source)
    assert lifecycle.said == ["ready"]
    assert (tmp_path / RAW_TABLE).read_text().splitlines()[1] == "101,8,000001.jpg,camera"
    assert [path.read_bytes() for path in sorted(tmp_path.glob("*.jpg"))] == [b"jpeg0", b"jpeg1", b"jpeg2"]


def test_a_camera_that_cannot_be_used_is_reported(tmp_path):
    def source(_ending, _began):
        raise CameraError("it gives YUYV; needed: MJPEG")
        yield

    lifecycle = Lifecycle()
    capture(tmp_path, lifecycle, source)
    assert lifecycle.said == [{"error": "it gives YUYV; needed: MJPEG"}]


def test_times_of_frames_are_on_the_clock_of_the_record(tmp_path):
    camera = Capture(tmp_path, CONFIG, Child({"ready": True}, ["900,1,000000.jpg,camera", "1500,2,000001.jpg,arrival"]))
    expected = [RunFrame(-100, 1, "000000.jpg", "camera"), RunFrame(500, 2, "000001.jpg", "arrival")]
    assert camera.end(1000) == expected
    assert (camera.problem, frames_of(tmp_path)) == ("", expected)
    assert not (tmp_path / FOLDER / RAW_TABLE).exists()


@pytest.mark.parametrize(
    ("child", "problem"),
    [
        (Child({"error": "No such file or directory"}), "camera /dev/video99: No such file or directory"),
        (Child({}), "did not begin within 5 s"),
        (Child({"ready": True}, ["5,1,000000.jpg,camera", "9,2,0000"], ends_well=False), "ended before the run"),
    ],
)
def test_what_becomes_of_a_camera_is_said_and_raises_nothing(tmp_path, child, problem):
    camera = Capture(tmp_path, CONFIG, child)
    camera.end(None)
    assert problem in camera.problem


def test_a_table_that_is_damaged_is_named_and_none_is_no_frame(tmp_path):
    assert frames_of(tmp_path) == []
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / TABLE).write_text("t_ns,file\n1,x\n")
    with pytest.raises(FolderError, match=r"frames\.csv cannot be read"):
        frames_of(tmp_path)


def frames_at(*times_s):
    return [RunFrame(round(t_s * 1e9), number, "", "camera") for number, t_s in enumerate(times_s)]


@pytest.mark.parametrize(
    ("times_s", "begin_s", "length_ms"),
    [
        (np.arange(0.1, 3.0, 0.1), None, None),
        ([0.1, 0.2, 0.9, 1.4, 1.9, 2.4, 2.8], 0.2, 700.0),
        ([0.8, 1.2, 1.7, 2.2, 2.7], 0.0, 800.0),
        ([-0.4, 0.4, 0.9, 1.4, 1.9, 3.1], 1.9, 1100.0),
        ([], 0.0, 3000.0),
    ],
)
def test_the_longest_time_without_a_frame_is_marked_also_at_the_begin_and_the_end(times_s, begin_s, length_ms):
    marks = silence(frames_at(*times_s), (0, 3_000_000_000), 10.0)
    found = [(row["t_ns"] * 1e-9, row["value"], row["limit"]) for mark in marks for row in mark]
    assert found == ([] if begin_s is None else [pytest.approx((begin_s, length_ms, 500.0))])


def test_a_problem_is_marked_even_without_silence():
    (mark,) = silence(frames_at(*np.arange(0.1, 3.0, 0.1)), (0, 3_000_000_000), 10.0, "camera: its process ended")
    assert b"camera: its process ended; no frame for 0.1" in mark["detail"][0]


def scripted_linuxpy(monkeypatch, buffers, pixel_format="MJPEG", fps=10):
    """linuxpy.video.device with a camera that fills these buffers: flags, seconds, microseconds, sequence, bytes."""
    waiting, formats = list(buffers), {name: SimpleNamespace(name=name) for name in ("MJPEG", "JPEG", "YUYV")}

    @contextmanager
    def device(_path):
        yield SimpleNamespace(fileno=lambda: 0, info=SimpleNamespace(card="Cam"))

    class VideoCapture:
        def __init__(self, _device, size):
            self.buffer = self
            assert size >= 2

        def set_format(self, *asked):
            assert asked == (640, 480, "MJPG")

        def get_format(self):
            return SimpleNamespace(pixel_format=formats[pixel_format], width=640, height=480)

        def set_fps(self, rate_hz):
            assert rate_hz == 10.0
            if not fps:
                raise OSError(25, "Inappropriate ioctl for device")

        def get_fps(self):
            return fps

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def raw_read(self):
            flags, secs, usecs, number, data = waiting.pop(0)
            stamp = SimpleNamespace(timestamp=SimpleNamespace(secs=secs, usecs=usecs))
            return SimpleNamespace(flags=flags, buff=stamp, frame_nb=number, data=memoryview(data))

    module = ModuleType("linuxpy.video.device")
    module.Device, module.VideoCapture = device, VideoCapture
    module.PixelFormat = SimpleNamespace(MJPEG=formats["MJPEG"], JPEG=formats["JPEG"])
    monkeypatch.setitem(sys.modules, "linuxpy.video.device", module)
    monkeypatch.setattr(capture_module.select, "select", lambda read, *_: (read if waiting else [], [], []))
    return lambda: not waiting


def test_a_frame_has_the_time_of_the_driver_or_if_that_is_of_another_clock_of_its_arrival(monkeypatch):
    ending = scripted_linuxpy(monkeypatch, [(0x2001, 12, 345_678, 7, b"one"), (0x0001, 99, 0, 9, b"two")])
    monkeypatch.setattr(capture_module.time, "monotonic_ns", lambda: 12_400_000_000)
    began = []
    found = list(frames("/dev/video0", 10.0, (640, 480), ending, lambda: began.append(True)))
    assert found == [
        CameraFrame(12_345_678_000, 7, b"one", "camera"),
        CameraFrame(12_400_000_000, 9, b"two", "arrival"),
    ]
    assert began == [True]


@pytest.mark.parametrize(
    ("secs", "usecs", "believed"), [(11, 400_000, True), (11, 399_999, False), (12, 400_001, False)]
)
def test_a_time_of_a_frame_that_cannot_be_is_replaced_by_its_arrival(monkeypatch, secs, usecs, believed):
    ending = scripted_linuxpy(monkeypatch, [(0x2001, secs, usecs, 7, b"one")])
    monkeypatch.setattr(capture_module.time, "monotonic_ns", lambda: 12_400_000_000)
    (frame,) = frames("/dev/video0", 10.0, (640, 480), ending, lambda: None)
    assert (frame.time_from, frame.t_ns == 12_400_000_000) == (("camera", False) if believed else ("arrival", True))


def test_a_frame_that_its_driver_calls_damaged_or_that_is_empty_is_none_and_a_camera_with_no_other_is_silent(
    monkeypatch, tmp_path
):
    bad = [(0x2041, 12, 0, number, b"half a frame") for number in range(5)] + [(0x2001, 12, 0, 5, b"")]
    ending = scripted_linuxpy(monkeypatch, [*bad, (0x2001, 12, 0, 6, b"whole")])
    monkeypatch.setattr(capture_module.time, "monotonic_ns", lambda: 12_100_000_000)
    assert [frame.sequence for frame in frames("/dev/video0", 10.0, (640, 480), ending, lambda: None)] == [6]
    ending = scripted_linuxpy(monkeypatch, bad)
    source = partial(frames, "/dev/video0", 10.0, (640, 480))
    capture(tmp_path, Lifecycle(), lambda _, began: source(ending, began))
    assert [path.name for path in tmp_path.iterdir()] == ["frames.raw"]
    assert (tmp_path / "frames.raw").read_text() == ""
    ((event,),) = silence([], (0, 3_000_000_000), 10.0)
    assert event["value"] == 3000.0


@pytest.mark.parametrize(("fps", "rate_hz"), [(7.5, 7.5), (None, np.nan)])
def test_a_camera_is_asked_what_it_grants_and_one_without_a_rate_is_used_as_it_is(monkeypatch, fps, rate_hz):
    ending = scripted_linuxpy(monkeypatch, [(0x2001, 12, 0, 7, b"one")], fps=fps)
    found = granted("/dev/video0", 10.0, (640, 480))
    assert found[:4] == ("Cam", "MJPEG", 640, 480)
    np.testing.assert_equal(found.rate_hz, rate_hz)
    assert [frame.jpeg for frame in frames("/dev/video0", 10.0, (640, 480), ending, lambda: None)] == [b"one"]


def test_a_camera_without_jpeg_or_that_is_not_there_is_refused_in_words(monkeypatch):
    pytest.importorskip("linuxpy", reason="opens the camera")
    with pytest.raises(CameraError, match="No such file"):
        next(frames("/dev/no_such_camera", 10.0, (640, 480), lambda: True, lambda: None))
    ending = scripted_linuxpy(monkeypatch, [], "YUYV")
    with pytest.raises(CameraError, match="it gives YUYV; needed: MJPEG"):
        next(frames("/dev/video0", 10.0, (640, 480), ending, lambda: None))


@pytest.mark.parametrize(
    ("source", "overrides", "found"),
    [
        ("sim_impact", ["camera={device: /dev/video0}"], r"camera\.device: found /dev/video0; allowed: .*simulated"),
        ("mars_dome", ["camera={}"], r"camera\.device: found .*; allowed: a V4L2 device"),
        ("sim_impact", ["camera={device: video0}"], r"camera\.device"),
    ],
)
def test_a_camera_that_the_rig_cannot_have_is_refused(source, overrides, found):
    with pytest.raises(ConfigError, match=found):
        load_config(source, overrides)


@pytest.mark.slow
def test_a_simulated_camera_draws_the_rover_after_the_run_and_with_frames_and_a_note_the_record_holds(tmp_path):
    config = load_config("sim_impact", [*SHORT, "camera={rate_hz: 5, width_px: 160, height_px: 120}"])
    assert run_experiment(config, tmp_path, progress=lambda _: None, figure=False).exit_code == 0
    found = frames_of(tmp_path)
    end_ns = read_trial(tmp_path, trusted=True).tick["t_ns"][-1]
    assert [frame.t_ns for frame in found] == list(range(0, int(end_ns) + 1, 200_000_000))
    pictures = [Image.open(io.BytesIO((tmp_path / FOLDER / frame.file).read_bytes())) for frame in found]
    assert {(picture.format, picture.size) for picture in pictures} == {("JPEG", (160, 120))}
    assert np.asarray(pictures[0]).std() > 10.0
    annotate(tmp_path, "a note", add=["good"])
    assert [str(check) for check in verify(tmp_path) if not check.ok] == []


@pytest.mark.slow
def test_a_run_whose_camera_is_not_there_is_a_run_with_a_mark(tmp_path, monkeypatch):
    monkeypatch.setattr("hil.app.camera.capture.BEGIN_S", 120.0)  # a busy machine starts a process slowly
    config = load_config("sim_impact", [*SHORT, "clock=realtime", "camera={device: /dev/no_such_camera}"])
    said = []
    run_experiment(config, tmp_path, progress=said.append, figure=False)
    events = read_trial(tmp_path, trusted=True).events
    (mark,) = events[events["name"] == b"camera silent"]
    assert b"/dev/no_such_camera: No such file" in mark["detail"]
    assert any("No such file" in line for line in said)
    # On a busy machine such a run may be ended by fault 11 before its last command was confirmed.
    failed = [check for check in verify(tmp_path) if not check.ok and not check.item.endswith(": confirmed")]
    assert failed == []
