"""Tests that wrong arguments are exceptions that name the argument."""

from __future__ import annotations

import os
import unittest
from pathlib import Path
from typing import Any, Callable

from millibox import Limits, Sandbox, World

BACKEND = os.environ.get("MILLIBOX_TEST_BACKEND", "auto")


class Test(unittest.TestCase):
    #: The wrong arguments have wrong types, so that the types of the functions are of no use.
    box: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.box = Sandbox(backend=BACKEND)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.box.close()

    def check(
        self, kind: type[Exception], text: str, call: Callable[..., Any], *args: Any, **named: Any
    ) -> None:
        with self.subTest(text=text, args=args, named=named):
            with self.assertRaisesRegex(kind, text):
                call(*args, **named)

    def test_limits_that_no_run_can_have_are_rejected(self) -> None:
        for time in (-1, 0, float("nan"), float("inf"), 1e300):
            self.check(ValueError, "real_time is .* None for no limit", Limits, real_time=time)
            self.check(ValueError, "cpu_time is", Limits, cpu_time=time)
        for name in ("memory", "processes", "output", "file_size"):
            self.check(ValueError, f"{name} is -1; pass .* None", Limits, **{name: -1})
            self.check(ValueError, f"{name} is", Limits, **{name: 1 << 64})
            self.check(TypeError, f"{name} must be an integer", Limits, **{name: 1.5})
        self.check(TypeError, "real_time must be a number", Limits, real_time="1")
        self.check(TypeError, "real_time must be a number", Limits, "1")

    def test_limits_may_be_absent_or_large(self) -> None:
        limits = Limits(real_time=18_000_000_000, output=None)
        self.assertEqual(self.box.run(["echo", "a"], limits=limits).stdout, "a\n")

    def test_wrong_options_of_a_sandbox_are_rejected(self) -> None:
        sandbox: Any = Sandbox
        self.check(TypeError, "world must be a World, not Limits", sandbox, Limits())
        self.check(TypeError, "limits must be a Limits, not dict", sandbox, limits={})
        for slots in (0, -1, 100_000):
            self.check(ValueError, f"slots is {slots}; pass", sandbox, slots=slots)
        self.check(TypeError, "slots must be an integer", sandbox, slots=1.5)
        self.check(ValueError, "backend is 'x'; pass auto", sandbox, backend="x")
        self.check(ValueError, "kind is 'x'; pass standard", World, "x")
        self.check(TypeError, r"read_only\['/a'\] must be", World, read_only={"/a": None})

    def test_wrong_commands_are_rejected(self) -> None:
        run = self.box.run
        self.check(ValueError, r"command .* pass \['true'\]", run, "true")
        self.check(TypeError, "command must be a list", run, b"true")
        self.check(TypeError, "command must be a list", run, None)
        self.check(TypeError, r"command\[1\] must be a string or a path, not int", run, ["echo", 1])
        self.check(ValueError, "command has no program", run, [])

    def test_wrong_arguments_of_a_run_are_rejected(self) -> None:
        for run, program in ((self.box.run, ["true"]), (self.box.run_python, "")):
            self.check(TypeError, "stdin must be a string or bytes, not int", run, program, stdin=5)
            self.check(TypeError, "files .* pass 'a'", run, program, files={Path("a"): ""})
            self.check(TypeError, r"files\['a'\] must be", run, program, files={"a": None})
            self.check(TypeError, "files must be a dictionary", run, program, files=["a"])
            message = r"env\['A'\] must be a string, not int"
            self.check(TypeError, message, run, program, env={"A": 1})
            self.check(TypeError, "limits must be a Limits", run, program, limits=10)
            self.check(TypeError, "world must be a World", run, program, world="empty")
        self.check(TypeError, "cwd must be a string or a path", self.box.run, ["true"], cwd=b"/")

    def test_wrong_arguments_of_python_programs_are_rejected(self) -> None:
        run = self.box.run_python
        self.check(TypeError, "source must be a string", run, b"")
        self.check(ValueError, r"args .* pass \['abc'\]", run, "", args="abc")
        self.check(ValueError, r"modules .* pass \['json'\]", run, "", modules="json")
        self.check(TypeError, "python must be a string or a path", run, "", python=3)
        for path in ("main.py", "./main.py", "/tmp/main.py"):
            self.check(ValueError, "files has main.py", run, "", files={path: "x"})

    def test_paths_and_bytes_may_have_other_types(self) -> None:
        result = self.box.run([Path("/bin/cat")], stdin=bytearray(b"a"), cwd=Path("/"))
        self.assertEqual(result.stdout, "a")
        files = {"a": memoryview(b"b")}
        result = self.box.run(["cat", Path("a")], files=files, cwd=Path("/tmp"))
        self.assertEqual(result.stdout, "b")
        program = "print(input())"
        result = self.box.run_python(program, stdin=b"a", python=Path("/usr/bin/python3"))
        self.assertEqual(result.stdout, "a\n")


if __name__ == "__main__":
    unittest.main()
