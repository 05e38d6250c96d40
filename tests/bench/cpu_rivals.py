#!/usr/bin/env python3
"""kfuse beside NumPy, numexpr and JAX on the CPU, on one thread and on two, under one protocol (cpu.py):

    tests/bench/cpu_rivals.py [--ops 'softmax;x * y + z'] [--types f32,f64,bf16] [--shapes 256x256,…] [--threads 1,2]
                              [--out FILE.json] [kfuse's options…]
    tests/bench/cpu_rivals.py --table FILE.json     a table in Markdown of what --out wrote

Each cell (cpu_ops.py) is tuned by the command line, whose kernel is then launched on NumPy's arrays through libkfuse, and
is first compared with NumPy's result in float64. A rival that is not installed (pip install numexpr scipy 'jax[cpu]') or
cannot say an expression is a column of '-'; NumPy alone is needed. $BUILD names the build folder (default build/release).
--check: one small shape.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import bench
import cpu_ops
from bench import number
from cpu import Cpu

RIVALS = ("numpy", "numexpr", "jax")
TYPES = ("f32", "f64", "bf16")
TUNING = ["--effort", "quick", "--budget", "1"]  # unless kfuse's options say otherwise


def rival_columns(name):
    return [(f"{name} us", 10, lambda r: number(r["us"].get(name), ".1f"))]


def ratio_columns(name):
    return [(f"{name}/kfuse", 13, lambda r: number(r["ratio"].get(name), ".2f"))]


COLUMNS = [
    ("op", -17, lambda r: r["op"]),
    ("shape", -9, lambda r: r["shape"]),
    ("type", -4, lambda r: r["dtype"]),
    ("threads", -9, lambda r: r["group"]),
    ("kfuse us", 9, lambda r: number(r["us"]["kfuse"], ".1f")),
    *(column for name in RIVALS for column in rival_columns(name)),
    *(column for name in RIVALS for column in ratio_columns(name)),
    ("roof", 5, lambda r: number(r["roof_fraction"], ".0%")),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--ops", default=";".join(cpu_ops.OPS))
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--shapes", default=",".join(cpu_ops.SHAPES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--out", metavar="FILE.json")
    parser.add_argument("--table", metavar="FILE.json")
    parser.add_argument("--check", action="store_true")
    known, options = parser.parse_known_args()
    known.ops = known.ops.split(";")
    for key in ("types", "shapes", "threads"):
        setattr(known, key, getattr(known, key).split(","))
    cpus = len(os.sched_getaffinity(0))
    if max(map(int, known.threads)) > cpus:
        parser.error(f"--threads: {cpus} CPUs are given to this process")
    for key, names in [("ops", cpu_ops.OPS), ("types", TYPES)]:
        for name in getattr(known, key):
            if name not in names:
                parser.error(f"--{key} has no '{name}': choose from {', '.join(names)}")
    return known, options


def group(threads):
    return f"{threads} thread{'s' * (threads > 1)}"


def run_one(asked, options):
    """All cells with one number of threads; exits by itself."""
    machine = Cpu(int(asked.threads[0]))
    types = [dtype for dtype in asked.types if dtype != "bf16" or machine.jax]
    list_ = cpu_ops.listed(asked.ops, types, [cpu_ops.SMALL] if asked.check else asked.shapes, group(machine.threads))
    return bench.with_store(lambda: bench.run(machine, list_, COLUMNS, TUNING + options, asked.out))


def run_each(asked, options):
    """A process for each number of threads (JAX takes it once, when it is loaded); their rows in one file."""
    status, found = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for threads in asked.threads:
            out = os.path.join(folder, "out.json")
            done = subprocess.run([sys.executable, os.path.abspath(__file__), *(["--check"] if asked.check else []),
                                   "--ops", ";".join(asked.ops), "--types", ",".join(asked.types), "--shapes",
                                   ",".join(asked.shapes), "--threads", threads, "--out", out, *options])
            status = status or done.returncode
            if os.path.exists(out):
                with open(out) as file:
                    found.append(json.load(file))
    if asked.out:
        bench.save(asked.out, "; ".join(f["machine"] for f in found), [r for f in found for r in f["rows"]],
                   [failure for f in found for failure in f["failures"]])
    return status


def main():
    asked, options = arguments()
    if asked.table:
        return bench.markdown([asked.table], COLUMNS)
    return (run_one if len(asked.threads) == 1 else run_each)(asked, options)


if __name__ == "__main__":
    sys.exit(main())
