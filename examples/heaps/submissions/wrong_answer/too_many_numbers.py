# Prints a heap that is correct for the samples, followed by all stones. A validator that searches
# the output for a division could accept it. Wrong answer: nothing may follow the heap.
import sys

n, *weights = map(int, sys.stdin.read().split())
print("1\n1")
print(n)
print(*range(1, n + 1))
