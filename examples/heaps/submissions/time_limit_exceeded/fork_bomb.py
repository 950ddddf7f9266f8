# A fork bomb. The number of processes is limited, so os.fork soon fails. All processes try again
# until they have used their common CPU time: time limit. Other programs on the machine must not be
# affected, and no process may remain.
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
