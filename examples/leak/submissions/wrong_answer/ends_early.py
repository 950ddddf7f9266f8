# Asks one question, reads the reply and exits with 0 without an answer. Wrong answer: the
# interactor sees the end of its input. The first test that fails is the sample. If there is only
# one section, the program does not even ask.
n, q = map(int, input().split())
if n > 1:
    print("?", n, flush=True)
    input()
