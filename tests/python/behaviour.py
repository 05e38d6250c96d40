"""What does not depend on arrays: which kernel is kept, when it is closed, threads, forks, Ctrl-C, the store."""
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy

import support
from support import fuse, kfuse
import kfuse_library


def child(text, **environment):
    """A Python process that has the module; its output and its exit status."""
    head = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\nfrom support import *\nimport numpy\n"
    return subprocess.Popen([sys.executable, "-c", head + text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def output(process):
    out, err = process.communicate(timeout=120)
    if process.returncode != 0:
        raise AssertionError(f"exit {process.returncode}: {err}")
    return out


def loaded():
    """Kernels of the CPU that this process has in memory."""
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return sum("kfuse-kernel" in os.readlink(link) for link in links if os.path.islink(link))


class Kept(unittest.TestCase):
    def test_the_same_text_and_options_give_the_same_function(self):
        self.assertIs(fuse("x + 1"), fuse("x + 1"))
        self.assertIsNot(fuse("x + 1"), fuse("x + 1", math="fast"))

    def test_the_newest_kernels_are_kept_and_others_closed(self):
        f, before = kfuse._function.__wrapped__("x * 5", kfuse_options()), loaded()
        first = weakref.ref(f.kernel(numpy.ones(1, "f4")))
        kept, kfuse.KEPT = kfuse.KEPT, 3
        try:
            for n in range(1, 9):
                numpy.testing.assert_array_equal(f(numpy.ones(n, "f4")), numpy.full(n, 5))
        finally:
            kfuse.KEPT = kept
        gc.collect()
        self.assertIsNone(first())
        self.assertEqual(loaded() - before, 3)
        del f
        gc.collect()
        self.assertEqual(loaded(), before)

    def test_params_are_part_of_what_is_kept(self):
        f, x = fuse("param a = 1; x * a"), numpy.ones(3, "f4")
        self.assertIs(f.kernel(x, a=2), f.kernel(x, a=2.0))
        self.assertIsNot(f.kernel(x, a=2), f.kernel(x, a=3))

    def test_another_process_is_answered_from_the_store(self):
        text = "k = kfuse.fuse('x * 3 - 1', **SEARCHED).kernel(numpy.ones((40, 50), 'f4')); print(k.cached, k.report())"
        with tempfile.TemporaryDirectory() as folder:
            first, second = (output(child(text, KFUSE_CACHE=folder)) for _ in range(2))
        self.assertTrue(first.startswith("False") and second.startswith("True"))
        self.assertIn("answered from the store", second)

    def test_what_a_kernel_says(self):
        kernel = kfuse.fuse("x * 3 - 1", **support.SEARCHED).kernel(numpy.ones((40, 50), "f4"))
        self.assertTrue(kernel.result["winner"] and kernel.result["time"] > 0)
        self.assertRegex(repr(kernel), r"<kfuse.Kernel \S+.* of 'x \* 3 - 1' on cpu>")
        self.assertIn('"winner"', kernel.report("json"))
        self.assertIn("phases", kernel.report("phases"))
        self.assertEqual(kernel.outputs, [kfuse.Tensor("out", "float32", (40, 50), None)])
        with self.assertRaisesRegex(kfuse.UsageError, "choose text, json, phases"):
            kernel.report("xml")


def kfuse_options():
    """Those of fuse(), as _function takes them."""
    import inspect
    defaults = {name: p.default for name, p in inspect.signature(kfuse.fuse).parameters.items() if name != "text"}
    return kfuse.checks.options({**defaults, **support.AT_ONCE})


class Threads(unittest.TestCase):
    def in_threads(self, count, work):
        failures = []

        def guarded(i):
            try:
                work(i)
            except BaseException as failure:
                failures.append(failure)
        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_one_function(self):
        f = fuse("x * 2 + y")

        def work(i):
            for n in range(1, 40):
                x = numpy.full(n % 4 + 1, i, "f4")
                numpy.testing.assert_array_equal(f(x, x), x * 3)
        self.in_threads(8, work)

    def test_functions_of_their_own(self):
        def work(i):
            for n in range(3):
                x = numpy.ones((i + 1, n + 1), "f4")
                numpy.testing.assert_array_equal(fuse(f"x * {i} + y")(x, x), x * (i + 1))
        self.in_threads(4, work)

    def test_failures_have_their_own_messages(self):
        def work(i):
            for n in range(20):
                with self.assertRaisesRegex(kfuse.ProgramError, f"unknown function 'f{i}_{n}'"):
                    fuse(f"f{i}_{n}(x)")(numpy.ones(3, "f4"))
                x = numpy.ones(3, "f4")
                with self.assertRaisesRegex(kfuse.ProgramError, "^kfuse: output 'out' overlaps input 'x'$"):
                    fuse("x + 7")(x, out=x)
        self.in_threads(4, work)

    def test_sessions_go_from_thread_to_thread(self):
        self.in_threads(1, lambda i: fuse("x + 8")(numpy.ones(3, "f4")))
        before = len(kfuse_library.Lease.idle)
        for _ in range(5):
            self.in_threads(1, lambda i: fuse("x + 8")(numpy.ones(4, "f4")))
        gc.collect()
        self.assertLessEqual(len(kfuse_library.Lease.idle), before + 1)


class Processes(unittest.TestCase):
    def test_a_forked_child_has_kernels_of_its_own(self):
        f, x = fuse("x * 6"), numpy.ones(100000, "f4")
        f(x)
        process = os.fork()
        if process == 0:
            right = bool((f(x) == 6).all()) and bool((fuse("x * 9")(x) == 9).all())
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(process, 0)[1], 0)
        numpy.testing.assert_array_equal(f(x), x * 6)

    def test_a_forked_child_ends(self):
        text = """
import os
f, x = fuse("x * 6"), numpy.ones(100000, "f4")
f(x)
if os.fork() == 0: f(x); sys.exit(0)
print(os.wait()[1])
"""
        self.assertEqual(output(child(text)), "0\n")

    def test_without_a_library(self):
        process = child("fuse('x')", KFUSE_LIB="/nonexistent/libkfuse.so")
        self.assertIn("SetupError: libkfuse is not found", process.communicate()[1])
        manual = output(child("import pydoc; print(pydoc.plain(pydoc.render_doc(kfuse)))", KFUSE_LIB="none"))
        for word in "fuse(text", "torch_op(name", "class NoKernelError", "Arguments", "Results", "Errors":
            self.assertIn(word, manual)

    def test_of_another_version(self):
        process = child("import kfuse_library; kfuse_library.VERSION = b'9.9.9'; fuse('x')")
        self.assertIn("this module is for 9.9.9", process.communicate()[1])


class Interrupts(unittest.TestCase):
    SEARCH = """
import time
f = kfuse.fuse("softmax(tanh(x) * y) + 0.25", effort="full", budget=100)
x = numpy.ones((512, 512), "f4")
print("begins", flush=True)
try:
    f(x, x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(sum(f" {os.getpid()} " in line[line.rindex(")"):line.rindex(")") + 16] for line in stats()))
print(float(fuse("x + 1")(x)[0, 0]))
"""
    STATS = """
import glob, os
def stats():
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file: yield file.read()
        except OSError: pass
"""

    def test_control_c_ends_a_search(self):
        process = child(self.STATS + self.SEARCH)
        self.assertEqual(process.stdout.readline(), "begins\n")
        time.sleep(1.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(output(process), "interrupted\n0\n2.0\n")  # and no child process is left
        self.assertLess(time.monotonic() - began, 20)

    def test_a_handler_of_ones_own(self):
        text = """
import signal
class Alarm(Exception): pass
def ring(*_): raise Alarm
signal.signal(signal.SIGALRM, ring); signal.alarm(1)
try: kfuse.fuse("sin(x) * cos(y)", effort="full", budget=100)(numpy.ones((512, 512), "f4"), numpy.ones((512, 512), "f4"))
except Alarm: print("rang")
"""
        self.assertEqual(output(child(text)), "rang\n")


support.main()
