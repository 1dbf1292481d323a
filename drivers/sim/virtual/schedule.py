"""Virtual time and its actors: one runs at a time, and time passes only while all of them wait."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

# Time at the start [ns]; not 0, which means never.
START_NS = 1_000_000_000
# Shortest wait [ns], so that repeated empty waits do not stop the time.
SHORTEST_NS = 1_000
NEVER_NS = 2**62


class _EndedError(BaseException):
    """The actor was killed, and its stack is unwound. Not an Exception, so that no handler catches it as a failure."""


class Actor:
    """A thread that runs and waits in virtual time, like a process; created by `VirtualTime.start`.

    Attributes:
        name: for messages.
        device: it represents hardware, which continues while the controller stalls.
        over: it has finished, or was killed.
        stopped: it does not run until it is continued.
    """

    def __init__(self, name: str, run: Callable[[], None], *, device: bool) -> None:
        self.name, self.device = name, device
        self.over = self.killed = self.stopped = False
        self._run = run
        self._baton = threading.Lock()
        self._baton.acquire()
        self.thread: threading.Thread | None = None
        self.turn = 0  # number of the present wait: events of earlier waits are ignored
        self.held_ns: int | None = None  # was due while stopped

    def hand_over(self) -> None:
        """Let it run."""
        self._baton.release()

    def wait(self) -> None:
        """Wait for its turn. An exception of a signal handler is raised then, not while another actor runs."""
        try:
            self._baton.acquire()
        except BaseException:
            self._baton.acquire()
            raise

    def begin(self) -> None:
        """Body of its thread; starts at its first turn."""
        self.wait()
        if not self.killed:
            self._run()


class VirtualTime:
    """A clock, a queue of events, and one running actor.

    Events of the same time run in the order in which they were requested. So two runs of the same program are alike,
    independent of the machine's load. The thread that creates it is the first actor.

    Attributes:
        now_ns: the time [ns].
        current: the actor that runs.
        actors: all that were started.

    Example:
        >>> time = VirtualTime()
        >>> time.call_at(START_NS + 5_000_000, lambda: print("5 ms are over"))
        >>> time.sleep_until(START_NS + 8_000_000)
        5 ms are over
        >>> time.now_ns - START_NS
        8000000
        >>> time.close()
    """

    def __init__(self) -> None:
        self.now_ns = START_NS
        self._order = itertools.count()
        self._due: list[tuple[int, int, Actor | Callable[[], None], int]] = []
        self._main = self.current = Actor("main", lambda: None, device=True)
        self.actors = [self._main]
        self._failure: BaseException | None = None
        self._stalled_until_ns, self._all_stall = 0, False

    def start(self, name: str, run: Callable[[], None], *, device: bool = False) -> Actor:
        """Start an actor; it first runs when the calling actor waits."""
        actor = Actor(name, run, device=device)

        def body() -> None:
            try:
                actor.begin()
            except _EndedError:
                pass
            except BaseException as error:  # it is passed to the first actor
                self._failure = self._failure or error
            actor.over = True
            if not actor.killed:
                self._next(actor)

        actor.thread = threading.Thread(target=body, name=name, daemon=True)
        actor.thread.start()
        self.actors.append(actor)
        self._push(self.now_ns, actor, actor.turn)
        return actor

    def call_at(self, t_ns: int, call: Callable[[], None]) -> None:
        """Schedule a call at a time [ns]; an actor that waits then makes it. The call must not wait."""
        self._push(max(t_ns, self.now_ns), call, 0)

    def sleep_until(self, t_ns: int) -> None:
        """Wait until a time [ns], or until `wake`. Raises _EndedError."""
        self.check()
        me = self.current
        me.turn += 1
        self._push(max(t_ns, self.now_ns), me, me.turn)
        self._next(me)
        self.check()

    def wait(self, until_ns: int, done: Callable[[], bool]) -> bool:
        """Wait until a condition is true; the actor that makes it true calls `wake`. False: not true by then [ns]."""
        while not done():
            if self.now_ns >= until_ns:
                return False
            self.sleep_until(until_ns)
        return True

    def wake(self, actor: Actor) -> None:
        """End the wait of an actor now."""
        self._push(self.now_ns, actor, actor.turn)

    def check(self) -> None:
        """Raises _EndedError: the actor that runs has been killed."""
        if self.current.killed:
            raise _EndedError(self.current.name)

    def kill(self, actor: Actor) -> None:
        """Kill an actor; its present work is not finished."""
        actor.over = actor.killed = True

    def stop(self, actor: Actor) -> None:
        """Stop an actor until it is continued."""
        actor.stopped = True

    def go_on(self, actor: Actor) -> None:
        """Continue an actor; events that were due meanwhile are due now."""
        actor.stopped = False
        if actor.held_ns is not None:
            actor.held_ns = None
            self._push(self.now_ns, actor, actor.turn)

    def stall(self, duration_ns: int, *, devices: bool) -> None:
        """Let no actor run for so long [ns], or only those that represent hardware."""
        self._stalled_until_ns, self._all_stall = self.now_ns + duration_ns, devices

    def close(self) -> None:
        """End all actors except the first, which calls this."""
        for actor in self.actors[1:]:
            if actor.thread is not None and actor.thread.is_alive():
                actor.over = actor.killed = True
                self.current = actor
                actor.hand_over()
                actor.thread.join()
        self.current = self._main
        self._due.clear()

    def _push(self, t_ns: int, what: Actor | Callable[[], None], turn: int) -> None:
        heapq.heappush(self._due, (t_ns, next(self._order), what, turn))

    def _next(self, me: Actor) -> None:
        """Switch to the actor that is due next; return when it is the turn of `me`."""
        actor = self._due_actor()
        if actor is not me:
            self.current = actor
            actor.hand_over()
            if me.over and not me.killed:
                return
            me.wait()
        if me is self._main and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _due_actor(self) -> Actor:
        """The actor that is due first; calls that are due earlier are made."""
        while self._failure is None:
            t_ns, _, what, turn = heapq.heappop(self._due)
            if t_ns < self._stalled_until_ns and self._is_held_up(what):
                self._push(self._stalled_until_ns, what, turn)
                continue
            self.now_ns = max(self.now_ns, t_ns)
            if not isinstance(what, Actor):
                try:
                    what()
                except Exception as error:  # of a device, not of the actor that happens to wait
                    self._failure = error
            elif what.over or turn != what.turn:
                continue
            elif what.stopped:
                what.held_ns = t_ns
            else:
                return what
        return self._main

    def _is_held_up(self, what: Actor | Callable[[], None]) -> bool:
        return self._all_stall or (isinstance(what, Actor) and not what.device)
