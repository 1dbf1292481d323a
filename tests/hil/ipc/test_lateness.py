"""The log of late actions of a simulated rig."""

from hil.ipc.run_memory import LATE_NS, LateAction, LatenessLog, late_since

DUE_NS = 10**10


def test_what_was_in_time_is_not_noted(shared):
    LatenessLog(shared.late).of("plant")(DUE_NS, DUE_NS + LATE_NS)
    assert late_since(shared.late, 0) == []


def test_what_was_late_is_noted_with_the_device_and_by_how_much(shared):
    notes = LatenessLog(shared.late)
    notes.of("roboclaw")(DUE_NS, DUE_NS + 14_000_000)
    notes.of("modbus")(DUE_NS + 1, DUE_NS + 5_000_001)
    assert late_since(shared.late, 0) == [
        LateAction(DUE_NS, 14_000_000, "roboclaw"),
        LateAction(DUE_NS + 1, 5_000_000, "modbus"),
    ]


def test_what_was_done_before_a_run_is_not_of_that_run(shared):
    done = LatenessLog(shared.late).of("plant")
    done(DUE_NS, DUE_NS + 5_000_000)
    done(DUE_NS, DUE_NS + 9_000_000)
    assert [late.late_ns for late in late_since(shared.late, DUE_NS + 6_000_000)] == [9_000_000]


def test_a_rig_that_is_late_for_hours_keeps_the_newest_notes(shared):
    done, count = LatenessLog(shared.late).of("plant"), shared.late.capacity + 10
    for number in range(count):
        done(DUE_NS + number, DUE_NS + number + 5_000_000)
    found = late_since(shared.late, 0)
    assert len(found) == shared.late.capacity
    assert found[-1].due_ns == DUE_NS + count - 1
