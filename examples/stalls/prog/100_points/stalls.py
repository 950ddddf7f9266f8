# The same algorithm as stalls.cpp; 100 points.
n, *pays = map(int, open(0).read().split())
best = [0, 0]
for pay in pays:
    best.append(max(best[-1], best[-2] + pay))
print(best[-1])
stall = n
while stall > 0:
    if best[stall + 1] == best[stall]:
        stall -= 1
    else:
        print(stall, end=" ")
        stall -= 2
print()
