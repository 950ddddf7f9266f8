# A fork bomb. The number of processes is limited, os.fork fails soon, and all that there are try
# again until their common CPU time is used up: time limit. Nobody else on the machine may notice,
# and none of them may be left.
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
