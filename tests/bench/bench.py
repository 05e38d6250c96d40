#!/usr/bin/env python3
"""kfuse beside torch eager (products: cuBLAS) and torch.compile, in one run under one protocol:

    tests/bench/bench.py [--groups elementwise,transposed,rows,matmul,programs] [--ops softmax,adamw,…]
                         [--types f32,bf16,f16] [--shapes 4096x4096,…] [--slice 1/2] [--alone] [--out FILE.json] [kfuse's options…]
    tests/bench/bench.py --table FILE.json…         a table in Markdown of what --out wrote

--slice I/N measures every N-th cell from the I-th on, --alone kfuse without a rival. Elementwise and transposed
cells meet torch.compile's max-autotune as well.

Each cell (cells.py; `programs` are those of examples/programs/) is tuned by the command line, whose kernel is then
launched on torch's arrays through libkfuse. Every call works on the next of as many sets of arrays as exceed four times
the L2; calls are captured into one CUDA graph a contender; graphs are replayed in turn; times are medians by CUDA
events. kfuse's outputs are first compared with torch's in float64. Kernels are those of a captured call; bytes are what
kfuse must move, and what eager's operations read and write. $BUILD names the build folder (default build/release).
--check: small shapes on the cpu device without torch, beside the oracle in place of eager.
"""
import argparse
import itertools
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time

from cells import BYTES, GROUPS, OPS, PROGRAMS, cells
from gpu import Torch
from host import Host
from kernel import Kernel, tune

# --- rows


def winner(report):
    """Of each kernel its name and point."""
    several = isinstance(report["winner"], list)
    points = report["winner"] if several else [report["winner"]]
    names = report["kernel"] if isinstance(report["kernel"], list) else [report["kernel"]] * len(points)
    texts = [f"{name}:" + ",".join(f"{knob}={value}" for knob, value in (point or {}).items())
             for name, point in zip(names, points)]
    return " | ".join(texts)


def row(cell, report, measured):
    us, kernels = measured["us"], {"kfuse": winner(report).count(" | ") + 1, **measured["kernels"]}
    rivals = {name: time for name, time in us.items() if name != "kfuse"}
    best = min(rivals.values()) / us["kfuse"] if rivals else None
    return {"group": cell.group, "op": cell.op, "shape": cell.shape, "dtype": cell.dtype, "us": us,
            "ratio": {name: time / us["kfuse"] for name, time in rivals.items()},
            "best_ratio": best, "kernels": kernels,
            "bytes": {"kfuse": report["bytes"], "eager": measured["eager_bytes"]}, "error": measured["error"],
            "winner": winner(report), "report_us": report["time_us"], "roof_fraction": report["roof_fraction"],
            "report_eager": {"kernels": report["eager_kernels"], "bytes": report["eager_bytes"]},
            "candidates": report["candidates"], "took_s": report["took_s"], "seconds": measured.get("seconds")}


# --- the report: a column is a title, how wide it is, and its text in a row

def number(value, form):
    return "-" if value is None else format(value, form)


def mebibytes(bytes_):
    return number(bytes_ and bytes_ / 2**20, ".4g")


COLUMNS = [
    ("op", -18, lambda r: r["op"]),
    ("shape", -19, lambda r: r["shape"]),
    ("type", -5, lambda r: r["dtype"]),
    ("kfuse us", 9, lambda r: number(r["us"]["kfuse"], ".2f")),
    ("eager us", 9, lambda r: number(r["us"].get("eager"), ".2f")),
    ("compile us", 10, lambda r: number(r["us"].get("compile"), ".2f")),
    ("autotune us", 11, lambda r: number(r["us"].get("autotune"), ".2f")),
    ("eager/kfuse", 11, lambda r: number(r["ratio"].get("eager"), ".2f")),
    ("compile/kfuse", 13, lambda r: number(r["ratio"].get("compile"), ".2f")),
    ("best/kfuse", 10, lambda r: number(r["best_ratio"], ".3f")),
    ("roof", 6, lambda r: number(r["roof_fraction"], ".0%")),
    ("kernels", 9, lambda r: "/".join(str(r["kernels"].get(name) or "-") for name in ("kfuse", "eager", "compile"))),
    ("MiB", 11, lambda r: mebibytes(r["bytes"]["kfuse"]) + "/" + mebibytes(r["bytes"]["eager"])),
]


def plain(texts, columns):
    return " ".join(format(text, f"{'<' if width < 0 else '>'}{abs(width)}") for text, (_, width, _) in zip(texts, columns))


def head(columns):
    return plain([title for title, _, _ in columns], columns) + "  winner"


def say(r, columns):
    print(plain([text(r) for _, _, text in columns], columns) + "  " + r["winner"], flush=True)


def merged(paths):
    """Of several runs, in the order of the cells of the first."""
    parts = []
    for path in paths:
        with open(path) as file:
            parts.append(json.load(file))
    rows = [row for some in itertools.zip_longest(*(part["rows"] for part in parts)) for row in some if row]
    return {"machine": parts[0]["machine"], "rows": rows, "failures": sum((part["failures"] for part in parts), [])}


