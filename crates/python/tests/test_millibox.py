"""Tests of the installed package: python -m unittest discover crates/python/tests"""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator

import millibox
from millibox import Limits, ProgramError, Result, Sandbox, SandboxError, World, judge, languages

BACKEND = os.environ.get("MILLIBOX_TEST_BACKEND", "auto")
ECHO = ["sh", "-c", "cat; echo problem >&2; exit 3"]
ENDLESS = ["sh", "-c", "while :; do echo yes; done"]


def supervisors() -> set[int]:
    """The supervisors that this process has started, or their keepers, which have cgroups."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        parent = int(text.rpartition(")")[2].split()[1])
        if parent == os.getpid() and "(millibox-super" in text:
            found.add(int(name))
    return found


def run_in_child(box: ForkedBox) -> int:
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

    def test_many_aruns_fit_into_the_limit_on_open_files(self) -> None:
        script = """
import asyncio, resource, sys, threading
import millibox
box = millibox.Sandbox(backend=sys.argv[1], limits=millibox.Limits(real_time=60))
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
async def main():
    runs = [box.arun(["cat", "a"], stdin="b", files={"a": "c"}) for _ in range(60)]
    runs += [box.arun(["cat"], stdin="b") for _ in range(60)]
    runs += [box.arun_python("print(1)") for _ in range(30)]
    for result in await asyncio.gather(*runs):
        result.check()
    assert threading.active_count() == 1
for _ in range(2):
    asyncio.run(main())
resource.setrlimit(resource.RLIMIT_NOFILE, (4, hard))
try:
    box.run(["true"], files={"a": "b"})
except millibox.SandboxError as error:
    assert "ulimit" in str(error), error
    print("too many open files")
"""
        shown = subprocess.run(
            [sys.executable, "-c", script, BACKEND],
            check=True, timeout=120, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
        self.assertEqual(shown, "too many open files\n")

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

        def commands() -> Iterator[list[str]]:
            nonlocal read
            for number in range(1000):
                read += 1
                yield ["echo", str(number)]

        results = self.box.map(commands(), at_once=2)
        self.assertEqual([next(results).stdout for _ in range(5)], [f"{n}\n" for n in range(5)])
        results.close()
        self.assertLess(read, 20)

    def test_map_that_ends_early_ends_its_runs(self) -> None:
        # The only slot is free again for `true` when the endless run has ended.
        script = """
import os, signal, sys, threading
import millibox
box = millibox.Sandbox(backend=sys.argv[1], slots=1)
limits = millibox.Limits(real_time=None)
ENDLESS = ["sleep", "inf"]
def closed():
    results = box.map([["true"], ENDLESS], limits=limits)
    next(results)
    results.close()
def forgotten():
    next(box.map_python(["", "import time; time.sleep(1000)"], limits=limits))
def failed_commands():
    def commands():
        yield ENDLESS
        raise ZeroDivisionError
    list(box.map(commands(), limits=limits))
def wrong_command():
    list(box.map([ENDLESS, []], limits=limits))
def wrong_argument():
    list(box.map([ENDLESS, ["a", "b\\0"]], limits=limits, at_once=2))
def interrupted():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    list(box.map([ENDLESS, ENDLESS], limits=limits))
for end in (closed, forgotten, failed_commands, wrong_command, wrong_argument, interrupted):
    try:
        end()
        print(end.__name__)
    except (ZeroDivisionError, ValueError, KeyboardInterrupt) as error:
        print(end.__name__, type(error).__name__)
    assert box.run(["true"], limits=limits).ok
