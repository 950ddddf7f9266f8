# Requires water below the height of the causeway, although the statement says "not higher". It
# misses the minutes in which the water is at exactly this height. Wrong answer.
import sys

HIGHEST = 10_000


def main():
    numbers = iter(map(int, sys.stdin.read().split()))
    n, m = next(numbers), next(numbers)
    readings = [next(numbers) for _ in range(n)]
    change, level = [0.0] * (HIGHEST + 2), [0.0] * (HIGHEST + 2)
    for low, high in map(sorted, zip(readings, readings[1:])):
        if low == high:
            level[low] += 1
        else:
            change[low] += 1 / (high - low)
            change[high] -= 1 / (high - low)
    minutes = []
    total, slope = 0.0, change[0]
    for height in range(HIGHEST + 1):
        minutes.append(total)
        total += slope + level[height]
        slope += change[height + 1]
    for _ in range(m):
        print(f"{minutes[next(numbers)]:.9f}")


main()
