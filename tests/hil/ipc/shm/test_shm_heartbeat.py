import pytest

from hil.ipc.shm import NEVER_NS, PROCESSES, Heartbeat, ShmError


def test_age_is_seen_from_another_opening(tmp_path):
    Heartbeat(tmp_path / "hearts", create=True).beat("loop", 5_000_000)
    hearts = Heartbeat(tmp_path / "hearts", create=False)
    assert hearts.names == PROCESSES
    assert hearts.age("loop", 25_000_000) == 20_000_000


def test_each_name_beats_by_itself(tmp_path):
    hearts = Heartbeat(tmp_path / "hearts", create=True)
    for t_ns, name in enumerate(PROCESSES, start=1):
        hearts.beat(name, t_ns)
    assert [hearts.age(name, 100) for name in PROCESSES] == [100 - i for i in range(1, len(PROCESSES) + 1)]


def test_what_never_beat_is_older_than_any_limit(tmp_path):
    assert Heartbeat(tmp_path / "hearts", create=True).age("recorder", 1) == NEVER_NS


def test_beat_after_the_clock_was_read_is_age_0(tmp_path):
    hearts = Heartbeat(tmp_path / "hearts", create=True)
    hearts.beat("loop", 11)
    assert hearts.age("loop", 10) == 0


def test_unknown_name_is_refused(tmp_path):
    hearts = Heartbeat(tmp_path / "hearts", create=True, names=["loop"])
    with pytest.raises(KeyError, match="cook"):
        hearts.beat("cook", 1)
    with pytest.raises(KeyError, match="cook"):
        hearts.age("cook", 1)


@pytest.mark.parametrize("names", [[], ["a", "a"], ["a b"], [f"n{i}" for i in range(33)], ["x" * 600]])
def test_bad_names_are_refused(tmp_path, names):
    with pytest.raises(ShmError, match=r"hearts: .*names.*allowed"):
        Heartbeat(tmp_path / "hearts", create=True, names=names)
    assert not (tmp_path / "hearts").exists()
