#!/usr/bin/env python3
"""kfuse beside torch eager (products: cuBLAS) and torch.compile, in one run under one protocol:

    tests/bench/bench.py [--groups rows,matmul,elementwise] [--ops softmax,…] [--types f32,bf16] [--out FILE.json]
                         [kfuse's options…]

Each cell is tuned by the command line, whose kernel is then launched on torch's arrays through libkfuse. Every call
works on the next of as many sets of arrays as exceed four times the L2; calls are captured into one CUDA graph a
contender; graphs are replayed in turn; times are medians by CUDA events. kfuse's result is first compared with torch's
in float64. $BUILD names the build folder (default build/release). --check: small shapes on the cpu device without
torch, beside the oracle in place of eager.
"""
import argparse
import ctypes
import json
import math
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build/release"))
REPLAYS = 15
GRAPH_SECONDS = 3e-3  # of a graph's calls: its start, some 10 us, does not show
L2_TIMES = 4

# --- what is measured

ROW_SHAPES = ["4096x4096", "32768x256", "65536x64", "4096x16384", "512x131072", "8192x1024", "1000x50257"]
PRODUCTS = ["4096x4096x4096", "1024x1024x1024", "8192x8192x8192", "4096x512x4096", "128x4096x4096",
            "16384x1024x1024", "1000x1000x1000", "8x4096x4096"]  # MxNxK
OPS = {  # expression, shapes of its inputs
    "softmax": ("softmax(x)", lambda m, n: {"x": (m, n)}),
    "layernorm": ("layernorm(x, g, b)", lambda m, n: {"x": (m, n), "g": (n,), "b": (n,)}),
    "rmsnorm": ("rmsnorm(x, g)", lambda m, n: {"x": (m, n), "g": (n,)}),
    "matmul": ("a @ b", lambda m, n, k: {"a": (m, k), "b": (k, n)}),
    "gelu": ("gelu(x)", lambda m, n: {"x": (m, n)}),
    "bias_gelu": ("gelu(x + b)", lambda m, n: {"x": (m, n), "b": (n,)}),
}
GROUPS = {  # ops, shapes, those of --check, types
    "rows": (["softmax", "layernorm", "rmsnorm"], ROW_SHAPES, ["5x67"], ["f32", "bf16"]),
    "matmul": (["matmul"], PRODUCTS, ["9x10x11"], ["f32"]),
    "elementwise": (["gelu", "bias_gelu"], ["4096x4096", "1024x1024"], ["7x13"], ["f32", "bf16"]),
}
BYTES = {"f32": 4, "bf16": 2}
RTOL = {"f32": 1e-5, "bf16": 1e-2}
PRODUCT_RTOL = 1e-4  # f32: thousands of roundings an element


def text(shape):
    return "x".join(map(str, shape))


class Cell:
    def __init__(self, group, op, shape, dtype):
        self.group, self.op, self.shape, self.dtype = group, op, shape, dtype
        size = tuple(map(int, shape.split("x")))
        self.expression, inputs = OPS[op]
        self.inputs, self.output = inputs(*size), size[:2]
        self.rtol = PRODUCT_RTOL if op == "matmul" else RTOL[dtype]

    def bytes(self):
        return BYTES[self.dtype] * sum(math.prod(s) for s in [*self.inputs.values(), self.output])

    def shapes(self):
        return [f"{name}={text(shape)}" for name, shape in self.inputs.items()]


def cells(groups, only, types, check):
    for group in groups:
        ops, shapes, small, known = GROUPS[group]
        for op in [op for op in ops if op in only]:
            for shape in small if check else shapes:
                for dtype in known:
                    if dtype in types:
                        yield Cell(group, op, shape, dtype)


# --- kfuse

def tune(cell, device, options):
    command = [os.path.join(BUILD, "kfuse"), cell.expression, "--dtype", cell.dtype, "--device", device]
    for shape in cell.shapes():
        command += ["--shape", shape]
    done = subprocess.run(command + ["--exact", "--json", "--quiet"] + options, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"kfuse ends with {done.returncode}")
    return json.loads(done.stdout)


