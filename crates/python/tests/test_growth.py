"""Tests that nothing grows with the number of runs, and that a killed interpreter leaves nothing.

MILLIBOX_TEST_RUNS and MILLIBOX_TEST_KILLS change the numbers; docs/lab.md names a command.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Optional

from millibox import Limits, Result, Sandbox

BACKEND = os.environ.get("MILLIBOX_TEST_BACKEND", "auto")
RUNS = int(os.environ.get("MILLIBOX_TEST_RUNS", "2000"))
KILLS = int(os.environ.get("MILLIBOX_TEST_KILLS", "20"))
SEED = int(os.environ.get("MILLIBOX_SEED", "1"))
#: Prints the measured numbers.
SHOWS = "MILLIBOX_TEST_RUNS" in os.environ or "MILLIBOX_TEST_KILLS" in os.environ
#: The number of runs in each round of `test_many_runs_leave_everything_as_it_was`.
ROUND = 100
#: How much more memory the last quarter of all runs may need.
MEMORY_SLACK = 4 << 20
#: Interpreters are started in advance and ended, so the number of processes varies.
PROCESS_SLACK = 4
DEADLINE = 60.0
PR_SET_CHILD_SUBREAPER = 36


class Process:
    """A process. Its start time distinguishes it from a later process with the same PID."""

    def __init__(self, pid: int) -> None:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # After the last ")": state, parent, ..., start time (proc_pid_stat(5)).
        fields = stat.rpartition(")")[2].split()
        self.pid, self.state, self.parent, self.start = pid, fields[0], int(fields[1]), fields[19]

    def exists(self) -> bool:
        found = process(self.pid)
        return found is not None and found.start == self.start

    def __repr__(self) -> str:
        try:
            name = Path(f"/proc/{self.pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            name = "ended"
        return f"{self.pid} ({name}, {self.state}, child of {self.parent})"


def process(pid: int) -> Optional[Process]:
    try:
        return Process(pid)
    except OSError:
        return None


def descendants(root: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for name in os.listdir("/proc"):
        found = process(int(name)) if name.isdigit() else None
        if found is not None:
            children.setdefault(found.parent, []).append(found)
    family = list(children.get(root, []))
    for member in family:
        family += children.get(member.pid, [])
    return family


def resident(pid: int) -> int:
    """The memory of a process in bytes, or 0 if it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def cgroup_mounts() -> list[str]:
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        fields = [line.split() for line in mounts]
    return [field[1] for field in fields if field[2] in ("cgroup", "cgroup2")]


def cgroups(pids: Iterable[int]) -> list[str]:
    """The cgroups that supervisors or keepers with these PIDs have created, with those below."""
    prefixes = tuple(f"millibox-{pid}-" for pid in pids)
    found = []
    for mount in cgroup_mounts():
        for path, names, _ in os.walk(mount):
            found += [f"{path}/{name}" for name in names if name.startswith(prefixes)]
    below = [f"{path}/{name}" for top in found for path, names, _ in os.walk(top) for name in names]
    return found + below


def adopted(before: set[int]) -> list[Process]:
    """The descendants that are not in `before`. Waits for the adopted ones that have ended."""
    left = []
    for member in descendants(os.getpid()):
        if member.pid in before:
            continue
        if member.state == "Z" and member.parent == os.getpid():
            os.waitpid(member.pid, 0)
        else:
            left.append(member)
    return left


def eventually(remaining: Callable[[], object]) -> object:
    """Waits until nothing remains. Returns what remains after the deadline."""
    end = time.monotonic() + DEADLINE
    while (left := remaining()) and time.monotonic() < end:
        time.sleep(0.02)
    return left


