"""verify.py GROUP < INPUT: accepts (exit status 0) exactly the inputs that the statement allows.

Sim's format has no input validators, so the author of the tests runs this program by hand.
"""

import re
import sys

LIMITS = {"0": (2500, 10**9), "1": (15, 1000), "2": (500, 1000), "3": (2500, 10**9)}


def main():
    most_stalls, most_pay = LIMITS[sys.argv[1]]
    match = re.fullmatch(r"([1-9][0-9]*)\n([1-9][0-9]*(?: [1-9][0-9]*)*)\n", sys.stdin.read())
    if not match:
        sys.exit("not two lines of positive numbers with one space between them")
    n, pays = int(match.group(1)), list(map(int, match.group(2).split()))
    if n != len(pays) or n > most_stalls or max(pays) > most_pay:
        sys.exit("not n numbers, or n or one of them is too great")


main()
