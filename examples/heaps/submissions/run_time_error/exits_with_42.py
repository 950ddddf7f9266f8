# Prints a correct division and exits with 42, the status with which a validator accepts. A
# submission that exits with any status other than 0 has failed: run-time error.
import sys

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
print(*heap)
sys.exit(42)
