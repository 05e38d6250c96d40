"""kfuse, torch eager and torch.compile on a GPU: times of captured graphs replayed in turn, kernels, bytes, and whether
kfuse's outputs are torch's in float64."""
import ctypes
import math
import statistics
import time

import cells
import rivals

REPLAYS = 15
GRAPH_SECONDS = 3e-3  # of a graph's calls: its start, some 10 us, does not show
L2_TIMES = 4
TIES = 2e-2  # of integers, how many may be rounded to the other side: halves are frequent in 127ths of 16-bit numbers


def traffic(torch, call):
    """Bytes that eager's operations read and write when none of them shares anything; a broadcast operand is read once."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    def size(tensors):
        return sum(min(t.numel() * t.itemsize, t.untyped_storage().nbytes()) for t in tensors)

    class Count(TorchDispatchMode):
        bytes = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if not function.is_view:
                for leaves in tree_leaves((args, kwargs)), tree_leaves(out):
                    self.bytes += size({id(t): t for t in leaves if isinstance(t, torch.Tensor)}.values())
            return out

    with Count() as count:
        call()
    return count.bytes


def graph_kernels(handle):
    """Kernel nodes of a CUgraph."""
    driver, count, kind, kernels = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(), ctypes.c_int(), 0
    driver.cuGraphGetNodes(ctypes.c_void_p(handle), None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    driver.cuGraphGetNodes(ctypes.c_void_p(handle), nodes, ctypes.byref(count))
    for node in nodes:
        driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))
        kernels += kind.value == 0  # CU_GRAPH_NODE_TYPE_KERNEL
    return kernels


def listed(result):
    return list(result) if isinstance(result, tuple) else [result]


def near(torch, out, right, rtol):
    """The largest difference as a part of what is allowed."""
    if out.numel() != right.numel():
        raise RuntimeError(f"an output has shape {tuple(out.shape)}, torch's {tuple(right.shape)}")
    right = right.reshape(out.shape)
    difference = (out.double() - right).abs()
    if not out.is_floating_point():
        return max(difference.max().item(), (difference > 0).double().mean().item() / TIES)
    kind = torch.finfo(out.dtype)
    step = kind.smallest_normal * kind.eps  # of subnormal numbers: a softmax of 131072 columns in f16 has no others
    return (difference / (rtol * (right.abs() + right.square().mean().sqrt()) + step)).max().item()


class Set:
    """Arrays of one call. An output that updates an input is that input."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs

    def addresses(self):
        return {name: a.data_ptr() for name, a in self.inputs.items()}, [a.data_ptr() for a in self.outputs]


