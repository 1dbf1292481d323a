"""Starts the processes of a simulated rig, serves its control socket, and stops all of them at the end."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from drivers.interfaces import DeviceError
from hil.config import Config
from hil.config.files import write_whole
from hil.ipc.run_memory import late_since
from hil.processes.lifecycle import Process, StopFlag, WorkerLifecycle
from hil.simulator.control_socket import ControlServer, wait_for
from hil.simulator.ground_truth import truth_answer
from hil.simulator.memory import RESET, RESET_DONE, SimulatorMemory
from hil.simulator.serial_process import has_server

# A child compiles kernels at its start if needed; normally the parent has done so before.
READY_S = 60.0
ANSWER_S = 10.0
END_S = 5.0
RESET_S = 20.0

Progress = Callable[[str], None]


class RigProcess:
    """A process of the simulated rig. Raises DeviceError: it could not start."""

    def __init__(self, module: str, folder: Path) -> None:
        self.name = module
        self._process = Process(f"{module}_process", str(folder))
        self.message = self._process.receive(READY_S)
        if not self.message.get("ready"):
            self.close()
            raise DeviceError(f"simulated rig: {module}: {self.message.get('error', 'could not start')}")

    def ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Send a command and wait for the answer. Raises ValueError: it was refused."""
        self._process.send(command)
        answer = self._process.receive(ANSWER_S)
        if not answer.pop("ok", False):
            raise ValueError(answer.get("error", f"{self.name} does not answer"))
        return answer

    @property
    def ended(self) -> bool:
        """The process has ended, for whatever reason."""
        return self._process.status() is not None

    def close(self) -> None:
        """End it."""
        self._process.end(END_S)


class _RigServer:
    """The complete rig: plant, serial devices, device server and control socket.

    The folder for its sockets and ports is there and empty. `stack` closes the rig.

    Attributes:
        endpoints: addresses by name, as `hil sim --endpoints` writes them.
    """

    def __init__(self, config: Config, folder: Path, stack: ExitStack) -> None:
        self._memory = SimulatorMemory(folder, config)
        self._children: dict[str, RigProcess] = {}
        for module in ("plant", "serial", *(["daq"] if has_server(config.devices, config.daq) else [])):
            self._children[module] = child = RigProcess(module, folder)
            stack.callback(child.close)
        self._serial = self._children["serial"]
        self._control = ControlServer(
            folder / "control",
            {
                "truth": self._ground_truth,
                "lateness": self._lateness,
                "place": self._reset,
                "inject_fault": lambda command: self._of(command).ask({"do": "inject_fault", **command}),
                "e_stop": lambda command: self._of(command).ask({"do": "e_stop", **command}),
                "stops": lambda command: self._serial.ask({"do": "stops", **command}),
                "step": lambda command: self._chassis().ask({"do": "step", **command}),
                "clear_steps": lambda command: self._chassis().ask({"do": "clear_steps", **command}),
            },
            owned=("place",),  # or a second run would move the rover under the first
        )
        stack.callback(self._control.close)
        self.endpoints: dict[str, str] = {}
        for child in self._children.values():
            self.endpoints |= child.message.get("endpoints", {})
        self.endpoints["control"] = str(folder / "control")

    def serve(self, stop_flag: StopFlag) -> None:
        """Serve until `stop_flag` is set. Raises DeviceError: one of its processes has ended by itself."""
        children = self._children.values()
        self._control.serve(lambda: not (stop_flag.ending or any(child.ended for child in children)))
        if not stop_flag.ending:
            lost = ", ".join(child.name for child in children if child.ended)
            raise DeviceError(f"simulated rig: its process {lost} has ended; see its output above")

    def _of(self, command: dict[str, Any]) -> RigProcess:
        """The process that serves the device of a command."""
        return self._chassis() if command.get("device") == "daq" else self._serial

    def _chassis(self) -> RigProcess:
        """The process of the NI chassis. Raises ValueError: the rig has none."""
        if "daq" not in self._children:
            raise ValueError("this rig has no data acquisition")
        return self._children["daq"]

    def _ground_truth(self, command: dict[str, Any]) -> dict[str, Any]:
        """Values known only to the plant; times are of CLOCK_MONOTONIC."""
        if command:
            raise ValueError(f"truth takes no arguments, found {', '.join(command)}")
        return truth_answer(self._memory.ground_truth, self._memory.histories)

    def _lateness(self, command: dict[str, Any]) -> dict[str, Any]:
        """Late actions of devices and plant since a time, as far as they are kept; times are of CLOCK_MONOTONIC."""
        since_ns = int(command.pop("since_ns", 0))
        if command:
            raise ValueError(f"lateness takes only since_ns, found {', '.join(command)}")
        rows = [row for ring in self._memory.late.values() for row in late_since(ring, since_ns)]
        return {"late": sorted(rows)}

    def _reset(self, command: dict[str, Any]) -> dict[str, Any]:
        """Put the rover back to its start, with the given obstacle angle and seed."""
        config = self._memory.config
        trial = {"angle_deg": config.trial.angle_deg, "seed": config.seed} | command
        checked = Config.model_validate(
            config.model_dump(mode="json")
            | {"seed": trial.pop("seed"), "trial": config.trial.model_dump(mode="json") | trial}
        )
        version = self._memory.reset.write(np.array([(checked.trial.angle_deg, checked.seed)], RESET))
        reset_done = np.zeros(1, RESET_DONE)

        def done() -> bool:
            return self._memory.reset_done.read(reset_done) > 0 and int(reset_done["version"][0]) >= version

        if not wait_for(done, RESET_S):
            raise ValueError(f"the rover was not back at its start within {RESET_S:g} s")
        return {}


def serve_rig(config: Config, endpoints: Path | None, stop_flag: StopFlag, progress: Progress) -> None:
    """Serve a simulated rig until `stop_flag` is set.

    `endpoints` is written once all of them listen, and removed at the end. `progress` receives each of them, one line
    each.

    Raises DeviceError: a process of the rig could not start, or ended.
    """
    with tempfile.TemporaryDirectory(prefix="hil-sim-") as name, ExitStack() as stack:
        progress("settling the rover on its ground")
        rig = _RigServer(config, Path(name), stack)
        for key, place in rig.endpoints.items():
            progress(f"{key}: {place}")
        if endpoints:
            write_whole(endpoints, json.dumps(rig.endpoints, indent=2) + "\n")
            stack.callback(lambda: endpoints.unlink(missing_ok=True))
        rig.serve(stop_flag)


def run_rig_server(lifecycle: WorkerLifecycle, config: Path, endpoints: str) -> None:
    """Serve until the parent asks this process to end, or is gone."""
    try:
        effective = Config.model_validate_json(config.read_text(encoding="utf-8"))
        serve_rig(effective, Path(endpoints), lifecycle, progress=lambda _: None)
    except DeviceError as error:
        lifecycle.report(error=str(error))
