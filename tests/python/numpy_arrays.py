"""kfuse.fuse on NumPy arrays: every layout and type, outputs, what is refused and how."""
import unittest
import warnings

import numpy

import support
from support import fuse, kfuse

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def random(*shape, dtype="float32", seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


class Arguments(unittest.TestCase):
    def setUp(self):
        self.f = fuse("param a = 2; t = x * a; y = t + b * res")
        self.x, self.b, self.res = random(3, 4), random(4, seed=1), random(3, 4, seed=2)

    def right(self, result, a=2):
        numpy.testing.assert_allclose(result, self.x * numpy.float32(a) + self.b * self.res, rtol=1e-6, atol=1e-6)

    def test_names(self):
        self.assertEqual((self.f.inputs, self.f.params, self.f.outputs), (("x", "b", "res"), ("a",), ("y",)))
        self.assertEqual(str(self.f.__signature__), "(x, b, res, *, a=None, out=None)")
        self.assertIn("x, b, res", repr(self.f))

    def test_by_position_and_by_name(self):
        x, b, res = self.x, self.b, self.res
        for result in (self.f(x, b, res), self.f(x, res=res, b=b), self.f(res=res, b=b, x=x), self.f(x, b, res=res, a=2)):
            self.right(result)
        self.right(self.f(x, b, res, a=-0.5), -0.5)
        self.right(self.f(x, b, res, a=numpy.float32(3)), 3)

    def test_what_does_not_bind(self):
        x, b, res = self.x, self.b, self.res
        for text, call in (("no array for 'res'", lambda: self.f(x, b)), ("4 arrays", lambda: self.f(x, b, res, res)),
                           ("'b' is given twice", lambda: self.f(x, b, b=b, res=res)),
                           ("'b' is given twice", lambda: self.f(x, b, res, b=b)),
                           ("no input or param 'c'", lambda: self.f(x, b, res, c=b)),
                           ("x is of list", lambda: self.f([1, 2], b, res)),
                           ("x is of float", lambda: self.f(1.0, b, res)),
                           ("x is of NoneType", lambda: self.f(None, b, res))):
            with self.assertRaisesRegex(TypeError, text):
                call()

    def test_names_that_python_keeps(self):
        f = fuse("z = lambda * 2 + out + y")
        self.assertEqual(f(self.x, self.x, self.x).tolist(), (self.x * 4).tolist())
        self.assertEqual(f(self.x, self.x, **{"y": self.x}).tolist(), (self.x * 4).tolist())
        self.assertIsNone(f.__signature__)
        self.assertRaises(TypeError, fuse, 3)
        self.assertRaises(TypeError, fuse, b"x")

    def test_scalars_are_arrays_without_dimensions(self):
        result = self.f(numpy.float32(1), numpy.float32(2), numpy.array(3, "f4"))
        self.assertEqual((type(result), result.shape, result[()]), (numpy.ndarray, (), 8))


class Layouts(unittest.TestCase):
    LAYOUTS = [lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::2, 1::3], lambda a: a[1:, :-1],
               lambda a: a[:, :1], lambda a: a[0], lambda a: numpy.broadcast_to(a[0], (5, a.shape[1])),
               lambda a: numpy.asfortranarray(a), lambda a: a[:, numpy.newaxis], lambda a: a[:0], lambda a: a[:1, :1],
               lambda a: a[2, 3], lambda a: a[::-2, ::-3], lambda a: a.reshape(-1)[1:1], lambda a: a[:, 3]]

    def test_inputs_of_any_strides(self):
        f = fuse("x * 2 + x")
        for i, layout in enumerate(self.LAYOUTS):
            x = layout(random(7, 13))
            result = f(x)
            numpy.testing.assert_array_equal(result, (x * 2 + x).astype("f4"), f"layout {i}")  # NumPy 1 widens scalars
            self.assertEqual((result.shape, result.dtype), (x.shape, x.dtype), f"layout {i}")

    def test_outputs_of_any_strides(self):
        f = fuse("x * 2 + 1")
        for i, layout in enumerate(self.LAYOUTS):
            room = numpy.full((7, 13), numpy.float32(-7))
            out = layout(room)
            if not out.flags.writeable or out.ndim == 0:
                continue
            x, expected = random(*out.shape), room.copy()
            layout(expected)[...] = x * 2 + 1
            self.assertIs(f(x, out=out), out)
            numpy.testing.assert_allclose(room, expected, 1e-6, err_msg=f"layout {i}")

    def test_updates_of_any_strides(self):
        f = fuse("x = x * 2 + b")
        for i, layout in enumerate(self.LAYOUTS):
            room = random(7, 13)
            x, expected = layout(room), room.copy()
            if not getattr(x, "flags", None).writeable or x.ndim == 0:
                continue
            layout(expected)[...] = layout(expected) * 2 + 3
            self.assertIs(f(x, numpy.float32(3)), x)
            numpy.testing.assert_allclose(room, expected, 1e-6, 1e-6, err_msg=f"layout {i}")

    def test_reductions_and_products_of_views(self):
        x, w = random(32, 9).T, random(8, 32, seed=1)
        numpy.testing.assert_allclose(fuse("x @ w.T")(x, w), x @ w.T, 1e-4, 1e-5)
        with self.assertRaisesRegex(kfuse.NoKernelError, "w: not row-major"):  # operands of a product have no gaps
            fuse("x @ w.T")(x, w[:, ::-1])
        x = random(9, 40)[::-1, 3:35]
        numpy.testing.assert_allclose(fuse("softmax(x)")(x), numpy.exp(x) / numpy.exp(x).sum(-1, keepdims=True), 1e-5)
        numpy.testing.assert_allclose(fuse("sum(x, axis=0)")(x), x.sum(0, keepdims=True), 1e-5, 1e-5)

    def test_views_share_a_kernel_where_their_strides_are_one(self):
        f, x = fuse("x + 41"), random(8, 8)
        kernel = f.kernel(x)
        self.assertIs(f.kernel(x.copy()), kernel)
        self.assertIs(f.kernel(numpy.zeros((8, 9), "f4")[:, :8].copy()), kernel)
        self.assertIsNot(f.kernel(x.T), kernel)
        self.assertIsNot(f.kernel(x.astype("f8")), kernel)
        self.assertIs(f.kernel(x[:1, :]), f.kernel(random(1, 9)[:, :8]))  # a stride along one element says nothing


