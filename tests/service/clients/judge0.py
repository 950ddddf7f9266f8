"""Uses the official Judge0 SDK against a service: python judge0.py URL."""

import sys

import judge0
from judge0 import Client, File, Filesystem, LanguageAlias, Status, Submission, TestCase


def main(url):
    client = Client(url)
    assert client.version == "1.13.1", client.version
    assert len(client.get_statuses()) == 14
    assert client.get_language(71).source_file == "script.py"
    for alias in LanguageAlias.PYTHON, LanguageAlias.BASH, LanguageAlias.PLAIN_TEXT:
        assert client.is_language_supported(alias), alias

    result = judge0.run(client=client, source_code="print('hello')", language=LanguageAlias.PYTHON)
    assert result.stdout == "hello\n" and result.status == Status.ACCEPTED, result
    assert result.time > 0 and result.memory > 0, result
    assert result.created_at <= result.finished_at, result

    # Each test case is a submission of a batch.
    results = judge0.run(
        client=client,
        source_code="print(int(input()) ** 2)",
        language=LanguageAlias.PYTHON,
        test_cases=[TestCase("3", "9"), TestCase("4", "15"), TestCase("x", "")],
    )
    expected = [Status.ACCEPTED, Status.WRONG_ANSWER, Status.RUNTIME_ERROR_NZEC]
    assert [result.status for result in results] == expected, results
    assert "ValueError" in results[2].stderr, results[2]

    # More submissions than fit into a batch.
    submissions = [
        Submission(source_code=f"echo {number}", language=LanguageAlias.BASH)
        for number in range(25)
    ]
    results = judge0.run(client=client, submissions=submissions)
    assert [int(result.stdout) for result in results] == list(range(25)), results

    files = Filesystem(content=[File(name="data.txt", content="from a file")])
    result = judge0.run(
        client=client,
        source_code="print(open('data.txt').read())",
        language=LanguageAlias.PYTHON,
        additional_files=files,
    )
    assert result.stdout == "from a file\n", result

    project = Filesystem(content=[File(name="run.sh", content="echo $((6 * 7))")])
    submission = Submission(language=LanguageAlias.MULTI_FILE, additional_files=project)
    submission.source_code = ""
    result = judge0.run(client=client, submissions=submission)
    assert result.stdout == "42\n", result

    result = judge0.run(
        client=client,
        source_code="while true; do :; done",
        language=LanguageAlias.BASH,
        cpu_time_limit=0.2,
        cpu_extra_time=0,
    )
    assert result.status == Status.TIME_LIMIT_EXCEEDED, result
    print("ok")


main(sys.argv[1])
