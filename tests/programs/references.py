"""What the programs of examples/programs/ should compute, by NumPy in float64, written from each one's definition and
not from its text. In: arrays and params by the program's names. Out: a dictionary of its outputs. An int8 output is
given before it is rounded, so that a comparison can tell a wrong number from a tie. NAME_stored gives, for each output
of program NAME, the sum of magnitudes of its terms that are rounded to the program's type on the way."""
import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def rows(function, x):
    """`function` of each row by itself, as a column."""
    flat = x.reshape(-1, x.shape[-1])
    return np.array([function(row) for row in flat], float).reshape(x.shape[:-1] + (1,))


def sigmoid(x):
    return 0.5 * (1 + np.tanh(x / 2))


def gaussian(x):
    """The normal distribution, by whichever of erf and erfc keeps its digits."""
    return np.where(x < 0, erfc(-x / math.sqrt(2)) / 2, (1 + erf(x / math.sqrt(2))) / 2)


def root_mean_square(row, eps):
    return math.sqrt(np.dot(row, row) / len(row) + eps)


def log_sum_exp(row):
    return np.log(np.exp(row).sum())


# --- the programs, by name

def rmsnorm(x, g, eps=1e-5):
    return {"out": x / rows(lambda row: root_mean_square(row, eps), x) * g}


def rmsnorm_residual(x, res, g, eps=1e-5):
    return {"y": rmsnorm(x + res, g, eps)["out"], "h": x + res}


def residual_layernorm(x, res, g, b, eps=1e-5):
    h = x + res
    mean, deviation = rows(np.mean, h), rows(lambda row: math.sqrt(np.var(row) + eps), h)
    return {"y": (h - mean) / deviation * g + b, "h": h}


def swiglu(x, w1, w2):
    gate = np.einsum("mk,kn->mn", x, w1)
    return {"out": gate * sigmoid(gate) * np.einsum("mk,kn->mn", x, w2)}


def swiglu_gate(a, b):
    return {"out": a * sigmoid(a) * b}


def gelu_mlp(x, w1, b1, w2, b2):
    hidden = np.einsum("mk,kf->mf", x, w1) + b1
    return {"out": np.einsum("mf,fn->mn", hidden * gaussian(hidden), w2) + b2}


def gelu_mlp_stored(x, w1, b1, w2, b2):
    """What a product reads is stored."""
    hidden = np.einsum("mk,kf->mf", x, w1) + b1
    return {"out": np.einsum("mf,fn->mn", np.abs(hidden * gaussian(hidden)), np.abs(w2))}


def rotary(x1, x2, cos, sin):
    """As a product of complex numbers where all is finite (their product mixes NaN and inf)."""
    with np.errstate(all="ignore"):
        turned = (x1 + 1j * x2) * (cos + 1j * sin)
    finite = np.isfinite(x1) & np.isfinite(x2)
    return {"y1": np.where(finite, turned.real, x1 * cos - x2 * sin),
            "y2": np.where(finite, turned.imag, x1 * sin + x2 * cos)}


def attention_softmax(x, mask, scale=0.125):
    scores = x * scale + mask
    return {"out": np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)}


def log_softmax(x):
    return {"out": x - rows(log_sum_exp, x)}


def cross_entropy(x, picked):
    return {"loss": rows(log_sum_exp, x) - picked}


def l2_normalise(x, eps=1e-12):
    return {"out": x / rows(lambda row: max(np.linalg.norm(row), eps) if row.size else eps, x)}


def quantise(x):
    """NaN, of 0 / 0 and inf / inf too, becomes 0."""
    s = rows(lambda row: np.max(np.abs(row)), x) / 127
    return {"q": np.nan_to_num(x / s, nan=0), "s": s}


def dequantise(q, s):
    return {"out": q * s}


def batchnorm_relu(x, mean, var, g, b, eps=1e-5):
    y = x * (g / np.sqrt(var + eps)) + (b - mean * g / np.sqrt(var + eps))
    return {"out": np.where(np.isnan(y), y, np.maximum(y, 0))}


def adamw(p, g, m, v, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01, bias1=0.1, bias2=0.001, **rests):
    """By Loshchilov and Hutter's algorithm 2. `rests` are 1 - beta1 and 1 - beta2."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g ** 2
    step = (m / bias1) / (np.sqrt(v / bias2) + eps)
    return {"p": p - lr * step - lr * weight_decay * p, "m": m, "v": v}


def black_scholes(s, k, t, v, rate=0.02):
    """The put by its own integral, not by parity: that would cancel."""
    forward, discount = s * np.exp(rate * t), np.exp(-rate * t)
    moneyness, deviation = np.log(forward / k), v * np.sqrt(t)
    above, below = moneyness / deviation + deviation / 2, moneyness / deviation - deviation / 2
    return {"call": discount * (forward * gaussian(above) - k * gaussian(below)),
            "put": discount * (k * gaussian(-below) - forward * gaussian(-above))}


def mean_squared_error(x, y):
    return {"out": np.full((1,) * x.ndim, np.square(x - y).mean() if x.size else np.nan)}
