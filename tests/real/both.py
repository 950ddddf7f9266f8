"""Runs a command as an unprivileged user of the host, and in the default world of the sandbox.

On the host, the command has its own loopback interface and process numbers, and an empty /tmp on
the host's disk. Everything that it starts ends with it. Both runs have the same environment, and
start in /tmp.
"""

import os
import shutil
import subprocess
import sys
import tempfile

# The user must be an account, because some programs look up their user.
USER = "nobody"  # prose: allow
GROUP = "nogroup"
ENVIRONMENT = [
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME=/tmp",
    "LANG=C.UTF-8",
]
# The shell is the init process of the namespace, so that killing it ends all processes.
INIT = 'ip link set lo up && mount --bind "$1" /tmp && cd /tmp && shift && "$@"; exit $?'
TIMEOUT = 124


def add_options(parser):
    parser.add_argument(
        "--millibox",
        default="target/release/millibox",
        metavar="COMMAND",
        help="the built command; default: %(default)s",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="OPTION",
        help="a further option of millibox run, as in --option=--separate-pid1",
    )


def parse(parser):
    if os.geteuid() != 0:
        parser.error("must be started as root, to switch to an unprivileged user")
    options = parser.parse_args()
    if not shutil.which(options.millibox):
        parser.error(f"{options.millibox} not found; build it or pass --millibox")
    return options


def run(command):
    """Return the exit status, standard output and standard error."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        ).returncode
        output.seek(0)
        errors.seek(0)
        texts = [file.read().decode(errors="replace") for file in (output, errors)]
        return status, *texts


def on_host(command, seconds):
    directory = tempfile.mkdtemp(prefix="millibox-host-")
    os.chmod(directory, 0o1777)
    try:
        return run(
            [
                *"unshare --net --pid --fork --kill-child --mount-proc sh -c".split(),
                *[INIT, "sh", directory],
                *f"setpriv --reuid {USER} --regid {GROUP} --clear-groups env -i".split(),
                *[*ENVIRONMENT, "timeout", str(seconds), *command],
            ]
        )
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def in_sandbox(command, seconds, options, shown=()):
    """Run the command with these directories of the host shown read-only."""
    arguments = ["--real-time-limit", f"{seconds}s"]
    for variable in ENVIRONMENT:
        arguments += ["--env", variable]
    for directory in shown:
        arguments += ["--ro", directory]
    limits = "run --quiet --memory-limit 2G --process-limit 512 --cwd /tmp".split()
    return run([options.millibox, *limits, *arguments, *options.option, "--", *command])


def finish(same, total, what):
    print(f"{same} of {total} {what} have the same result")
    sys.exit(same != total)
