#!/usr/bin/env python3
"""Writes data/secret and the answers of data/sample.

The answers are computed from the definition, segment by segment. The computation shares no code
with the solutions, which sweep over the heights.
"""

import math
import random
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
HIGHEST = 10_000


def answer(readings, proposals):
    segments = [(min(pair), max(pair)) for pair in zip(readings, readings[1:])]

    def share(height, low, high):
        if height >= high:
            return 1.0
        return (height - low) / (high - low) if height > low else 0.0

    def minutes(height):
        return math.fsum(share(height, low, high) for low, high in segments)

    known = {height: minutes(height) for height in set(proposals)}
    return [known[height] for height in proposals]


def write_answer(path, readings, proposals):
    path.write_text("".join(f"{minutes:.9f}\n" for minutes in answer(readings, proposals)))


def write(name, readings, proposals):
    lines = [[len(readings), len(proposals)], readings, proposals]
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    (DATA / "secret" / f"{name}.in").write_text(text)
    write_answer(DATA / "secret" / f"{name}.ans", readings, proposals)


def heights(dice, count, most=HIGHEST):
    return [dice.randrange(most + 1) for _ in range(count)]


def stairs(dice, count):
    readings = []
    while len(readings) < count:
        readings += [dice.randrange(20) * 500] * dice.randrange(1, 30)
    return readings[:count]


def tide(dice, count):
    level = [5000 + 4500 * math.sin(minute / 120) for minute in range(count)]
    return [round(height) + dice.randrange(-400, 401) for height in level]


def main():
    for path in sorted((DATA / "sample").glob("*.in")):
        lines = path.read_text().splitlines()
        _, readings, proposals = [list(map(int, line.split())) for line in lines]
        write_answer(path.with_suffix(".ans"), readings, proposals)
    dice = random.Random(20)
    write("01-level", [7, 7], [6, 7, 8])
    write("02-edges", [0, HIGHEST], [0, 1, 5000, HIGHEST - 1, HIGHEST])
    write("03-small", heights(dice, 40, 50), heights(dice, 60, 60))
    write("04-stairs", stairs(dice, 2000), [step * 500 for step in range(21)])
    write("05-swings", [0, HIGHEST] * 600, heights(dice, 100))
    write("06-long", heights(dice, 10_000), heights(dice, 3_000))
    write("07-tide", tide(dice, 3_000), heights(dice, 200))


main()
