# The beginning of a prepared interpreter: imports modules, announces that it is ready, and
# continues in each copy as `python3 ARGUMENTS` would. See docs/internals/prepared.md.
#
# Arguments: the path of libmillibox_ready.so, and the modules to import.
import sys


def _prepare():
    # Names of this file, because an import in a copy would touch memory.
    global atexit, errno, gc, io, os, threading
    at_start = set(sys.modules)
    import atexit, builtins, ctypes, errno, gc, io, os, runpy, threading, types
    from importlib.machinery import BuiltinImporter, SourceFileLoader

    library = ctypes.PyDLL(sys.argv[1])
    for name in sys.argv[2:]:
        __import__(name)
    ready = library.millibox_ready
    ready.restype = ctypes.c_ssize_t
    buffer = ctypes.create_string_buffer(65536)
    counts = (ctypes.c_uint32 * 2)()
    before = ctypes.pythonapi.PyOS_BeforeFork
    after = ctypes.pythonapi.PyOS_AfterFork_Child
    before.restype = after.restype = None
    loaded = {name.partition(".")[0] for name in sys.modules} - at_start
    # Work that is done once for each process is done here.
    exec(compile("pass", "<string>", "exec"), {"__name__": "__main__"})
    own = dict(os.environ)
    own_variables = [f"{name}={value}" for name, value in own.items()]
    # The options before "-c" of this program. A run with the same options can use this interpreter.
    options = sys.orig_argv[1:] if hasattr(sys, "orig_argv") else ["-c"]
    options = options[: options.index("-c")]
    flush_all = ctypes.pythonapi.fflush
    read_bytes = ctypes.string_at
    encoding = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    original_argv = sys.orig_argv[:1] if hasattr(sys, "orig_argv") else None
    sys.argv[:] = [""]
    streams = _prepare_streams()
    known = _known_modules()
    gc.collect()
    gc.freeze()
    # All attributes that the copy needs are looked up above or are in modules that are imported.
    before()
    length = ready(buffer, len(buffer), counts)
    after()
    if length < 0:
        raise SystemExit("millibox: this process is not a template")
    # --- The code below runs in the copy.
    # Each page of memory that a copy touches is copied, so it touches few objects.
    strings = read_bytes(buffer, length).decode(*encoding).split("\0")
    arguments = strings[: counts[0]]
    variables = strings[counts[0] : counts[0] + counts[1]]
    del buffer, strings
    environment = own
    if variables != own_variables:
        environment = {}
        for variable in variables:
            name, _, value = variable.partition("=")
            environment.setdefault(name, value)
    if arguments and arguments[0] == STAGE:
        # millibox-stage PROGRAM ARGV0 [ARGUMENT...]
        arguments = _stage(arguments[2:])
    how = _understand(arguments, options)
    is_other_start = environment is not own and not _same_start(own, environment)
    if how is None or is_other_start or _is_shadowed(how, loaded):
        # The interpreter itself would start in another way.
        os.execve(sys.executable, arguments or [""], environment)
    if environment is not own:
        _change_environment(own, environment)
    sys.stdin = sys.__stdin__ = _stream(0, *streams[0])
    sys.stdout = sys.__stdout__ = _stream(1, *streams[1])
    sys.stderr = sys.__stderr__ = _stream(2, *streams[2])
    # `random` reseeds itself after a fork, numpy does not.
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
    status = 0
    try:
        _execute(kind, code, fresh)
    except SystemExit as end:
        status = _exit_status(end)
    except BaseException as error:
        status = _show(error)
    del fresh
    _finish(status, known, flush_all)


def _change_environment(own, environment):
    import time

    for name in own:
        if name not in environment and not (name == "LC_CTYPE" and own[name] == "C.UTF-8"):
            del os.environ[name]
    for name, value in environment.items():
        if own.get(name) != value:
            os.environ[name] = value
    if own.get("TZ") != environment.get("TZ"):
        time.tzset()


