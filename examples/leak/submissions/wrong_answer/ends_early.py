# Asks one question, hears the answer, and ends with exit status 0, which says nothing of the leak.
# Wrong answer: the interactor sees the end of its input. (It is the sample that this is wrong for
# first; where there is but one section it does not even ask.)
n, q = map(int, input().split())
if n > 1:
    print("?", n, flush=True)
    input()
