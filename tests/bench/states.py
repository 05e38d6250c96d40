#!/usr/bin/env python3
"""The two states of a CUDA context that README.md speaks of: what a captured graph takes in each.

    BUILD=build/release tests/bench/states.py [--device cuda:0]

The same graphs are replayed after a launch of kfuse's kernel by stream, and after a call of the whole chain in eager; which
of the two switches, and to what, is told by the times. Nothing else happens in between."""
import argparse
import os
import statistics
import sys
import tempfile

import cells
from gpu import Torch
from kernel import Kernel, tune

CELLS = [("tanh_chain", "bf16"), ("bias_gelu_add", "f16"), ("relu_add", "bf16"), ("tanh_chain", "f32")]
SHAPE, REPLAYS = "1024x1024", 9


def contenders(machine, cell, kernel, sets):
    """Name to call(i), on set i; and eager, which is only called by stream."""
    bound = [kernel.bind(*s.addresses()) for s in sets]
    function = machine.function(cell)
    calls = {"kfuse": lambda i: kernel.launch(bound[i], machine.torch.cuda.current_stream().cuda_stream)}
    for name, mode in (("compile", None), ("autotune", "max-autotune-no-cudagraphs")):
        compiled, kept = machine.compile(function, mode), [None] * len(sets)

        def call(i, compiled=compiled, kept=kept):
            kept[i] = compiled(**sets[i].inputs)
        calls[name] = call
    return calls, lambda: function(**sets[0].inputs)


def microseconds(machine, graph, calls):
    return statistics.median(machine.replay(graph) / calls * 1e6 for _ in range(REPLAYS))


def measure(machine, op, dtype):
    cell = cells.cells(["elementwise"], [op], [dtype], [SHAPE], False)[0]
    report = tune(cell, machine.device, [])
    kernel = Kernel(cell, machine.device)
    try:
        sets = machine.sets(cell, kernel)
        calls, eager = contenders(machine, cell, kernel, sets)
        for call in calls.values():
            machine.warm(call, len(sets))
        graphs = {name: machine.graph(call, len(sets)) for name, call in calls.items()}
        print(op, dtype, SHAPE, ",".join(f"{knob}={value}" for knob, value in report["winner"].items()), flush=True)
        for after, act in [("captures", lambda: None), ("kfuse by stream", lambda: calls["kfuse"](0)), ("eager", eager),
                           ("kfuse by stream", lambda: calls["kfuse"](0))]:
            act()
            machine.torch.cuda.synchronize()
            times = "  ".join(f"{name} {microseconds(machine, *graph):.2f}" for name, graph in graphs.items())
            print(f"    after {after:16} {times} us", flush=True)
    finally:
        kernel.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    machine = Torch(parser.parse_args().device)
    Kernel.load()
    with tempfile.TemporaryDirectory() as store:
        os.environ.setdefault("KFUSE_CACHE", store)
        print(machine.describe(), flush=True)
        for op, dtype in CELLS:
            measure(machine, op, dtype)
    return 0


if __name__ == "__main__":
    sys.exit(main())
