#!/usr/bin/env python3
"""Backward programs beside the formulas of textbooks, in NumPy and float64:

    KFUSE=build/release/kfuse EVALUATE=build/release/tests/evaluate tests/programs/grad.py

What `kfuse grad` prints is evaluated by the oracle. unit.grad compares with differences; this, with what was derived by
somebody else."""
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

KFUSE, EVALUATE = os.environ["KFUSE"], os.environ["EVALUATE"]
TOLERANCE = 1e-12
draw = np.random.default_rng(20)
erf = np.vectorize(math.erf)


def rows(function):
    return lambda x: function(x, axis=-1, keepdims=True)


mean, total, largest = rows(np.mean), rows(np.sum), rows(np.max)


def sum_to(e, shape):
    e = e.sum(axis=tuple(range(e.ndim - len(shape))))
    return e.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and e.shape[i] != 1), keepdims=True)


def softmax(x):
    e = np.exp(x - largest(x))
    return e / total(e)


def gelu_slope(x):
    return (1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# --- each: the program, its inputs' shapes, its outputs' shapes, and what is derived by whom

def by_softmax(x, dout):
    y = softmax(x)
    return {"dx": y * (dout - total(y * dout))}


def by_layernorm(x, g, b, dout):
    spread = np.sqrt(mean((x - mean(x)) ** 2) + 1e-5)
    unit = (x - mean(x)) / spread
    d = dout * g
    return {"dx": (d - mean(d) - unit * mean(d * unit)) / spread, "dg": (dout * unit).sum(0), "db": dout.sum(0)}


def by_rmsnorm(x, g, dout):
    size = np.sqrt(mean(x * x) + 1e-5)
    d = dout * g
    return {"dx": d / size - x * mean(d * x) / size ** 3, "dg": (dout * x / size).sum(0)}


def by_logsumexp(x, dout):
    return {"dx": dout * softmax(x)}


def by_mlp(x, w1, b1, w2, dout):
    h = x @ w1 + b1
    dh = dout @ w2.T * gelu_slope(h)
    return {"dx": dh @ w1.T, "dw1": x.T @ dh, "db1": dh.sum(0), "dw2": gelu(h).T @ dout}


def by_attention(q, k, v, dout):
    p = softmax(q @ k.T / 2)
    dp = dout @ v.T
    ds = p * (dp - total(dp * p)) / 2
    return {"dq": ds @ k, "dk": ds.T @ q, "dv": p.T @ dout}


def by_gate(a, b, dout):
    s = sigmoid(a)
    return {"da": dout * b * (s + a * s * (1 - s)), "db": dout * a * s}


def by_squares(x, t, dout):
    d = 2 * (x - t) * dout / x.size
    return {"dx": d, "dt": sum_to(-d, t.shape)}


def by_batches(x, w, dout):
    return {"dx": dout @ w.T, "dw": np.einsum("bik,bij->kj", x, dout)}


def by_bias(x, b, c, dout):
    d = dout * (1 - np.tanh(x + b * c) ** 2)
    return {"dx": d, "db": sum_to(d * c, b.shape), "dc": sum_to(d * b, c.shape)}


CASES = [
    ("softmax(x)", {"x": (3, 7)}, (3, 7), by_softmax),
    ("layernorm(x, g, b)", {"x": (5, 8), "g": (8,), "b": (8,)}, (5, 8), by_layernorm),
    ("rmsnorm(x, g)", {"x": (5, 8), "g": (8,)}, (5, 8), by_rmsnorm),
    ("m = max(x); m + log(sum(exp(x - m)))", {"x": (4, 6)}, (4, 1), by_logsumexp),
    ("gelu(x @ w1 + b1) @ w2", {"x": (3, 5), "w1": (5, 4), "b1": (4,), "w2": (4, 2)}, (3, 2), by_mlp),
    ("softmax(q @ k.T / 2) @ v", {"q": (3, 4), "k": (6, 4), "v": (6, 2)}, (3, 2), by_attention),
    ("silu(a) * b", {"a": (4, 5), "b": (4, 5)}, (4, 5), by_gate),
    ("mean((x - t) ** 2, axis=all)", {"x": (4, 5), "t": (5,)}, (1, 1), by_squares),
    ("x @ w", {"x": (3, 4, 5), "w": (5, 2)}, (3, 4, 2), by_batches),
    ("tanh(x + b * c)", {"x": (3, 4, 5), "b": (4, 1), "c": (1, 5)}, (3, 4, 5), by_bias),
]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def check(expression, shapes, output, function):
    text = run(KFUSE, "grad", expression)
    arrays = {name: draw.standard_normal(shape) for name, shape in [*shapes.items(), ("dout", output)]}
    expected, read = function(**arrays), set(re.findall(r"\w+", text))
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    words = [f"{name}={name}.npy" for name in arrays if name in read]
    run(EVALUATE, "run", text, *words, *[w for name in expected for w in ("-o", f"{name}={name}.out.npy")])
    for name, value in expected.items():
        got = np.load(f"{name}.out.npy")
        scale = np.abs(value).max()
        if got.shape != value.shape or not np.abs(got - value).max() <= TOLERANCE * scale:
            sys.exit(f"{expression}: {name} is\n{got}\nnot\n{value}\n{text}")
    print(f"{expression}: {', '.join(expected)}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for case in CASES:
        check(*case)
