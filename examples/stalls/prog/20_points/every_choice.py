# Tries every choice. For fifteen stalls there are 1597 choices, and for five hundred far too many.
# Group 1: 20 points; then the CPU time limit ends it.
import sys

sys.setrecursionlimit(10_000)
n, *pays = map(int, open(0).read().split())


def best(stall):
    if stall >= n:
        return 0, ()
    without = best(stall + 1)
    paid, stalls = best(stall + 2)
    return max(without, (paid + pays[stall], (stall + 1, *stalls)))


paid, stalls = best(0)
print(paid)
print(*stalls)
