"""`rig.live_plot`: a plot that follows the telemetry, on its own and in the kernel of a notebook."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import msgspec
import numpy as np
import pytest
import zmq
from jupyter_client.manager import start_new_kernel
from matplotlib.image import imread

from hil.api.operated import LivePlot

# Until a kernel, or a plot, that says nothing is given up [s].
PATIENCE_S = 300
CELLS = (
    """
import hil
result = hil.run(hil.load("sim_impact", {"trial.start_distance_m": 0.1, "trial.settle_s": 0.5, "record.after_s": 0.5}))
result.plot()
""",
    """
import msgspec, zmq
from hil.api.operated import LivePlot

with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
    socket.setsockopt(zmq.LINGER, 0)
    socket.bind("tcp://127.0.0.1:*")
    plot = LivePlot(socket.getsockopt_string(zmq.LAST_ENDPOINT), {"speed_mps": "m/s"}, 10.0)
    socket.recv()
    for at_s in range(3):
        socket.send_multipart([b"tick", msgspec.msgpack.encode({"timestamp": float(at_s), "speed_mps": 0.1 * at_s})])
    while ": 3 points" not in repr(plot):
        pass
    plot.stop()
""",
)


@contextmanager
def followed(units: dict[str, str]) -> Iterator[tuple[LivePlot, Any]]:
    """A plot, and a function that sends it a tick."""
    with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.bind("tcp://127.0.0.1:*")
        plot = LivePlot(socket.getsockopt_string(zmq.LAST_ENDPOINT), units, seconds=10.0)
        try:
            assert socket.poll(PATIENCE_S * 1000)  # it has subscribed
            yield plot, lambda tick: socket.send_multipart([b"tick", msgspec.msgpack.encode(tick)])
        finally:
            plot.stop()


def test_a_run_that_begins_before_the_end_of_the_last_is_shown_after_it():
    with followed({"speed_mps": "m/s", "force_N": "N"}) as (plot, send):
        for at_s, speed_mps in ((100.0, 0.1), (100.1, 0.2), (50.0, 0.3), (50.2, 0.4)):
            send({"timestamp": at_s, "speed_mps": speed_mps, "force_N": {"top": 1.0, "low": 2.0}, "slip": [0.0]})
        wait_for(plot, 15)
    (line,) = plot.figure.axes[0].lines
    assert line.get_xdata() == pytest.approx([-0.3, -0.2, -0.2, -0.2, 0.0])
    np.testing.assert_array_equal(line.get_ydata(), [0.1, 0.2, np.nan, 0.3, 0.4])
    assert [line.get_label() for line in plot.figure.axes[1].lines] == ["top", "low"]


def test_ticks_that_come_while_a_picture_is_drawn_are_all_in_the_next(monkeypatch):
    pictures = []

    class Cell:
        def update(self, _figure):
            pictures.append(repr(plots[0]))
            time.sleep(0.3)  # longer than between two pictures

    monkeypatch.setattr("hil.api.operated.shown_in_cell", lambda _: Cell())
    with followed({"speed_mps": "m/s"}) as (plot, send):
        plots = [plot]
        for number in range(300):
            send({"timestamp": number * 0.01, "speed_mps": 0.1})
        wait_for(plot, 300)
    assert pictures[-1] == repr(plot)
    assert len(pictures) < 100


@pytest.mark.slow
def test_in_a_notebook_a_figure_is_a_picture_and_a_live_plot_one_that_changes_where_it_is(tmp_path):
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=PATIENCE_S, cwd=str(tmp_path))
    said: list[tuple[str, dict[str, Any]]] = []
    try:
        for cell in CELLS:
            client.execute_interactive(
                cell, timeout=PATIENCE_S, output_hook=lambda it: said.append((it["msg_type"], it["content"]))
            )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert [content["evalue"] for kind, content in said if kind == "error"] == []
    figure, first, *later = [
        (kind, content.get("transient", {}).get("display_id"), picture(content))
        for kind, content in said
        if kind in ("execute_result", "display_data", "update_display_data")
    ]
    assert (figure[0], first[0]) == ("execute_result", "display_data")
    assert figure[2].shape[0] > first[2].shape[0]
    assert {(kind, place) for kind, place, _ in later} == {("update_display_data", first[1])}
    assert not np.array_equal(later[-1][2], first[2])


def wait_for(plot: LivePlot, points: int) -> None:
    """Return when the plot has taken so many points."""
    until = time.monotonic() + PATIENCE_S
    while f": {points} points" not in repr(plot) and time.monotonic() < until:
        time.sleep(0.01)


def picture(content: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The picture of a cell's output."""
    return imread(BytesIO(base64.b64decode(content["data"]["image/png"])))
