# Puts the heaviest remaining stone on the lighter heap. Often nearly correct, but 400 g off on the
# first sample: wrong answer.
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
