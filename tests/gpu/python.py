#!/usr/bin/env python3
"""examples/python on a GPU, beside torch eager: a line for each part, the exit status says whether all are right.

    BUILD=build/release tests/gpu/python.py [--device cpu]     (cpu: the parts that need no GPU)"""
import argparse
import gc
import os
import sys
import threading
import traceback

import numpy
import torch

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build", "release")))
os.environ.setdefault("KFUSE_LIB", os.path.join(BUILD, "libkfuse.so"))
sys.path.insert(0, os.path.join(ROOT, "examples", "python"))

import kfuse  # noqa: E402

F = torch.nn.functional
FLOATS = torch.float32, torch.float16, torch.bfloat16
DEVICE = "cuda:0"
PARTS = []


def part(function):
    PARTS.append((function, False))
    return function


def gpu_part(function):
    PARTS.append((function, True))
    return function


def fuse(text, **options):
    return kfuse.fuse(text, **{"no_tune": True, **options})


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator(DEVICE).manual_seed(seed + 1)
    return torch.randn(shape, generator=generator, device=DEVICE).to(dtype)


def close(got, expected):
    """By torch.testing's tolerances for the type of what was got; what is expected may be more precise."""
    assert got.shape == expected.shape, (got.shape, expected.shape)
    torch.testing.assert_close(got, expected.to(got.dtype))


EXPRESSIONS = [
    ("relu(x + y)", lambda x, y, b: F.relu(x + y)),
    ("gelu(x + b) + y", lambda x, y, b: F.gelu(x + b) + y),
    ("tanh(x * y + b) * sigmoid(x) + 0.5 * y", lambda x, y, b: torch.tanh(x * y + b) * torch.sigmoid(x) + 0.5 * y),
    ("softmax(x * 0.125 + b)", lambda x, y, b: torch.softmax(x * 0.125 + b, -1)),
    ("rmsnorm(x, b)", lambda x, y, b: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * b),
    ("sum(x * y, axis=0)", lambda x, y, b: (x * y).sum(0, keepdim=True)),
    ("x - mean(x, axis=all)", lambda x, y, b: x - x.mean()),
]

LAYOUTS = [
    ("row-major", lambda shape, dtype, seed: random(*shape, dtype=dtype, seed=seed)),
    ("transposed", lambda shape, dtype, seed: random(*shape[::-1], dtype=dtype, seed=seed).t()),
    ("with gaps", lambda shape, dtype, seed: random(shape[0], 2 * shape[1] + 3, dtype=dtype, seed=seed)[:, 3::2]),
    ("broadcast", lambda shape, dtype, seed: random(1, shape[1], dtype=dtype, seed=seed).expand(shape)),
    ("misaligned", lambda shape, dtype, seed: random(shape[0] * shape[1] + 1, dtype=dtype, seed=seed)[1:].view(shape)),
]


@part
def expressions():
    for text, eager in EXPRESSIONS:
        for dtype in FLOATS:
            for name, make in LAYOUTS:
                shape = (67, 130)
                x, y, b = make(shape, dtype, 0), make(shape, dtype, 1), random(shape[1], dtype=dtype, seed=2)
                f = fuse(text)
                given = dict(x=x, y=y, b=b)
                result = f(**{name: given[name] for name in f.inputs})
                assert (result.dtype, result.device) == (dtype, x.device) and result.is_contiguous(), (text, dtype, name)
                try:
                    close(result, eager(x.double(), y.double(), b.double()))
                except AssertionError as failure:
                    raise AssertionError(f"{text}, {dtype}, {name}: {failure}") from None
    return f"{len(EXPRESSIONS)} expressions in {len(FLOATS)} types, {len(LAYOUTS)} layouts"


@part
def products():
    for dtype in FLOATS:
        x, w, b = random(65, 96, dtype=dtype) / 8, random(72, 96, dtype=dtype, seed=1), random(72, dtype=dtype, seed=2)
        close(fuse("gelu(x @ w.T + b)")(x, w, b), F.gelu(F.linear(x.double(), w.double(), b.double())))
    return "x @ w.T with an epilogue in three types"


@part
def integers():
    for dtype in torch.int64, torch.int32, torch.int8, torch.uint8:
        x = torch.arange(100, device=DEVICE, dtype=dtype)
        close(fuse("x * 2 - 3")(x), x * 2 - 3)
    x = random(1000)
    close(fuse("x > 0 ? x : y")(x, -x), x.abs())
    close(fuse("x > 0")(x), x > 0)
    return "int64, int32, int8, uint8 and bool"


