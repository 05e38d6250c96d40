#!/usr/bin/env python3
"""Writes ops-values.txt: what functions of the registry are worth, by their textbook definitions in 60
digits (pip install mpmath). Nothing here knows the registry's formulas: this is what they are held to.

A line is `name argument... = value`. Arguments are floats in f32's range whose decimals are exact in f32
and in f64. Values have 25 digits and are not rounded to any type; where they are too small for f64 they
stand as the zero that they round to, where too large as the infinity. `+0` and `-0` want that sign, `0` is
any zero.
"""
import struct
import sys
from itertools import product

from mpmath import mp, mpf, inf, nan

mp.dps = 60
# sin(3e38) needs the digits of its argument's exponent.
EXTRA = 60


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


MAX = f32(3.4028234663852886e38)
SIZES = [1e-40, 1e-30, 1e-10, 1e-3, 0.1, 0.25, 0.3, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 5, 7.3, 10, 20, 50,
         88, 100, 1000, 4194304.5, 1e10, 1e30, MAX]
PROBES = [0.0] + [f32(x) for x in SIZES] + [float("inf")]
PROBES = [-x for x in reversed(PROBES)] + PROBES + [float("nan")]
FEW = [float("-inf"), -1000.0, -5.0, -1.0, -0.0, 0.0, f32(0.3), 1.0, 5.0, 1000.0, float("inf"), float("nan")]


def is_nan(x):
    return x != x


def negative(x):
    return struct.pack("d", x)[7] & 0x80 != 0


def show_argument(x):
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


def show(value):
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, mp.mpc):
        if value.imag:
            return "nan"
        value = value.real
    value = mpf(value)
    if is_nan(value):
        return "nan"
    if abs(value) > mpf("1.797693134862315e308"):
        return "inf" if value > 0 else "-inf"
    if value and abs(value) < mpf("2e-324"):
        return "+0" if value > 0 else "-0"
    return "0" if not value else mp.nstr(value, 25, strip_zeros=True, min_fixed=-5, max_fixed=25).removesuffix(".0")


# --- definitions

def sign(x):
    return mpf(x > 0) - mpf(x < 0)


def half_even(x):
    floor = mp.floor(x)
    rest = x - floor
    return floor + (rest > 0.5 or (rest == 0.5 and floor % 2 == 1))


def half_away(x):
    return sign(x) * mp.floor(abs(x) + mpf(0.5))


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def sigmoid(x):
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def tanh_gate(x):
    """(1 + tanh(u)) / 2, whose sum would cancel, is sigmoid(2 u)."""
    return sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3))


def elu(x, alpha=1):
    return x if x > 0 else alpha * mp.expm1(x)


def real(function, low, high=inf):
    """NaN outside of the domain."""
    return lambda x: function(x) if low <= x <= high else nan


def clamp(x, lo, hi):
    return nan if is_nan(x) else lo if x < lo else hi if x > hi else x


SELU, SELU_ALPHA = mpf("1.0507009873554804934193349852946"), mpf("1.6732632423543772848170429916717")
KEEP = ("-0", "+0")  # f(-0) = -0, f(0) = 0
ANY = None  # the definition's value

