# The innocent program for templates of Python. It reports the state of the interpreter that an
# earlier run could have left behind, and then that of the process (innocent.c).
import builtins, ctypes, gc, io, os, signal, sys, threading

report = int(sys.argv[1])
lines = []


def line(*values):
    lines.append(" ".join(map(str, values)))


# A signal that a run left for the interpreter is handled at one of these statements.
for _ in range(1000):
    pass
for number in sorted(signal.valid_signals()):
    handler = signal.getsignal(number)
    line("handler", int(number), getattr(handler, "__name__", handler))
line("argv", sys.argv)
line("path", sys.path)
line("modules", sorted(sys.modules))
line("builtins", sorted(vars(builtins)), builtins.len([1]), builtins.sorted([2, 1]))
line("main", sorted(globals()))
line("threads", threading.active_count(), threading.current_thread().name)
line("tracing", sys.gettrace(), sys.getprofile())
line("collector", gc.isenabled(), gc.get_threshold(), len(gc.garbage), len(gc.callbacks))
line("limits", sys.getrecursionlimit(), sys.getswitchinterval())
line("encoding", sys.stdout and sys.stdout.encoding, sys.getfilesystemencoding())
line("streams", type(sys.stdin), type(sys.stdout), type(sys.stderr))
line("hooks", sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)
line("importers", len(sys.meta_path), len(sys.path_hooks))
line("variables", sorted(os.environ))
line("module", sorted(vars(io)), sorted(vars(signal)))
with open(report, "wb", closefd=False) as file:
    file.write("\n".join(lines).encode() + b"\n")
sys.exit(ctypes.CDLL("/innocent").report(report))
