"""What bench.py measures: ops on some shapes, and the programs of examples/programs/ at the sizes that they say."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
import listing  # noqa: E402
from listing import span  # noqa: E402,F401

ROW_SHAPES = ["4096x4096", "32768x256", "65536x64", "4096x16384", "512x131072", "8192x1024", "1000x50257",
              "4096x50304", "128x262144"]
ELEMENTWISE_SHAPES = ["128x128", "1024x1024", "4096x4096", "4095x4097", "8192x8192", "16384x16384"]
PRODUCTS = ["4096x4096x4096", "1024x1024x1024", "8192x8192x8192", "4096x512x4096", "128x4096x4096",
            "16384x1024x1024", "1000x1000x1000", "8x4096x4096"]  # MxNxK
OPS = {  # expression, shapes of its inputs
    "softmax": ("softmax(x)", lambda m, n: {"x": (m, n)}),
    "layernorm": ("layernorm(x, g, b)", lambda m, n: {"x": (m, n), "g": (n,), "b": (n,)}),
    "rmsnorm": ("rmsnorm(x, g)", lambda m, n: {"x": (m, n), "g": (n,)}),
    "matmul": ("a @ b", lambda m, n, k: {"a": (m, k), "b": (k, n)}),
    "relu_add": ("relu(x + res)", lambda m, n: {"x": (m, n), "res": (m, n)}),
    "bias_gelu": ("gelu(x + b)", lambda m, n: {"x": (m, n), "b": (n,)}),
    "bias_gelu_add": ("gelu(x + b) + res", lambda m, n: {"x": (m, n), "b": (n,), "res": (m, n)}),
    "gelu": ("gelu(x)", lambda m, n: {"x": (m, n)}),
    "silu_mul": ("silu(x) * res", lambda m, n: {"x": (m, n), "res": (m, n)}),
    "tanh_chain": ("tanh(x * res + b) * sigmoid(x) + 0.5 * res",
                   lambda m, n: {"x": (m, n), "res": (m, n), "b": (n,)}),
    "transpose_relu": ("relu(x.T)", lambda m, n: {"x": (m, n)}),
    "transpose_add": ("x.T + res", lambda m, n: {"x": (m, n), "res": (n, m)}),
    "transpose_bias_gelu_add": ("gelu(x.T + b) + res", lambda m, n: {"x": (m, n), "b": (m,), "res": (n, m)}),
}
ELEMENTWISE = ["relu_add", "bias_gelu", "bias_gelu_add", "gelu", "silu_mul", "tanh_chain"]
FLOATS = ["f32", "bf16", "f16"]
GROUPS = {  # ops, shapes, those of --check, types
    "elementwise": (ELEMENTWISE, ELEMENTWISE_SHAPES, ["7x13"], FLOATS),
    "transposed": (["transpose_relu", "transpose_add", "transpose_bias_gelu_add"],
                   ["1024x1024", "4096x4096", "4095x4097", "8192x2048"], ["7x13"], FLOATS),
    "rows": (["softmax", "layernorm", "rmsnorm"], ROW_SHAPES, ["5x67"], FLOATS),
    "matmul": (["matmul"], PRODUCTS, ["9x10x11"], ["f32"]),
}
PROGRAMS = {p.name: p for p in listing.programs()}
SMALL = (5, 67, 3, 4)  # a program's sizes under --check
BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i8": 1}
RTOL = {"f64": 1e-12, "f32": 1e-5, "bf16": 1e-2, "f16": 2e-3}
PRODUCT_RTOL = 1e-4  # f32: thousands of roundings an element


def text(shape):
    return "x".join(map(str, shape))


class Cell:
    """inputs: (shape, type) by name; values: an input's range, as listing.py has it; words: the program as the command
    line takes it."""

    def __init__(self, group, op, shape, dtype, program, words, inputs, values, product):
        self.group, self.op, self.shape, self.dtype = group, op, shape, dtype
        self.program, self.words, self.inputs, self.values = program, words, inputs, values
        self.rtol = PRODUCT_RTOL if product and dtype == "f32" else RTOL[dtype]

    def __str__(self):
        return f"{self.op} {self.shape} {self.dtype}"

    def types(self):
        """"NAME=TYPE" of inputs that have a type of their own."""
        return [f"{name}={dtype}" for name, (_, dtype) in self.inputs.items() if dtype != self.dtype]

    def shapes(self):
        return [f"{name}={text(shape)}" for name, (shape, _) in self.inputs.items()]


def op_cell(group, op, shape, dtype):
    expression, shapes = OPS[op]
    inputs = {name: (shape, dtype) for name, shape in shapes(*map(int, shape.split("x"))).items()}
    return Cell(group, op, shape, dtype, expression, [expression], inputs, {}, op == "matmul")


def program_cell(program, sizes, dtype):
    inputs = {name: (shape, program.type_of(name, dtype)) for name, shape in program.sized(sizes).items()}
    shape = text(sizes[symbol] for symbol in program.symbols)
    return Cell("programs", program.name, shape, dtype, program.text, ["-f", program.path], inputs, program.values,
                "@" in program.text)


def program_cells(program, check):
    if not check:
        return [program_cell(program, sizes, dtype) for sizes, dtypes in program.bench for dtype in dtypes]
    sizes, dtypes = dict(zip(program.symbols, SMALL)), program.bench[0][1]
    return [program_cell(program, sizes, dtype) for dtype in dtypes]


def group_cells(group, check):
    if group == "programs":
        return [cell for program in PROGRAMS.values() for cell in program_cells(program, check)]
    ops, shapes, small, dtypes = GROUPS[group]
    return [op_cell(group, op, shape, dtype) for op in ops for shape in (small if check else shapes) for dtype in dtypes]


def cells(groups, only, types, shapes, check):
    everything = [cell for group in groups for cell in group_cells(group, check)]
    return [cell for cell in everything if cell.op in only and cell.dtype in types and (not shapes or cell.shape in shapes)]


def size(shape, dtype):
    return BYTES[dtype] * math.prod(shape)
