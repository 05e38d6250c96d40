"""kfuse.h by ctypes: its structures, its functions, where the library is, its failures as exceptions.

Structures and constants have the names and the order of kfuse.h; tests/python/layout.py compares them with what a C
compiler makes of it."""
import ctypes
import functools
import json
import os
import threading
import weakref
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

VERSION = b"0.1.0"

KF_OK, KF_INPUT, KF_USAGE, KF_NO_KERNEL, KF_ENVIRONMENT, KF_INTERRUPTED = 0, 1, 2, 3, 4, 130
(KF_PLAIN_TYPE, KF_BOOL, KF_U8, KF_I8, KF_I32, KF_I64, KF_F16, KF_BF16, KF_F32, KF_F64) = range(10)
KF_RANK_MAX = 8
KF_MATH_DEFAULT, KF_MATH_STRICT, KF_MATH_FAST, KF_MATH_TF32 = range(4)
KF_NORMAL, KF_QUICK, KF_FULL = range(3)
KF_TEXT, KF_JSON, KF_PHASES = range(3)
EVERYTHING = ctypes.c_size_t(-1)  # a text's length: up to its NUL


class KfTensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_int), ("dim", c_int64 * KF_RANK_MAX),
                ("strides", POINTER(c_int64)), ("data", c_void_p)]


