# Compares every reading with every proposal: thirty million steps, which take about ten times as
# long as the limit allows.
import sys


def share(height, first, second):
    low, high = min(first, second), max(first, second)
    if height >= high:
        return 1.0
    return (height - low) / (high - low) if height > low else 0.0


def main():
    numbers = list(map(int, sys.stdin.read().split()))
    n, m = numbers[:2]
    readings, proposals = numbers[2 : 2 + n], numbers[2 + n :]
    for height in proposals:
        print(f"{sum(share(height, *pair) for pair in zip(readings, readings[1:])):.9f}")


main()