# name: definition, its limits at -inf and inf, its values at -0 and 0
UNARY = {
    "neg": (lambda x: -x, inf, -inf, ("+0", "-0")),
    "abs": (abs, inf, inf, ("+0", "+0")),
    "fabs": (abs, inf, inf, ("+0", "+0")),
    "sign": (sign, -1, 1, KEEP),
    "square": (lambda x: x * x, inf, inf, ("+0", "+0")),
    "reciprocal": (lambda x: 1 / x, "-0", "+0", ("-inf", "inf")),
    "sqrt": (real(mp.sqrt, 0), nan, inf, KEEP),
    "rsqrt": (real(lambda x: 1 / mp.sqrt(x), 0), nan, "+0", ("-inf", "inf")),
    "rsqrtf": (real(lambda x: 1 / mp.sqrt(x), 0), nan, "+0", ("-inf", "inf")),
    "cbrt": (lambda x: sign(x) * mp.cbrt(abs(x)), -inf, inf, KEEP),
    "floor": (mp.floor, -inf, inf, KEEP),
    "ceil": (mp.ceil, -inf, inf, KEEP),
    "trunc": (lambda x: sign(x) * mp.floor(abs(x)), -inf, inf, KEEP),
    "round": (half_even, -inf, inf, KEEP),
    "nearbyintf": (half_even, -inf, inf, KEEP),
    "roundf": (half_away, -inf, inf, KEEP),
    "deg2rad": (mp.radians, -inf, inf, KEEP),
    "rad2deg": (mp.degrees, -inf, inf, KEEP),
    "isnan": (lambda x: 0, 0, 0, ANY),
    "isinf": (lambda x: 0, 1, 1, ANY),
    "isfinite": (lambda x: 1, 0, 0, ANY),
    "nan_to_num": (lambda x: x, -MAX, MAX, KEEP),
    "heaviside": (lambda x: x > 0, 0, 1, ("0.5", "0.5")),
    "exp": (mp.exp, "+0", inf, ANY),
    "exp2": (lambda x: mp.power(2, x), "+0", inf, ANY),
    "expm1": (mp.expm1, -1, inf, KEEP),
    "log": (real(mp.log, 0), nan, inf, (-inf, -inf)),
    "log2": (real(lambda x: mp.log(x, 2), 0), nan, inf, (-inf, -inf)),
    "log10": (real(mp.log10, 0), nan, inf, (-inf, -inf)),
    "log1p": (real(lambda x: mp.log1p(x) if x > -1 else -inf, -1), nan, inf, KEEP),
    "sin": (mp.sin, nan, nan, KEEP),
    "cos": (mp.cos, nan, nan, ANY),
    "tan": (mp.tan, nan, nan, KEEP),
    "asin": (real(mp.asin, -1, 1), nan, nan, KEEP),
    "acos": (real(mp.acos, -1, 1), nan, nan, ANY),
    "atan": (mp.atan, -mp.pi / 2, mp.pi / 2, KEEP),
    "sinh": (mp.sinh, -inf, inf, KEEP),
    "cosh": (mp.cosh, inf, inf, ANY),
    "tanh": (mp.tanh, -1, 1, KEEP),
    "asinh": (lambda x: sign(x) * mp.asinh(abs(x)), -inf, inf, KEEP),
    "asinhf": (lambda x: sign(x) * mp.asinh(abs(x)), -inf, inf, KEEP),
    "acosh": (real(mp.acosh, 1), nan, inf, (nan, nan)),
    "acoshf": (real(mp.acosh, 1), nan, inf, (nan, nan)),
    "atanh": (real(lambda x: mp.atanh(x) if abs(x) < 1 else x * inf, -1, 1), nan, nan, KEEP),
    "atanhf": (real(lambda x: mp.atanh(x) if abs(x) < 1 else x * inf, -1, 1), nan, nan, KEEP),
    "erf": (mp.erf, -1, 1, KEEP),
    "erfc": (mp.erfc, 2, "+0", ANY),
    "logit": (real(lambda x: mp.log(x / (1 - x)) if x < 1 else inf, 0, 1), nan, nan, (-inf, -inf)),
    "relu": (lambda x: max(x, mpf(0)), 0, inf, KEEP),
    "relu6": (lambda x: clamp(x, 0, 6), 0, 6, KEEP),
    "squared_relu": (lambda x: max(x, mpf(0)) ** 2, 0, inf, ANY),
    "leaky_relu": (lambda x: x if x > 0 else x / 100, -inf, inf, KEEP),
    "elu": (elu, -1, inf, KEEP),
    "selu": (lambda x: SELU * elu(x, SELU_ALPHA), -SELU * SELU_ALPHA, inf, KEEP),
    "celu": (elu, -1, inf, KEEP),
    "gelu": (lambda x: x * normal(x), "-0", inf, KEEP),
    "gelu_tanh": (lambda x: x * tanh_gate(x), "-0", inf, KEEP),
    "quick_gelu": (lambda x: x * sigmoid(mpf("1.702") * x), "-0", inf, KEEP),
    "silu": (lambda x: x * sigmoid(x), "-0", inf, KEEP),
    "mish": (lambda x: x * mp.tanh(softplus(x)), "-0", inf, KEEP),
    "sigmoid": (sigmoid, "+0", 1, ANY),
    "logsigmoid": (lambda x: -softplus(-x), -inf, 0, ANY),
    "hardsigmoid": (lambda x: clamp(x + 3, 0, 6) / 6, 0, 1, ANY),
    "hardswish": (lambda x: x * clamp(x + 3, 0, 6) / 6, 0, inf, KEEP),
    "hardtanh": (lambda x: clamp(x, -1, 1), -1, 1, KEEP),
    "softplus": (softplus, "+0", inf, ANY),
    "softsign": (lambda x: x / (1 + abs(x)), -1, 1, KEEP),
    "softcap": (lambda x: 30 * mp.tanh(x / 30), -30, 30, KEEP),
    "tanhshrink": (lambda x: x - mp.tanh(x), -inf, inf, ANY),
    "softshrink": (lambda x: sign(x) * max(abs(x) - mpf(0.5), mpf(0)), -inf, inf, ANY),
    "hardshrink": (lambda x: x if abs(x) > 0.5 else 0, -inf, inf, ANY),
}


