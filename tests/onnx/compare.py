"""Outputs of a model and of what kfuse made of it, side by side in ONNX Runtime on the CPU:
python3 compare.py MODEL.onnx KFUSE [options of kfuse onnx]. Inputs are random, of a fixed seed. Needs the packages
onnx and onnxruntime. Says the largest difference; ends with 1 where an output is not equal."""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

# As kfuse.h has it for a kernel's outputs.
TOLERANCE = {np.float64: (1e-7, 1e-7), np.float32: (1.3e-6, 1e-5), np.float16: (1e-3, 1e-5)}


def close(got, right):
    relative, absolute = TOLERANCE.get(right.dtype.type, (0, 0))
    if got.shape != right.shape or got.dtype != right.dtype:
        return False, float("inf")
    if right.dtype.kind != "f":
        return bool((got == right).all()), float((got != right).sum())
    a, b = got.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
        ok = gap <= absolute + relative * np.abs(b)
    return bool(ok.all()), float(np.max(gap, initial=0))


def random_input(info, dims, random):
    shape = [d if isinstance(d, int) else dims.get(d, 1) for d in info.shape]
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
            "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8,
            "tensor(int8)": np.int8, "tensor(bool)": np.bool_}[info.type]
    if kind is np.bool_:
        return random.integers(0, 2, shape).astype(kind)
    if np.issubdtype(kind, np.integer):
        return random.integers(-9 if np.issubdtype(kind, np.signedinteger) else 0, 10, shape).astype(kind)
    return random.standard_normal(shape).astype(kind)


def options_dims(words):
    """The sizes of "--dim NAME=SIZE" among kfuse's options."""
    given = (word.split("=") for at, word in enumerate(words) if at and words[at - 1] == "--dim")
    return {name: int(size) for name, size in given}


def random_feeds(session, dims):
    random = np.random.default_rng(11)
    return {i.name: random_input(i, dims, random) for i in session.get_inputs()}


def open_session(path, library=None, threads=0):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if library:
        options.register_custom_ops_library(str(library))
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def rewrite(model, kfuse, folder, rest):
    """The new model and the library of its operators. Ends where kfuse fails, which has said why."""
    new, library = Path(folder) / "rewritten.onnx", Path(folder) / "kernels" / "libkfuse_ops.so"
    made = subprocess.run([kfuse, "onnx", model, "--rewrite", new, "-o", library.parent, "--quiet", *rest],
                          stdout=subprocess.PIPE, text=True)
    if made.returncode:
        print(made.stdout)
        sys.exit(made.returncode)
    return new, library


def run(path, feeds, library=None):
    return open_session(path, library).run(None, feeds)


def main():
    model, kfuse, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    feeds = random_feeds(open_session(model), options_dims(rest))
    with tempfile.TemporaryDirectory() as folder:
        new, library = rewrite(model, kfuse, folder, rest)
        nodes = onnx.load(new).graph.node
        right, got, again = run(model, feeds), run(new, feeds, library), run(new, feeds, library)
    names = [o.name for o in onnx.load(model).graph.output]
    bad = 0
    for name, a, b, c in zip(names, right, got, again):
        ok, gap = close(b, a)
        same = close(c, b)[1] == 0
        bad += not (ok and same)
        if not ok or not same:
            print(f"{name}: differs by {gap:.3g}" + ("" if same else "; two runs differ"))
    print(f"{Path(model).name}: {len(names)} outputs, {len(names) - bad} equal; {len(nodes)} nodes, "
          f"{sum(n.domain == 'ai.kfuse' for n in nodes)} of them kernels")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
