# ---
# class = "escape"
# attempts = """\
# escape from an interpreter: host files through `..`, other processes in /proc, sockets of the \
# host, os.setuid"""
# must = "the program finds nothing of the host"
# held_by = "mount, PID and network namespaces"
# with = ["proc"]
# limits = { memory = "128M", processes = 8 }
# ---
import os
import socket
import sys


def escaped(what):
    print(what)
    sys.exit(1)


directory = sys.argv[7]
for path in (directory, "/root", "/home", "/etc/shadow", "/etc/passwd", "/var/run", "/run", "/sys",
             "/boot"):
    for way in (path, "/proc/self/root" + path, "/proc/1/root" + path,
                "/tmp/../../../.." + path, "/proc/1/cwd" + path):
        if os.path.exists(way):
            escaped(way)
numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
others = [number for number in numbers if number not in (1, os.getpid())]
if others:
    escaped(f"processes {others}")
for family, address in (
    (socket.AF_INET, ("127.0.0.1", int(sys.argv[3]))),
    (socket.AF_UNIX, "\0" + sys.argv[4]),
    (socket.AF_UNIX, "/var/run/docker.sock"),
):
    try:
        socket.socket(family).connect(address)
        escaped(f"connected to {address}")
    except OSError:
        pass
for change in (lambda: os.setuid(os.getuid() + 1), lambda: os.chroot("/tmp"),
               lambda: os.mknod("/tmp/x", 0o60666, 0x800)):
    try:
        change()
        escaped("a change of privilege")
    except OSError:
        pass
