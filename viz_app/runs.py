"""Results that browser sessions share, and the runs that compute them.

A run has a thread of its own, so that a session can watch it, show what it is doing, and leave at any time, whatever
the run is busy with. Sessions that want the same wait for the same run. It ends when nobody waits for it any more, and
then the next one who asks starts another.
"""

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import ClassVar, Generic, TypeVar

from cachetools import Cache

from transformer_core.interrupting import Stage, Steps, Stopped, between_steps

Result = TypeVar("Result")

SECONDS_TO_RETURN = 1.0
"""So long a run goes on without anyone waiting: a session that reruns its page comes back to it."""

SECONDS_BETWEEN_LOOKS = 0.2
"""How often those who wait are told how it goes."""

SECONDS_TO_END = 2.0
"""So long a server that ends waits for its runs to end, since PyTorch may crash when it is cut off."""

_server_ends = threading.Event()


class _Worker(threading.Thread):
    """A thread that does one thing after the other. It does not keep the server from ending."""

    _idle: ClassVar[deque["_Worker"]] = deque()
    _all: ClassVar[list["_Worker"]] = []

    def __init__(self) -> None:
        super().__init__(name="run", daemon=True)
        self._work: Callable[[], None] | None = None
        self._has_work = threading.Semaphore(0)
        self.start()
        self._all.append(self)

    def do(self, work: Callable[[], None]) -> None:
        self._work = work
        self._has_work.release()

    def run(self) -> None:
        while True:
            self._has_work.acquire()
            self._work()
            self._work = None
            self._idle.append(self)

    @classmethod
    def free(cls) -> "_Worker":
        """One that has nothing to do: the one that worked last, or a new one."""
        try:
            return cls._idle.pop()
        except IndexError:
            return cls()


@atexit.register
def _end_runs() -> None:
    _server_ends.set()
    deadline = time.monotonic() + SECONDS_TO_END
    while len(_Worker._idle) < len(_Worker._all) and time.monotonic() < deadline:
        time.sleep(0.01)


class Run(Generic[Result]):
    """One computation in a thread of its own. `SharedResults` makes and counts those who wait for it."""

    def __init__(self, compute: Callable[[], Result], lock: threading.Lock) -> None:
        self._compute = compute
        self._steps: Steps | None = None
        self._lock = lock
        self._began = time.monotonic()
        self._waiting = 0
        self._left = self._began
        self._is_given_up = False
        self._over = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None

    @property
    def stage(self) -> Stage:
        """What it is doing."""
        return Stage("") if self._steps is None else self._steps.stage

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        """Whether it has a result, or failed, or was ended."""
        return self._over.is_set()

    @property
    def can_be_joined(self) -> bool:
        """Whether it can still be waited for. Needs the lock."""
        return not self._is_given_up

    def give_up(self) -> None:
        """End it soon unless somebody waits for it."""
        with self._lock:
            self._is_given_up = self._waiting == 0

    def start(self, keep: Callable[[Result], None], forget: Callable[[], None]) -> None:
        """Begin; when it is over, call `keep` with its result, then `forget`."""
        # PyTorch makes a team of threads for every thread that computes. Made anew, it takes a short text tens of ms.
        _Worker.free().do(lambda: self._work(keep, forget))

    def _work(self, keep: Callable[[Result], None], forget: Callable[[], None]) -> None:
        try:
            with between_steps(self._tick) as self._steps:
                self._result = self._compute()
            keep(self._result)
        except Stopped:
            self._error = Stopped()  # without the frames, which hold tensors
        except BaseException as error:
            self._error = error.with_traceback(error.__traceback__.tb_next)
        finally:
            forget()
            self._over.set()

    def _tick(self, _stage: Stage) -> None:
        with self._lock:
            if self._waiting == 0 and time.monotonic() - self._left > SECONDS_TO_RETURN:
                self._is_given_up = True
        if self._is_given_up or _server_ends.is_set():
            raise Stopped

    def join(self) -> None:
        """Wait for it from now on. Needs the lock."""
        self._waiting += 1

    def result(self, watch: Callable[["Run"], None] | None) -> Result:
        """What it computes, for one who joined. `watch` is called now and then; what it raises ends the waiting."""
        try:
            while not self._over.wait(None if watch is None else SECONDS_BETWEEN_LOOKS):
                watch(self)
        finally:
            with self._lock:
                self._waiting -= 1
                self._left = time.monotonic()
        try:
            if self._error is not None:
                raise self._error
            return self._result
        finally:
            self = None  # an error's frames would hold the run, and the run the error


Watch = Callable[[Run], None]


class SharedResults(Generic[Result]):
    """Results by what was asked, as many as a cache holds, and the runs that are on their way."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._runs: dict[Hashable, Run[Result]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Result], watch: Watch | None = None) -> Result:
        """The result that is kept, or that of a run which `compute` does, or which another session began.

        Args:
            watch: called in this thread with the run now and then, as long as it lasts. What it raises is raised, and
                ends the run unless others wait for it.

        Raises:
            Whatever `compute` raises. Failures are not kept.
        """
        with self._lock:
            if key in self._cache:
                return self._cache[key]
            run = self._runs.get(key)
            if run is None or not run.can_be_joined:
                run = Run(compute, self._lock)
                run.join()
                run.start(lambda result: self._keep(key, run, result), lambda: self._forget(key, run))
                # Not before: nobody may wait for a run for which there is no thread. It keeps nothing without the lock.
                self._runs[key] = run
            else:
                run.join()
        return run.result(watch)

    def make_room(self, size: float) -> None:
        """Let results go, those not used for longest first, until one of this size fits."""
        with self._lock:
            while self._cache and self._cache.currsize + size > self._cache.maxsize:
                self._cache.popitem()

    def clear(self) -> None:
        """Keep nothing. Runs that are on their way are not kept either."""
        with self._lock:
            self._cache.clear()
            self._runs.clear()

    def __len__(self) -> int:
        return len(self._cache)

    def _keep(self, key: Hashable, run: Run[Result], result: Result) -> None:
        with self._lock:
            if self._runs.get(key) is run:
                self._cache[key] = result

    def _forget(self, key: Hashable, run: Run[Result]) -> None:
        with self._lock:
            if self._runs.get(key) is run:
                del self._runs[key]
