# Takes memory until there is none. The kernel ends it at the memory limit, or, where only its
# address space is limited, MemoryError does, with exit status 1. Both are what this directory's
# name says: this format has no word for memory.
all_of_it = []
while True:
    all_of_it.append(bytearray(b"x") * (16 << 20))
