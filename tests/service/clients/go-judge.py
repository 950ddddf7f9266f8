"""Runs programs with the client `go-judge` of PyPI. The argument is the URL of the service."""

import shutil
import sys

from go_judge import RemoteSandbox

sandbox = RemoteSandbox(sys.argv[1])
assert sandbox.check_health()

code = "a, b = map(int, input().split())\nprint(a + b)"
results = sandbox.run_multiple("python", code, ["1 1", "2 2", "10 20"])
assert [result["stdout"] for result in results] == ["2\n", "4\n", "30\n"], results
assert all(result["status"] == "Accepted" for result in results), results

result = sandbox.run("python", "raise SystemExit(3)")
assert (result["status"], result["exit_code"]) == ("Nonzero Exit Status", 3), result

result = sandbox.run("python", "while True: pass", exec_cpu_limit_ns=200_000_000)
assert result["status"] == "Time Limit Exceeded", result

if shutil.which("g++"):
    code = '#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * n; }'
    results = sandbox.run_multiple("cpp", code, ["3", "4"])
    assert [result["stdout"] for result in results] == ["9", "16"], results
    result = sandbox.run("cpp", "int main() { return undefined; }")
    assert result["status"] == "Compile Error" and "undefined" in result["stderr"], result

sandbox.close()
print("passed")
