#!/usr/bin/python3
"""Compare the tests that language implementations and packages ship.

Each test file runs twice: as an unprivileged user of the host, and in the default world of
`millibox run`. If the results differ, both runs are repeated, and the tests that differ again are
printed. Every result is appended to a file, and tests that the file contains are not run again.

Needs root and the tools of the language. `--install` fetches the tests into a directory.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

import both
from python_modules import compared

# Packages of npm that contain their tests.
NODE_PACKAGES = """
avvio@9.3.1 bl@6.1.6 fastify@5.6.2 fastq@1.20.3 light-my-request@6.6.0 pino@10.1.0 pump@3.0.4
qs@6.14.0 resolve@1.22.11 sonic-boom@4.2.0 split2@4.2.0 tape@5.9.0 thread-stream@4.0.0
""".split()
# The tools of these tests, and packages that they import.
NODE_TOOLS = """
tape@5.9.0 proxyquire split2 through2 pump pino-pretty joi ajv ajv-errors simple-get undici
form-data fluent-json-schema yup concat-stream callback-stream
""".split()
# Files in the sources of Debian's packages.
PERL_TESTS = """
t/base/*.t t/cmd/*.t t/comp/*.t t/io/*.t t/op/*.t t/mro/*.t t/re/*.t t/uni/*.t lib/*.t
""".split()
RUBY_TESTS = """
ruby/test_{dir,env,exception,file,file_exhaustive,fiber,float,gc,hash,integer,io,io_buffer,io_m17n,
iseq,marshal,math,method,module,numeric,object,pack,pipe,proc,process,rand,random_formatter,range,
regexp,require,rubyoptions,settracefunc,signal,sleep,sprintf,string,struct,symbol,system,thread,
thread_cv,thread_queue,time,time_tz,trace}.rb
socket/*.rb net/http/*.rb fileutils/*.rb open-uri/*.rb openssl/test_ssl.rb drb/*.rb etc/*.rb
io/console/*.rb io/wait/*.rb monitor/*.rb logger/*.rb digest/*.rb zlib/*.rb pathname/*.rb
readline/*.rb pty/*.rb test_*.rb
""".split()
# A library of Maven Central with a JAR of its tests, and the libraries that they need.
JAVA_TESTS = "commons-io:commons-io:2.11.0:jar:tests"
JAVA_LIBRARIES = """
commons-io:commons-io:2.11.0 org.junit.platform:junit-platform-console-standalone:1.9.2
org.apache.commons:commons-lang3:3.12.0 com.google.jimfs:jimfs:1.2 com.google.guava:guava:31.1-jre
com.google.guava:failureaccess:1.0.1 org.mockito:mockito-core:5.2.0
net.bytebuddy:byte-buddy:1.14.1 net.bytebuddy:byte-buddy-agent:1.14.1 org.objenesis:objenesis:3.3
""".split()
MAVEN = """
mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy
""".split()


def expand(patterns, directory):
    """Return the sorted files of glob patterns, in which `{a,b}` stands for alternatives."""
    found = set()
    text = re.sub(r",\s+", ",", " ".join(patterns))
    for pattern in text.split():
        head, brace, rest = pattern.partition("{")
        names, _, tail = rest.partition("}")
        for name in names.split(",") if brace else [""]:
            found.update(glob.glob(f"{directory}/{head}{name}{tail}"))
    return sorted(found)


def in_directory(directory, *command):
    return ["sh", "-c", 'cd "$0" && exec "$@"', directory, *command]


def debian_source(package, directory):
    """Unpack the source package that the installed package was built from."""
    subprocess.run(["apt-get", "source", "--quiet", package], cwd=directory, check=True)


class Go:
    """The tests of the standard packages, compiled on the host."""

    def install(self, directory):
        shown = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"
        command = ["go", "list", "-f", shown, "std"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True)
        packages = [line.split() for line in listed.stdout.split("\n") if line]
        with open(f"{directory}/packages.json", "w") as file:
            json.dump(packages, file)
        for package, _ in packages:
            executable = f"{directory}/{package.replace('/', '_')}.test"
            if not os.path.exists(executable):
                command = ["go", "test", "-c", "-vet=off", "-o", executable, package]
                subprocess.run(command, check=False)

    def tests(self, directory):
        with open(f"{directory}/packages.json") as file:
            packages = json.load(file)
        for package, source in packages:
            executable = f"{directory}/{package.replace('/', '_')}.test"
            if os.path.exists(executable):
                flags = ["-test.short", "-test.v", "-test.parallel=2"]
                yield package, in_directory(source, executable, *flags)

    outcome = re.compile(r"^\s*--- (?P<result>PASS|FAIL|SKIP): (?P<name>\S+)", re.MULTILINE)


class Node:
    """The tests that packages of npm contain."""

    def install(self, directory):
        subprocess.run(["npm", "init", "--yes"], cwd=directory, check=True, capture_output=True)
        subprocess.run(
            ["npm", "install", "--silent", "--ignore-scripts", *NODE_PACKAGES, *NODE_TOOLS],
            cwd=directory,
            check=True,
        )

    def tests(self, directory):
        for package in NODE_PACKAGES:
            root = f"{directory}/node_modules/{package.rpartition('@')[0]}"
            files = [
                *glob.glob(f"{root}/test*.js"),
                *glob.glob(f"{root}/tests/**/*.js", recursive=True),
                *glob.glob(f"{root}/test/**/*.js", recursive=True),
            ]
            for path in sorted(set(files)):
                text = open(path, errors="replace").read()
                if re.search(r"""require\(['"](node:test|tape|assert|node:assert)['"]\)""", text):
                    name = os.path.relpath(path, f"{directory}/node_modules")
                    yield name, in_directory(root, "node", "--expose-gc", path)

    outcome = re.compile(r"^\s*(?P<result>ok|not ok) \d+ -? ?(?P<name>.*?)\s*$", re.MULTILINE)


