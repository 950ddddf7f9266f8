"""The judge: the command of this package, with results as objects.

The command holds the read end of a pipe as its standard input, and ends with all its processes when
the write end is closed. So it ends with this process, however this process ends. The report is read
from standard output, so no file is left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from . import _check, _native
from ._check import PathLike
from ._files import executable

#: The steps of the command that fail if an argument is wrong or the package cannot be judged.
STEPS_OF_CALLER = ("options", "package")
#: The time in seconds in which an interrupted command removes its processes and files.
END_SECONDS = 10.0


@dataclass(frozen=True)
class Verdict:
    """The verdict of a submission."""

    #: The submission's name in the package, or its path.
    submission: str
    #: For example "accepted" or "wrong_answer". "judge_error" says nothing about the submission.
    #: `None` if it was not judged.
    verdict: Optional[str]
    score: Optional[float]
    max_score: Optional[float]
    #: Whether the package expects this verdict; `None` if it expects nothing.
    as_expected: Optional[bool]
    #: The verdicts of the tests and all figures, as docs/reference/report.md describes them.
    report: dict[str, Any] = field(repr=False, hash=False)
    #: Warnings for the author of the package, with file and line. All verdicts have the same.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Language:
    """A language of the judge."""

    name: str
    title: str
    #: Whether programs in this language can be judged on this machine.
    available: bool
    #: The version of the compiler or interpreter, or what is missing.
    detail: str
    #: What makes the language available.
    remedy: Optional[str]


def command() -> Path:
    """The command `millibox` of this package."""
    return executable("millibox", "MILLIBOX_COMMAND")


def judge(
    package: PathLike,
    *submissions: PathLike,
    language: Optional[str] = None,
    backend: str = "auto",
) -> list[Verdict]:
    """Judges files, or submissions of a problem package (all if none is named).

    Raises ValueError if an argument is wrong or the package cannot be judged, and SandboxError if
    the judge failed for another reason.
    """
    arguments = _arguments(package, submissions, language, backend)
    with _pipe() as reader, subprocess.Popen(
        arguments, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            stdout, stderr = process.communicate()
        except BaseException:
            _end(process)
            raise
    return _verdicts(stdout, stderr)


async def ajudge(
    package: PathLike,
    *submissions: PathLike,
    language: Optional[str] = None,
    backend: str = "auto",
) -> list[Verdict]:
    """The asyncio version of `judge`. Cancelling the task ends the judge."""
    arguments = _arguments(package, submissions, language, backend)
    with _pipe() as reader:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            stdout, stderr = await process.communicate()
        except asyncio.CancelledError:
            await _aend(process)
            raise
    return _verdicts(stdout, stderr)


def languages() -> list[Language]:
    """The languages of the judge, and whether this machine has them."""
    ended = subprocess.run(
        [command(), "languages", "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    try:
        found = json.loads(ended.stdout)
    except ValueError:
        raise _native.SandboxError(_text(ended.stderr)) from None
    return [
        Language(
            one["name"], one["title"], one["state"] == "available", one["detail"], one["remedy"]
        )
        for one in found
    ]


def _arguments(
    package: PathLike, submissions: tuple[PathLike, ...], language: Optional[str], backend: str
) -> list[str]:
    _check.choice("backend", backend, _check.BACKENDS)
    options = ["--for-binding", "--quiet", "--report", "json", "-", f"--backend={backend}"]
    if language is not None:
        options.append(f"--language={_check.text('language', language)}")
    names = [_check.path("package", package), *_check.words("submissions", submissions)]
    if "" in names:
        raise ValueError("the path of a package or submission is empty; pass a file or directory")
    return [os.fspath(command()), "judge", *options, "--", *names]


#: The write ends of pipes whose read ends are the standard inputs of commands.
_writers: set[int] = set()


def _close_writers() -> None:
    """A forked child would otherwise keep the commands of an ended parent running."""
    while _writers:
        os.close(_writers.pop())


os.register_at_fork(after_in_child=_close_writers)


@contextmanager
def _pipe() -> Generator[int, None, None]:
    """The standard input of a command. It ends with this context or with this process."""
    reader, writer = os.pipe()
    _writers.add(writer)
    try:
        yield reader
    finally:
        os.close(reader)
        if writer in _writers:
            _writers.remove(writer)
            os.close(writer)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a command, which then removes its processes and files."""
    process.terminate()
    # The command must not wait for a reader of its report.
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    except BaseException:
        process.kill()
        raise


async def _aend(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        # The command must not wait for a reader of its report.
        await asyncio.wait_for(process.communicate(), END_SECONDS)
    except BaseException as error:
        with suppress(ProcessLookupError):
            process.kill()
        if not isinstance(error, asyncio.TimeoutError):
            raise
        await process.wait()


def _verdicts(stdout: bytes, stderr: bytes) -> list[Verdict]:
    try:
        report = json.loads(stdout)
    except ValueError:
        message = _text(stderr) or "the command millibox ended without a report"
        raise _native.SandboxError(message) from None
    if "error" in report:
        error = report["error"]
        kind = ValueError if error["step"] in STEPS_OF_CALLER else _native.SandboxError
        raise kind(error["message"])
    warnings = tuple(map(_warning, report["warnings"]))
    return [
        Verdict(
            one["name"],
            one["verdict"],
            one["score"],
            one["max_score"],
            one["as_expected"],
            one,
            warnings,
        )
        for one in report["submissions"]
    ]


def _warning(warning: dict[str, Any]) -> str:
    line = "" if warning["line"] is None else f":{warning['line']}"
    return f"{warning['file']}{line}: {warning['message']}"


def _text(message: bytes) -> str:
    return message.decode(errors="replace").strip()
