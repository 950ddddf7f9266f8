# Gives a wrong answer and crashes immediately, before the interactor can have read the answer. The
# interactor decides by the answer alone: wrong answer, not a run-time error.
import os

print("! 1", flush=True)
os.abort()