class Types(unittest.TestCase):
    def test_floats(self):
        for dtype in "float16", "float32", "float64":
            x = random(5, 6, dtype=dtype)
            result = fuse("x * x + 1")(x)
            self.assertEqual(result.dtype, x.dtype)
            numpy.testing.assert_allclose(result.astype("f8"), (x.astype("f8") ** 2 + 1), numpy.finfo(dtype).eps * 2)

    @unittest.skipUnless(ml_dtypes, "ml_dtypes is not installed")
    def test_bfloat16(self):
        x = random(5, 6).astype(ml_dtypes.bfloat16)
        result = fuse("x * 2")(x[:, ::-1])
        self.assertEqual(result.dtype, x.dtype)
        numpy.testing.assert_array_equal(result.astype("f4"), x[:, ::-1].astype("f4") * 2)
        self.assertEqual(fuse("x * 3", out_dtype="bf16")(random(4)).dtype, x.dtype)

    def test_integers_and_bool(self):
        for dtype in "uint8", "int8", "int32", "int64":
            x = numpy.array([0, 1, 2, 100, 7], dtype)
            result = fuse("x + 1")(x)
            self.assertEqual(result.dtype, x.dtype)
            numpy.testing.assert_array_equal(result, x + 1)
        chosen = fuse("c ? x : 0 - x")(numpy.array([True, False]), numpy.array([3, 3], "int64"))
        self.assertEqual((chosen.dtype, chosen.tolist()), ("int64", [3, -3]))
        self.assertEqual(fuse("x > 0")(random(4)).dtype, bool)
        big = numpy.array([2 ** 62, -2 ** 63], "int64")
        numpy.testing.assert_array_equal(fuse("x * 1")(big), big)

    def test_out_dtype(self):
        x = random(4)
        for name in "f16", "float16":
            self.assertEqual(fuse("x * 2", out_dtype=name)(x).dtype, "float16")

    def test_special_values(self):
        x = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e-45], "f4")
        result = fuse("x * 1")(x)
        numpy.testing.assert_array_equal(result.view("u4")[1:], x.view("u4")[1:])
        self.assertTrue(numpy.isnan(result[0]))

    def test_what_is_refused(self):
        f = fuse("x + 1")
        for x in (numpy.zeros(3, "u4"), numpy.zeros(3, "c8"), numpy.zeros(3, "f4,f4"), numpy.array(["a"]), numpy.zeros(3, ">f4"),
                  numpy.zeros(3, object), numpy.zeros(3, "M8[s]"), numpy.ma.zeros(3, "f4"), "x", b"x", {}, numpy.float32):
            with self.assertRaises(TypeError):
                f(x)
        bytes_ = numpy.zeros(41, "u1")
        with self.assertRaisesRegex(ValueError, "begins within an element"):
            f(bytes_[1:].view("f4"))
        records = numpy.zeros(4, numpy.dtype([("a", "f4"), ("b", "u1")]))
        with self.assertRaisesRegex(ValueError, "no whole elements"):
            f(records["a"])
        with self.assertRaisesRegex(ValueError, "9 dimensions"):
            f(numpy.zeros((1,) * 9, "f4"))
        self.assertEqual(f(numpy.zeros((1,) * 8, "f4")).shape, (1,) * 8)


