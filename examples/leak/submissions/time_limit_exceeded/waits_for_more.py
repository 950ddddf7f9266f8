# Reads a second line before it has asked anything. Nobody will write it: time limit, by real time.
n, q = map(int, input().split())
print("!", input())
