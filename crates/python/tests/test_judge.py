"""Tests of `judge`, which starts the command of the package."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Generator
from pathlib import Path
from typing import Optional

import test_growth
from millibox import ajudge, judge
from test_growth import adopted, cgroups, descendants, eventually

BACKEND = os.environ.get("MILLIBOX_TEST_BACKEND", "auto")
ECHO = "print(input())\n"
SLEEP = "import time\ntime.sleep(1000)\n"
FILES = {
    "problem.yaml": "problem_format_version: 2025-09\nname: Echo\nlimits: {time_limit: 1000}\n",
    "data/sample/1.in": "5\n",
    "data/sample/1.ans": "5\n",
}


@contextlib.contextmanager
def problem(**submissions: str) -> Generator[str, None, None]:
    """A package with accepted submissions in Python."""
    with tempfile.TemporaryDirectory(prefix="millibox-judge.") as directory:
        sources = {f"submissions/accepted/{name}.py": text for name, text in submissions.items()}
        for name, content in {**FILES, **sources}.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        yield directory


def runs_below(root: int) -> bool:
    """Whether a descendant of the process executes `SLEEP`. A compiler has different arguments."""
    for found in descendants(root):
        with contextlib.suppress(OSError):
            arguments = Path(f"/proc/{found.pid}/cmdline").read_bytes().split(b"\0")
            if b"./sleep.py" in arguments and b"-c" not in arguments:
                return True
    return False


class Arguments(unittest.TestCase):
    def test_wrong_arguments_are_value_errors(self) -> None:
        # The command warns that it has no cache.
        previous = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = "/dev/null/none"
        try:
            with problem(echo=ECHO) as package:
                file = f"{package}/submissions/accepted/echo.py"
                self.check("nosuch.py", package, "nosuch.py")
                self.check("nosuch", package, file, language="nosuch")
                self.check("--language", package, language="python3")
                self.check("backend.*hybrid", package, backend="nosuch")
                self.check("empty", package, "")
                self.check("empty", "")
                self.check("neither", "/dev/null")
                os.remove(f"{package}/data/sample/1.ans")
                self.check("1.ans", package)
        finally:
            del os.environ["XDG_CACHE_HOME"]
            if previous is not None:
                os.environ["XDG_CACHE_HOME"] = previous

    def check(
        self, message: str, *paths: str, language: Optional[str] = None, backend: str = BACKEND
    ) -> None:
        with self.assertRaisesRegex(ValueError, message) as caught:
            judge(*paths, language=language, backend=backend)
        self.assertNotIn("cache", str(caught.exception))


class Verdicts(unittest.TestCase):
    def test_verdicts_are_hashable_and_have_warnings(self) -> None:
        with problem(echo=ECHO) as package:
            (verdict,) = judge(package, backend=BACKEND)
            self.assertIn(verdict, {verdict})
            yaml = [one for one in verdict.warnings if one.startswith(f"{package}/problem.yaml:1:")]
            self.assertIn("uuid", yaml[0])

    def test_ajudge_judges(self) -> None:
        with problem(echo=ECHO) as package:
            (verdict,) = asyncio.run(ajudge(package, backend=BACKEND))
            self.assertEqual((verdict.verdict, verdict.as_expected), ("accepted", True))
            with self.assertRaisesRegex(ValueError, "nosuch.py"):
                asyncio.run(ajudge(package, "nosuch.py", backend=BACKEND))

    def test_cancelled_ajudge_ends_the_judge(self) -> None:
        before = {found.pid for found in descendants(os.getpid())}

        async def cancelled(package: str) -> None:
            task = asyncio.create_task(ajudge(package, backend=BACKEND))
            while not task.done() and not runs_below(os.getpid()):
                await asyncio.sleep(0.02)
            self.assertFalse(task.done())
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(adopted(before), [])

        with problem(sleep=SLEEP) as package:
            asyncio.run(cancelled(package))


#: Judges in the main thread, or in a thread that ends with the interpreter.
SCRIPT = """
import sys, threading, millibox
def work():
    millibox.judge(sys.argv[1], backend=sys.argv[2])
if sys.argv[3] == "daemon":
    threading.Thread(target=work, daemon=True).start()
    sys.stdin.readline()
    sys.exit()
try:
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class End(unittest.TestCase):
    """The judge ends with the interpreter and leaves nothing."""

    @classmethod
    def setUpClass(cls) -> None:
        # The processes that a killed interpreter leaves become children of this process.
        test_growth.Kill.adopt(True)

    @classmethod
    def tearDownClass(cls) -> None:
        test_growth.Kill.adopt(False)

    def check(self, number: int, thread: str = "main") -> str:
        """Ends an interpreter that judges, by a signal or its own end (0). Returns its output."""
        before = {found.pid for found in descendants(os.getpid())}
        with problem(sleep=SLEEP) as package, tempfile.TemporaryDirectory() as directory:
            # The sandbox's user must be able to read the files of the judge.
            os.chmod(directory, 0o755)
            command = [sys.executable, "-c", SCRIPT, package, BACKEND, thread]
            environment = {**os.environ, "TMPDIR": directory}
            # Shells let the commands that they start in the background ignore the signal.
            previous = signal.signal(signal.SIGINT, signal.default_int_handler)
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
            ) as child:
                signal.signal(signal.SIGINT, previous)
                eventually(lambda: child.poll() is None and not runs_below(child.pid))
                is_running = child.poll() is None
                pids = [found.pid for found in descendants(child.pid)]
                if number:
                    child.send_signal(number)
                try:
                    output = child.communicate("\n", timeout=60)[0]
                finally:
                    child.kill()

            def remaining() -> object:
                return [*adopted(before), *cgroups(pids), *os.listdir(directory)]

            left = eventually(remaining)
            self.assertTrue(is_running)
            self.assertFalse(left, f"left after the end: {left}")
        return output

    def test_killed_interpreter_ends_judge(self) -> None:
        self.check(signal.SIGKILL)

    def test_terminated_interpreter_ends_judge(self) -> None:
        self.check(signal.SIGTERM)

    def test_interpreter_with_judging_thread_ends(self) -> None:
        self.check(0, "daemon")

    def test_interrupted_judge_removes_its_files(self) -> None:
        # The signal goes to the interpreter only, as from kill(1), not to its process group.
        self.assertEqual(self.check(signal.SIGINT), "interrupted\n")


if __name__ == "__main__":
    unittest.main()
