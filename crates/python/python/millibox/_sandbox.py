"""The public half of the package."""

from __future__ import annotations

import asyncio
import os
import resource
import select
import shutil
import threading
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Callable, Optional, TypeVar

from . import _check, _native
from ._check import PathLike, Text
from ._files import archive, executable, whole

SEARCHED = ("/usr/local/bin", "/usr/bin", "/bin")
# LeakSanitizer needs ptrace(2), which the sandbox refuses.
ENVIRONMENT = {
    "PATH": ":".join(SEARCHED),
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "LSAN_OPTIONS": "detect_leaks=0",
}
#: The kinds of worlds.
KINDS = ("standard", "minimal", "empty")
#: The working directory of programs with files. Each run has one of its own.
DIRECTORY = "/tmp"
PYTHON = "/usr/bin/python3"
#: The name of the source in `DIRECTORY`.
MAIN = "main.py"
#: The number of prepared interpreters that a sandbox remembers.
MAX_PREPARED = 64
#: The runs of an event loop that have started, for each slot. The next program is then ready when a
#: slot becomes free.
RUNS_PER_SLOT = 4
#: A run has 5 to 7 descriptors, and some more while it starts. The others are for the caller.
FILES_PER_RUN = 16
#: The largest size. As the limit of the output, it means no limit.
MAX_BYTES = (1 << 64) - 1
MAX_PROCESSES = (1 << 32) - 1
Item = TypeVar("Item")
Checked = TypeVar("Checked")


