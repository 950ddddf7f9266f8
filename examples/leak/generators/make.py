#!/usr/bin/env python3
"""Writes data/secret.

An input is n, q and p. If p is 0, the validator decides as late as possible. The answers are only
for human readers; the validator does not need them.
"""

from pathlib import Path

SECRET = Path(__file__).resolve().parent.parent / "data" / "secret"


def write(name, n, p):
    questions = (n - 1).bit_length()
    (SECRET / f"{name}.in").write_text(f"{n} {questions} {p}\n")
    (SECRET / f"{name}.ans").write_text(f"{p or 'any'}\n")


write("01-one-section", 1, 1)
write("02-first", 1000, 1)
write("03-last", 1000, 1000)
write("04-middle", 65_536, 32_769)
write("05-somewhere", 999_999, 271_828)
write("06-late-two", 2, 0)
write("07-late", 65_537, 0)
write("08-late-long", 1_000_000, 0)
