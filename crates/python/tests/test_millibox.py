"""Tests of the installed package: python -m unittest discover crates/python/tests"""

import asyncio
import multiprocessing
import os
import time
import unittest

import millibox
from millibox import Limits, ProgramError, Result, Sandbox, SandboxError, World

BACKEND = os.environ.get("MILLIBOX_TEST_BACKEND", "auto")
ECHO = ["sh", "-c", "cat; echo problem >&2; exit 3"]
ENDLESS = ["sh", "-c", "while :; do echo yes; done"]


def run_in_child(box: Sandbox) -> int:
    return box.run(["true"]).exit_code or 0


class Test(unittest.TestCase):
    box: Sandbox

    @classmethod
    def setUpClass(cls) -> None:
        cls.box = Sandbox(backend=BACKEND)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.box.close()

    def check_echo(self, result: Result) -> None:
        self.assertEqual((result.outcome, result.exit_code), ("exited", 3))
        self.assertEqual((result.stdout, result.stderr), ("hällo", "problem\n"))
        self.assertFalse(result.ok)
        self.assertGreater(result.real_time, 0)
        with self.assertRaisesRegex(ProgramError, "exit status 3"):
            result.check()

    def test_run(self) -> None:
        self.check_echo(self.box.run(ECHO, stdin="hällo"))

    def test_arun(self) -> None:
        self.check_echo(asyncio.run(self.box.arun(ECHO, stdin="hällo")))

    def test_many_aruns_keep_their_outputs_apart(self) -> None:
        async def all_of_them() -> list[Result]:
            runs = [self.box.arun(["cat"], stdin=str(number) * 100_000) for number in range(10)]
            return await asyncio.gather(*runs)

        for number, result in enumerate(asyncio.run(all_of_them())):
            self.assertEqual(result.stdout, str(number) * 100_000)

    def test_cancelled_task_ends_the_program(self) -> None:
        async def cancelled() -> None:
            await asyncio.wait_for(self.box.arun(["sleep", "1000"]), 0.2)

        asyncio.run(self.box.arun(["true"]))  # The library keeps a descriptor for events.
        descriptors = len(os.listdir("/proc/self/fd"))
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(cancelled())
        # The descriptor of a run is closed when the supervisor has ended the run.
        for _ in range(100):
            if len(os.listdir("/proc/self/fd")) == descriptors:
                return
            time.sleep(0.1)
        self.fail("the run is not ended, or a descriptor is left")

    def test_output_limit(self) -> None:
        limits = Limits(output=1000)
        ran = asyncio.run(self.box.arun(ENDLESS, limits=limits))
        for result in (self.box.run(ENDLESS, limits=limits), ran):
            self.assertEqual((result.outcome, len(result.stdout_bytes)), ("output_limit", 1000))
            self.assertTrue(result.truncated)

    def test_time_limit(self) -> None:
        result = self.box.run(["sleep", "1000"], limits=Limits(real_time=0.1))
        self.assertEqual(result.outcome, "real_time_limit")

    def test_map_yields_results_in_order_and_reads_no_more_than_needed(self) -> None:
        read = 0

        def commands():
            nonlocal read
            for number in range(1000):
                read += 1
                yield ["echo", str(number)]

        results = self.box.map(commands(), at_once=2)
        self.assertEqual([next(results).stdout for _ in range(5)], [f"{n}\n" for n in range(5)])
        results.close()
        self.assertLess(read, 20)

    def test_missing_program_is_a_result(self) -> None:
        result = self.box.run(["/no/such/program"])
        self.assertEqual(result.outcome, "not_started")
        self.assertIn("/no/such/program", result.describe())

    def test_wrong_request_is_a_value_error(self) -> None:
        for command in ([], "true", [""]):
            with self.assertRaises(ValueError):
                self.box.run(command)
        with self.assertRaises(ValueError):
            self.box.run(["true"], limits=Limits(real_time=-1.0))
        with self.assertRaises(ValueError):
            World("no such world")

    def test_infrastructure_error_is_an_exception(self) -> None:
        os.environ["MILLIBOX_SUPERVISOR"] = "/no/such/supervisor"
        try:
            with self.assertRaisesRegex(SandboxError, "/no/such/supervisor"):
                Sandbox(backend=BACKEND)
        finally:
            del os.environ["MILLIBOX_SUPERVISOR"]

    def test_closed_sandbox_runs_nothing(self) -> None:
        with Sandbox(backend=BACKEND) as box:
            self.assertTrue(box.run(["true"]).ok)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            box.run(["true"])

    def test_forked_child_has_its_own_sandbox(self) -> None:
        context = multiprocessing.get_context("fork")
        with context.Pool(1) as pool:
            self.assertEqual(pool.apply(run_in_child, (ForkedBox(),)), 0)
        self.assertTrue(self.box.run(["true"]).ok)

    def test_world_shows_directories(self) -> None:
        world = World(read_only={"/data": os.path.dirname(__file__)})
        result = self.box.run(["ls", "/data"], world=world).check()
        self.assertIn("test_millibox.py", result.stdout)
        self.assertEqual(millibox.__version__.count("."), 2)


class ForkedBox:
    """Arguments of a pool are pickled; the sandbox of the parent is inherited instead."""

    def run(self, command):
        return Test.box.run(command)


if __name__ == "__main__":
    unittest.main()
