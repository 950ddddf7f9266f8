# Reads one reply and raises an exception, exit status 1. The interactor sees the end of its input
# only afterwards: run-time error.
n, q = map(int, input().split())
print("?", (n + 1) // 2, flush=True)
raise ValueError(input())
