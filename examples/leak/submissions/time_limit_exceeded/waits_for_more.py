# Reads a second line before it has asked a question. The interactor never sends it: time limit, by
# real time.
n, q = map(int, input().split())
print("!", input())
