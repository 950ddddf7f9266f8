#!/usr/bin/python3
"""Compare the exit status of system commands on the host and in the sandbox.

The file commands.txt has one shell command on each line, in which {programs} is the directory
`programs`. All commands of one run share /tmp. Commands that are not installed are not counted.

Needs root.
"""

import argparse
import os

import both

SECONDS = 300
NOT_FOUND = 127
SCRIPT = """
while IFS= read -r line; do
    sh -c "$line" >/tmp/.output 2>&1 </dev/null
    echo "$? $(head -n 1 /tmp/.output | cut -c 1-120)"
done <<'END'
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    both.add_options(parser)
    options = both.parse(parser)
    directory = os.path.dirname(os.path.abspath(__file__))
    programs = f"{directory}/programs"
    with open(f"{directory}/commands.txt") as file:
        lines = [line.strip() for line in file if line[0] not in "#\n"]
    lines = [line.replace("{programs}", programs) for line in lines]
    command = ["sh", "-c", SCRIPT + "\n".join(lines) + "\nEND\n"]
    host = both.on_host(command, SECONDS)[1].splitlines()
    sandbox = both.in_sandbox(command, SECONDS, options, [programs])[1].splitlines()
    if not len(host) == len(sandbox) == len(lines):
        raise SystemExit(f"{len(host)} results of the host, {len(sandbox)} of the sandbox")

    same = total = 0
    for line, *results in zip(lines, host, sandbox):
        statuses = [int(result.split()[0]) for result in results]
        if statuses == [NOT_FOUND, NOT_FOUND]:
            continue
        total += 1
        same += statuses[0] == statuses[1]
        if statuses[0] != statuses[1]:
            print(f"{line}\n    host: {results[0]}\n    sandbox: {results[1]}")
    both.finish(same, total, "commands")


if __name__ == "__main__":
    main()
