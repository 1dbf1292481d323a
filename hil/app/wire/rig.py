"""Starts the processes of a simulated rig, serves its control socket, and leaves nothing behind.

`python -m hil.app.wire.rig CONFIG PARENT ENDPOINTS` serves one for as long as the process PARENT lives.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from drivers.interfaces import DeviceError
from hil.app.wire.control import ControlServer, wait_for
from hil.app.wire.memory import PLACE, PLACED, WireMemory
from hil.app.wire.peers import has_server
from hil.config import Config
from hil.links.late import late_since
from hil.links.rows import TRUTH
from hil.workers.life import Life
from hil.workers.process import Process

# Starting, a child compiles kernels if it has to; the parent has done so before.
READY_S = 60.0
ANSWER_S = 10.0
END_S = 5.0
PLACED_S = 20.0

Say = Callable[[str], None]


class Told(Protocol):
    """Who is told to end, and when."""

    ending: bool


class Child:
    """A process of the simulated rig.

    Args:
        module: of `hil.app.wire`.
        folder: of the rig.

    Raises:
        DeviceError: it could not begin.
    """

    def __init__(self, module: str, folder: Path) -> None:
        self.name = module
        self._process = Process(f"hil.app.wire.{module}", str(folder))
        self.words = self._process.hear(READY_S)
        if not self.words.get("ready"):
            self.close()
            raise DeviceError(f"simulated rig: {module}: {self.words.get('error', 'could not begin')}")

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Give an order and wait for the answer. Raises ValueError: it was refused."""
        self._process.say(order)
        answer = self._process.hear(ANSWER_S)
        if not answer.pop("ok", False):
            raise ValueError(answer.get("error", f"{self.name} does not answer"))
        return answer

    @property
    def ended(self) -> bool:
        """It is gone, by whatever."""
        return self._process.status() is not None

    def close(self) -> None:
        """End it."""
        self._process.end(END_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SimulatedRig:
    """All of it: plant, serial devices, device server and control socket.

    Args:
        config: of the rig.
        folder: where its sockets and ports lie; exists and is empty.
        stack: closes it.

    Attributes:
        endpoints: where everything is, as `hil sim --endpoints` writes it.
    """

    def __init__(self, config: Config, folder: Path, stack: ExitStack) -> None:
        self._memory = WireMemory(folder, config)
        self._plant = stack.enter_context(Child("plant", folder))
        self._serial = stack.enter_context(Child("serial", folder))
        self._daq = stack.enter_context(Child("daq", folder)) if has_server(config) else None
        self._children = [child for child in (self._plant, self._serial, self._daq) if child is not None]
        self._control = ControlServer(
            folder / "control",
            {
                "truth": self._truth,
                "lateness": self._lateness,
                "place": self._place,
                "inject_fault": lambda order: self._of(order).ask({"do": "inject_fault", **order}),
                "e_stop": lambda order: self._of(order).ask({"do": "e_stop", **order}),
                "stops": lambda order: self._serial.ask({"do": "stops", **order}),
                "step": lambda order: self._chassis().ask({"do": "step", **order}),
                "clear_steps": lambda order: self._chassis().ask({"do": "clear_steps", **order}),
            },
            owned=("place",),  # or a second run would move the rover under the first
        )
        stack.callback(self._control.close)
        self.endpoints: dict[str, str] = {
            **self._serial.words["endpoints"],
            **(self._daq.words["endpoints"] if self._daq else {}),
            "control": str(folder / "control"),
        }

    def serve(self, told: Told) -> None:
        """Until told to end. Raises DeviceError: one of its processes has ended by itself."""
        children = self._children
        self._control.serve(lambda: not (told.ending or any(child.ended for child in children)))
        if not told.ending:
            lost = ", ".join(child.name for child in children if child.ended)
            raise DeviceError(f"simulated rig: its process {lost} has ended; what it said is above")

    def _of(self, order: dict[str, Any]) -> Child:
        """The process that has the device of an order."""
        return self._chassis() if order.get("device") == "daq" else self._serial

    def _chassis(self) -> Child:
        """The process of the NI chassis. Raises ValueError: the rig has none."""
        if self._daq is None:
            raise ValueError("this rig has no data acquisition")
        return self._daq

    def _truth(self, order: dict[str, Any]) -> dict[str, Any]:
        """What only the plant knows; times of CLOCK_MONOTONIC."""
        if order:
            raise ValueError(f"truth takes nothing, found {', '.join(order)}")
        row = np.zeros(1, TRUTH)
        self._memory.truth.read(row)
        return {name: _plain(row[name][0].tolist()) for name in TRUTH.names or ()}

    def _lateness(self, order: dict[str, Any]) -> dict[str, Any]:
        """What devices and plant did late since a time, the newest that are kept; times of CLOCK_MONOTONIC."""
        since_ns = int(order.pop("since_ns", 0))
        if order:
            raise ValueError(f"lateness takes since_ns, found {', '.join(order)}")
        rows = [row for ring in self._memory.late.values() for row in late_since(ring, since_ns)]
        return {"late": sorted(rows)}

    def _place(self, order: dict[str, Any]) -> dict[str, Any]:
        """Put the rover back to its start, before an obstacle of that angle, as the rig of that seed."""
        config = self._memory.config
        trial = {"angle_deg": config.trial.angle_deg, "seed": config.seed} | order
        checked = Config.model_validate(
            config.model_dump(mode="json")
            | {"seed": trial.pop("seed"), "trial": config.trial.model_dump(mode="json") | trial}
        )
        version = self._memory.place.write(np.array([(checked.trial.angle_deg, checked.seed)], PLACE))
        placed = np.zeros(1, PLACED)

        def done() -> bool:
            return self._memory.placed.read(placed) > 0 and int(placed["version"][0]) >= version

        if not wait_for(done, PLACED_S):
            raise ValueError(f"the rover was not back at its start within {PLACED_S:g} s")
        return {}


def _plain(value: Any) -> Any:
    """JSON knows no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def serve_rig(config: Config, endpoints: Path | None, told: Told, say: Say) -> None:
    """Serve a simulated rig until told to end.

    Args:
        config: of the rig.
        endpoints: file to write them to once all listen; it is removed at the end.
        told: to end.
        say: told where everything is, a line at a time.

    Raises:
        DeviceError: a process of the rig could not begin, or ended.
    """
    with tempfile.TemporaryDirectory(prefix="hil-sim-") as name, ExitStack() as stack:
        say("settling the rover on its ground")
        rig = SimulatedRig(config, Path(name), stack)
        for key, place in rig.endpoints.items():
            say(f"{key}: {place}")
        if endpoints:
            part = endpoints.with_name(f".{endpoints.name}.part")
            part.write_text(json.dumps(rig.endpoints, indent=2) + "\n", encoding="utf-8")
            part.replace(endpoints)
            stack.callback(lambda: endpoints.unlink(missing_ok=True))
        rig.serve(told)


def main(config: Path, parent: int, endpoints: Path) -> None:
    """Serve for as long as the parent lives and wants."""
    life = Life(parent)
    try:
        effective = Config.model_validate_json(config.read_text(encoding="utf-8"))
        serve_rig(effective, endpoints, life, say=lambda _: None)
    except DeviceError as error:
        life.tell(error=str(error))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
