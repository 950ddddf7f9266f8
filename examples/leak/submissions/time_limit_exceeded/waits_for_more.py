# Reads a second line before it has asked a question. The interactor never sends this line. The
# real-time limit ends the submission.
n, q = map(int, input().split())
print("!", input())
