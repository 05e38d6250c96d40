#!/usr/bin/env python3
"""Kernels that begin before those ahead of them have ended see what these wrote: tests/gpu/dependent.py

Hundreds of calls on one stream, each of which reads what the one before wrote, among them arrays that every
multiprocessor has in its cache while another kernel rewrites them, and odd rows, whose lines two blocks share. All
numbers are whole and small: every result is exact, and one stale element is an error. $BUILD as for bench.py."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from cells import Cell  # noqa: E402
from kernel import Kernel, tune  # noqa: E402

ROUNDS = 400
SHAPES = [(128, 128), (37, 1001), (1024, 1024), (4096, 333), (3, 65537)]


def program(text, inputs, dtype):
    cell = Cell("dependent", text, "", dtype, text, [text], {name: (shape, dtype) for name, shape in inputs.items()}, {},
                False)
    tune(cell, "cuda:0", ["--effort", "quick"])
    return Kernel(cell, "cuda:0")


def chain(torch, rows, columns, dtype):
    """sum = sum + row; row = row + 1, in turn; and before each a copy by way of another array."""
    kind = {"device": "cuda:0", "dtype": {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]}
    limit = 128 if dtype == "bf16" else 1 << 20
    total, row = torch.zeros((rows, columns), **kind), torch.zeros(columns, **kind)
    other = torch.empty_like(total)
    add = program("y = x + row", {"x": (rows, columns), "row": (columns,)}, dtype)
    step = program(f"row = row + 1 < {limit} ? row + 1 : 0", {"row": (columns,)}, dtype)
    bound = {(a, b): add.bind({"x": a.data_ptr(), "row": row.data_ptr()}, [b.data_ptr()])
             for a, b in [(total, other), (other, total)]}
    stepped = step.bind({"row": row.data_ptr()}, [row.data_ptr()])
    stream = torch.cuda.current_stream().cuda_stream
    right, value, begin, end = 0, 0, total, other
    for _ in range(ROUNDS if dtype == "f32" else 20):
        add.launch(bound[begin, end], stream)
        step.launch(stepped, stream)
        right, value = right + value, value + 1 if value + 1 < limit else 0
        begin, end = end, begin
    wrong = int((begin != right).sum()) + int((row != value).sum())
    add.close()
    step.close()
    return wrong


def main():
    import torch
    Kernel.load()
    failed = 0
    with tempfile.TemporaryDirectory() as store:
        os.environ["KFUSE_CACHE"] = store
        for rows, columns in SHAPES:
            for dtype in "f32", "bf16":
                wrong = sum(chain(torch, rows, columns, dtype) for _ in range(5))
                print(f"{rows}x{columns} {dtype}: {wrong} wrong", flush=True)
                failed += wrong > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
