# Prints a correct division, flushes and closes its output, and sleeps for an hour. A program that
# does not end has not answered in time. The real-time limit ends the program and decides the
# verdict.
import os
import sys
import time

n, *weights = map(int, sys.stdin.read().split())
sums = [1]
for weight in weights:
    sums.append(sums[-1] | sums[-1] << weight)
total = sum(weights) // 2
while not sums[n] >> total & 1:
    total -= 1
heap = []
for stone in range(n, 0, -1):
    if not sums[stone - 1] >> total & 1:
        heap.append(stone)
        total -= weights[stone - 1]
print(len(heap))
print(*heap, flush=True)
os.close(1)
time.sleep(3600)