class KfParam(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class KfProblem(ctypes.Structure):
    _fields_ = [("source", c_char_p), ("has_plain_shape", c_bool), ("plain", KfTensor), ("inputs", POINTER(KfTensor)),
                ("input_count", c_size_t), ("outputs", POINTER(KfTensor)), ("output_count", c_size_t),
                ("params", POINTER(KfParam)), ("param_count", c_size_t), ("out_type", c_int), ("math", c_int),
                ("round_each_op", c_bool), ("device", c_char_p), ("has_tolerance", c_bool), ("rtol", c_double),
                ("atol", c_double), ("reference_name", c_char_p)]


class KfTuneOptions(ctypes.Structure):
    _fields_ = [("effort", c_int), ("strategy", c_char_p), ("trials", c_uint32), ("budget", c_double), ("seed", c_uint64),
                ("jobs", c_int), ("hot", c_bool), ("exact", c_bool), ("retune", c_bool), ("complete", c_bool),
                ("no_tune", c_bool), ("point", c_char_p), ("stop_at", c_double)]


class KfSessionOptions(ctypes.Structure):
    _fields_ = [("cache", c_char_p), ("no_user_ops", c_bool), ("progress", c_void_p), ("context", c_void_p)]


class KfResult(ctypes.Structure):
    _fields_ = [("winner", c_char_p), ("time", c_double), ("eager_time", c_double), ("roof_fraction", c_double),
                ("speedup", c_double), ("max_ulp", c_double), ("candidates", c_uint32), ("compiled", c_uint32),
                ("cached", c_bool), ("workspace", c_uint64)]


# --- failures

class Error(Exception):
    """What kfuse says went wrong; `status` is its KF_… code."""
    status = None


class ProgramError(Error, ValueError):
    """The program, a shape or a type is wrong: a diagnostic with a caret."""
    status = KF_INPUT


class UsageError(Error, ValueError):
    """An option is wrong."""
    status = KF_USAGE


class NoKernelError(Error):
    """No kernel covers the program, or every candidate failed."""
    status = KF_NO_KERNEL


class SetupError(Error, RuntimeError):
    """No library, device, compiler or driver: the message says what is missing."""
    status = KF_ENVIRONMENT


ERRORS = {error.status: error for error in (ProgramError, UsageError, NoKernelError, SetupError)}


# --- the library

def candidates():
    """Where libkfuse may be: KFUSE_LIB alone, else the repository's build, else as the loader finds it."""
    given = os.environ.get("KFUSE_LIB")
    if given:
        return [given]
    here = os.path.dirname(os.path.realpath(__file__))
    built = os.path.normpath(os.path.join(here, "..", "..", "build", "release", "libkfuse.so"))
    return ([built] if os.path.exists(built) else []) + ["libkfuse.so.0"]


def open_library():
    failures = []
    for path in candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as failure:
            failures.append(str(failure))
    raise SetupError("libkfuse is not found; build it, or say by KFUSE_LIB where it is: " + "; ".join(failures))


@functools.lru_cache(None)
def library():
    """libkfuse, its functions declared."""
    lib = open_library()
    text, pointers = POINTER(c_char_p), POINTER(c_void_p)
    for name, result, arguments in [
            ("version", c_char_p, []),
            ("session_open", c_int, [pointers, POINTER(KfSessionOptions)]),
            ("session_close", None, [c_void_p]),
            ("session_message", c_char_p, [c_void_p]),
            ("session_interrupt", None, [c_void_p]),
            ("program_open", c_int, [c_void_p, c_char_p, c_size_t, POINTER(KfProblem), pointers]),
            ("program_close", None, [c_void_p]),
            ("program_input_count", c_size_t, [c_void_p]),
            ("program_output_count", c_size_t, [c_void_p]),
            ("program_input", KfTensor, [c_void_p, c_size_t]),
            ("program_output", KfTensor, [c_void_p, c_size_t]),
            ("program_updates", c_int, [c_void_p, c_size_t]),
            ("program_names", c_int, [c_void_p, c_char_p, c_size_t, c_char_p, pointers]),
            ("program_grad", c_int, [c_void_p, c_char_p, c_size_t, POINTER(KfProblem), text, c_size_t, c_int, pointers]),
            ("tune", c_int, [c_void_p, POINTER(KfTuneOptions), pointers]),
            ("kernel_close", None, [c_void_p]),
            ("launch", c_int, [c_void_p, pointers, pointers, c_void_p]),
            ("run", c_int, [c_void_p, pointers, pointers]),
            ("kernel_report", c_char_p, [c_void_p, c_int]),
            ("kernel_result", KfResult, [c_void_p]),
            ("free", None, [c_void_p])]:
        function = getattr(lib, "kf_" + name, None)
        if function is None:
            raise SetupError(f"{lib._name} has no kf_{name}: it is another library than this module's, or an older one")
        function.restype, function.argtypes = result, arguments
    if lib.kf_version() != VERSION:
        raise SetupError(f"{lib._name} is libkfuse {lib.kf_version().decode()}, this module is for {VERSION.decode()}")
    return lib


def _close(process, close, handle, *_):
    if os.getpid() == process:  # a child that was forked leaves its parent's objects alone
        close(handle)


def own(owner, close, handle, *kept):
    """Closes `handle` when `owner` is collected, or at exit; what is `kept` lives until then."""
    weakref.finalize(owner, _close, os.getpid(), close, handle, *kept)


# --- sessions: one a thread, so that no thread waits for another's search but to launch what that one made

class Session:
    """A session and its lock: it is held by whoever calls anything that may leave a message."""

    def __init__(self):
        lib, handle = library(), c_void_p()
        status = lib.kf_session_open(ctypes.byref(handle), None)
        if not handle:
            raise MemoryError("no memory for a kfuse session")
        self.handle, self.lock = handle, threading.RLock()
        own(self, lib.kf_session_close, handle)
        self.check(status)

    def message(self):
        return library().kf_session_message(self.handle).decode(errors="replace").rstrip("\n")

    def check(self, status):
        if status != KF_OK:
            raise ERRORS[status](self.message())

    def text(self, function, *arguments):
        """What a function gives as a text of JSON, read."""
        out = c_void_p()
        with self.lock:
            self.check(function(self.handle, *arguments, ctypes.byref(out)))
        try:
            return json.loads(ctypes.string_at(out))
        finally:
            library().kf_free(out)


class Lease:
    """A thread's session. When the thread ends, another takes it over."""
    idle = []

    def __init__(self):
        self.process = os.getpid()
        try:
            self.session = self.idle.pop()
        except IndexError:
            self.session = Session()

    def __del__(self):
        if hasattr(self, "session") and self.process == os.getpid():  # a forked child drops its parent's
            self.idle.append(self.session)


_leases = threading.local()


def session():
    """This thread's."""
    if not hasattr(_leases, "lease"):
        _leases.lease = Lease()
    return _leases.lease.session


def _forget_sessions():
    global _leases
    Lease.idle = []
    _leases = threading.local()


os.register_at_fork(after_in_child=_forget_sessions)


def tune(session, program, options):
    """A kernel's handle. The main thread waits beside the search, so that Ctrl-C ends it."""
    lib, kernel, status, done = library(), c_void_p(), [], threading.Event()

    def search():
        status.append(lib.kf_tune(program, options, ctypes.byref(kernel)))
        done.set()

    interruption = None
    if threading.current_thread() is threading.main_thread():
        threading.Thread(target=search, daemon=True).start()
        interruption = _wait(session, done)
    else:
        search()
    if interruption or status[0] == KF_INTERRUPTED:
        lib.kf_kernel_close(kernel)
        raise interruption or KeyboardInterrupt
    session.check(status[0])
    return kernel


def _wait(session, done):
    """Until the search has ended, however often it is interrupted; by what, if it was."""
    interruption = None
    while not done.is_set():
        try:
            done.wait(0.05 if interruption else None)
        except BaseException as raised:  # KeyboardInterrupt, or what a handler raises
            interruption = raised
        if interruption:
            library().kf_session_interrupt(session.handle)
    return interruption
