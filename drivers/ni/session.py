"""Access to NI-DAQmx, by the driver of this computer or by a device server: tasks, devices, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from drivers.extensions import install_command
from drivers.host import COMPUTER, SLICE_S, Alive, Host
from drivers.interfaces import DeviceError, IoDevice, LinkLostError, SamplesLostError

# Timeout of each call while a device is being opened or closed [s].
SETUP_TIMEOUT_S = 3.0
_OVERRUN = "the samples were not read in time; lower daq.rate_hz, make blocks longer, or reduce the processor's load"
_GONE = "the device is not reachable; check its power and cable, and `hil devices`"
_WATCHDOG = "its watchdog had expired, and all lines are in their safe states; open the device again"
# Advice and exception class for a code of NI-DAQmx.
_KNOWN: dict[int, tuple[type[DeviceError], str]] = {
    -200279: (SamplesLostError, _OVERRUN),
    -200222: (SamplesLostError, _OVERRUN),
    -200361: (SamplesLostError, _OVERRUN),
    -200010: (SamplesLostError, _OVERRUN),
    -200019: (SamplesLostError, _OVERRUN),
    -200284: (LinkLostError, "no samples in time; does the sample clock run, is the chassis reachable?"),
    -200088: (
        LinkLostError,
        "the device server does not have the task any more: it was restarted, or another program took over",
    ),
    -200045: (LinkLostError, _GONE),
    -201003: (LinkLostError, _GONE),
    -201390: (LinkLostError, _GONE),
    -201252: (LinkLostError, _GONE),
    -201250: (LinkLostError, _GONE),
    -50103: (DeviceError, "another program uses it; close that program (also NI MAX test panels)"),
    -201420: (DeviceError, "another computer has reserved the chassis; release it there"),
    -200170: (DeviceError, "no such channel; `hil devices` lists the existing ones"),
    -200220: (DeviceError, "no such device; `hil devices` lists the existing ones"),
    -200662: (DeviceError, "the device has no watchdog; set none, and accept that there is no dead-man"),
    -200668: (DeviceError, "the device does not support this watchdog time"),
    -200644: (LinkLostError, _WATCHDOG),
    -200678: (LinkLostError, _WATCHDOG),
    -201434: (LinkLostError, _WATCHDOG),
    -201478: (LinkLostError, _WATCHDOG),
}


class NiSession:
    """The connection of one device to NI-DAQmx.

    Args:
        device: name for people.
        server: host:port of a gRPC device server; "" for the driver of this computer.
        alive: called while waiting for a device server, every few ms.
        host: whose clock and ports are used.

    Attributes:
        deadline_s: how long a device server may take to answer [s].
    """

    def __init__(self, device: str, server: str, alive: Alive, host: Host = COMPUTER) -> None:
        self.device, self.server, self._alive, self._host = device, server, alive, host
        self.deadline_s = SETUP_TIMEOUT_S
        self._channel: Any = None
        self._wrapped: _TimedChannel | None = None

    @property
    def where(self) -> str:
        """The device and its computer, for messages."""
        return f"{self.device} on {self.server or 'this computer'}"

    def open(self) -> None:
        """Connect to NI-DAQmx. Raises DeviceError."""
        self.close()
        self.deadline_s = SETUP_TIMEOUT_S
        try:
            import nidaqmx.errors  # noqa: F401
        except ImportError as error:
            raise DeviceError(
                f"{self.where}: the Python package nidaqmx cannot be imported ({error}); {install_command('ni')}"
            ) from error
        if not self.server:
            return
        self._channel = self._host.open_channel(self.server, self._alive)
        if not self._channel.connect(self.deadline_s):
            self.close()
            raise LinkLostError(
                f"{self.where}: no device server answers within {self.deadline_s:g} s; start NI gRPC Device "
                f"Server on that computer, and check address and firewall"
            )
        self._wrapped = _TimedChannel(self._channel, self)

    def close(self) -> None:
        """Disconnect from the device server; close all tasks before."""
        if self._channel is not None:
            self._channel.close()
        self._channel = self._wrapped = None

    def task(self, name: str, taken: Callable[[Any], bool] = lambda _: False) -> Any:
        """A new, empty task.

        A device server keeps the tasks of a program that was killed. Such a task is cleared, unless `taken` reports
        that another program still uses it.
        """
        import nidaqmx

        for _ in range(2):
            task = nidaqmx.Task(name, grpc_options=self._options(name))
            if not task.channel_names:
                return task
            if taken(task):
                raise DeviceError(f"{self.where}: another program has the task {name}; stop that program first")
            task.close()
        raise DeviceError(f"{self.where}: the device server does not release the task {name}; restart it")

    def physical_channel(self, name: str) -> Any:
        """A physical channel, by NI's name; nidaqmx's object."""
        from nidaqmx.system.physical_channel import PhysicalChannel

        return PhysicalChannel(name, grpc_options=self._options(""))

    def watchdog(self, module: str, name: str, timeout_s: float) -> Any:
        """A new watchdog task of a device; a leftover one is cleared."""
        from nidaqmx.system import WatchdogTask

        if (options := self._options(name)) is not None:
            WatchdogTask(module, name, timeout_s, options).close()
        return WatchdogTask(module, name, timeout_s, options)

    def devices(self) -> tuple[IoDevice, ...]:
        """All devices. Raises DeviceError."""
        from nidaqmx.system import System

        with self.translated_errors("listing devices"):
            system = System.local() if (options := self._options("")) is None else System.remote(options)
            return tuple(_described(device) for device in system.devices)

    def wait(self, seconds: float) -> None:
        """Wait, and call `alive` meanwhile."""
        until_ns = self._host.now_ns() + round(seconds * 1e9)
        while (left_ns := until_ns - self._host.now_ns()) > 0:
            self._alive()
            self._host.sleep(min(left_ns * 1e-9, SLICE_S))

    @contextmanager
    def translated_errors(self, doing: str) -> Iterator[None]:
        """Turn exceptions of nidaqmx into a DeviceError that names the operation."""
        import nidaqmx.errors

        try:
            yield
        except nidaqmx.errors.Error as error:
            self._translate(doing, error)

    def _translate(self, doing: str, error: Exception) -> NoReturn:
        import nidaqmx.errors

        text = " ".join(str(error).split("\n\nStatus Code")[0].split()).rstrip(".")
        if isinstance(error, nidaqmx.errors.DaqNotFoundError | nidaqmx.errors.DaqNotSupportedError):
            raise DeviceError(
                f"{self.where}: NI's driver is not installed; install NI-DAQmx (ni.com/downloads), or set "
                f"devices.daq.server to the host:port of an NI gRPC Device Server"
            ) from error
        if isinstance(error, nidaqmx.errors.DaqError):
            kind, advice = _KNOWN.get(error.error_code, (DeviceError, "see NI's text"))
            raise kind(f"{self.where}: {doing}: NI {error.error_code}: {text}; {advice}") from error
        if isinstance(error, nidaqmx.errors.RpcError) and "UNIMPLEMENTED" not in text:
            raise LinkLostError(
                f"{self.where}: {doing}: {text}; is the device server running, and the network up?"
            ) from error
        raise DeviceError(f"{self.where}: {doing}: {text}; see NI's text") from error

    def _options(self, name: str) -> Any:
        if self._wrapped is None:
            if self.server:
                raise LinkLostError(f"{self.where}: not open")
            return None
        import nidaqmx

        return nidaqmx.GrpcSessionOptions(self._wrapped, name)


class _TimedChannel:
    """A channel whose calls end at the session's deadline."""

    def __init__(self, channel: Any, session: NiSession) -> None:
        self._channel, self._session = channel, session
        self.unary_stream = channel.unary_stream

    def unary_unary(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """A method of the server."""
        method, session = self._channel.unary_unary(*args, **kwargs), self._session
        return lambda request, metadata=None: method(request, metadata, session.deadline_s)


def _described(device: Any) -> IoDevice:
    import nidaqmx.errors

    def names(of: str) -> tuple[str, ...]:
        with suppress(nidaqmx.errors.DaqError):  # a device without such channels may not support the query
            return tuple(getattr(device, of).channel_names)
        return ()

    serial = ""
    with suppress(nidaqmx.errors.DaqError):
        serial = f"{device.serial_num:08X}"
    return IoDevice(
        device.name,
        device.product_type,
        serial,
        names("ai_physical_chans"),
        names("ao_physical_chans"),
        names("di_lines"),
        names("do_lines"),
        names("ci_physical_chans"),
    )
