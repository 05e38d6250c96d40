"""What goes wrong with torch: no derivative gets lost, and what has no memory of its own is not read."""
import copy
import pickle
import unittest

import numpy
import torch
import torch.autograd.forward_ad as forward_ad

import support
from support import fuse, kfuse

X = torch.ones(3, 4)


def op(name, text, **options):
    return kfuse.torch_op("kfuse_mistakes::" + name, text, **{**support.AT_ONCE, **options})


class Derivatives(unittest.TestCase):
    def test_tensors_that_require_grad(self):
        leaf = torch.ones(3, requires_grad=True)
        for call in (lambda: fuse("x + 1")(leaf), lambda: fuse("x = x * 2")(leaf), lambda: fuse("x = x * 2")(leaf * 1),
                     lambda: fuse("x + 1")(torch.ones(3), out=leaf),
                     lambda: fuse("param a = 2; x * a")(torch.ones(3), a=leaf.sum()),
                     lambda: op("scaled", "param a = 2; x * a")(torch.ones(3), a=leaf.sum())):
            with self.assertRaisesRegex(ValueError, "requires grad"):
                call()
        update = op("update", "m = m * 0.9 + g")
        for m, g in (leaf, X[0, :3]), (leaf * 1, X[0, :3]), (torch.ones(3), leaf):
            with self.assertRaisesRegex(ValueError, "updates m in place, .* call it under torch.no_grad"):
                update(m, g)
            with torch.no_grad():
                update(m, g)

    def test_what_was_saved_for_a_derivative(self):
        for write in (lambda b: fuse("x = x * 2")(b), lambda b: fuse("x + 1")(torch.ones(3), out=b),
                      lambda b: op("saved", "x = x * 2")(b)):
            a, b = torch.ones(3, requires_grad=True), torch.full((3,), 3.)
            product = a * b
            write(b)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                product.sum().backward()
        with torch.inference_mode():  # such a tensor has no version
            fuse("x = x * 2")(torch.ones(3))

    def test_tangents(self):
        f, operator = fuse("x + 1"), op("tangent", "x + 1")
        for call in f, operator:
            with forward_ad.dual_level(), self.assertRaisesRegex(ValueError, "tangent"):
                call(forward_ad.make_dual(X, X))
            with self.assertRaisesRegex(ValueError, "tangent"):
                torch.func.jvp(call, (X,), (X,))

    def test_cotangents_of_any_strides(self):
        operator, b = op("cotangents", "tanh(x * b)"), torch.linspace(-1, 1, 4)
        for pick in (lambda y: y.t()[::2].sum(), lambda y: y.sum(), lambda y: (y.flip(0)[:, 1:3] * 2).sum(), lambda y: y[1, 2]):
            grads = []
            for function in operator, lambda x, b: torch.tanh(x * b):
                leaves = X.clone().requires_grad_(), b.clone().requires_grad_()
                pick(function(*leaves)).backward()
                grads.append([leaf.grad for leaf in leaves])
            torch.testing.assert_close(*grads)


