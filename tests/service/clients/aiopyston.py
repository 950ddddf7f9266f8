"""Runs programs with the client aiopyston. The argument is the URL of the service."""

import asyncio
import sys

from pyston import File, PystonClient
from pyston.exceptions import ExecutionError, InvalidLanguage


async def main(url):
    client = PystonClient(base_url=f"{url}/api/v2/piston/")
    try:
        assert {"python", "c++", "bash"} <= await client.languages()
        (runtime,) = await client.get_runtimes("py3")
        assert runtime.language == "python", repr(runtime)
        try:
            await client.get_runtimes("none")
        except InvalidLanguage:
            pass
        else:
            raise AssertionError("an unknown language was found")

        source = File("import sys; print(input(), sys.argv[1])")
        output = await client.execute("python", [source], stdin="in", args=["arg"])
        assert output.langauge == "python" and output.version == runtime.version
        assert str(output) == "in arg\n" and output.run_stage.code == 0
        assert output.compile_stage is None and output.success

        source = File("int main() { return 7; }", filename="main.cpp")
        output = await client.execute("c++", [source])
        assert output.compile_stage.code == 0 and output.run_stage.code == 7

        output = await client.execute("bash", [File("sleep 60")], run_timeout=500)
        assert output.run_stage.signal == "SIGKILL", output.raw_json

        try:
            await client.execute("python", [source], version="1.0.0")
        except ExecutionError as error:
            assert str(error) == "python-1.0.0 runtime is unknown"
        else:
            raise AssertionError("an unknown version was executed")
    finally:
        await client.close_session()


asyncio.new_event_loop().run_until_complete(main(sys.argv[1]))
