# Writes one number without end. The output has no newline, so a reader of lines or tokens must not
# wait for one.
import sys

while True:
    sys.stdout.write("1" * 65536)
