"""kfuse for bench.py: the command line tunes a cell, libkfuse launches what it left in the store (library/open.c)."""
import ctypes
import json
import os
import subprocess

BUILD = os.path.abspath(os.environ.get("BUILD", "build/release"))


def tune(cell, device, options):
    command = [os.path.join(BUILD, "kfuse"), *cell.words, "--dtype", cell.dtype, "--device", device]
    for shape in cell.shapes():
        command += ["--shape", shape]
    for dtype in cell.types():
        command += ["--dtype", dtype]
    done = subprocess.run(command + ["--exact", "--json", "--quiet"] + options, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"kfuse ends with {done.returncode}")
    return json.loads(done.stdout)


class Output:
    """One output: "y=64x3:bf16", and the input that it updates in place, or None."""

    def __init__(self, described, updates):
        name, _, rest = described.partition("=")
        shape, _, self.dtype = rest.partition(":")
        self.name, self.updates = name, updates
        self.shape = () if shape == "scalar" else tuple(map(int, shape.split("x")))


class Kernel:
    """The stored kernel of a cell."""

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
                ("output", string, [pointer, number]),
                ("updates", number, [pointer, number]),
                ("launch", number, [pointer, pointers, pointers, pointer]),
                ("evaluate", number, [pointer, pointers, pointers])]:
            function = getattr(library, "bench_" + name)
            function.restype, function.argtypes = result, arguments
        cls.library = library

    def __init__(self, cell, device):
        described = [f"{shape}:{dtype}" for shape, (_, dtype) in zip(cell.shapes(), cell.inputs.values())]
        shapes = (ctypes.c_char_p * len(described))(*(d.encode() for d in described))
        self.handle = self.library.bench_open(cell.program.encode(), shapes, len(shapes), cell.dtype.encode(),
                                              device.encode())
        if self.message():
            raise RuntimeError(self.message())
        self.order = [self.library.bench_input(self.handle, i).decode() for i in range(len(shapes))]
        self.outputs = list(self.read_outputs())

    def read_outputs(self):
        i = 0
        while described := self.library.bench_output(self.handle, i):
            updated = self.library.bench_updates(self.handle, i)
            yield Output(described.decode(), self.order[updated] if updated >= 0 else None)
            i += 1

    def message(self):
        return self.library.bench_message(self.handle).decode()

    def bind(self, inputs, outputs):
        """Addresses of a set of arrays, inputs by name and outputs in order, as launch and evaluate take them."""
        given = (ctypes.c_void_p * len(inputs))(*(inputs[name] for name in self.order))
        return given, (ctypes.c_void_p * len(self.outputs))(*outputs)

    def launch(self, bound, stream=None):
        if self.library.bench_launch(self.handle, *bound, stream) != 0:
            raise RuntimeError(self.message())

    def evaluate(self, bound):
        if self.library.bench_evaluate(self.handle, *bound) != 0:
            raise RuntimeError(self.message())

    def close(self):
        self.library.bench_close(self.handle)
