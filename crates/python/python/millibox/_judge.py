"""The judge: the command of this package, with results as objects."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from . import _native
from ._files import PathLike, executable

#: The exit status of the command if a package cannot be judged.
NOT_JUDGED = 2


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
    report: dict[str, Any] = field(repr=False)


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

    Raises ValueError if the package cannot be judged, and SandboxError if the judge failed for
    another reason.
    """
    with tempfile.TemporaryDirectory(prefix="millibox-") as directory:
        report = os.path.join(directory, "report.json")
        options = ["--report", "json", report, "--backend", backend]
        if language is not None:
            options += ["--language", language]
        names = [os.fspath(path) for path in (package, *submissions)]
        ended = _run("judge", *options, "--", *names)
        if not os.path.exists(report):
            raise _failure(ended)
        with open(report, encoding="utf-8") as file:
            submitted = json.load(file)["submissions"]
    return [
        Verdict(
            one["name"],
            one["verdict"],
            one["score"],
            one["max_score"],
            one["as_expected"],
            one,
        )
        for one in submitted
    ]


def languages() -> list[Language]:
    """The languages of the judge, and whether this machine has them."""
    ended = _run("languages", "--json")
    try:
        found = json.loads(ended.stdout)
    except ValueError:
        raise _failure(ended) from None
    return [
        Language(
            one["name"], one["title"], one["state"] == "available", one["detail"], one["remedy"]
        )
        for one in found
    ]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command(), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _failure(ended: subprocess.CompletedProcess[str]) -> Exception:
    message = ended.stderr.strip()
    if ended.returncode == NOT_JUDGED:
        return ValueError(message)
    return _native.SandboxError(message)