def divide(a, b):
    if b:
        return a / b
    return "any inf" if abs(a) > 0 else nan


def larger(a, b):
    return nan if is_nan(a) or is_nan(b) else max(a, b)


def smaller(a, b):
    return nan if is_nan(a) or is_nan(b) else min(a, b)


def c_larger(a, b):
    return b if is_nan(a) else a if is_nan(b) else max(a, b)


def c_smaller(a, b):
    return b if is_nan(a) else a if is_nan(b) else min(a, b)


def logaddexp(a, b):
    if is_nan(a) or is_nan(b):
        return nan
    if abs(a) == inf or abs(b) == inf:
        return max(a, b)
    return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def xlogy(x, y):
    if is_nan(x) or is_nan(y) or y < 0:
        return nan if x or is_nan(y) else 0
    return 0 if not x else x * mp.log(y) if y else x * -inf


def gate(name):
    """A factor: what no float can hold is 0, which times infinity is NaN."""
    function, low, high, _ = UNARY[name]
    low = mpf(0) if isinstance(low, str) else mpf(low)

    def value(x):
        if is_nan(x) or abs(x) == inf:
            return nan if is_nan(x) else mpf(high) if x > 0 else low
        result = function(x)
        return result if abs(result) > mpf("2e-324") else mpf(0)

    return value


def positive_difference(a, b):
    return nan if is_nan(a) or is_nan(b) else mpf(0) if a <= b else a - b


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": divide,
    "bias_add": lambda a, b: a + b,
    "max": larger,
    "min": smaller,
    "fmax": c_larger,
    "fmin": c_smaller,
    "fdim": positive_difference,
    "fdimf": positive_difference,
    "logaddexp": logaddexp,
    "xlogy": xlogy,
    "prelu": lambda x, a: nan if is_nan(x) else a * x if x < 0 else x,
    "glu": lambda a, b: a * gate("sigmoid")(b),
    "swiglu": lambda a, b: gate("silu")(a) * b,
    "geglu": lambda a, b: gate("gelu")(a) * b,
    "reglu": lambda a, b: gate("relu")(a) * b,
}


def lerp(a, b, t):
    return a + t * (b - a)


def fake_quant(x, scale, zero=0, lo=-128, hi=127):
    return (clamp(half_even(x / scale) + zero, lo, hi) - zero) * scale


