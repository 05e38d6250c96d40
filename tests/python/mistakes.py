"""What a newcomer gets wrong: each mistake is told at once, in words that name it, as the exception that Python has for it."""
import array
import copy
import fractions
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy

import support
from support import fuse, kfuse

X, B = numpy.ones((3, 4), "f4"), numpy.ones(4, "f4")


class Told(unittest.TestCase):
    def told(self, error, text, call):
        """Raised as `error` itself, not as what derives from it, and in one line where there is no caret."""
        with self.assertRaisesRegex(error, text) as caught:
            call()
        self.assertIs(type(caught.exception), error)
        if "^" not in str(caught.exception):
            self.assertNotIn("\n", str(caught.exception))


class Options(Told):
    def test_of_another_type(self):
        for option, value, text in (
                ("budget", "5", "budget is '5', of str; it is a number from 0"), ("budget", None, "of NoneType"),
                ("budget", True, "of bool"), ("trials", 2.5, "trials is 2.5, of float; it is a whole number from 0 to 4294967295"),
                ("jobs", "2", "whole number"), ("seed", [1], "of list"), ("effort", 1, "choose normal, quick, full"),
                ("effort", ["quick"], "effort is ..quick..,"), ("math", None, "choose default, strict, fast, tf32"),
                ("hot", 1, "hot is 1, of int; it is True or False"), ("no_tune", "no", "True or False"),
                ("exact", [], "True or False"), ("round_each_op", None, "True or False"), ("device", 0, "device is a text, not of int"),
                ("point", {"BLOCK": 1}, "point is a text, not of dict"), ("source", 3, "source is a text"),
                ("strategy", b"grid", "strategy is a text, not of bytes")):
            self.told(TypeError, text, lambda: kfuse.fuse("x * 2", **{option: value}))

    def test_of_another_value(self):
        for option, value, text in (
                ("effort", "fast", "effort is 'fast'; choose normal, quick, full"), ("out_dtype", "float", "choose bool"),
                ("out_dtype", 3, "choose bool"), ("out_dtype", numpy.complex64, "out_dtype is 'complex64'; choose"),
                ("stop_at", 90, "stop_at is 90; it is from 0 to 1"), ("budget", float("nan"), "from 0 to"),
                ("budget", float("inf"), "from 0 to"), ("trials", 2 ** 32, "from 0 to"), ("jobs", -1, "from 0 to 4096"),
                ("point", "a\0b", "NUL"), ("source", "\ud800", "source is no text")):
            self.told(kfuse.UsageError, text, lambda: kfuse.fuse("x * 2", **{option: value}))
        self.told(TypeError, "unexpected keyword argument 'efort'", lambda: kfuse.fuse("x", efort="quick"))

    def test_what_counts_as_another_spelling(self):
        self.assertIs(fuse("x * 2", trials=numpy.int64(3), budget=fractions.Fraction(1, 2)), fuse("x * 2", trials=3, budget=0.5))
        for dtype in "f16", "float16", numpy.float16, numpy.dtype("f2"):
            self.assertEqual(fuse("x * 2", out_dtype=dtype)(X).dtype, "float16")


class Texts(Told):
    def test_no_program(self):
        for text in None, 3, b"x", ["x"]:
            for make in kfuse.fuse, kfuse.gradient:
                self.told(TypeError, "a program is a text, not of", lambda: make(text))
        for text in "", "  \n", "# x", "1 + 2":
            self.told(kfuse.ProgramError, "reads no input", lambda: fuse(text))
        for text, why in ("x\0", "NUL"), ("x\ud800", "is no text"):
            for make in kfuse.fuse, kfuse.gradient:
                self.told(kfuse.ProgramError, why, lambda: make(text))

    def test_carets_stand_where_the_mistake_is(self):
        for text, line in ("x +", "    |    \\^"), ("x \u00d7 2", "    |   \\^ write '\\*'"), ("x + \u00e9", "    |     \\^ names are"):
            self.told(kfuse.ProgramError, f"\n   1 \\| .*\n {line[1:]}", lambda: fuse(text))

    def test_of_gradients(self):
        text = "gelu(xx + b)"
        self.assertEqual(kfuse.gradient(text, "xx"), kfuse.gradient(text, ["xx"]))
        self.told(kfuse.ProgramError, "no input 'x'; it has xx, b; did you mean 'xx'", lambda: kfuse.gradient(text, "x"))
        self.told(kfuse.ProgramError, "no input 1; it has xx, b", lambda: kfuse.gradient(text, [1]))
        self.told(kfuse.ProgramError, "no input 'q'", lambda: kfuse.gradient(text, floats={"q": True}))
        self.told(TypeError, "floats is of list; it is a dict", lambda: kfuse.gradient(text, floats=["xx"]))


