"""The outer loop follows, does not wind up at a limit, changes no faster than it may, and holds what is not known."""

from __future__ import annotations

import math

import pytest

from hil.control.following import OuterLoop

PERIOD_S = 0.001


def closed(loop, wanted, share, ticks, most=1.0):
    """The followed quantity after some ticks, where it is a share of the output of the tick before."""
    measured = 0.0
    for _ in range(ticks):
        measured = share * loop.step(wanted, wanted - measured, most)
    return measured


def test_what_slips_is_made_up_for_without_a_remaining_error():
    loop = OuterLoop(0.3, 3.0, PERIOD_S, 1.0)
    assert closed(loop, 0.05, 0.4, 20_000) == pytest.approx(0.05, rel=1e-6)
    assert loop.output == pytest.approx(0.125, rel=1e-6)


def test_without_slip_the_feed_forward_is_exact_and_the_loop_adds_nothing():
    loop = OuterLoop(0.0, 3.0, PERIOD_S, 1.0)
    assert [loop.step(0.05, 0.0, 1.0) for _ in range(100)] == [0.05] * 100


def test_at_a_limit_the_integral_does_not_wind_up():
    loop = OuterLoop(0.3, 3.0, PERIOD_S, 1.0)
    for _ in range(60_000):  # a minute in which nothing helps
        assert loop.step(0.05, 0.05, 0.1) <= 0.1
    ticks = 0
    while loop.step(0.05, -0.005, 0.1) >= 0.1:
        ticks += 1
    assert ticks < 1000


def test_the_output_changes_no_faster_than_it_may_and_is_never_below_zero():
    loop = OuterLoop(0.3, 3.0, PERIOD_S, 1e-4)
    outputs = [loop.step(0.05, 0.01, 1.0) for _ in range(400)] + [loop.step(0.0, -1.0, 1.0) for _ in range(1000)]
    changes = [abs(later - one) for one, later in zip([0.0, *outputs], outputs, strict=False)]
    assert max(changes) <= 1e-4 + 1e-15
    assert min(outputs) == 0.0


def test_an_error_that_is_not_known_leaves_the_correction_as_it_was():
    loop = OuterLoop(0.3, 3.0, PERIOD_S, 1.0)
    closed(loop, 0.05, 0.5, 20_000)
    before = loop.output
    assert [loop.step(0.05, math.nan, 1.0) for _ in range(5000)] == pytest.approx([before] * 5000, rel=1e-4)
    assert loop.step(0.06, math.nan, 1.0) == pytest.approx(before + 0.01, rel=1e-4)


def test_it_starts_again_from_rest():
    loop = OuterLoop(0.3, 3.0, PERIOD_S, 1.0)
    closed(loop, 0.05, 0.5, 20_000)
    loop.reset()
    assert loop.step(0.0, 0.0, 1.0) == 0.0