def _known_modules():
    """The imported modules and the last of them, after which a program's modules follow."""
    return set(sys.modules), next(reversed(sys.modules))


def _new_modules(known):
    """The names of the modules that were imported after the call of `_known_modules`."""
    names, last = known
    if last not in sys.modules:
        return [name for name in sys.modules if name not in names]
    new = []
    for name in reversed(sys.modules):
        if name == last:
            break
        new.append(name)
    return new[::-1]


# The name as which the service starts its program that unpacks the files of a run.
STAGE = "millibox-stage"


def _stage(arguments):
    """Does what millibox-stage does (crates/stage), without its exec. Returns the arguments."""
    import array, socket, tarfile

    receive, unpack, place = 0, 1, 2
    connection = socket.socket(fileno=os.dup(0))
    step = receive
    try:
        data, parts, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(253 * 4))
        files = array.array("i")
        for level, kind, content in parts:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                files.frombytes(content[: len(content) // 4 * 4])
        # The service sends no further descriptors and no terminal to a prepared program.
        if len(data) != 3 or data[0] or data[2] or len(files) != 1 + data[1]:
            raise OSError(74, "EBADMSG")
        step = unpack
        if data[1]:
            with open(files[1], "rb") as archive, tarfile.open(fileobj=archive, mode="r:") as tar:
                for entry in tar:
                    _unpack(tar, entry)
        directory = os.open(".", os.O_PATH | os.O_DIRECTORY)
        step = place
        os.dup2(files[0], 0)
        os.close(files[0])
        rights = array.array("i", [directory])
        connection.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        os.close(directory)
        connection.close()
        return arguments
    except (OSError, tarfile.TarError) as error:
        number = getattr(error, "errno", None)
        reason = bytes([1, step]) + (b"\1" + _signed(number) if number else b"\0")
        try:
            connection.sendmsg([reason])
        except OSError:
            pass
        os._exit(127)


def _unpack(tar, entry):
    """Unpacks one entry below the root and replaces an existing file."""
    path = "/" + entry.name.lstrip("/")
    parent = os.path.dirname(path)
    if entry.isdir():
        os.makedirs(path, exist_ok=True)
        os.chmod(path, entry.mode & 0o7777)
        return
    if not os.path.isdir(parent):
        os.makedirs(parent, exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    if entry.issym():
        os.symlink(entry.linkname, path)
        return
    if not entry.isreg():
        raise OSError(22, "EINVAL")
    source = tar.extractfile(entry)
    with open(path, "xb", 0) as file:
        while chunk := source.read(1 << 20):
            file.write(chunk)
        os.fchmod(file.fileno(), entry.mode & 0o7777)


def _signed(number):
    """A number as the service reads it: zigzag, in groups of seven bits."""
    number <<= 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes(groups + [number])


def _understand(arguments, options):
    """The kind of program, its code and its argv; None if the interpreter has to start for it."""
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
    if rest[0].startswith("-") or _is_package(rest[0]):
        return None
    return "file", rest[0], rest


def _is_package(path):
    """Whether the interpreter takes a path for a directory, an archive or compiled code."""
    if path.endswith((".pyc", ".pyz", ".pyzw", ".zip")) or os.path.isdir(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PK\3\4"
    except OSError:
        return False


def _is_shadowed(how, loaded):
    """Whether the program has a module of its own with the name of one that is loaded already."""
    kind, code, _ = how
    directory = os.path.dirname(os.path.realpath(code)) if kind == "file" else "."
    try:
        return any(name.partition(".")[0] in loaded for name in os.listdir(directory))
    except OSError:
        return False


def _same_start(own, environment):
    """Whether the variables that an interpreter and its libraries read at their start are equal."""

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

    Whether a stream can seek is asked when it is opened. Returns for each of the three streams its
    encoding and error handler, and itself for the beginning of a file and for a pipe.
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


def _stream(number, encoding, errors, file, pipe):
    """The standard stream of the copy."""
    try:
        if os.lseek(number, 0, os.SEEK_CUR) == 0:
            return file
    except OSError as error:
        if error.errno == errno.EBADF:
            return None
        if not os.isatty(number):
            return pipe
    return _open_stream(number, encoding, errors)


def _open_stream(number, encoding, errors):
    mode = "w" if number else "r"
    raw = open(number, mode + "b", 0, closefd=False)
    is_terminal = raw.isatty()
    name = "<stdin>" if number == 0 else "<stdout>" if number == 1 else "<stderr>"
    buffered = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    raw.name = name
    stream = io.TextIOWrapper(
        buffered,
        encoding,
        errors,
        newline="\n",
        line_buffering=is_terminal or number == 2,
    )
    stream.mode = mode
    return stream


def _execute(kind, code, main):
    scope = main.__dict__
    if kind == "command":
        sys.path[0] = ""
        source = code + "\n"
        exec(compile(source, "<string>", "exec"), scope)
    elif kind == "stdin":
        sys.path[0] = ""
        source = sys.stdin.buffer.read()
        exec(compile(source, "<stdin>", "exec"), scope)
    elif kind == "module":
        import runpy

        sys.path[0] = os.getcwd()
        runpy._run_module_as_main(code)
    else:
        try:
            with open(code, "rb") as file:
                source = file.read()
        except OSError as error:
            reason = error.strerror
            sys.stderr.write(
                f"{sys.executable}: can't open file {os.path.abspath(code)!r}:"
                f" [Errno {error.errno}] {reason}\n"
            )
            raise SystemExit(2)
        if sys.version_info >= (3, 9) and not code.startswith("/"):
            code = os.getcwd() + "/" + code.removeprefix("./")
        from importlib.machinery import SourceFileLoader

        main.__loader__ = SourceFileLoader("__main__", code)
        main.__file__ = code
        main.__cached__ = None
        sys.path[0] = os.path.dirname(os.path.realpath(code))
        exec(compile(source, code, "exec"), scope)


def _exit_status(end):
    code = end.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(2**31) <= code < 2**31 else 0xFF
    try:
        sys.stdout.flush()
    except Exception:
        pass
    sys.stderr.write(f"{code}\n")
    return 1


def _show(error):
    """Prints the traceback without the frames of this file. Returns the exit status."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_globals is globals_of_boot:
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    try:
        sys.stdout.flush()
    except Exception:
        pass
    try:
        sys.excepthook(type(error), error, traceback)
    except SystemExit as end:
        return _exit_status(end)
    except BaseException:
        import traceback as formatter

        sys.stderr.write("Error in sys.excepthook:\n")
        formatter.print_exc()
    if isinstance(error, KeyboardInterrupt):
        import signal

        _flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def _flush():
    failed = False
    for stream in (sys.stdout, sys.stderr):
        if stream is None or getattr(stream, "closed", False):
            continue
        try:
            stream.flush()
        except Exception:
            failed = failed or stream is sys.stdout
    return failed


def _finish(status, known, flush_all):
    """What the interpreter does at its end, without taking apart what the template has imported."""
    try:
        threading._shutdown()
    except BaseException as error:
        _show(error)
    atexit._run_exitfuncs()
    failed = _flush()
    # The modules of the run go away, so files that are still open are flushed, and finalizers run.
    scopes = []
    for name in ["__main__"] + _new_modules(known):
        module = sys.modules.pop(name, None)
        if isinstance(module, type(sys)):
            scopes.append(module.__dict__ if name != "__main__" else None)
    del module
    gc.collect()
    for scope in scopes:
        for name in list(scope or ()):
            if name != "__builtins__":
                scope[name] = None
    gc.collect()
    failed = _flush() or failed
    flush_all(None)
    os._exit(120 if failed and status == 0 else status)


globals_of_boot = globals()
_prepare()