class ProgramError(Exception):
    """A program did not succeed (`Result.check`). `result` states how it ended."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"the program ended with {result.describe()}")
        self.result = result

    def __reduce__(self) -> tuple[type[ProgramError], tuple[Result], dict[str, object]]:
        # By default, pickle would pass the message to __init__ instead of the result.
        return type(self), (self.result,), self.__dict__


@dataclass(frozen=True)
class Limits:
    """Limits of a run. Times are in seconds, sizes in bytes; `None` means no limit."""

    real_time: Optional[float] = 10.0
    cpu_time: Optional[float] = None
    memory: Optional[int] = None
    processes: Optional[int] = None
    #: Standard output and standard error together.
    output: Optional[int] = 16 << 20
    #: Each file that the program writes.
    file_size: Optional[int] = None

    def __post_init__(self) -> None:
        _check.seconds("real_time", self.real_time)
        _check.seconds("cpu_time", self.cpu_time)
        _check.integer("memory", self.memory, 1, MAX_BYTES, "no limit")
        _check.integer("processes", self.processes, 1, MAX_PROCESSES, "no limit")
        _check.integer("output", self.output, 0, MAX_BYTES, "no limit")
        _check.integer("file_size", self.file_size, 0, MAX_BYTES, "no limit")

    def _max_output(self) -> int:
        return MAX_BYTES if self.output is None else self.output


class World:
    """What a program sees. Without arguments: programs and libraries of the host, and an empty
    /tmp. `read_only` and `read_write` map paths in the sandbox to directories of the host."""

    def __init__(
        self,
        kind: str = "standard",
        *,
        read_only: Optional[Mapping[str, PathLike]] = None,
        read_write: Optional[Mapping[str, PathLike]] = None,
    ) -> None:
        _check.choice("kind", kind, KINDS)
        mounts: list[tuple[_native.Path, _native.Path, bool]] = []
        for name, places in (("read_only", read_only), ("read_write", read_write)):
            for at, source in _check.mapping(name, places).items():
                mounts.append((_check.path(f"{name}[{at!r}]", source), at, name == "read_write"))
        self._native = _native.World(kind, mounts)


@dataclass(frozen=True)
class Result:
    """How a program ended."""

    #: exited, signaled, real_time_limit, cpu_time_limit, memory_limit, output_limit, killed,
    #: cancelled or not_started
    outcome: str
    exit_code: Optional[int]
    signal: Optional[int]
    #: Why the program was not started.
    error: Optional[str]
    stdout_bytes: bytes = field(repr=False)
    stderr_bytes: bytes = field(repr=False)
    #: Whether the program wrote more than the limit allows.
    truncated: bool
    real_time: float
    user_time: float
    system_time: float
    peak_memory: int
    peak_processes: Optional[int]
    backend: str
    #: Why `run_python` has started an interpreter instead of copying one, which takes longer: for
    #: example because one of the `modules` cannot be imported.
    cold_start: Optional[str] = None

    @property
    def ok(self) -> bool:
        """Whether the program exited with status 0 and no output was lost."""
        return self.outcome == "exited" and self.exit_code == 0 and not self.truncated

    @property
    def cpu_time(self) -> float:
        return self.user_time + self.system_time

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")

    def describe(self) -> str:
        """The outcome in a few words."""
        if self.outcome == "exited":
            return f"exit status {self.exit_code}"
        if self.outcome == "signaled":
            return f"signal {self.signal}"
        words = self.outcome.replace("_", " ")
        return f"{words}: {self.error}" if self.error else words

    def check(self) -> Result:
        """Returns this result, or raises ProgramError if the program did not succeed."""
        if not self.ok:
            raise ProgramError(self)
        return self


def _result(facts: _native.Facts, stdout: bytes, stderr: bytes, truncated: bool) -> Result:
    outcome, exit_code, signal, error, figures, backend, cold_start = facts
    real, user, system, memory, processes = figures
    return Result(
        outcome, exit_code, signal, error, stdout, stderr, truncated,
        real / 1e9, user / 1e9, system / 1e9, memory, processes, backend, cold_start,
    )  # fmt: skip


_sandboxes: weakref.WeakSet[Sandbox] = weakref.WeakSet()


def _renew_locks() -> None:
    """Another thread of the parent may have held a lock at the fork, and would never release it."""
    for sandbox in list(_sandboxes):
        sandbox._lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_locks)


class Sandbox:
    """Runs programs. Starting a sandbox takes some milliseconds, so keep it for many runs.

    All methods may be called by several threads. After a fork, the child process starts a sandbox
    of its own with the same options.
    """

    def __init__(
        self,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
        *,
        backend: str = "auto",
        slots: Optional[int] = None,
    ) -> None:
        _check.instance("world", world, World)
        _check.instance("limits", limits, Limits)
        _check.choice("backend", backend, _check.BACKENDS)
        _check.integer("slots", slots, 1, _native.MAX_SLOTS, "one for each CPU")
        self._world = world or World()
        self._limits = limits or Limits()
        self._options = (backend, slots)
        # Reentrant, because a signal handler may close the sandbox while its thread starts it.
        self._lock = threading.RLock()
        self._closed = False
        self._pid = 0
        self._native: Optional[_native.Supervisor] = None
        self._prepared: dict[object, tuple[World, _native.Prepared]] = {}
        self._permits_of_loops: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}
        _sandboxes.add(self)
        self._get()

    def _get(self) -> _native.Supervisor:
        with self._lock:
            native = self._native
            if native is None or self._pid != os.getpid() or self._is_dead(native):
                self._check_open()
                native = _native.Supervisor(
                    executable("millibox-supervisor", "MILLIBOX_SUPERVISOR"), *self._options
                )
                self._native, self._pid = native, os.getpid()
                # A signal handler may have closed the sandbox meanwhile.
                if self._closed:
                    self._native = None
                    native.close()
                    self._check_open()
            return native

    def _is_dead(self, native: _native.Supervisor) -> bool:
        """Whether the supervisor has ended, for example because the machine lacked memory."""
        return not self._closed and native.is_dead()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the sandbox is closed")

    @property
    def backend(self) -> str:
        """What limits and measures the runs: cgroup2, hybrid or rlimit."""
        return self._get().info()[0]

    @property
    def slots(self) -> int:
        """The number of programs that can run at the same time."""
        return self._get().info()[1]

    def _permits(self) -> asyncio.Semaphore:
        """The permits of this event loop. Without them, many runs would exceed the limit on open
        files."""
        loop = asyncio.get_running_loop()
        number = RUNS_PER_SLOT * self.slots
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if files != resource.RLIM_INFINITY:
            number = max(1, min(number, files // FILES_PER_RUN))
        with self._lock:
            if loop not in self._permits_of_loops:
                # A semaphore keeps its loop alive, so weak references would not help.
                for other in [one for one in self._permits_of_loops if one.is_closed()]:
                    del self._permits_of_loops[other]
                self._permits_of_loops[loop] = asyncio.Semaphore(number)
            return self._permits_of_loops[loop]

    def close(self) -> None:
        """Ends the sandbox with all programs in it."""
        with self._lock:
            self._closed = True
            native, self._native = self._native, None
        if native is not None and self._pid == os.getpid():
            native.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _request(
        self,
        command: Sequence[PathLike],
        stdin: Optional[Text],
        files: Optional[Mapping[str, Text]],
        env: Optional[Mapping[str, str]],
        cwd: Optional[PathLike],
        world: Optional[World],
        limits: Limits,
        modules: Optional[Sequence[str]] = None,
    ) -> _native.Request:
        words = _check.command(command)
        if "/" not in words[0]:
            path = shutil.which(words[0], path=":".join(SEARCHED))
            words[0] = path or f"/usr/bin/{words[0]}"
        variables = {**ENVIRONMENT, **_check.variables("env", env)}
        input_bytes = None if stdin is None else _check.data("stdin", stdin)
        directory = None if cwd is None else _check.path("cwd", cwd)
        contents = _check.files(files)
        _check.instance("world", world, World)
        world = world or self._world
        prepared = staged = None
        if modules is not None:
            prepared = self._prepare(world, words[0], modules, variables)
        if contents is not None:
            directory = directory or DIRECTORY
            archived = archive(contents, directory)
            staged = (executable("millibox-stage", "MILLIBOX_STAGE"), archived)
        return _native.Request(
            words,
            world._native,
            prepared,
            staged,
            input_bytes,
            list(variables.items()),
            directory,
            limits.real_time,
            limits.cpu_time,
            limits.memory,
            limits.processes,
            limits.file_size,
        )

    def _prepare(
        self, world: World, python: str, modules: Sequence[str], env: Mapping[str, str]
    ) -> _native.Prepared:
        """The interpreter with these modules, the same for all runs that need it."""
        key = (id(world), python, tuple(modules), tuple(env.items()))
        with self._lock:
            if key not in self._prepared:
                library = executable("libmillibox_ready.so", "MILLIBOX_READY")
                prepared = world._native.prepare(python, list(modules), list(env.items()), library)
                while len(self._prepared) >= MAX_PREPARED:
                    del self._prepared[next(iter(self._prepared))]
                # The world must live as long as its id is a key.
                self._prepared[key] = (world, prepared)
            return self._prepared[key][1]

    def _python(
        self,
        source: str,
        args: Sequence[str],
        stdin: Optional[Text],
        files: Optional[Mapping[str, Text]],
        modules: Sequence[str],
        python: PathLike,
        env: Optional[Mapping[str, str]],
        world: Optional[World],
        limits: Limits,
    ) -> _native.Request:
        main = whole(MAIN, DIRECTORY)
        if any(whole(path, DIRECTORY) == main for path in _check.mapping("files", files)):
            raise ValueError(f"files has {MAIN}, which is the source; name the file differently")
        every: dict[str, Text] = {**(files or {}), MAIN: _check.source(source)}
        command = [_check.path("python", python), MAIN, *_check.words("args", args)]
        modules = _check.words("modules", modules)
        return self._request(command, stdin, every, env, None, world, limits, modules)

    def _chosen(self, limits: Optional[Limits]) -> Limits:
        _check.instance("limits", limits, Limits)
        return limits or self._limits

    def run(
        self,
        command: Sequence[PathLike],
        *,
        stdin: Optional[Text] = None,
        files: Optional[Mapping[str, Text]] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[PathLike] = None,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
    ) -> Result:
        """Runs a program to its end. `files` maps paths to contents; relative paths are in the
        working directory, which is then /tmp unless `cwd` names another one."""
        limits = self._chosen(limits)
        request = self._request(command, stdin, files, env, cwd, world, limits)
        return _result(*self._get().output(request, limits._max_output()))

    async def arun(
        self,
        command: Sequence[PathLike],
        *,
        stdin: Optional[Text] = None,
        files: Optional[Mapping[str, Text]] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[PathLike] = None,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
    ) -> Result:
        """The asyncio version of `run`. Cancelling the task ends the program. Of any number of
        tasks, at most four for each slot have started a program, and the others wait."""
        limits = self._chosen(limits)
        async with self._permits():
            request = self._request(command, stdin, files, env, cwd, world, limits)
            return await _watched(self._get().start(request, limits._max_output()))

    def run_python(
        self,
        source: str,
        *,
        args: Sequence[str] = (),
        stdin: Optional[Text] = None,
        files: Optional[Mapping[str, Text]] = None,
        modules: Sequence[str] = (),
        python: PathLike = PYTHON,
        env: Optional[Mapping[str, str]] = None,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
    ) -> Result:
        """Runs a Python program as a copy of an interpreter that was started once and has imported
        `modules`. Each copy is a fresh process: nothing of one run is visible to another."""
        limits = self._chosen(limits)
        request = self._python(source, args, stdin, files, modules, python, env, world, limits)
        return _result(*self._get().output(request, limits._max_output()))

    async def arun_python(
        self,
        source: str,
        *,
        args: Sequence[str] = (),
        stdin: Optional[Text] = None,
        files: Optional[Mapping[str, Text]] = None,
        modules: Sequence[str] = (),
        python: PathLike = PYTHON,
        env: Optional[Mapping[str, str]] = None,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
    ) -> Result:
        """The asyncio version of `run_python`. Cancelling the task ends the program."""
        limits = self._chosen(limits)
        async with self._permits():
            request = self._python(source, args, stdin, files, modules, python, env, world, limits)
            return await _watched(self._get().start(request, limits._max_output()))

    def map(
        self,
        commands: Iterable[Sequence[PathLike]],
        *,
        limits: Optional[Limits] = None,
        at_once: Optional[int] = None,
    ) -> Generator[Result, None, None]:
        """Runs many programs, at most one for each slot at a time, and yields the results in order.
        Reads the commands only as far as needed. The running programs are ended when the generator
        is closed, and when an exception leaves it, for example because of a wrong command."""
        limits = self._chosen(limits)
        options = partial(
            self._request, stdin=None, files=None, env=None, cwd=None, world=None, limits=limits
        )
        return self._map(_check.command, options, commands, limits, at_once)

    def map_python(
        self,
        sources: Iterable[str],
        *,
        modules: Sequence[str] = (),
        limits: Optional[Limits] = None,
        at_once: Optional[int] = None,
    ) -> Generator[Result, None, None]:
        """Runs many Python programs as `run_python` does, and yields the results in order, like
        `map`."""
        limits = self._chosen(limits)
        options = partial(
            self._python, args=(), stdin=None, files=None, modules=modules,
            python=PYTHON, env=None, world=None, limits=limits,
        )  # fmt: skip
        return self._map(_check.source, options, sources, limits, at_once)

    def _map(
        self,
        check: Callable[[Item], Checked],
        request: Callable[[Checked], _native.Request],
        items: Iterable[Item],
        limits: Limits,
        at_once: Optional[int],
    ) -> Generator[Result, None, None]:
        number = at_once or self.slots
        flights: SimpleQueue[Optional[_Flight]] = SimpleQueue()
        ended: SimpleQueue[_Flight] = SimpleQueue()
        waiting: deque[_Flight] = deque()
        threads = 0

        def start(item: Checked) -> _native.Run:
            return self._get().start(request(item), limits._max_output())

        def first() -> Result:
            # The error of a later run is raised before the result of a run that may never end.
            while (result := waiting[0].result) is None:
                flight = ended.get()
                if flight.error is not None:
                    raise flight.error
            waiting.popleft()
            return result

        try:
            for item in items:
                flight = _Flight(partial(start, check(item)))
                waiting.append(flight)
                flights.put(flight)
                if threads < number:
                    threads += 1
                    Thread(target=_work, args=(flights, ended), daemon=True).start()
                if len(waiting) >= 2 * number:
                    yield first()
            while waiting:
                yield first()
        finally:
            for flight in waiting:
                flight.cancel()
            for _ in range(threads):
                flights.put(None)


class _Flight:
    """A run of `map`. It is cancelled without a lock, because the garbage collector may close a
    generator in any thread at any moment."""

    def __init__(self, start: Callable[[], _native.Run]) -> None:
        self._start = start
        self._run: Optional[_native.Run] = None
        self._is_cancelled = False
        self.result: Optional[Result] = None
        self.error: Optional[BaseException] = None

    def execute(self) -> None:
        if self._is_cancelled:
            return
        try:
            self._run = self._start()
            # `cancel` may have been called before there was a run.
            if self._is_cancelled:
                self._run.cancel()
            self.result = _waited(self._run)
        except BaseException as error:
            self.error = error
        finally:
            self._run = None

    def cancel(self) -> None:
        self._is_cancelled = True
        run = self._run
        if run is not None:
            run.cancel()


def _work(flights: SimpleQueue[Optional[_Flight]], ended: SimpleQueue[_Flight]) -> None:
    """Executes runs of `map`, in a daemon thread: an interpreter that ends does not wait for it."""
    while (flight := flights.get()) is not None:
        flight.execute()
        ended.put(flight)
        del flight


def _waited(run: _native.Run) -> Result:
    """The result of a run, for which this thread waits."""
    events = select.poll()
    events.register(run.fileno(), select.POLLIN)
    try:
        while (ended := run.poll()) is None:
            events.poll()
        return _result(*ended)
    finally:
        # Tracebacks of an exception keep this frame alive, and it a descriptor of the run.
        del run


async def _watched(run: _native.Run) -> Result:
    """The result of a run whose descriptor the event loop watches."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_native.Ended] = loop.create_future()

    def poll() -> None:
        try:
            ended = run.poll()
        except Exception as error:
            if not done.done():
                done.set_exception(error)
            return
        if ended is not None and not done.done():
            done.set_result(ended)

    descriptor = run.fileno()
    loop.add_reader(descriptor, poll)
    try:
        return _result(*await done)
    except BaseException:
        run.cancel()
        raise
    finally:
        loop.remove_reader(descriptor)
        # Tracebacks of an exception keep this frame alive, and it a descriptor of the run.
        del run
