"""The driver. `V 0.1 0.1 ...` sets the speed of every wheel [rad/s], `C` cuts; both are answered by the speeds."""

from typing_extensions import override

from drivers.host import Alive, Host
from drivers.interfaces import DeviceError, DrivesDevice, Health, StopFrames
from drivers.messages import DriveCommand, DriveSample
from drivers.serial.link import BadFrameError, SerialLink

NAME = "textline drives"
CUT = b"C\n"


class TextlineDrives(DrivesDevice):
    """`write` and `read` touch memory only, `step` makes one transaction.

    It runs only after it was told to cut, and then to run: after it is opened, and after a failure.
    """

    def __init__(self, port: str, baud: int, wheels: int, rate_hz: float, host: Host, alive: Alive) -> None:
        self._link = SerialLink(NAME, port, baud, timeout_s=0.02, host=host, alive=alive)
        self._port, self._baud, self._wheels, self._host = port, baud, wheels, host
        self._period_ns, self._due_ns = round(1e9 / rate_hz), 0
        self._reset()

    def _reset(self) -> None:
        self._command: DriveCommand | None = None
        self._sample: DriveSample | None = None
        self._sequence, self._acknowledged_ns, self._stopped_ns, self._runs = 0, -1, -1, False

    @override
    def open(self) -> None:
        self._link.open()
        self._reset()
        self._exchange(CUT)

    @override
    def close(self) -> None:
        self._link.close()

    @override
    def health(self) -> Health:
        return self._link.health("text lines")

    @override
    def states(self) -> tuple[()]:
        return ()

    @override
    def stop_frames(self) -> tuple[StopFrames, ...]:
        """What the watchdog writes when this driver's process is gone; a line that was begun is ended first."""
        return (StopFrames(NAME, self._port, self._baud, (b"\n" + CUT,)),)

    @override
    def write(self, command: DriveCommand) -> None:
        if self._command is None and not command.cut:
            return
        if command.cut and self._runs:
            self._due_ns = 0  # a cut waits for no period
        self._command = command

    @override
    def read(self, t_ns: int) -> DriveSample | None:
        sample, self._sample = self._sample, None
        return sample

    @override
    def step(self) -> None:
        now_ns = self._host.now_ns()
        if now_ns < self._due_ns:
            self._host.sleep(min((self._due_ns - now_ns) * 1e-9, 0.00025))
            return
        self._due_ns = now_ns + self._period_ns
        command = self._command
        try:
            if command is None or command.cut:
                speeds = self._exchange(CUT)
                if self._runs:
                    self._runs, self._stopped_ns = False, self._link.sent_ns
            else:
                self._runs, self._stopped_ns = True, -1
                speeds = self._exchange(b"V " + b" ".join(b"%.5f" % each for each in command.speed_radps) + b"\n")
        except DeviceError:
            self._command = None  # from now on it cuts, until it is told to cut and then to run
            raise
        if command is not None:
            self._acknowledged_ns = command.t_ns
        self._sequence += 1
        self._sample = DriveSample(self._sequence, now_ns, speeds, self._acknowledged_ns, self._stopped_ns)

    def _exchange(self, request: bytes) -> tuple[float, ...]:
        return self._link.ask(request, lambda answer: 0 if answer.endswith(b"\n") else 1, self._speeds)

    def _speeds(self, answer: bytes) -> tuple[float, ...]:
        try:
            speeds = tuple(map(float, answer.split()))
        except ValueError as error:
            raise BadFrameError(f"{answer!r} holds no speeds") from error
        if len(speeds) != self._wheels:
            raise BadFrameError(f"{len(speeds)} speeds, needed: {self._wheels}")
        return speeds
