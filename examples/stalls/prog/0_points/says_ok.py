# Prints what Sim's checkers print, and a comment that begins with it, and zero bytes around it. A
# judge that takes the output for the checker's answer gives it everything; it gets 0 points.
import sys

sys.stdout.write("OK\n100\n\0OK\n100\nOK\n100\n")
print("OK\n100\n", file=sys.stderr)