class Arguments(Told):
    def test_names(self):
        f = fuse("param eps = 1; gelu(x + b) + res * eps")
        for text, call in (
                ("no input or param 'z'; it has x, b, res, eps$", lambda: f(X, B, z=X)),
                ("'ress'; it has x, b, res, eps; did you mean 'res'", lambda: f(X, B, ress=X)),
                ("'epsilon'.* did you mean 'eps'", lambda: f(X, B, X, epsilon=1)),
                ("no input or param 'outt'", lambda: f(X, B, X, outt=X)),
                ("no array for 'b', 'res'; the program's inputs are x, b, res", lambda: f(X)),
                ("4 arrays are given, the program's inputs are x, b, res; params are given by name: eps", lambda: f(X, B, X, 1)),
                ("'b' is given twice", lambda: f(X, B, b=B))):
            self.told(TypeError, text, call)
        self.assertEqual(fuse("self * 2")(self=X).tolist(), (X * 2).tolist())

    def test_params(self):
        f = fuse("param a = 2; x * a")
        for value in "3", [1], X, 1j, numpy.array([1, 2]), numpy.complex64(1j), numpy.array(1j), object():
            self.told(TypeError, "the param 'a' is of .*, no number", lambda: f(X, a=value))
        self.told(ValueError, "too large", lambda: f(X, a=10 ** 400))
        for value in 3, numpy.int8(3), numpy.array(3), fractions.Fraction(3):
            self.assertEqual(f(X, a=value)[0, 0], 3)
        self.assertEqual(f(X, a=None)[0, 0], 2)

    def test_params_are_told_apart_by_their_bits(self):
        f = fuse("param a = 1; 1 / (x * a)")
        self.assertEqual((f(X, a=0.0)[0, 0], f(X, a=-0.0)[0, 0]), (numpy.inf, -numpy.inf))
        self.assertIs(f.kernel(X, a=float("nan")), f.kernel(X, a=-float("nan")))

    def test_no_arrays(self):
        f = fuse("x + 1")
        for value in ([1.0], (1.0,), 1.0, 3, True, 1j, "x", b"x", None, range(3), array.array("f", [1]), memoryview(X), numpy,
                      numpy.ndarray, {}, iter([1])):
            self.told(TypeError, "x is of .*, no array of .*; numpy.asarray", lambda: f(value))

    def test_types(self):
        f = fuse("x + 1")
        for dtype in "c8", "M8[s]", "m8[s]", object, "U3", "S3", "V4", "u2", "u4", "u8", "i2", "g", "f4,f4":
            self.told(TypeError, "x is .*; kfuse has bool, uint8,", lambda: f(numpy.zeros(3, dtype)))
        self.told(TypeError, "x.astype..<f4..", lambda: f(numpy.zeros(3, ">f4")))
        self.told(TypeError, "x.filled", lambda: f(numpy.ma.masked))
        self.told(TypeError, "x is datetime64", lambda: f(numpy.datetime64("2020")))

    def test_read_only_arrays_are_read(self):
        x = X.copy()
        x.flags.writeable = False
        self.assertEqual(fuse("x + 1")(x).tolist(), (X + 1).tolist())


class Outputs(Told):
    def test_how_many(self):
        f, two = fuse("x + 1"), fuse("h = x + 1; y = h * 2; return y, h")
        for text, call in (("gives 2 arrays for the outputs out;", lambda: f(X, out=(X, X))),
                           ("gives 0 arrays", lambda: f(X, out=())),
                           ("gives 1 arrays for the outputs y, h; one, or None, is for each", lambda: two(X, out=X)),
                           ("gives 1 arrays", lambda: two(X, out={"y": X, "h": X}))):
            self.told(ValueError, text, call)
        self.told(TypeError, "out is of dict", lambda: f(X, out={"out": X}))
        self.told(TypeError, r"out\[1\] is of str", lambda: two(X, out=(None, "h")))

    def test_which(self):
        two, wrong = fuse("h = x + 1; y = h * 2; return y, h"), numpy.zeros((3, 4))
        self.told(TypeError, r"out\[1\] is float64, the program's output 'h' is float32", lambda: two(X, out=(None, wrong)))
        self.told(ValueError, r"out\[0\] has the shape \(4,\), the program's output 'y' has \(3, 4\)", lambda: two(X, out=(B, None)))
        mine = numpy.zeros((3, 4), "f4")
        self.told(kfuse.ProgramError, "'y' and 'h' overlap", lambda: two(X, out=(mine, mine)))

    def test_what_cannot_be_written_is_told_before_a_search(self):
        frozen = numpy.zeros((3, 4), "f4")
        frozen.flags.writeable = False
        searched = kfuse.fuse("x + 1.5", effort="full", budget=300)
        self.told(ValueError, "out is read-only", lambda: searched(X, out=frozen))
        update = kfuse.fuse("x = x * 2.5", effort="full", budget=300)
        for x in frozen, numpy.float32(1), numpy.broadcast_to(numpy.float32(1), (3, 4)):
            self.told(ValueError, "x is read-only, but the program updates it", lambda: update(x))
        self.assertEqual((len(searched._kernels), len(update._kernels)), (0, 0))


