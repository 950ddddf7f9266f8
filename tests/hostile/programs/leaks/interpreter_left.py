# ---
# class = "leaks"
# attempts = """\
# leave changes in the memory and the process of a prepared interpreter: builtins, modules, hooks, \
# handlers, timers, threads, the collector, variables and streams"""
# must = "the next run finds the interpreter as it was prepared"
# held_by = "each run is a copy-on-write copy of the template"
# limits = { memory = "128M", processes = 8 }
# ---
import builtins
import ctypes
import fcntl
import gc
import io
import json
import os
import resource
import signal
import sys
import threading


def attempt(what, *arguments):
    try:
        what(*arguments)
    except (OSError, ValueError):
        pass


builtins.len = lambda what: 42
builtins.left = True
json.dumps = io.StringIO = None
sys.modules["left"] = sys
sys.path.insert(0, "/tmp")
sys.meta_path.clear()
sys.excepthook = sys.displayhook = print
sys.setrecursionlimit(77)
sys.setswitchinterval(1)
sys.settrace(lambda *call: None)
threading.setprofile(lambda *call: None)
gc.disable()
gc.set_threshold(1, 1, 1)
gc.callbacks.append(lambda *call: None)
os.environ["LEFT"] = "1"
os.register_at_fork(before=os.abort, after_in_child=os.abort, after_in_parent=os.abort)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    attempt(signal.signal, number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
attempt(signal.setitimer, signal.ITIMER_REAL, 1000)
os.umask(0o777)
attempt(os.nice, 19)
attempt(os.sched_setaffinity, 0, [0])
attempt(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64))
for fd in range(3):
    attempt(fcntl.fcntl, fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
# Small integers have the same address in each copy, so this writes into memory of the template.
ctypes.c_long.from_address(id(1)).value += 1 << 20
ctypes.pythonapi.PyErr_SetInterrupt()
threading.Thread(target=threading.Event().wait, daemon=True).start()
os._exit(0)