class Perl:
    """The tests of Perl itself, in copies of their directories. They use the modules
    in `../lib`."""

    def install(self, directory):
        debian_source("perl", directory)
        (root,) = glob.glob(f"{directory}/perl-*/")
        command = ["perl", "-e", 'print join "\n", grep m{/perl(-base|/5)}, @INC']
        listed = subprocess.run(command, check=True, capture_output=True, text=True)
        for modules in listed.stdout.split():
            if os.path.isdir(modules):
                shutil.copytree(modules, f"{root}lib", dirs_exist_ok=True)

    def tests(self, directory):
        (root,) = glob.glob(f"{directory}/perl-*/")
        script = 'cp -r "$0t" "$0lib" /tmp/ && cd /tmp/t && exec perl -I. "../$1"'
        for path in expand(PERL_TESTS, root.rstrip("/")):
            name = os.path.relpath(path, root)
            yield name, ["sh", "-c", script, root, name]

    outcome = re.compile(r"^(?P<result>ok|not ok) (?P<name>\d+)", re.MULTILINE)


class Ruby:
    """The tests of Ruby itself."""

    def install(self, directory):
        debian_source("ruby3.1", directory)

    def tests(self, directory):
        (root,) = glob.glob(f"{directory}/ruby*-*/")
        for path in expand(RUBY_TESTS, f"{root}test"):
            command = ["ruby", "test/runner.rb", "--verbose", "--seed=1", path]
            yield os.path.relpath(path, f"{root}test"), in_directory(root, *command)

    outcome = re.compile(r"^\[\s*\d+/\d+\] (?P<name>\S+)(?P<result>.*)", re.MULTILINE)