class Growth(unittest.TestCase):
    def test_many_runs_leave_everything_as_it_was(self) -> None:
        """Compares the largest numbers of the first half with the smallest of the last quarter: a
        busy machine may end some programs late, but what grows does not become smaller again."""
        rounds = max(RUNS // ROUND, 4)
        begin = time.monotonic()
        directory = tempfile.mkdtemp(prefix="millibox-growth.")
        self.addCleanup(os.rmdir, directory)
        previous, tempfile.tempdir = tempfile.tempdir, directory
        self.addCleanup(setattr, tempfile, "tempdir", previous)
        before = {found.pid for found in descendants(os.getpid())}
        measured = []
        # Beside other tests, a program may wait long for a CPU.
        with Sandbox(backend=BACKEND, limits=Limits(real_time=600)) as box:
            for _ in range(rounds):
                self.one_round(box)
                measured.append(self.measure(before))
        begins, ends = measured[: rounds // 2], measured[-(rounds // 4) :]
        first = {key: max(one[key] for one in begins) for key in begins[0]}
        last = {key: min(one[key] for one in ends) for key in ends[0]}
        if SHOWS:
            seconds = time.monotonic() - begin
            print(f"\n{rounds * ROUND} runs in {seconds:.0f} s, numbers at the beginning and end:",
                  *(f"{key}: {first[key]}, {last[key]}" for key in first),
                  sep="\n    ", file=sys.stderr)  # fmt: skip
        for key, most in first.items():
            slack = MEMORY_SLACK if key.startswith("memory") else PROCESS_SLACK
            self.assertLessEqual(last[key], most + slack, f"{key}: {measured}")
        self.assertEqual(os.listdir(directory), [])

    def one_round(self, box: Sandbox) -> None:
        """`ROUND` runs of each kind, and with each end."""
        short = Limits(real_time=0.02)
        little = Limits(output=1000)

        async def cancelled() -> None:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(box.arun(["sleep", "1000"]), 0.02)

        async def asynchronous() -> list[Result]:
            stops = asyncio.gather(cancelled(), cancelled())
            runs = [box.arun(["true"]) for _ in range(50)]
            runs += [box.arun(["cat"], stdin="x" * 10_000) for _ in range(5)]
            runs += [box.arun(["cat", "a"], files={"a": "b"}) for _ in range(5)]
            runs += [box.arun_python("print(1)", modules=["json"]) for _ in range(3)]
            results = await asyncio.gather(*runs)
            await stops
            ends = [["/no/such/program"], ["sh", "-c", "kill -9 $$"]]
            others = await asyncio.gather(*(box.arun(end) for end in ends))
            self.assertEqual([other.outcome for other in others], ["not_started", "signaled"])
            return results

        results = asyncio.run(asynchronous())
        results += box.map(["true"] for _ in range(22))
        results += [box.run(["cat"], stdin="x" * 10_000) for _ in range(5)]
        results += [box.run(["cat", "a"], files={"a": "b"}) for _ in range(2)]
        results += [box.run_python("print(1)", modules=["json"]) for _ in range(2)]
        for result in results:
            result.check()
        ends = [
            box.run(["sleep", "1000"], limits=short),
            box.run(["cat", "/dev/zero"], limits=little),
        ]
        self.assertEqual([end.outcome for end in ends], ["real_time_limit", "output_limit"])
        # Two runs were cancelled, and four have ended otherwise.
        self.assertEqual(len(results) + 6, ROUND)

    def measure(self, before: set[int]) -> dict[str, int]:
        gc.collect()
        own = os.getpid()
        family = [found for found in descendants(own) if found.pid not in before]
        # Runs that were cancelled end after their tasks.
        pids = [found.pid for found in family]
        return {
            "memory of Python": resident(own),
            "memory of the largest other process": max(map(resident, pids)),
            "descriptors of Python": descriptors(own),
            "descriptors of other processes": max(map(descriptors, pids)),
            "threads of Python": len(os.listdir("/proc/self/task")),
            "processes": len(pids),
            "cgroups": len(cgroups(pids)),
        }


class Kill(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # The processes that a killed interpreter leaves become children of this process.
        cls.adopt(True)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.adopt(False)

    @classmethod
    def adopt(cls, adopts: bool) -> None:
        prctl = ctypes.CDLL(None).prctl
        if prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(adopts), 0, 0, 0) != 0:
            raise unittest.SkipTest("this process cannot adopt processes")

    def test_killed_interpreter_leaves_nothing(self) -> None:
        """Kills at random moments, from the start of the interpreter to many runs."""
        moments = random.Random(SEED)
        seen = {"processes": 0, "cgroups": 0}
        for number in range(KILLS):
            with tempfile.TemporaryDirectory(prefix="millibox-kill.") as directory:
                found = self.kill(moments.uniform(0.0, 0.4), number % 2 == 0, directory)
                self.assertEqual(os.listdir(directory), [])
            for key, count in found.items():
                seen[key] = max(seen[key], count)
        # Otherwise nothing would have been tested.
        self.assertGreater(seen["processes"], 3)
        if SHOWS:
            print(f"\n{KILLS} kills, at most {seen} at the time", file=sys.stderr)

    def kill(self, delay: float, waits: bool, directory: str) -> dict[str, int]:
        """Kills an interpreter after `delay` seconds, or that long after its first run. Returns
        what existed then."""
        before = {found.pid for found in descendants(os.getpid())}
        command = [sys.executable, "-c", BUSY, BACKEND]
        environment = {**os.environ, "TMPDIR": directory}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
            assert child.stdout is not None
            if waits:
                child.stdout.readline()
            time.sleep(delay)
            # A stopped interpreter starts nothing while its processes are listed.
            child.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            pids = [found.pid for found in descendants(child.pid)]
            found = {"processes": len(pids), "cgroups": len(cgroups(pids))}
            child.send_signal(signal.SIGKILL)

        def remaining() -> object:
            return [*adopted(before), *cgroups(pids)]

        left = eventually(remaining)
        self.assertFalse(left, f"left after a kill: {left}")
        return found


#: Runs programs of each kind until it is killed.
BUSY = """
import asyncio, sys, threading
import millibox
box = millibox.Sandbox(backend=sys.argv[1])
async def some():
    while True:
        await box.arun(["sh", "-c", "sleep 0.01 & wait"])
        await box.arun(["cat", "a"], files={"a": "b"})
        print(flush=True)
        await box.arun_python("print(1)")
        try:
            await asyncio.wait_for(box.arun(["sleep", "1000"]), 0.05)
        except asyncio.TimeoutError:
            pass
def many():
    list(box.map(["sh", "-c", "sleep 0.02; true"] for _ in range(1000)))
async def main():
    threading.Thread(target=many, daemon=True).start()
    await asyncio.gather(*(some() for _ in range(8)))
asyncio.run(main())
"""


if __name__ == "__main__":
    unittest.main()
