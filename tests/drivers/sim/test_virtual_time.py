"""Virtual time: the order of actors, and the effect of stop, kill and stall."""

import pytest

from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import START_NS, VirtualTime

MS = 1_000_000


class Log(list):
    """Events: actor, and time [ms since the start]."""

    def __init__(self, time):
        super().__init__()
        self.time = time

    def note(self, what):
        self.append((what, (self.time.now_ns - START_NS) / MS))


@pytest.fixture
def time():
    time = VirtualTime()
    yield time
    time.close()


@pytest.fixture
def host(time):
    return VirtualHost(time)


@pytest.fixture
def log(time):
    return Log(time)


def beating(host, log, name, every_ms, times):
    """An actor's body: records so many events at a period."""

    def run():
        for _ in range(times):
            host.sleep(every_ms * 1e-3)
            log.note(name)

    return run


def test_actors_run_in_the_order_of_time_and_of_asking(time, host, log):
    time.start("a", beating(host, log, "a", 2, 3))
    time.start("b", beating(host, log, "b", 3, 2))
    host.sleep(0.01)
    assert log == [("a", 2), ("b", 3), ("a", 4), ("b", 6), ("a", 6)]


def test_what_is_called_at_a_time_runs_then_whoever_waits(time, host, log):
    time.call_at(START_NS + 5 * MS, lambda: log.note("called"))
    host.sleep(0.004)
    log.note("main")
    host.sleep(0.004)
    assert log == [("main", 4), ("called", 5)]


def test_who_waits_for_nothing_does_not_stop_the_time(time, host):
    for _ in range(1000):
        host.sleep(0.0)
    assert time.now_ns > START_NS


def test_a_wait_ends_when_it_is_woken_or_in_time(time, host, log):
    found = []

    def waits():
        log.note(time.wait(START_NS + 10 * MS, lambda: bool(found)))
        log.note(time.wait(START_NS + 10 * MS, lambda: len(found) > 1))

    actor = time.start("waits", waits)
    host.sleep(0.003)
    found.append(1)
    time.wake(actor)
    host.sleep(0.02)
    assert log == [(True, 3), (False, 10)]


def test_a_stopped_actor_does_what_is_due_when_it_goes_on(time, host, log):
    actor = time.start("a", beating(host, log, "a", 2, 3))
    host.sleep(0.003)
    time.stop(actor)
    host.sleep(0.007)
    time.go_on(actor)
    host.sleep(0.01)
    assert log == [("a", 2), ("a", 10), ("a", 12)]


def test_a_killed_actor_finishes_nothing_and_what_unwinds_it_touches_no_port(time, host, log):
    def run():
        try:
            host.sleep(1.0)
            log.note("slept")
        except Exception:
            log.note("handled")
        finally:
            host.open_serial("/nowhere", 9600)

    actor = time.start("a", run)
    host.sleep(0.001)
    time.kill(actor)
    host.sleep(2.0)
    time.close()
    assert log == []
    assert not actor.thread.is_alive()


def test_a_stall_holds_up_processes_and_not_the_devices(time, host, log):
    time.start("process", beating(host, log, "process", 2, 2))
    time.start("device", beating(host, log, "device", 2, 3), device=True)
    time.call_at(START_NS + MS, lambda: time.stall(4 * MS, devices=False))
    host.sleep(0.02)
    assert log == [("device", 2), ("device", 4), ("process", 5), ("device", 6), ("process", 7)]


def test_a_stall_of_the_whole_machine_holds_up_all_in_their_order(time, host, log):
    time.start("process", beating(host, log, "process", 2, 2))
    time.start("device", beating(host, log, "device", 2, 2), device=True)
    time.call_at(START_NS + MS, lambda: time.stall(4 * MS, devices=True))
    host.sleep(0.02)
    assert log == [("process", 5), ("device", 5), ("process", 7), ("device", 7)]


@pytest.mark.parametrize("where", ["actor", "call"])
def test_what_fails_anywhere_is_raised_where_the_time_was_made(time, host, where):
    def fails():
        raise ZeroDivisionError("on purpose")

    if where == "actor":
        time.start("fails", fails)
    else:
        time.call_at(START_NS + MS, fails)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        host.sleep(0.01)