GROUPS = [
    ("mod", lambda a, b: a - b * mp.floor(a / b), [[-7, -6, -1, 0, 2.5, 6, 7], [-3, -2.5, 2, 3]]),
    ("pow", lambda a, b: mp.power(a, b), [[0.5, 1, 2.5, 10], [-3, -0.5, 0, 1, 2.5, 30]]),
    ("pow", lambda a, b: mp.power(a, b), [[-2.5, -1], [-3, 2, 5]]),
    ("atan2", mp.atan2, [[-5, -1, 0.25, 3], [-1000, -2, 0.5, 7]]),
    ("hypot", mp.hypot, [[-5, 0, 3, 1e30], [-4, 0, 12, 1e30]]),
    ("fmod", lambda a, b: sign(a) * (abs(a) % abs(b)), [[-7, -6, -1, 2.5, 6, 7], [-3, -2.5, 2, 3]]),
    ("copysign", lambda a, b: abs(a) * (-1 if b < 0 else 1), [[-5, 3], [-1, 2]]),
    ("fma", lambda a, b, c: a * b + c, [[-3, 1 + 2**-12], [2, 1 + 2**-12], [-1, 5]]),
    ("clamp", clamp, [FEW, [-1], [0.5, 5]]),
    ("clip", clamp, [FEW, [-1], [0.5, 5]]),
    ("hardtanh", clamp, [FEW, [-2], [3]]),
    ("where", lambda c, a, b: a if c else b, [[0, 1], [-5, float("inf")], [2, float("nan")]]),
    ("lerp", lerp, [[-5, 3], [-1, 4], [0, 0.25, 0.5, 0.75, 1, 2]]),
    ("addcmul", lambda x, a, b, v=1: x + v * a * b, [[-5, 2], [0.5, 3], [-1, 7]]),
    ("addcmul", lambda x, a, b, v=1: x + v * a * b, [[-5, 2], [0.5, 3], [-1, 7], [0.25]]),
    ("addcdiv", lambda x, a, b, v=1: x + v * a / b, [[-5, 2], [0.5, 3], [-1, 7]]),
    ("addcdiv", lambda x, a, b, v=1: x + v * a / b, [[-5, 2], [0.5, 3], [-1, 7], [0.25]]),
    ("threshold", lambda x, at, v: x if is_nan(x) or x > at else v, [FEW, [0, 1], [-7]]),
    ("dropout_apply", lambda x, m: 2 * x if m else 0, [[-5, 0.25, float("nan")], [0, 1]]),
    ("dropout_apply", lambda x, m, p: x / (1 - p) if m else 0, [[-5, 0.25], [0, 1], [0, 0.25]]),
    ("fake_quant", fake_quant, [[-1000, -5, -0.25, 0, 0.375, 5, 1000], [0.25, 0.5]]),
    ("fake_quant", fake_quant, [[-1000, -5, -0.25, 0, 0.375, 5, 1000], [0.25, 0.5], [3], [0], [255]]),
    ("leaky_relu", lambda x, a: x if x > 0 else a * x, [[-5, 2], [0.25]]),
    ("elu", lambda x, a: elu(x, a), [[-5, -1, 2], [0.5]]),
    ("celu", lambda x, a: x if x > 0 else a * mp.expm1(x / a), [[-5, -1, 2], [0.5]]),
    ("softcap", lambda x, cap: cap * mp.tanh(x / cap), [[-100, -1, 2], [0.5, 50]]),
    ("softshrink", lambda x, w: sign(x) * max(abs(x) - w, mpf(0)), [[-5, -1, 2], [1.25]]),
    ("hardshrink", lambda x, w: x if abs(x) > w else 0, [[-5, -1, 2], [1.25]]),
    ("heaviside", lambda x, z: z if not x else x > 0, [[-5, 0, 2], [1]]),
    ("nan_to_num", lambda x, v: v if is_nan(x) else x, [[-5, float("nan")], [7]]),
    ("nan_to_num", lambda x, v, hi, lo: v if is_nan(x) else clamp(x, lo, hi), [FEW, [7], [100], [-100]]),
]


def unary_value(name, x):
    function, low, high, zeros = UNARY[name]
    if is_nan(x):
        return {"isnan": 1, "isinf": 0, "isfinite": 0, "nan_to_num": 0}.get(name, nan)
    if abs(x) == inf:
        return high if x > 0 else low
    if not x and zeros:
        return zeros[0 if negative(x) else 1]
    with mp.extradps(EXTRA):
        return function(mpf(x))


def lines():
    for name in UNARY:
        for x in PROBES:
            yield name, [x], unary_value(name, x)
    for name, function in BINARY.items():
        for pair in product(FEW, FEW):
            yield name, pair, function(*map(mpf, pair))
    for name, function, axes in GROUPS:
        for args in product(*axes):
            args = [f32(x) for x in args]
            yield name, args, function(*map(mpf, args))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else __file__.replace("make-ops-values.py", "ops-values.txt")
    with open(path, "w") as out:
        out.write("# Written by make-ops-values.py, which says what a line means.\n")
        for name, args, value in lines():
            if value != "any inf":
                out.write(f"{name} {' '.join(map(show_argument, args))} = {show(value)}\n")


main()