class Outputs(unittest.TestCase):
    def test_several(self):
        f, x, b = fuse("h = x + b; y = h * 2; n = x > 0; return y, h, n"), random(3, 4), random(4, seed=1)
        y, h, n = f(x, b)
        numpy.testing.assert_array_equal(h, x + b)
        numpy.testing.assert_array_equal(y, (x + b) * 2)
        numpy.testing.assert_array_equal(n, x > 0)

        mine = numpy.zeros((3, 8), "f4")[:, ::2]
        y2, h2, _ = f(x, b, out=(None, mine, None))
        self.assertIs(h2, mine)
        numpy.testing.assert_array_equal(mine, h)
        numpy.testing.assert_array_equal(y2, y)

    def test_updates(self):
        f = fuse("m = 0.9 * m + g; p = p - 0.1 * m")
        g, m, p = random(5), random(5, seed=1), random(5, seed=2)
        new_m = numpy.float32(0.9) * m + g
        new_p = p - numpy.float32(0.1) * new_m
        results = f(m, g, p)
        self.assertIs(results[0], m)
        self.assertIs(results[1], p)
        numpy.testing.assert_allclose(m, new_m, 1e-6)
        numpy.testing.assert_allclose(p, new_p, 1e-6)

    def test_what_is_refused(self):
        f, x = fuse("x + 1"), random(4, 6)
        frozen = numpy.zeros((4, 6), "f4")
        frozen.flags.writeable = False
        line = numpy.zeros(32, "f4")
        sharing = numpy.lib.stride_tricks.as_strided(line, (4, 6), (4, 4))
        for text, error, out in (("read-only", ValueError, frozen), ("shape", ValueError, numpy.zeros((4, 5), "f4")),
                                 ("shape", ValueError, numpy.zeros(24, "f4")),
                                 ("shape", ValueError, numpy.zeros((6, 4), "f4").T[None]),
                                 ("is float64", TypeError, numpy.zeros((4, 6))), ("share a place", ValueError, sharing),
                                 ("2 arrays", ValueError, (frozen, frozen)), ("0 arrays", ValueError, ()),
                                 ("overlaps", kfuse.ProgramError, x), ("overlaps", kfuse.ProgramError, x[::-1]),
                                 ("out is of", TypeError, 3)):
            with self.assertRaisesRegex(error, text):
                f(x, out=out)
        self.assertFalse(frozen.any() or line.any())
        update = fuse("x = x * 2")
        with self.assertRaisesRegex(ValueError, "read-only"):
            update(frozen)
        with self.assertRaisesRegex(ValueError, "in place"):
            update(x, out=numpy.zeros((4, 6), "f4"))
        with self.assertRaisesRegex(kfuse.ProgramError, "share a place"):
            update(sharing)
        with self.assertRaisesRegex(kfuse.ProgramError, "shape"):
            fuse("x = x + b")(random(4), random(3, 4))
        same = random(4)
        with self.assertRaisesRegex(kfuse.ProgramError, "overlaps"):
            fuse("x = x + b")(same, same)


