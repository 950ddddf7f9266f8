# Prints zeros and tries to make them the expected answers. It overwrites with zeros every file that
# could contain answers, and its own input. All files that it sees are read-only or its own. Wrong
# answer. The following tests and submissions are still judged by the answers of the package.
import os
import sys


def main():
    words = sys.stdin.read().split()
    zeros = "0\n" * int(words[1])
    secret = ["01-level", "02-edges", "03-small", "04-stairs", "05-swings", "06-long", "07-tide"]
    data = ["/data/secret/", "../data/secret/", "../../data/secret/"]
    for test in [*secret, "1", "2"]:
        for place in ["", "../", "../../", "/", *data, "/tmp/"]:
            for path in [f"{place}{test}.ans", f"{place}answer", f"{place}judge.ans"]:
                write(path, zeros)
    for fd in range(1024):
        # For a pipe, this opens the write end, and for a file, the file itself. Standard output is
        # left out, because the zeros are printed there below.
        if fd not in (1, 2):
            write(f"/proc/self/fd/{fd}", zeros)
            write(f"/dev/fd/{fd}", zeros)
    for process in range(1, 10):
        write(f"/proc/{process}/mem", zeros)
    sys.stdout.write(zeros)


def write(path, text):
    try:
        # O_CREAT is not used: a new file would belong to this program.
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, text.encode())
        os.ftruncate(fd, len(text))
    except OSError:
        pass


main()
