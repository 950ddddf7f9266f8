"""A reward function for reinforcement learning, with the interface that verl calls:

    custom_reward_function.path=reward.py custom_reward_function.name=compute_score

The reward is the fraction of the tests that the model's program passes. Without a program, or
without tests, it is 0.
"""

import json
import re
from functools import lru_cache

from millibox import Limits, Sandbox

LIMITS = Limits(real_time=10.0, cpu_time=5.0, memory=512 << 20, processes=16)
BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)


@lru_cache(maxsize=1)
def sandbox() -> Sandbox:
    """One sandbox for each process. It starts at the first call, after all forks."""
    return Sandbox(limits=LIMITS)


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """`ground_truth` is JSON: {"inputs": [...], "outputs": [...]}, one text for each test."""
    blocks = BLOCK.findall(solution_str)
    if not blocks:
        return 0.0
    tests = json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth
    pairs = list(zip(tests["inputs"], tests["outputs"]))
    passed = 0
    for given, expected in pairs:
        result = sandbox().run_python(blocks[-1], stdin=given)
        passed += result.ok and result.stdout.split() == expected.split()
    return passed / len(pairs) if pairs else 0.0
