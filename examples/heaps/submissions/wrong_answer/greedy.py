# Puts the heaviest remaining stone on the lighter heap. This is often nearly correct, but it is off
# by 400 g on the first sample: wrong answer.
import sys

n, *weights = map(int, sys.stdin.read().split())
heaps = [[], []]
sums = [0, 0]
for stone in sorted(range(n), key=lambda stone: -weights[stone]):
    lighter = sums.index(min(sums))
    heaps[lighter].append(stone + 1)
    sums[lighter] += weights[stone]
print(len(heaps[0]))
print(*heaps[0])
