# ---
# class = "escape"
# attempts = """\
# kill pid1 with every signal from Python, whose handlers pid1 could have inherited from the \
# template of the interpreter"""
# must = "pid1 and later runs are not affected"
# held_by = "pid1 of a copy blocks all signals before it forks the copy"
# limits = { memory = "128M", processes = 8 }
# ---
import os
import signal
import sys
import time

for number in range(1, 65):
    for send in (os.kill, lambda pid, number: signal.pidfd_send_signal(os.pidfd_open(pid), number)):
        try:
            send(1, number)
        except OSError:
            pass
time.sleep(0.05)
try:
    os.kill(1, 0)
except OSError:
    print("pid1 has ended")
    sys.exit(1)
