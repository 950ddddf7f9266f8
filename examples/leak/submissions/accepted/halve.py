# The same algorithm as halve.cpp.
n, q = map(int, input().split())
first, last = 1, n
while first < last:
    middle = (first + last + 1) // 2
    print("?", middle, flush=True)
    if input() == "wet":
        first = middle
    else:
        last = middle - 1
print("!", first, flush=True)