class Torch:
    def __init__(self, device, alone=False):
        import torch
        self.torch, self.device, self.alone = torch, device, alone
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(0)
        self.l2 = torch.cuda.get_device_properties(device).L2_cache_size

    def describe(self):
        properties = self.torch.cuda.get_device_properties(self.device)
        return f"{properties.name}, torch {self.torch.__version__}, CUDA {self.torch.version.cuda}"

    def function(self, cell):
        table = rivals.programs if cell.group == "programs" else rivals.ops
        return table(self.torch)[cell.op]

    # --- arrays

    def type(self, dtype):
        return {"f32": self.torch.float32, "bf16": self.torch.bfloat16, "f16": self.torch.float16,
                "i8": self.torch.int8}[dtype]

    def array(self, cell, name, shape, dtype):
        torch, span = self.torch, cells.span(cell.values, name)
        if dtype == "i8":
            return torch.randint(-128, 128, shape, device=self.device, dtype=torch.int8)
        kind = {"device": self.device, "dtype": self.type(dtype)}
        if cell.values.get(name) == "causal":
            return torch.full(shape, -math.inf, **kind).triu(1)
        return torch.rand(shape, **kind) * (span[1] - span[0]) + span[0] if span else torch.randn(shape, **kind)

    def set(self, cell, kernel):
        inputs = {name: self.array(cell, name, *tensor) for name, tensor in cell.inputs.items()}
        outputs = [inputs[o.updates] if o.updates else
                   self.torch.empty(o.shape, device=self.device, dtype=self.type(o.dtype)) for o in kernel.outputs]
        return Set(inputs, outputs)

    def sets(self, cell, kernel):
        tensors = list(cell.inputs.values()) + [(o.shape, o.dtype) for o in kernel.outputs if not o.updates]
        bytes_ = sum(cells.size(*tensor) for tensor in tensors)
        return [self.set(cell, kernel) for _ in range(max(2, math.ceil(L2_TIMES * self.l2 / bytes_)))]

    # --- contenders

    def compile(self, function, mode=None):
        self.torch._dynamo.reset()  # or it gives up after some shapes of one function
        return self.torch.compile(function, dynamic=False, fullgraph=True, mode=mode)

    def rivals(self, cell):
        """Name to function. What it searches, it searches when it is first called."""
        if self.alone:
            return {}
        function = self.function(cell)
        functions = {"eager": function, "compile": self.compile(function)}
        if cell.group in ("elementwise", "transposed"):
            functions["autotune"] = self.compile(function, "max-autotune-no-cudagraphs")
        return functions

    def contenders(self, cell, kernel, sets):
        """Name to call(i), on set i. Torch makes its outputs: the last of each set are kept, so that these rotate too."""
        bound = [kernel.bind(*s.addresses()) for s in sets]

        def kfuse(i):
            kernel.launch(bound[i], self.torch.cuda.current_stream().cuda_stream)

        def on_sets(function):
            kept = [None] * len(sets)

            def call(i):
                kept[i] = function(**sets[i].inputs)
            return call

        return {"kfuse": kfuse, **{name: on_sets(function) for name, function in self.rivals(cell).items()}}

    def error(self, cell, kfuse, first):
        """Of kfuse's call on the first set. What it updates in place is computed before."""
        wide = {name: a.double() if a.is_floating_point() else a.clone() for name, a in first.inputs.items()}
        right = [a.double() for a in listed(self.function(cell)(**wide))]
        kfuse(0)
        return max(near(self.torch, out, r, cell.rtol) for out, r in zip(first.outputs, right, strict=True))

    # --- times

    def capture(self, call, sets, calls, graph=None):
        graph = graph or self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for i in range(calls):
                call(i % sets)
        return graph

    def kernels(self, call):
        """Of one call, by its graph; None where torch does not give the graph."""
        try:
            graph = self.torch.cuda.CUDAGraph(keep_graph=True)
            return graph_kernels(self.capture(call, 1, 1, graph).raw_cuda_graph())
        except (TypeError, AttributeError, OSError):
            return None

    def replay(self, graph):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)

    def graph(self, call, sets):
        """A graph of calls and their number."""
        graph = self.capture(call, sets, sets)
        self.replay(graph)
        rounds = math.ceil(GRAPH_SECONDS / self.replay(graph))
        return (self.capture(call, sets, sets * rounds) if rounds > 1 else graph), sets * rounds

    def warm(self, call, sets):
        """What compiles, loads or allocates at first does so before the capture. Returns how long it took."""
        begin = time.monotonic()
        for i in range(3):
            call(i % sets)
        self.torch.cuda.synchronize()
        return time.monotonic() - begin

    def times(self, contenders, sets):
        graphs = {name: self.graph(call, sets) for name, call in contenders.items()}
        for graph, _ in graphs.values():
            self.replay(graph)
        times = {name: [] for name in graphs}
        for _ in range(REPLAYS):
            for name, (graph, calls) in graphs.items():
                times[name].append(self.replay(graph) / calls)
        return {name: statistics.median(list_) for name, list_ in times.items()}

    def measure(self, cell, kernel):
        sets = self.sets(cell, kernel)
        contenders = self.contenders(cell, kernel, sets)
        error = self.error(cell, contenders["kfuse"], sets[0])
        seconds = {name: self.warm(call, len(sets)) for name, call in contenders.items()}
        times = self.times(contenders, len(sets))
        return {"us": {name: 1e6 * time for name, time in times.items()}, "error": error, "seconds": seconds,
                "kernels": {name: self.kernels(call) for name, call in contenders.items()},
                "eager_bytes": traffic(self.torch, lambda: contenders["eager"](0)) if "eager" in contenders else None}
