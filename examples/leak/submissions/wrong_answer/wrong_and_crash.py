# Gives a wrong answer and crashes at once, before the interactor can have read it. What it said is
# all the interactor has heard when it decides: wrong answer, not a run-time error.
import os

print("! 1", flush=True)
os.abort()
