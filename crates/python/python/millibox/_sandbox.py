"""The public half of the package."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Optional, Union

from . import _native

PathLike = Union[str, "os.PathLike[str]"]
SEARCHED = ("/usr/local/bin", "/usr/bin", "/bin")
CHUNK = 1 << 16


class ProgramError(Exception):
    """A program did not succeed (`Result.check`). `result` says how it ended."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"the program ended with {result.describe()}")
        self.result = result


@dataclass(frozen=True)
class Limits:
    """Limits of a run. Times are in seconds, sizes in bytes; `None` means no limit."""

    real_time: Optional[float] = 10.0
    cpu_time: Optional[float] = None
    memory: Optional[int] = None
    processes: Optional[int] = None
    #: Standard output and standard error together.
    output: int = 16 << 20
    #: Each file that the program writes.
    file_size: Optional[int] = None


class World:
    """What a program sees. Without arguments: programs and libraries of the host, and an empty
    /tmp. `read_only` and `read_write` map places in the sandbox to directories of the host."""

    def __init__(
        self,
        kind: str = "standard",
        *,
        read_only: Optional[Mapping[str, PathLike]] = None,
        read_write: Optional[Mapping[str, PathLike]] = None,
    ) -> None:
        mounts: list[tuple[_native.Path, _native.Path, bool]] = []
        for places, writable in ((read_only, False), (read_write, True)):
            for at, source in (places or {}).items():
                mounts.append((os.fspath(source), at, writable))
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
    outcome, exit_code, signal, error, figures, backend = facts
    real, user, system, memory, processes = figures
    return Result(
        outcome, exit_code, signal, error, stdout, stderr, truncated,
        real / 1e9, user / 1e9, system / 1e9, memory, processes, backend,
    )  # fmt: skip


def _supervisor() -> Path:
    """The executable of the same version: in this package, or named by the environment."""
    named = os.environ.get("MILLIBOX_SUPERVISOR")
    if named:
        return Path(named)
    packed = Path(__file__).with_name("_bin") / "millibox-supervisor"
    if packed.exists():
        return packed
    found = shutil.which("millibox-supervisor")
    if found is None:
        raise _native.SandboxError(f"{packed} does not exist; install the package again")
    return Path(found)


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
        self._world = world or World()
        self._limits = limits or Limits()
        self._options = (backend, slots)
        self._lock = threading.Lock()
        self._closed = False
        self._pid = 0
        self._native: Optional[_native.Supervisor] = None
        self._get()

    def _get(self) -> _native.Supervisor:
        with self._lock:
            if self._closed:
                raise RuntimeError("the sandbox is closed")
            if self._native is None or self._pid != os.getpid():
                self._native = _native.Supervisor(_supervisor(), *self._options)
                self._pid = os.getpid()
            return self._native

    @property
    def backend(self) -> str:
        """What limits and measures the runs: cgroup2, hybrid or rlimit."""
        return self._get().info()[0]

    @property
    def slots(self) -> int:
        """The number of programs that can run at the same time."""
        return self._get().info()[1]

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
        command: Sequence[str],
        stdin: Union[str, bytes, None],
        env: Optional[Mapping[str, str]],
        cwd: Optional[str],
        world: Optional[World],
        limits: Limits,
    ) -> _native.Request:
        if isinstance(command, str) or not command or not command[0]:
            raise ValueError("the command must be a list of a program and its arguments")
        words = list(command)
        if "/" not in words[0]:
            path = shutil.which(words[0], path=":".join(SEARCHED))
            words[0] = path or f"/usr/bin/{words[0]}"
        variables = {"PATH": ":".join(SEARCHED), "LANG": "C.UTF-8", "HOME": "/tmp", **(env or {})}
        return _native.Request(
            words,
            (world or self._world)._native,
            stdin.encode() if isinstance(stdin, str) else stdin,
            list(variables.items()),
            cwd,
            limits.real_time,
            limits.cpu_time,
            limits.memory,
            limits.processes,
            limits.file_size,
        )

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: Union[str, bytes, None] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
    ) -> Result:
        """Runs a program to its end."""
        limits = limits or self._limits
        request = self._request(command, stdin, env, cwd, world, limits)
        return _result(*self._get().output(request, limits.output))

    async def arun(
        self,
        command: Sequence[str],
        *,
        stdin: Union[str, bytes, None] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        world: Optional[World] = None,
        limits: Optional[Limits] = None,
    ) -> Result:
        """Runs a program to its end, without a thread. Cancelling the task ends the program."""
        limits = limits or self._limits
        request = self._request(command, stdin, env, cwd, world, limits)
        return await _Watched(*self._get().start(request), limits.output).result()

    def map(
        self,
        commands: Iterable[Sequence[str]],
        *,
        limits: Optional[Limits] = None,
        at_once: Optional[int] = None,
    ) -> Iterator[Result]:
        """Runs many programs, one at once for each slot, and yields the results in order.
        Reads the commands only as far as needed."""
        number = at_once or self.slots
        waiting: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(number) as threads:
            try:
                for command in commands:
                    waiting.append(threads.submit(self.run, command, limits=limits))
                    if len(waiting) >= 2 * number:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


class _Watched:
    """A run whose descriptors an event loop watches."""

    def __init__(self, run: _native.Run, stdout: int, stderr: int, limit: int) -> None:
        self._run = run
        self._outputs = (stdout, stderr)
        self._open = set(self._outputs)
        self._data = {descriptor: bytearray() for descriptor in self._outputs}
        self._left = limit
        self._truncated = False
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._ended = False

    async def result(self) -> Result:
        event = self._run.fileno()
        try:
            for descriptor in self._outputs:
                self._loop.add_reader(descriptor, self._read, descriptor)
            self._loop.add_reader(event, self._end, event)
            await self._done
        except BaseException:
            self._run.cancel()
            self._loop.remove_reader(event)
            # Tracebacks of the exception keep this object alive, and it a descriptor of the run.
            del self._run
            raise
        finally:
            for descriptor in self._outputs:
                self._close(descriptor)
        facts = self._run.facts()
        assert facts is not None
        stdout, stderr = (bytes(self._data[descriptor]) for descriptor in self._outputs)
        return _result(facts, stdout, stderr, self._truncated)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        taken = data[: self._left]
        self._left -= len(taken)
        self._data[descriptor] += taken
        if len(taken) < len(data):
            self._truncated = True
            self._run.kill_for_output()
        if not data:
            self._close(descriptor)
            self._finish()

    def _end(self, event: int) -> None:
        self._loop.remove_reader(event)
        self._ended = True
        self._finish()

    def _finish(self) -> None:
        if self._ended and not self._open and not self._done.done():
            self._done.set_result(None)
