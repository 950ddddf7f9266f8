"""Runs programs through the Python package millibox and prints the times of the runs:

    bindings.py PACKAGE BACKEND SLOTS LIMITS

PACKAGE is the directory that contains the package, and LIMITS is 1 or 0. Reads commands from
standard input, one on each line. The answer to a command is a line with two numbers for each run:
the real time, and the CPU time of this process, in nanoseconds.
"""

import asyncio
import os
import subprocess
import sys
import time

package, backend, slots, limits_process_trees = sys.argv[1:]
sys.path.insert(0, package)

import millibox  # noqa: E402

PYTHON = "/usr/bin/python3"
#: The directory of additional modules in the world. A world with a mount below /tmp cannot have a
#: prepared interpreter.
PACKAGES = "/packages"


def limits(memory: int, processes: int, cpu_time: float) -> millibox.Limits:
    if limits_process_trees == "0":
        return millibox.Limits(real_time=12 * cpu_time)
    return millibox.Limits(12 * cpu_time, cpu_time, memory, processes)


TRUE = ["/bin/true"]
TRUE_LIMITS = limits(256 << 20, 16, 10.0)
NUMPY = "import numpy"
NUMPY_LIMITS = limits(1 << 30, 64, 20.0)
modules = os.environ.get("PYTHONPATH")
numpy_world = millibox.World(read_only={PACKAGES: modules} if modules else {})
numpy_env = {"PYTHONPATH": PACKAGES} if modules else {}
box = millibox.Sandbox(backend=backend, slots=int(slots))
loop = asyncio.new_event_loop()


def run() -> None:
    """One run of /bin/true."""
    box.run(TRUE, limits=TRUE_LIMITS).check()


def arun(count: int, in_flight: int) -> list:
    """The mean times of /bin/true if this number of runs is always in flight."""

    async def every() -> None:
        numbers = iter(range(count))

        async def some() -> None:
            for _ in numbers:
                (await box.arun(TRUE, limits=TRUE_LIMITS)).check()

        await asyncio.gather(*(some() for _ in range(in_flight)))

    return [spent / count for spent in times(lambda: loop.run_until_complete(every()), 1)]


def run_python() -> None:
    """A script with numpy, as a copy of a prepared interpreter."""
    box.run_python(
        NUMPY, modules=["numpy"], world=numpy_world, env=numpy_env, limits=NUMPY_LIMITS
    ).check()


def run_subprocess() -> None:
    """The same script in a new interpreter without a sandbox."""
    subprocess.run([PYTHON, "-c", NUMPY], check=True, capture_output=True)


def times(function, count: int) -> list:
    found = []
    for _ in range(count):
        cpu_begin, begin = time.process_time_ns(), time.perf_counter_ns()
        function()
        end, cpu_end = time.perf_counter_ns(), time.process_time_ns()
        found += [end - begin, cpu_end - cpu_begin]
    return found


EACH = {"run": run, "run_python": run_python, "subprocess": run_subprocess}

for line in sys.stdin:
    name, *numbers = line.split()
    counts = [int(number) for number in numbers]
    answer = arun(*counts) if name == "arun" else times(EACH[name], *counts)
    print(*answer, flush=True)
loop.close()
box.close()
