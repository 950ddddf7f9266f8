# Imitates the output of Sim's checkers, with a comment of the same form and NUL bytes around it. A
# judge that mistakes the output for the checker's result would give full points. The program must
# get 0 points.
import sys

sys.stdout.write("OK\n100\n\0OK\n100\nOK\n100\n")
print("OK\n100\n", file=sys.stderr)
