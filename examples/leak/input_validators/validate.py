"""Accepts (exit status 42) exactly the inputs that the validator and the statement expect."""

import re
import sys


def main():
    text = sys.stdin.read()
    match = re.fullmatch(r"([1-9][0-9]{0,6}) ([0-9]|1[0-9]|20) (0|[1-9][0-9]{0,6})\n", text)
    if not match:
        sys.exit("not one line with n, q and p")
    n, questions, leak = map(int, match.groups())
    if n > 1_000_000 or leak > n or questions != (n - 1).bit_length():
        sys.exit("n is too great, p is greater than n, or q is not what always suffices")
    sys.exit(42)


main()
