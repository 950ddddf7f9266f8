from os import PathLike
from typing import Optional, Union

Facts = tuple[
    str,
    Optional[int],
    Optional[int],
    Optional[str],
    tuple[int, int, int, int, Optional[int]],
    str,
    Optional[str],
]
Ended = tuple[Facts, bytes, bytes, bool]
Path = Union[str, PathLike[str]]

MAX_SLOTS: int
__version__: str

class SandboxError(RuntimeError): ...

class World:
    def __new__(cls, kind: str, mounts: list[tuple[Path, Path, bool]]) -> World: ...
    def prepare(
        self, python: str, modules: list[str], env: list[tuple[str, str]], library: Path
    ) -> Prepared: ...

class Prepared: ...

class Request:
    def __new__(
        cls,
        argv: list[str],
        world: World,
        prepared: Optional[Prepared],
        files: Optional[tuple[Path, bytes]],
        stdin: Optional[bytes],
        env: list[tuple[str, str]],
        cwd: Optional[str],
        real_time: Optional[float],
        cpu_time: Optional[float],
        memory: Optional[int],
        processes: Optional[int],
        file_size: Optional[int],
    ) -> Request: ...

class Run:
    def fileno(self) -> int: ...
    def poll(self) -> Optional[Ended]: ...
    def cancel(self) -> None: ...

class Supervisor:
    def __new__(cls, executable: Path, backend: str, slots: Optional[int]) -> Supervisor: ...
    def is_dead(self) -> bool: ...
    def info(self) -> tuple[str, int]: ...
    def output(self, request: Request, max_bytes: int) -> Ended: ...
    def start(self, request: Request, max_bytes: int) -> Run: ...
    def close(self) -> None: ...
