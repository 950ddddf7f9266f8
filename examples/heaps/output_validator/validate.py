"""validate.py INPUT ANSWER FEEDBACK_DIRECTORY [slack GRAMS] [tell] < OUTPUT

Accepts (exit status 42) a division whose difference exceeds that of the judges' division by at most
GRAMS (default 0). Otherwise it rejects the output (43). It always writes the reason for the judges,
and with `tell` also for the team.

The output is untrusted. The validator reads at most LONGEST bytes and one more. In messages it
quotes and truncates tokens, and escapes all characters outside ASCII.
"""

import re
import sys
from pathlib import Path

LONGEST = 1 << 16
ACCEPTED, WRONG = 42, 43


class Wrong(Exception):
    """The output is not a valid division; the message gives the reason."""


def quoted(token):
    return ascii(token[:20]) + ("..." if len(token) > 20 else "")


def number(token, what, most):
    if not re.fullmatch(r"[0-9]{1,9}", token, re.ASCII):
        raise Wrong(f"{what} is {quoted(token)}, which is not a number")
    value = int(token)
    if value > most:
        raise Wrong(f"{what} is {value}, more than {most}")
    return value


def difference(text, weights):
    """Returns the difference between the heaps of an output."""
    tokens = iter(text.split())
    announced = next(tokens, None)
    if announced is None:
        raise Wrong("the output is empty")
    count = number(announced, "the number of stones on the first heap", len(weights))
    heap = set()
    for place in range(1, count + 1):
        token = next(tokens, None)
        if token is None:
            raise Wrong(f"{count} stones are announced, but {place - 1} follow")
        stone = number(token, f"stone {place} of the first heap", len(weights))
        if stone == 0:
            raise Wrong("stones are counted from 1, but there is a stone 0")
        if stone in heap:
            raise Wrong(f"stone {stone} is listed twice")
        heap.add(stone)
    rest = next(tokens, None)
    if rest is not None:
        raise Wrong(f"the {count} stones are followed by {quoted(rest)}")
    first = sum(weights[stone - 1] for stone in heap)
    return abs(sum(weights) - 2 * first)


def flags(words):
    slack, tell = 0, False
    words = iter(words)
    for word in words:
        if word == "slack":
            slack = int(next(words))
        elif word == "tell":
            tell = True
        else:
            sys.exit(f"unknown flag {word!r}; there are slack GRAMS and tell")
    return slack, tell


def judge(text, weights, least, slack):
    """Returns a message about a correct output, or raises Wrong."""
    found = difference(text, weights)
    if found < least:
        # A status other than 42 and 43 reports an error of the judges, not of the submission.
        sys.exit(f"the output's difference is {found} g, but the judges' is {least} g")
    if found > least + slack:
        allowed = f"{slack} g more are allowed"
        raise Wrong(f"a difference of {found} g; {least} g is the least, and {allowed}")
    return f"a difference of {found} g; {least} g is the least"


def main():
    input_path, answer_path, feedback, *words = sys.argv[1:]
    slack, tell = flags(words)
    _, *weights = map(int, Path(input_path).read_text().split())
    least = difference(Path(answer_path).read_text(), weights)
    text = sys.stdin.buffer.read(LONGEST + 1)
    try:
        if len(text) > LONGEST:
            raise Wrong(f"more than {LONGEST} bytes")
        message, verdict = judge(text.decode("ascii", "replace"), weights, least, slack), ACCEPTED
    except Wrong as wrong:
        message, verdict = str(wrong), WRONG
    for name in ["judgemessage.txt", "teammessage.txt"] if tell else ["judgemessage.txt"]:
        (Path(feedback) / name).write_text(message + "\n")
    sys.exit(verdict)


main()
