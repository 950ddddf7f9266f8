# Prints only the sum: 60 % of every group's points, 60 points in total.
before, best = 0, 0
for pay in list(map(int, open(0).read().split()))[1:]:
    before, best = best, max(best, before + pay)
print(best)
