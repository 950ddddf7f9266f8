"""Tests that pytest-xdist and Jupyter leave nothing. They need pytest-xdist and ipykernel.

The processes that these programs would leave become children of this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from typing import Any

import test_growth
from test_examples import needs_module
from test_growth import BACKEND, adopted, cgroups, descendants, eventually

#: Each worker has its own copy of the sandbox. One test ends its worker in the middle of a run.
PYTEST = """
    import os, threading, time
    import millibox, pytest
    box = millibox.Sandbox(backend={backend!r})

    @pytest.mark.parametrize("number", range(24))
    def test_run(number):
        result = box.run(["sh", "-c", f"echo {{number}}"])
        assert result.stdout == f"{{number}}\\n"

    def test_killed():
        if not os.path.exists("killed"):
            open("killed", "w").close()
            threading.Timer(0.2, lambda: os.kill(os.getpid(), 9)).start()
            box.run(["sleep", "1000"])
"""

#: The cells of a notebook. A notebook has a running event loop.
CELLS = """
    import millibox
    box = millibox.Sandbox(backend={backend!r}, limits=millibox.Limits(real_time=600))
    box.run(["echo", "one"]).stdout
    #
    (await box.arun(["echo", "two"])).stdout
    #
    [result.exit_code for result in box.map(["true"] for _ in range(20))]
    #
    box.run_python("print('three')").stdout
"""


class Hosts(unittest.TestCase):
    def setUp(self) -> None:
        test_growth.Kill.adopt(True)
        self.addCleanup(test_growth.Kill.adopt, False)
        self.before = {found.pid for found in descendants(os.getpid())}
        temporary = tempfile.TemporaryDirectory(prefix="millibox-hosts.")
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)
        self.own = self.directory / "tmp"
        self.own.mkdir()

    def seen(self) -> list[int]:
        found = [one.pid for one in descendants(os.getpid()) if one.pid not in self.before]
        self.assertGreater(len(found), 2, "nothing would have been tested")
        return found

    def sleeps(self) -> bool:
        return any("(sleep," in repr(found) for found in descendants(os.getpid()))

    def assert_nothing_left(self, pids: list[int]) -> None:
        left = eventually(lambda: [*adopted(self.before), *cgroups(pids)])
        self.assertFalse(left, f"left: {left}")
        self.assertEqual([name for name in os.listdir(self.own) if "millibox" in name], [])

    @needs_module("xdist")
    def test_workers_of_pytest_leave_nothing(self) -> None:
        test = self.directory / "test_box.py"
        test.write_text(textwrap.dedent(PYTEST).format(backend=BACKEND), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
        child = subprocess.Popen(
            [*command, "test_box.py"], cwd=self.directory, text=True, stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(self.own)},
        )  # fmt: skip
        assert child.stdout is not None
        pids: set[int] = set()
        while child.poll() is None:
            pids |= {found.pid for found in descendants(child.pid)}
        output = child.stdout.read()
        child.stdout.close()
        self.assertIn("24 passed", output)
        self.assertIn("1 failed", output)
        self.assert_nothing_left(sorted(pids))

    @needs_module("ipykernel")
    def test_kernels_of_jupyter_leave_nothing(self) -> None:
        from jupyter_client.manager import KernelManager

        environment = {**os.environ, "TMPDIR": str(self.own)}
        manager: Any = KernelManager(kernel_name="python3")
        manager.start_kernel(env=environment)
        self.addCleanup(manager.shutdown_kernel, now=True)
        for ends in ("restart", "interrupt", "shut down"):
            client = manager.blocking_client()
            client.start_channels()
            self.addCleanup(client.stop_channels)
            client.wait_for_ready(timeout=60)
            cells = textwrap.dedent(CELLS).format(backend=BACKEND).split("#\n")
            values = [self.value(client, cell) for cell in cells]
            self.assertEqual(values[:2], ["'one\\n'", "'two\\n'"])
            self.assertEqual(values[2:], [str([0] * 20), "'three\\n'"])
            pids = self.seen()
            request = client.execute("box.run(['sleep', '1000'])")
            self.assertFalse(eventually(lambda: not self.sleeps()), "no program runs")
            if ends == "interrupt":
                manager.interrupt_kernel()
                while client.get_shell_msg(timeout=60)["parent_header"]["msg_id"] != request:
                    pass
                self.assertEqual(self.value(client, "box.run(['true']).ok"), "True")
            if ends == "shut down":
                manager.shutdown_kernel(now=True)
            else:
                manager.restart_kernel(now=True)
        self.assert_nothing_left(pids)

    def value(self, client: Any, cell: str) -> str:
        """The value of the last expression of a cell."""
        found: dict[str, str] = {}

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            found.update(content.get("data", {}))
            if "traceback" in content:
                found["error"] = "\n".join(content["traceback"])

        client.execute_interactive(cell, timeout=60, output_hook=take, store_history=False)
        self.assertNotIn("error", found, found.get("error"))
        return found.get("text/plain", "")


if __name__ == "__main__":
    unittest.main()
