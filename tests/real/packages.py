#!/usr/bin/python3
"""Compare the output of small programs with packages of PyPI on the host and in the sandbox.

Each program uses the main feature of one package. It runs as an unprivileged user of the host, and
in the default world of `millibox run` with the virtual environment mounted read-only. Both outputs
must be equal and the programs must succeed.

Needs root. `--install` creates the virtual environment with the packages.
"""

import argparse
import os
import re
import subprocess
import textwrap

import both

SECONDS = 120


def read_programs(path):
    """Return the packages to install and the program of each `### NAME: PACKAGE...` section."""
    with open(path) as file:
        parts = re.split(r"^### (\S+): (.*)\n", file.read(), flags=re.MULTILINE)
    return {
        name: (packages.split(), program)
        for name, packages, program in zip(parts[1::3], parts[2::3], parts[3::3])
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="programs; default: all")
    both.add_options(parser)
    parser.add_argument("--environment", default="target/packages", metavar="DIRECTORY")
    parser.add_argument("--install", action="store_true", help="create the virtual environment")
    parser.add_argument("--show", action="store_true", help="print the output of each program")
    options = both.parse(parser)
    options.environment = os.path.abspath(options.environment)
    python = f"{options.environment}/bin/python3"
    programs = read_programs(os.path.join(os.path.dirname(__file__), "packages.txt"))
    if options.install:
        packages = sorted({name for packages, _ in programs.values() for name in packages})
        subprocess.run(["/usr/bin/python3", "-m", "venv", options.environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)

    names = options.names or list(programs)
    count = 0
    for name in names:
        command = [python, "-c", programs[name][1]]
        host = both.on_host(command, SECONDS)
        sandbox = both.in_sandbox(command, SECONDS, options, [options.environment])
        same = host[:2] == sandbox[:2] and host[0] == 0 and host[1] != ""
        count += same
        print(name, "same" if same else "different", flush=True)
        if options.show or not same:
            for place, result in (("host", host), ("sandbox", sandbox)):
                print(f"    {place}: exit {result[0]}")
                text = result[1] + ("" if same else result[2][-2000:])
                print(textwrap.indent(text, "        "), end="")
    both.finish(count, len(names), "programs")


if __name__ == "__main__":
    main()
