# Writes one number endlessly. The output has no newline, so a reader of lines or tokens must not
# wait for the end of one.
import sys

while True:
    sys.stdout.write("1" * 65536)
