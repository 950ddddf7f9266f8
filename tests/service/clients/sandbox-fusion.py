"""Uses the client `sandbox-fusion` from PyPI: sandbox-fusion.py URL. Prints `passed`."""

import asyncio
import base64
import os
import sys

# Otherwise, the client's HTTP library would use the machine's proxy.
os.environ["NO_PROXY"] = "*"

from sandbox_fusion import (
    RunCodeRequest,
    RunJupyterRequest,
    RunStatus,
    run_code,
    run_code_async,
    run_concurrent,
    run_jupyter,
    set_endpoint,
)

set_endpoint(sys.argv[1])

answer = run_code(
    RunCodeRequest(
        code="print(open('in').read() + input()); open('out', 'w').write('x')",
        language="python",
        stdin="b",
        files={"in": base64.b64encode(b"a").decode()},
        fetch_files=["out"],
    )
)
assert answer.status == RunStatus.Success, answer
assert answer.run_result.stdout == "ab\n", answer
assert answer.files == {"out": base64.b64encode(b"x").decode()}, answer

answer = run_code(RunCodeRequest(code="int main( {", language="cpp"))
assert answer.status == RunStatus.Failed and answer.run_result is None, answer

answer = asyncio.run(run_code_async(RunCodeRequest(code="print(1)", language="python")))
assert answer.run_result.stdout == "1\n", answer

requests = [[RunCodeRequest(code=f"print({number})", language="python")] for number in range(8)]
answers = run_concurrent(run_code, args=requests, concurrency=4)
assert [answer.run_result.stdout for answer in answers] == [f"{n}\n" for n in range(8)], answers

answer = run_jupyter(RunJupyterRequest(cells=["a = 5", "a", "raise RuntimeError('x')"]))
assert answer.status == RunStatus.Success, answer
assert answer.cells[1].display == [{"text/plain": "5"}], answer
assert answer.cells[2].error[0]["ename"] == "RuntimeError", answer

print("passed")
