"""Makes the models that the tests read: python3 make.py FOLDER. Needs the package onnx; the files are kept beside
this script, so that the tests need no Python."""
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

F32, F16, I64, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL
random = np.random.default_rng(7)


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, data, kind=np.float32):
    return numpy_helper.from_array(np.asarray(data, kind), name)


def weights(name, *shape, scale=0.1):
    return constant(name, random.standard_normal(shape) * scale)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=outputs.split()[0] + "_node", **attributes)


def model(name, nodes, inputs, outputs, constants=(), opset=17, ir=8, check=True):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir,
                             producer_name="tests/onnx/make.py")
    if check:
        checker.check_model(made, full_check=True)
    save(made, Path(sys.argv[1]) / f"{name}.onnx")


def transformer():
    """A block as exporters write it: attention with a mask, gelu by erf, two layer normalisations."""
    seq, width, heads = 16, 32, 4
    each = width // heads
    nodes, constants = [], [
        constant("root2", 1.4142135), constant("one", 1.0), constant("half", 0.5), constant("scale", each ** -0.5),
        constant("split", [0, seq, heads, each], np.int64), constant("join", [0, seq, width], np.int64)]
    for n, (rows, cols) in {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width),
                            "up": (width, 2 * width), "down": (2 * width, width)}.items():
        constants += [weights(f"w_{n}", rows, cols), weights(f"b_{n}", cols)]
    for n in ("1", "2"):
        constants += [constant(f"g{n}", random.uniform(0.5, 1.5, width)), weights(f"c{n}", width)]

    def linear(x, n):
        nodes.extend([node("MatMul", f"{x} w_{n}", f"/{n}/MatMul"), node("Add", f"/{n}/MatMul b_{n}", f"/{n}/Add")])
        return f"/{n}/Add"

    for n, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [node("Reshape", f"{linear('x', n)} split", f"/{n}/Reshape"),
                  node("Transpose", f"/{n}/Reshape", f"/{n}/Transpose", perm=perm)]
    nodes += [node("MatMul", "/q/Transpose /k/Transpose", "scores"), node("Mul", "scores scale", "scaled"),
              node("Add", "scaled mask", "masked"), node("Softmax", "masked", "weights", axis=-1),
              node("MatMul", "weights /v/Transpose", "mixed"), node("Transpose", "mixed", "back", perm=[0, 2, 1, 3]),
              node("Reshape", "back join", "joined")]
    nodes += [node("Add", f"x {linear('joined', 'o')}", "res1"),
              node("LayerNormalization", "res1 g1 c1", "norm1", axis=-1, epsilon=1e-5)]
    up = linear("norm1", "up")
    nodes += [node("Div", f"{up} root2", "/gelu/Div"), node("Erf", "/gelu/Div", "/gelu/Erf"),
              node("Add", "/gelu/Erf one", "/gelu/Add"), node("Mul", f"{up} /gelu/Add", "/gelu/Mul"),
              node("Mul", "/gelu/Mul half", "/gelu/Mul_1")]
    nodes += [node("Add", f"norm1 {linear('/gelu/Mul_1', 'down')}", "res2"),
              node("LayerNormalization", "res2 g2 c2", "y", axis=-1, epsilon=1e-5)]
    model("transformer", nodes, [value("x", F32, ["batch", seq, width]), value("mask", F32, ["batch", 1, 1, seq])],
          [value("y", F32, ["batch", seq, width])], constants)


