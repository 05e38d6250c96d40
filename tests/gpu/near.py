#!/usr/bin/env python3
"""Near forms on a GPU, at every number of a 16-bit type: functions of one argument by default and with --math strict, from the
same inputs. 1/8 ulp before rounding is one step of the type at most, and a NaN or a zero's sign stays.

    KFUSE=build/release/kfuse tests/gpu/near.py [--device cpu]

Each function has an input of its own, so that no two share a value that one of them needs exactly."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy

FUNCTIONS = """tanh exp exp2 expm1 log log2 log1p erf erfc sqrt gelu gelu_tanh quick_gelu silu mish sigmoid logsigmoid softplus
elu celu selu softsign softcap reciprocal rsqrt logit asinh acosh atanh""".split()
OTHERS = ["tanh({})*0.37", "1/(1+exp(-{}))", "exp(20*tanh({}))", "tanh({})-{}", "tanh(tanh({}))", "clamp(tanh({}),-0.5,0.5)",
          "max(exp({}),0.01)", "sqrt(log1p(exp({})))", "f32({})/3"]
TOGETHER = 10


def program(texts):
    lines = [f"r{i} = {text.format(f'x{i}', f'x{i}')}" for i, text in enumerate(texts)]
    return "; ".join(lines) + "; return " + ", ".join(f"r{i}" for i in range(len(texts)))


def run(kfuse, texts, dtype, math, device, folder):
    """Bits of each result."""
    path = os.path.join(folder, "x.npy")
    numpy.save(path, numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16 if dtype == "f16" else numpy.uint16))
    words = [kfuse, "run", program(texts), "--math", math, "--no-tune", "--quiet"]
    words += ["--device", device] if device else []
    for i in range(len(texts)):
        words += [f"x{i}={path}", "-o", f"r{i}={folder}/r{i}.npy"]
        words += ["--dtype", f"x{i}=bf16"] if dtype == "bf16" else []
    words += ["--out-dtype", dtype]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return [numpy.load(f"{folder}/r{i}.npy").view(numpy.uint16).astype(numpy.int32) for i in range(len(texts))]


def steps(bits):
    """Numbers of the type in their order, by sign and magnitude."""
    return numpy.where(bits & 0x8000, -(bits & 0x7fff), bits)


def compare(text, dtype, near, strict):
    infinity = 0x7c00 if dtype == "f16" else 0x7f80
    nan, nan_strict = (near & 0x7fff) > infinity, (strict & 0x7fff) > infinity
    apart = numpy.where(nan | nan_strict, 0, abs(steps(near) - steps(strict)))
    wrong = (nan != nan_strict) | (apart > 1) | (~nan & (near != strict) & (apart == 0))
    print(f"{text.format('x', 'x'):28} {dtype:5} {int((apart > 0).sum()):6} of 65536 differ, by {int(apart.max())} at most")
    for at in numpy.flatnonzero(wrong)[:5]:
        print(f"    WRONG: of {at:#06x} {near[at]:#06x}, strictly {strict[at]:#06x}")
    return not wrong.any()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--device")
    device = options.parse_args().device
    kfuse = os.path.abspath(os.environ.get("KFUSE", "build/release/kfuse"))
    texts, right = [f"{name}({{}})" for name in FUNCTIONS] + OTHERS, True
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KFUSE_CACHE"] = folder
        for dtype in "bf16", "f16":
            for first in range(0, len(texts), TOGETHER):
                some = texts[first:first + TOGETHER]
                near, strict = (run(kfuse, some, dtype, math, device, folder) for math in ("default", "strict"))
                for text, a, b in zip(some, near, strict):
                    right &= compare(text, dtype, a, b)
    sys.exit(0 if right else 1)


main()
