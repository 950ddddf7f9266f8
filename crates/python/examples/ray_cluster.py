"""Runs programs on all machines of a Ray cluster, with one sandbox for each node.

    pip install ray && python ray_cluster.py

Each task carries a batch of programs. Ray repeats the tasks of a worker that dies, and `run`
returns the results in the order of the programs. A program may thus run twice, but has one result.
"""

import os
from collections import deque

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from millibox import Limits, Result, Sandbox

LIMITS = Limits(real_time=10.0, memory=512 << 20, processes=16)
BATCH = 16
#: The number of tasks of a node that wait or run, so that no node has to wait for work.
TASKS_PER_NODE = 2


@ray.remote(max_restarts=-1, max_task_retries=-1)
class NodeSandbox:
    """The sandbox of a node."""

    def __init__(self) -> None:
        self.box = Sandbox(limits=LIMITS)

    def pid(self) -> int:
        return os.getpid()

    def run(self, sources: list[str]) -> list[Result]:
        return list(self.box.map_python(sources))


def sandboxes() -> list:
    """Starts a sandbox on each node."""
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    pinned = [NodeAffinitySchedulingStrategy(node, soft=True) for node in nodes]
    return [NodeSandbox.options(scheduling_strategy=one).remote() for one in pinned]


def run(sources: list[str], among: list) -> list[Result]:
    """Runs programs on these nodes. A node receives a new batch when it has finished a batch."""
    waiting = deque(range(0, len(sources), BATCH))
    idle = list(among) * TASKS_PER_NODE
    running = {}
    results = {}
    while waiting or running:
        while waiting and idle:
            begin, node = waiting.popleft(), idle.pop()
            running[node.run.remote(sources[begin : begin + BATCH])] = (begin, node)
        ended, _ = ray.wait(list(running))
        for task in ended:
            begin, node = running.pop(task)
            results[begin] = ray.get(task)
            idle.append(node)
    return [result for begin in sorted(results) for result in results[begin]]


if __name__ == "__main__":
    ray.init()
    for result in run([f"print({number} ** 2)" for number in range(100)], sandboxes()):
        print(result.stdout, end="")
