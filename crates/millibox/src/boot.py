# The program with which a prepared interpreter begins. It imports modules, announces that it is
# ready, and continues in each copy as `python3 ARGUMENTS` would. See docs/internals/prepared.md.
#
# The arguments are the path of libmillibox_ready.so and the modules to import.
import sys

# A program may replace or delete what it finds in `builtins` and in modules. The functions of this
# file therefore use their own builtins, and `_keep` keeps what they need to end a program.
__builtins__ = dict(vars(__builtins__))


def _prepare():
    """Prepares what the copies need.

    All of it is global: a copy that leaves the frame of a function releases the function's
    variables, and so touches the memory of each object.
    """
    # Import these modules for the whole file, because an import in a copy would touch memory.
    global builtins, gc, io, os, runpy, threading, time, types, BuiltinImporter, SourceFileLoader
    global ready, buffer, strings_of_run, counts, stage, kinds_of_streams, real_path
    global has_handlers, before, after, seed, loaded, own, own_strings, options
    global encoding, original_argv, streams, is_unbuffered
    at_start = set(sys.modules)
    import builtins, ctypes, gc, io, os, runpy, threading, time, types
    from importlib.machinery import BuiltinImporter, SourceFileLoader

    fork_handlers = _fork_handlers()

    library = ctypes.PyDLL(sys.argv[1])
    for name in sys.argv[2:]:
        __import__(name)
    ready = library.millibox_ready
    ready.restype = ctypes.c_ssize_t
    buffer = ctypes.create_string_buffer(65536)
    strings_of_run = memoryview(buffer).cast("B")
    counts = (ctypes.c_uint32 * 2)()
    stage, kinds_of_streams = library.millibox_ready_stage, library.millibox_ready_streams
    real_path = ctypes.pythonapi.realpath
    real_path.restype = ctypes.c_char_p
    before = ctypes.pythonapi.PyOS_BeforeFork
    after = ctypes.pythonapi.PyOS_AfterFork_Child
    before.restype = after.restype = None
    loaded = {name.partition(".")[0] for name in sys.modules} - at_start
    # Let the interpreter do work here that it does once for each process.
    exec(compile("pass", "<string>", "exec"), {"__name__": "__main__"})
    own = dict(os.environ)
    # What follows the last argument in the strings of a run whose variables are the same.
    own_strings = b"\0" + b"".join(b"%s=%s\0" % pair for pair in os.environb.items())
    # The options before this program's "-c". A run with the same options can use this interpreter.
    options = sys.orig_argv[1:] if hasattr(sys, "orig_argv") else ["-c"]
    options = options[: options.index("-c")]
    encoding = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    original_argv = sys.orig_argv[:1] if hasattr(sys, "orig_argv") else None
    sys.argv[:] = [""]
    is_unbuffered = sys.stdout.write_through
    streams = _prepare_streams()
    # Directories that did not exist here may exist in a run.
    for name, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[name]
    _keep(ctypes, gc, types)
    seed = None
    has_handlers = not all(_is_needless(one) for handlers in fork_handlers for one in handlers)
    if not has_handlers and "random" in sys.modules:
        random = sys.modules["random"]._inst
        # Use the method of the C type. The one of the Python class touches more memory.
        seed = super(type(random), random).seed
        random.gauss_next = None
    gc.collect()
    gc.freeze()


# All code from here on runs in the copy. Each page that a copy touches is copied, so this code
# touches few objects.