class Tensors(unittest.TestCase):
    def test_what_is_no_dense_tensor(self):
        f, square = fuse("x + 1"), torch.eye(3)
        for text, tensor in (("layout sparse_coo", square.to_sparse()), ("layout sparse_csr", square.to_sparse_csr()),
                             ("layout _mkldnn", square.to_mkldnn()),
                             ("layout nested", torch.nested.nested_tensor([torch.ones(3), torch.ones(4)])),
                             ("layout nested", torch.nested.nested_tensor([torch.ones(3)], layout=torch.jagged)),
                             ("resolve_conj", torch.ones(3, dtype=torch.complex64).conj()),
                             ("resolve_neg", torch.ones(3, dtype=torch.complex64).conj().imag),
                             ("on meta", torch.ones(3, device="meta")),
                             ("qint8", torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)),
                             ("float8_e4m3fn", torch.ones(3).to(torch.float8_e4m3fn))):
            with self.assertRaisesRegex(TypeError, text):
                f(tensor)

    def test_what_has_no_memory_of_its_own(self):
        f = fuse("x + 1")
        freed = torch.ones(3)
        freed.untyped_storage().resize_(0)
        with torch._subclasses.fake_tensor.FakeTensorMode():
            fake = torch.ones(3)
        masked = torch.masked.masked_tensor(torch.ones(3), torch.tensor([True, False, True]))
        for tensor in freed, fake, masked, torch._efficientzerotensor(3):
            with self.assertRaisesRegex(TypeError, "without memory of its own"):
                f(tensor)
        for transformed in torch.vmap(f), torch.func.functionalize(f):
            with self.assertRaisesRegex(TypeError, "without memory of its own"):
                transformed(X)
        self.assertEqual(torch.vmap(op("mapped", "x + 1"))(X).tolist(), (X + 1).tolist())
        self.assertEqual(f(torch.ones(0, 3)[:, :0]).shape, (0, 0))

    def test_traces(self):
        f, operator = fuse("x * 2"), op("traced", "x * 2")
        with self.assertRaisesRegex(TypeError, "being traced, which does not see a plain call: kfuse.torch_op"):
            torch.jit.trace(lambda x: f(x) + 1, (X,))
        traced = torch.jit.trace(lambda x: operator(x) + 1, (X,))
        torch.testing.assert_close(traced(X * 5), X * 11)
        with self.assertRaisesRegex(Exception, "kfuse.torch_op makes one"):
            torch.compile(lambda x: f(x) + 1, fullgraph=True, backend="eager")(X)

    def test_subclasses_are_read_as_what_they_hold(self):
        class Named(torch.Tensor):
            pass
        result = fuse("x * 2")(torch.ones(3).as_subclass(Named))
        self.assertEqual((type(result), result.tolist()), (torch.Tensor, [2, 2, 2]))
        with torch.no_grad():
            self.assertIs(type(fuse("x * 2")(torch.nn.Parameter(torch.ones(3)))), torch.Tensor)

    def test_libraries_are_named(self):
        with self.assertRaisesRegex(TypeError, "x of torch.Tensor, y of numpy.ndarray: give out="):
            fuse("x + y")(X, numpy.ones(4, "f4"))


class Operators(unittest.TestCase):
    def test_names(self):
        for name, error, text in ((None, TypeError, "name is a text, not of NoneType"), ("plain", ValueError, "NAMESPACE::NAME"),
                                  ("a b::c", ValueError, "NAMESPACE::NAME"), ("aten::add", ValueError, "torch has an operator")):
            with self.assertRaisesRegex(error, text):
                kfuse.torch_op(name, "x + y")
        op("options", "x * 2", out_dtype=torch.float16)
        self.assertIs(op("options", "x * 2", out_dtype="float16"), op("options", "x * 2", out_dtype=torch.float16))
        with self.assertRaisesRegex(ValueError, "another program needs another name"):
            op("options", "x * 2")

    def test_arguments(self):
        operator = op("arguments", "param a = 2; x * a + b")
        for text, call in (("no input or param 'z'", lambda: operator(X, X, z=X)), ("no array for 'b'", lambda: operator(X)),
                           ("3 arrays are given, .* params are given by name: a", lambda: operator(X, X, 3)),
                           ("x is of numpy.ndarray, no tensor", lambda: operator(numpy.ones(3), X)),
                           ("b is of list, no tensor", lambda: operator(X, [1.0])),
                           ("'a' is of str, no number", lambda: operator(X, X, a="3")),
                           ("x is int16", lambda: operator(X.short(), X))):
            with self.assertRaisesRegex(TypeError, text):
                call()
        for result in operator(X, b=X), operator(b=X, x=X, a=2), operator(X, X, a=None):
            torch.testing.assert_close(result, X * 3)

    def test_devices(self):
        operator = op("devices", "x + b")
        for tensors in (X, X.to("meta")), (X.to("meta"), X):
            with self.assertRaisesRegex(ValueError, "x is on (cpu|meta), b on (cpu|meta)"):
                operator(*tensors)
        self.assertEqual(operator(X.to("meta"), X.to("meta")).device.type, "meta")

    def test_copies(self):
        operator = op("copied", "x * 2")
        module = torch.nn.Module()
        module.operator = operator
        self.assertIs(copy.deepcopy(module).operator, operator)
        self.assertIs(pickle.loads(pickle.dumps(operator)), operator)


support.main(warnings="ignore")  # of torch, about what is new or old in it