class Kernel:
    """The stored kernel of a cell; see library/open.c."""

    library = None

    @classmethod
    def load(cls):
        library = ctypes.CDLL(os.path.join(BUILD, "tests", "libkfuse_bench.so"))
        pointer, number, string = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
        pointers = ctypes.POINTER(pointer)
        for name, result, arguments in [
                ("open", pointer, [string, ctypes.POINTER(string), number, string, string]),
                ("close", None, [pointer]),
                ("message", string, [pointer]),
                ("input", string, [pointer, number]),
                ("launch", number, [pointer, pointers, pointers, pointer]),
                ("evaluate", number, [pointer, pointers, pointers])]:
            function = getattr(library, "bench_" + name)
            function.restype, function.argtypes = result, arguments
        cls.library = library

    def __init__(self, cell, device):
        shapes = (ctypes.c_char_p * len(cell.inputs))(*(s.encode() for s in cell.shapes()))
        self.handle = self.library.bench_open(cell.expression.encode(), shapes, len(shapes), cell.dtype.encode(),
                                              device.encode())
        if self.message():
            raise RuntimeError(self.message())
        self.order = [self.library.bench_input(self.handle, i).decode() for i in range(len(shapes))]

    def message(self):
        return self.library.bench_message(self.handle).decode()

    def bind(self, inputs, output):
        """Addresses of a set of arrays, as launch and evaluate take them."""
        given = (ctypes.c_void_p * len(inputs))(*(inputs[name] for name in self.order))
        return given, (ctypes.c_void_p * 1)(output)

    def launch(self, bound, stream=None):
        if self.library.bench_launch(self.handle, *bound, stream) != 0:
            raise RuntimeError(self.message())

    def evaluate(self, bound):
        if self.library.bench_evaluate(self.handle, *bound) != 0:
            raise RuntimeError(self.message())

    def close(self):
        self.library.bench_close(self.handle)


# --- torch on a GPU. measure(cell, kernel): seconds a call by contender, worst error as a part of what is allowed

