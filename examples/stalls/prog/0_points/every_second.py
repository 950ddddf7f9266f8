# Uses either all odd or all even stalls, whichever pay more. Wrong in every group: 0 points.
n, *pays = map(int, open(0).read().split())
first = max(range(2), key=lambda first: sum(pays[first::2]))
print(sum(pays[first::2]))
print(*range(first + 1, n + 1, 2))