def _become(length):
    """Makes the copy the interpreter of a run.

    Returns the kind of its program, the program's code, directory and module.
    """
    strings = bytes(strings_of_run[:length])
    if counts[1] == len(own) and strings.endswith(own_strings):
        environment = own
        arguments = strings[: -len(own_strings)].decode(*encoding).split("\0")
    else:
        strings = strings.decode(*encoding).split("\0")
        environment = {}
        for variable in strings[counts[0] : counts[0] + counts[1]]:
            name, _, value = variable.partition("=")
            environment.setdefault(name, value)
        arguments = strings[: counts[0]]
    if arguments and arguments[0] == STAGE:
        # millibox-stage PROGRAM ARGV0 [ARGUMENT...]
        if stage() != 0:
            os._exit(127)
        del arguments[:2]
    how = _understand(arguments, options)
    directory = "."
    if how is not None and how[0] == "file":
        directory = _directory_of(how[1][0])
    del strings
    is_other_start = environment is not own and not _same_start(own, environment)
    if how is None or is_other_start or _is_shadowed(directory, loaded):
        # The interpreter would start differently for this run, so execute it.
        os.execve(sys.executable, arguments or [""], environment)
    if environment is not own:
        _change_environment(own, environment)
    kinds = kinds_of_streams()
    sys.stdin = sys.__stdin__ = _stream(0, kinds & 3, *streams[0])
    sys.stdout = sys.__stdout__ = _stream(1, kinds >> 2 & 3, *streams[1])
    sys.stderr = sys.__stderr__ = _stream(2, kinds >> 4 & 3, *streams[2])
    # `random` is reseeded after a fork, but numpy is not.
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    kind, code, rest = how
    sys.argv[:] = rest
    if original_argv is not None:
        sys.orig_argv[:] = arguments
    fresh = types.ModuleType("__main__")
    fresh.__loader__ = BuiltinImporter
    fresh.__dict__.update(__annotations__={}, __builtins__=builtins)
    sys.modules["__main__"] = fresh
    return kind, code, directory, fresh


def _keep(ctypes, gc, types):
    """Keeps what is needed to end a program, and what the interpreter uses although it is private.

    A program may have replaced the same objects in their modules.
    """
    global modules, known, sys_scope, base, module_scope, weak_reference, collect, signal, kill
    global run_exit_functions, exit_now, flush_all, print_error, print_unraisable, write_error
    global write_object, print_object, c_stderr, leave_call, call_depth, unraisable_arguments
    global process_id, get_trace, set_trace, get_profile, set_profile, own_shutdown
    import _signal, _weakref, atexit

    python = ctypes.pythonapi
    anything = ctypes.py_object
    modules, sys_scope, known = sys.modules, vars(sys), _known_modules()
    base, module_scope = BaseException, vars(types.ModuleType)["__dict__"].__get__
    weak_reference, collect, signal = _weakref.ref, gc.collect, _signal
    get_trace, set_trace, get_profile = sys.gettrace, sys.settrace, sys.getprofile
    set_profile, own_shutdown = sys.setprofile, threading._shutdown
    run_exit_functions = atexit._run_exitfuncs
    exit_now, kill, process_id = os._exit, os.kill, os.getpid
    flush_all = python.fflush
    print_error, print_unraisable = sys.__excepthook__, sys.__unraisablehook__
    write_error = python.PySys_WriteStderr
    write_object = python.PyFile_WriteObject
    write_object.argtypes = anything, anything, ctypes.c_int
    c_stderr = ctypes.c_void_p.in_dll(python, "stderr")
    print_object = python.PyObject_Print
    print_object.argtypes = anything, ctypes.c_void_p, ctypes.c_int
    # The frame of this file and its call of `exec`. Newer versions count only Python's frames.
    leave_call = python.Py_LeaveRecursiveCall
    leave_call.restype = None
    call_depth = 2 if sys.version_info < (3, 12) else 0
    # The argument of `sys.unraisablehook` has a type without a name.
    seen = []

    class Failing:
        def __del__(self):
            raise ValueError

    sys.unraisablehook = lambda arguments: seen.append(type(arguments))
    try:
        Failing()
    finally:
        sys.unraisablehook = sys.__unraisablehook__
    unraisable_arguments = seen[0]


def _change_environment(own, environment):
    for name in own:
        if name not in environment and not (name == "LC_CTYPE" and own[name] == "C.UTF-8"):
            del os.environ[name]
    for name, value in environment.items():
        if own.get(name) != value:
            os.environ[name] = value
    if own.get("TZ") != environment.get("TZ"):
        time.tzset()


def _fork_handlers():
    """Returns the lists of functions that are called before a fork, and after it in the child.

    os.register_at_fork can only add to these lists, so this function adds a mark and looks for the
    lists that contain it.
    """

    def mark():
        pass

    os.register_at_fork(before=mark, after_in_child=mark)
    lists = [one for one in gc.get_referrers(mark) if type(one) is list]
    if len(lists) != 2:
        return [[None]]
    for one in lists:
        one.remove(mark)
    return lists


