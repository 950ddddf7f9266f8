# Tries every choice: fifteen stalls have 1597, five hundred have too many. Group 1: 20 points, then
# the CPU time limit.
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
