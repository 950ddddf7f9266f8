# Tries the heaps recursively, more deeply than the interpreter allows: RecursionError, exit status
# 1. Run-time error.
def lay(stone):
    return lay(stone + 1) or lay(stone)


print(lay(0))