def _is_needless(handler):
    """Whether a fork handler is unnecessary in a copy of a process with one thread.

    Such handlers renew locks and forget other threads and event loops. A template holds no locks
    and has no other threads or event loops. `random` is reseeded separately.
    """
    owner = getattr(handler, "__self__", None)
    if type(owner) in (type(threading.Lock()), type(threading.RLock())):
        return True
    if "random" in sys.modules and handler == sys.modules["random"]._inst.seed:
        return True
    return getattr(handler, "__module__", None) in ("threading", "logging", "asyncio.events")


def _known_modules():
    """Returns the imported modules and the last of them. A program's modules come after it."""
    return set(sys.modules), next(reversed(sys.modules))


def _new_modules(known):
    """Returns the names of the modules that were imported after the call of `_known_modules`."""
    names, last = known
    if last not in modules:
        return [name for name in modules if name not in names]
    new = []
    for name in reversed(modules):
        if name == last:
            break
        new.append(name)
    return new[::-1]


# The name under which the service starts its program that unpacks the files of a run.
STAGE = "millibox-stage"


def _understand(arguments, options):
    """Returns the kind of program, its code and its argv. None means to start the interpreter.

    The code of a file is a pair of its path and either its content or an OSError.
    """
    rest = arguments[1:]
    if rest[: len(options)] != options:
        return None
    rest = rest[len(options) :]
    if not rest or rest[0] == "-":
        return "stdin", None, rest or [""]
    if rest[0] == "-c" and len(rest) > 1:
        return "command", rest[1], ["-c", *rest[2:]]
    if rest[0] == "-m" and len(rest) > 1:
        return "module", rest[1], ["-m", *rest[2:]]
    path = rest[0]
    if path.startswith("-") or path.endswith((".pyc", ".pyz", ".pyzw", ".zip")):
        return None
    try:
        with io.FileIO(path) as file:
            content = file.readall()
    except IsADirectoryError:
        return None
    except OSError as error:
        content = error
    else:
        # The interpreter would treat the file as an archive.
        if content.startswith(b"PK\3\4"):
            return None
        # compile() accepts some files that the interpreter rejects.
        if not _is_text(content):
            return None
    return "file", (path, content), rest


