"""kfuse on the cpu device beside NumPy, numexpr and JAX, for cpu_rivals.py. Every call works on the next of as many sets of
arrays as exceed four times the last cache; contenders take turns, and times are medians."""
import math
import os
import platform
import statistics
import time

import numpy

import cells
import cpu_ops

CACHE_TIMES, SETS = 4, 600  # sets at most
CHECKED = 128  # first and last rows
SAMPLE_SECONDS = 1e-3  # calls shorter than this are timed together
ROUNDS, ROUNDS_SLOW, SLOW = 11, 3, 4  # a contender SLOW times as slow as kfuse at first is timed ROUNDS_SLOW times


def optional(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def last_cache():
    with open("/sys/devices/system/cpu/cpu0/cache/index3/size") as file:
        return int(file.read().strip().rstrip("K")) << 10


def model():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def listed(result):
    return list(result) if isinstance(result, tuple) else [result]


def near(out, right, rtol):
    """The largest difference as a part of what is allowed."""
    right = right.reshape(out.shape)
    difference = numpy.abs(out.astype(float) - right)
    return (difference / (rtol * (numpy.abs(right) + numpy.sqrt(numpy.mean(right * right))))).max()


class Set:
    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs

    def addresses(self):
        return {name: a.ctypes.data for name, a in self.inputs.items()}, [a.ctypes.data for a in self.outputs]


class Cpu:
    device = "cpu"

    def __init__(self, threads):
        """JAX takes as many threads as CPUs are given to this process, before it is loaded."""
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        self.threads, self.random = threads, numpy.random.default_rng(0)
        self.jax, self.numexpr, self.special = optional("jax"), optional("numexpr"), optional("scipy.special")
        if self.jax:
            self.jax.config.update("jax_enable_x64", True)
            self.jax.config.update("jax_platforms", "cpu")
        if self.numexpr:
            self.numexpr.set_num_threads(threads)
        self.numpy_ops = cpu_ops.numpy(numpy, self.special and self.special.erf)
        self.jax_ops = self.jax and cpu_ops.jax(self.jax)
        self.exact = cpu_ops.numpy(numpy, self.special.erf if self.special else numpy.vectorize(math.erf))

    def describe(self):
        rivals = ", ".join(f"{m.__name__} {m.__version__}"
                           for m in (numpy, self.special and optional("scipy"), self.numexpr, self.jax) if m)
        return f"{model()}, {self.threads} thread{'s' * (self.threads > 1)}, {rivals}"

    # --- arrays

    def type(self, dtype):
        return {"f32": numpy.float32, "f64": numpy.float64}[dtype] if dtype != "bf16" else self.jax.numpy.bfloat16

    def array(self, cell, name, shape, dtype):
        low, high = cells.span(cell.values, name) or (-3, 3)
        return (self.random.random(shape, dtype=numpy.float32) * (high - low) + low).astype(self.type(dtype))

    def set(self, cell, kernel):
        inputs = {name: self.array(cell, name, *tensor) for name, tensor in cell.inputs.items()}
        return Set(inputs, [numpy.zeros(o.shape, self.type(o.dtype)) for o in kernel.outputs])

    def sets(self, cell, kernel):
        """All but the first are copies: only where they lie matters."""
        first = self.set(cell, kernel)
        bytes_ = sum(a.nbytes for a in [*first.inputs.values(), *first.outputs])
        more = min(SETS, max(2, math.ceil(CACHE_TIMES * last_cache() / bytes_))) - 1
        return [first] + [Set({name: a.copy() for name, a in first.inputs.items()},
                              [numpy.zeros_like(a) for a in first.outputs]) for _ in range(more)]

    # --- contenders: name to call(i), on set i; what rivals return is kept until the set's next turn

    def kfuse(self, kernel, sets):
        bound = [kernel.bind(*s.addresses()) for s in sets]
        return lambda i: kernel.launch(bound[i])

    def with_numpy(self, cell, sets):
        function, kept = self.numpy_ops[cell.op], [None] * len(sets)

        def call(i):
            kept[i] = function(**sets[i].inputs)
        return function and cell.dtype != "bf16" and call

    def with_numexpr(self, cell, sets):
        text, kept = cpu_ops.NUMEXPR.get(cell.op), [None] * len(sets)

        def call(i):
            kept[i] = self.numexpr.evaluate(text, local_dict=sets[i].inputs, global_dict={})
        return self.numexpr and text and cell.dtype != "bf16" and call

    def with_jax(self, cell, sets):
        if not self.jax:
            return None
        function, kept = self.jax.jit(self.jax_ops[cell.op]), [None] * len(sets)
        given = [{name: self.jax.device_put(a) for name, a in s.inputs.items()} for s in sets]

        def call(i):
            kept[i] = self.jax.block_until_ready(function(**given[i]))
        return call

    def contenders(self, cell, kernel, sets):
        everyone = {"kfuse": self.kfuse(kernel, sets), "numpy": self.with_numpy(cell, sets),
                    "numexpr": self.with_numexpr(cell, sets), "jax": self.with_jax(cell, sets)}
        return {name: call for name, call in everyone.items() if call}

    def error(self, cell, kfuse, first):
        """Of the first and last rows, where a row of the result is that of the inputs (kfuse has checked the rest)."""
        rows, rank = len(first.outputs[0]), first.outputs[0].ndim
        count = CHECKED if rank > 1 else CHECKED << 10

        def ends(a):
            same = a.ndim == rank and len(a) == rows > 2 * count
            return numpy.concatenate([a[:count], a[-count:]]) if same else a

        right = listed(self.exact[cell.op](**{name: ends(a).astype(float) for name, a in first.inputs.items()}))
        kfuse(0)
        return max(near(ends(out), r, cell.rtol) for out, r in zip(first.outputs, right, strict=True))

    # --- times

    def sample(self, call, at, calls, sets):
        begin = time.perf_counter()
        for i in range(at, at + calls):
            call(i % sets)
        return (time.perf_counter() - begin) / calls

    def calls(self, call, sets):
        """How many make a sample: each set's arrays are touched and what compiles does so first."""
        for i in range(sets):
            call(i)
        first = self.sample(call, 0, 1, sets)
        return (max(1, math.ceil(SAMPLE_SECONDS / first))), first

    def times(self, contenders, sets):
        plan = {name: self.calls(call, sets) for name, call in contenders.items()}
        times, at = {name: [] for name in plan}, dict.fromkeys(plan, 0)
        for round_ in range(ROUNDS):
            for name, (calls, first) in plan.items():
                if round_ >= ROUNDS_SLOW and first > SLOW * plan["kfuse"][1]:
                    continue
                times[name].append(self.sample(contenders[name], at[name], calls, sets))
                at[name] += calls
        return {name: statistics.median(list_) for name, list_ in times.items()}

    def measure(self, cell, kernel):
        sets = self.sets(cell, kernel)
        contenders = self.contenders(cell, kernel, sets)
        error = self.error(cell, contenders["kfuse"], sets[0])
        us = {name: 1e6 * time_ for name, time_ in self.times(contenders, len(sets)).items()}
        return {"us": us, "error": error, "kernels": {}, "eager_bytes": None}