class Java:
    """The tests of commons-io, class by class."""

    def install(self, directory):
        for artifact in [JAVA_TESTS, *JAVA_LIBRARIES]:
            command = [*MAVEN, f"-Dartifact={artifact}", f"-DoutputDirectory={directory}"]
            subprocess.run(command, check=True, cwd=directory)

    def tests(self, directory):
        (tests,) = glob.glob(f"{directory}/*-tests.jar")
        listed = subprocess.run(["unzip", "-Z1", tests], check=True, capture_output=True, text=True)
        names = re.findall(r"^(.*Test)\.class$", listed.stdout, re.MULTILINE)
        libraries = ":".join(sorted(glob.glob(f"{directory}/*.jar")))
        for name in sorted(names):
            name = name.replace("/", ".")
            launcher = ["java", "-cp", libraries, "org.junit.platform.console.ConsoleLauncher"]
            flags = ["--details=tree", "--details-theme=ascii", "--disable-ansi-colors"]
            yield name, [*launcher, *flags, f"--select-class={name}"]

    outcome = re.compile(r"^[|'+\- ]*-- (?P<name>.*?) \[(?P<result>OK|X|S)\]", re.MULTILINE)


LANGUAGES = {"go": Go, "node": Node, "perl": Perl, "ruby": Ruby, "java": Java}
# The results that the list at the end of Ruby's output names.
RUBY_RESULT = r"^ +\d+\) (Failure|Error|Skipped):\n(\S+?)(?::$| \[)"
# The words of a successful, a failed and a skipped test.
RESULTS = {
    "PASS": "success", "ok": "success", "OK": "success", "FAIL": "failure", "not ok": "failure",
    "X": "failure", "SKIP": "skipped", "S": "skipped",
}


def outcomes(language, text):
    """Return the result and the reason of each test by name."""
    found = {}
    for match in language.outcome.finditer(text):
        result = match["result"].strip()
        name, number = match["name"], 1
        while (key := name if number == 1 else f"{name} ({number})") in found:
            number += 1
        found[key] = RESULTS.get(result, "success"), ""
    if language is Ruby:
        for result, name in re.findall(RUBY_RESULT, text, re.MULTILINE):
            found[name] = "skipped" if result == "Skipped" else "failure", ""
    return found


def compare(language, name, command, shown, options):
    def run_both():
        results = []
        for status, output, errors in (
            both.on_host(command, options.timeout),
            both.in_sandbox(command, options.timeout, options, shown),
        ):
            text = output + "\n" + errors
            results.append((status, outcomes(language, text), text[-2000:]))
        return results

    host, sandbox, found = compared(run_both)
    record = {"name": name, "tests": len(host[1]), "status": host[0]}
    if both.TIMEOUT in (host[0], sandbox[0]):
        return record | {"result": "timeout"}
    if host[0] and not host[1]:
        return record | {"result": "does not work on the host"}
    return record | {"result": "different" if found else "same", "differences": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("language", choices=LANGUAGES)
    parser.add_argument("names", nargs="*", help="test files; default: all")
    both.add_options(parser)
    parser.add_argument("--directory", default="target/own-tests", help="default: %(default)s")
    parser.add_argument("--install", action="store_true", help="fetch the tests")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for each file")
    parser.add_argument("--stop-after", type=int, default=10**6, help="seconds for all files")
    options = both.parse(parser)
    language = LANGUAGES[options.language]
    directory = os.path.join(os.path.abspath(options.directory), options.language)
    results = f"{directory}.jsonl"
    if options.install:
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        language().install(directory)

    done = set()
    if not options.names:
        with open(results, "a+") as file:
            file.seek(0)
            done = {json.loads(line)["name"] for line in file}
    deadline = time.monotonic() + options.stop_after
    for name, command in language().tests(directory):
        if name in done or (options.names and name not in options.names):
            continue
        if time.monotonic() > deadline:
            break
        record = compare(language, name, command, [directory], options)
        with open(results, "a") as file:
            file.write(json.dumps(record) + "\n")
        if record["result"] != "same":
            print(name, record["tests"], record["result"], flush=True)
        for test, (host, sandbox) in list(record.get("differences", {}).items())[:10]:
            print(f"    {test}: host {host[0]}, sandbox {sandbox[0]}")

    with open(results) as file:
        records = [json.loads(line) for line in file]
    for result in sorted({record["result"] for record in records}):
        matching = [record for record in records if record["result"] == result]
        tests = sum(record["tests"] for record in matching)
        print(f"{len(matching)} files with {tests} tests: {result}")
    sys.exit(any(record["result"] == "different" for record in records))


if __name__ == "__main__":
    main()