@part
def shapes():
    for shape in (), (1,), (0,), (3, 0, 2), (1, 1, 7), (2, 3, 4, 5, 6, 7), (1000003,):
        x = random(*shape)
        close(fuse("x * 2 + 1")(x), x * 2 + 1)
    return "no dimensions, no elements, six dimensions, a prime"


@part
def outputs():
    x, b, room = random(33, 64), random(64, seed=1), torch.zeros(33, 128, device=DEVICE)
    out = room[:, 1::2]
    assert fuse("x + b")(x, b, out=out) is out
    close(out.clone(), x + b)
    assert not room[:, ::2].any()
    m, g, p = random(1000), random(1000, seed=1), random(1000, seed=2)
    expected_m = 0.9 * m + g
    expected_p = p - 0.1 * expected_m
    results = fuse("m = 0.9 * m + g; p = p - 0.1 * m")(m, g, p)
    assert results[0] is m and results[1] is p
    close(m, expected_m), close(p, expected_p)
    square = random(64, 64)
    expected = square.t() * 2
    close(fuse("x = x * 2")(square.t()), expected)
    y, h = fuse("param a = 1; h = x + b; y = a * h; return y, h")(x, b, a=3)
    close(h, x + b), close(y, (x + b) * 3)
    return "out= with gaps, updates, a param, two outputs"


@part
def tuned():
    x, b, res = (random(*shape, dtype=torch.bfloat16, seed=i) for i, shape in enumerate(((1024, 1024), (1024,), (1024, 1024))))
    f = kfuse.fuse("gelu(x + b) + res", effort="quick", budget=10)
    kernel = f.kernel(x, b, res)
    close(f(x, b=b, res=res), F.gelu(x.double() + b.double()) + res.double())
    result = kernel.result
    return f"{result['winner']}, {result['time'] * 1e6:.2f} us, {result['speedup']:.2f}x over eager"


