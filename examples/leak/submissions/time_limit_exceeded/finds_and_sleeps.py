# Finds the leak and sleeps for an hour. The interactor accepts, but the submission must also end in
# time. The real-time limit ends it.
import time

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
time.sleep(3600)