def mobilenet():
    """An inverted residual with squeeze and excitation, as in MobileNet version 3."""
    nodes, constants = [], []

    def conv(x, n, out, into, size=1, group=1):
        constants.append(weights(f"{n}.w", out, into // group, size, size, scale=0.3))
        nodes.append(node("Conv", f"{x} {n}.w", f"{n}.conv", kernel_shape=[size, size], pads=[size // 2] * 4,
                          group=group))
        for part, low, high in (("scale", 0.5, 1.5), ("bias", -0.5, 0.5), ("mean", -0.2, 0.2), ("var", 0.5, 1.5)):
            constants.append(constant(f"{n}.{part}", random.uniform(low, high, out)))
        nodes.append(node("BatchNormalization", f"{n}.conv {n}.scale {n}.bias {n}.mean {n}.var", f"{n}.bn"))
        return f"{n}.bn"

    constants += [constant("zero", 0), constant("six", 6), constant("three", 3)]
    nodes.append(node("Clip", f"{conv('x', 'expand', 24, 8)} zero six", "a"))
    nodes.append(node("HardSwish", conv("a", "depth", 24, 24, 3, 24), "b"))
    nodes.append(node("GlobalAveragePool", "b", "pooled"))
    constants.append(weights("se.w", 24, 24, 1, 1))
    nodes += [node("Conv", "pooled se.w", "se"), node("Add", "se three", "se3"), node("Clip", "se3 zero six", "clip"),
              node("Div", "clip six", "gate"), node("Mul", "b gate", "gated")]
    nodes.append(node("Add", f"x {conv('gated', 'project', 8, 24)}", "y"))
    model("mobilenet", nodes, [value("x", F32, [2, 8, 14, 14])], [value("y", F32, [2, 8, 14, 14])], constants)


def operators():
    """Each operator once or twice, in chains that become regions."""
    nodes, outputs = [], []
    constants = [constant("two", 2), constant("low", -0.5), constant("high", 0.75), constant("slope", [0.1, 0.2, 0.3]),
                 constant("last", [-1], np.int64), constant("i3", 3, np.int64), constant("row", [1, 2, 3]),
                 constant("zero_i", 0, np.int64), constant("yes", True, np.bool_)]

    def chain(name, steps, kind=F32, shape=(4, 5, 3)):
        at = None
        for i, (op, inputs, attributes) in enumerate(steps):
            out = name if i == len(steps) - 1 else f"{name}.{i}"
            nodes.append(node(op, inputs.replace("@", at or ""), out, **attributes))
            at = out
        outputs.append(value(name, kind, list(shape)))

    def unary(name, *ops, start="x"):
        chain(name, [(op, start if i == 0 else "@", {}) for i, op in enumerate(ops)])

    unary("u1", "Abs", "Sqrt", "Exp", "Reciprocal", "Log", "Neg")
    unary("u2", "Sin", "Cos", "Tan", "Atan", "Asinh", "Sinh")
    unary("u3", "Tanh", "Asin", "Tanh", "Acos", "Cosh", "Acosh")
    unary("u4", "Floor", "Softplus", "Softsign", "Atanh")
    unary("u5", "Ceil", "Erf", "Sigmoid", "Mish")
    unary("u6", "Round", "Sign", "Relu", "HardSwish")
    chain("a1", [("LeakyRelu", "x", {"alpha": 0.2}), ("Elu", "@", {"alpha": 1.5}), ("Celu", "@", {"alpha": 0.7}),
                 ("Selu", "@", {})])
    chain("a2", [("HardSigmoid", "x", {"alpha": 0.3}), ("ThresholdedRelu", "@", {"alpha": 0.4}),
                 ("Shrink", "@", {"lambd": 0.2, "bias": 0.1})])
    chain("a3", [("PRelu", "x slope", {}), ("Gelu", "@", {}), ("Gelu", "@", {"approximate": "tanh"})])
    chain("c1", [("Clip", "x low high", {}), ("Pow", "@ two", {}), ("Add", "@ row", {}), ("Sub", "@ z", {})])
    chain("c2", [("Clip", "x low", {}), ("Clip", "@", {}), ("Mod", "@ two", {"fmod": 1}), ("Div", "@ row", {})])
    chain("v1", [("Max", "x z row", {}), ("Min", "@ high", {}), ("Sum", "@ x z", {}), ("Mean", "@ x row", {})])
    chain("w1", [("Less", "x z", {}), ("Not", "@", {}), ("Where", "@ x low", {}), ("Identity", "@", {}),
                 ("Dropout", "@", {}), ("Mul", "@ two", {})])
    chain("w2", [("GreaterOrEqual", "x low", {}), ("Where", "@ two high", {}), ("Add", "@ z", {})])
    chain("w3", [("IsNaN", "x", {}), ("IsInf", "z", {}), ("Or", "w3.0 w3.1", {}), ("Xor", "@ flag", {}),
                 ("Xor", "@ w3.0", {}), ("And", "@ flag", {})], BOOL)
    chain("w4", [("Greater", "x z", {}), ("LessOrEqual", "x row", {}), ("Equal", "w4.0 w4.1", {})], BOOL)
    chain("i1", [("Add", "i i3", {}), ("Mul", "@ j", {}), ("Div", "@ i3", {}), ("Mod", "@ i3", {}), ("Abs", "@", {})],
          I64)
    chain("i2", [("Cast", "x", {"to": I64}), ("Max", "@ i", {}), ("Cast", "@", {"to": F32}), ("Add", "@ x", {})])
    chain("i3o", [("Cast", "x", {"to": BOOL}), ("Cast", "@", {"to": F32}), ("Mul", "@ z", {})])
    chain("s1", [("Mul", "x two", {}), ("Softmax", "@", {"axis": 2}), ("Add", "@ z", {})])
    chain("s2", [("Add", "x z", {}), ("LogSoftmax", "@", {"axis": -1}), ("Neg", "@", {})])
    chain("s3", [("Add", "x z", {}), ("LpNormalization", "@", {"axis": -1}), ("Neg", "@", {})])
    chain("n1", [("Add", "x z", {}), ("LayerNormalization", "@ row slope", {"epsilon": 1e-3}), ("Tanh", "@", {})])
    chain("n2", [("Add", "x z", {}), ("LayerNormalization", "@ row", {}), ("Tanh", "@", {})])
    chain("n3", [("Add", "x z", {}), ("InstanceNormalization", "@ five fives", {}), ("Relu", "@", {})])
    constants += [constant("five", random.uniform(0.5, 1.5, 5)), constant("fives", random.uniform(-1, 1, 5)),
                  constant("m5", random.uniform(-1, 1, 5)), constant("v5", random.uniform(0.5, 1.5, 5))]
    chain("n4", [("BatchNormalization", "x five fives m5 v5", {"epsilon": 1e-3}), ("Relu", "@", {})])
    for i, (op, axes, keep) in enumerate([
            ("ReduceSum", [2], 1), ("ReduceMean", [-1], 1), ("ReduceMax", [1, 2], 0), ("ReduceMin", [0, 1, 2], 0),
            ("ReduceProd", [2], 0), ("ReduceSumSquare", [2, 1], 1), ("ReduceL1", [0], 1), ("ReduceL2", [2], 1),
            ("ReduceLogSumExp", [2], 1), ("ReduceLogSum", [1, 2], 1)]):
        constants.append(constant(f"axes{i}", axes, np.int64))
        gone = [a % 3 for a in axes]
        shape = [1 if a in gone else n for a, n in enumerate((4, 5, 3)) if keep or a not in gone]
        chain(f"r{i}", [("Sigmoid", "x", {}), (op, f"@ axes{i}", {"keepdims": keep})], shape=shape)
    constants.append(constant("flat", [-1, 3], np.int64))
    chain("v2", [("Reshape", "x flat", {}), ("Mul", "@ row", {}), ("Exp", "@", {})], shape=(20, 3))
    chain("v3", [("Exp", "x", {}), ("Mul", "@ row", {}), ("Flatten", "@", {"axis": 1})], shape=(4, 15))
    constants.append(constant("axis1", [1], np.int64))
    chain("v4", [("Unsqueeze", "x axis1", {}), ("Exp", "@", {}), ("Neg", "@", {}), ("Squeeze", "@ axis1", {})])
    model("operators", nodes,
          [value("x", F32, [4, 5, 3]), value("z", F32, [5, 1]), value("i", I64, [4, 5, 3]), value("j", I64, [3]),
           value("flag", BOOL, [5, 3])], outputs, constants, opset=20, ir=9)


def halves():
    nodes = [node("Mul", "x w", "a"), node("Add", "a b", "h"), node("Softmax", "h", "s"), node("Cast", "s", "c", to=F32),
             node("Sub", "c z", "y")]
    model("half", nodes, [value("x", F16, [6, 33]), value("z", F32, [6, 33])],
          [value("y", F32, [6, 33]), value("h", F16, [6, 33])],
          [constant("w", random.uniform(0.5, 1.5, 33), np.float16), constant("b", 0.25, np.float16)])


def old():
    """Operator set 9: attributes where there are operands now, softmax over all axes from 1 on."""
    nodes = [node("Clip", "x", "a", min=-1.0, max=1.0), node("Mul", "a s", "b"), node("Softmax", "b", "c"),
             node("Squeeze", "c", "d", axes=[0]), node("ReduceSum", "d", "e", axes=[1]), node("Neg", "e", "y")]
    model("old", nodes, [value("x", F32, [1, 6, 4]), value("s", F32, [1, 6, 4])], [value("y", F32, [6, 1])], opset=9,
          ir=3)


def paths():
    """Two groups that could be one but for a path through an operator that is left; a value that leaves in the
    middle; one that a graph inside a node reads."""
    then = helper.make_graph([helper.make_node("Neg", ["d"], ["t"])], "then", [], [value("t", F32, [4, 8])])
    other = helper.make_graph([helper.make_node("Identity", ["a"], ["e"])], "else", [], [value("e", F32, [4, 8])])
    nodes = [node("Exp", "x", "a"), node("Neg", "a", "b"), node("CumSum", "b one", "c"), node("Mul", "a c", "d"),
             node("Tanh", "d", "y"), node("If", "flag", "z", then_branch=then, else_branch=other)]
    model("paths", nodes, [value("x", F32, [4, 8]), value("flag", BOOL, [])],
          [value("y", F32, [4, 8]), value("b", F32, [4, 8]), value("z", F32, [4, 8])], [constant("one", 1, np.int64)])


def shapes():
    """A Reshape whose shape the model computes from its input."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n zeros", "n1"),
             node("Concat", "n1 rest", "to", axis=0), node("Relu", "x", "a"), node("Mul", "a a", "b"),
             node("Reshape", "b to", "y")]
    model("shapes", nodes, [value("x", F32, ["n", 4, 6])], [value("y", F32, ["n", 24])],
          [constant("zero", 0, np.int64), constant("zeros", [0], np.int64), constant("rest", [24], np.int64)])


def products():
    """Products with what follows them, transposes and factors among it."""
    nodes = [node("Gemm", "x w c", "a", transB=1, alpha=0.5, beta=2.0), node("Relu", "a", "b"),
             node("Gemm", "b v", "d"), node("Tanh", "d", "y"), node("MatMul", "t w3", "e"), node("Add", "e t", "f"),
             node("Sigmoid", "f", "z")]
    model("products", nodes, [value("x", F32, [24, 40]), value("t", F32, [3, 5, 16])],
          [value("y", F32, [24, 8]), value("z", F32, [3, 5, 16])],
          [weights("w", 32, 40), weights("c", 32), weights("v", 32, 8), weights("w3", 16, 16)])


def cache():
    """One more step of a decoder: what was kept of earlier ones may be empty."""
    nodes = [node("Mul", "past half", "h"), node("Tanh", "h", "p"), node("Concat", "p x", "all", axis=1),
             node("Mul", "all half", "scaled"), node("Softmax", "scaled", "y")]
    model("cache", nodes, [value("past", F32, [2, "past", 8]), value("x", F32, [2, 1, 8])],
          [value("y", F32, [2, "all", 8])], [constant("half", 0.5)])


def wrong():
    """Models that must be refused, each for one reason."""
    def bad(name, nodes, constants=(), inputs=None, **more):
        model(name, nodes, inputs or [value("x", F32, [2, 3])], [value("y", F32, [2, 3])], constants, check=False, **more)

    bad("wrong-cycle", [node("Add", "x b", "a"), node("Neg", "a", "b"), node("Neg", "b", "y")])
    bad("wrong-missing", [node("Add", "x nothing", "y")])
    bad("wrong-twice", [node("Neg", "x", "y"), node("Abs", "x", "y")])
    bad("wrong-output", [node("Neg", "x", "a")])
    bad("wrong-operands",
        [node("Conv", "x w", "a"), node("Add", "a", "b"), node("MatMul", "b b", "c"), node("Mul", "c", "d"),
         node("Conv", "d w", "e"), node("BatchNormalization", "e", "y")],
        [weights("w", 2, 2, 1, 1)], [value("x", F32, [1, 2, 4, 4])])
    bad("wrong-opset", [node("Neg", "x", "y")], opset=99)
    bad("wrong-ir", [node("Neg", "x", "y")], ir=99)
    bad("wrong-broadcast", [node("Add", "x b", "y")], [constant("b", [1, 2, 3, 4])])
    bad("wrong-huge", [node("Neg", "x", "y")], inputs=[value("x", F32, [2 ** 40, 2 ** 40])])
    short = constant("b", [1, 2, 3])
    short.dims[0] = 300
    bad("wrong-data", [node("Add", "x b", "y")], [short])
    deep = b""
    for i in range(900):  # a graph (of an attribute, the last of the model), its node, the node's attribute
        tag = [0x2A, 0x0A, 0x32][i % 3] if i < 899 else 0x3A
        size, length = b"", len(deep)
        while length >= 0x80:
            size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
        deep = bytes([tag]) + size + bytes([length]) + deep
    (Path(sys.argv[1]) / "wrong-deep.onnx").write_bytes(deep)


if __name__ == "__main__":
    for make in (transformer, mobilenet, operators, halves, old, paths, shapes, products, cache, wrong):
        make()