@part
def operators():
    for dtype in FLOATS:
        name = str(dtype).removeprefix("torch.")
        operator = kfuse.torch_op(f"kfuse_gpu::bias_gelu_{name}", "gelu(x + b) * g", no_tune=True)
        shapes = (48, 40), (40,), (48, 1)
        leaves = [random(*shape, dtype=dtype, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
        exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
        cotangent = random(48, 40, dtype=dtype, seed=9)
        operator(*leaves).backward(cotangent)
        (F.gelu(exact[0] + exact[1]) * exact[2]).backward(cotangent.double())
        for leaf, other in zip(leaves, exact):
            close(leaf.grad, other.grad)
    operator = kfuse.torch_op("kfuse_gpu::rms", "param eps = 1e-5; y = x / sqrt(mean(x * x) + eps) * g", no_tune=True)
    doubles = [random(6, 8).double().requires_grad_(), random(8, seed=1).double().requires_grad_()]
    assert torch.autograd.gradcheck(lambda x, g: operator(x, g, eps=0.1), doubles)
    torch.library.opcheck(operator, tuple(doubles), dict(eps=0.1))
    return "value and derivative in three types, gradcheck, opcheck"


@part
def compiled():
    operator = kfuse.torch_op("kfuse_gpu::compiled", "gelu(x + b) * g", no_tune=True)

    def model(x, b, g, f):
        return (f(torch.sin(x), b, g) * 3).sum()
    backend = "inductor" if DEVICE != "cpu" else "aot_eager"
    graph = torch.compile(model, fullgraph=True, backend=backend)
    tensors, grads = [random(64, 40), random(40, seed=1), random(64, 1, seed=2)], []
    for function, f in ((graph, operator), (model, lambda x, b, g: F.gelu(x + b) * g)):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        loss = function(*leaves, f)
        loss.backward()
        grads.append([loss.detach()] + [leaf.grad for leaf in leaves])
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-4)
    return f"fullgraph, forward and backward, {backend}"


@gpu_part
def streams():
    f, stream = fuse("x * 2 + 1"), torch.cuda.Stream()
    x = torch.zeros(1 << 20, device=DEVICE)
    f(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.fill_(3)
        y = f(x)
        early = stream.query()
        y += 1
    assert not early, "the call waited for the stream"
    stream.synchronize()
    close(y, torch.full_like(y, 8))
    return "behind what the caller's stream has to do, and before it is done"


@gpu_part
def two_streams():
    """What a product hands to the softmax behind it is memory of the kernel: each stream has its own."""
    f, w = fuse("softmax(x @ w)"), random(256, 4096, seed=7) / 16
    streams, sets = [torch.cuda.Stream() for _ in range(3)], [random(2048, 256, seed=i) for i in range(3)]
    expected, wrong = [torch.softmax(x.double() @ w.double(), -1).float() for x in sets], 0
    torch.cuda.synchronize()
    for _ in range(20):
        results = []
        for stream, x in zip(streams, sets):
            with torch.cuda.stream(stream):
                results.append(f(x, w))
        torch.cuda.synchronize()
        wrong += sum(not torch.allclose(r, e, rtol=1e-3, atol=1e-6) for r, e in zip(results, expected))
    assert not wrong, f"{wrong} of 60 results are wrong"
    workspace = f.kernel(sets[0], w).workspace
    assert workspace > 0, "this program tests nothing: its kernels share no memory"
    return f"three at once, with {workspace} bytes of workspace each"


@gpu_part
def other_threads():
    f, x, results = fuse("x * 4 - 1"), random(5000), []

    def work():
        results.append(f(x))  # this thread has no current context
        results.append(fuse("x * 4 - 2")(x))
    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    torch.cuda.synchronize()
    assert len(results) == 8
    for result in results:
        assert torch.equal(result, x * 4 - 1) or torch.equal(result, x * 4 - 2)
    return "four threads without a context of their own"


@gpu_part
def graphs():
    stream, w = torch.cuda.Stream(), random(64, 128, seed=1)
    for f, eager in ((fuse("x * 2 + w"), lambda x: x * 2 + w), (fuse("softmax(x @ v)"), lambda x: torch.softmax(x @ w.t(), -1))):
        x, y = torch.zeros(64, 128, device=DEVICE), torch.zeros(64, 128 if f.inputs[1] == "w" else 64, device=DEVICE)
        second = w if f.inputs[1] == "w" else w.t()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            f(x, second, out=y)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            f(x, second, out=y)
        x.copy_(random(64, 128, seed=5))
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(y, eager(x), rtol=1e-3, atol=1e-5)
    return "captured by torch.cuda.graph, replayed: one kernel, and two with memory between them"


class Described:
    def __init__(self, tensor):
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


class Exported:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)


@gpu_part
def interfaces():
    x, b = random(40, 50), random(50, seed=1)
    for kind in Described, Exported:
        for view in x, x.t().contiguous().t(), x[::2, 1:]:
            out = torch.zeros(view.shape[0], b[:view.shape[1]].numel(), device=DEVICE)
            fuse("x * b")(kind(view), kind(b[:view.shape[1]]), out=kind(out))
            torch.cuda.synchronize()
            close(out, view * b[:view.shape[1]])
    try:
        fuse("x * 3")(Described(x))
    except TypeError as refused:
        assert "out=" in str(refused)
    else:
        raise AssertionError("a result was made for a library that is not known")
    return "__cuda_array_interface__ and DLPack, with out="


@gpu_part
def host_arrays():
    x = numpy.arange(10000, dtype="f4").reshape(100, 100)[::-1, ::2]
    numpy.testing.assert_array_equal(fuse("x * 2", device="cuda")(x), x * 2)
    numpy.testing.assert_array_equal(fuse("x * 2")(x), x * 2)
    gpu, cpu = random(3), torch.zeros(3)
    for arrays in ((gpu, cpu), (cpu, gpu)):
        try:
            fuse("x + y")(*arrays)
        except ValueError as refused:
            assert "cuda:0" in str(refused) and "cpu" in str(refused)
        else:
            raise AssertionError("arrays on two devices were taken")
    return "copied there where that is asked for; two devices are refused"


@gpu_part
def closing():
    f = kfuse.fuse("x * 11", no_tune=True, seed=11)
    for n in range(1, 40):
        f(random(n))
    kept, kfuse.KEPT = kfuse.KEPT, 2
    for n in range(40, 45):
        x = random(n)
        y = f(x)
        gc.collect()
        close(y, x * 11)
    kfuse.KEPT = kept
    torch.cuda.synchronize()
    return "kernels are unloaded while others run"


def main():
    global DEVICE
    options = argparse.ArgumentParser()
    options.add_argument("--device", default=DEVICE)
    options.add_argument("--only", help="parts by name, with commas")
    options = options.parse_args()
    DEVICE, failed = options.device, 0
    for function, needs_gpu in PARTS:
        if (needs_gpu and DEVICE == "cpu") or (options.only and function.__name__ not in options.only.split(",")):
            continue
        try:
            print(f"{function.__name__:14} {function()}", flush=True)
        except Exception as failure:
            failed += 1
            print(f"{function.__name__:14} FAILED: {failure}", flush=True)
            traceback.print_exc()
    print(f"{failed} failed" if failed else "all right")
    sys.exit(1 if failed else 0)


main()
