#!/usr/bin/python3
"""Compare CPython's own tests on the host and in the sandbox.

Each module of `python3 -m test` runs twice: as an unprivileged user of the host, with only a
loopback interface, and in the default world of `millibox run`. If the results differ, both runs are
repeated, and the tests that differ again are printed. Every result is appended to a file, and
modules that the file contains are not run again.

Needs root and the package libpython3-testsuite.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

import both

PYTHON = "/usr/bin/python3"
SHOWN = 15  # differences of a module

# Modules about the system come first, because they depend on the world.
FIRST = """
os posix socket subprocess threading thread tempfile pwd grp locale _locale time zoneinfo ssl
httplib httpservers http_cookies urllib urllib2_localnet mmap fcntl pty signal resource shutil
pathlib io select selectors poll epoll popen platform sysconfig site posixpath glob getpass
multiprocessing_main_handling shelve dbm dbm_gnu dbm_ndbm sqlite3 socketserver smtplib ftplib
imaplib nntplib poplib telnetlib xmlrpc stat file fileio largefile wait3 wait4 fork1 threadsignals
threadedtempfile syslog uuid crypt spwd netrc utime os ioctl termios tty openpty curses readline
faulthandler tracemalloc gc sys sysconfig venv ensurepip zipfile tarfile gzip bz2 lzma zlib hashlib
hmac secrets random calendar datetime strptime gettext codecs unicode_file unicode_file_functions
logging queue sched asyncore asynchat asyncgen contextlib importlib import runpy cmd_line
cmd_line_script embed ctypes filecmp fileinput linecache mailbox mimetypes webbrowser wsgiref
tcl tk idle ttk_guionly kqueue devpoll ossaudiodev pipes repl regrtest support test_stable_abi
""".split()
LAST = """
asyncio concurrent_futures multiprocessing_fork multiprocessing_forkserver multiprocessing_spawn
tools peg_generator lib2to3 unparse idle tokenize decimal statistics
""".split()


def ordered_modules():
    listed = subprocess.run(
        [PYTHON, "-m", "test", "--list-tests"], capture_output=True, text=True, check=True
    ).stdout.split()
    order = {f"test_{name}": place for place, name in reversed(list(enumerate(FIRST)))}
    order |= {f"test_{name}": 2000 + place for place, name in enumerate(LAST)}
    return sorted(set(listed), key=lambda module: (order.get(module, 1000), module))



def outcomes(text):
    """Return the result and the reason of each test by name, from verbose output."""
    summary = re.split("^=+\n(?=ERROR|FAIL)", text, flags=re.MULTILINE)
    found = {}
    parts = re.split(r"^\w+ \(([\w.]+)\)(?= \.\.\.|\n)", summary[0], flags=re.MULTILINE)
    for name, rest in zip(parts[1::2], parts[2::2]):
        skipped = re.search(r"\.\.\. skipped (.*)", rest)
        found[name] = ("skipped", skipped[1]) if skipped else ("success", "")
    for section in summary[1:]:
        name = re.match(r"(?:ERROR|FAIL): .*?\(([\w.]+)\)", section)
        reasons = re.findall(r"^\w[\w.]*(?:Error|Exception|Expired)\b.*", section, re.MULTILINE)
        if name:
            found[name[1]] = "failure", reasons[-1] if reasons else ""
    return found


def differences(host, sandbox):
    """Return the tests with different outcomes, and "module" for a different exit status."""
    if bool(host[1]) != bool(sandbox[1]):
        return {"module": ((f"exit {host[0]}", host[2]), (f"exit {sandbox[0]}", sandbox[2]))}
    missing = ("not run", "")
    pairs = {
        name: (host[1].get(name, missing), sandbox[1].get(name, missing))
        for name in sorted({*host[1], *sandbox[1]})
    }
    pairs = {name: pair for name, pair in pairs.items() if pair[0][0] != pair[1][0]}
    if host[0] != sandbox[0] and not pairs:
        pairs["module"] = ((f"exit {host[0]}", host[2]), (f"exit {sandbox[0]}", sandbox[2]))
    return pairs


def compared(run_both):
    """Run in both places. If the results differ, run again and keep what differs again. Return the
    results on the host and in the sandbox, and the differences."""
    host, sandbox = run_both()
    found = differences(host, sandbox)
    if found and both.TIMEOUT not in (host[0], sandbox[0]):
        host, sandbox = run_both()
        found = {name: pair for name, pair in differences(host, sandbox).items() if name in found}
    return host, sandbox, found


def compare(module, options):
    command = [PYTHON, "-m", "test", "-u", "none", "-v", module]

    def run_both():
        host = both.on_host(command, options.timeout)
        sandbox = (both.TIMEOUT, "", "")
        if host[0] != both.TIMEOUT:
            sandbox = both.in_sandbox(command, options.timeout, options)
        results = []
        for status, output, errors in (host, sandbox):
            text = output + errors
            results.append((status, outcomes(text), text[-2000:]))
        return results

    host, sandbox, found = compared(run_both)
    record = {"module": module, "tests": len(host[1])}
    if host[0] == both.TIMEOUT:
        return record | {"result": "timeout on the host"}
    if sandbox[0] == both.TIMEOUT:
        return record | {"result": "timeout in the sandbox"}
    return record | {"result": "different" if found else "same", "differences": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("modules", nargs="*", help="default: all, with system modules first")
    both.add_options(parser)
    parser.add_argument("--results", default="target/python-modules.jsonl", metavar="FILE")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for each module")
    parser.add_argument("--stop-after", type=int, default=10**6, help="seconds for all modules")
    options = both.parse(parser)

    done = set()
    if os.path.exists(options.results):
        with open(options.results) as file:
            done = {json.loads(line)["module"] for line in file}
    deadline = time.monotonic() + options.stop_after
    for module in options.modules or ordered_modules():
        if module in done:
            continue
        if time.monotonic() > deadline:
            break
        record = compare(module, options)
        with open(options.results, "a") as file:
            file.write(json.dumps(record) + "\n")
        print(module, record["tests"], record["result"], flush=True)
        found = list(record.get("differences", {}).items())
        for name, (host, sandbox) in found[:SHOWN]:
            print(f"    {name}: host {host[0]}, sandbox {sandbox[0]}: {sandbox[1] or host[1]}")
        if len(found) > SHOWN:
            print(f"    and {len(found) - SHOWN} others; see {options.results}")

    with open(options.results) as file:
        results = [json.loads(line)["result"] for line in file]
    for result in sorted(set(results)):
        print(f"{results.count(result)} modules: {result}")
    sys.exit("different" in results)


if __name__ == "__main__":
    main()
