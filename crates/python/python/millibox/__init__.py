"""Runs programs in the sandbox of millibox.

    with millibox.Sandbox() as box:
        result = box.run(["python3", "main.py"], stdin="1 2")

A program that fails is a result. An exception means that the sandbox failed
(`SandboxError`), or that an argument is wrong (`ValueError` or `TypeError`).
"""

from ._judge import Language, Verdict, ajudge, judge, languages
from ._native import SandboxError, __version__
from ._sandbox import Limits, ProgramError, Result, Sandbox, World

__all__ = [
    "Language",
    "Limits",
    "ProgramError",
    "Result",
    "Sandbox",
    "SandboxError",
    "Verdict",
    "World",
    "__version__",
    "ajudge",
    "judge",
    "languages",
]
