"""Checks of arguments. Each error names the argument and states what to pass.

A wrong type is a TypeError, and any other wrong value is a ValueError. A string instead of a list
is a ValueError, because a string is a sequence of strings.
"""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

PathLike = Union[str, "os.PathLike[str]"]
Text = Union[str, bytes, bytearray, memoryview]

BACKENDS = ("auto", "cgroup2", "hybrid", "rlimit")
#: The longest time that the sandbox can represent, which is in nanoseconds of 64 bits.
MAX_SECONDS = 18_000_000_000


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {expected}, not {type(value).__name__}")


def integer(name: str, value: object, least: int, most: int, none: str) -> None:
    """`none` states the meaning of None."""
    if value is None:
        return
    if not isinstance(value, numbers.Integral):
        raise wrong_type(name, f"an integer, or None for {none}", value)
    if not least <= operator.index(value) <= most:
        raise ValueError(
            f"{name} is {value}; pass an integer from {least} to {most}, or None for {none}"
        )


def seconds(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, numbers.Real):
        raise wrong_type(name, "a number of seconds, or None for no limit", value)
    # Not a number compares as false.
    if not 0 < float(value) <= MAX_SECONDS:
        raise ValueError(
            f"{name} is {value}; pass a positive number of seconds, or None for no limit"
        )


def choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; pass {', '.join(choices[:-1])} or {choices[-1]}")


def instance(name: str, value: object, expected: type) -> None:
    if value is not None and not isinstance(value, expected):
        raise wrong_type(name, f"a {expected.__name__}", value)


def path(name: str, value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise wrong_type(name, "a string or a path", value)
    return value


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    return value


def data(name: str, value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise wrong_type(name, "a string or bytes", value)
    return bytes(value)


def words(name: str, values: object) -> list[str]:
    if isinstance(values, str):
        message = f"{name} must be a list of strings, not a single string; pass [{values!r}]"
        raise ValueError(message)
    if isinstance(values, (bytes, bytearray)) or not isinstance(values, Iterable):
        raise wrong_type(name, "a list of strings", values)
    return [path(f"{name}[{index}]", value) for index, value in enumerate(values)]


def command(values: object) -> list[str]:
    found = words("command", values)
    if not found or not found[0]:
        raise ValueError("command has no program; pass a list of a program and its arguments")
    return found


def source(value: object) -> str:
    return text("source", value)


def mapping(name: str, values: object) -> Mapping[Any, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise wrong_type(name, "a dictionary", values)
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"{name} must have strings as keys, not {key!r}; pass {str(key)!r}")
    return values


def variables(name: str, values: object) -> dict[str, str]:
    return {key: text(f"{name}[{key!r}]", value) for key, value in mapping(name, values).items()}


def files(values: object) -> Optional[dict[str, bytes]]:
    if values is None:
        return None
    return {key: data(f"files[{key!r}]", value) for key, value in mapping("files", values).items()}
