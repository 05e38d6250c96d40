#!/usr/bin/env python3
"""The programs of examples/programs/ beside NumPy (references.py), on small and odd shapes, in each of their types, with
NaN, infinities and params of other values:

    EVALUATE=build/release/tests/evaluate tests/programs/check.py oracle [NAME…]       what a program means
    KFUSE=build/release/kfuse tests/programs/check.py kernel [NAME…] [--device cuda]   what its kernels compute
    tests/programs/check.py torch [NAME…]           what it is timed against (bench/rivals.py), in float64 on the host

A program ends in an error where no kernel covers it.

How near is near: an output is rounded once to its type, and before that it is computed in f32 (f64 where it is f64), by
some tens of roundings, each relative to the output or, where terms cancel, to what outputs usually are (their root mean
square). What is rounded to the program's type on the way adds as much of it. An integer is compared with the number before it is rounded, which can be half a step away."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

import listing
import references

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import rivals  # noqa: E402

# By symbol, in order: all ones, no rows, odd and small, odd rows, long rows, several vectors.
SIZES = [(1, 1, 1, 1), (0, 5, 3, 2), (3, 5, 7, 2), (67, 33, 4, 5), (5, 1027, 6, 3), (260, 64, 3, 9)]
ODD, ROWS, LONG = SIZES[2], SIZES[3], SIZES[4]
ROUNDING = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}  # relative, at most
UNDERFLOW = {"f64": 0, "f32": 2.0**-150, "f16": 2.0**-25, "bf16": 2.0**-134}  # absolute
STEPS = 32
STORED = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<u2", "i8": "|i1"}


# --- arrays, as float64 that the type holds exactly

def bf16_bits(x):
    bits = x.astype("<f4").view("<u4")
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, nearest).astype("<u2")


def stored(x, dtype):
    return bf16_bits(x) if dtype == "bf16" else x.astype(STORED[dtype])


def numbers(array, dtype):
    return (array.astype("<u4") << 16).view("<f4").astype(float) if dtype == "bf16" else array.astype(float)


def causal(shape):
    return np.where(np.tri(*shape[-2:], dtype=bool), 0.0, -np.inf) * np.ones(shape)


def draw(generator, program, name, shape, dtype):
    span = listing.span(program.values, name)
    if program.values.get(name) == "causal":
        return causal(shape)
    if dtype == "i8":
        return generator.integers(-128, 128, shape).astype(float)
    x = generator.uniform(*span, shape) if span else generator.standard_normal(shape)
    return numbers(stored(x, dtype), dtype)


def plant(arrays, program):
    """Special elements and rows, one after another: the i-th in row i, at place i of it, of its input."""
    for i, (name, value) in enumerate(program.elements + program.rows):
        x = arrays[name] = np.atleast_1d(arrays[name])
        rows = x.reshape(-1, x.shape[-1]) if x.ndim > 1 else x.reshape(-1, 1)
        row = rows[i % len(rows)]
        row[slice(None) if (name, value) in program.rows else i % len(row)] = float(value)


# --- cases

class Case:
    def __init__(self, program, plain, sizes, params=None, special=False):
        self.program, self.plain, self.params, self.special = program, plain, params or {}, special
        self.sizes = dict(zip(program.symbols, sizes))

    def __str__(self):
        sizes = " ".join(f"{symbol}={size}" for symbol, size in self.sizes.items())
        params = "".join(f" {name}={value}" for name, value in self.params.items())
        return f"{self.program.name} {self.plain} {sizes}{params}{' special' if self.special else ''}"

    def inputs(self):
        generator = np.random.default_rng(list(map(ord, self.program.name)) + list(self.sizes.values()))
        arrays = {name: draw(generator, self.program, name, shape, self.program.type_of(name, self.plain))
                  for name, shape in self.program.sized(self.sizes).items()}
        if self.special:
            plant(arrays, self.program)
        return arrays

    def right(self, arrays):
        return self.refer(getattr(references, self.program.name), arrays)

    def stored(self, arrays):
        """What of each output is rounded on the way."""
        function = getattr(references, self.program.name + "_stored", None)
        return self.refer(function, arrays) if function else {}

    def refer(self, function, arrays):
        with np.errstate(all="ignore"):
            return function(**arrays, **{name: float(value) for name, value in self.params.items()})


def cases(program, by):
    """Of the oracle all; a kernel is compiled and judged for each, so that few must do; torch has one type."""
    if by == "torch":
        return [Case(program, program.types[0], sizes) for sizes in SIZES]
    return list(own_cases(program, by))


def own_cases(program, by):
    for plain in program.types:
        first = plain == program.types[0]
        for sizes in SIZES if by == "oracle" else [ODD, LONG] if first else [ROWS]:
            yield Case(program, plain, sizes)
        if program.elements + program.rows and (first or by == "oracle"):
            yield Case(program, plain, ROWS, special=True)
        if program.params and first:
            yield Case(program, plain, ROWS, program.params)


# --- running one, comparing

def command(case, by, options):
    program = case.program
    words = [os.environ["EVALUATE" if by == "oracle" else "KFUSE"], "run", "-f", program.path]
    for name in program.shapes:
        words += [f"{name}={name}.npy", "--dtype", f"{name}={program.type_of(name, case.plain)}"]
    for name, value in case.params.items():
        words += ["--param", f"{name}={value}"]
    return words + (["--no-tune", "--quiet"] + options if by == "kernel" else [])


def allowed(right, dtype):
    finite = right[np.isfinite(right)]
    usual = np.sqrt(np.mean(np.square(finite))) if finite.size else 0
    step = ROUNDING["f64" if dtype == "f64" else "f32"]
    rounding = ROUNDING[dtype] * np.abs(right) + UNDERFLOW[dtype] if dtype in ROUNDING else 0.5
    return rounding + STEPS * step * (np.abs(right) + usual)


def error(out, right, dtype, more):
    """The largest as a part of what is allowed, and where; inf where one is NaN or infinite and the other is not."""
    if out.size == 0:
        return 0, ()
    with np.errstate(all="ignore"):
        near = np.abs(out - right) / (allowed(right, dtype) + more)
    same = (out == right) | (np.isnan(out) & np.isnan(right))
    ratio = np.where(same, 0, np.where(np.isfinite(out) & np.isfinite(right), near, np.inf))
    where = np.unravel_index(np.argmax(ratio), ratio.shape)
    return ratio[where], tuple(map(int, where))


def compare(case, name, array, right, on_the_way):
    dtype = case.program.type_of(name, case.plain)
    if array.dtype.str != STORED[dtype] or array.shape != right.shape:
        raise ValueError(f"{name} is {array.dtype.str} {array.shape}, expected {STORED[dtype]} {right.shape}")
    out = numbers(array, dtype)
    ratio, where = error(out, right, dtype, ROUNDING[case.plain] * on_the_way)
    if ratio > 1:
        raise ValueError(f"{name}{list(where)} is {out[where]!r}, expected {right[where]!r}; "
                         f"{np.isnan(right).sum()} of {right.size} are NaN; {ratio:.3g} of what is allowed")
    return ratio


def run_kfuse(case, by, options, arrays, names):
    words = command(case, by, options)
    for name, x in arrays.items():
        np.save(f"{name}.npy", stored(x, case.program.type_of(name, case.plain)))
    for name in names:
        words += ["-o", f"{name}={name}.out.npy"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"exit {done.returncode}: {done.stderr.strip()}")
    return [np.load(f"{name}.out.npy") for name in names]


def run_torch(case, arrays, right):
    import torch
    out = rivals.programs(torch)[case.program.name](**{name: torch.tensor(x) for name, x in arrays.items()})
    out = [tensor.numpy() for tensor in (out if isinstance(out, tuple) else [out])]
    return [stored(x.reshape(r.shape), case.program.type_of(name, case.plain)) for x, (name, r) in zip(out, right.items())]


def check(case, by, options):
    arrays = case.inputs()
    right = case.right(arrays)
    if by == "torch":
        out = run_torch(case, arrays, right)
    else:
        out = run_kfuse(case, by, options, arrays, right)
    on_the_way = case.stored(arrays)
    return max(compare(case, name, array, right[name], on_the_way.get(name, 0))
               for name, array in zip(right, out, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("by", choices=["oracle", "kernel", "torch"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    failed = 0
    os.environ.update({name: os.path.abspath(os.environ[name]) for name in ("EVALUATE", "KFUSE") if name in os.environ})
    chosen = listing.programs(asked.names)
    for program in chosen:
        program.path = os.path.abspath(program.path)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for case in [case for program in chosen for case in cases(program, asked.by)]:
            try:
                print(f"{case}: {check(case, asked.by, ['--device', asked.device]):.2g} of what is allowed", flush=True)
            except ValueError as wrong:
                failed += 1
                print(f"FAILED {case}: {wrong}", flush=True)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