def markdown(paths, columns):
    found = merged(paths)
    lines = [[title for title, _, _ in columns], ["---"] * len(columns)]
    lines += [[text(r) for _, _, text in columns] for r in found["rows"]]
    print(found["machine"], "", *("| " + " | ".join(line) + " |" for line in lines), sep="\n")
    for group in dict.fromkeys(r["group"] for r in found["rows"]):
        print("", *summary(group, found["rows"]), sep="\n")
    for failure in found["failures"]:
        print("", "FAILED " + failure, sep="\n")


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def summary(group, rows):
    """Means of the rivals' times over kfuse's, and on how many rows kfuse is no slower than each."""
    mine = [r for r in rows if r["group"] == group and r["best_ratio"]]
    lines = []
    for name in dict.fromkeys(name for r in mine for name in r["ratio"]):
        ratios = [r["ratio"][name] for r in mine if name in r["ratio"]]
        lines.append(f"{group}: {name}/kfuse {geometric_mean(ratios):.3f} (geometric mean of {len(ratios)}), "
                     f"no slower in {sum(x >= 1 for x in ratios)}, within 2 % in {sum(x >= 0.98 for x in ratios)}")
    for dtype in dict.fromkeys(r["dtype"] for r in mine):
        ratios = [r["best_ratio"] for r in mine if r["dtype"] == dtype]
        lines.append(f"{group}, {dtype}: best/kfuse {geometric_mean(ratios):.3f} (of {len(ratios)})")
    if mine:
        worst = min(mine, key=lambda r: r["best_ratio"])
        slower = [r for r in mine if r["best_ratio"] < 0.98]
        lines.append(f"{group}: best/kfuse {geometric_mean([r['best_ratio'] for r in mine]):.3f}, {len(slower)} cells "
                     f"slower than the best by more than 2 %; the worst is {worst['op']} {worst['shape']} {worst['dtype']}, "
                     f"{worst['best_ratio']:.3f}")
    return lines


# --- the run

def measure(cell, machine, options):
    report = tune(cell, machine.device, options)
    kernel = Kernel(cell, machine.device)
    try:
        measured = machine.measure(cell, kernel)
    finally:
        kernel.close()
    if not measured["error"] <= 1:
        raise RuntimeError(f"kfuse's result is wrong: {measured['error']:.3g} of what is allowed")
    return row(cell, report, measured)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    groups, ops = [*GROUPS, "programs"], dict.fromkeys([*OPS, *PROGRAMS])
    parser.add_argument("--groups", default=",".join(groups))
    parser.add_argument("--ops", default=",".join(ops))
    parser.add_argument("--types", default=",".join(BYTES))
    parser.add_argument("--shapes", default="", help="all")
    parser.add_argument("--slice", default="1/1", metavar="I/N")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", metavar="FILE.json")
    parser.add_argument("--table", metavar="FILE.json", nargs="+")
    parser.add_argument("--check", action="store_true")
    known, options = parser.parse_known_args()
    for key, names in [("groups", groups), ("ops", ops), ("types", BYTES)]:
        setattr(known, key, getattr(known, key).split(","))
        for name in getattr(known, key):
            if name not in names:
                parser.error(f"--{key} has no '{name}': choose from {', '.join(names)}")
    known.shapes = known.shapes.split(",") if known.shapes else []
    known.slice = tuple(map(int, known.slice.split("/"))) if re.fullmatch(r"[1-9]\d*/[1-9]\d*", known.slice) else (1, 0)
    if known.slice[0] > known.slice[1]:
        parser.error("--slice takes I/N, I from 1 to N")
    for path in known.table or []:
        if not os.path.exists(path):
            parser.error(f"--table: there is no file '{path}'")
    if not known.table and not asked_cells(known):
        parser.error("no cell is of these groups, ops, types and shapes")
    return known, options


def asked_cells(asked):
    first, step = asked.slice
    return cells(asked.groups, asked.ops, asked.types, asked.shapes, asked.check)[first - 1::step]


def save(path, machine, rows, failures):
    with open(path, "w") as file:
        json.dump({"machine": machine, "rows": rows, "failures": failures}, file, indent=1)


def run(machine, list_, columns, options, out):
    """All cells of the list, told as they come and kept in the file `out`, if there is one."""
    Kernel.load()
    began, rows, failures = time.monotonic(), [], []
    print(machine.describe(), head(columns), sep="\n", flush=True)
    for cell in list_:
        try:
            rows.append(measure(cell, machine, options))
            say(rows[-1], columns)
        except Exception as error:  # a cell that fails is told, and the others go on
            failures.append(f"{cell}: {error}")
            print("FAILED", failures[-1].splitlines()[0], flush=True)
        if out:
            save(out, machine.describe(), rows, failures)
    for group in dict.fromkeys(cell.group for cell in list_):
        print(*summary(group, rows), sep="\n")
    print(f"{len(rows)} cells, {len(failures)} failed, {time.monotonic() - began:.0f} s")
    return 1 if failures or not rows else 0


def with_store(function):
    """Called with a store of its own, if the environment names none."""
    if "KFUSE_CACHE" in os.environ:
        return function()
    with tempfile.TemporaryDirectory() as store:
        os.environ["KFUSE_CACHE"] = store
        return function()


def main():
    asked, options = arguments()
    if asked.table:
        return markdown(asked.table, COLUMNS)
    machine = Host() if asked.check else Torch(asked.device, asked.alone)
    return with_store(lambda: run(machine, asked_cells(asked), COLUMNS, options, asked.out))


if __name__ == "__main__":
    sys.exit(main())