def _is_text(content):
    """Whether the file is UTF-8 and declares no other encoding."""
    head = content[:1024].replace(b"\r", b"\n").split(b"\n", 2)[:2]
    if any(b"coding" in line and b"utf" not in line.lower() for line in head):
        return False
    try:
        return content.isascii() or bool(content.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _directory_of(path):
    """Returns the directory that contains the file, without symbolic links."""
    # Use realpath(3), because os.path.realpath touches more memory.
    resolved = real_path(path.encode(*encoding), buffer)
    resolved = resolved.decode(*encoding) if resolved else os.path.realpath(path)
    return resolved[: resolved.rindex("/")] or "/"


def _is_shadowed(directory, loaded):
    """Whether the program has a module with the same name as a module that is already loaded."""
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    for name in names:
        if name.partition(".")[0] in loaded:
            return True
    return False


def _same_start(own, environment):
    """Whether the variables that an interpreter and its libraries read at start are equal."""

    def relevant(variables):
        prefixes = ("PYTHON", "LC_", "LD_", "MALLOC_", "GLIBC_", "OMP_", "OPENBLAS_", "MKL_")
        return {
            name: value
            for name, value in variables.items()
            if name.startswith(prefixes) or name in ("LANG", "LANGUAGE", "HOME", "PATH_MAX")
            if not (name == "LC_CTYPE" and value == "C.UTF-8")
        }

    return relevant(own) == relevant(environment)


def _prepare_streams():
    """Opens the standard streams for /dev/null, which the template has, and for pipes.

    Python checks whether a stream can seek when it opens the stream. Returns the encoding and the
    error handler of each of the three streams, and two objects: one for the beginning of a file and
    one for a pipe.
    """
    ends = os.pipe()
    streams = []
    for number, handlers in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        how = handlers.encoding, handlers.errors
        file = _open_stream(number, *how)
        null = os.dup(number)
        os.dup2(ends[min(number, 1)], number)
        streams.append((*how, file, _open_stream(number, *how)))
        os.dup2(null, number)
        os.close(null)
    for end in ends:
        os.close(end)
    return streams


# The values with which millibox_ready_streams describes a descriptor. See crates/ready/src/lib.rs.
CLOSED, AT_BEGINNING, PIPE = 0, 1, 2


def _stream(number, kind, encoding, errors, file, pipe):
    """Returns a standard stream of the copy."""
    if kind == AT_BEGINNING:
        return file
    if kind == PIPE:
        return pipe
    if kind == CLOSED:
        return None
    return _open_stream(number, encoding, errors)


def _open_stream(number, encoding, errors):
    mode = "w" if number else "r"
    raw = open(number, mode + "b", 0, closefd=False)
    is_terminal = raw.isatty()
    name = "<stdin>" if number == 0 else "<stdout>" if number == 1 else "<stderr>"
    if mode == "r":
        buffered = io.BufferedReader(raw)
    else:
        buffered = raw if is_unbuffered else io.BufferedWriter(raw)
    raw.name = name
    stream = io.TextIOWrapper(
        buffered,
        encoding,
        errors,
        newline="\n",
        line_buffering=not is_unbuffered and (is_terminal or number == 2),
        write_through=is_unbuffered and mode == "w",
    )
    stream.mode = mode
    return stream


def _set_directory(directory):
    """Sets the directory of the program's modules, which PYTHONSAFEPATH leaves out."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = directory


def _start(kind, code, directory, main):
    """Returns the function that runs the program, and its arguments."""
    for _ in range(call_depth):
        leave_call()
    scope = main.__dict__
    if kind == "command":
        _set_directory("")
        return exec, (compile(code + "\n", "<string>", "exec"), scope)
    if kind == "stdin":
        _set_directory("")
        return exec, (compile(sys.stdin.buffer.read(), "<stdin>", "exec"), scope)
    if kind == "module":
        _set_directory(os.getcwd())
        return runpy._run_module_as_main, (code,)
    path, content = code
    if isinstance(content, OSError):
        sys.stderr.write(
            f"{sys.executable}: can't open file {os.path.abspath(path)!r}:"
            f" [Errno {content.errno}] {content.strerror}\n"
        )
        raise SystemExit(2)
    if sys.version_info >= (3, 9) and not path.startswith("/"):
        path = os.getcwd() + "/" + path
    main.__loader__ = SourceFileLoader("__main__", path)
    main.__file__ = path
    main.__cached__ = None
    _set_directory(directory)
    return exec, (compile(content, path, "exec"), scope)


# The functions below do what the interpreter does in C when a program has ended: pymain_run_python,
# PyErr_PrintEx and Py_FinalizeEx of CPython. A program can replace the objects that these functions
# use, so each use may raise any exception.


def _end():
    """Ends the process as the interpreter does, except that it keeps the template's modules."""
    global failure
    error, failure = failure, None
    status = 1
    try:
        if sys.getrecursionlimit() < 200:
            sys.setrecursionlimit(200)
        if kind in ("file", "stdin"):
            _flush_quietly("stderr", "stdout")
        status = 0 if error is None else _status_of(error)
        # What the interpreter does in the end, after it has run all functions of the program.
        is_interrupted = type(error) is KeyboardInterrupt and kind != "module"
        del error
        if not _tear_down():
            status = 120
        if is_interrupted:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            kill(process_id(), signal.SIGINT)
    finally:
        flush_all(None)
        exit_now(status)


def _status_of(error):
    """Reports the exception that ended a program. Returns the exit status."""
    traceback = base.__traceback__.__get__(error)
    while traceback is not None and traceback.tb_frame.f_globals is globals_of_boot:
        traceback = traceback.tb_next
    base.__traceback__.__set__(error, traceback)
    if issubclass(type(error), SystemExit):
        return _exit_status(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if "excepthook" not in sys_scope:
        write_error(b"sys.excepthook is missing\n")
        print_error(type(error), error, traceback)
        return 1
    failure = _failure_of(sys_scope["excepthook"], type(error), error, traceback)
    if failure is None:
        return 1
    if issubclass(type(failure), SystemExit):
        return _exit_status(failure)
    write_error(b"Error in sys.excepthook:\n")
    print_error(type(failure), failure, base.__traceback__.__get__(failure))
    write_error(b"\nOriginal exception was:\n")
    print_error(type(error), error, traceback)
    return 1


def _failure_of(function, *arguments):
    """Calls a function. Returns the exception that it raises, without this function's frame."""
    failure = None
    try:
        function(*arguments)
    except BaseException as error:
        failure = error
    if failure is not None:
        traceback = base.__traceback__.__get__(failure)
        base.__traceback__.__set__(failure, traceback.tb_next)
    return failure


def _exit_status(end):
    code = end
    try:
        code = end.code
    except BaseException:
        pass
    if code is None:
        return 0
    if issubclass(type(code), int):
        code = int.__add__(code, 0)
        return code & 0xFF if -(2**63) <= code < 2**63 else 0xFF
    stream = sys_scope.get("stderr")
    try:
        if stream is None:
            print_object(code, c_stderr, 1)
        else:
            write_object(code, stream, 1)
    except BaseException:
        pass
    write_error(b"\n")
    return 1


def _report(failure, culprit):
    """Reports an exception as `PyErr_WriteUnraisable` does, without the frame of this file."""
    traceback = base.__traceback__.__get__(failure).tb_next
    arguments = unraisable_arguments((type(failure), failure, traceback, None, culprit))
    hook = sys_scope.get("unraisablehook", print_unraisable)
    if _failure_of(hook, arguments) is not None and hook is not print_unraisable:
        _failure_of(print_unraisable, arguments)


def _flush_quietly(*names):
    for name in names:
        stream = sys_scope.get(name)
        if stream is not None:
            _failure_of(lambda: stream.flush())


def _flush():
    """Flushes standard output and error. Returns whether this succeeded."""
    succeeded = True
    for name in ("stdout", "stderr"):
        stream = sys_scope.get(name)
        closed, failure = [stream is None], None
        _failure_of(lambda: closed.append(bool(stream.closed)))
        if closed[-1]:
            continue
        try:
            stream.flush()
        except BaseException as error:
            failure = error
        if failure is not None:
            succeeded = False
            if name == "stdout":
                _report(failure, stream)
    return succeeded


def _tear_down():
    """Runs what a program left to run at its end. Returns whether all output was written."""
    if "threading" in modules:
        _wait_for_threads(modules["threading"])
    set_profile(profile)
    set_trace(trace)
    try:
        run_exit_functions()
    except BaseException:
        # Only versions before 3.10 raise the last exception, which they have printed.
        pass
    set_trace(None)
    set_profile(None)
    succeeded = _flush()
    collect()
    for name in ("path", "argv", "meta_path", "last_type", "last_value", "last_traceback"):
        sys_scope[name] = None
    sys_scope.pop("last_exc", None)
    sys_scope.update({name: sys_scope.get(f"__{name}__") for name in ("stdin", "stdout", "stderr")})
    # Without this module, the interpreter prints tracebacks without the lines of the source.
    modules.pop("io", None)
    # Drop the modules of the run, so that open files are flushed and finalizers run.
    references = []
    names = [name for name in ["__main__", *_new_modules(known)] if name in modules]
    for name in names:
        if issubclass(type(modules[name]), type(sys)):
            references.append(weak_reference(modules[name]))
        modules[name] = None
    for name in names:
        modules.pop(name, None)
    collect()
    for reference in reversed(references):
        if (module := reference()) is not None:
            _clear(module_scope(module))
    module = None
    collect()
    # The interpreter flushes the streams once more when it frees them.
    _flush_quietly("stdout", "stderr")
    return succeeded


def _wait_for_threads(module):
    failure = shutdown = None
    try:
        shutdown = module._shutdown
        shutdown()
    except BaseException as error:
        failure = error
    # Without a template, most programs do not import the module, so it fails only here if a program
    # has damaged what the module needs.
    is_needless = shutdown is own_shutdown and type(failure) is not KeyboardInterrupt
    if failure is not None and not is_needless:
        _report(failure, module)


def _clear(scope):
    """Empties the dictionary of a module in the order of `_PyModule_Clear`."""
    names = [name for name in scope or () if type(name) is str and name != "__builtins__"]
    first = [name for name in names if name.startswith("_") and not name.startswith("__")]
    for name in first + names:
        if scope.get(name) is not None:
            scope[name] = None


globals_of_boot = globals()
kind, failure = None, None
_prepare()
if has_handlers:
    before()
length = ready(buffer, len(buffer), counts)
if has_handlers:
    after()
elif seed is not None:
    seed()
if length < 0:
    raise SystemExit("millibox: this process is not a template")
program = _become(length)
# Each Python function that is active here would be visible to the program, in its stack.
try:
    kind = program[0]
    function, arguments = _start(*program)
    program = None
    function(*arguments)
except base as error:
    failure = error
trace, profile = get_trace(), get_profile()
set_trace(None)
set_profile(None)
function = arguments = program = None
_end()
