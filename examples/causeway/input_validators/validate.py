"""Accepts (exit status 42) exactly the inputs that the statement allows."""

import re
import sys

NUMBER = r"(?:0|[1-9][0-9]{0,4})"
LINE = re.compile(rf"{NUMBER}(?: {NUMBER})*\n")


def fail(why):
    print(why)
    sys.exit(43)


def numbers(what, least, most):
    line = sys.stdin.readline()
    if not LINE.fullmatch(line):
        fail(f"{what}: no line of whole numbers with one space between them")
    found = [int(word) for word in line.split()]
    if not all(least <= number <= most for number in found):
        fail(f"{what}: a number is not from {least} to {most}")
    return found


def main():
    counts = numbers("counts", 1, 10_000)
    if len(counts) != 2 or counts[0] < 2 or counts[1] > 3_000:
        fail("counts: not n (2 to 10,000) and m (1 to 3,000)")
    for what, count in zip(("readings", "proposals"), counts):
        if len(numbers(what, 0, 10_000)) != count:
            fail(f"{what}: not as many as the first line says")
    if sys.stdin.read():
        fail("something comes after the last line")
    sys.exit(42)


main()