class Torch:
    def __init__(self, device):
        import torch
        self.torch, self.device = torch, device
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(0)
        self.l2 = torch.cuda.get_device_properties(device).L2_cache_size
        f = torch.nn.functional
        self.functions = {
            "softmax": lambda x: f.softmax(x, -1),
            "layernorm": lambda x, g, b: f.layer_norm(x, x.shape[-1:], g, b, 1e-5),
            "rmsnorm": lambda x, g: f.rms_norm(x, x.shape[-1:], g, 1e-5),
            "matmul": lambda a, b: a @ b,
            "gelu": lambda x: f.gelu(x),
            "bias_gelu": lambda x, b: f.gelu(x + b),
        }
        self.types = {"f32": torch.float32, "bf16": torch.bfloat16}

    def describe(self):
        properties = self.torch.cuda.get_device_properties(self.device)
        return f"{properties.name}, torch {self.torch.__version__}, CUDA {self.torch.version.cuda}"

    def arrays(self, cell):
        count = max(2, math.ceil(L2_TIMES * self.l2 / cell.bytes()))
        kind = {"device": self.device, "dtype": self.types[cell.dtype]}
        return [({name: self.torch.randn(shape, **kind) for name, shape in cell.inputs.items()},
                 self.torch.empty(cell.output, **kind)) for _ in range(count)]

    def compile(self, function):
        self.torch._dynamo.reset()  # or it gives up after some shapes of one function
        return self.torch.compile(function, dynamic=False, fullgraph=True)

    def contenders(self, cell, kernel, sets):
        """Name to call(i), on set i. Torch makes its outputs: the last of each set are kept, so that these rotate too."""
        bound = [kernel.bind({name: a.data_ptr() for name, a in inputs.items()}, out.data_ptr()) for inputs, out in sets]

        def kfuse(i):
            kernel.launch(bound[i], self.torch.cuda.current_stream().cuda_stream)

        def on_sets(function):
            kept = [None] * len(sets)

            def call(i):
                kept[i] = function(*sets[i][0].values())
            return call

        function = self.functions[cell.op]
        return {"kfuse": kfuse, "eager": on_sets(function), "compile": on_sets(self.compile(function))}

    def error(self, cell, sets):
        inputs, out = sets[0]
        right = self.functions[cell.op](*(a.double() for a in inputs.values()))
        allowed = cell.rtol * (right.abs() + right.square().mean().sqrt())
        return ((out.double() - right).abs() / allowed).max().item()

    def capture(self, call, sets, calls):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for i in range(calls):
                call(i % sets)
        return graph

    def replay(self, graph):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)

    def graph(self, call, sets):
        """A graph of calls and their number. What compiles, loads or allocates at first does so before the capture."""
        for i in range(3):
            call(i % sets)
        self.torch.cuda.synchronize()
        graph = self.capture(call, sets, sets)
        self.replay(graph)
        rounds = math.ceil(GRAPH_SECONDS / self.replay(graph))
        return (self.capture(call, sets, sets * rounds) if rounds > 1 else graph), sets * rounds

    def measure(self, cell, kernel):
        sets = self.arrays(cell)
        contenders = self.contenders(cell, kernel, sets)
        contenders["kfuse"](0)
        error = self.error(cell, sets)
        graphs = {name: self.graph(call, len(sets)) for name, call in contenders.items()}
        for graph, _ in graphs.values():
            self.replay(graph)
        times = {name: [] for name in graphs}
        for _ in range(REPLAYS):
            for name, (graph, calls) in graphs.items():
                times[name].append(self.replay(graph) / calls)
        return {name: statistics.median(list_) for name, list_ in times.items()}, error


# --- the cpu device without torch, for --check

class Host:
    device = "cpu"
    codes = {"f32": ctypes.c_float, "bf16": ctypes.c_uint16}

    def describe(self):
        return "a check on the cpu device: eager is the oracle, and ratios say nothing"

    def make(self, cell, shape):
        array = (self.codes[cell.dtype] * math.prod(shape))()
        for i in range(len(array)):
            value = random.uniform(-2, 2)
            array[i] = value if cell.dtype == "f32" else struct.unpack("<HH", struct.pack("<f", value))[1]
        return array

    def value(self, element):
        return element if isinstance(element, float) else struct.unpack("<f", struct.pack("<HH", 0, element))[0]

    def error(self, cell, out, right):
        out, right = [self.value(e) for e in out], [self.value(e) for e in right]
        scale = math.sqrt(statistics.fmean(r * r for r in right))
        return max(abs(o - r) / (cell.rtol * (abs(r) + scale)) for o, r in zip(out, right))

    def measure(self, cell, kernel):
        inputs = {name: self.make(cell, shape) for name, shape in cell.inputs.items()}
        out, right = self.make(cell, cell.output), self.make(cell, cell.output)
        times = {}
        for name, call, output in [("kfuse", kernel.launch, out), ("eager", kernel.evaluate, right)]:
            bound = kernel.bind({n: ctypes.addressof(a) for n, a in inputs.items()}, ctypes.addressof(output))
            call(bound)
            begin = time.perf_counter()
            call(bound)
            times[name] = time.perf_counter() - begin
        return times, self.error(cell, out, right)


# --- report

def point(report):
    return f"{report['kernel']}:" + ",".join(f"{knob}={value}" for knob, value in report["winner"].items())


def row(cell, report, times, error):
    rivals = {name: seconds for name, seconds in times.items() if name != "kfuse"}
    return {"group": cell.group, "op": cell.op, "shape": cell.shape, "dtype": cell.dtype,
            "us": {name: 1e6 * seconds for name, seconds in times.items()},
            "ratio": {name: seconds / times["kfuse"] for name, seconds in rivals.items()},
            "best_ratio": min(rivals.values()) / times["kfuse"],
            "error": error, "winner": point(report), "report_us": report["time_us"],
            "roof_fraction": report["roof_fraction"], "candidates": report["candidates"], "took_s": report["took_s"]}


