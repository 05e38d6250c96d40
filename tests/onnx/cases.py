"""ONNX's own cases for operators, through kfuse: python3 cases.py KFUSE. The package onnx ships inputs and outputs
for each; a case of one node that kfuse covers gets two nodes more that change nothing (minus and minus, not and
not), so that it is a region, and all cases of one operator set are one model, rewritten and run in ONNX Runtime.
Needs the packages onnx and onnxruntime. Ends with 1 where a kernel's result is not the case's."""
import collections
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from compare import close, run

TYPES = {TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL,
         TensorProto.FLOAT16, TensorProto.DOUBLE}
HERE = Path(__file__).parent
COVERED = set(re.findall(r'^OP\("(\w+)"', (HERE / "../../onnx/ops.def").read_text(), re.M))
# Operand 1 and what follows say how (axes, a shape), not what: they are constants in models.
HOW = {"Reshape", "Squeeze", "Unsqueeze", "Dropout"}


def is_usable(case):
    graph = case.model.graph if case.model else None
    if not graph or len(graph.node) != 1 or not case.data_sets:
        return False
    node, (inputs, outputs) = graph.node[0], case.data_sets[0]
    arrays = [*inputs, outputs[0]]
    return (node.op_type in COVERED and not node.domain and "training" not in case.name and
            len(inputs) == len(graph.input) and all(isinstance(a, np.ndarray) and a.size for a in arrays) and
            all(v.type.tensor_type.elem_type in TYPES for v in [*graph.input, graph.output[0]]))


class Model:
    """All cases of one operator set."""
    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []
        self.feeds, self.right = {}, {}

    def add(self, number, case):
        graph, (inputs, outputs) = case.model.graph, case.data_sets[0]
        node, prefix = onnx.NodeProto(), f"c{number}_"
        node.CopyFrom(graph.node[0])
        constants = list(node.input[1:]) if node.op_type in HOW or node.op_type.startswith("Reduce") else []
        for info, array in zip(graph.input, inputs):
            name, kind = prefix + info.name, info.type.tensor_type.elem_type
            if info.name in constants:
                self.constants.append(numpy_helper.from_array(array, name))
            else:
                self.inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
                self.feeds[name] = array
        node.input[:] = [prefix + name if name else "" for name in node.input]
        result, kind = prefix + "result", graph.output[0].type.tensor_type.elem_type
        del node.output[1:]
        node.output[0], node.name = result, case.name
        op = {TensorProto.BOOL: "Not", TensorProto.UINT8: "Identity"}.get(kind, "Neg")
        self.nodes += [node, helper.make_node(op, [result], [result + "_1"]),
                       helper.make_node(op, [result + "_1"], [result + "_2"])]
        self.outputs.append(helper.make_tensor_value_info(result + "_2", kind, outputs[0].shape))
        self.right[result + "_2"] = case.name, outputs[0]

    def save(self, opset, path):
        graph = helper.make_graph(self.nodes, "cases", self.inputs, self.outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)


def check(kfuse, opset, model):
    with tempfile.TemporaryDirectory() as folder:
        old, new, kernels = (Path(folder) / name for name in ("old.onnx", "new.onnx", "kernels"))
        model.save(opset, old)
        subprocess.run([kfuse, "onnx", old, "--rewrite", new, "-o", kernels, "--no-tune", "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        left = {node.name for node in onnx.load(new).graph.node}
        got = run(new, model.feeds, kernels / "libkfuse_ops.so")
    made, bad = [case for case, right in model.right.values() if case not in left], []
    for (case, right), array in zip(model.right.values(), got):
        ok, gap = close(array, right)
        if case in made and not ok:
            bad.append(f"  {case}: differs by {gap:.3g}")
    print(f"operator set {opset}: {len(model.right)} cases, {len(made)} by kernels, {len(bad)} wrong", *bad, sep="\n")
    return len(made), len(bad)


def main():
    warnings.filterwarnings("ignore")
    models = collections.defaultdict(Model)
    for number, case in enumerate(filter(is_usable, collect_testcases(None))):
        models[case.model.opset_import[0].version].add(number, case)
    counts = [check(sys.argv[1], opset, model) for opset, model in sorted(models.items())]
    made, bad = (sum(column) for column in zip(*counts))
    print(f"{made} cases by kernels, {bad} wrong")
    return bad > 0 or made < 300


if __name__ == "__main__":
    sys.exit(main())