# The interpreter does not wait for the runs of this generator.
unfinished = box.map([["true"], ENDLESS], limits=limits)
next(unfinished)
"""
        shown = subprocess.run(
            [sys.executable, "-c", script, BACKEND],
            check=True, timeout=60, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
        expected = [
            "closed",
            "forgotten",
            "failed_commands ZeroDivisionError",
            "wrong_command ValueError",
            "wrong_argument ValueError",
            "interrupted KeyboardInterrupt",
        ]
        self.assertEqual(shown.splitlines(), expected)

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

    def test_errors_can_be_pickled_and_copied(self) -> None:
        with self.assertRaises(ProgramError) as caught:
            self.box.run(["false"]).check()
        error = caught.exception
        for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            self.assertEqual((str(same), same.result), (str(error), error.result))

    def test_infrastructure_error_is_an_exception(self) -> None:
        os.environ["MILLIBOX_SUPERVISOR"] = "/no/such/supervisor"
        try:
            with self.assertRaisesRegex(SandboxError, "/no/such/supervisor") as caught:
                Sandbox(backend=BACKEND)
            same = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(same), same.args), (SandboxError, caught.exception.args))
        finally:
            del os.environ["MILLIBOX_SUPERVISOR"]

    def test_classes_name_their_modules(self) -> None:
        self.assertEqual(SandboxError.__module__, "millibox")
        self.assertEqual(type(World()._native).__module__, "millibox._native")

    def test_supervisor_of_a_different_version_is_an_exception(self) -> None:
        version = '[ "$1" != --version ] || exec echo millibox-supervisor 0.1.7'
        script = f"#!/bin/sh\n{version}\nexit 1\n"
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "supervisor")
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(path, 0o755)
            os.environ["MILLIBOX_SUPERVISOR"] = path
            try:
                with self.assertRaisesRegex(SandboxError, f"0.1.7.*{millibox.__version__}"):
                    Sandbox(backend=BACKEND)
            finally:
                del os.environ["MILLIBOX_SUPERVISOR"]

    def test_sandbox_whose_supervisor_was_killed_starts_another_one(self) -> None:
        others = supervisors()
        with Sandbox(backend=BACKEND) as box:
            box.run(["true"]).check()
            (own,) = supervisors() - others
            os.kill(own, signal.SIGKILL)
            with self.assertRaises(SandboxError):
                while True:
                    box.run(["sleep", "0.1"]).check()
            box.run(["true"]).check()
            self.assertEqual(len(supervisors() - others - {own}), 1)

    def test_reason_of_a_cold_start(self) -> None:
        with Sandbox(backend=BACKEND) as box:
            result = box.run_python("print(1)", modules=["no_such_module"])
            self.assertEqual((result.ok, result.stdout), (True, "1\n"))
            self.assertIn("template", result.cold_start or "")
            self.assertIsNone(box.run(["true"]).cold_start)

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

    def test_sandbox_can_be_closed_while_other_threads_use_it(self) -> None:
        # The script would wait forever if close() and another thread waited for each other.
        script = """
import sys, threading
import millibox
box = millibox.Sandbox(backend=sys.argv[1])
native = box._get()
begun = threading.Event()
def use():
    try:
        while True:
            native.info()
            begun.set()
    except RuntimeError:
        pass
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
begun.wait()
box.close()
for thread in threads:
    thread.join()
"""
        for _ in range(5):
            subprocess.run([sys.executable, "-c", script, BACKEND], check=True, timeout=60)

    def test_signal_handler_can_close_a_sandbox_that_starts(self) -> None:
        script = """
import signal, sys
import millibox
box = millibox.Sandbox(backend=sys.argv[1])
signal.signal(signal.SIGALRM, lambda *_: box.close())
box._pid = 0  # as after a fork, so the next run starts a supervisor
signal.setitimer(signal.ITIMER_REAL, 0.001)
try:
    box.run(["true"])
except RuntimeError as error:
    print(error, box._native)
"""
        shown = subprocess.run(
            [sys.executable, "-c", script, BACKEND],
            check=True, timeout=60, stdout=subprocess.PIPE, text=True,
        ).stdout  # fmt: skip
        self.assertEqual(shown, "the sandbox is closed None\n")

    def test_interrupt_ends_the_program(self) -> None:
        script = """
import sys
import millibox
with millibox.Sandbox(backend=sys.argv[1]) as box:
    print("begun", flush=True)
    try:
        box.run(["sleep", "inf"], limits=millibox.Limits(real_time=None, cpu_time=None))
    except KeyboardInterrupt:
        print("interrupted", box.run(["echo", "next"]).stdout, end="")