HEAD = f"{'op':10} {'shape':16} {'type':5} {'kfuse us':>9} {'best us':>9} {'best/kfuse':>10} {'eager/':>7} {'compile/':>8} {'roof':>5}  winner"


def say(r):
    def number(value, form):
        return format(value, form) if value is not None else "-"
    print(f"{r['op']:10} {r['shape']:16} {r['dtype']:5} {r['us']['kfuse']:9.2f} {r['best_ratio'] * r['us']['kfuse']:9.2f} "
          f"{r['best_ratio']:10.3f} {number(r['ratio'].get('eager'), '.2f'):>7} {number(r['ratio'].get('compile'), '.2f'):>8} "
          f"{number(r['roof_fraction'], '.2f'):>5}  {r['winner']}", flush=True)


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def summary(group, rows):
    """Means of the rivals' times over kfuse's, and on how many rows kfuse is no slower than each."""
    mine = [r for r in rows if r["group"] == group]
    lines = []
    for name in [n for n in ("eager", "compile") if any(n in r["ratio"] for r in mine)]:
        ratios = [r["ratio"][name] for r in mine]
        lines.append(f"{group}: {name}/kfuse {geometric_mean(ratios):.3f} (geometric mean of {len(ratios)}), "
                     f"no slower in {sum(x >= 1 for x in ratios)}, within 2 % in {sum(x >= 0.98 for x in ratios)}")
    if mine:
        worst = min(mine, key=lambda r: r["best_ratio"])
        lines.append(f"{group}: best/kfuse {geometric_mean([r['best_ratio'] for r in mine]):.3f}; the worst cell is "
                     f"{worst['op']} {worst['shape']} {worst['dtype']}, {worst['best_ratio']:.3f}")
    return lines


# --- the run

def measure(cell, machine, options):
    report = tune(cell, machine.device, options)
    kernel = Kernel(cell, machine.device)
    try:
        times, error = machine.measure(cell, kernel)
    finally:
        kernel.close()
    if not error <= 1:
        raise RuntimeError(f"kfuse's result is wrong: {error:.3g} of what is allowed")
    return row(cell, report, times, error)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", metavar="FILE.json")
    parser.add_argument("--check", action="store_true")
    known, options = parser.parse_known_args()
    for key, names in [("groups", GROUPS), ("ops", OPS), ("types", BYTES)]:
        setattr(known, key, getattr(known, key).split(","))
        for name in getattr(known, key):
            if name not in names:
                parser.error(f"--{key} has no '{name}': choose from {', '.join(names)}")
    return known, options


def save(path, machine, rows, failures):
    with open(path, "w") as file:
        json.dump({"machine": machine.describe(), "rows": rows, "failures": failures}, file, indent=1)


def main():
    asked, options = arguments()
    machine = Host() if asked.check else Torch(asked.device)
    Kernel.load()
    rows, failures = [], []
    print(machine.describe(), HEAD, sep="\n", flush=True)
    for cell in cells(asked.groups, asked.ops, asked.types, asked.check):
        try:
            rows.append(measure(cell, machine, options))
            say(rows[-1])
        except Exception as error:  # a cell that fails is told, and the others go on
            failures.append(f"{cell.op} {cell.shape} {cell.dtype}: {error}")
            print("FAILED", failures[-1], flush=True)
        if asked.out:
            save(asked.out, machine, rows, failures)
    for group in asked.groups:
        print(*summary(group, rows), sep="\n")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    if "KFUSE_CACHE" in os.environ:
        sys.exit(main())
    with tempfile.TemporaryDirectory() as store:
        os.environ["KFUSE_CACHE"] = store
        sys.exit(main())
