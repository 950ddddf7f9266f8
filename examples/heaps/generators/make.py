#!/usr/bin/env python3
"""Writes data/secret: inputs, and an answer with the least difference for each of them."""

import random
from pathlib import Path

SECRET = Path(__file__).resolve().parent.parent / "data" / "secret"


def best_heap(weights):
    """Returns the heaviest heap of at most half the total weight. For each sum it stores the stone
    that reached it first.
    """
    last = {0: None}
    for stone, weight in enumerate(weights):
        for reached in sorted(last, reverse=True):
            last.setdefault(reached + weight, stone)
    reached = max(reached for reached in last if 2 * reached <= sum(weights))
    heap = []
    while reached:
        heap.append(last[reached])
        reached -= weights[heap[-1]]
    return heap


def write(name, weights):
    (SECRET / f"{name}.in").write_text(f"{len(weights)}\n{' '.join(map(str, weights))}\n")
    heap = best_heap(weights)
    stones = " ".join(str(stone + 1) for stone in heap)
    (SECRET / f"{name}.ans").write_text(f"{len(heap)}\n{stones}\n")


def main():
    dice = random.Random(42)
    write("02-one-stone", [1000])
    write("03-equal", [500] * 59)
    write("04-greedy", [600, 600, 400, 400, 400] + [1000] * 10)
    write("05-random", [dice.randrange(1, 1001) for _ in range(60)])
    write("06-heavy", [1000, 1, 1, 1, 1])
    write("07-exact", [7 * dice.randrange(100, 143) for _ in range(23)])
    write("08-thirds", [999, 999, 999, 666, 666, 333, 333, 333, 333] * 6)
    write("09-powers", [2**power for power in range(10)])


main()
