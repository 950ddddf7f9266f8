# Searches for the interactor's input: any file, command line or environment with a line "n q p". It
# already knows n and q, and p is the leak. It must not find the line, although the interactor runs
# at the same time. Then it guesses. Wrong answer. It stops after 0.3 s of CPU time, so that no
# limit decides.
import os
import re
import time

SYSTEM = ("/usr", "/lib", "/sys", "/bin", "/sbin", "/opt", "/etc")


def places():
    for process in ["self", *range(1, 64)]:
        files = ("cmdline", "environ", "cwd/1.in", "root/input", "fd/0", "fd/3", "fd/4", "fd/5")
        for name in files:
            yield f"/proc/{process}/{name}"
    for start in (".", "..", "/tmp", "/dev/shm", "/data", "/"):
        for directory, below, files in os.walk(start):
            here = os.path.abspath(directory)
            skipped = (*SYSTEM, "/proc")
            below[:] = [name for name in below if not os.path.join(here, name).startswith(skipped)]
            for name in files:
                yield os.path.join(directory, name)


def look(place):
    try:
        fd = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.pread(fd, 4096, 0)
    except OSError:
        return b""
    finally:
        os.close(fd)


def main():
    n, q = input().split()
    line = re.compile(rb"%s %s ([0-9]+)\n" % (n.encode(), q.encode()))
    for place in places():
        if time.process_time() > 0.3:
            break
        found = line.fullmatch(look(place))
        if found:
            print("!", found.group(1).decode(), flush=True)
            return
    print("!", int(n) // 3 + 1, flush=True)


main()