class Failures(unittest.TestCase):
    def test_messages_have_carets(self):
        with self.assertRaisesRegex(kfuse.ProgramError, r"<expr>:1:4: error: (.|\n)*\n   1 \| x \+\n.*\^"):
            fuse("x +")
        with self.assertRaisesRegex(kfuse.ProgramError, r"unknown function 'gleu'(.|\n)*\^~~~ did you mean 'gelu'"):
            fuse("gleu(x)")(random(3))
        with self.assertRaisesRegex(kfuse.ProgramError, r"mine.kf:1:3: error: shapes 3 and 4 do not broadcast"):
            fuse("x + y", source="mine.kf")(random(3), random(4))
        with self.assertRaisesRegex(kfuse.ProgramError, "NUL"):
            fuse("x\0")
        with self.assertRaises(kfuse.ProgramError):
            fuse("x + \u00e9")
        with self.assertRaises(kfuse.ProgramError):
            fuse("")
        with self.assertRaises(kfuse.ProgramError):
            fuse("1 + 2")
        self.assertTrue(issubclass(kfuse.ProgramError, ValueError) and issubclass(kfuse.ProgramError, kfuse.Error))

    def test_no_kernel(self):
        with self.assertRaisesRegex(kfuse.NoKernelError, "no kernel covers this product"):
            fuse("x @ y")(numpy.ones((3, 3), "i4"), numpy.ones((3, 3), "i4"))

    def test_options(self):
        for options in (dict(effort="slow"), dict(math="loose"), dict(out_dtype="f8")):
            with self.assertRaisesRegex(kfuse.UsageError, "choose"):
                fuse("x", **options)
        for options in (dict(trials=-1), dict(budget=float("nan")), dict(seed=2 ** 64), dict(jobs=-3)):
            with self.assertRaisesRegex(kfuse.UsageError, "it is from 0 to"):
                fuse("x", **options)
        for options in (dict(strategy="none"), dict(point="NONSENSE=1")):
            with self.assertRaises(kfuse.UsageError):
                kfuse.fuse("x * 2", **options)(random(3))
        with self.assertRaises(kfuse.SetupError):
            fuse("x", device="abacus")(random(3))
        with self.assertRaises(TypeError):
            fuse("x", colour="blue")
        x = random(33)
        for options in (dict(math="strict"), dict(math="fast"), dict(round_each_op=True), dict(device="cpu"), dict(seed=3),
                        dict(exact=True), dict(hot=True)):
            numpy.testing.assert_allclose(fuse("x * 2 + 1", **options)(x), x * 2 + 1, 1e-6, 1e-6)

    def test_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fuse("bias = x + 1; y = bias * biass")(random(3), random(3))
        self.assertEqual([w.category for w in caught], [kfuse.ProgramWarning])
        self.assertIn("did you mean 'bias'", str(caught[0].message))

    def test_arrays_that_no_memory_holds(self):
        huge = numpy.broadcast_to(numpy.float32(1), (2 ** 20, 2 ** 22))
        with self.assertRaisesRegex(kfuse.ProgramError, "GiB"):
            fuse("x * 2")(huge)
        a, b = (numpy.broadcast_to(numpy.float32(1), shape) for shape in ((2 ** 40, 1), (1, 2 ** 40)))
        with self.assertRaises(kfuse.ProgramError):
            fuse("a + b")(a, b)
        self.assertEqual(fuse("max(x, axis=all)")(numpy.broadcast_to(numpy.float32(1), (64, 64))).shape, (1, 1))


class Gradients(unittest.TestCase):
    def test_backward_program(self):
        written = kfuse.gradient("silu(x + b) * g", ("x", "g"))
        self.assertEqual((written["cotangents"], written["results"]), ({"out": "dout"}, {"x": "dx", "g": "dg"}))
        x, b, g, dout = random(3, 4), random(4), random(3, 1, seed=1), random(3, 4, seed=2)
        f = fuse(written["program"])
        named = dict(zip(f.outputs, f(x=x, b=b, g=g, dout=dout)))
        h = (x + b).astype("f8")
        numpy.testing.assert_allclose(named["dg"], (dout * h / (1 + numpy.exp(-h))).sum(1, keepdims=True), 1e-5)
        with self.assertRaises(kfuse.ProgramError):
            kfuse.gradient("x = x * 2")


support.main()
