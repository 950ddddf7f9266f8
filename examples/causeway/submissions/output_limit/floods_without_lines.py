# One number that never ends: no newline, so nothing that reads by lines or tokens may wait for one.
import sys

while True:
    sys.stdout.write("1" * 65536)