def doubled(queue, f, x):
    queue.put(f(x).tolist())


class Copies(Told):
    def test_functions_are_their_text_and_options(self):
        f = fuse("x * 2", math="strict")
        f(X)
        for other in copy.copy(f), copy.deepcopy({"f": [f]})["f"][0], pickle.loads(pickle.dumps(f)):
            self.assertIs(other, f)

    def test_functions_go_to_other_processes(self):
        f = fuse("x * 2")
        f(X)
        for method in "fork", "spawn":
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            process = context.Process(target=doubled, args=(queue, f, X))
            process.start()
            self.assertEqual(queue.get(timeout=60), (X * 2).tolist())
            process.join()
            self.assertEqual(process.exitcode, 0)

    def test_kernels_stay(self):
        kernel = fuse("x * 2").kernel(X)
        for make in copy.copy, copy.deepcopy, pickle.dumps:
            self.told(TypeError, "Kernel stays in its process", lambda: make(kernel))

    def test_a_function_that_is_dropped_in_a_call(self):
        class Last(numpy.ndarray):
            """Drops what is called when the call looks at its argument."""
            @property
            def __array_interface__(self):
                functions.clear()
                kfuse._function.cache_clear()
                gc.collect()
                return self.view(numpy.ndarray).__array_interface__
        functions = [fuse("x * 2.125")]
        self.assertEqual(functions[0](X.view(Last)).tolist(), (X * 2.125).tolist())
        self.assertEqual(functions, [])

    def test_reprs_are_short(self):
        f = fuse("+".join(["x"] * 1000))
        self.assertLess(len(repr(f)), 200)
        self.assertLess(len(repr(f.kernel(X))), 300)


class Surroundings(Told):
    """What is beside the module: the library, the store, the one who calls."""

    def child(self, text, **environment):
        head = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\nfrom support import *\nimport numpy\n"
        return subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment}).stderr

    def test_other_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "other.so")
            with open(path[:-2] + "c", "w") as file:
                file.write("int other;\n")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", path[:-2] + "c", "-o", path], check=True)
            self.assertIn(f"SetupError: {path} has no kf_version: it is another library", self.child("fuse('x')", KFUSE_LIB=path))
            self.assertIn("SetupError: libkfuse is not found", self.child("fuse('x')", KFUSE_LIB=folder))

    def test_a_store_that_cannot_be_written(self):
        said = self.child("fuse('x * 2')(numpy.ones(3, 'f4'))", KFUSE_CACHE="/dev/null/kfuse")
        self.assertIn("ProgramWarning: nothing is stored, so that each process tunes anew: /dev/null/kfuse", said)

    def test_a_store_whose_name_is_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.child("print(fuse('x * 2').kernel(numpy.ones(3, 'f4')).report('json'))", KFUSE_CACHE=folder + "/\udcff")
        self.assertEqual(said, "")

    def test_warnings_are_of_the_line_that_calls(self):
        f = fuse("bias = x + 1; y = bias * biass")
        for call in f, f.kernel:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(X, B)
                f._forget()
            self.assertEqual([w.filename for w in caught], [__file__])

    def test_hints_can_be_read(self):
        for public in kfuse.__all__:
            self.assertTrue(getattr(kfuse, public).__doc__, public)
            self.assertEqual(getattr(kfuse, public).__module__, "kfuse")
        self.assertEqual(kfuse.fuse.__annotations__["budget"], "float")


if __name__ == "__main__":  # a process that is spawned imports this
    support.main()
