# Divides by zero where the water level does not change: an exception, exit status 1. Run-time
# error.
import sys

numbers = list(map(int, sys.stdin.read().split()))
readings = numbers[2 : 2 + numbers[0]]
print(sum(1 / abs(b - a) for a, b in zip(readings, readings[1:])))
