"""What cpu_rivals.py measures: expressions, and what a user of NumPy, numexpr and JAX would write for each. Where a library
has a function for a whole or a part of it, that is taken: it is the stronger rival. None: it cannot be said there."""
import math

import cells

SHAPES = ["256x256", "1024x1024", "4096x4096", "4095x4097"]
SMALL = "7x13"  # of --check
WIDE = ["1024x1024"]  # of the types besides f32
SLOW, SLOW_SHAPES = ["black_scholes"], ["256x256", "1024x1024"]  # NumPy takes seconds for more
HALF = -math.sqrt(0.5)
RATE = 0.02


def full(*names):
    return lambda m, n: {name: (m, n) for name in names}


def with_rows(names, rows):
    """`names` of the whole shape, `rows` of one row."""
    return lambda m, n: {**{name: (m, n) for name in names}, **{name: (n,) for name in rows}}


def flat(*names):
    return lambda m, n: {name: (m * n,) for name in names}


ROTARY = "y1 = x1 * cos - x2 * sin; y2 = x2 * cos + x1 * sin; return y1, y2"
OPS = {  # expression, shapes of its inputs, types
    "relu(x + res)": ("relu(x + res)", full("x", "res"), "f32 f64 bf16"),
    "x * y + z": ("x * y + z", full("x", "y", "z"), "f32"),
    "gelu(x + b)": ("gelu(x + b)", with_rows(["x"], ["b"]), "f32 f64"),
    "gelu(x + b) + res": ("gelu(x + b) + res", with_rows(["x", "res"], ["b"]), "f32 bf16"),
    "silu(x) * res": ("silu(x) * res", full("x", "res"), "f32 f64 bf16"),
    "tanh chain": ("tanh(x * res + b) * sigmoid(x) + 0.5 * res", with_rows(["x", "res"], ["b"]), "f32 bf16"),
    "rotary": (ROTARY, with_rows(["x1", "x2"], ["cos", "sin"]), "f32"),
    "black_scholes": (cells.PROGRAMS["black_scholes"].text, flat("s", "k", "t", "v"), "f32"),
    "softmax": ("softmax(x)", full("x"), "f32 f64 bf16"),
    "layernorm": ("layernorm(x, g, b)", with_rows(["x"], ["g", "b"]), "f32 bf16"),
    "rmsnorm": ("rmsnorm(x, g)", with_rows(["x"], ["g"]), "f32"),
    "sum(x)": ("sum(x)", full("x"), "f32 f64"),
    "sum(x, axis=0)": ("sum(x, axis=0)", full("x"), "f32"),
    "sum(x, axis=all)": ("sum(x, axis=all)", full("x"), "f32"),
}


def cell(op, shape, dtype, group):
    text, shapes, _ = OPS[op]
    inputs = {name: (dims, dtype) for name, dims in shapes(*map(int, shape.split("x"))).items()}
    values = cells.PROGRAMS[op].values if op in cells.PROGRAMS else {}
    return cells.Cell(group, op, shape, dtype, text, [text], inputs, values, False)


def asked(op, shape, dtype):
    quick = (dtype == "f32" or shape in WIDE) and (op not in SLOW or shape in SLOW_SHAPES)
    return dtype in OPS[op][2].split() and (quick or shape == SMALL)


def listed(ops, types, shapes, group):
    return [cell(op, shape, dtype, group) for op in ops for dtype in types for shape in shapes if asked(op, shape, dtype)]


# --- rivals, inputs by name

def numpy(np, erf):
    """`erf` is SciPy's, or None."""
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def gelu(x):
        return 0.5 * x * (1 + erf(x * -HALF))

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def layernorm(x, g, b):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b

    def black_scholes(s, k, t, v):
        root = v * np.sqrt(t)
        d1 = (np.log(s / k) + (RATE + 0.5 * v * v) * t) / root
        d2, paid = d1 - root, k * np.exp(-RATE * t)
        area1, area2 = 0.5 * (1 + erf(d1 * -HALF)), 0.5 * (1 + erf(d2 * -HALF))
        return s * area1 - paid * area2, paid * (1 - area2) - s * (1 - area1)

    return {
        "relu(x + res)": lambda x, res: np.maximum(x + res, 0),
        "x * y + z": lambda x, y, z: x * y + z,
        "gelu(x + b)": erf and (lambda x, b: gelu(x + b)),
        "gelu(x + b) + res": erf and (lambda x, b, res: gelu(x + b) + res),
        "silu(x) * res": lambda x, res: x * sigmoid(x) * res,
        "tanh chain": lambda x, res, b: np.tanh(x * res + b) * sigmoid(x) + 0.5 * res,
        "rotary": lambda x1, x2, cos, sin: (x1 * cos - x2 * sin, x2 * cos + x1 * sin),
        "black_scholes": erf and black_scholes,
        "softmax": softmax,
        "layernorm": layernorm,
        "rmsnorm": lambda x, g: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * g,
        "sum(x)": lambda x: x.sum(-1, keepdims=True),
        "sum(x, axis=0)": lambda x: x.sum(0, keepdims=True),
        "sum(x, axis=all)": lambda x: x.sum(keepdims=True),
    }


# One expression each; numexpr has no erf, no broadcast result of a reduction, and constants are f64 unless they are whole.
NUMEXPR = {
    "relu(x + res)": "where(x + res < 0, 0, x + res)",
    "x * y + z": "x * y + z",
    "silu(x) * res": "x / (1 + exp(-x)) * res",
    "tanh chain": "tanh(x * res + b) / (1 + exp(-x)) + res / 2",
    "sum(x)": "sum(x, axis=1)",
    "sum(x, axis=0)": "sum(x, axis=0)",
    "sum(x, axis=all)": "sum(x)",
}


def jax(jax_):
    np, nn, stats = jax_.numpy, jax_.nn, jax_.scipy.stats.norm

    def layernorm(x, g, b):
        return (x - x.mean(-1, keepdims=True)) * jax_.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b

    def black_scholes(s, k, t, v):
        root = v * np.sqrt(t)
        d1 = (np.log(s / k) + (RATE + 0.5 * v * v) * t) / root
        d2, paid = d1 - root, k * np.exp(-RATE * t)
        return s * stats.cdf(d1) - paid * stats.cdf(d2), paid * stats.cdf(-d2) - s * stats.cdf(-d1)

    return {
        "relu(x + res)": lambda x, res: nn.relu(x + res),
        "x * y + z": lambda x, y, z: x * y + z,
        "gelu(x + b)": lambda x, b: nn.gelu(x + b, approximate=False),
        "gelu(x + b) + res": lambda x, b, res: nn.gelu(x + b, approximate=False) + res,
        "silu(x) * res": lambda x, res: nn.silu(x) * res,
        "tanh chain": lambda x, res, b: np.tanh(x * res + b) * nn.sigmoid(x) + 0.5 * res,
        "rotary": lambda x1, x2, cos, sin: (x1 * cos - x2 * sin, x2 * cos + x1 * sin),
        "black_scholes": black_scholes,
        "softmax": lambda x: nn.softmax(x, -1),
        "layernorm": layernorm,
        "rmsnorm": lambda x, g: x * jax_.lax.rsqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * g,
        "sum(x)": lambda x: x.sum(-1, keepdims=True),
        "sum(x, axis=0)": lambda x: x.sum(0, keepdims=True),
        "sum(x, axis=all)": lambda x: x.sum(keepdims=True),
    }
