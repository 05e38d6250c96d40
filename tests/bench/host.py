"""kfuse on the cpu device beside its own oracle, without torch: bench.py --check."""
import ctypes
import math
import random
import statistics
import struct
import time

import cells


class Host:
    device = "cpu"
    codes = {"f32": ctypes.c_float, "bf16": ctypes.c_uint16, "f16": ctypes.c_uint16, "i8": ctypes.c_int8}

    def describe(self):
        return "a check on the cpu device: eager is the oracle, and ratios say nothing"

    def empty(self, shape, dtype):
        return (self.codes[dtype] * math.prod(shape))()

    def number(self, cell, name, dtype):
        low, high = cells.span(cell.values, name) or (-2, 2)
        return random.randint(-128, 127) if dtype == "i8" else random.uniform(low, high)

    def code(self, value, dtype):
        if dtype == "f16":
            return struct.unpack("<H", struct.pack("<e", value))[0]
        return struct.unpack("<HH", struct.pack("<f", value))[1] if dtype == "bf16" else value

    def array(self, cell, name, shape, dtype):
        array = self.empty(shape, dtype)
        for i in range(len(array)):
            hidden = cell.values.get(name) == "causal" and i % shape[-1] > i // shape[-1] % shape[-2]
            value = -math.inf if hidden else self.number(cell, name, dtype)
            array[i] = self.code(value, dtype)
        return array

    def values(self, array, dtype):
        if dtype == "f16":
            return [struct.unpack("<e", struct.pack("<H", e))[0] for e in array]
        return [struct.unpack("<f", struct.pack("<HH", 0, e))[0] for e in array] if dtype == "bf16" else list(array)

    def error(self, cell, out, right, dtype):
        """The largest as a part of what is allowed; integers may be rounded to the other side."""
        out, right = self.values(out, dtype), self.values(right, dtype)
        scale = math.sqrt(statistics.fmean(r * r for r in right))
        allowed = [1 if dtype == "i8" else cell.rtol * (abs(r) + scale) for r in right]
        return max(abs(o - r) / a if o != r else 0 for o, r, a in zip(out, right, allowed))

    def timed(self, call, bound):
        begin = time.perf_counter()
        call(bound)
        return 1e6 * (time.perf_counter() - begin)

    def measure(self, cell, kernel):
        inputs = {name: self.array(cell, name, *tensor) for name, tensor in cell.inputs.items()}
        right = [self.empty(o.shape, o.dtype) for o in kernel.outputs]
        out = [inputs[o.updates] if o.updates else self.empty(o.shape, o.dtype) for o in kernel.outputs]
        addresses = {name: ctypes.addressof(a) for name, a in inputs.items()}
        times = {"eager": self.timed(kernel.evaluate, kernel.bind(addresses, map(ctypes.addressof, right)))}
        bound = kernel.bind(addresses, map(ctypes.addressof, out))
        kernel.launch(bound)
        error = max(self.error(cell, a, r, o.dtype) for a, r, o in zip(out, right, kernel.outputs))
        times["kfuse"] = self.timed(kernel.launch, bound)
        return {"us": times, "error": error, "kernels": {}, "eager_bytes": None}
