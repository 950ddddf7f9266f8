# Allocates memory endlessly. The kernel kills the program at the memory limit. If only the address
# space is limited, the program ends with MemoryError and exit status 1. This directory covers both
# results, because the format has no name for the memory limit.
all_of_it = []
while True:
    all_of_it.append(bytearray(b"x") * (16 << 20))