"""
        # Shells let the commands that they start in the background ignore the signal.
        def heed() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        command = [sys.executable, "-c", script, BACKEND]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, preexec_fn=heed
        ) as child:
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "begun\n")
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            try:
                self.assertEqual(child.communicate(timeout=60)[0], "interrupted next\n")
            finally:
                child.kill()

    def test_files_are_in_the_working_directory(self) -> None:
        files: dict[str, str | bytes] = {"a/b.txt": "hällo", "/tmp/run.sh": b"cat - a/b.txt; pwd\n"}
        program = ["sh", "run.sh"]
        ran = asyncio.run(self.box.arun(program, stdin="in ", files=files))
        for result in (self.box.run(program, stdin="in ", files=files), ran):
            self.assertEqual(result.check().stdout, "in hällo/tmp\n")
        self.assertEqual(self.box.run(["ls", "-A", "/tmp"]).stdout, "")

    def test_wrong_paths_of_files_are_a_value_error(self) -> None:
        for path in ("", "a/", "../a", "a/../../b", "a\0"):
            with self.assertRaisesRegex(ValueError, "not the path of a file"):
                self.box.run(["true"], files={path: ""})

    def test_program_with_files_that_cannot_start(self) -> None:
        for result in (
            self.box.run(["/no/such/program"], files={"a": ""}),
            asyncio.run(self.box.arun(["/no/such/program"], files={"a": ""})),
        ):
            self.assertEqual((result.outcome, result.exit_code), ("not_started", None))
            self.assertIn("/no/such/program", result.describe())
        self.assertEqual(self.box.run(["sh", "-c", "exit 127"], files={"a": ""}).exit_code, 127)

    @unittest.skipIf(BACKEND == "rlimit", "the limit would apply to each process separately")
    def test_files_need_not_fit_into_memory(self) -> None:
        limits = Limits(memory=16 << 20)
        result = self.box.run(["true"], files={"large": bytes(64 << 20)}, limits=limits)
        self.assertIn(result.outcome, ("not_started", "memory_limit"))
        self.assertTrue(self.box.run(["true"]).ok)

    def test_python_programs_are_fresh_copies(self) -> None:
        source = "import sys, json; print(sys.argv, hasattr(json, 'x'), input()); json.x = 1"
        for number in range(3):
            result = self.box.run_python(
                source, stdin=str(number), args=["a b"], modules=["json"], limits=Limits()
            )
            self.assertEqual(result.stdout, f"['main.py', 'a b'] False {number}\n", result.stderr)
        ran = asyncio.run(self.box.arun_python("import helper", files={"helper.py": "print(6)"}))
        self.assertEqual(ran.stdout, "6\n")

    def test_python_shows_where_a_program_fails(self) -> None:
        result = self.box.run_python("def f():\n    return 1 / 0\n\nf()\n")
        self.assertEqual(result.exit_code, 1)
        self.assertIn('main.py", line 2, in f\n    return 1 / 0', result.stderr)

    def test_python_modules_are_imported_once(self) -> None:
        source = "import sys; print('decimal' in sys.modules)"
        self.assertEqual(self.box.run_python(source).stdout, "False\n")
        self.assertEqual(self.box.run_python(source, modules=["decimal"]).stdout, "True\n")

    def test_map_python(self) -> None:
        sources = (f"print({number} ** 2)" for number in range(20))
        results = [result.stdout for result in self.box.map_python(sources, at_once=2)]
        self.assertEqual(results, [f"{number**2}\n" for number in range(20)])

    def test_judge(self) -> None:
        with tempfile.TemporaryDirectory() as package:
            for name, content in PACKAGE.items():
                path = os.path.join(package, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(content)
            right, wrong = judge(package, backend=BACKEND)
            self.assertEqual((right.verdict, right.as_expected), ("accepted", True))
            self.assertEqual((wrong.verdict, wrong.as_expected), ("wrong_answer", True))
            with self.assertRaisesRegex(ValueError, "nosuch"):
                judge(os.path.join(package, "nosuch"), backend=BACKEND)

    def test_languages(self) -> None:
        python = {language.name: language for language in languages()}["python3"]
        self.assertTrue(python.available, python)
        self.assertIn("Python 3", python.detail)

    def test_module_is_the_command(self) -> None:
        command = [sys.executable, "-m", "millibox", "--version"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown.split(), ["millibox", millibox.__version__])

    def test_world_shows_directories(self) -> None:
        world = World(read_only={"/data": os.path.dirname(__file__)})
        result = self.box.run(["ls", "/data"], world=world).check()
        self.assertIn("test_millibox.py", result.stdout)
        self.assertEqual(millibox.__version__.count("."), 2)


PACKAGE = {
    "problem.yaml": "name: Echo\nproblem_format_version: legacy\n",
    "data/sample/1.in": "5\n",
    "data/sample/1.ans": "5\n",
    "submissions/accepted/right.py": "print(input())\n",
    "submissions/wrong_answer/wrong.py": "print(6)\n",
}


class ForkedBox:
    """Arguments of a pool are pickled; the sandbox of the parent is inherited instead."""

    def run(self, command: list[str]) -> Result:
        return Test.box.run(command)


if __name__ == "__main__":
    unittest.main()
