"""What is written is there as a whole, or what was there before is; nothing of others is touched or in the way."""

import errno
import os
import stat
from pathlib import Path

import pytest

from hil.analysis.own_rover.files import RoverFiles
from hil.config.calibration_sheets import SheetError, update_sheet
from hil.config.files import replacing, write_whole


@pytest.fixture
def full_disk(monkeypatch):
    """Every file takes 10 bytes, then the disk is full."""

    real = Path.open

    def opened(path, mode="r", *args, **kwargs):
        file = real(path, mode, *args, **kwargs)
        if "w" in mode:
            write = file.write

            def cut(content):
                write(content[:10])
                file.flush()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr(file, "write", cut, raising=False)
        return file

    monkeypatch.setattr("hil.config.files.Path.open", opened)


def test_a_sheet_is_as_it_was_when_the_disk_is_full(tmp_path, full_disk):
    sheet = tmp_path / "imu.yaml"
    former = 'serial: "17"\nnoise_radps: 0.02\n'
    with open(sheet, "w") as file:
        file.write(former)
    with pytest.raises(SheetError, match="No space left on device; nothing was written"):
        update_sheet(sheet, {"noise_radps": 0.01}, "imu")
    assert sheet.read_text() == former
    assert list(tmp_path.iterdir()) == [sheet]


def test_a_file_of_the_same_ending_that_somebody_left_is_neither_removed_nor_in_the_way(tmp_path):
    left = [tmp_path / "a.unfinished.csv", tmp_path / "a.csv.unfinished"]
    for path in left:
        path.write_text("of somebody")
    with replacing(tmp_path / "a.csv") as first, replacing(tmp_path / "a.csv") as second:
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "a.csv").read_text() == "first"  # it ended last
    assert [path.read_text() for path in left] == ["of somebody"] * 2
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("ending", [KeyboardInterrupt, OSError])
def test_what_ends_the_writing_leaves_what_was_there_and_nothing_beside(tmp_path, ending):
    place = tmp_path / "export"

    def write():
        with replacing(place) as unfinished:
            unfinished.mkdir()
            (unfinished / "part").write_text("half")
            raise ending

    with pytest.raises(ending):
        write()
    assert not list(tmp_path.iterdir())


def test_what_must_be_new_does_not_replace_what_came_meanwhile(tmp_path):
    place = tmp_path / "rover.urdf"

    def write():
        with replacing(place, new=True) as unfinished:
            unfinished.write_text("ours")
            place.write_text("theirs")

    with pytest.raises(FileExistsError):
        write()
    assert place.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_and_the_rights_of_a_file_of_the_user_stay(tmp_path):
    file, link = tmp_path / "sheet.yaml", tmp_path / "link.yaml"
    file.write_text("former")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_pipe_takes_the_text_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_import_that_is_interrupted_leaves_nothing_in_the_way_of_the_next(tmp_path):
    for ending in (KeyboardInterrupt, None):
        files = RoverFiles(tmp_path, "cart")  # refuses files that are there
        try:
            with files.making() as unfinished:
                for path in (unfinished.urdf, unfinished.config, unfinished.sketch):
                    path.write_text("done")
                if ending:
                    raise ending
        except KeyboardInterrupt:
            assert not list(tmp_path.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cart.png", "cart.urdf", "cart.yaml"]
