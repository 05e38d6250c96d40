"""kfuse.fuse and kfuse.torch_op on torch tensors of the CPU, beside torch eager."""
import unittest
import warnings

import numpy
import torch

import support
from support import fuse, kfuse

F = torch.nn.functional
FLOATS = torch.float32, torch.float64, torch.float16, torch.bfloat16


def op(name, text, **options):
    return kfuse.torch_op("kfuse_test::" + name, text, **{**support.AT_ONCE, **options})


class Tensors(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_types(self):
        f = fuse("gelu(x + b) + res")
        for dtype in FLOATS:
            x, b, res = torch.randn(6, 8).to(dtype), torch.randn(8).to(dtype), torch.randn(6, 8).to(dtype)
            result = f(x, b=b, res=res)
            self.assertEqual((type(result), result.dtype, result.device.type), (torch.Tensor, dtype, "cpu"))
            torch.testing.assert_close(result.double(), F.gelu((x + b).double()) + res, rtol=2e-2, atol=2e-2)
        for dtype in torch.int64, torch.int32, torch.int8, torch.uint8:
            x = torch.tensor([1, 2, 3], dtype=dtype)
            torch.testing.assert_close(fuse("x * 2")(x), x * 2)
        torch.testing.assert_close(fuse("x > 0")(torch.tensor([1., -1.])), torch.tensor([True, False]))

    def test_layouts(self):
        f, x = fuse("x * 2 + 1"), torch.randn(6, 8)
        for view in (x.t(), x[:, ::2], x[1:, 3:], x[0], x[0, 0], x[:0], x.expand(3, 6, 8), x[:, :1].expand(6, 8),
                     x[None, :, None]):
            result = f(view)
            torch.testing.assert_close(result, view * 2 + 1)
            self.assertTrue(result.is_contiguous())
        channels = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(f(channels), channels * 2 + 1)

    def test_outputs(self):
        f, x, room = fuse("x + 1"), torch.randn(4, 4), torch.zeros(4, 8)
        out = room[:, 1::2]
        self.assertIs(f(x, out=out), out)
        torch.testing.assert_close(room[:, 1::2], x + 1)
        self.assertFalse(room[:, ::2].any())
        with self.assertRaisesRegex(ValueError, "overlap"):
            f(x, out=torch.zeros(4, 1).expand(4, 4))
        update, y = fuse("x = x * 2; s = x + 1"), torch.arange(6.)
        updated, s = update(y)
        self.assertIs(updated, y)
        torch.testing.assert_close((y, s), (torch.arange(6.) * 2, torch.arange(6.) * 2 + 1))

    def test_what_is_refused(self):
        f, x = fuse("x + 1"), torch.randn(3)
        with self.assertRaisesRegex(ValueError, "requires grad"):
            f(x.clone().requires_grad_())
        with torch.no_grad():
            f(x.clone().requires_grad_())
        with self.assertRaisesRegex(TypeError, "layout"):
            f(torch.eye(3).to_sparse())
        for dtype in torch.complex64, torch.int16, torch.uint32:
            with self.assertRaisesRegex(TypeError, "kfuse has"):
                f(torch.zeros(3, dtype=dtype))
        with self.assertRaisesRegex(TypeError, "meta"):
            f(x.to("meta"))
        with self.assertRaisesRegex(TypeError, "several libraries"):
            fuse("x + y")(x, numpy.zeros(3, "f4"))
        out = torch.zeros(3)  # what is written to is said, so nothing has to be made
        self.assertIs(fuse("x + y")(x, numpy.ones(3, "f4"), out=out), out)
        torch.testing.assert_close(out, x + 1)

    def test_inside_torch_compile(self):
        f = fuse("x * 2")

        @torch.compile(backend="eager")
        def model(x):
            return f(x + 1) + 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.testing.assert_close(model(torch.ones(3)), torch.full((3,), 5.))


class Operators(unittest.TestCase):
    """Each beside the same in torch: value and derivative; opcheck, which takes seconds, for each kind of schema."""

    def check(self, operator, reference, tensors, **params):
        def both(function):
            leaves = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in tensors]
            results = function(*leaves, **params)
            results = results if isinstance(results, tuple) else (results,)
            generator = torch.Generator().manual_seed(1)
            cotangents = [torch.randn(r.shape, generator=generator).to(r.dtype) for r in results if r.requires_grad]
            torch.autograd.backward([r for r in results if r.requires_grad], cotangents)
            return results, [leaf.grad for leaf in leaves]
        (got, got_grads), (expected, expected_grads) = both(operator), both(reference)
        for a, b in [*zip(got, expected), *zip(got_grads, expected_grads)]:
            if b is None:
                self.assertIsNone(a)
            else:
                self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                loose = 2e-2 if b.dtype in (torch.float16, torch.bfloat16) else 1e-5
                torch.testing.assert_close(a, b, rtol=loose, atol=loose * (4 if loose > 1e-3 else 1))

    def opcheck(self, operator, tensors, **params):
        torch.library.opcheck(operator, tuple(t.clone().requires_grad_(t.is_floating_point()) for t in tensors), params)

    def test_bias_gelu_of_every_type(self):
        operator = op("bias_gelu", "gelu(x + b) + res")
        for dtype in FLOATS:
            tensors = [torch.randn(*shape).to(dtype) for shape in ((6, 8), (8,), (6, 8))]
            self.check(operator, lambda x, b, res: F.gelu(x + b) + res, tensors)

    def test_broadcasts_are_summed(self):
        operator = op("broadcasts", "x * a + b * c")
        shapes = (3, 1, 5), (4, 1), (5,), (1,)
        self.check(operator, lambda x, a, b, c: x * a + b * c, [torch.randn(*shape, dtype=torch.float64) for shape in shapes])
        shapes = (), (2,), (), (1, 1)
        self.check(operator, lambda x, a, b, c: x * a + b * c, [torch.randn(shape) for shape in shapes])

    def test_rmsnorm_with_a_param(self):
        operator = op("rmsnorm", "param eps = 1e-5; y = x / sqrt(mean(x * x) + eps) * g")

        def reference(x, g, eps=1e-5):
            return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * g
        tensors = [torch.randn(6, 8), torch.randn(8)]
        self.check(operator, reference, tensors)
        self.check(operator, reference, tensors, eps=0.5)
        self.opcheck(operator, tensors, eps=0.5)
        doubles = [t.double().requires_grad_() for t in tensors]
        self.assertTrue(torch.autograd.gradcheck(lambda x, g: operator(x, g, eps=0.1), doubles))

    def test_softmax_and_a_product(self):
        self.check(op("softmax", "softmax(x * 0.5)"), lambda x: torch.softmax(x * 0.5, -1), [torch.randn(5, 9)])
        self.check(op("linear", "relu(x @ w.T + b)"), lambda x, w, b: F.relu(F.linear(x, w, b)),
                   [torch.randn(5, 9), torch.randn(7, 9), torch.randn(7)])

    def test_several_outputs_and_an_integer_input(self):
        operator = op("several", "h = x + b; y = silu(h) * k; n = h > 0; return y, n, h")

        def reference(x, b, k):
            h = x + b
            return F.silu(h) * k, h > 0, h
        tensors = [torch.randn(4, 6), torch.randn(6), torch.randint(0, 5, (6,), dtype=torch.int32)]
        self.check(operator, reference, tensors)
        self.opcheck(operator, tensors)

    def test_types_are_mixed(self):
        self.check(op("mixed", "x * g"), lambda x, g: x * g, [torch.randn(4, 6).bfloat16(), torch.randn(6)])

    def test_some_inputs_need_no_gradient(self):
        operator = op("some", "x * y + z")
        x, y, z = torch.randn(3), torch.randn(3, requires_grad=True), torch.randn(3)
        operator(x, y, z).sum().backward()
        torch.testing.assert_close(y.grad, x)
        self.assertFalse(operator(x, y.detach(), z).requires_grad)

    def test_strided_tensors_and_cotangents(self):
        operator, x = op("strided", "tanh(x) * y"), torch.randn(8, 6)
        self.check(operator, lambda x, y: torch.tanh(x) * y, [x.t()[::2], torch.randn(3, 8)])
        leaf = x.clone().requires_grad_()
        operator(leaf.t(), torch.ones(6, 8)).t()[::2].sum().backward()
        other = x.clone().requires_grad_()
        torch.tanh(other.t()).t()[::2].sum().backward()
        torch.testing.assert_close(leaf.grad, other.grad)

    def test_products_of_tensors_with_gaps(self):
        operator, x, w = op("gaps", "x @ w.T"), torch.randn(5, 9), torch.randn(7, 20)[:, 3:12]
        self.check(operator, F.linear, [x, w])
        leaf = x.clone().requires_grad_()
        operator(leaf, w).sum().backward()  # the cotangent is one number, expanded
        torch.testing.assert_close(leaf.grad, w.sum(0).expand(5, 9))

    def test_updates(self):
        operator = op("update", "m = 0.9 * m + g; p = p - 0.1 * m")
        m, g, p = torch.randn(5), torch.randn(5), torch.randn(5)
        new_m = 0.9 * m + g
        new_p = p - 0.1 * new_m
        self.assertIsNone(operator(m, g, p))
        torch.testing.assert_close((m, p), (new_m, new_p))
        torch.library.opcheck(operator, (m, g, p))

    def test_compiled(self):
        operator = op("compiled", "gelu(x + b) * g")

        def model(x, b, g, f):
            return (f(torch.sin(x), b, g) * 3).sum()
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        for rows in 6, 7:
            tensors = [torch.randn(rows, 5), torch.randn(5), torch.randn(rows, 1)]
            grads = []
            for function, f in ((compiled, operator), (model, lambda x, b, g: F.gelu(x + b) * g)):
                leaves = [t.clone().requires_grad_() for t in tensors]
                loss = function(*leaves, f)
                loss.backward()
                grads.append([loss.detach()] + [leaf.grad for leaf in leaves])
            torch.testing.assert_close(*grads, rtol=1e-5, atol=1e-5)

    def test_a_second_derivative_is_refused(self):
        x = torch.randn(3, requires_grad=True)
        first, = torch.autograd.grad(op("once", "x * x * x")(x).sum(), x, create_graph=True)
        with self.assertRaises(RuntimeError):
            first.sum().backward()

    def test_what_is_refused(self):
        with self.assertRaises(kfuse.ProgramError):
            op("wrong", "x +")
        with self.assertRaisesRegex(kfuse.ProgramError, "do not broadcast"):
            op("shapes", "x + y")(torch.zeros(3), torch.zeros(4))

    def test_names(self):
        first = op("named", "silu(x) * g")
        self.assertIs(op("named", "silu(x) * g"), first)
        with self.assertRaisesRegex(ValueError, "is 'silu.x. . g' already"):
            op("named", "silu(x) + g")
        with self.assertRaisesRegex(ValueError, "NAMESPACE::NAME, not 'plain'"):
            kfuse.torch_op("plain", "x + 1")


support.main()
